# SPDX-License-Identifier: GPL-2.0-or-later
"""Somebody on the DPU who wants others to wait. It holds what it can until it is ended; it says "ready" when it does.

hold.py half SOCKET…      connects to all of them, again and again, and finishes no request: more than there are places
hold.py queue SOCKET…     connects as fast as it can, and hangs up at once
hold.py linger SOCKET…    sends each a TCP connection whose closing takes 18 hours, with a half request, a whole one and none
hold.py lock FOLDER…      locks all that it may open below, by flock and by a POSIX lock for reading, and says how many
"""
import array, errno, fcntl, os, socket, struct, sys, threading, time


def connect(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.setblocking(False)
    s.connect(path)
    return s


def reach(paths):
    """One connection to each that lets us in. A full queue is no reason to go."""
    for path in paths:
        try:
            yield connect(path)
        except OSError as e:
            if e.errno == errno.ENFILE or e.errno == errno.EMFILE:
                raise


def half(paths):
    kept, said = [], False
    while True:
        for s in reach(paths):
            try:
                s.send(b'{"argv":["peer"')
            except OSError:
                pass
            kept.append(s)
        if len(kept) >= 400:
            if not said:
                said = True
                print("ready", flush=True)
            for s in kept[:100]:
                s.close()
            del kept[:100]


def queue(paths):
    said = False
    while True:
        for _ in range(200):
            for s in reach(paths):
                s.close()
        if not said:
            said = True
            print("ready", flush=True)


def lingering():
    """A connection with much that the other side does not take: closing it waits for that."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    ours = socket.create_connection(listener.getsockname())
    other, _ = listener.accept()
    ours.setblocking(False)
    try:
        while True:
            ours.send(b"x" * 65536)
    except BlockingIOError:
        pass
    ours.setblocking(True)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 65535))
    return ours, other, listener


def linger(paths):
    kept = []
    for path in paths:
        for text in (b'{"argv":["peer"', b'{"argv":["peer","list"]}\n', b"{}\n", b"x"):
            ours, *rest = lingering()
            kept.append(rest)
            try:
                s = connect(path)
                if text == b"x":  # it comes after a whole line
                    s.send(b"{}\n")
                s.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [ours.fileno()]))])
            except OSError:  # nobody has it but we: we do not want to wait
                ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                ours.close()
                continue
            # The last who has it waits. If that is still we, because it was taken so soon, nothing hangs but this thread.
            threading.Thread(target=os.close, args=(ours.detach(),), daemon=True).start()
            kept.append(s)
    print("ready", flush=True)
    time.sleep(3600)


def lock(folders):
    kept, names = [], []

    def take(path):
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError:
            return
        how = ""
        for word, call in (("flock", lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)),
                           ("posix", lambda: fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB))):
            try:
                call()
                how += " " + word
            except OSError:
                pass
        kept.append(fd)
        names.append(path + how)

    for folder in folders:
        take(folder)
        for line in KNOWN:
            if line.startswith(folder):
                take(line)
    print("\n".join(names))
    print("ready", len(names), flush=True)
    time.sleep(3600)


KNOWN = sys.stdin.read().split("\n") if sys.argv[1] == "lock" else []
KNOWN = [line for line in KNOWN if line]
{"half": half, "queue": queue, "linger": linger, "lock": lock}[sys.argv[1]](sys.argv[2:])
