# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits, their accounts, and one packet's charge to one of them: exactly, by what a CPU holds, or refused by a note."""
import ipaddress
from collections import defaultdict
from second.frame import Frame

NEVER = WORD = (1 << 64) - 1
SANE_DEBT = 1 << 44  # more: a broken clock or state
DEBT = (1 << 32) - 1  # slack of what is charged in any case


def over(a, b):
	"""By how much word a is ahead of word b, which may have wrapped; 0: it is not."""
	return a - b & WORD if a - b & WORD < 1 << 63 else 0


class Limit:
	"""Its configuration. Its account is in Tray.state and Tray.window."""

	def __init__(self, d):
		self.rate, self.base, self.start, self.burst = d["rate"], d["base"], d["start"], d["burst"]
		self.state, self.share, self.ce = d["state"], d["share"], d["ce"]
		self.volume, self.slice = d.get("volume"), d.get("slice", 0)
		self.window, self.epoch = d.get("window"), d.get("epoch", 0) & 0x7F
		self.nothing = self.rate is None and self.volume is None

	def drained(self, now):
		return self.base + (over(now, self.start) * (self.rate or 0) >> 40) & WORD

	def delay(self, debt):
		"""When this debt has drained to the burst, less what rounding may hide; ns."""
		rest = debt + (self.rate >> 40) + 1 - self.burst
		return 0 if rest <= 0 else (rest << 32) // max(self.rate >> 8, 1) + 1

	def slack(self, horizon):
		"""Bytes above the burst that may wait for their time."""
		ahead = [ns * self.rate >> 40 for ns in (horizon or 10_000_000, 250_000_000)]
		if not horizon and ahead[0] < 4 * 73728:
			ahead[0] = min(ahead[1], 4 * 73728)
		return min(ahead[0], (1 << 31) - 1)


class Share:
	def __init__(self):
		self.start = self.until = self.end = self.owner = self.bytes = self.filled = 0
		self.refused = (0,)  # until, length, peer, port, edits, generation, slot, reason

	def is_of(self, l, owner, now):
		return self.start == l.start and self.owner == owner and now < self.until


class Tray:
	"""What one CPU knows, and the maps."""

	def __init__(self, new):
		self.bits, self.on = new["cpu_bits"], new["shares"]
		self.state, self.window = defaultdict(lambda: [0, 0, 0]), defaultdict(lambda: [0] * 15)
		self.release, self.policy, self.ctl, self.peers = {}, None, None, {}
		self.cpu, self.entries = defaultdict(Share), defaultdict(Share)
		self.exact_at = self.late = self.unclocked = self.resumes = 0
		self.own_programs()

	def own_programs(self):
		self.around, self.looked = None, 0

	def take_policy(self, p):
		self.policy, self.peers = p, {}
		if p:
			self.limits = {n: Limit(l) for n, l in p["limits"].items()}
			nets = sorted(((ipaddress.ip_network(a), i) for a, i in p["dests"]), key=lambda x: -x[0].prefixlen)
			self.dests, self.peers = nets, p["peers"]
			for x in self.peers.values():
				x["limits"] = {n: Limit({"state": 0, **l}) for n, l in x["limits"].items()}

	def owner_of(self, address):
		return next((i for n, i in self.dests if n.version == address.version and address in n), 0)

	def entry(self, state):
		return self.entries[(state * 0x9E3779B1 & 0xFFFFFFFF) >> 20]


class Charge:
	"""A packet at one limit. Time: `now` is exact, or not before the true time."""

	def __init__(self, tray, k):
		self.t, self.k, self.f = tray, k, Frame(k)
		self.now, self.exact = k["now"], True
		self.lapsed = self.ce = self.monitored = self.shares = False
		self.delay = self.charge = self.id = 0
		self.tally, self.bills = [], []

	# The clock: ticks, or exactly
	def ticks(self):
		return self.k["now"] - self.k["behind"]

	def read_late(self):
		t = self.t
		late = self.ticks() + t.late
		if t.late and t.resumes == t.ctl["resumes"] and late - t.exact_at <= 100_000_000:
			self.now, self.exact = late, False
			return
		t.resumes, self.exact = t.ctl["resumes"], False
		self.read()

	def read(self):
		if not self.exact:
			t, self.now, self.exact = self.t, self.k["now"], True
			t.late, t.exact_at, t.unclocked = self.now - self.ticks() + 2_000_000, self.now, 0

	def latest(self):
		return self.now + (0 if self.exact else 100_000_000)

	# One account
	def debt(self, l):
		return over(self.t.state[l.state][0], l.drained(self.now))

	def most(self, l):
		return min(l.volume, self.t.release.get(l.state) or NEVER)

	def used(self, l):
		return self.t.window[l.window][1] if l.slice else self.t.state[l.state][1]

	def add(self, l, n):
		if l.slice:
			self.t.window[l.window][1] += n
		else:
			self.t.state[l.state][1] += n

	def turn(self, l):
		"""Brings the window to the present slice, and forgets what is older than twelve."""
		w, want = self.t.window[l.window], self.now // l.slice
		epoch, newest = w[0] >> 56, w[0] & (1 << 56) - 1
		if epoch != l.epoch:  # slices of another length: all history is of now
			w[3:] = [sum(w[3:]) if i == want % 12 else 0 for i in range(12)]
		elif want <= newest:
			return newest % 12
		else:
			for i in range(12):
				if want - (newest - (newest - i) % 12) >= 12:
					w[1], w[2], w[3 + i] = w[1] - w[3 + i], w[2] + w[3 + i], 0
		w[0] = l.epoch << 56 | want
		return want % 12

	def take(self, l, n, slack=0):
		"""Charges n bytes, rate and volume or neither: (verdict, how to undo or commit)."""
		word, was, slot = self.t.state[l.state], self.t.state[l.state][0], None
		if l.rate is not None:
			debt = self.debt(l)
			if debt + n > l.burst + slack:
				if debt <= SANE_DEBT:
					return "rate", None
				word[0] = l.drained(self.now) + l.burst & WORD
				return "clock", None
			word[0] = l.drained(self.now) + debt + n & WORD
		if l.volume is not None and slack != DEBT:
			most, verdict = self.most(l), None
			if n <= most and l.slice:
				slot = self.turn(l)
			if n > most or self.used(l) > most - n:
				word[0] = was
				return "ledger" if most < l.volume else "volume", None
			self.add(l, n)
			return None, (was, n, slot, True)
		return None, (was, 0, slot, False)

	def commit(self, l, how):
		if how[2] is not None:
			self.t.window[l.window][3 + how[2]] += how[1]

	# A CPU's share of a limit
	def owner(self, l):
		return l.state ^ self.t.ctl["active"] << 30

	def claim(self, l):
		if not self.shares or not (l.share or l.rate is None):
			return None
		x, owner = self.t.entry(l.state), self.owner(l)
		if x.owner == owner and x.start == l.start:
			x.filled = self.now >> 30
			return x
		if x.owner & 0x3FFFFFFF == l.state or not x.bytes or (self.now >> 30) - x.filled > 1:
			x.start, x.owner, x.bytes, x.filled = l.start, owner, 0, 0
		return None

	def has(self, s, l):
		return s.bytes >= self.charge and s.is_of(l, self.owner(l), self.latest())

	def spend(self, s, l):
		if not self.has(s, l):
			return l.nothing
		s.bytes -= self.charge
		return True

	def unspend(self, s, l):
		s.bytes += 0 if l.nothing else self.charge

	def wants(self, l, s):
		most = 1 << (17 if l.rate is None else l.share) if l.share or l.rate is None else 0
		if l.volume is not None:
			most = min(most, max(0, self.most(l) - self.used(l)) >> 11 + self.t.bits)
		holds = s.bytes if s.is_of(l, self.owner(l), self.now) else 0
		return 0 if most < 2048 or self.charge > most or holds >= most else most - holds

	def fill(self, l, s, n, how):
		self.commit(l, how)
		if not s.is_of(l, self.owner(l), self.now):
			s.bytes = 0
		s.bytes += n - self.charge
		s.start, s.owner, s.end = l.start, self.owner(l), l.drained(self.now) + over(how[0], l.drained(self.now)) + n & WORD
		s.until = (self.now // l.slice + 1) * l.slice if l.slice and l.volume is not None else NEVER

	# Refusals that are noted
	def note(self, l, verdict, reason, slack, around):
		t, x = self.t, self.t.entry(2 * self.id)
		if not self.shares or verdict not in ("rate", "volume"):
			return
		ns = 1_000_000
		if verdict == "rate":
			ns = min(10_000_000, l.delay(max(0, self.debt(l) + self.charge - slack)))
		c = t.ctl
		x.refused = (self.now + ns, self.charge, self.id, self.k["port"], c["edits"], c["generation"] & 0xFFFF, c["slot"],
			reason)
		if around and l.state != 2 * self.id:
			t.around = (self.now + ns, l.state, self.charge, c["edits"], c["generation"], c["slot"], reason)

	def refused_still(self, peer_id, read):
		c, x = self.t.ctl, self.t.entry(2 * peer_id)
		if not x.refused[0] or x.refused[2:7] != (peer_id, self.k["port"], c["edits"], c["generation"] & 0xFFFF, c["slot"]) \
				or self.f.len < x.refused[1]:
			return None
		if read:
			self.read_late()
		if self.now >= x.refused[0]:
			self.read()
			if self.now >= x.refused[0]:
				x.refused = (0,)
				return None
		return x.refused[7]

	def refused_around(self):
		c, (until, state, length, edits, generation, slot, reason) = self.t.ctl, self.t.around
		if self.charge < length or (edits, generation, slot) != (c["edits"], c["generation"], c["slot"]) \
				or state not in [l.state for l, _ in self.outer()]:
			return None
		if self.now >= until:
			self.read()
			if self.now >= until:
				self.t.around = None
				return None
		return reason

	def take_cold(self, l):
		"""Debt is recorded by the later time, and judged by the earlier one."""
		least, slot = self.t.exact_at, None
		unsure = over(l.drained(self.now), l.drained(least))
		if l.rate is not None and (least < l.start or l.burst < 1 << 17 or unsure > l.burst // 4):
			return None
		if l.volume is not None and l.slice:
			w, want = self.t.window[l.window], self.now // l.slice
			if w[0] >> 56 != l.epoch or w[0] & (1 << 56) - 1 < want:
				return None
			slot = (w[0] & (1 << 56) - 1) % 12
		if l.rate is not None and self.debt(l) + self.charge > l.burst - unsure:
			return None
		if l.volume is not None and self.used(l) > self.most(l) - self.charge:
			return None
		was = self.t.state[l.state][0]
		if l.rate is not None:
			self.t.state[l.state][0] = l.drained(self.now) + self.debt(l) + self.charge & WORD
		if l.volume is None:
			return was, 0, None, False
		self.add(l, self.charge)
		return was, self.charge, slot, True

	def undo(self, l, how):
		if l.rate is not None:
			self.t.state[l.state][0] = how[0]
		if how[3]:
			self.add(l, -how[1])

	def bill(self, l, share, name, slack=0, noted=True, around=True):
		"""Charges one limit: by the CPU's share, which is filled if need be, or exactly. A reason, or None."""
		if l.nothing:
			return None
		verdict = None
		if share is not None:
			if self.spend(share, l):
				self.bills.append((l, share, None))
				return None
			n = self.wants(l, share)
			if n:
				verdict, how = self.take(l, n)
				if not verdict:
					self.fill(l, share, n, how)
					self.bills.append((l, share, None))
					return None
		if verdict != "clock":
			verdict, how = self.take(l, self.charge, slack)
		if not verdict:
			self.bills.append((l, None, how))
			return None
		reason = {"rate": name + "-rate", "volume": name + "-volume"}.get(verdict, verdict)
		if noted:
			self.note(l, verdict, reason, max(0, slack), around)
		return reason
