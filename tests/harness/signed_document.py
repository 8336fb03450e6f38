#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads signed documents of both forms (docs/fleet.md), and verifies nothing: signed_document.py FILE prints the digest."""
import base64
import hashlib
import json
import sys


def read(data):
    """The terms, a policy's text among them as `text`, and the digest."""
    if not data.startswith(b"bwlimit-document: 2\n"):
        payload = base64.b64decode(json.loads(data)["payload"])  # of bwlimit 0.3.0
        return json.loads(payload), hashlib.sha256(payload).hexdigest()
    signed = data[data.index(b"\ntype: ") + 1:]
    head, _, text = signed.partition(b"\n\n")
    lines = dict(line.split(b": ", 1) for line in head.split(b"\n"))
    text = text[:int(lines[b"bytes"])]
    terms = json.loads(lines[b"terms"])
    if text:
        terms["text"] = text.decode()
    return terms, hashlib.sha256(head + b"\n\n" + text).hexdigest()


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as f:
        print(read(f.read())[1])
