#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Real exports, changed in ways of all kinds, with and without the log's key: `evidence verify` and the independent checker agree on each;
what leaves bytes out is never ok, and what is honest is never BAD. mutants.py BUILD COUNT SEED prints TAP. A run is the same for the same
COUNT and SEED; MUTANT=N runs only that one, and keeps its folder."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../harness'))
import check_evidence as ev  # noqa: E402
import evidence_lab as el  # noqa: E402

TOLD = ('appeared_counter_count', 'appeared_dropped_bytes', 'appeared_passed_bytes', 'boot_count', 'first_sequence', 'forgotten_counter_count',
        'gap_count', 'gap_dropped_bytes', 'gap_passed_bytes', 'last_sequence', 'other_unknown_count', 'unbalanced_peer_count')
DAYS = 86400000

# ---- Honest exports: (what makes them, its verdict)


def plain(dpu):
    for n in range(6):
        dpu.interval_of(dpu.rng.sample(range(5), 3))


def midnight(dpu):
    dpu.at = dpu.at // DAYS * DAYS + DAYS - 25000
    plain(dpu)


def clock_back(dpu):
    """Over midnight, and back before it."""
    dpu.at = dpu.at // DAYS * DAYS + DAYS - 15000
    for _ in range(3):
        dpu.interval_of(range(4))
    dpu.at -= 3600000
    for _ in range(3):
        dpu.interval_of(dpu.rng.sample(range(4), 3))


def no_end(dpu):
    """bwlimitd was killed before it wrote an interval: its times are not known. It was entered on another day."""
    for n in range(6):
        dpu.interval_of(dpu.rng.sample(range(4), 3), known=n != 3)


def full_disk(dpu):
    for n in range(7):
        dpu.interval_of(dpu.rng.sample(range(4), 3), write=n not in (3, 4), gap='intervals 4 to 5 of these tables were not written' if n == 5 else None)


def lost_file(dpu):
    """It was there, and it was deleted before the log had room: bwlimitd says so where it enters the next one."""
    for n in range(6):
        dpu.interval_of(dpu.rng.sample(range(4), 3), write=n != 3)


def of_no_peer(dpu):
    for n in range(6):
        dpu.interval_of([0, 1], other=[2, 3] if n in (2, 3) else ())
        if n in (0, 4):
            dpu.interval_of([2, 3])


def rebooted(dpu):
    for n in range(6):
        if n == 3:
            dpu.boot, dpu.tables, dpu.interval, dpu.counter = 'fedcba98-7654-3210-fedc-ba9876543210', 99, 0, {}
        dpu.interval_of(dpu.rng.sample(range(4), 3), final=n == 2)


def attached_again(dpu):
    """Detach and attach: counters begin anew, in the same boot."""
    for n in range(6):
        if n == 3:
            dpu.tables, dpu.interval, dpu.counter = 99, 0, {}
        dpu.interval_of(range(3), final=n == 2)


def moved(dpu):
    for n in range(6):
        dpu.interval_of(range(4), moved=[2] if n == 3 else (), why='its counter moved between two intervals')


HONEST = {f.__name__: (f, word) for f, word in (
    (plain, 'ok'), (midnight, 'ok'), (clock_back, 'ok'), (no_end, 'ok'), (rebooted, 'ok'), (full_disk, 'gap'),
    (lost_file, 'gap'), (attached_again, 'gap'), (moved, 'gap'), (of_no_peer, 'gap'))}

# ---- Changes. Each returns what it made: parts to be committed to and signed again, or nothing if it changed the folder itself

CHANGES = []


def change(expected, times=1):
    """same: honest, so the verdict stays. hides: not ok, and told. newer. differs: BAD. any: both only agree."""
    def take(f):
        CHANGES.extend([(f, expected)] * times)
        return f
    return take


class Nothing(Exception):
    """This export has nothing to which the change could be made."""


def of_them(rng, all_):
    all_ = list(all_)
    if not all_:
        raise Nothing
    return rng.choice(all_)


def amount(rng):
    """500 GB, or a packet; passed or refused."""
    n = rng.choice([1, 1500, 500 * 10**9])
    return [n // 1500 + 1, n, 0, 0] if rng.randrange(4) else [0, 0, n // 1500 + 1, n]


def counters(b, parts, of):
    """Of that peer, under all its names: (interval, slot, its place in `cpus`)."""
    for i, part in enumerate(parts):
        for p in part.peers:
            if b.names.get(p['pseudonym']) == of[0]:
                for c in p['cpus']:
                    if c[0] == of[1]:
                        yield i, p, c


def seen(b, parts):
    """All counters: (peer, CPU), and the intervals that have them."""
    to = {}
    for i, part in enumerate(parts):
        for p in part.peers:
            for c in p['cpus']:
                to.setdefault((b.names[p['pseudonym']], c[0]), []).append(i)
    return to


def leave_out(rng, b, parts, i, by=None):
    """A counter counts more before interval i than any interval has."""
    of = of_them(rng, [k for k, at in seen(b, parts).items() if b.since(i) <= at[0] < i and any(n >= i and b.since(n) == b.since(i) for n in at)])
    by = by or amount(rng)
    for n, _, c in counters(b, parts, of):
        if b.since(i) <= i <= n and parts[n].data['boot'] == parts[i].data['boot'] and parts[n].data['tables'] == parts[i].data['tables']:
            c[1], c[2] = ev.add(c[1], by), ev.add(c[2], by)
    return parts


@change('hides', 6)
def bytes_between_two_intervals(rng, b, parts):
    return el.commit(leave_out(rng, b, parts, rng.randrange(1, len(parts))))


def rename(b, rng, part, day):
    """Pseudonyms of another day's secret."""
    part.data['epoch'] = '%020d' % day
    for p in part.peers:
        new = rng.randbytes(32).hex()
        if p['pseudonym'] in b.names:
            new = ev.H(0x16, b'day %d' % day, b'%d' % b.names[p['pseudonym']]).hex()
            b.names[new] = b.names[p['pseudonym']]
        p['pseudonym'] = new


@change('hides', 8)
def a_middle_interval_of_another_day(rng, b, parts):
    """And without an end, or with one that cannot be read, or with one of that day. Bytes are left out at one of its sides."""
    i = rng.randrange(1, len(parts) - 1)
    to = rng.randrange(i + 1, len(parts))
    for n in range(i, to):
        d = parts[n].data
        day = int(d['epoch']) + rng.choice([-1, 1, 1, 2, 3])
        rename(b, rng, parts[n], day)
        end = rng.randrange(4)
        d['end'] = [ev.NO_TIME, 'unknown', el.utc(day * DAYS + 50000000 + n * 10000), d['end']][end]
        d['begin'] = rng.choice([ev.NO_TIME, d['begin']]) if end < 2 else el.utc(day * DAYS + 49990000 + n * 10000)
    return el.commit(leave_out(rng, b, parts, rng.choice([i, to, i + 1]) if to < len(parts) else i))


@change('same', 4)
def an_interval_that_waited(rng, b, parts):
    """It has no end, and the day on which it was entered, a later one. Nothing is left out."""
    i = rng.randrange(1, len(parts) - 1)
    rename(b, rng, parts[i], int(max(p.data['epoch'] for p in parts)) + rng.randrange(1, 3))
    parts[i].data['begin'] = parts[i].data['end'] = ev.NO_TIME
    return el.commit(parts)


@change('same')
def a_peer_with_another_id(rng, b, parts):
    """Its name is in another slot from here on; its counter goes on."""
    i = rng.randrange(1, len(parts))
    who = of_them(rng, set(b.names.values()))
    new = {}
    for part in parts[i:]:
        for p in part.peers:
            if b.names.get(p['pseudonym']) == who:
                p['pseudonym'] = new.setdefault(part.data['epoch'], rng.randbytes(32).hex())
    b.names.update({x: who for x in new.values()})
    return el.commit(parts)


@change('hides', 3)
def an_interval_left_out(rng, b, parts):
    """The next one may say that something is missing, or not, and be linked to the one before, or not."""
    i = rng.randrange(1, len(parts) - 1)
    if not any(p['cpus'] for p in parts[i].peers):
        raise Nothing
    del parts[i]
    how = rng.randrange(3)
    if how == 0:
        parts[i].data['gap'] = 1
    return parts if how == 2 else el.commit(parts)


@change('range')
def the_ends_left_out(rng, b, parts):
    from_, to = rng.randrange(3), rng.randrange(3)
    if from_ == to == 0:
        raise Nothing
    return el.commit(parts[from_:len(parts) - to])


@change('hides', 3)
def a_peer_left_out_of_an_interval(rng, b, parts):
    """Until it is first seen, or in the middle; with a claim, or without."""
    at = of_them(rng, [at for at in seen(b, parts).items() if len(at[1]) > 1 and at[1][-1] > 0])
    who, where = at[0][0], at[1]
    i = of_them(rng, [n for n, to in zip(where, where[1:]) if n > 0 and b.since(n) == b.since(to)])
    for p in parts[i].peers:
        if b.names.get(p['pseudonym']) == who:
            p.update(cpus=[], classes=[], flows=ev.ZERO, remainder=ev.ZERO, unclassed=ev.ZERO)
    claim = rng.randrange(4)
    if claim == 0:
        parts[i].data['other_known'] = 0
    if claim == 1:
        parts[i].data['other'] = ['%020d' % n for n in (1, 60, 1, 60)]
    if claim == 2:
        parts[i].data['gap'] = 1  # of what was before it: that does not cover it
    return el.commit(parts)


@change('hides', 3)
def records_of_less_than_was_counted(rng, b, parts):
    """And a peer that says that it does not balance, or does not say it."""
    part = of_them(rng, parts)
    p = of_them(rng, [p for p in part.peers if p['flows'] != ev.ZERO and p['balanced']])
    by = [min(n, 1) for n in p['flows']]
    p['flows'] = ev.minus(p['flows'], by)
    p['classes'] = [[*p['classes'][0][:2], p['flows']]]
    if rng.randrange(2):
        p['balanced'], p['why'] = False, rng.choice(['', 'the programs were being replaced', 'x'])
        part.data['balanced'] = 0
        if not p['why']:
            raise Nothing  # it cannot be committed to: fields_of_a_peer() has it
    return el.commit(parts)


@change('hides', 2)
def more_than_was_counted(rng, b, parts):
    """Records and counter have more than the next interval begins with."""
    of, at = of_them(rng, [x for x in seen(b, parts).items() if len(x[1]) > 1])
    i = of_them(rng, [n for n, to in zip(at, at[1:]) if b.since(n) == b.since(to)])  # at its end nothing shows it
    by = [1, 60, 0, 0]
    for n, p, c in counters(b, parts, of):
        if n == i:
            c[2], p['flows'] = ev.add(c[2], by), ev.add(p['flows'], by)
            p['classes'][0][2] = ev.add(p['classes'][0][2], by)
    return el.commit(parts)


@change('hides', 3)
def another_boot_or_tables(rng, b, parts):
    """From an interval on, or only up to another one; and bytes are left out where it begins."""
    i = rng.randrange(1, len(parts))
    to = rng.choice([len(parts), rng.randrange(i, len(parts)) + 1])
    parts = leave_out(rng, b, parts, i, [3, 1500, 0, 0])
    parts[i - 1].data['final'] = 1
    boot = rng.randrange(2)
    for n in range(i, to):
        d = parts[n].data
        d['tables'], d['interval'] = '%020d' % 555, '%020d' % (n - i + 1)
        d['boot'] = 'another' if boot else d['boot']
        d['final'] = int(n == to - 1)
    for n in range(to, len(parts)):
        parts[n].data['tables'], parts[n].data['interval'] = '%020d' % 556, '%020d' % (n - to + 1)
    return el.commit(parts)


@change('hides')
def counters_that_begin_anew(rng, b, parts):
    """As after a detach: what they had counted by then is forgotten."""
    i = rng.randrange(1, len(parts))
    of, at = of_them(rng, [x for x in seen(b, parts).items() if x[1][0] < i <= x[1][-1] and x[1][0] >= b.since(i)])
    first = {}
    parts[i - 1].data['final'] = 1
    for n in range(i, len(parts)):
        if parts[n].data['boot'] != parts[i].data['boot']:
            raise Nothing
        parts[n].data['tables'], parts[n].data['interval'] = '%020d' % 555, '%020d' % (n - i + 1)
    before = {p['pseudonym'] for n, p, _ in counters(b, parts, of) if n < i}
    if not any(n >= i and p['pseudonym'] in before for n, p, _ in counters(b, parts, of)):
        raise Nothing  # under another name it is new
    for n, _, c in counters(b, parts, of):
        if n >= i:
            base = first.setdefault('at', c[1])
            if ev.minus(c[1], base) is None:
                raise Nothing
            c[1], c[2] = ev.minus(c[1], base), ev.minus(c[2], base)
    if first['at'] == ev.ZERO:
        raise Nothing
    return el.commit(parts)


@change('differs')
def intervals_in_another_order(rng, b, parts):
    i = rng.randrange(len(parts) - 1)
    parts[i], parts[i + 1] = parts[i + 1], parts[i]
    return el.commit(parts) if rng.randrange(2) else parts


@change('differs')
def an_interval_twice(rng, b, parts):
    i = rng.randrange(len(parts))
    parts.insert(rng.randrange(i + 1, len(parts) + 1), el.copied(parts[i:i + 1])[0])
    return el.commit(parts) if rng.randrange(2) else parts


GARBAGE = ['', 'x', None, -1, 7, 2**63, 1.5, True, [], {}, [1, 2, 3], '0' * 20, '9' * 20, '0' * 64, ev.NO_TIME, '2026-13-01T00:00:00.000Z',
           '2026-09-21', '2026-09-21T12:00:00.000', '2026-09-21 12:00:00.000Z', '2026-02-30T00:00:00.000Z', 'a' * 40, 'a\0b', '\x1b[2J']


def spoil(rng, o, key):
    """What is different, and cannot be what it was."""
    how = rng.randrange(4)
    if how == 0:
        del o[key]
    elif how == 1:
        o[key + rng.choice(['2', '_ns'])] = o.pop(key)
    else:
        o[key] = rng.choice([x for x in GARBAGE if x != o[key] or type(x) is not type(o[key])])


@change('any', 8)
def fields_of_an_entry(rng, b, parts):
    part = of_them(rng, parts)
    spoil(rng, part.data, rng.choice(sorted(part.data)))
    return parts


@change('any', 6)
def fields_of_a_peer(rng, b, parts):
    part = of_them(rng, parts)
    p = of_them(rng, [p for p in part.peers if p['cpus']] or part.peers)
    how = rng.randrange(4)
    if how == 0 and p['classes']:
        p['classes'][0][rng.randrange(3)] = rng.choice(GARBAGE)
    elif how == 1 and p['cpus']:
        p['cpus'][0][rng.randrange(3)] = rng.choice(GARBAGE)
    else:
        spoil(rng, p, rng.choice(sorted(p)))
    return parts


@change('differs', 3)
def a_time_that_cannot_be_read(rng, b, parts):
    d = of_them(rng, parts).data
    d[rng.choice(['begin', 'end'])] = rng.choice([x for x in GARBAGE if x != ev.NO_TIME])
    return parts


@change('newer', 4)
def a_later_version(rng, b, parts):
    part = of_them(rng, parts)
    how = rng.randrange(3)
    if how == 0:
        part.data['version'] = rng.choice([2, 3, 2**62])
    else:
        o = part.data if how == 1 else of_them(rng, part.peers)
        o[rng.choice(['left_out', 'a', 'zz', 'flows_by_port'])] = rng.choice(GARBAGE[:2] + [0, ev.ZERO])
    return parts


@change('same', 3)
def another_spelling(rng, b, parts):
    """Other orders of fields, and spaces."""
    def spelled(o):
        keys = list(o)
        rng.shuffle(keys)
        return json.dumps({k: o[k] for k in keys}, separators=rng.choice([(',', ':'), (', ', ': ')])).encode()
    el.write(b.lab, parts, b.to, spelled)


# What anybody can do to the files, without the key


def files(b, ends=('entry', 'peers', 'tlog-proof')):
    return [os.path.join(b.to, x) for x in sorted(os.listdir(b.to)) if x.split('.')[-1] in ends]


def raw(f):
    def take(rng, b, parts):
        shutil.copytree(b.folder, b.to)
        f(rng, b)
    take.__name__ = f.__name__
    return take


def put(path, content):
    with open(path, 'wb') as f:
        f.write(content)


@change('differs', 3)
@raw
def a_byte(rng, b):
    path = of_them(rng, files(b, ('entry', 'peers')))
    was = bytearray(ev.read(path))
    was[rng.randrange(len(was))] ^= 1 << rng.randrange(8)
    put(path, was)


@change('differs', 2)
@raw
def a_truncated_file(rng, b):
    path = of_them(rng, files(b))
    was = ev.read(path)
    put(path, was[:rng.randrange(was.index(b'\n\n') if path.endswith('proof') else len(was))])  # signatures: the checker skips them


@change('differs')
@raw
def a_file_that_is_missing(rng, b):
    os.unlink(of_them(rng, files(b) + [os.path.join(b.to, 'checkpoint')]))


@change('differs')
@raw
def another_checkpoint(rng, b):
    path = os.path.join(b.to, 'checkpoint')
    if rng.randrange(2):
        os.unlink(path)
    else:
        size = len(b.parts) + 1
        put(path, ev.read(path).replace(b'\n%d\n' % ev.note_of(ev.read(path).decode())[0], b'\n%d\n' % size))


@change('differs')
@raw
def a_later_version_that_nobody_signed(rng, b):
    path = of_them(rng, files(b, ('entry',)))
    put(path, ev.read(path).replace(b'"version":1', b'"version":2'))


@change('differs')
@raw
def a_line_of_peers(rng, b):
    path = of_them(rng, files(b, ('peers',)))
    lines = ev.read(path).splitlines(True)
    i, how = rng.randrange(len(lines)), rng.randrange(4)
    if how == 0:
        del lines[i]
    elif how == 1:
        lines.insert(i, lines[i])
    elif how == 2:
        lines[i], lines[i - 1] = lines[i - 1], lines[i]
    else:
        lines.append(rng.choice([b'\n', b'{}\n', b'x']))
    put(path, b''.join(lines))


@change('differs')
@raw
def a_file_of_another_name(rng, b):
    path = of_them(rng, files(b))
    at, end = os.path.basename(path).split('.')
    new = os.path.join(b.to, rng.choice([str(int(at)), at[1:], '9' * 20, '%020d' % (int(at) + 100), at + 'x', '']) + '.' + end)
    if os.path.basename(new) == os.path.basename(path):
        raise Nothing
    (shutil.copy if rng.randrange(2) else os.rename)(path, new)


@change('differs')
@raw
def files_exchanged(rng, b):
    end = rng.choice(['entry', 'peers', 'tlog-proof'])
    x, y = rng.sample(files(b, (end,)), 2)
    was = ev.read(x)
    put(x, ev.read(y))
    put(y, was)


@change('differs')
@raw
def a_proof(rng, b):
    path = of_them(rng, files(b, ('tlog-proof',)))
    lines = ev.read(path).decode().split('\n')
    blank, how = lines.index(''), rng.randrange(4)
    if how == 0:
        lines[1] = 'index %d' % (int(lines[1].split()[1]) + rng.choice([1, 2, 16]))
    elif how == 1:
        del lines[rng.randrange(2, blank)]
    elif how == 2:
        lines[2], lines[blank - 1] = lines[blank - 1], lines[2]
        if lines[2] == lines[blank - 1]:
            raise Nothing
    else:
        lines[blank + 2] = str(int(lines[blank + 2]) + 1)
    put(path, '\n'.join(lines).encode())


@change('same')
@raw
def a_file_beside_it(rng, b):
    put(os.path.join(b.to, rng.choice(['README', 'notes.txt', 'cosigned', 'entry', 'answer.json'])), b'x')


# ---- The run


class Base:
    def __init__(self, lab, name, folder, names):
        self.lab, self.name, self.folder, self.all_names = lab, name, folder, names
        self.parts = el.read(folder)

    def since(self, i):
        """The first interval of this boot and these tables."""
        same = [(p.data['boot'], p.data['tables']) for p in self.parts]
        return same.index(same[i]) if i < len(same) else 0

    def begin(self, to):
        self.to, self.names = to, dict(self.all_names)
        return el.copied(self.parts)


class Judge:
    """`evidence verify`, of many folders."""

    def __init__(self, build, pub):
        self.p = subprocess.Popen([os.path.join(build, 'tests/harness/bwl-judge'), pub], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, folder):
        self.p.stdin.write(folder + '\n')
        self.p.stdin.flush()
        text = ''
        for line in self.p.stdout:
            if line.startswith('exit '):
                return json.loads(text), int(line.split()[1])
            text += line
        sys.exit('bwl-judge has ended')


def word_of(doc, code):
    word = {'bad': 'BAD'}.get(doc.get('evidence_verdict'), doc.get('evidence_verdict', 'BAD'))
    return word if (code == 0) == (word in ('ok', 'gap')) == doc.get('ok', False) else f'{word}, but exit code {code}'


def wrong(expected, base, doc, word, second):
    """Why this is not what it must be; None: it is."""
    if word != second[0]:
        return 'the two disagree'
    if expected == 'same' and word != base['evidence_verdict']:
        return 'honest, and not ' + base['evidence_verdict']
    if expected in ('differs', 'hides') and word == 'ok':
        return 'ok'
    if expected == 'differs' and word != 'BAD':
        return 'not BAD'
    if expected == 'hides' and word != 'BAD' and all(doc[k] == base[k] for k in TOLD):
        return 'not told'
    if expected == 'range' and (word in ('BAD', 'newer') or all(doc[k] == base[k] for k in TOLD)):
        return 'not the range'
    if expected == 'newer' and word != 'newer':
        return 'not newer'
    return None


def main(build, count, seed):
    only = os.environ.get('MUTANT')
    tmp = tempfile.mkdtemp()
    lab = el.Lab(tmp, build)
    judge = Judge(build, lab.pub)
    bases, honest, done, failed, words = [], {}, 0, 0, {}
    for n, (name, (make, verdict)) in enumerate(sorted(HONEST.items()), 1):
        folder, names = lab.export(name, make, el.rng_of(seed, name))
        bases.append(Base(lab, name, folder, names))
        doc, code = judge.ask(folder)
        honest[name] = doc
        said = word_of(doc, code), ev.check('export', folder)[0]
        good = said == (verdict, verdict)
        failed += not good
        print('ok' if good else 'not ok', n, '-', f'honest: {name} is {verdict}')
        if not good:
            print(f'# {said} {doc.get("problem_texts", doc)} {ev.check("export", folder)}')
    for i in range(count):
        if only and int(only) != i:
            continue
        rng = el.rng_of(seed, i)
        base, (make, expected) = rng.choice(bases), CHANGES[i % len(CHANGES)]
        to = os.path.join(tmp, f'mutant-{i}')
        try:
            parts = make(rng, base, base.begin(to))
            if parts is not None:
                el.write(lab, parts, to)
        except Nothing:
            shutil.rmtree(to, ignore_errors=True)
            continue
        doc, code = judge.ask(to)
        word, second = word_of(doc, code), ev.check('export', to)
        why = wrong(expected, honest[base.name], doc, word, second)
        done += 1
        words[word] = words.get(word, 0) + 1
        if why:
            failed += 1
            print(f'# mutant {i} of {base.name}, {make.__name__} ({expected}): {why}: {word} and {second}: {doc.get("problem_texts", doc)[:3]}')
        if not only:
            shutil.rmtree(to)
    print('ok' if not failed else 'not ok', len(HONEST) + 1, '-', 'both judge each mutant alike: nothing that leaves bytes out is ok, nothing honest is BAD')
    print(f'1..{len(HONEST) + 1}')
    print(f'# {done} mutants: {" ".join(f"{n} {w}" for w, n in sorted(words.items()))}; {failed} wrong; seed {seed}')
    if only:
        print(f'# {tmp}')
    else:
        shutil.rmtree(tmp)
    return failed != 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
