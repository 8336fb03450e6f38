#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks evidence independently, with docs/evidence.md and hashlib only: check_evidence.py open FILE | export DIR.
Signatures are not checked: evidence verify does that, and other programs do it for the log."""
import base64
import calendar
import glob
import hashlib
import json
import os
import sys
import time

KEYS = ('frames', 'bytes', 'dropped_frames', 'dropped_bytes')


def need(what, why):
    if not what:
        sys.exit('BAD ' + why)


def H(prefix, *parts):
    return hashlib.sha256(bytes([prefix]) + b''.join(parts)).digest()


def u(n):
    need(0 <= n < 1 << 64, 'a number is outside 64 bits')
    return n.to_bytes(8, 'big')


def sized(b):
    return u(len(b)) + b


def sums(s):
    need(len(s) == 4, 'four numbers')
    return b''.join(u(n) for n in s)


def add(a, b):
    return [x + y for x, y in zip(a, b)]


def minus(a, b):
    return [x - y for x, y in zip(a, b)]


def peer_hash(p):
    b = bytes.fromhex(p['pseudonym']) + u(int(p['balanced'])) + sized(p['why'].encode())
    b += sums(p['flows']) + sums(p['remainder']) + sums(p['unclassed']) + u(len(p['classes']))
    for way, name, s in p['classes']:
        b += sized(way.encode()) + sized(name.encode()) + sums(s)
    b += u(len(p['cpus']))
    for cpu, before, after in p['cpus']:
        b += u(cpu) + sums(before) + sums(after)
    return H(0x12, b, u(p['slots']), bytes.fromhex(p['root']))


def interval_root(e, peers):
    return H(0x1b, sized(e['boot'].encode()), u(int(e['tables'])), u(int(e['interval'])), peers)


def peer_adds_up(p, e):
    need(p['balanced'] or not e['balanced'], 'the interval says that it balances, and a peer of it does not')
    records = add(p['flows'], p['remainder'])
    total = [0] * 4
    for _, _, s in p['classes']:
        total = add(total, s)
    need(total == records, 'classes do not add up')
    grown = [0] * 4
    for _, before, after in p['cpus']:
        grown = add(grown, minus(after, before))
    need(not p['balanced'] or add(records, p['unclassed']) == grown, 'records are not what the counter grew by')
    return records


def leaf(index, s, commitment):
    return H(0x14, u(index), sums(s), commitment), s


def join(a, b):
    return H(0x11, a[0], sums(a[1]), b[0], sums(b[1])), add(a[1], b[1])


def numbers(line):
    o = json.loads(line)
    need(o['kind'] in ('flow', 'flow-remainder'), 'not a flow')
    passed = o['reason'].startswith('pass')
    return o['kind'], [o['frames'], o['charged_bytes'], 0, 0] if passed else [0, 0, o['frames'], o['bytes']]


def record(peer, r, id_, name):
    line = r['line'].encode()
    o = json.loads(line)
    need(o['id'] == id_ and (o['peer'] or '') == name, 'a record is of another peer')
    kind, s = numbers(line)
    of = peer['flows' if kind == 'flow' else 'remainder']
    need(all(x <= y for x, y in zip(s, of)), 'a record has more bytes or frames than all records of its kind together')
    return leaf(r['index'], s, H(0x10, bytes.fromhex(r['salt']), sized(line)))


def entry(line, proof):
    e = json.loads(line)
    need(e['event'] == 'interval', 'not an interval')
    lines = proof.split('\n')
    need(lines[0] == 'c2sp.org/tlog-proof@v1', 'not a proof')
    at = 2 if lines[1].startswith('extra ') else 1
    index = int(lines[at].split()[1])
    need(index == e['n'], 'another record')
    blank = lines.index('')
    path = [base64.b64decode(x) for x in lines[at + 1:blank]]
    size, root = int(lines[blank + 2]), base64.b64decode(lines[blank + 3])
    # RFC 9162, 2.1.3.2
    need(index < size, 'outside the log')
    fn, sn, r = index, size - 1, hashlib.sha256(b'\0' + line.encode()).digest()
    for p in path:
        need(sn, 'the proof is too long')
        if fn & 1 or fn == sn:
            r = hashlib.sha256(b'\1' + p + r).digest()
            while not fn & 1 and fn:
                fn >>= 1
                sn >>= 1
        else:
            r = hashlib.sha256(b'\1' + r + p).digest()
        fn >>= 1
        sn >>= 1
    need(not sn and r == root, 'not in the log')
    return e['data'], e['n']


def opened(doc):
    shown, last = 0, -1
    need(doc['kind'] == 'evidence-opening', 'not an opening')
    for i in doc['intervals']:
        e, n = entry(i['entry'], i['proof'])
        need(n > last, 'an interval twice, or not in order')
        last = n
        seen = set()
        for o in i['peers']:
            p, at = o['peer'], o['slot']
            need(at not in seen, 'a peer twice')
            seen.add(at)
            h = peer_hash(p)
            need(1 << len(o['path']) == int(e['slots']) and at < int(e['slots']), 'path')
            for s in o['path']:
                s = bytes.fromhex(s)
                h = H(0x13, s, h) if at & 1 else H(0x13, h, s)
                at >>= 1
            need(interval_root(e, h).hex() == e['root'], 'the peer is not in this interval')
            records = peer_adds_up(p, e)
            if 'records' not in o:
                need(records == [0] * 4 and not p['cpus'], 'traffic is not shown')
                continue
            name = o['name'].encode()
            need(H(0x16, bytes.fromhex(o['name_salt']), u(o['id']), sized(name)).hex() == p['pseudonym'], 'name')
            want = (p['root'], records)
            if 'pad_key' in o:
                nodes = [record(p, r, o['id'], o['name']) for r in o['records']]
                need([r['index'] for r in o['records']] == list(range(len(nodes))), 'order')
                of = {'flow': [0] * 4, 'flow-remainder': [0] * 4}
                for r in o['records']:
                    k, s = numbers(r['line'])
                    of[k] = add(of[k], s)
                need(of == {'flow': p['flows'], 'flow-remainder': p['remainder']}, 'flows and remainders')
                pad = bytes.fromhex(o['pad_key'])
                for n in range(len(nodes), p['slots']):
                    nodes.append(leaf(n, [0] * 4, H(0x15, pad, u(n))))
                need(len(nodes) == p['slots'], 'too many records')
                while len(nodes) > 1:
                    nodes = [join(nodes[k], nodes[k + 1]) for k in range(0, len(nodes), 2)]
                need((nodes[0][0].hex(), nodes[0][1]) == want, 'records are not those of the interval')
                shown += len(o['records'])
                continue
            for r in o['records']:
                node, at = record(p, r, o['id'], o['name']), r['index']
                need(1 << len(r['path']) == p['slots'] and at < p['slots'], 'path')
                for h, s in r['path']:
                    other = (bytes.fromhex(h), s)
                    node = join(other, node) if at & 1 else join(node, other)
                    at >>= 1
                need((node[0].hex(), node[1]) == want, 'a record is not in the interval')
                shown += 1
    print(f'ok {shown} records')


def exported(folder):
    last, known, followed, unbalanced = None, {}, 0, 0
    names = sorted(glob.glob(os.path.join(folder, '*.entry')))
    need(names, 'no intervals')
    for name in names:
        base = name[:-len('.entry')]
        with open(name) as f:
            line = f.read()
        with open(base + '.tlog-proof') as f:
            e, _ = entry(line, f.read())
        with open(base + '.peers') as f:
            peers = [json.loads(x) for x in f]
        need([p['pseudonym'] for p in peers] == sorted({p['pseudonym'] for p in peers}), 'a peer twice')
        nodes = [peer_hash(p) for p in peers]
        need(len(nodes) == int(e['slots']), 'slots')
        while len(nodes) > 1:
            nodes = [H(0x13, nodes[k], nodes[k + 1]) for k in range(0, len(nodes), 2)]
        need(interval_root(e, nodes[0]).hex() == e['root'], 'other peers')
        total = {k: [0] * 4 for k in ('before', 'after', 'flows', 'remainder', 'unclassed')}
        for p in peers:
            peer_adds_up(p, e)
            unbalanced += not p['balanced']
            for k in ('flows', 'remainder', 'unclassed'):
                total[k] = add(total[k], p[k])
            for _, before, after in p['cpus']:
                total['before'] = add(total['before'], before)
                total['after'] = add(total['after'], after)
        for k, s in total.items():
            need([int(n) for n in e[k]] == s, k + ' is not what the peers add up to')
        end = calendar.timegm(time.strptime(e['end'][:19], '%Y-%m-%dT%H:%M:%S')) if e['end'][0] != '0' else None
        begin = calendar.timegm(time.strptime(e['begin'][:19], '%Y-%m-%dT%H:%M:%S')) if e['begin'][0] != '0' else end
        if end is not None:
            span = min(max(end - begin, 0), 86400)
            need((end - span) // 86400 <= int(e['epoch']) <= (end + span) // 86400, 'pseudonyms of another day')
        if last:
            need(e['epoch'] >= last['epoch'], 'pseudonyms of a day before')
            need(e['previous'] == last['root'], 'an entry is missing')
            follows = (e['boot'], e['tables'], int(e['interval'])) == (last['boot'], last['tables'], int(last['interval']) + 1)
            need(follows or last['final'] or e['gap'], 'an interval is missing')
            if (last['epoch'], last['boot']) != (e['epoch'], e['boot']):
                known = {}
        if not e['other_known'] or any(int(n) for n in e['other']):
            known = {}
        for p in peers:
            for cpu, before, after in p['cpus']:
                was = known.get((p['pseudonym'], cpu))
                if was is not None:
                    followed += 1
                    need(was == before or not p['balanced'], 'a counter moved between two intervals')
                known[p['pseudonym'], cpu] = after
        last = e
    print(f'ok {len(names)} intervals, {followed} counters followed, {unbalanced} times a peer does not balance')


if sys.argv[1] == 'open':
    with open(sys.argv[2]) as f:
        opened(json.load(f))
else:
    exported(sys.argv[2])
