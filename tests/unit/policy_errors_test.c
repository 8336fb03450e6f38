// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One row for every way in which a policy file can be wrong: its text, and the place that the error
 * names.
 */
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/policy.h"

#define NOW_BOOT 1000000000000ULL
#define NOW_WALL 1800000000LL /* 2027-01-15T08:00:00Z */

/* Lines 1 to 5. Rows continue from line 6, or replace some of these. */
#define HEAD "version: 1\nnode: t\nuplinks: [p0]\nheartbeat: 60s\n"
#define PORT "host_ports: [{ dev: h0, sources: [10.0.7.0/24] }]\n"
#define TOP HEAD PORT
/* A peer, from line 7 on, that can be continued with more keys at column 5. */
#define TAIL                                                                                       \
	"peers:\n  - name: a\n    addresses: [192.0.2.0/24]\n    path: clear\n    via: 10.9.9.9\n"
#define PEER TOP TAIL
#define GRANT(x) PEER "    grant: { " x " }\n"

/* Is the error also in the list of all errors? */
static void is_among_all(const char *yaml, const char *fragment)
{
	static struct bwl_errors all;
	struct bwl_policy *p = NULL;
	bool found = false;

	assert_true(bwl_policy_parse_all("f.yaml", yaml, strlen(yaml), NOW_BOOT, NOW_WALL, &p,
					 &all) < 0);
	assert_null(p);
	for (size_t i = 0; i < all.n; i++)
		found |= strstr(all.list[i].text, fragment) != NULL;
	if (!found)
		fail_msg("no '%s' among %zu errors, the first: %s", fragment, all.n,
			 all.n ? all.list[0].text : "none");
}

struct row {
	const char *yaml;
	unsigned line, column; /* column 0: any */
	const char *fragment;
};

static void refuses(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *w = &rows[i];
		struct bwl_policy *p = NULL;
		struct bwl_err e = { 0 };
		int r = bwl_policy_parse("f.yaml", w->yaml, strlen(w->yaml), NOW_BOOT, NOW_WALL, &p,
					 &e);

		if (!r)
			fail_msg("row %zu was accepted:\n%s", i, w->yaml);
		assert_null(p);
		assert_int_equal(r, -e.code);
		assert_string_equal(e.file, "f.yaml");
		if (!strstr(e.text, w->fragment))
			fail_msg("row %zu: no '%s' in: %s", i, w->fragment, e.text);
		if (e.line != w->line || (w->column && e.column != w->column))
			fail_msg("row %zu: at %u:%u, not %u:%u: %s", i, e.line, e.column, w->line,
				 w->column, e.text);
		/* it is also refused without a struct for the error */
		assert_int_equal(bwl_policy_parse("f.yaml", w->yaml, strlen(w->yaml), NOW_BOOT,
						  NOW_WALL, &p, NULL),
				 r);
		is_among_all(w->yaml, w->fragment);
	}
}
#define REFUSES(rows) refuses(rows, sizeof(rows) / sizeof(*(rows)))

static void text_that_is_no_policy_is_refused(void **state)
{
	static const struct row rows[] = {
		{ "", 0, 0, "the policy is empty" },
		{ "# only a comment\n", 0, 0, "the policy is empty" },
		{ "hello\n", 1, 1, "a mapping (key: value) is expected here, not a single value" },
		{ "[1, 2]\n", 1, 1, "a mapping (key: value) is expected here, not a list" },
		{ TOP "peers: [\n", 7, 1, "not YAML" },
		{ TOP "\tpeers: []\n", 6, 1, "not YAML" },
		{ TOP "node2: \"abc\n", 7, 1, "not YAML" },
		{ "version: 1\nnode: \xff\xfe\n", 2, 0, "UTF-8" },
		{ "version: 1\nnode: \x01\n", 2, 0, "UTF-8" },
		{ TOP "peers: []\n---\nversion: 1\n", 7, 1, "a second YAML document" },
		{ TOP "peers: []\n...\n---\n[\n", 8, 1, "a second YAML document" },
		{ "version: &a 1\nnode: *a\n", 2, 7, "aliases" },
		{ "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", 2, 8, "aliases" },
		{ TOP "peers: [[[[[[[[[[\n", 6, 0, "nested too deeply" },
		{ TOP "? [a]\n: b\n", 6, 0, "a key must be a word" },
	};

	(void)state;
	REFUSES(rows);
}

static void keys_out_of_place_are_refused(void **state)
{
	static const struct row rows[] = {
		{ TOP "peer: []\n", 6, 1, "unknown key 'peer': the keys here are" },
		{ TOP "peer: []\n", 6, 1, "host_ports, heartbeat, lease, default, node_limit" },
		{ "version: 1\nnode: t\nnode: u\n", 3, 1, "'node' is given twice" },
		{ "node: t\nversion: 1\nnode: u\n", 3, 1, "'node' is given twice" },
		{ GRANT("rate: 1mbit, rate: 2mbit"), 11, 27, "'rate' is given twice" },
		{ GRANT("rat: 1mbit"), 11, 14,
		  "unknown key 'rat': the keys here are rate, burst, volume, mode, mark, until" },
		{ PEER "    grants: { rate: 1mbit }\n", 11, 5, "unknown key 'grants'" },
		{ PEER "    accept: { mode: police }\n", 11, 15,
		  "unknown key 'mode': the keys here are rate, burst, volume" },
		{ PEER "    ipsec: { gateway: x }\n", 11, 14,
		  "unknown key 'gateway': the keys here are remote" },
		{ PEER "    classes: { http: { rate: 1mbit } }\n", 11, 16,
		  "unknown key 'http': the keys here are other, rocev2" },
		{ TOP "zones: { z: { rate: 1mbit, mode: police } }\n", 6, 28,
		  "unknown key 'mode': the keys here are rate, burst, volume, share" },
		{ HEAD "host_ports: [{ dev: h0, sorces: [] }]\n", 5, 25, "unknown key 'sorces'" },
		{ TOP "zones:\n  z: { rate: 1mbit }\n  y: { rate: 1mbit }\n  z: { rate: 1mbit }\n",
		  9, 3, "'z' is given twice" },
	};

	(void)state;
	REFUSES(rows);
}

static void values_of_the_wrong_kind_are_refused(void **state)
{
	static const struct row rows[] = {
		{ "version: 1\nnode: [t]\n", 2, 7,
		  "node: a single value is expected here, not a list" },
		{ "version: 1\nnode: t\nuplinks: p0\n", 3, 10,
		  "uplinks: a list is expected here, not a single value" },
		{ TOP "peers: {}\n", 6, 8, "peers: a list is expected here, not a mapping" },
		{ TOP "peers:\n", 6, 7, "peers: a list is expected here" },
		{ TOP "peers: [x]\n", 6, 9, "a mapping (key: value) is expected here" },
		{ TOP "zones: [z]\n", 6, 8,
		  "zones: a mapping (key: value) is expected here, not a list" },
		{ TOP "zones: { z: 1mbit }\n", 6, 13,
		  "z: a mapping (key: value) is expected here" },
		{ PEER "    grant: 1mbit\n", 11, 12,
		  "grant: a mapping (key: value) is expected here" },
		{ PEER "    accept: 1mbit\n", 11, 13, "(or the word none)" },
		{ PEER "    accept:\n", 11, 0, "(or the word none)" },
		{ PEER "    accept: \"none\"\n", 11, 13, "(or the word none)" },
		{ PEER "    accept: {}\n", 11, 13,
		  "peer a, accept: rate is missing: give one, or `accept: none`" },
	};

	(void)state;
	REFUSES(rows);
}

static void what_must_be_said_must_be_said(void **state)
{
	static const struct row rows[] = {
		{ "node: t\n", 1, 1, "version is missing" },
		{ "version: 2\n", 1, 10, "version '2' is not known" },
		{ "version: 1\n", 1, 1, "node is missing" },
		{ "version: 1\nnode: t\n", 1, 1,
		  "heartbeat is missing: a time such as 60s, or explicitly `none`" },
		{ "version: 1\nnode: t\nheartbeat: soon\n", 3, 12, "is not a time" },
		{ "version: 1\nnode: t\nheartbeat: 0s\n", 3, 12, "at least 1ms, or none" },
		{ "version: 1\nnode: t\nheartbeat: -1s\n", 3, 12, "negative" },
		{ HEAD "lease: soon\n", 5, 8, "is not a time" },
		{ HEAD "lease: 0s\n", 5, 8, "out of range: 1s to 366d" },
		{ TOP "lease: 999ms\n", 6, 8, "out of range: 1s to 366d" },
		{ TOP "lease: 367d\n", 6, 8, "out of range: 1s to 366d" },
		{ "version: 1\nnode: t\nuplinks: [p0]\nheartbeat: none\n" PORT "lease: 24h\n", 6, 8,
		  "lease needs a heartbeat" },
		{ HEAD "default: maybe\n", 5, 10, "'maybe' is not accepted: deny or reject" },
		{ HEAD "count_classes: some\n", 5, 16, "'some' is not accepted: limited or all" },
		{ HEAD "default: accept\n", 5, 10, "'accept' is not accepted: deny" },
		{ HEAD "min_charge: 64kb\n", 5, 13, "0 to 65535" },
		{ HEAD "min_charge: -1\n", 5, 13, "negative" },
		{ HEAD "horizon: 2s\n", 5, 10, "1ms to 1s, or auto" },
		{ HEAD "horizon: 0s\n", 5, 10, "1ms to 1s, or auto" },
		{ HEAD "ledger: maybe\n", 5, 9, "auto or required" },
		{ HEAD "uplink_control: [lldp, ospf]\n", 5, 24,
		  "lldp, lacp, bgp, bfd, dhcp or ptp" },
		{ HEAD, 1, 1, "host_ports is missing or empty" },
		{ "version: 1\nnode: t\nuplinks: []\nheartbeat: none\n", 3, 10,
		  "at least one device" },
		{ "version: 1\nnode: t/7\nheartbeat: none\n", 2, 7, "is not a valid name" },
		{ "version: 1\nnode: \"\"\nheartbeat: none\n", 2, 7, "is not a valid name" },
		{ "version: 1\nnode: 12345678901234567890123456789012\n", 2, 7, "at most 31" },
		{ "version: 1\nnode: t\nuplinks: [p0, p0]\nheartbeat: none\n", 3, 15,
		  "listed twice" },
		{ "version: 1\nnode: t\nuplinks: [a/b]\nheartbeat: none\n", 3, 11,
		  "is not a valid device name" },
		{ "version: 1\nnode: t\nuplinks: [abcdefghijklmnop]\nheartbeat: none\n", 3, 11,
		  "at most 15" },
	};

	(void)state;
	REFUSES(rows);
}

static void host_ports_are_checked(void **state)
{
	static const struct row rows[] = {
		{ HEAD "host_ports: [{ sources: [10.0.7.0/24] }]\n", 5, 14, "dev is missing" },
		{ HEAD "host_ports: [{ dev: h0 }]\n", 5, 14, "sources is missing or empty" },
		{ HEAD "host_ports: [{ dev: h0, sources: [] }]\n", 5, 14,
		  "sources is missing or empty" },
		{ HEAD "host_ports: [{ dev: h 0, sources: [10.0.7.0/24] }]\n", 5, 21,
		  "is not a valid device name" },
		{ HEAD "host_ports: [{ dev: p0, sources: [10.0.7.0/24] }]\n", 5, 21,
		  "is an uplink as well" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.1/24] }]\n", 5, 35,
		  "bits set after" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.0/24, 224.0.0.0/8] }]\n", 5, 48,
		  "multicast" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.0/24, 10.0.7.0/24] }]\n", 5, 48,
		  "overlaps" },
		{ HEAD
		  "host_ports:\n  - { dev: h0, sources: [10.0.7.0/24] }\n  - { dev: h0, sources: [10.0.8.0/24] }\n",
		  7, 12, "listed twice" },
		{ HEAD
		  "host_ports:\n  - { dev: h0, sources: [10.0.0.0/16] }\n  - { dev: h1, sources: [10.0.8.0/24] }\n",
		  7, 26, "overlaps 10.0.0.0/16 of host port h0" },
		{ HEAD
		  "host_ports:\n  - { dev: h0, sources: [10.0.8.0/24] }\n  - { dev: h1, sources: [10.0.0.0/16] }\n",
		  6, 26, "overlaps 10.0.0.0/16 of host port h1" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.0/24], vlans: [0] }]\n", 5, 57,
		  "from 1 to 4094" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.0/24], vlans: [4095] }]\n", 5, 57,
		  "from 1 to 4094" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.0/24], vlans: [7, 7] }]\n", 5, 60,
		  "VLAN 7 is listed twice" },
		{ HEAD
		  "host_ports: [{ dev: h0, sources: [10.0.7.0/24], vlans: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17] }]\n",
		  5, 56, "at most 16 VLAN" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.0/24], mac: 02:00 }]\n", 5, 54,
		  "not a MAC address" },
		{ HEAD
		  "host_ports: [{ dev: h0, sources: [10.0.7.0/24], mac: \"01:00:5e:00:00:01\" }]\n",
		  5, 54, "mac must be a unicast address" },
		{ HEAD
		  "host_ports: [{ dev: h0, sources: [10.0.7.0/24], mac: \"00:00:00:00:00:00\" }]\n",
		  5, 54, "mac must be a unicast address" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.0/24], limit: {} }]\n", 5, 56,
		  "is empty: give rate, volume or both" },
	};

	(void)state;
	REFUSES(rows);
}

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
		PEER "  - { name: b, addresses: [198.51.100.0/24], path: clear, via: 10.9.9.8,"
		     " next_hop_mac: \"02:00:5e:10:00:02\" }\n",
		TOP "peers: [{ name: a, addresses: [192.0.2.0/24], ipsec: { remote: 198.51.100.3 },"
		    " next_hop_mac: \"02:00:5e:10:00:02\" }]\n",
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

static void zones_and_services_are_checked(void **state)
{
	static const struct row rows[] = {
		{ TOP "zones: { z: {} }\n", 6, 13, "zone: z is empty" },
		{ TOP "zones: { -z: { rate: 1mbit } }\n", 6, 14, "is not a valid zone name" },
		{ TOP "zones: { \"\": { rate: 1mbit } }\n", 6, 14, "is not a valid zone name" },
		{ TOP "zones: { 12345678901234567890123456789012: { rate: 1mbit } }\n", 6, 10,
		  "at most 31" },
		{ TOP "zones: { z: { rate: 1mbit, share: fair } }\n", 6, 35,
		  "'fair' is not accepted: first-come or weighted" },
		{ TOP "zones: { z: { volume: 1mb, share: weighted } }\n", 6, 13,
		  "zone z: rate is missing" },
		{ TOP "zones: { z: { rate: 1mbit, share: weighted } }\n" TAIL "    weight: 2\n", 12,
		  13, "it is in none" },
		{ TOP "zones: { z: { rate: 1mbit } }\n" TAIL "    zone: z\n    weight: 1\n", 13, 13,
		  "weight needs a zone with `share: weighted`: zone z has none" },
		{ TOP "zones: { z: { rate: 1mbit } }\n" TAIL "    zone: z\n    weight: 0\n", 13, 13,
		  "'0' is out of range: 1 to 1000" },
		{ TOP "zones: { z: { rate: 1mbit, share: weighted } }\n" TAIL
		      "    zone: z\n    weight: 1001\n",
		  13, 13, "'1001' is out of range: 1 to 1000" },
		{ TOP "zones: { z: { rate: 1mbit, share: weighted } }\n" TAIL
		      "    zone: z\n    weight: heavy\n",
		  13, 13, "'heavy' is not a number" },
		{ TOP "zones: { z: { rate: 1mbit, burst: 6000b, share: weighted } }\n" TAIL
		      "    zone: z\n    weight: 1\n",
		  13, 13, "give the zone a larger burst" },
		{ TOP "zones: { z: { rate: 1kbit, share: weighted } }\n" TAIL
		      "    zone: z\n    weight: 1\n",
		  13, 13, "give the zone a larger rate" },
		{ TOP "services: [{ proto: tcp, port: 1 }]\n", 6, 12, "class is missing" },
		{ TOP "services: [{ class: nfs, port: 1 }]\n", 6, 12, "proto is missing" },
		{ TOP "services: [{ class: ftp, proto: tcp, port: 1 }]\n", 6, 21,
		  "is not a traffic class" },
		{ TOP "services: [{ class: nfs, proto: quic, port: 1 }]\n", 6, 33,
		  "from 0 to 255" },
		{ TOP "services: [{ class: nfs, proto: tcp }]\n", 6, 12,
		  "port is missing: 1 to 65535" },
		{ TOP "services: [{ class: nfs, proto: tcp, port: 0 }]\n", 6, 44,
		  "from 1 to 65535" },
		{ TOP "services: [{ class: nfs, proto: tcp, port: 65536 }]\n", 6, 44,
		  "from 1 to 65535" },
		{ TOP "services: [{ class: nfs, proto: 47, port: 1 }]\n", 6, 12,
		  "only tcp and udp have ports" },
		{ TOP "services: [{ class: nfs, proto: 47 }, { class: ssh, proto: 47 }]\n", 6, 39,
		  "listed twice" },
	};

	(void)state;
	REFUSES(rows);
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
		  "peer a: accept: rate is missing: beside a volume give one, too" },
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
		  9, 12, "is not the address of a DPU" },
		{ P
		  "  - name: a\n    addresses: [192.0.2.1]\n    ipsec: { remote: 192.0.2.0/24 }\n",
		  9, 12, "is not the address of a DPU" },
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
		  7, 5, "via is missing: its IPv4 addresses" },
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
		{ P "  - { name: self, grant: { rate: 1mbit } }\n", 7, 5,
		  "addresses is missing or empty" },
	};

	(void)state;
	REFUSES(rows);
}

/* text, then unit repeated until the whole has len bytes */
static char *repeat(const char *text, const char *unit, size_t len)
{
	size_t n = strlen(text), u = strlen(unit);
	char *s = malloc(len + 1);

	memcpy(s, text, n);
	for (; n + u <= len; n += u)
		memcpy(s + n, unit, u);
	s[n] = '\0';
	return s;
}

static void ten_megabytes_of_nesting_fail_at_once(void **state)
{
	static const char *const start[] = { "", TOP "peers: ", TOP "zones: ", TOP "x: ",
					     TOP "peers:\n  - accept: none\n    x: " };
	static const char *const units[] = { "[",     "{",     "{a: ",  "- ",  "? ",
					     "[{a: ", "!!x [", "a:\n ", "&a [" };

	(void)state;
	for (size_t i = 0; i < sizeof(start) / sizeof(*start); i++) {
		for (size_t j = 0; j < sizeof(units) / sizeof(*units); j++) {
			char *s = repeat(start[i], units[j], 10 << 20);
			struct bwl_policy *p = NULL;
			struct bwl_err e = { 0 };

			assert_int_not_equal(bwl_policy_parse("f", s, strlen(s), 0, 0, &p, &e), 0);
			assert_null(p);
			assert_true(*e.text);
			free(s);
		}
	}
}

static void huge_values_fail_with_a_short_message(void **state)
{
	static const char *const start[] = { "version: ", "version: 1\nnode: ", TOP "zones: { ",
					     GRANT("rate: 1mbit") "    zone: ", "" };

	(void)state;
	for (size_t i = 0; i < sizeof(start) / sizeof(*start); i++) {
		char *s = repeat(start[i], "x", 4 << 20);
		struct bwl_policy *p = NULL;
		struct bwl_err e = { 0 };

		assert_int_not_equal(bwl_policy_parse("f", s, strlen(s), 0, 0, &p, &e), 0);
		assert_true(strlen(e.text) < sizeof(e.text) - 1);
		free(s);
	}
}

static void nul_bytes_are_refused_in_their_line(void **state)
{
	static const char text[] = "version: 1\nnode: t\0t\n";
	struct bwl_policy *p = NULL;
	struct bwl_err e = { 0 };

	(void)state;
	assert_int_not_equal(bwl_policy_parse("f", text, sizeof(text) - 1, 0, 0, &p, &e), 0);
	assert_int_equal(e.line, 2);
	assert_non_null(strstr(e.text, "NUL"));
}

static void too_many_of_anything_is_refused(void **state)
{
	static const struct {
		const char *before, *item, *after, *fragment;
		unsigned n;
	} many[] = {
		{ TOP "zones:\n", "  z%u: { rate: 1mbit }\n", "", "more than 255 zones", 256 },
		{ HEAD "host_ports:\n", "  - { dev: h%1$u, sources: [10.0.%1$u.0/24] }\n", "",
		  "more than 64 host ports", 64 },
		{ HEAD "host_ports: [{ dev: h0, sources: [", "10.0.%u.0/24, ", "] }]\n",
		  "at most 32 sources", 33 },
		{ TOP "peers:\n",
		  "  - { name: p%1$u, addresses: [\"fd00::%1$u\"], path: clear, via: \"fd01::%1$u\" }\n",
		  "", "more than 1023 different next hops", 1024 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++) {
		for (unsigned extra = 0; extra < 2; extra++) {
			unsigned n = many[i].n - 1 + extra;
			struct bwl_policy *p = NULL;
			struct bwl_err e = { 0 };
			char *s;
			size_t len;
			FILE *f = open_memstream(&s, &len);
			int r;

			fputs(many[i].before, f);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			for (unsigned k = 0; k < n; k++)
				fprintf(f, many[i].item, k);
#pragma GCC diagnostic pop
			fputs(many[i].after, f);
			fclose(f);
			r = bwl_policy_parse("f", s, len, 0, 0, &p, &e);
			if (!extra && r)
				fail_msg("row %zu: %u were refused: %s", i, n, e.text);
			if (extra && !r)
				fail_msg("row %zu: %u were accepted", i, n);
			if (extra && !strstr(e.text, many[i].fragment))
				fail_msg("row %zu: %s", i, e.text);
			bwl_policy_free(p);
			free(s);
		}
	}
}

static void files_that_cannot_be_read_are_named(void **state)
{
	struct bwl_policy *p = NULL;
	struct bwl_err e = { 0 };

	(void)state;
	assert_int_not_equal(bwl_policy_load("/nonexistent/policy.yaml", 0, 0, &p, &e), 0);
	assert_string_equal(e.file, "/nonexistent/policy.yaml");
	assert_non_null(strstr(e.text, "cannot open: No such file"));
	assert_int_not_equal(bwl_policy_load("/", 0, 0, &p, &e), 0);
	assert_non_null(strstr(e.text, "cannot read: Is a directory"));
	assert_int_not_equal(bwl_policy_load("/dev/zero", 0, 0, &p, &e), 0);
	assert_non_null(strstr(e.text, "512 MiB"));
	assert_null(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_that_is_no_policy_is_refused),
		cmocka_unit_test(keys_out_of_place_are_refused),
		cmocka_unit_test(values_of_the_wrong_kind_are_refused),
		cmocka_unit_test(what_must_be_said_must_be_said),
		cmocka_unit_test(host_ports_are_checked),
		cmocka_unit_test(the_mac_of_a_next_hop_is_checked),
		cmocka_unit_test(zones_and_services_are_checked),
		cmocka_unit_test(limits_are_checked),
		cmocka_unit_test(peers_are_checked),
		cmocka_unit_test(ten_megabytes_of_nesting_fail_at_once),
		cmocka_unit_test(huge_values_fail_with_a_short_message),
		cmocka_unit_test(nul_bytes_are_refused_in_their_line),
		cmocka_unit_test(too_many_of_anything_is_refused),
		cmocka_unit_test(files_that_cannot_be_read_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
