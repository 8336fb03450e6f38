# SPDX-License-Identifier: GPL-2.0-or-later
"""What the bytes of a frame say: addresses, class, the headers that segments repeat, its cost."""
import ipaddress

PORTS = {"tcp": {4420: "nvme-tcp", 8009: "nvme-tcp", 2049: "nfs", 20049: "nfs", 860: "iscsi", 3260: "iscsi",
		443: "https", 22: "ssh", 53: "dns", 853: "dns"},
	"udp": {4791: "rocev2", 2049: "nfs", 20049: "nfs", 443: "https", 53: "dns"}}


class Frame:
	"""What a packet's bytes say."""

	def __init__(self, k):
		b = self.bytes = bytes.fromhex(k["frame"])
		self.len, self.tags = k["len"], 4 * (k["tag"] >= 0)
		self.gso, self.segs = k["gso"]
		self.src = self.dst = self.proto = None
		self.sport = self.dport = self.end = self.whole = 0
		at = 12
		while self.be(at) in (0x8100, 0x88A8):
			at += 4
		self.type, self.l3 = self.be(at), at + 2
		if self.type in (0x800, 0x86DD) and len(b) >= self.l3 + 20:
			self.ip(self.l3)
			self.whole = self.follow(self.l3, self.type | 0x10000)

	def be(self, at):
		return int.from_bytes(self.bytes[at:at + 2], "big")

	def ip(self, l3):
		b, fragment = self.bytes, False
		if self.type == 0x800:
			self.src, self.dst = (ipaddress.ip_address(b[l3 + n:l3 + n + 4]) for n in (12, 16))
			self.ecn = b[l3 + 1] & 3
			proto, at, fragment = b[l3 + 9], l3 + (b[l3] & 15) * 4, bool(self.be(l3 + 6) & 0x3FFF)
		else:
			self.src, self.dst = (ipaddress.ip_address(b[l3 + n:l3 + n + 16]) for n in (8, 24))
			self.ecn, proto, at = b[l3 + 1] >> 4 & 3, b[l3 + 6], l3 + 40
			while proto in (0, 43, 44, 51, 60, 135, 139) and at + 8 <= len(b):
				fragment |= proto == 44
				size = 8 if proto == 44 else (b[at + 1] + 2) * 4 if proto == 51 else (b[at + 1] + 1) * 8
				proto, at = b[at], at + size
		self.proto, self.l4 = (None if fragment else proto), at
		if not fragment and proto in (6, 17):
			self.sport, self.dport = self.be(at), self.be(at + 2)

	def class_of(self):
		if self.proto in (1, 58):
			return "icmp"
		ports = PORTS.get({6: "tcp", 17: "udp"}.get(self.proto), {})
		found = ports.get(self.dport) or ports.get(self.sport) or "other"
		bth = self.l4 + 8 if self.proto == 17 else 0
		return "cnp" if found == "rocev2" and self.dport == 4791 and self.bytes[bth:bth + 1] == b"\x81" else found

	def follow(self, at, kind):
		"""The end of the innermost TCP or UDP header that GSO leads to; 0: none. kind: of IP, or 0x10000 and an EtherType."""
		for _ in range(10):
			h = self.bytes[at:at + 14]
			if kind == 17:
				return at + 8
			if len(h) < 14:
				return 0
			if kind == 6:
				return at + (h[12] >> 4) * 4 if h[12] >> 4 >= 5 else 0
			if kind in (4, 0x10800):
				if h[0] >> 4 != 4 or self.be(at + 6) & 0x3FFF:
					return 0
				kind, at = h[9], at + (h[0] & 15) * 4
			elif kind in (41, 0x186DD):
				kind, at = h[6], at + 40
			elif kind in (0, 60):
				kind, at = h[0], at + (h[1] + 1) * 8
			elif kind == 47 and not (h[0] & 0x4F or h[1]):
				kind, at = self.be(at + 2) | 0x10000, at + 4 + 4 * (h[0] >> 7) + 4 * (h[0] >> 5 & 1) + 4 * (h[0] >> 4 & 1)
			elif kind == 0x16558:
				kind, at = self.be(at + 12) | 0x10000, at + 14
			elif kind in (0x18100, 0x188A8):
				kind, at = self.be(at + 2) | 0x10000, at + 4
			else:
				return 0
		return 0

	def cost(self, base):
		"""Bytes on the wire without FCS, each segment with its headers; the host may only raise the number of segments."""
		if not self.gso:
			return max(self.len + self.tags, base["min_charge"])
		payload, room = self.len - self.whole, base["mtu"] + self.l3 - self.whole
		n = max(-(-payload // room), -(-payload // self.gso), self.segs, 1)
		return max(self.len + self.tags + (n - 1) * (self.whole + self.tags), n * base["min_charge"])
