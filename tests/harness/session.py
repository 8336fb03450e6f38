#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A session with data in both directions, like an operator's ssh.

session.py serve ADDRESS PORT          sends back what it receives
session.py hold ADDRESS PORT FILE      numbered lines, one at a time, each awaited; FILE: the last number
                                       that came back, rewritten after each. Ends at the first fault.
"""
import os
import socket
import sys
import threading


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def echo(c):
    with c:
        while True:
            data = c.recv(65536)
            if not data:
                return
            c.sendall(data)


def serve(address, port):
    s = socket.socket(family(address), socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, port))
    s.listen(16)
    while True:
        c, _ = s.accept()
        threading.Thread(target=echo, args=(c,), daemon=True).start()


def connect(address, port):
    s = socket.create_connection((address, port), timeout=30)
    return s, s.makefile("rb")


def exchange(s, lines, n):
    line = b"%012d " % n + b"x" * 400 + b"\n"
    s.sendall(line)
    if lines.readline() != line:
        sys.exit("line %d came back otherwise, or not at all" % n)


def hold(address, port, path):
    s, lines = connect(address, port)
    n = 0
    while True:
        n += 1
        exchange(s, lines, n)
        with open(path + ".new", "w") as f:
            f.write("%d\n" % n)
        os.rename(path + ".new", path)
        threading.Event().wait(0.01)


what, where, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
if what == "serve":
    serve(where, number)
else:
    hold(where, number, sys.argv[4])
