#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a program on a pseudo terminal, and checks what its screen shows and what keys do.

  pty_top.py COLUMNS ROWS STEPS COMMAND…

STEPS is a file with one step per line: `wait TEXT` until the screen shows it, `gone TEXT` until it does not, `key KEYS`
(as Python writes them in a string), `first TEXT` until the first peer has this name, `size COLUMNS ROWS`, `signal
NAME`, `end` (the program ends by itself, the terminal is restored). No line may be longer than the terminal, and no
picture may begin with an erased screen. The lines are TAP's; without the last step the program is ended."""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

PATIENCE_S = 30


class Screen:
    """The terminal functions that a picture needs: text, home, erase to the end of a line, and of the screen."""

    def __init__(self, columns, rows):
        self.size(columns, rows)
        self.other = self.hidden = False
        self.raw = b""
        self.wrapped = self.erased = 0

    def size(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines = [""] * rows
        self.x = self.y = 0

    def feed(self, data):
        text = codecs.decode(self.raw + data, "utf-8", "ignore")
        self.raw = b""
        while text:
            m = re.match(r"\x1b\[([?0-9;]*)([A-Za-z])", text)
            if m:
                self.control(*m.groups())
                text = text[m.end():]
            elif text[0] == "\x1b":
                self.raw = text.encode()  # the rest of the sequence comes later
                return
            else:
                self.put(text[0])
                text = text[1:]

    def control(self, arg, what):
        if what == "H":
            self.x = self.y = 0
        elif what == "K":
            self.lines[self.y] = self.lines[self.y][: self.x]
        elif what == "J":
            self.erased += (self.x, self.y) == (0, 0)
            self.lines[self.y] = self.lines[self.y][: self.x]
            self.lines[self.y + 1:] = [""] * (self.rows - self.y - 1)
        elif arg == "?1049":
            self.other = what == "h"
        elif arg == "?25":
            self.hidden = what == "l"

    def put(self, c):
        if c == "\r":
            self.x = 0
        elif c == "\n":
            self.y = min(self.y + 1, self.rows - 1)
        else:
            if self.x >= self.columns:
                self.wrapped += 1
                return
            line = self.lines[self.y].ljust(self.x)
            self.lines[self.y] = line[: self.x] + c + line[self.x + 1:]
            self.x += 1


class Program:
    def __init__(self, columns, rows, command):
        self.screen = Screen(columns, rows)
        self.status = None
        self.master, slave = pty.openpty()
        self.size(columns, rows)
        self.before = termios.tcgetattr(slave)
        self.slave = slave  # kept open, to read its modes after the program has ended
        self.pid = os.fork()
        if not self.pid:
            os.close(self.master)
            os.login_tty(slave) if hasattr(os, "login_tty") else self.login(slave)
            os.execvp(command[0], command)

    @staticmethod
    def login(slave):
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for fd in (0, 1, 2):
            os.dup2(slave, fd)
        os.close(slave)

    def size(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        if select.select([self.master], [], [], 0.1)[0]:
            try:
                self.screen.feed(os.read(self.master, 65536))
            except OSError:
                pass
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = status if pid else None

    def drain(self):
        while select.select([self.master], [], [], 0)[0]:
            self.read()

    def until(self, met):
        end = time.monotonic() + PATIENCE_S
        while not met():
            if time.monotonic() > end:
                return False
            self.read()
        return True


def main():
    columns, rows, steps = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    p = Program(columns, rows, sys.argv[4:])
    s = p.screen
    bad, resized = 0, None

    def has(text):
        return any(text in line for line in s.lines)

    for step in open(steps, encoding="utf-8").read().splitlines():
        verb, _, arg = step.partition(" ")
        if verb == "wait":
            good = p.until(lambda: has(arg))
        elif verb == "gone":
            good = p.until(lambda: not has(arg))
        elif verb == "first":
            good = p.until(lambda: s.lines[2].split(" ")[0] == arg)
        elif verb == "key":
            good = os.write(p.master, codecs.decode(arg, "unicode_escape").encode("latin-1")) > 0
        elif verb == "size":
            s.size(*map(int, arg.split()))
            p.size(s.columns, s.rows)
            good, resized = True, s.wrapped
        elif verb == "signal":
            good = os.kill(p.pid, getattr(signal, "SIG" + arg)) is None
        else:
            good = p.until(lambda: p.status is not None)
            p.drain()
            good = good and os.waitstatus_to_exitcode(p.status) == int(arg or 0) and not s.other and not s.hidden \
                and termios.tcgetattr(p.slave) == p.before
        # Until the program is seen to know the size, a picture of the previous one may have arrived. `gone` shows nothing: the
        # screen was cleared.
        if verb in ("wait", "first") and resized is not None:
            s.wrapped, resized = resized, None
        bad += not good
        print(f"{'ok' if good else 'not ok'} - {step}")
        if not good:
            print("\n".join("# " + line for line in s.lines))
            print(f"# other page {s.other}, cursor hidden {s.hidden}, status {p.status}")
            break
    if p.status is None:
        os.kill(p.pid, signal.SIGKILL)
        os.waitpid(p.pid, 0)
    good = not s.wrapped and not s.erased
    bad += not good
    print(f"{'ok' if good else 'not ok'} - no line is longer than the terminal ({s.wrapped}), and none was erased first ({s.erased})")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
