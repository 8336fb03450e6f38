#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports of evidence for tests: intervals' files as bwlimitd writes them, entered and exported by the real tools; and, as the owner of
the log's key could do it, changed and committed to again."""
import base64
import copy
import hashlib
import hmac
import json
import os
import random
import shutil
import subprocess
import time

import check_evidence as ev

BOOT = '01234567-89ab-cdef-0123-456789abcdef'
START = 1790000000  # a Monday, 13:33 UTC
KEYS = ('frames', 'bytes', 'dropped_frames', 'dropped_bytes')
P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def edwards(a, b):
    """RFC 8032, 5.1.4, in extended coordinates."""
    s, t = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    c, d = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = t - s, d - c, d + c, t + s
    return e * f % P, g * h % P, f * g % P, e * h % P


def base_points():
    y = 4 * pow(5, P - 2, P) % P
    xx = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(xx, (P + 3) // 8, P)
    if (x * x - xx) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    x = P - x if x & 1 else x
    to = [(x, y, 1, x * y % P)]
    for _ in range(255):
        to.append(edwards(to[-1], to[-1]))
    return to


POINTS = base_points()


def times_base(n):
    to = (0, 1, 1, 0)
    for bit in range(n.bit_length()):
        if n >> bit & 1:
            to = edwards(to, POINTS[bit])
    z = pow(to[2], P - 2, P)
    x, y = to[0] * z % P, to[1] * z % P
    return (y | (x & 1) << 255).to_bytes(32, 'little')


def sign(seed, said):
    h = hashlib.sha512(seed).digest()
    a = int.from_bytes(h[:32], 'little') & (1 << 254) - 8 | 1 << 254
    r = int.from_bytes(hashlib.sha512(h[32:] + said).digest(), 'little') % L
    big = times_base(r)
    k = int.from_bytes(hashlib.sha512(big + times_base(a) + said).digest(), 'little') % L
    return big + ((r + k * a) % L).to_bytes(32, 'little')


def utc(ms):
    return time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(ms // 1000)) + '.%03dZ' % (ms % 1000)


class Dpu:
    """Counts, and writes an interval's file as bwlimitd does."""

    def __init__(self, state, rng):
        self.flows, self.rng = os.path.join(state, 'flows'), rng
        os.makedirs(self.flows)
        self.at, self.tables, self.interval, self.sequence, self.boot = START * 1000, 77, 0, 0, BOOT
        self.counter = {}  # by peer and CPU

    def packets(self, peer, cpu):
        """Some packets of a peer on a CPU: what its counter grows by."""
        n = self.rng.randrange(1, 9)
        s = [n, n * self.rng.randrange(64, 1500), 0, 0] if self.rng.randrange(4) else [0, 0, n, n * self.rng.randrange(64, 1500)]
        was = self.counter.get((peer, cpu), ev.ZERO)
        self.counter[peer, cpu] = ev.add(was, s)
        return was, s

    def interval_of(self, peers, *, known=True, final=False, gap=None, other=(), write=True, moved=(), why=None):
        """peers: those that have packets. other: those whose packets are of no peer. moved: whose counters moved before."""
        begin, self.at = self.at, self.at + 10000
        self.interval += 1
        for peer in moved:
            self.packets(peer, 0)
        rows, lines, lost = [], [], ev.ZERO
        for peer in other:
            lost = ev.add(lost, self.packets(peer, 0)[1])
        for peer in sorted(peers):
            cpus, flows = [], ev.ZERO
            for cpu in sorted(self.rng.sample(range(4), self.rng.randrange(1, 3))) if peer not in moved else [0]:
                was, s = self.packets(peer, cpu)
                cpus.append([cpu, *was, *ev.add(was, s)])
                flows = ev.add(flows, s)
                rows.append({'kind': 'flow', 'id': peer + 1, 'peer': f'p{peer}', 'generation': 1, 'direction': 'out', 'port': 'hpf0',
                             'class': 'other', 'reason': 'pass' if s[0] else 'peer-rate', 'ip_protocol': 6, 'source': '10.7.0.1',
                             'source_port': 1000 + cpu, 'destination': '10.1.0.9', 'destination_port': 5201, 'queue_pair': 0,
                             'tcp_flags': 0, 'frames': s[0] + s[2], 'bytes': s[1] + s[3], 'charged_bytes': s[1], 'first': None, 'last': None})
            named = lambda s: dict(zip(KEYS, s))
            lines.append({'kind': 'flow-peer', 'id': peer + 1, 'peer': f'p{peer}', 'balanced': peer not in moved, 'why': why if peer in moved else None,
                          'before': {}, 'after': {}, 'flows': named(flows), 'remainder': named(ev.ZERO), 'unclassed': named(ev.ZERO),
                          'classes': [], 'cpus': cpus})
        if not write:
            return
        self.sequence += 1
        head = {'version': 1, 'kind': 'flow-interval', 'boot': self.boot, 'tables': self.tables, 'interval': self.interval, 'final': final,
                'sequence': self.sequence, 'thinned': False, 'begin': utc(begin) if known else None, 'end': utc(self.at) if known else None,
                'gap': gap, 'peer_count': len(lines), 'row_count': len(rows), 'balanced': not moved, 'other': dict(zip(KEYS, lost))}
        with open(os.path.join(self.flows, '%016d.jsonl' % self.sequence), 'w', encoding='utf-8') as f:
            for o in [head, *lines, *rows]:
                f.write(json.dumps(o, separators=(',', ':')) + '\n')


class Lab:
    """A log, and what is exported of it."""

    def __init__(self, folder, build):
        self.folder, self.build, self.n = folder, build, 0
        self.log = os.path.join(folder, 'log')
        self.ctl = os.path.join(build, 'ctl/bwlimit-ctl')
        self.run('audit', 'init', '--dir', self.log, '--origin', 'bwlimit/test')
        self.pub = os.path.join(self.log, 'key.pub')
        with open(os.path.join(self.log, 'key'), encoding='utf-8') as f:
            _, _, self.name, key_id, seed = f.read().strip().split('+', 4)
        self.seed = base64.b64decode(seed)[1:]
        self.key_id = bytes.fromhex(key_id)

    def run(self, *words):
        return subprocess.run([self.ctl, *words], check=True, capture_output=True, text=True).stdout

    def export(self, name, make, rng):
        """make(dpu) writes the files. Returns the folder, and the names behind the pseudonyms."""
        state, log, to = (os.path.join(self.folder, f'{name}-{x}') for x in ('state', 'log', 'export'))
        os.makedirs(state)
        shutil.copytree(self.log, log)
        make(Dpu(state, rng))
        files = sorted(os.listdir(os.path.join(state, 'flows')))
        later = os.path.join(state, 'later')
        os.rename(os.path.join(state, 'flows'), later)
        os.makedirs(os.path.join(state, 'flows'))
        for some in (files[:1], files[1:]):  # a log begins with the newest of the files that there are
            for x in some:
                os.rename(os.path.join(later, x), os.path.join(state, 'flows', x))
            subprocess.run([os.path.join(self.build, 'tests/harness/bwl-enter'), state, log], check=True)
        self.run('evidence', 'export', '--state-dir', state, '--dir', log, to)
        names = {}
        for x in os.listdir(os.path.join(state, 'evidence')):
            with open(os.path.join(state, 'evidence', x), 'rb') as f:
                secret = f.read()
            for peer in range(8):
                said = (peer + 1).to_bytes(8, 'big') + f'p{peer}'.encode()
                salt = hmac.new(secret, b'\2' + said, 'sha256').digest()
                names[ev.H(0x16, salt, ev.u(peer + 1), ev.sized(f'p{peer}'.encode())).hex()] = peer
        return to, names


class Part:
    """An entry and its peers, as JSON. raw: their bytes are as they are, and so is what the entry says of them."""

    def __init__(self, record, peers):
        self.record, self.peers, self.raw = record, peers, False

    @property
    def data(self):
        return self.record['data']

    def commit(self, previous):
        """The entry is that of these peers."""
        self.peers.sort(key=lambda p: p['pseudonym'])
        peers = [ev.peer_of(p) for p in self.peers]
        nodes = [ev.peer_hash(p) for p in peers]
        self.data['slots'] = '%020d' % len(nodes)
        while len(nodes) > 1:
            nodes = [ev.H(0x13, nodes[k], nodes[k + 1]) for k in range(0, len(nodes), 2)]
        e = {'boot': self.data['boot'], 'tables': int(self.data['tables']), 'interval': int(self.data['interval'])}
        total = {k: ev.ZERO for k in ev.SUMS}
        for p in peers:
            for k in ('flows', 'remainder', 'unclassed'):
                total[k] = ev.add(total[k], p[k])
            for _, before, after in p['cpus']:
                total['before'], total['after'] = ev.add(total['before'], before), ev.add(total['after'], after)
        for k, s in total.items():
            self.data[k] = ['%020d' % n for n in s]
        self.data['root'], self.data['previous'] = ev.interval_root(e, nodes[0]).hex(), previous


def read(folder):
    parts = []
    for x in sorted(os.listdir(folder)):
        if x.endswith('.entry'):
            base = os.path.join(folder, x[:-len('.entry')])
            parts.append(Part(json.loads(ev.read(base + '.entry')), [json.loads(p) for p in ev.read(base + '.peers').splitlines()]))
    return parts


def commit(parts):
    previous = parts[0].data['previous']
    for p in parts:
        p.commit(previous)
        previous = p.data['root']
    return parts


def inclusion(leaves, n):
    """Root, and the path of leaf n: RFC 6962, 2.1.1."""
    if len(leaves) == 1:
        return leaves[0], []
    k = 1 << (len(leaves) - 1).bit_length() - 1
    left, right = inclusion(leaves[:k], n), inclusion(leaves[k:], n - k)
    path = left[1] + [right[0]] if n < k else right[1] + [left[0]]
    return hashlib.sha256(b'\1' + left[0] + right[0]).digest(), path


def dumps(o):
    return json.dumps(o, separators=(',', ':'), sort_keys=True, ensure_ascii=False).encode()


def write(lab, parts, folder, lines=dumps):
    """A log of these entries, signed by its key."""
    os.makedirs(folder)
    for n, p in enumerate(parts):
        p.record['n'] = n
    said = [lines(p.record) for p in parts]
    leaves = [hashlib.sha256(b'\0' + x).digest() for x in said]
    note = f'{lab.name}\n{len(said)}\n{base64.b64encode(inclusion(leaves, 0)[0]).decode()}\n'
    note += f'\n\N{EM DASH} {lab.name} {base64.b64encode(lab.key_id + sign(lab.seed, note.encode())).decode()}\n'
    for n, p in enumerate(parts):
        path = [base64.b64encode(x).decode() for x in inclusion(leaves, n)[1]]
        proof = '\n'.join(['c2sp.org/tlog-proof@v1', f'index {n}', *path, '', note])
        for end, content in ('entry', said[n]), ('tlog-proof', proof.encode()), ('peers', b''.join(lines(x) + b'\n' for x in p.peers)):
            with open(os.path.join(folder, '%020d.%s' % (n, end)), 'wb') as f:
                f.write(content)
    with open(os.path.join(folder, 'checkpoint'), 'w', encoding='utf-8') as f:
        f.write(note)


def copied(parts):
    return copy.deepcopy(parts)


def rng_of(*words):
    return random.Random('/'.join(str(w) for w in words))
