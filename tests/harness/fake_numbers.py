#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers the commands that bwlimit-sync requests from bwlimitd, in its place: fake_numbers.py SOCKET FOLDER

`bwlimit-ctl --json VERB …` is answered with FOLDER/VERB, which may be anything, or with an error if there is none."""
import json
import os
import socket
import sys

path, folder = sys.argv[1:3]
if os.path.exists(path):
    os.unlink(path)
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(64)
print("ready", flush=True)
while True:
    conn = listener.accept()[0]
    try:
        verb = json.loads(conn.recv(4096))["argv"][1]
        try:
            with open(f"{folder}/{verb}", "rb") as f:
                out, code = f.read(), 0
        except FileNotFoundError:
            out, code = json.dumps({"version": 1, "kind": "error", "error": {"text": f"no {verb}"}}).encode(), 1
        conn.sendall(json.dumps({"exit": code, "out": len(out), "err": 0}).encode() + b"\n" + out)
    except (OSError, ValueError, KeyError) as e:
        print(e, file=sys.stderr, flush=True)
    conn.close()
