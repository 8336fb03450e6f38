#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks evidence independently, with docs/evidence.md and hashlib only: check_evidence.py open FILE | export DIR.
Signatures are not checked: evidence verify does that, and other programs do it for the log. What cannot be read is bad, and what is
of a later version cannot be judged: nothing is skipped. The words of reasons are maps/reason.h's."""
import base64
import binascii
import calendar
import hashlib
import json
import os
import re
import sys
import time

ZERO = [0] * 4
NO_TIME = '0000-00-00T00:00:00.000Z'
DAY = 86400


class Bad(Exception):
    pass


class Newer(Exception):
    pass


def need(what, why):
    if not what:
        raise Bad(why)


def reasons():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../maps/reason.h')
    with open(path, encoding='utf-8') as f:
        return {name: passes == '1' for name, passes in re.findall(r'X\(\w+, "([a-z-]+)", ([01]),', f.read())}


REASONS = reasons()


def H(prefix, *parts):
    return hashlib.sha256(bytes([prefix]) + b''.join(parts)).digest()


def u(n):
    need(0 <= n < 1 << 64, 'a number is outside 64 bits')
    return n.to_bytes(8, 'big')


def sized(b):
    return u(len(b)) + b


def sums(s):
    return b''.join(u(n) for n in s)


def add(a, b):
    to = [x + y for x, y in zip(a, b)]
    need(all(n < 1 << 64 for n in to), 'sums above 2^64')
    return to


def minus(a, b):
    """None: some number would be below 0."""
    to = [x - y for x, y in zip(a, b)]
    return to if min(to) >= 0 else None


def pairs(x):
    o = dict(x)
    need(len(o) == len(x), 'a field twice')
    return o


def parse(text):
    """JSON as the C library takes it: no field twice, no NUL, no number beyond 63 bits, no lone surrogate."""
    o = json.loads(text, object_pairs_hook=pairs, parse_constant=lambda x: need(False, x))
    json.dumps(o, ensure_ascii=False).encode()
    need(isinstance(o, (dict, list)), 'neither an object nor an array')
    return o


def only(o, known, where):
    for key in o:
        if key not in known:
            raise Newer(f'{where}: field {key!r}')


def number(n, most=(1 << 63) - 1):
    need(type(n) is int and 0 <= n <= most, 'not a number')
    return n


def text(s, least, most):
    need(type(s) is str and least <= len(s.encode()) <= most and '\0' not in s, 'not a text')
    return s


def hash_of(s):
    need(type(s) is str and re.fullmatch('[0-9a-f]{64}', s), 'not a hash')
    return bytes.fromhex(s)


def is_slots(n):
    return 0 < n <= 1 << 20 and n & (n - 1) == 0


def four(s):
    need(type(s) is list and len(s) == 4, 'not four numbers')
    return [number(n) for n in s]


def digits(s):
    need(type(s) is str and re.fullmatch('[0-9]{20}', s) and int(s) < 1 << 64, 'not 20 digits')
    return int(s)


def seconds(s):
    """None: not known."""
    if s == NO_TIME:
        return None
    need(type(s) is str and re.fullmatch(r'[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3})?Z', s), 'not a time')
    at = calendar.timegm(time.strptime(s[:19], '%Y-%m-%dT%H:%M:%S'))
    need(at >= 0 and time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at)) == s[:19], 'not a time')
    return at


def flag(n):
    return bool(number(n, 1))


SUMS = ('before', 'after', 'flows', 'remainder', 'unclassed')
FIELDS = {
    'boot': lambda s: text(s, 1, 39), 'begin': seconds, 'end': seconds, 'root': hash_of, 'previous': hash_of,
    **{k: digits for k in ('tables', 'interval', 'sequence', 'epoch', 'slots')},
    **{k: flag for k in ('final', 'gap', 'thinned', 'balanced', 'other_known')},
    **{k: lambda a: [digits(n) for n in a] if type(a) is list and len(a) == 4 else need(False, 'not four') for k in SUMS + ('other',)},
}


def entry_data(data):
    """The entry's fields, as values."""
    need(type(data) is dict, 'no entry')
    if number(data['version']) > 1:
        raise Newer(f'an entry of version {data["version"]}')
    need(data['version'] == 1, 'version')
    e = {k: take(data[k]) for k, take in FIELDS.items()}
    need(is_slots(e['slots']), 'slots')
    only(data, {'version', *FIELDS}, 'an entry')
    return e


PEER = ('pseudonym', 'balanced', 'why', 'flows', 'remainder', 'unclassed', 'classes', 'cpus', 'slots', 'root')


def peer_of(p):
    need(type(p) is dict, 'no peer')
    to = {k: four(p[k]) for k in ('flows', 'remainder', 'unclassed')}
    to.update({k: hash_of(p[k]) for k in ('pseudonym', 'root')})
    need(type(p['balanced']) is bool, 'balanced')
    to['balanced'], to['why'] = p['balanced'], text(p['why'], 0, 159)
    need(to['balanced'] == (not to['why']), 'why')
    need(type(p['classes']) is list and len(p['classes']) <= 64 and type(p['cpus']) is list and len(p['cpus']) <= 4096, 'too many')
    to['classes'] = [(way, text(name, 1, 31), four(s)) for way, name, s in p['classes']]
    need(all(way in ('out', 'in') for way, _, _ in to['classes']), 'a direction')
    to['cpus'] = [(number(cpu, (1 << 32) - 1), four(before), four(after)) for cpu, before, after in p['cpus']]
    need(all(a[0] < b[0] for a, b in zip(to['cpus'], to['cpus'][1:])), 'CPUs')
    to['slots'] = number(p['slots'], 1 << 20)
    need(is_slots(to['slots']), 'slots')
    only(p, PEER, 'a peer')
    return to


def peer_hash(p):
    b = p['pseudonym'] + u(int(p['balanced'])) + sized(p['why'].encode())
    b += sums(p['flows']) + sums(p['remainder']) + sums(p['unclassed']) + u(len(p['classes']))
    for way, name, s in p['classes']:
        b += sized(way.encode()) + sized(name.encode()) + sums(s)
    b += u(len(p['cpus']))
    for cpu, before, after in p['cpus']:
        b += u(cpu) + sums(before) + sums(after)
    return H(0x12, b, u(p['slots']), p['root'])


def interval_root(e, peers):
    return H(0x1b, sized(e['boot'].encode()), u(e['tables']), u(e['interval']), peers)


def adds_up(p):
    """Are its records what its counters grew by?"""
    grown = ZERO
    before, after = ZERO, ZERO
    for _, b, a in p['cpus']:
        before, after = add(before, b), add(after, a)
    grown = minus(after, before)
    return grown is not None and add(add(p['flows'], p['remainder']), p['unclassed']) == grown


def judge_peer(p, e):
    need(p['balanced'] or not e['balanced'], 'the interval says that it balances, and a peer of it does not')
    records, total = add(p['flows'], p['remainder']), ZERO
    for _, _, s in p['classes']:
        total = add(total, s)
    need(total == records, 'classes do not add up')
    need(not p['balanced'] or adds_up(p), 'records are not what the counter grew by')
    return records


def leaf(index, s, commitment):
    return H(0x14, u(index), sums(s), commitment), s


def join(a, b):
    return H(0x11, a[0], sums(a[1]), b[0], sums(b[1])), add(a[1], b[1])


FLOW = ('kind id peer generation direction port class reason ip_protocol source source_port destination destination_port queue_pair '
        'tcp_flags frames bytes charged_bytes first last').split()


def numbers(line):
    o = parse(line)
    need(o['kind'] in ('flow', 'flow-remainder') and o['direction'] in ('out', 'in'), 'not a flow')
    if o['reason'] not in REASONS:
        raise Newer(f'reason {o["reason"]!r}')
    only(o, FLOW, 'a record')
    frames, seen, charged = (number(o[k]) for k in ('frames', 'bytes', 'charged_bytes'))
    return o['kind'], [frames, charged, 0, 0] if REASONS[o['reason']] else [0, 0, frames, seen]


def record(peer, r, id_, name):
    line = r['line'].encode()
    o = parse(line)
    need(o['id'] == id_ and (o['peer'] or '') == name, 'a record is of another peer')
    kind, s = numbers(line)
    of = peer['flows' if kind == 'flow' else 'remainder']
    need(all(x <= y for x, y in zip(s, of)), 'a record has more bytes or frames than all records of its kind together')
    only(r, ('index', 'line', 'salt', 'path'), 'a record')
    return leaf(number(r['index']), s, H(0x10, hash_of(r['salt']), sized(line)))


def note_of(text_):
    """Size and root of a checkpoint."""
    lines = text_.split('\n')
    size, root = lines[1], base64.b64decode(lines[2], validate=True)
    need(re.fullmatch('0|[1-9][0-9]*', size) and len(root) == 32, 'not a checkpoint')
    return int(size), root


def entry(line, proof):
    """The entry, its number, and the checkpoint to which its proof leads. Newer: it is in the log all the same."""
    lines = proof.split('\n')
    need(lines[0] == 'c2sp.org/tlog-proof@v1', 'not a proof')
    at = 2 if lines[1].startswith('extra ') else 1
    need(re.fullmatch('index (0|[1-9][0-9]*)', lines[at]), 'not a proof')
    index = int(lines[at].split()[1])
    blank = lines.index('')
    path = [base64.b64decode(x, validate=True) for x in lines[at + 1:blank]]
    need(all(len(p) == 32 for p in path), 'not a proof')
    size, root = note_of('\n'.join(lines[blank + 1:]))
    # RFC 9162, 2.1.3.2
    need(index < size, 'outside the log')
    fn, sn, r = index, size - 1, hashlib.sha256(b'\0' + line).digest()
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
    e = parse(line)
    need(e['event'] == 'interval', 'not an interval')
    need(number(e['n']) == index, 'another record')
    return entry_data(e['data']), index, (size, root)


def opened(doc):
    shown, last = 0, -1
    need(doc['kind'] == 'evidence-opening', 'not an opening')
    if number(doc['version']) > 1:
        raise Newer('a file of version %d' % doc['version'])
    need(doc['version'] == 1 and doc['intervals'], 'nothing is shown')
    only(doc, ('version', 'kind', 'intervals'), 'a file')
    for i in doc['intervals']:
        e, n, _ = entry(i['entry'].encode(), i['proof'])
        only(i, ('entry', 'proof', 'peers'), 'an interval')
        need(n > last, 'an interval twice, or not in order')
        last = n
        seen = set()
        for o in i['peers']:
            p, at = peer_of(o['peer']), number(o['slot'])
            only(o, ('slot', 'peer', 'path', 'id', 'name', 'name_salt', 'records', 'pad_key'), 'a slot')
            need(at not in seen, 'a peer twice')
            seen.add(at)
            h = peer_hash(p)
            need(1 << len(o['path']) == e['slots'] and at < e['slots'], 'path')
            for s in o['path']:
                s = hash_of(s)
                h = H(0x13, s, h) if at & 1 else H(0x13, h, s)
                at >>= 1
            need(interval_root(e, h) == e['root'], 'the peer is not in this interval')
            records = judge_peer(p, e)
            if 'records' not in o:
                need(records == ZERO and not p['cpus'], 'traffic is not shown')
                continue
            name = o['name'].encode()
            need(H(0x16, hash_of(o['name_salt']), u(number(o['id'])), sized(name)) == p['pseudonym'], 'name')
            want = (p['root'], records)
            if 'pad_key' in o:
                nodes = [record(p, r, o['id'], o['name']) for r in o['records']]
                need([r['index'] for r in o['records']] == list(range(len(nodes))), 'order')
                of = {'flow': ZERO, 'flow-remainder': ZERO}
                for r in o['records']:
                    k, s = numbers(r['line'])
                    of[k] = add(of[k], s)
                need(of == {'flow': p['flows'], 'flow-remainder': p['remainder']}, 'flows and remainders')
                pad = hash_of(o['pad_key'])
                for n in range(len(nodes), p['slots']):
                    nodes.append(leaf(n, ZERO, H(0x15, pad, u(n))))
                need(len(nodes) == p['slots'], 'too many records')
                while len(nodes) > 1:
                    nodes = [join(nodes[k], nodes[k + 1]) for k in range(0, len(nodes), 2)]
                need(nodes[0] == want, 'records are not those of the interval')
                shown += len(o['records'])
                continue
            for r in o['records']:
                node, at = record(p, r, o['id'], o['name']), r['index']
                need(1 << len(r['path']) == p['slots'] and at < p['slots'], 'path')
                for h, s in r['path']:
                    other = (hash_of(h), four(s))
                    node = join(other, node) if at & 1 else join(node, other)
                    at >>= 1
                need(node == want, 'a record is not in the interval')
                shown += 1
    return 'ok', f'{shown} records'


class Counter:
    """A peer's counter on a CPU, when it was last seen. start: since which interval its values continue, over all its pseudonyms."""

    def __init__(self, after, e, seen, start):
        self.after, self.tables, self.epoch, self.seen, self.start = after, e['tables'], e['epoch'], seen, start
        self.moved = self.in_gap = self.in_other = False


class Chain:
    """Intervals that follow on one another, and counters that go on from each to the next."""

    def __init__(self):
        self.n = self.followed = self.unbalanced = self.missing = 0
        self.last, self.boots, self.before = None, set(), None
        self.cut()

    def cut(self):
        self.last, self.end, self.day = None, None, None
        self.forget()

    def forget(self):
        self.known, self.values, self.room = {}, None, ZERO

    def next(self, e, peers):
        same_boot = self.last is not None and self.last['boot'] == e['boot']
        if self.last:
            self.between(e)
        if not same_boot:
            need(not self.last or e['boot'] not in self.boots, 'a boot that was over')
            self.boots.add(e['boot'])
            self.forget()
        self.times(e)
        if e['other_known']:
            self.room = add(self.room, e['other'])
            self.missing += e['other'] != ZERO
        else:
            self.missing += 1
        if self.last and self.last['epoch'] != e['epoch']:
            self.before = self.last['epoch']
        self.follow(e, peers)
        for p in peers:
            if not p['balanced']:
                self.unbalanced += 1
                self.missing += not adds_up(p)
        self.missing += e['gap'] and self.n > 0
        self.n += 1
        self.last = e

    def between(self, e):
        was = self.last
        need((e['boot'], e['tables'], e['interval']) != (was['boot'], was['tables'], was['interval']), 'an interval twice')
        need(e['previous'] == was['root'], 'an entry is missing')
        if (e['boot'], e['tables']) == (was['boot'], was['tables']):
            follows = not was['final'] and e['interval'] == was['interval'] + 1
        else:
            follows = was['final'] and e['interval'] == 1
        need(follows or e['gap'], 'an interval is missing')

    def times(self, e):
        begin, end, day = e['begin'], e['end'], e['epoch']
        if end is None:
            need(begin is None or day >= begin // DAY, 'entered before it began')
        else:
            need(begin is None or begin <= end, 'it ends before it begins')
            span = 0 if begin is None else min(end - begin, DAY)
            need(max(end - span, 0) // DAY <= day <= (end + span) // DAY, 'pseudonyms of another day')
        need(self.end is None or day >= self.day or (end is not None and end < self.end), 'pseudonyms of a day before')
        if end is not None:
            self.end, self.day = end, day

    def with_value(self, cpu, value):
        if self.values is None:
            self.values = {}
            for (_, at), k in self.known.items():
                self.values.setdefault((at, tuple(k.after)), []).append(k)
        return self.values.get((cpu, tuple(value)), [])

    def new(self, cpu, before, balanced):
        if not self.last:
            return 0
        if before == ZERO:
            return self.n
        was = [k for k in self.with_value(cpu, before) if not k.moved]
        if was:
            was = min(was, key=lambda k: k.start)
            was.moved = True
            self.followed += 1
            return was.start
        self.missing += 1
        return self.n if balanced else 0

    def went_on(self, k, cpu, value, gap):
        for other in self.with_value(cpu, value):
            if other.seen > k.seen and (gap or other.start <= k.seen):
                other.moved = True
                return True
        return False

    def again(self, e, k, cpu, before, balanced):
        by = minus(before, k.after)
        if k.after == before or self.went_on(k, cpu, before, k.in_gap or k.in_other):
            self.followed += 1
            return
        self.missing += 1
        if not balanced or (by is not None and k.in_gap):
            return
        if by is not None and k.in_other and minus(self.room, by) is not None:
            self.room = minus(self.room, by)
            return
        need(k.tables != e['tables'] and (by is None or self.went_on(k, cpu, before, True)), 'a counter moved between two intervals')

    def follow(self, e, peers):
        self.values = None
        now = {}
        for k in self.known.values():
            k.in_gap |= e['gap']
        for p in peers:
            for cpu, before, after in p['cpus']:
                k = self.known.get((p['pseudonym'], cpu))
                if k is None:
                    start = self.new(cpu, before, p['balanced'])
                else:
                    self.again(e, k, cpu, before, p['balanced'])
                    start = k.start
                    if k.tables == e['tables'] and k.after[0] + k.after[2] > after[0] + after[2]:
                        after = k.after
                now[p['pseudonym'], cpu] = Counter(after, e, self.n, start)
        for at, k in self.known.items():
            if at in now or (k.moved and k.epoch not in (e['epoch'], self.before)):
                continue
            k.in_gap |= not e['other_known']
            k.in_other |= e['other'] != ZERO
            now[at] = k
        self.known = now


def interval(e, peers, chain):
    need(len(peers) == e['slots'], 'slots')
    names = [p['pseudonym'] for p in peers]
    need(names == sorted(set(names)), 'a peer twice')
    nodes = [peer_hash(p) for p in peers]
    while len(nodes) > 1:
        nodes = [H(0x13, nodes[k], nodes[k + 1]) for k in range(0, len(nodes), 2)]
    need(interval_root(e, nodes[0]) == e['root'], 'other peers')
    total = {k: ZERO for k in SUMS}
    for p in peers:
        judge_peer(p, e)
        for k in ('flows', 'remainder', 'unclassed'):
            total[k] = add(total[k], p[k])
        for _, before, after in p['cpus']:
            total['before'], total['after'] = add(total['before'], before), add(total['after'], after)
    for k, s in total.items():
        need(e[k] == s, k + ' is not what the peers add up to')
    chain.next(e, peers)


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def exported(folder):
    parts = {}
    for name in os.listdir(folder):
        at = re.fullmatch(r'(.*)\.(entry|tlog-proof|peers)', name, re.DOTALL)
        if at:
            need(re.fullmatch('[0-9]{20}', at[1]), f'{name} is of no entry')
            parts.setdefault(int(at[1]), set()).add(at[2])
    need(parts, 'no intervals')
    checkpoint = note_of(read(os.path.join(folder, 'checkpoint')).decode())
    chain, newer = Chain(), []
    for n in sorted(parts):
        need(parts[n] == {'entry', 'tlog-proof', 'peers'}, f'{n} is not whole')
        base = os.path.join(folder, '%020d' % n)
        try:
            line, proof, lines = (read(f'{base}.{x}') for x in ('entry', 'tlog-proof', 'peers'))
            e, index, of = entry(line, proof.decode())
            need(index == n, 'another record')
            need(of == checkpoint, 'another checkpoint')
            need(not lines or lines.endswith(b'\n'), 'peers are cut off')
            peers = [peer_of(parse(x)) for x in lines.split(b'\n')[:-1]]
        except Newer as why:
            newer.append(str(why))
            chain.cut()
            continue
        interval(e, peers, chain)
    said = f'{chain.n} intervals, {chain.followed} counters followed, {chain.unbalanced} times a peer does not balance'
    if newer:
        return 'newer', f'cannot judge: {newer[0]}'
    return 'gap' if chain.missing else 'ok', said


def check(kind, path):
    """ok, gap, newer or BAD, and why."""
    try:
        return opened(parse(read(path))) if kind == 'open' else exported(path)
    except Newer as why:
        return 'newer', f'cannot judge: {why}'
    except Bad as why:
        return 'BAD', str(why)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OSError, binascii.Error, RecursionError) as why:
        return 'BAD', f'cannot be read: {why!r}'


if __name__ == '__main__':
    word, why_ = check(sys.argv[1], sys.argv[2])
    print(word, why_)
    sys.exit(word not in ('ok', 'gap'))
