#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Receives what bwlimit-sync hands over, in place of bwlimitd: fake_bwlimitd.py SOCKET FOLDER [TRAY]

Each document becomes FOLDER/NNNN-TYPE-NAME, numbered in order of arrival, and is accepted; one whose bytes begin with
"forged" is refused. FOLDER/status, if it exists, is the status of bwlimitd; with TRAY it lists
the signed documents that were accepted and refused, and one whose name is in FOLDER/refuse is refused. With FOLDER/key,
and $SAID, a program (bwl-said), that status is signed."""
import array
import fcntl
import json
import os
import socket
import subprocess
import sys
import time

import signed_document

F_GET_SEALS, SEALS = 1034, 2 | 4 | 8  # shrink, grow, write

path, folder = sys.argv[1:3]
tray = sys.argv[3] if len(sys.argv) > 3 else None
taken, refused, in_force = {}, {}, []
if os.path.exists(path):
    os.unlink(path)
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(64)
print("ready", flush=True)
number = 0


def listed(name):
    try:
        with open(f"{folder}/refuse", encoding="utf-8") as f:
            return name in f.read().split()
    except FileNotFoundError:
        return False


def remember(ask, data):
    """Adds the document to the status. Returns an error if it is refused, otherwise None."""
    terms, digest = signed_document.read(data)
    what, version = f"{ask['type']}/{ask['name']}", terms["version"]
    if listed(ask["name"]):
        refused[what] = {"version": version, "id": "signed-old", "text": "a newer one was taken"}
        return {"error": "a newer one was taken"}
    refused.pop(what, None)
    taken.pop(what, None)  # the newest comes last
    taken[what] = {"version": version, "sha256": digest}
    if ask["type"] == "policy":
        in_force[:] = [{"name": ask["name"], "since": "2026-11-22T05:30:00Z", **taken[what]}]
    return None


def signed(status):
    if not os.path.exists(f"{folder}/key"):
        return status
    said = {"number": time.time_ns() // 1000, "said_at": int(time.time()), "up_s": int(time.monotonic()), **status}
    return subprocess.run([os.environ["SAID"], f"{folder}/key", "hall", tray], input=json.dumps(said),
                          check=True, capture_output=True, text=True).stdout.strip()


def judge(ask, fds):
    global number
    if ask.get("verb") == "status" and tray:
        return {"by": "bwlimitd", "status": signed({
            "tray": tray, "epoch": 1, "seq": number, "policy": in_force[0] if in_force else None,
            "taken": dict(list(taken.items())[-16:]), "refused": refused, "fresh": True, "closed": [], "closed_count": 0,
            "alarms": ["not-in-force"] if os.path.exists(f"{folder}/not-in-force") else [],
            "ledger_seq": 1, "checkpoint": None,
            "health": {"passed_packets": 1, "dropped_packets": 0, "sas_down": 0, "lease_s": 60}})}
    if ask.get("verb") == "status":
        try:
            with open(f"{folder}/status", encoding="utf-8") as f:
                return {"by": "bwlimitd", "status": json.load(f)}
        except FileNotFoundError:
            return {"error": "no status"}
    if ask.get("verb") != "document" or len(fds) != 1:
        return {"error": "the document is missing"}
    if fcntl.fcntl(fds[0], F_GET_SEALS) & SEALS != SEALS:
        return {"error": "not sealed"}
    with open(fds[0], "rb") as f:
        data = f.read()
    if len(data) != ask["size"]:
        return {"error": "another size than it says"}
    if data.startswith(b"forged"):
        return {"error": "too few signatures that hold", "todo": "sign it"}
    error = remember(ask, data) if tray else None
    if error:
        return error
    number += 1
    name = f"{folder}/{number:04}-{ask['type']}-{ask['name']}"
    with open(name + ".new", "wb") as f:
        f.write(data)
    os.rename(name + ".new", name)
    return {"by": "bwlimitd"}


while True:
    conn = listener.accept()[0]
    try:
        text, anc, _, _ = conn.recvmsg(4096, socket.CMSG_LEN(4 * 4))
        got = array.array("i")
        for _, _, data in anc:
            got.frombytes(data)
        if text:
            conn.sendall(json.dumps(judge(json.loads(text), list(got))).encode() + b"\n")
    except (OSError, ValueError) as e:
        print(e, file=sys.stderr, flush=True)
    conn.close()
