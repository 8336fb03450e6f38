#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""web_crowd.py HOST PORT N TEXT [drip]: N connections that send TEXT (with \\r\\n) and never read. Prints "ready N" when
done, and stays. drip: one more byte each second on the remaining ones, and "left N". TEXT tls-hello: the beginning of
a handshake."""
import select
import socket
import sys
import time

host, port, n, text = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
HELLO = bytes.fromhex("16030100") + bytes([200, 1, 0, 0, 196, 3, 3]) + bytes(60)
data = HELLO if text == "tls-hello" else text.encode().decode("unicode_escape").encode()
crowd = []
for _ in range(n):
    s = socket.socket()
    s.settimeout(20)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect((host, port))
    try:
        s.sendall(data)
    except OSError:
        pass  # the server has already hung up
    crowd.append(s)
print("ready", len(crowd), flush=True)


def is_there(s):
    try:
        return bool(s.send(b"x", socket.MSG_DONTWAIT))
    except BlockingIOError:
        return True
    except OSError:
        return False


while True:
    time.sleep(1)
    if sys.argv[5:] == ["drip"]:
        crowd = [s for s in crowd if is_there(s)]
        print("left", len(crowd), flush=True)
