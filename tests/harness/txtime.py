#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""UDP packets with a departure time (SO_TXTIME, by CLOCK_MONOTONIC as fq requires), and their receiver.

txtime.py send ADDRESS LABEL [SECONDS]     departs this many seconds from now (may be negative); without SECONDS: as soon as possible
txtime.py hear                             one line per label, in the order in which they arrive, both families
"""
import socket
import struct
import sys
import time

PORT = 5555
SO_TXTIME = 61  # asm-generic/socket.h; also the type of the control message (SCM_TXTIME)
SOF_TXTIME_NONE = 0


def send(address, label, seconds=None):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    said = []
    if seconds is not None:
        s.setsockopt(socket.SOL_SOCKET, SO_TXTIME, struct.pack("=iI", time.CLOCK_MONOTONIC, SOF_TXTIME_NONE))
        at_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + int(float(seconds) * 1e9)
        said = [(socket.SOL_SOCKET, SO_TXTIME, struct.pack("=Q", at_ns))]
    s.sendmsg([label.encode()], said, 0, (address, PORT))


def hear():
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.bind(("::", PORT))
    print("ready", flush=True)
    while True:
        print(s.recv(2048).decode(errors="replace"), flush=True)


if sys.argv[1:2] == ["send"] and len(sys.argv) in (4, 5):
    send(*sys.argv[2:])
elif sys.argv[1:] == ["hear"]:
    hear()
else:
    sys.exit(__doc__)
