#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A witness that checks nothing: cosign.py NAME KEY.pem CHECKPOINT prints the checkpoint with a cosignature
(c2sp.org/tlog-cosignature, version 1), and on standard error the key for verifiers. openssl signs."""
import base64
import hashlib
import subprocess
import sys
import tempfile
import time

name, key, path = sys.argv[1:]
pub = subprocess.run(['openssl', 'pkey', '-in', key, '-pubout', '-outform', 'DER'], check=True, capture_output=True).stdout[-32:]
id_ = hashlib.sha256(name.encode() + b'\n\x04' + pub).digest()[:4]
with open(path, encoding='utf-8') as f:
    note = f.read()
now = int(time.time())
with tempfile.NamedTemporaryFile() as said:
    said.write(f'cosignature/v1\ntime {now}\n{note[:note.index(chr(10) * 2) + 1]}'.encode())
    said.flush()
    sig = subprocess.run(['openssl', 'pkeyutl', '-sign', '-inkey', key, '-rawin', '-in', said.name], check=True, capture_output=True).stdout
print(f'{name}+{id_.hex()}+{base64.b64encode(b"%c" % 4 + pub).decode()}', file=sys.stderr)
sys.stdout.write(f'{note}\N{EM DASH} {name} {base64.b64encode(id_ + now.to_bytes(8, "big") + sig).decode()}\n')
