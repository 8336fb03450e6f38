#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A power cut at every write: replays the log of dm-log-writes, and opens what each cut leaves.

power_cut.py FILE-SYSTEM LOG BASE SCRATCH MOUNTPOINT POWERCUT PUBLIC-KEY FINAL-LOG KEEP

FILE-SYSTEM is its name for mount(2), LOG the log device, BASE the data device's image before logging
began, SCRATCH a writable block device of its size, POWERCUT bwl-powercut, FINAL-LOG the final audit
log's file, KEEP the path for the image of the middle cut. Marks in the log say what
had been released ("released,peer+a=1,node=2") and how much of the audit log was acknowledged ("audited=7").

There is a cut after each write, in the order in which the device completed them (for a flush: what it
made durable), and one for each stretch between two flushes, as a disk with a cache could leave it: any subset of the
writes, one of them torn at a sector. Prints a JSON object: what was tried, and everything that was wrong.

The log's format: Documentation/admin-guide/device-mapper/log-writes.rst of the kernel.
"""
import ctypes
import json
import os
import random
import struct
import subprocess
import sys

MAGIC, VERSION = 0x6A736677736872, 1
FLUSH, FUA, DISCARD, MARK = 1, 2, 4, 8
fs, log_path, base, scratch, mountpoint, powercut, key, final_path, keep = sys.argv[1:]
with open(final_path, "rb") as f:
    FINAL = f.read()
libc = ctypes.CDLL(None, use_errno=True)


def entries():
    """(flags, offset in bytes, data), as they were logged."""
    with open(log_path, "rb") as f:
        magic, version, count, size = struct.unpack("<QQQI", f.read(28))
        if (magic, version) != (MAGIC, VERSION):
            sys.exit("no log of dm-log-writes")
        f.seek(size)
        for _ in range(count):
            head = f.read(size)
            sector, sectors, flags, length = struct.unpack("<QQQQ", head[:32])
            if flags & MARK:
                yield flags, 0, head[32:32 + length].rstrip(b"\0").decode()
            elif flags & DISCARD:
                yield flags, sector * size, bytes(sectors * size)
            else:
                yield flags, sector * size, f.read(sectors * size)


class Known:
    """The contents of the marks so far."""

    def __init__(self):
        self.released, self.audited = {}, 0

    def take(self, text):
        what, *values = text.split(",")
        if what == "released":
            for value in values:
                name, _, n = value.rpartition("=")
                self.released[name.replace("+", " ")] = int(n)
        elif what.startswith("audited="):
            self.audited = int(what[8:])


class Judge:
    def __init__(self):
        self.cuts = self.begun = self.torn = self.unsigned = self.closed = 0
        self.wrong = []
        self.opener = subprocess.Popen([powercut, "open", key], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)

    def bad(self, cut, *what):
        self.wrong.append(f"cut {cut}: " + " ".join(map(str, what)))

    def look(self, cut, image, known):
        self.cuts += 1
        if self.cuts % 100 == 0:
            print(f"# {self.cuts} cuts, {len(self.wrong)} wrong", file=sys.stderr, flush=True)
        with open(scratch, "r+b") as f:
            f.write(image)
            os.fsync(f.fileno())
        if libc.mount(scratch.encode(), mountpoint.encode(), fs.encode(), 0, None):
            return self.bad(cut, "does not mount:", os.strerror(ctypes.get_errno()))
        try:
            self.open(cut, known)
        finally:
            if libc.umount(mountpoint.encode()):
                sys.exit(f"{mountpoint}: {os.strerror(ctypes.get_errno())}")

    def open(self, cut, known):
        audit = os.path.join(mountpoint, "audit")
        name = os.path.join(audit, os.path.basename(final_path))
        data = b""
        if os.path.exists(name):
            with open(name, "rb") as f:
                data = f.read()
        whole = data[:data.rfind(b"\n") + 1]
        if not FINAL.startswith(whole):
            self.bad(cut, "the audit log is no prefix of what it became")
        print(mountpoint, file=self.opener.stdin, flush=True)
        answer = self.opener.stdout.readline()
        if not answer:
            sys.exit(f"cut {cut}: {powercut} ended")
        state = json.loads(answer)
        self.ledger(cut, state["ledger"], known.released)
        self.audit(cut, state["audit"], known.audited)

    def ledger(self, cut, found, released):
        if "error" in found:
            return self.bad(cut, "the ledger does not open:", found["error"])
        self.begun += found["how"] == "begun"
        if found["how"] == "set-aside" and not released:
            self.closed += 1    # cut while the ledger was being made: nothing had been released
        elif found["how"] != "found" and released:
            self.bad(cut, "the ledger was", found["how"], found.get("why", ""))
        for name, n in released.items():
            if found["rows"].get(name, -1) < n:
                self.bad(cut, f"{name}: {n} bytes were released, the ledger says", found["rows"].get(name))

    def audit(self, cut, found, audited):
        if "error" in found:
            return self.bad(cut, "the audit log does not go on:", found["error"])
        if not found["on"]:
            return self.bad(cut, "the audit log is gone") if audited else None
        before, after = found["before"], found["after"]
        for part in before, after:
            if part.get("error") or part["problems"]:
                self.bad(cut, "the audit log does not verify:", part)
        if before.get("records", 0) < audited:
            self.bad(cut, audited, "records were acknowledged, there are", before.get("records"))
        if after.get("records", 0) <= before.get("records", 0) or after.get("unsigned") or after.get("torn"):
            self.bad(cut, "after the next record it is not whole:", after)
        self.torn += bool(before.get("torn"))
        self.unsigned += bool(before.get("unsigned"))


def apply(image, offset, data):
    image[offset:offset + len(data)] = data


def main():
    everything = list(entries())
    step = max(1, int(os.environ.get("BWL_CUT_STEP", "1")))
    dice, judge, known = random.Random(int(os.environ.get("BWL_CUT_SEED", "1"))), Judge(), Known()
    with open(base, "rb") as f:
        image = bytearray(f.read())
    cached = []                 # (offset, data) since the last flush: a disk may lose these
    before = bytearray(image)   # the state of the last flush, and what became durable since
    writes, kept = 0, None
    for at, (flags, offset, data) in enumerate(everything):
        if flags & MARK:
            known.take(data)
            continue
        if flags & FLUSH and cached:
            if writes % step == 0:
                lossy = bytearray(before)
                some = [w for w in cached if dice.random() < 0.5]
                dice.shuffle(some)
                if some and dice.random() < 0.5:
                    where, what = some[-1]
                    some[-1] = where, what[:dice.randrange(len(what) // 512 + 1) * 512]
                for write in some:
                    apply(lossy, *write)
                judge.look(f"before {at}, cache lost", lossy, known)
            for write in cached:
                apply(before, *write)
            cached = []
        if not data:
            continue
        writes += 1
        apply(image, offset, data)
        if flags & FUA:
            apply(before, offset, data)
        else:
            cached.append((offset, data))
        if writes % step == 0:
            judge.look(f"after {at}", image, known)
        if kept is None and at >= len(everything) / 2:
            kept = dict(known.released)
            with open(keep, "wb") as f:
                f.write(image)
    print(json.dumps({"entries": len(everything), "writes": writes, "cuts": judge.cuts,
                      "marks": sum(1 for e in everything if e[0] & MARK), "begun": judge.begun,
                      "set_aside": judge.closed, "torn": judge.torn, "unsigned": judge.unsigned,
                      "released": known.released, "audited": known.audited,
                      "kept": kept,
                      "wrong": len(judge.wrong), "what": judge.wrong[:10]}))


main()
