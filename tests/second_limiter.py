#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A second limiter: reads traces of tests (BWL_TRACE, tests/README.md) and judges each packet again.

Written from docs/limits.md, docs/policy.md and the comments of maps/. It keeps its own accounts, and must agree with the
programs to the byte on verdict, charge, accounts, windows and counters. The first difference ends it with 1.

Examples:
  BWL_TRACE=/tmp/t build/dev/tests/prog/volumes_test && tests/second_limiter.py /tmp/t
  tests/second_limiter.py --least 1000 --reasons pass,peer-rate,zone-volume /tmp/t    # and it judged so much, and these
"""
import argparse
import json
import sys
from collections import Counter

sys.dont_write_bytecode = True  # into the source
from second.account import Tray
from second.packet import BEFORE, Packet


class Judge:
	def __init__(self):
		self.tray, self.judged, self.left_out = None, Counter(), Counter()

	def expect(self, p, reason, kind):
		"""The counters after it."""
		t, f, reasons, peers = self.tray, p.f, {}, {}
		if kind == "passed":
			reasons[reason] = [1, f.len, p.charge]
			if p.id:
				peers[str(p.id)] = [1, p.charge, 0, 0, 0, int(p.monitored), p.charge * p.monitored]
			for name in (f.class_of(), f"tenant{p.k['port']}") if p.id and p.k["prog"] == "tc-host" else ():
				p.sub(name)
			for i in p.tally:
				t.state[i][1] += p.charge
		elif reason:
			reasons[reason] = [1, f.len, 0]
			seen = p.charge if kind == "refused-arrival" else f.len
			if p.id:
				peers[str(p.id)] = [0, 0, 1, seen, 0, 0, 0]
			for i in p.tally if p.id else []:
				t.state[i][2] += seen
		if f.gso and f.segs > 1:
			hdr = f.whole or (0 if f.proto in (None, 4, 6, 41, 47) else f.l4 + 12)
			reasons["segments"] = [f.segs - 1, (f.segs - 1) * hdr, 0]
		return reasons, peers

	def packet(self, k, said):
		t, counted = self.tray, [r for r in said["reasons"] if r != "segments"]
		reason_said = counted[0] if counted else None
		before = {i: list(v) for i, v in t.state.items()}, {i: list(v) for i, v in t.window.items()}
		p, kind = Packet(t, k), "other"
		if k["prog"] in ("tc-host", "xdp-host"):
			reason, kind = p.judge(reason_said)
			if k["prog"] == "xdp-host" and reason in BEFORE | {"no-peer", "stop", "upgrade", "no-policy"}:
				p.exact or p.read_late()  # for the event
			if kind == "again":
				p.id = t.owner_of(p.f.dst)
			if kind in ("refused", "again"):
				t.looked = 0
		elif k["prog"] == "tc-upin" and t.policy:
			reason, kind = p.judge_arrival(reason_said)
		told = f"neighbour{k['port']}" if k["prog"] == "tc-host" and kind == "refused" and t.policy else ""
		told = str(t.limits[told].state) if told in (t.limits if told else ()) else None
		if told in said["state"]:  # what the host is told about a refusal is charged there
			p.exact or p.read()
			t.state[int(told)][0] = said["state"][told][0]
		if kind == "other":
			self.left_out[k["prog"]] += 1
			moved = [i for i, v in said["state"].items() if v[:2] != before[0].get(int(i), [0, 0])[:2]] + list(said["window"])
			t.state.update((int(i), v) for i, v in said["state"].items())
			return [f"the accounts {moved} moved, and no limiter was asked"] if moved else []
		reasons, peers = self.expect(p, reason, kind)
		got = {"reason": reason_said, "reasons": said["reasons"], "peers": said["peers"], "state": said["state"],
			"window": said["window"], "delay": said["delay"] if kind == "passed" else 0}
		own = {"reason": reason, "reasons": reasons, "peers": peers, "delay": p.delay if kind == "passed" else 0}
		for name, now, was, new in (("state", t.state, before[0], [0] * 3), ("window", t.window, before[1], [0] * 15)):
			own[name] = {str(i): v for i, v in sorted(now.items()) if v != was.get(i, new)}
		self.judged[reason or "handed on"] += 1
		return [f"{n}: the programs say {got[n]}, the second limiter {own[n]}" for n in got if got[n] != own[n]]

	def record(self, r):
		t = self.tray
		if "packet" in r:
			return self.packet(r["packet"], r["said"])
		if "new" in r:
			self.tray = Tray(r["new"])
		elif "programs" in r:
			t.own_programs()
		elif "policy" in r:
			t.take_policy(r["policy"])
		elif "ctl" in r:
			t.ctl = r["ctl"]
		elif "release" in r:
			t.release[r["release"][0]] = r["release"][1]
		else:
			for name, of in (("state", t.state), ("window", t.window)):
				of.update((int(i), v) for i, v in r["set"][name].items())
		return []


def main():
	a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
	a.add_argument("traces", nargs="+", help="files that BWL_TRACE named; -: standard input")
	a.add_argument("--least", type=int, default=1, help="so many packets must have been judged (1)")
	a.add_argument("--reasons", default="", help="these verdicts must have been among them, with commas between")
	args = a.parse_args()
	judge = Judge()
	for name in args.traces:
		with sys.stdin if name == "-" else open(name, encoding="ascii") as f:
			for n, line in enumerate(f, 1):
				wrong = judge.record(json.loads(line))
				if wrong:
					sys.exit(f"{name}: record {n}: {line[:400]}\n" + "\n".join(wrong))
	n = sum(judge.judged.values())
	print(f"{n} packets judged:", ", ".join(f"{c} {r}" for r, c in judge.judged.most_common()))
	if judge.left_out:
		print("left out:", ", ".join(f"{c} {r}" for r, c in judge.left_out.most_common()))
	missing = [r for r in args.reasons.split(",") if r and not judge.judged[r]]
	if n < args.least or missing:
		sys.exit(f"too little: {n} packets, none of them {', '.join(missing) or '-'}")


if __name__ == "__main__":
	main()
