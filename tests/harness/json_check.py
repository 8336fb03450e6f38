#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks documents against docs/schema.

  json_check.py [--lines] SCHEMAS [KIND]   standard input is one document (--lines: one per line),
                                           by its own kind's schema, and of KIND if given
  json_check.py --each SCHEMAS             standard input is lines of "KIND FILE": for each a line, ok or what is wrong
  json_check.py --docs SOURCE              the schemas themselves, docs/json.md, and that the
                                           programs' lists of kinds and checks are in both
"""
import json
import os
import re
import sys

import jsonschema


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


class Kinds(dict):
    """Each kind's schema with its fields inlined, so that nothing has to be looked up elsewhere; read when it is asked for."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder
        self.fields = json.loads(read(os.path.join(folder, "fields.json")))["$defs"]
        self.names = sorted(n[: -len(".json")] for n in os.listdir(folder) if n != "fields.json")

    def __contains__(self, kind):
        return kind in self.names

    def __missing__(self, kind):
        text = read(os.path.join(self.folder, kind + ".json")).replace("fields.json#/$defs/", "#/$defs/")
        self[kind] = dict(json.loads(text), **{"$defs": self.fields})
        return self[kind]


def load(folder):
    kinds = Kinds(folder)
    for name in kinds.names:
        kinds[name]
    return kinds.fields, kinds


def wrong(kinds, doc, kind):
    said = doc.get("kind") if isinstance(doc, dict) else None
    if said not in kinds:
        return f"of kind {said!r}, which has no schema"
    if kind and said != kind:
        return f"of kind {said}, not {kind}"
    check = jsonschema.Draft202012Validator(kinds[said])
    for e in check.iter_errors(doc):
        return f"{said}: {'.'.join(map(str, e.absolute_path)) or 'document'}: {e.message[:300]}"
    return None


def judge(folder, lines, kind):
    kinds = Kinds(folder)
    text = sys.stdin.read()
    docs = [json.loads(x) for x in text.splitlines() if x] if lines else [json.loads(text)]
    if not docs:
        sys.exit("no document")
    for doc in docs:
        why = wrong(kinds, doc, kind if not lines else None)
        if why:
            sys.exit(why)
    if lines and kind and not any(d["kind"] == kind for d in docs):
        sys.exit(f"no line is of kind {kind}")


def each(folder):
    kinds = Kinds(folder)
    for line in sys.stdin:
        kind, path = line.rstrip("\n").split(" ", 1)
        try:
            why = wrong(kinds, json.loads(read(path)), kind)
        except ValueError as e:
            why = str(e)
        print(" ".join(why.split()) if why else "ok", flush=True)


def types(schema, fields):
    """The JSON types that a schema allows; None: any."""
    while "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        if name not in fields:
            sys.exit(f"a schema refers to {name}, which is no field of fields.json")
        schema = fields[name]
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        of = {str: "string", int: "integer", bool: "boolean", type(None): "null"}
        return {of[type(v)] for v in values}
    t = schema.get("type")
    return {t} if isinstance(t, str) else set(t) if t else None


def each_object(schema):
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for k, v in schema.items():
            if k != "$defs":
                yield from each_object(v)
    elif isinstance(schema, list):
        for v in schema:
            yield from each_object(v)


def docs(source):
    bad = []
    fields, kinds = load(os.path.join(source, "docs/schema"))
    page = read(os.path.join(source, "docs/json.md"))
    objects = [(k, o) for k, s in kinds.items() for o in each_object(s)]
    objects += [("fields", o) for o in each_object(fields)]
    used = set()
    jsonschema.Draft202012Validator.check_schema({"$defs": fields})
    documents = page.split("\n## Documents\n", 1)[1].split("\n## ", 1)[0]
    for kind, schema in kinds.items():
        own = {k: v for k, v in schema.items() if k != "$defs"}
        jsonschema.Draft202012Validator.check_schema(own)
        if f"\n| `{kind}` |" not in documents:
            bad.append(f"docs/json.md does not tell of kind {kind}")
        if schema["properties"].get("kind") != {"const": kind} or "version" not in schema["required"]:
            bad.append(f"{kind}: without its kind, or a version")
    for kind, o in objects:
        if o.get("additionalProperties") is not False or set(o["required"]) != set(o["properties"]):
            bad.append(f"{kind}: fields may be left out, or added: {sorted(o['properties'])}")
        for name, s in o["properties"].items():
            used.add(name)
            if name not in fields:
                bad.append(f"{kind}: {name} is no field of fields.json")
                continue
            if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
                bad.append(f"{kind}: {name} is no snake_case")
            if s == {"$ref": f"#/$defs/{name}"}:
                continue
            if not types(s, fields) <= types(fields[name], fields):
                bad.append(f"{kind}: {name} is of another type than elsewhere")
            elif types(fields[name], fields) & {"number", "boolean"}:
                bad.append(f"{kind}: {name} is not the field of fields.json")
    for name in fields:
        if name not in used:
            bad.append(f"fields.json: nothing has {name}")
        if f"| `{name}` |" not in page:
            bad.append(f"docs/json.md does not tell of field {name}")
    for name in re.findall(r"^\| `([a-z0-9_]+)` \|", page.split("## Fields")[-1], re.M):
        if name not in fields:
            bad.append(f"docs/json.md tells of field {name}, which nothing has")
    code = {"loader": "", "ctl": "", "agent": "", "lib": "", "sync": "", "fleet": "", "web": ""}
    for room in code:
        for where, _, names in os.walk(os.path.join(source, room)):
            code[room] += "".join(read(os.path.join(where, n)) for n in names if n.endswith(".c"))
    for i in set(re.findall(r'\b(?:bwl_check\(\s*(?:c->)?\w+),\s+"([a-z0-9-]+)",', code["loader"])):
        if f"| `{i}` |" not in page:
            bad.append(f"docs/json.md does not tell of the id {i}")
    for i in set(re.findall(r'^\t\{ "([a-z0-9-]+)", "', code["loader"], re.M)):
        if f"| `{i}` |" not in page:
            bad.append(f"docs/json.md does not tell of the feature {i}")
    said = "".join(code.values())
    for kind in set(re.findall(r'\b(?:(?:bwl_doc|ctl_print_list|ctl_print_answer)\(|"kind",)\s*"([a-z-]+)"', said)):
        if kind not in kinds:
            bad.append(f"a program prints kind {kind}, which has no schema")
    if bad:
        sys.exit("\n".join(bad))


def main():
    args = sys.argv[1:]
    if len(args) == 2 and args[0] == "--docs":
        docs(args[1])
        return
    if len(args) == 2 and args[0] == "--each":
        each(args[1])
        return
    lines = args[:1] == ["--lines"]
    args = args[lines:]
    if not 1 <= len(args) <= 2:
        sys.exit(__doc__)
    judge(args[0], lines, args[1] if len(args) > 1 else None)


if __name__ == "__main__":
    main()
