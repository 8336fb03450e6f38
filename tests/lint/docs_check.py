#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks what the pages (*.md) refer to, in TAP: links, commands with their options, alerts, tests, the tutorial's
pictures, the size of the README. Then makes one mistake of each kind, in memory, which has to be found.

  docs_check.py SOURCE BUILD [CHECK]      BUILD: a tree with the programs, which are asked for their help

With CHECK it prints that check's mistakes, and exits with 1 if there are any.
"""
import html
import os
import re
import shlex
import subprocess
import sys
import unicodedata

PROGRAMS = {
    "bwlimit-controller": "fleet/controller", "bwlimit-ctl": "ctl", "bwlimit-export": "export/flows",
    "bwlimit-ipsecd": "ipsec/daemon", "bwlimit-load": "loader", "bwlimit-sync": "sync",
    "bwlimit-web": "web", "bwlimitd": "agent",
}
OPTION = re.compile(r"--[a-z][a-z0-9-]*")
NOT_OURS = {".git", "build", "node_modules"}


changed = {}  # path → text: a file as if it were written differently


def read(path):
    path = os.path.normpath(path)
    if path in changed:
        return changed[path]
    with open(path, encoding="utf-8") as f:
        return f.read()


def pages(source):
    for where, folders, names in os.walk(source):
        folders[:] = sorted(f for f in folders if f not in NOT_OURS)
        for n in sorted(names):
            if n.endswith(".md"):
                yield os.path.relpath(os.path.join(where, n), source)


def lines(path):
    """Number, text, and whether it is code: between fences, or four spaces in after an empty line."""
    fenced = indented = False
    before = ""
    for number, text in enumerate(read(path).splitlines(), 1):
        if text.lstrip().startswith("```"):
            fenced = not fenced
        else:
            indented = text.startswith("    ") and (indented or not before.strip()) or indented and not text.strip()
            yield number, text, fenced or indented
        before = text


# --- links


def slug(heading):
    """An anchor, as GitHub makes it."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "").strip().lower()
    return "".join("-" if c == " " else c for c in text
                   if c in " -_" or unicodedata.category(c)[0] in "LNM")


def anchors(path):
    seen = {}
    for _, text, code in lines(path):
        m = re.match(r"#{1,6} +(.*)", text)
        if m and not code:
            name = slug(m[1])
            seen[name] = seen.get(name, -1) + 1
            yield f"{name}-{seen[name]}" if seen[name] else name


def links(source, _):
    known = {}
    for page in pages(source):
        for number, text, code in lines(os.path.join(source, page)):
            if code:
                continue
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "`", text)):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                to = os.path.normpath(os.path.join(source, os.path.dirname(page), path)) if path else os.path.join(source, page)
                if not os.path.exists(to):
                    yield f"{page}:{number}: {target}: there is no such file"
                elif anchor:
                    if to not in known:
                        known[to] = set(anchors(to)) if to.endswith(".md") else set()
                    if anchor not in known[to]:
                        yield f"{page}:{number}: {target}: there is no such heading"


# --- commands


class Helps:
    """What the programs' --help prints; each is asked once. Keys: "bwlimit-ctl", "bwlimit-ctl policy apply", …"""

    def __init__(self, build):
        self.build, self.kept = build, {}

    def __getitem__(self, key):
        if key not in self.kept:
            program, *rest = key.split()
            self.kept[key] = ask([os.path.join(self.build, PROGRAMS[program], program), *rest, "--help"])
        return self.kept[key]

    def commands(self, key):
        if key == "bwlimit-ipsecd":  # its help has a paragraph for each
            return re.findall(r"^([a-z]+)   ?[A-Z]", self[key], re.M)
        m = re.search(r"^commands:\n(.*?)\n\n", self[key], re.M | re.S | re.I)
        return re.findall(r"^  ([a-z-]+(?: [a-z-]+)?)  ", m[1], re.M) if m else []

    def text(self, key, command):
        """Of a command, or of all that begin with this noun."""
        verbs = [c for c in self.commands(key) if c == command] or \
                [c for c in self.commands(key) if c.split()[0] == command]
        per_verb = key.startswith("bwlimit-ctl")
        return "".join(self[f"{key} {v}"] for v in verbs) if per_verb else self[key]


def ask(command):
    p = subprocess.run(command, capture_output=True, text=True, check=False)
    if p.returncode:
        sys.exit(f"{' '.join(command)}: exit code {p.returncode}: {p.stderr}")
    return p.stdout


def words(text):
    try:
        return shlex.split(text, comments=True)
    except ValueError:  # a quote that is closed on the next line
        return text.split()


def segments(text):
    """The commands of a line of shell; a pipe has spaces around it, alternatives have none."""
    text = re.sub(r"^(?:[a-z]+)?[$#] ", "", text.strip())
    for part in re.split(r"\s\|\s|&&|\|\||;\s|\$\(", text):
        found = words(part)
        while found and (re.match(r"[A-Z_]+=", found[0]) or found[0] in ("sudo", "do", "then", "else", "if", "while")):
            found.pop(0)
        if found:
            yield found


def wrong_words(found, helps):
    program, rest = found[0], found[1:]
    if program not in PROGRAMS:
        return f"there is no program {program}"
    key = program
    if program == "bwlimit-ctl":
        if "--fleet" in rest[:3]:
            key += " --fleet"
            rest.remove("--fleet")
        while rest and rest[0].startswith("--"):
            rest = rest[2 if rest[0] == "--pin-dir" else 1:]
    text = helps[program] + helps[key]
    names = [r.rstrip(".,:") for r in rest[:2]]
    commands = helps.commands(key)
    nouns = {c.split()[0] for c in commands}
    if commands and names and names[0] != "help" and re.fullmatch(r"[a-z|-]+", names[0]):
        every = names[0].split("|")
        if len(names) > 1:
            every = [e for e in (f"{a} {names[1]}" for a in every) if e in commands] or every
        for e in every:
            if e not in commands and e not in nouns:
                return f"{key} has no command {e}"
            if e not in commands and len(names) > 1 and re.fullmatch(r"[a-z][a-z-]+", names[1]):
                return f"{key} {e} has no command {names[1]}"
            text += helps.text(key, e)
    known = set(OPTION.findall(text)) | {"--help", "--version"}
    for word in rest:
        for option in OPTION.findall(word) if word.lstrip("[(").startswith("--") else ():
            if option not in known:
                return f"{' '.join(found[:3])} …: there is no option {option}"
    return None


def quoted(path):
    """Commands of code blocks, their lines joined, and spans of code that begin with a program."""
    joined, begun = "", 0
    for number, text, code in lines(path):
        if code:
            joined, begun = joined + text, begun or number
            if not joined.endswith("\\"):
                yield begun, joined, True
                joined, begun = "", 0
            else:
                joined = joined[:-1] + " "
        else:
            for span in re.findall(r"`([^`]+)`", text):
                if re.match(r"bwlimit(d|-[a-z]+) ", span):
                    yield number, span, False


def commands(source, helps):
    for page in ["README.md"] + [p for p in pages(source) if p.startswith("docs/")]:
        for number, text, block in quoted(os.path.join(source, page)):
            for found in segments(text) if block else [words(text)]:
                if found and re.fullmatch(r"bwlimit(d|-[a-z]+)", found[0]) and (len(found) > 1 or block):
                    why = wrong_words(found, helps)
                    if why:
                        yield f"{page}:{number}: {why}"


# --- names


def alerts(source, _):
    folder = os.path.join(source, "monitoring/prometheus")
    rules = set()
    for n in os.listdir(folder):
        if n.endswith(".rules.yml"):
            rules |= set(re.findall(r"^ *- alert: (\w+)", read(os.path.join(folder, n)), re.M))
    page = read(os.path.join(source, "docs/runbooks.md"))
    sections = set(re.findall(r"^#+ (Bwlimit\w+)$", page, re.M))
    for a in sorted(rules - sections):
        yield f"docs/runbooks.md: no section {a}"
    for a in sorted(set(re.findall(r"\bBwlimit[A-Z]\w+", page)) - rules):
        yield f"docs/runbooks.md: {a} is not an alert of monitoring/"


def tests(source, helps):
    there = set(re.findall(r"^ *Test +#\d+: (\S+)", ask(["ctest", "--test-dir", helps.build, "-N"]), re.M))
    kinds = "|".join(sorted({t.split(".")[0] for t in there}))
    named = 0
    for page in pages(source):
        for number, text, _ in lines(os.path.join(source, page)):
            for name in re.findall(rf"`((?:{kinds})\.[a-z0-9_]{{2,}})`", text):
                named += page == "docs/promises.md"
                if name not in there:
                    yield f"{page}:{number}: there is no test {name}"
            for path in re.findall(r"`(tests/vm/[a-z0-9_]+)`", text):
                if not os.path.exists(os.path.join(source, path + ".sh")):
                    yield f"{page}:{number}: there is no {path}.sh"
            if page == "docs/promises.md":
                for path in re.findall(r"`([a-z0-9_.-]+/[a-z0-9_./-]*)`", text):
                    if not os.path.exists(os.path.join(source, path)) and not path.startswith("tests/vm/"):
                        yield f"{page}:{number}: there is no {path}"
    if named < 50:
        yield f"docs/promises.md: names {named} tests"


def readme(source, _):
    text = read(os.path.join(source, "README.md")).splitlines()
    if len(text) > 120:
        yield f"README.md: {len(text)} lines"
    for number, line in enumerate(text, 1):
        if len(line) > 100:
            yield f"README.md:{number}: {len(line)} columns"


def pictures(source, _):
    typed = re.findall(r"^(?:dpu|host)\$ .*", read(os.path.join(source, "docs/tutorial.md")), re.M)
    folder = os.path.join(source, "docs/pictures/terminal")
    drawn = []
    for n in sorted(os.listdir(folder)):
        if n.endswith(".svg"):
            drawn += html.unescape(re.search(r"<desc>(.*?)</desc>", read(os.path.join(folder, n)), re.S)[1]).splitlines()
    for line in typed:
        if line not in drawn:
            yield f"docs/tutorial.md: no picture has: {line}"
    for line in drawn:
        if line not in typed:
            yield f"docs/pictures/terminal: not in docs/tutorial.md: {line}"


CHECKS = {"links": links, "commands": commands, "alerts": alerts, "tests": tests, "pictures": pictures, "readme": readme}
MISTAKES = [  # what is wrong, the check that finds it, what it says, a file, what is replaced there (once) by what
    ("a link to no file", links, "there is no such file", "docs/closed.md", r"\Z", "\n[x](y.md)\n"),
    ("a link to no heading", links, "there is no such heading", "README.md", "#an-example", "#a-sample"),
    ("no such command", commands, "has no command withdraw", "README.md", "\nbwlimit-ctl revoke", "\nbwlimit-ctl withdraw"),
    ("no such verb", commands, "has no command keep", "docs/policy.md", "`ipsec render`", "`bwlimit-ctl ipsec keep`"),
    ("no such program", commands, "there is no program bwlimit-crl", "README.md", "\nbwlimit-ctl top", "\nbwlimit-crl top"),
    ("another verb's option", commands, "there is no option --lift", "docs/runbooks.md", "stop --off", "stop --lift"),
    ("no such option of a program without verbs", commands, "there is no option --every", "docs/export.md",
     "bwlimit-export --to file:out.ipfix", "bwlimit-export --every 1s"),
    ("an alert without a section", alerts, "no section BwlimitNew", "monitoring/prometheus/node.rules.yml",
     "alert: BwlimitClamped", "alert: BwlimitNew"),
    ("a section without an alert", alerts, "BwlimitOld is not an alert", "docs/runbooks.md", "### BwlimitClamped", "### BwlimitOld"),
    ("no such test", tests, "there is no test prog.grants_test", "docs/promises.md", "prog.grant_test", "prog.grants_test"),
    ("no such file of a promise", tests, "there is no bpf/lib/grca.h", "docs/promises.md", "bpf/lib/gcra.h", "bpf/lib/grca.h"),
    ("a picture of another command", pictures, "no picture has", "docs/tutorial.md", "ctl reasons", "ctl reasons --all"),
    ("a README that is too long", readme, "130 lines", "README.md", r"\Z", None),
    ("a line of it that is too wide", readme, "101 columns", "README.md", "^# bwlimit", "#" * 101),
]


def main():
    source, build, *only = sys.argv[1:]
    source, helps = os.path.normpath(source), Helps(build)
    if only:
        mistakes = list(CHECKS[only[0]](source, helps))
        for m in mistakes:
            print(m)
        return 1 if mistakes else 0
    count = bad = 0

    def tell(good, sentence, notes):
        nonlocal count, bad
        count, bad = count + 1, bad + (not good)
        print(f"{'ok' if good else 'not ok'} {count} - {sentence}")
        for n in notes if not good else ():
            print(f"# {n}")

    for name, check in CHECKS.items():
        mistakes = list(check(source, helps))
        tell(not mistakes, f"every page is right: {name}", mistakes)
    for sentence, check, says, file, old, new in MISTAKES:
        path = os.path.join(source, file)
        text = read(path)
        if new is None:
            new = "\n" * (130 - text.count("\n"))
        changed[path] = re.sub(old, lambda _, new=new: new, text, count=1)
        found = list(check(source, helps))
        tell(changed[path] != text and any(says in f for f in found), f"found: {sentence}", found)
        del changed[path]
    print(f"1..{count}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
