# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints one TAP stream made from the outputs of a run's jobs: results.py RESULTS. Exits 1 if a job failed."""
import os
import re
import sys

results = sys.argv[1]
count = failed = 0


def say(good, text):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {text}")


def read(path, default=""):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except FileNotFoundError:
        return default


def judge(base):
    name = re.sub(r"^\d+-", "", os.path.basename(base))
    output, rc = read(base + ".out"), read(base + ".rc").strip()
    before, plan, seen = failed, None, 0
    for line in output.splitlines():
        case = re.match(r"(not )?ok \d+ *(?:- *)?(.*)", line)
        if case:
            seen += 1
            say(not case[1] or "# SKIP" in case[2].upper(), f"{name}: {case[2]}")
        elif re.match(r"1\.\.\d+", line):
            plan = (plan or 0) + int(re.match(r"1\.\.(\d+)", line)[1])
        elif line.startswith("#"):
            print(line)
    if rc == "77" and seen == 0:
        why = next((line for line in output.splitlines() if line.strip()), "no reason given")
        say(True, f"{name} # SKIP {re.sub(r'^.*# SKIP ', '', why)}")
    elif rc == "":
        say(False, f"{name}: the guest ended before it began" if output == "" else
            f"{name}: the guest ended while it ran")
    elif rc in ("124", "137"):
        say(False, f"{name}: stopped after {read(base + '.timeout')} s")
    elif plan is None and seen == 0:
        say(rc == "0", f"{name}" + ("" if rc == "0" else f": exit status {rc}"))
    elif plan != seen:
        say(False, f"{name}: {seen} of {plan} planned cases ran")
    elif rc != "0" and failed == before:
        say(False, f"{name}: exit status {rc} after its last case")
    if failed > before:
        print(f"# ---- output of {name}")
        for line in output.splitlines()[-300:]:
            print("# " + line)
    seconds = read(base + ".seconds").strip()
    if seconds:
        print(f"# {name}: {seconds} s of the guest's time")


for entry in sorted(os.listdir(results)):
    if entry.endswith(".timeout"):
        judge(os.path.join(results, entry[:-len(".timeout")]))
kernel_log = read(os.path.join(results, "dmesg")) + read(os.path.join(results, "console.log"))
# Of earlier boots: up to the int3 that ended them (run).
for earlier in ("console.1.log", "console.2.log"):
    kernel_log += re.split(r"^.*\bint3: [0-9a-f]{4} \[#", read(os.path.join(results, earlier)), maxsplit=1, flags=re.M)[0]
oops = re.search(r"^.*\b(BUG: |Oops: |int3: [0-9a-f]{4} \[#|general protection|Kernel panic|KASAN).*$", kernel_log, re.M)
if oops:
    say(False, f"the guest's kernel: {oops[0].strip()}")
if not os.path.exists(os.path.join(results, "done")) and failed:
    print("# ---- the guest's console")
    for line in read(os.path.join(results, "console.log")).splitlines()[-40:]:
        print("# " + line)
print(f"1..{count}")
sys.exit(failed > 0 or count == 0)
