#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The package on a clean Debian system, two boots, seen from outside: this program plays the host behind the host
port and the network behind the uplink. Prints TAP.

host.py WORK QEMU…: WORK/share is the guest's /testbed; QEMU… is the command that boots it once.
"""
import json
import os
import re
import select
import socket
import struct
import subprocess
import sys
import time

work, *qemu = sys.argv[1:]
share = os.path.join(work, "share")
RATE, BURST = 200e3 / 8, 32 * 1024
HOST_MAC, UP_MAC = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
OTHER_MAC, ROUTER_MAC = bytes.fromhex("020000000003"), bytes.fromhex("020000000004")
failed = tests = 0


def check(sentence, good, *why):
    global failed, tests
    tests += 1
    if not good:
        failed += 1
        for line in why:
            print("#", line)
    print("ok" if good else "not ok", tests, "-", sentence, flush=True)


def read(name):
    try:
        with open(os.path.join(share, name), encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        return ""


def udp(src, dst):
    payload = bytes(1000)
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0,
                       socket.inet_aton(src), socket.inet_aton(dst))
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    head = head[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + head[12:]
    return (HOST_MAC + OTHER_MAC + b"\x08\x00" + head +
            struct.pack("!HHHH", 9, 9, 8 + len(payload), 0) + payload)


SENT = [udp("10.7.0.2", "10.101.0.9"), udp("10.7.0.2", "10.102.0.9"), udp("10.66.6.6", "10.101.0.9")]


class Wire:
    """Both cables of the guest: sends as the host, receives and answers ARP as the network."""

    def __init__(self):
        self.sock = {}
        for side in ("host", "up"):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            s.bind(os.path.join(work, side + ".here"))
            s.setblocking(False)
            self.sock[side] = s
        self.sent = 0
        self.seen = []          # (seconds, source, destination, bytes) of each frame that left
        self.next = time.monotonic()

    def put(self, side, frame):
        try:
            self.sock[side].sendto(frame, os.path.join(work, side + ".guest"))
        except OSError:
            pass                # not booted yet, or nothing reads from the cable

    def turn(self):
        now = time.monotonic()
        if now >= self.next:    # 100 frames of each per second: four times the grant
            self.next = max(self.next + 0.01, now - 0.05)
            for f in SENT:
                self.put("host", f)
            self.sent += len(SENT)
        for side in self.sock:
            try:
                while True:
                    self.got(side, self.sock[side].recv(65536))
            except OSError:
                pass

    def got(self, side, f):
        kind = f[12:14]
        if side == "up" and kind == b"\x08\x06" and f[20:22] == b"\x00\x01" \
                and f[38:42] == socket.inet_aton("192.0.2.254"):
            self.put("up", f[6:12] + ROUTER_MAC + f[12:20] + b"\x00\x02" + ROUTER_MAC + f[38:42] +
                     f[22:28] + f[28:32])
        elif side == "up" and kind == b"\x08\x00" and f[26:27] == b"\x0a":
            self.seen.append((time.monotonic(), socket.inet_ntoa(f[26:30]),
                              socket.inet_ntoa(f[30:34]), len(f)))


class Guest:
    """One boot; the lines of the console with their times of arrival."""

    def __init__(self, wire, log):
        self.wire, self.marks, self.part, self.log = wire, {}, b"", open(log, "wb")
        for side in ("host", "up"):
            if os.path.exists(os.path.join(work, side + ".guest")):
                os.unlink(os.path.join(work, side + ".guest"))
        self.proc = subprocess.Popen(qemu, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT)
        os.set_blocking(self.proc.stdout.fileno(), False)

    def turn(self):
        select.select([self.proc.stdout] + list(self.wire.sock.values()), [], [], 0.005)
        self.wire.turn()
        data = self.proc.stdout.read()
        if data:
            self.log.write(data)
            self.log.flush()
            *lines, self.part = (self.part + data).split(b"\n")
            for line in lines:
                at = line.find(b"== ")
                if at >= 0:
                    self.marks.setdefault(line[at + 3:].strip().decode(errors="replace"), time.monotonic())
        return self.proc.poll() is None

    def until(self, true, seconds):
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end or not self.turn():
                return true()
        return True

    def off(self, seconds):
        self.until(lambda: self.proc.poll() is not None, seconds)
        self.proc.kill()
        self.proc.wait()


def granted(wire, since=0.0):
    return [f for f in wire.seen if f[0] >= since and f[1:3] == ("10.7.0.2", "10.101.0.9")]


def tell(name):
    with open(os.path.join(share, name), "w", encoding="utf-8"):
        pass


def clean(name):
    try:
        return json.loads(read(name))["ok"]
    except (ValueError, KeyError):
        return False


def tpm_bound():
    try:
        return json.loads(read("usage"))["ledger"] == "tpm"
    except (ValueError, KeyError):
        return False


def released():
    try:
        return any(v["released_bytes"] for v in json.loads(read("usage"))["volumes"])
    except (ValueError, KeyError):
        return False


def exposure(name="security"):
    words = read(name).replace(":", " ").split()
    return next((float(w) for w in words if w.replace(".", "").isdigit()), 10.0)


def document(name):
    try:
        return json.loads(read(name))
    except ValueError:
        return {}


def reached(name):
    """Which of the guest's sockets a program reached; None: it was interrupted."""
    *names, end = read(name).splitlines() or [""]
    return set(names) if end == "end" else None


def others(name):
    """Those that are not sockets of bwlimitd for readers."""
    names = reached(name)
    # Five digits: the kernel's name for a sender that has none, such as etcd when it writes to the journal. No service.
    return None if names is None else {n for n in names if not n.startswith("/run/bwlimit/") and
                                       not re.fullmatch("@[0-9a-f]{5}", n)}


def passed(peer):
    for line in read("web.metrics").splitlines():
        if line.startswith("bwlimit_peer_passed_bytes_total{") and f'peer="{peer}"' in line:
            return float(line.split()[-1])
    return 0.0


def pages():
    said = read("controller.log")[-800:], "\n".join(
        line for line in read("journal").splitlines() if "bwlimit-web" in line)[-2000:]
    check("bwlimit-web, bwlimit-web-fleet and bwlimit-export are active under their units",
          read("active.web").split() == ["active"] * 3, read("active.web"), *said)
    check("bwlimit-web gives the page", "<!doctype html" in read("web.page").lower(), read("web.page")[:300], *said)
    ports = document("web.status").get("ports", [])
    check("the status of a DPU with programs on its ports",
          ports and all(p["attached"] for port in ports for p in port["programs"]), read("web.status")[:600], *said)
    check("its volumes", [v for v in document("web.usage").get("volumes", []) if v["limit_key"] == "peer d3"],
          read("web.usage")[:600], *said)
    check("and metrics of what has passed", passed("d1") > 1e4, read("web.metrics")[:600], *said)
    check("bwlimit-web-fleet gives the page", "<!doctype html" in read("fleet.page").lower(), read("fleet.page")[:300], *said)
    check("of a fleet, by the name that its unit was given",
          (document("fleet.api").get("scope"), document("fleet.api").get("name")) == ("fleet", "hall-1"),
          read("fleet.api")[:600], *said)
    check("what the controller says, by the certificate that systemd handed it",
          document("fleet.status").get("kind") == "fleet-status", read("fleet.status")[:600], *said)
    check("and the store", document("fleet.trays").get("kind") == "fleet-trays", read("fleet.trays")[:600], *said)
    said = read("record.log"), read("collector.log")[-800:], "\n".join(
        line for line in read("journal").splitlines() if "bwlimit-export" in line)[-2000:]
    got = [json.loads(line) for line in read("flows.collected").splitlines() if line.startswith("{") and line.endswith("}")]
    check("a collector has what passed, by TLS and the certificate that systemd handed bwlimit-export",
          any(f.get("peer") == "d1" and f.get("reason") == "pass" and f.get("destination") == "10.101.0.9" for f in got),
          f"{len(got)} lines", *said)
    check("and what was refused", any(f.get("peer") == "d1" and f.get("reason") == "peer-rate" for f in got), *said)
    check("exfil counts the exporter's budget as a way out", document("exfil").get("records_bytes") == 10 << 20,
          read("exfil"))
    for unit in ("bwlimit-web", "bwlimit-web-fleet", "bwlimit-export"):
        check(f"{unit}'s exposure is at most 2.0", exposure(unit + ".security") <= 2.0, read(unit + ".security"))
    check("a program in bwlimit-web's place reaches no other unit's socket", others("bwlimit-web.reach") == set(),
          others("bwlimit-web.reach"))
    check("control: it reaches bwlimitd's for readers", reached("bwlimit-web.reach"), read("bwlimit-web.reach"))
    check("control: its user outside of the unit reaches others'", others("bwlimit-web.user.reach"),
          read("bwlimit-web.user.reach"))
    print(f"# {len(others('bwlimit-web.user.reach') or ())} of them")
    check("one in bwlimit-web-fleet's place reaches none at all", reached("bwlimit-web-fleet.reach") == set(),
          read("bwlimit-web-fleet.reach"))
    check("control: its user outside of the unit does", others("bwlimit-web-fleet.user.reach"),
          read("bwlimit-web-fleet.user.reach"))
    check("nor does one in bwlimit-export's", reached("bwlimit-export.reach") == set(), read("bwlimit-export.reach"))
    check("control: its user outside of the unit does", others("bwlimit-export.user.reach"),
          read("bwlimit-export.user.reach"))


def first_boot(wire):
    guest = Guest(wire, os.path.join(work, "boot1.log"))
    guest.until(lambda: any(m.startswith("installed") for m in guest.marks), 1200)
    guest.off(300)
    check("the package installs on a clean Debian system", "installed 0" in guest.marks, read("install.log"))
    check("installation changes no device", read("links.before") == read("links.after") != "",
          read("links.before"), read("links.after"))
    check("and starts nothing", set(read("active.installed").split()) == {"inactive"}, read("active.installed"))
    check("what belongs into every boot is enabled", read("enabled").split() ==
          ["enabled"] * 4 + ["disabled"] * 6, read("enabled"))


def second_boot(wire):
    wire.seen.clear()
    sent = wire.sent
    guest = Guest(wire, os.path.join(work, "boot2.log"))
    guest.until(lambda: "forwarding off" in guest.marks, 1200)
    open_at = guest.marks.get("forwarding off", time.monotonic())
    sent = wire.sent - sent
    check("while verify is not clean nothing leaves, from power-on on",
          not [f for f in wire.seen if f[0] < open_at], wire.seen[:3], f"{len(wire.seen)} frames")
    print(f"# {sent} frames were sent into the host port by then")
    check("though the host sends all the time", sent > 1000)
    check("then the policy holds, with no hand on it", guest.until(lambda: granted(wire), 300))
    first = granted(wire)[0][0] if granted(wire) else time.monotonic()
    print(f"# the first frame came {first - open_at:.1f} s after what kept it closed was gone")
    guest.until(lambda: False, 30)
    check("after the heartbeat's time it still does: the agent renews it",
          len(granted(wire, time.monotonic() - 5)) > 0)
    tell("look")
    guest.until(lambda: any(m.startswith("upgraded") for m in guest.marks), 1500)
    check("verify is clean", clean("verify"), read("verify"))
    check("every unit is active", set(read("active").split()) == {"active"}, read("active"))
    check("the group has its maps, under the confinement of the units", read("pins") == "bwlimit 660", read("pins"))
    check("addresses stay while their port is down", read("keep") == "1", read("keep"))
    check("what the units did is in the audit log", '"attach' in read("audit") and clean("audit.verify"),
          read("audit")[-1500:], read("audit.verify"))
    check("bwlimit.service tried until verify was clean", "bwlimit.service: Failed with result" in read("journal"))
    check("the ledger is bound to the machine's TPM, which the unit reaches by the drop-in",
          "the ledger is bound to the counter of the TPM at device:/dev/tpmrm0" in read("journal") and tpm_bound(),
          read("tpm"), read("usage"), *[line for line in read("journal").splitlines() if "tpm" in line.lower()][-20:])
    check("with it a volume that was granted is released", released(),
          read("tpm"), read("usage"))
    check("and the unit stays confined: exposure at most 2.1", exposure() <= 2.1, read("security"),
          read("devices"))
    pages()
    check("an upgrade works", "upgraded 0" in guest.marks, read("upgrade.log"))
    check("verify is clean after it", clean("verify.upgraded"), read("verify.upgraded"))
    check("and every unit is active", set(read("active.upgraded").split()) == {"active"}, read("active.upgraded"))
    before, after = read("pids").split(), read("pids.upgraded").split()
    check("the pages and the exporter by the new version's programs", len(before) == len(after) == 3 and "0" not in before + after and
          not set(before) & set(after), before, after)
    guest.until(lambda: False, 5)
    check("granted traffic passes", len(granted(wire, time.monotonic() - 3)) > 0)
    frames = granted(wire)
    total, seconds = sum(f[3] for f in frames), frames[-1][0] - frames[0][0] if frames else 0
    print(f"# 200 kbit/s: {total} bytes in {seconds:.1f} s: {total * 8 / 1000 / max(seconds, 1):.1f} kbit/s")
    # Half a second of tolerance: the guest's clock is emulated, and frames wait in a queue of this machine.
    check("at most rate x T + burst left since the boot, over the upgrade as well",
          total <= RATE * (seconds + 0.5) + BURST)
    tell("remove")
    guest.until(lambda: any(m.startswith("removed") for m in guest.marks), 300)
    removed = guest.marks.get("removed 0")
    check("a removal works", removed, read("remove.log"))
    guest.until(lambda: False, 8)
    check("pages and exporter end with it", set(read("active.removed").split()) == {"inactive"}, read("active.removed"))
    check("it leaves the host port down", "DOWN" in read("link.removed"), read("link.removed"))
    check("and nothing leaves", removed and not [f for f in wire.seen if f[0] > removed + 0.5])
    tell("purge")
    guest.off(300)
    check("a purge works", "purged 0" in guest.marks, read("purge.log"))
    check("and leaves no file of ours", read("left") == "", read("left"))
    check("no frame ever left but those of the grant", len(granted(wire)) == len(wire.seen),
          [f for f in wire.seen if f not in granted(wire)][:3])


cables = Wire()
first_boot(cables)
second_boot(cables)
print(f"1..{tests}")
sys.exit(1 if failed else 0)
