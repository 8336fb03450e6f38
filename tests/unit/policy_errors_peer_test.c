// SPDX-License-Identifier: GPL-2.0-or-later
/* Errors in what a policy says of a peer: its keys, its addresses and its limits. */
#include "policy_errors.h"

static void the_mac_of_a_next_hop_is_checked(void **state)
{
#define MAC(x) "    next_hop_mac: \"" x "\"\n"
#define OTHER(name, net, mac)                                                                      \
	"  - { name: " name ", addresses: [" net                                                   \
	"/24], path: clear, via: 10.9.9.9, next_hop_mac: \"" mac "\" }\n"
	static const struct row rows[] = {
		{ PEER MAC("02:00:5e:10:00"), 11, 19, "is not a MAC address: 02:00:5e:10:00:01" },
		{ PEER MAC("02-00-5e-10-00-01"), 11, 19, "is not a MAC address" },
		{ PEER MAC("01:00:5e:10:00:01"), 11, 19, "is not unicast" },
		{ PEER MAC("00:00:00:00:00:00"), 11, 19, "is not unicast" },
		{ PEER "    next_hop_mac: [1]\n", 11, 19, "" },
		{ TOP
		  "peers:\n  - name: self\n    addresses: [192.0.2.7]\n" MAC("02:00:5e:10:00:01"),
		  9, 0, "peer self: next_hop_mac needs a next hop: remove it" },
		{ PEER MAC("02:00:5e:10:00:01") OTHER("b", "198.51.100.0", "02:00:5e:10:00:02"), 12,
		  0, "peer b: next_hop_mac differs from that of another peer with the same via" },
	};
	static const char *const fine[] = {
		PEER MAC("02:00:5e:10:00:01") OTHER("b", "198.51.100.0", "02:00:5E:10:00:01"),
		PEER
		"  - { name: b, addresses: [198.51.100.0/24], path: clear, via: 10.9.9.8, next_hop_mac: \"02:00:5e:10:00:02\" }\n",
		TOP
		"peers: [{ name: a, addresses: [192.0.2.0/24], ipsec: { remote: 198.51.100.3 }, next_hop_mac: \"02:00:5e:10:00:02\" }]\n",
	};

	(void)state;
	REFUSES(rows);
	for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++) {
		struct bwl_policy *p = NULL;
		struct bwl_err e = { 0 };

		if (bwl_policy_parse("f.yaml", fine[i], strlen(fine[i]), NOW_BOOT, NOW_WALL, &p,
				     &e))
			fail_msg("%zu: %s", i, e.text);
		bwl_policy_free(p);
	}
}

static void limits_are_checked(void **state)
{
	static const struct row rows[] = {
		{ GRANT("rate: -1mbit"), 11, 20,
		  "peer a, grant, rate: '-1mbit' is negative: a rate is 1kbit to 100tbit" },
		{ GRANT("rate: 999"), 11, 20, "1kbit to 100tbit" },
		{ GRANT("rate: 18446744073709551617gbit"), 11, 20, "1kbit to 100tbit" },
		{ GRANT("rate: 1mbit, burst: 1517b"), 11, 34, "1518b (one full frame) to 1tb" },
		{ GRANT("rate: 1kbit, burst: 1ns"), 11, 34, "1518b (one full frame) to 1tb" },
		{ GRANT("rate: 1mbit, burst: 1ms"), 11, 34, "1518b (one full frame) to 1tb" },
		{ GRANT("rate: 1mbit, burst: 2tb"), 11, 0, "1518b (one full frame) to 1tb" },
		{ GRANT("rate: 1mbit, burst: 100w"), 11, 34, "" },
		{ GRANT("rate: 100tbit, burst: 100w"), 11, 36, "1518b (one full frame) to 1tb" },
		{ GRANT("rate: 1mbit, burst: lots"), 11, 34,
		  "a size such as 64kb, or a time at the rate such as 1ms" },
		{ GRANT("volume: 1gb, burst: 1ms"), 11, 34, "rate is missing" },
		{ GRANT("volume: 1gb, burst: 64kb"), 11, 34, "rate is missing: burst needs it" },
		{ GRANT("volume: 1gb per 10s"), 11, 22, "11s to 36500d" },
		{ GRANT("volume: 1gb a day"), 11, 22, "20gb per 1d" },
		{ GRANT("volume: 5000pb"), 11, 22, "0 to 4096pb" },
		{ GRANT("mode: police"), 11, 12, "is empty: give rate, volume or both" },
		{ GRANT("rate: 1mbit, mode: drop"), 11, 33, "police, shape, mark or monitor" },
		{ GRANT("rate: 1mbit, mark: 50"), 11, 33, "mark belongs to `mode: mark`" },
		{ GRANT("rate: 1mbit, mode: mark, mark: 0"), 11, 45, "from 1 to 100" },
		{ GRANT("rate: 1mbit, mode: mark, mark: 101%"), 11, 45, "from 1 to 100" },
		{ GRANT("rate: 1mbit, until: tomorrow"), 11, 34, "RFC 3339" },
		{ GRANT("rate: 1mbit, until: 2027-02-30T00:00:00Z"), 11, 34, "RFC 3339" },
		{ GRANT("rate: 1mbit, until: 2027-02-03T00:00:00"), 11, 34, "RFC 3339" },
		{ GRANT("rate: 1mbit, until: 9999-01-01T00:00:00Z"), 11, 34, "within 100 years" },
		{ PEER "    grant: { rate: 1mbit }\n    floor: { rate: 2mbit }\n", 12, 12,
		  "floor exceeds the grant's rate" },
		{ PEER "    grant: { rate: 1mbit }\n    floor: { volume: 1gb }\n", 12, 12,
		  "floor exceeds the grant's rate" },
		{ PEER "    grant: { rate: 1mbit }\n    floor: {}\n", 12, 12,
		  "is empty: give rate, volume or both" },
		{ PEER "    grant: { rate: 1mbit }\n    accept: { burst: 64kb }\n", 12, 13,
		  "rate is missing" },
		{ PEER "    accept: { rate: 1mbit, volume: 1gb }\n", 11, 13,
		  "grant is missing: a volume of accept needs it" },
		{ PEER "    grant: { rate: 1mbit }\n    accept: { volume: 1gb }\n", 12, 13,
		  "peer a: accept: rate is missing: a volume of accept needs it" },
		{ PEER "    grant: { volume: 1gb }\n    accept: { burst: 64kb, volume: 1gb }\n", 12,
		  22, "rate is missing: burst needs it" },
		{ PEER
		  "    grant: { rate: 1mbit }\n    accept: { rate: 1mbit, volume: 1gb per 10s }\n",
		  12, 36, "the window of a volume is 11s to 36500d" },
		{ PEER "    classes: { ssh: { rate: 1mbit } }\n", 11, 14,
		  "grant is missing: classes need it" },
		{ PEER "    grant: { rate: 1mbit }\n    classes: { ssh: {} }\n", 12, 21,
		  "ssh is empty" },
		{ PEER "    ports: { h0: { rate: 1mbit } }\n", 11, 12,
		  "grant is missing: ports need it" },
		{ GRANT("rate: 1mbit") "    ports: { h1: { rate: 1mbit } }\n", 12, 18,
		  "unknown host port h1: ports must name devices of host_ports" },
		{ GRANT("rate: 1mbit") "    ports: { p0: { rate: 1mbit } }\n", 12, 18,
		  "unknown host port p0" },
		{ GRANT("rate: 1mbit") "    ports: { h0: {} }\n", 12, 18,
		  "port h0 is empty: give rate, volume or both" },
		{ GRANT("rate: 1mbit") "    ports: { h0: { rate: 1bit } }\n", 12, 26,
		  "'1bit' is out of range" },
		{ GRANT("rate: 1mbit") "    ports: { h0: { mode: shape } }\n", 12, 20,
		  "unknown key 'mode': the keys here are rate, burst, volume" },
		{ GRANT("rate: 1mbit") "    ports: { h0: { rate: 1mbit, share: weighted } }\n", 12,
		  33, "unknown key 'share': the keys here are rate, burst, volume" },
		{ GRANT("rate: 1mbit") "    ports: { h0: { rate: 1mbit }, h0: { rate: 1mbit } }\n",
		  12, 35, "'h0' is given twice" },
		{ GRANT("rate: 1mbit") "    ports: [h0]\n", 12, 12,
		  "ports: a mapping (key: value) is expected here" },
		{ GRANT("rate: 1mbit") "    ports: { a-name-of-16-cha: { rate: 1mbit } }\n", 12, 14,
		  "at most 15 characters" },
		{ TOP "node_limit: { rate: 1bit }\n", 6, 21,
		  "node_limit, rate: '1bit' is out of range" },
		{ TOP "node_limit: {}\n", 6, 13, "node_limit is empty" },
	};

	(void)state;
	REFUSES(rows);
}

static void peers_are_checked(void **state)
{
#define P TOP "peers:\n"
#define OK_PEER "  - { name: a, addresses: [192.0.2.0/24], path: clear, via: 10.9.9.9 }\n"
	static const struct row rows[] = {
		{ P "  - addresses: [192.0.2.1]\n", 7, 5, "name is missing" },
		{ P
		  "  - name: a/b\n    addresses: [192.0.2.1]\n    path: clear\n    via: 10.9.9.9\n",
		  7, 11, "1 to 31 of A-Z" },
		{ P
		  "  - name: --all\n    addresses: [192.0.2.1]\n    path: clear\n    via: 10.9.9.9\n",
		  7, 11, "not starting with -" },
		{ P "  - name: 12345678901234567890123456789012\n", 7, 11, "at most 31" },
		{ P "  - name: a\n    path: clear\n    via: 10.9.9.9\n", 7, 5,
		  "addresses is missing or empty" },
		{ P "  - name: a\n    addresses: []\n    path: clear\n    via: 10.9.9.9\n", 8, 16,
		  "addresses is missing or empty" },
		{ P "  - name: a\n    addresses: [192.0.2.1, 192.0.2.300]\n", 8, 28,
		  "is not a prefix" },
		{ P "  - name: a\n    addresses: [192.0.2.1/24]\n", 8, 17, "bits set after" },
		{ PEER "    zone: nowhere\n", 11, 11, "unknown zone nowhere" },
		{ PEER "    from: [h0, h9]\n", 11, 16, "unknown host port h9" },
		{ PEER "    from: []\n", 11, 11, "from is empty" },
		{ PEER "    uplink: p9\n", 11, 13, "unknown uplink p9" },
		{ PEER "    contained: maybe\n", 11, 16, "is not accepted: false or true" },
		{ PEER "    ipsec: { remote: 192.0.2.3 }\n", 9, 11,
		  "path clear and ipsec exclude each other" },
		{ P "  - name: a\n    addresses: [192.0.2.1]\n", 7, 5,
		  "or explicitly `path: clear`" },
		{ P "  - name: a\n    addresses: [192.0.2.1]\n    path: tunnel\n", 9, 11,
		  "xfrm, offload or clear" },
		{ P "  - name: a\n    addresses: [192.0.2.1]\n    path: xfrm\n", 9, 11,
		  "ipsec is missing: path xfrm needs" },
		{ P "  - name: a\n    addresses: [192.0.2.1]\n    ipsec: {}\n", 9, 12,
		  "remote is missing" },
		{ P
		  "  - name: a\n    addresses: [192.0.2.1]\n    ipsec: { remote: dpu3.example }\n",
		  9, 22, "is not the address of a DPU" },
		{ P
		  "  - name: a\n    addresses: [192.0.2.1]\n    ipsec: { remote: 192.0.2.0/24 }\n",
		  9, 22, "is not the address of a DPU" },
		{ P "  - name: a\n    addresses: [192.0.2.1]\n    path: clear\n", 7, 5,
		  "via is missing" },
		{ P "  - name: a\n    addresses: [192.0.2.1]\n    path: clear\n    via: nexthop\n",
		  10, 10, "is not an IPv4 or IPv6 address" },
		{ P "  - name: a\n    addresses: [192.0.2.1]\n    path: clear\n    via: 0.0.0.0\n",
		  10, 10, "the address of a router" },
		{ P
		  "  - name: a\n    addresses: [192.0.2.1]\n    path: clear\n    via: 127.0.0.1\n",
		  10, 10, "loopback" },
		{ P "  - name: a\n    addresses: [192.0.2.1]\n    path: clear\n    via: fd00::1\n",
		  10, 10, "via is missing: its IPv4 addresses" },
		{ P
		  "  - name: a\n    addresses: [192.0.2.1, \"fd00::2\"]\n    path: clear\n    via: 10.9.9.9\n",
		  7, 5, "via6 is missing" },
		{ PEER "    via6: 10.9.9.9\n", 11, 11, "is not an IPv6 address" },
		{ P
		  "  - name: a\n    addresses: [\"fd00::2\"]\n    path: clear\n    via: fd00::1\n    via6: fd00::1\n",
		  11, 11, "remove one" },
		{ P OK_PEER
		  "  - { name: a, addresses: [203.0.113.1], path: clear, via: 10.9.9.9 }\n",
		  8, 13, "duplicate peer a" },
		{ P OK_PEER
		  "  - { name: b, addresses: [192.0.2.0/24], path: clear, via: 10.9.9.9 }\n",
		  8, 28, "peer b: 192.0.2.0/24 overlaps 192.0.2.0/24 of peer a" },
		{ P
		  "  - { name: a, addresses: [192.0.2.1, 192.0.2.1], path: clear, via: 10.9.9.9 }\n",
		  7, 39, "overlaps" },
		{ P "  - { name: a, addresses: [10.0.7.9], path: clear, via: 10.9.9.9 }\n", 7, 28,
		  "a host may not send as one of its destinations" },
		{ P "  - { name: a, addresses: [10.0.7.0/24], path: clear, via: 10.9.9.9 }\n", 7,
		  28, "overlaps 10.0.7.0/24 of host port h0" },
		{ P "  - { name: a, addresses: [224.0.0.5], path: clear, via: 10.9.9.9 }\n", 7, 28,
		  "multicast: only unicast prefixes" },
		{ P "  - { name: a, addresses: [255.255.255.255], path: clear, via: 10.9.9.9 }\n",
		  7, 28, "broadcast" },
		{ P "  - { name: a, addresses: [127.0.0.0/8], path: clear, via: 10.9.9.9 }\n", 7,
		  28, "loopback" },
		{ P "  - { name: a, addresses: [169.254.1.0/24], path: clear, via: 10.9.9.9 }\n", 7,
		  28, "link-local" },
		{ P "  - { name: a, addresses: [0.0.0.0], path: clear, via: 10.9.9.9 }\n", 7, 28,
		  "not a host address" },
		{ P "  - { name: a, addresses: [\"ff02::1\"], path: clear, via: \"fd00::1\" }\n", 7,
		  28, "multicast" },
		{ P "  - { name: a, addresses: [\"fe80::/64\"], path: clear, via: \"fd00::1\" }\n",
		  7, 28, "link-local" },
		{ P "  - { name: a, addresses: [\"::1\"], path: clear, via: \"fd00::1\" }\n", 7, 28,
		  "loopback" },
		{ P "  - { name: a, addresses: [\"::10.1.0.1\"], path: clear, via: \"fd00::1\" }\n",
		  7, 28, "not a host address" },
		{ P "  - { name: a, addresses: [\"::/64\"], path: clear, via: \"fd00::1\" }\n", 7,
		  28, "not a host address" },
		{ P
		  "  - { name: a, addresses: [\"::ffff:10.1.0.1\"], path: clear, via: \"fd00::1\" }\n",
		  7, 28, "write it as IPv4" },
		{ P
		  "  - { name: a, addresses: [\"fd00::9\"], path: clear, via6: \"::ffff:10.9.9.9\" }\n",
		  7, 5, "via ::ffff:10.9.9.9 is not a host address" },
		{ P
		  "  - { name: a, addresses: [10.1.0.1], ipsec: { remote: \"::ffff:10.9.9.9\" } }\n",
		  7, 56, "is not the address of a DPU" },
		{ P "  - { name: a, addresses: [10.1.0.1], ipsec: { remote: \"::10.9.9.9\" } }\n",
		  7, 56, "is not the address of a DPU" },
		{ P "  - { name: self, grant: { rate: 1mbit } }\n", 7, 5,
		  "addresses is missing or empty" },
	};

	(void)state;
	REFUSES(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mac_of_a_next_hop_is_checked),
		cmocka_unit_test(limits_are_checked),
		cmocka_unit_test(peers_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
