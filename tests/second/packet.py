# SPDX-License-Identifier: GPL-2.0-or-later
"""One packet through all its limits: the grant, then each account, all or none."""
from second.account import DEBT, SANE_DEBT, WORD, Charge, over

POLICE, SHAPE, MARK, MONITOR = range(4)
# What the limiter does not decide: the frame, its source, its way.
BEFORE = {"no-port", "truncated", "malformed", "ethertype", "vlan", "source-mac", "source-address", "local-protocol",
	"source-route", "ext-headers", "neighbour-sources"}
BEHIND = {"malformed", "too-big", "no-nexthop", "no-sa", "device", "send"}


class Packet(Charge):
	# The grant
	def is_over(self, now):
		c = self.t.ctl
		return (now >= self.peer["expiry"] or now >= c["trial"] and self.id != self.t.policy["self"]
			or self.t.policy["heartbeat"] and now >= c["heartbeat"])

	def why_over(self):
		return "expired" if self.now >= min(self.peer["expiry"], self.t.ctl["trial"]) else "silent"

	def grant(self, peer_id):
		t = self.t
		self.id, self.peer = peer_id, t.peers.get(str(peer_id))
		if not self.peer:
			return "no-peer"
		if not self.peer["granted"]:
			return "no-grant"
		self.limits, self.mode = self.peer["limits"], self.peer["mode"]
		if self.peer["seq"] <= max(t.ctl["revoked"].get(str(peer_id), 0), t.ctl["revoked_all"]):
			return "revoked"
		if self.is_over(self.latest()):
			self.read()
			if self.is_over(self.now):
				self.lapsed = True
				if "floor" not in self.limits:
					return self.why_over()
		return None

	def paces(self):
		return self.mode in (SHAPE, MARK) and not self.lapsed and self.limits["grant"].rate is not None

	# All accounts of a packet
	def outer(self):
		"""Zone, port, node, with the CPU's shares of them."""
		zone, port = f"zone{self.peer['zone']}", f"port{self.k['port']}"
		names = ([zone] if self.peer["zone"] else []) + [port, "node"]
		return [(self.t.limits[n], self.t.cpu[n]) for n in names]

	def sub(self, name):
		l = self.limits.get(name)
		if l and l.state | 1 not in self.tally:
			self.tally.append(l.state | 1)
		return l

	def spend_all(self, pairs):
		spent = []
		for s, l in pairs:
			if not self.spend(s, l):
				for x in spent:
					self.unspend(*x)
				return False
			spent.append((s, l))
		self.spent = spent
		return True

	def from_held(self):
		"""By what the CPU holds; the peer's own limit, if it comes too seldom for a share, by ticks."""
		portion, grant, e = self.limits.get("portion"), self.limits["grant"], self.t.entry
		if portion and not self.has(e(portion.state), portion):
			return False
		if not self.spend_all([(s, l) for l, s in self.outer()]):
			return False
		around = self.spent
		own = not self.lapsed and self.spend_all([(e(grant.state), grant)])
		if own:
			subs = [self.limits.get(n) for n in (self.f.class_of(), f"tenant{self.k['port']}")]
			own = self.spend_all([(e(l.state), l) for l in subs if l])
			if not own:
				self.unspend(e(grant.state), grant)
			elif self.mode == MARK and self.paces():
				self.pace(e(grant.state).end - e(grant.state).bytes, 0)
		if not own and not self.cold():
			for x in around:
				self.unspend(*x)
			return False
		return True

	def cold(self):
		t, grant = self.t, self.limits["grant"]
		if self.exact or self.lapsed or self.paces() or any(n.startswith("tenant") for n in self.limits) \
				or t.unclocked + self.charge > 1 << 17 or self.claim(grant):
			return False
		limits = [l for l in (grant, self.limits.get(self.f.class_of())) if l]
		taken = []
		for l in limits:
			how = self.take_cold(l)
			if not how:
				for x in taken:
					self.undo(*x)
				return False
			taken.append((l, how))
		for x in taken:
			self.commit(*x)
		t.unclocked += self.charge
		return True

	def pace(self, end, slack):
		grant = self.limits["grant"]
		debt = over(end, grant.drained(self.now))
		self.ce |= self.mode == MARK and debt > grant.burst * grant.ce >> 8
		if slack:
			self.delay = grant.delay(debt)
			self.ce |= debt > grant.burst + slack // 4

	def bill_grant(self):
		grant, slack = self.limits["grant"], 0
		waits = self.peer["fq"] and self.paces()
		if waits:
			if self.charge + (grant.rate >> 40) + 1 > grant.burst:
				return "peer-rate"
			slack = grant.slack(self.t.policy["horizon"])
		if grant.nothing:
			return None
		s, was = self.claim(grant), self.t.state[grant.state][0]
		r = self.bill(grant, s, "peer", slack, noted=self.mode != MONITOR and (waits or not self.paces()))
		if r and self.mode == MONITOR:
			self.monitored, r = True, None
		if r or not self.paces():
			return r
		if self.bills[-1][1]:
			self.pace(s.end - s.bytes, 0)
			return None
		self.pace(grant.drained(self.now) + over(was, grant.drained(self.now)) + self.charge & WORD, slack)
		at = self.now + self.delay
		late = at >= self.peer["expiry"] or self.delay and self.id != self.t.policy["self"] and at >= self.t.ctl["trial"]
		if s and self.delay:
			s.bytes = 0
		return "expired" if slack and late else None

	def bill_all(self):
		t, r = self.t, None
		tenant, monitors = self.sub(f"tenant{self.k['port']}"), self.mode == MONITOR
		if tenant:
			r = self.bill(tenant, self.claim(tenant), "port", noted=not monitors, around=False)
			if r and monitors:
				self.monitored, r = True, None
		if r:
			return r
		r = self.bill_grant()
		if not r and self.lapsed:
			floor = self.limits["floor"]
			r = self.bill(floor, self.claim(floor), "floor", noted=False)
		if not r:
			l = self.sub(self.f.class_of())
			r = self.bill(l, self.claim(l), "class", noted=False) if l else None
			if r and monitors:
				self.monitored, r = True, None
		self.within = False
		for (l, s), name in zip(self.outer(), ["zone", "port", "node"][not self.peer["zone"]:]):
			slack, noted, portion = 0, True, self.limits.get("portion")
			if name == "zone" and portion and not r:
				self.within = self.shares and self.has(t.entry(portion.state), portion) \
					or self.debt(portion) + self.charge <= portion.burst or self.debt(portion) > SANE_DEBT
				if not self.within:  # the zone's reserve is for those within theirs
					slack, noted, s = -(l.burst - l.burst // 2), False, None
			r = r or self.bill(l, s if self.shares else None, name, slack, noted)
		volumes = any(how and how[3] for _, _, how in self.bills)
		for l, share, how in self.bills:
			if not r:
				if how:
					self.commit(l, how)
			elif share is not None:
				share.bytes += self.charge
			else:
				self.undo(l, how)
		if r or volumes:  # whose share it is, is looked up once more
			for name in ["grant"] + ["floor"] * self.lapsed:
				self.claim(self.limits[name])
		if tenant and any(l is tenant for l, _, _ in self.bills):
			self.claim(tenant)
		return r

	def charge_portion(self):
		l = self.limits["portion"]
		s = self.claim(l)
		if s and self.spend(s, l):
			return
		n = self.wants(l, s) if s else 0
		verdict, how = self.take(l, n) if n else ("rate", None)
		if verdict:
			self.take(l, self.charge, DEBT)
		else:
			self.fill(l, s, n, how)

	def exactly(self):
		self.read()
		return self.why_over() if not self.lapsed and self.is_over(self.now) else None

	def charge_all(self):
		self.charge, r, self.within = self.f.cost(self.t.policy), None, False
		if self.mode == MARK and self.paces():
			r = self.exactly()
		if r:
			return r
		self.shares = bool(self.t.on)
		if self.shares and self.t.around:
			r = self.refused_around()
			if not r and self.exact:
				r = self.exactly()
		if r:
			return r
		if self.shares and self.from_held():
			self.within = "portion" in self.limits
		else:
			r = self.exactly() or self.bill_all()
		if not r and self.within:
			self.charge_portion()
		return r

	# A host port
	def judge(self, said):
		"""(reason, how the frame is counted); said: what the programs say, where it is not the limiter's to say."""
		t, f, early = self.t, self.f, self.k["prog"] == "xdp-host"
		if early:
			if t.looked >= 1024:
				return None, None
			t.looked += 1
		self.exact = False
		if not early:
			self.read_late()
		if t.ctl["stop"]:
			return ("upgrade" if t.ctl["stop"] == 2 else "stop"), "refused"
		if not t.policy:
			return "no-policy", "refused"
		if said in BEFORE and (said != "malformed" or not f.gso):
			return said, "refused"
		if f.type == 0x806 or said in ("pass-neighbour", "neighbour-rate"):
			if early:
				return None, None
			self.read()
			l, self.charge = t.limits[f"neighbour{self.k['port']}"], f.len
			verdict, how = self.take(l, f.len)
			if verdict:
				return "neighbour-rate", "refused"
			self.commit(l, how)
			return "pass-neighbour", "passed"
		peer_id = t.owner_of(f.dst) if f.dst else 0
		if not peer_id:
			return "no-peer", "refused"
		r = self.refused_still(peer_id, early)
		if r:
			return r, "again"
		if early:
			return None, None
		r = self.grant(peer_id)
		if not r and (peer_id == t.policy["self"] or not self.peer["from"] >> self.k["port"] & 1):
			r = "from"
		if not r and said in BEHIND - {"device", "send"}:
			r = said
		r = r or self.charge_all()
		if r:
			return r, "refused"
		return ("pass-monitor" if self.monitored else "pass-marked" if self.ce and self.f.ecn else "pass-floor" if self.lapsed
			else "pass"), "passed"

	# What arrives
	def judge_arrival(self, said):
		t, f = self.t, self.f
		self.exact = False
		self.read()
		if said not in ("pass-accept", "accept-rate", "accept-volume"):
			return said, "other"
		r = self.grant(t.owner_of(f.src))
		self.charge, self.tally = f.cost(t.policy), [2 * self.id + 1]
		if not r and not self.peer["accepts"]:
			r = "accept-rate"
		accept, volume = self.limits["accept"], self.limits.get("accept-volume")
		for l, name in ((accept, "accept"), (volume, "accept")):
			if r or not l or l.nothing:
				continue
			verdict, how = self.take(l, self.charge)
			if verdict:
				r = f"{name}-{verdict}" if verdict in ("rate", "volume") else verdict
				for x in self.bills:
					self.undo(*x)
			else:
				self.bills.append((l, how))
		for x in self.bills:
			if not r:
				self.commit(*x)
		return r or "pass-accept", "refused-arrival" if r else "passed"
