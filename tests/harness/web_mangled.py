#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""web_mangled.py HOST PORT N: N requests with bytes changed, left out and inserted, each on a separate connection.
Fails if almost none is answered."""
import random
import socket
import sys

random.seed(7)
host, port, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
at = f"Host: {host}:{port}\r\n".encode()
GOOD = [b"GET /api/v1/history?peer=d1&since=5m HTTP/1.1\r\n" + at + b"Accept: */*\r\nCookie: a=b\r\nConnection: close\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\n" + at + b"Accept: application/openmetrics-text;q=0.5, text/plain;q=0.1\r\n\r\n",
        b"GET /api/v1/stream?documents=lease,usage&every=1s HTTP/1.1\r\n" + at + b"\r\n",
        b"HEAD / HTTP/1.1\r\n" + at + b"Sec-Fetch-Site: none\r\n\r\n"]
BITS = [b"\r\n", b"\0", b"%", b"%00", b"?", b"&", b"=", b"HTTP/9.9", b"\xff" * 9, b"A" * 4000, b"Content-Length: -1\r\n",
        b"Transfer-Encoding: chunked\r\n", b" ", b"POST", b"/../", b"Expect: 100-continue\r\n", b"Host: [::1", b",,", b"q=0.",
        b"Content-Length: 99999999999999999999\r\n"]
answered = 0
for _ in range(n):
    data = bytearray(random.choice(GOOD))
    for _ in range(random.randint(1, 4)):
        where = random.randrange(len(data))
        if random.random() < 0.5:
            data[where:where + random.randint(0, 8)] = random.choice(BITS)
        else:
            data[where] = random.randrange(256)
    with socket.create_connection((host, port), 20) as s:
        s.settimeout(0.05)
        try:
            s.sendall(data)
            answered += s.recv(64).startswith(b"HTTP/1.")
        except OSError:
            pass
print(f"# {answered} of {n} were answered")
sys.exit(answered < n // 20)
