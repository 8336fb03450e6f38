// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All kinds of limits at once, at random: grants with floors, classes and host ports, in zones,
 * some shared by weight, below limits of ports and of the node; policies that follow each other,
 * edits, deadlines, and packets of all sizes. By itself this shows that each packet is counted
 * once. Each is judged again by the second limiter, with which this is run
 * (second_limiter_test.sh). ACCOUNTS_ROUNDS=N: so many policies, ACCOUNTS_FIRST=N: from that seed
 * on.
 */
#define RIG_HOST_ONLY
#include "prog.h"

#define DESTS 4
static uint64_t seed;

static unsigned below(unsigned n)
{
	uint64_t z = (seed += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (unsigned)((z ^ (z >> 31)) % n);
}

#define ONE_OF(a) (a)[below(sizeof(a) / sizeof((a)[0]))]

/* "rate: …, burst: …, volume: …", most of it, mostly enough */
static const char *limit(void)
{
	static const char *const rate[] = { "100kbit", "8mbit", "100mbit", "1gbit", "40gbit" };
	static const char *const burst[] = { "3000b", "20000b", "150kb", "600kb", "1mb", "8mb" };
	static const char *const volume[] = { "9000b",        "200kb",        "30mb",
					      "20kb per 11s", "3mb per 60s",  "64mb per 1h",
					      "1gb per 1d",   "500mb per 11s" };
	static char text[8][120];
	static unsigned turn;
	char *s = text[turn++ % 8];
	unsigned kind = below(8);
	int n = 0;

	if (kind)
		n = snprintf(s, sizeof(text[0]), "rate: %s, burst: %s", ONE_OF(rate),
			     ONE_OF(burst));
	if (kind == 0 || kind > 4)
		snprintf(s + n, sizeof(text[0]) - (size_t)n, "%svolume: %s", n ? ", " : "",
			 ONE_OF(volume));
	return s;
}

/* A policy; false: it is refused, for a portion that is too small or the like. */
static bool apply_random(void)
{
	static const char *const mode[] = {
		"police", "police", "police", "shape", "mark", "monitor"
	};
	static const char *const zone[] = { "", "zone: z, ", "zone: w, " };
	struct bwl_err e = { 0 };
	static char text[8000];
	size_t n;

#define ADD(...) (n += (size_t)snprintf(text + n, sizeof(text) - n, __VA_ARGS__))
	n = (size_t)snprintf(
		text, sizeof(text),
		"version: 1\nnode: rig\nuplinks: [p0]\nhost_ports:\n"
		"  - { dev: h0, sources: [10.0.7.0/24, fd00:7::/64], limit: { %s } }\n",
		limit());
	ADD("  - { dev: h1, sources: [10.0.8.0/24] }\nheartbeat: %s\n", below(2) ? "none" : "60s");
	if (!below(4))
		ADD("node_limit: { %s }\n", limit());
	ADD("zones:\n  z: { %s }\n  w: { rate: 1gbit, burst: 2mb, share: weighted }\npeers:\n",
	    limit());
	for (unsigned i = 1; i <= DESTS; i++) {
		if (!below(5))
			continue;
		ADD("  - { name: %c%u, addresses: [10.1.0.%u, 'fd00:1::%u'], path: clear, via: 192.0.2.1, via6: 'fe80::1', %sgrant: { %s, mode: %s }",
		    "ab"[below(4) == 0], i, i, i, ONE_OF(zone), limit(), ONE_OF(mode));
		if (below(2))
			ADD(", floor: { rate: 80kbit, burst: 90kb%s }",
			    below(2) ? "" : ", volume: 20kb per 11s");
		if (below(2))
			ADD(", classes: { ssh: { %s }, other: { %s } }", limit(), limit());
		if (!below(3))
			ADD(", ports: { h0: { %s } }", limit());
		ADD(" }\n");
	}
#undef ADD
	rig->pins->dev[RIG_P0].flags = below(2) ? BWL_DEV_FQ : 0;
	return !rig_try_policy(rig, text, NULL, NULL, &e);
}

static void edit(void)
{
	struct bwl_change c = { .set = BWL_SET_RATE, .lim.rate_bps = 1000000 * (1 + below(500)) };
	struct bwl_err e = { 0 };
	char name[8];

	snprintf(name, sizeof(name), "a%u", 1 + below(DESTS));
	switch (below(12)) {
	case 0:
		bwl_revoke(rig->pins, name, &e);
		break;
	case 1 ... 5:
		c.set = BWL_SET_AUTHORISE;
		bwl_peer_change(rig->pins, name, &c, &e);
		break;
	case 6 ... 7:
		c = (struct bwl_change){ .set = BWL_SET_EXPIRY,
					 .expiry_ns = rig_now() + below(2000) * 1000000ULL };
		bwl_peer_change(rig->pins, name, &c, &e);
		break;
	default:
		bwl_peer_change(rig->pins, name, &c, &e);
	}
}

/* XDP first, which only sees what no host's kernel has merged. */
static void send(void)
{
	static const unsigned fill[] = { 0, 64, 400, 1000, 1458 };
	unsigned dest = 1 + below(DESTS), n = 1 + below(40), h1 = !below(4), six = !h1 && !below(3);
	struct rig_packet k = { .port = h1 ? RIG_H1 : RIG_H0 };
	static struct rig_result r;
	char spec[120];
	bool gso = !below(4);

	snprintf(spec, sizeof(spec), "eth %s%u %s fill=%u",
		 six  ? "ip6 src=fd00:7::2 dst=fd00:1::"
		 : h1 ? "ip4 src=10.0.8.2 tos=2 dst=10.1.0."
		      : "ip4 src=10.0.7.2 dst=10.1.0.",
		 dest, gso || below(2) ? "tcp dport=22" : "udp dport=9",
		 gso ? 1500 + below(1800) : ONE_OF(fill));
	k.spec = spec;
	if (gso) {
		k.gso_size = 50 + below(1300);
		k.gso_segs = below(3) ? 0 : below(60);
		n = 1 + n / 8;
	}
	while (n--) {
		k.prog = RIG_XDP;
		if (!gso) {
			rig_run(rig, &k, &r);
			runs += r.counted;
		}
		k.prog = RIG_HOST;
		rig_run(rig, &k, &r);
		runs++;
		assert_int_equal(r.counted, 1);
	}
}

static void each_packet_is_counted_once_whatever_limits_it_meets(void **state)
{
	static const uint64_t wait[] = { 0,          1000,           100000,
					 3000000,    50000000,       150000000,
					 RIG_SECOND, 5 * RIG_SECOND, 70 * RIG_SECOND };
	const char *many = getenv("ACCOUNTS_ROUNDS"), *first = getenv("ACCOUNTS_FIRST");
	unsigned rounds = many ? (unsigned)atoi(many) : 20, applied = 0;

	(void)state;
	seed = first ? strtoull(first, NULL, 10) : 1;
	for (unsigned i = 0; i < rounds; i++) {
		applied += apply_random();
		for (unsigned step = 0; step < 20; step++) {
			rig_advance(ONE_OF(wait));
			if (below(3))
				rig->pins->ctl->heartbeat_ns = rig_now() + 60 * RIG_SECOND;
			if (!below(4))
				edit();
			send();
		}
	}
	assert_true(applied >= rounds / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(each_packet_is_counted_once_whatever_limits_it_meets),
	};

	return cmocka_run_group_tests_name("accounts", tests, NULL, NULL);
}
