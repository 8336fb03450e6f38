#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hands documents to bwlimitd, as bwlimit-sync does: give_document.py SOCKET [KIND/NAME FILE]…

Prints the last line of each answer. Without a document: the status; COSIGNED: number of records in the checkpoint that was
cosigned last, as reported by bwlimit-sync. Exit code 1: one was refused; 3: bwlimitd hung up
before it answered."""
import array
import fcntl
import json
import os
import socket
import sys

F_ADD_SEALS, SEALS = 1033, 2 | 4 | 8  # shrink, grow, write


def ask(what, data=None):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    anc = []
    if data is not None:
        fd = os.memfd_create("document", os.MFD_ALLOW_SEALING)
        os.write(fd, data)
        fcntl.fcntl(fd, F_ADD_SEALS, SEALS)
        anc = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
    s.sendmsg([json.dumps(what).encode() + b"\n"], anc)
    lines = [x for x in s.makefile("rb")]
    return json.loads(lines[-1]) if lines else None


try:
    if len(sys.argv) == 2:
        print(json.dumps(ask({"verb": "status", "cosigned": int(os.environ.get("COSIGNED", "0"))})))
        sys.exit()
    bad = 0
    for key, file in zip(sys.argv[2::2], sys.argv[3::2]):
        with open(file, "rb") as f:
            text = f.read()
        kind, name = key.split("/")
        said = ask({"verb": "document", "type": kind, "name": name, "size": len(text)}, text)
        print(json.dumps(said))
        if said is None or said.get("taken"):
            sys.exit(3)
        bad |= "error" in said
    sys.exit(bad)
except (OSError, ValueError) as e:
    print(e, file=sys.stderr)
    sys.exit(3)
