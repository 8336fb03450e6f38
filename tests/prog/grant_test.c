// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promises 4 and 9, and the reason that each limit gives when it refuses: expiry, heartbeat,
 * revocation, modes, and the cost of a packet.
 */
#define RIG_HOST_ONLY
#include "prog.h"

#define DEST(name, n)                                                                              \
	"  - { name: " name ", addresses: [10.1.0." #n "], path: clear, via: 192.0.2.1, "
#define TO(n) "eth ip4 src=10.0.7.2 dst=10.1.0." #n " "
#define HEAD PORTS "heartbeat: none\n"

/* Sends full frames until the first refusal; returns its reason. */
static const char *until_refused(const char *spec, unsigned *ret_n)
{
	const char *name;
	unsigned n = 0;

	while (name = host(spec), !strncmp(name, "pass", 4) && n < 100000)
		n++;
	if (ret_n)
		*ret_n = n;
	return name;
}

static void each_limit_refuses_under_its_own_name(void **state)
{
	(void)state;
	apply(PORTS
	      "heartbeat: none\n"
	      "zones: { tight: { rate: 1mbit, burst: 3000b }, spent: { volume: 3000b } }\n"
	      "peers:\n" DEST("pr", 1) "grant: { rate: 1mbit, burst: 3000b } }\n" DEST("pv", 2) "grant: { rate: 1gbit, volume: 3000b } }\n" DEST("pw", 3) "grant: { rate: 1gbit, volume: 3000b per 1h } }\n" DEST("cr", 4) "grant: { rate: 1gbit }, classes: { ssh: { rate: 1mbit, burst: 3000b } } }\n" DEST(
		      "cv",
		      5) "grant: { rate: 1gbit }, classes: { ssh: { volume: 3000b }, https: { rate: 1gbit } } }\n" DEST("zr",
															6) "grant: { rate: 1gbit }, zone: tight }\n" DEST("zv",
																					  7) "grant: { rate: 1gbit }, zone: spent }\n");
	rig_advance(RIG_SECOND);
	assert_string_equal(until_refused(TO(1) "tcp dport=22 fill=900", NULL), "peer-rate");
	assert_string_equal(until_refused(TO(2) "tcp dport=22 fill=900", NULL), "peer-volume");
	assert_string_equal(until_refused(TO(3) "tcp dport=22 fill=900", NULL), "peer-volume");
	assert_string_equal(until_refused(TO(4) "tcp dport=22 fill=900", NULL), "class-rate");
	assert_string_equal(host(TO(4) "tcp dport=80 fill=900"), "pass");
	assert_string_equal(until_refused(TO(5) "tcp sport=22 fill=900", NULL), "class-volume");
	assert_string_equal(host(TO(5) "tcp dport=443 fill=900"), "pass");
	assert_string_equal(host(TO(5) "ip4 mf=1"), "pass"); /* a tunnel is class other */
	assert_string_equal(until_refused(TO(6) "udp fill=900", NULL), "zone-rate");
	assert_string_equal(until_refused(TO(7) "udp fill=900", NULL), "zone-volume");
}

static void port_and_node_limits_refuse_under_their_own_names(void **state)
{
	static const struct {
		const char *port, *node, *reason;
	} x[] = {
		{ "limit: { rate: 1mbit, burst: 3000b }", "rate: 1gbit", "port-rate" },
		{ "limit: { volume: 3000b }", "rate: 1gbit", "port-volume" },
		{ "limit: { rate: 1gbit }", "rate: 1mbit, burst: 3000b", "node-rate" },
		{ "limit: { rate: 1gbit }", "rate: 1gbit, volume: 3000b", "node-volume" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		apply("version: 1\nnode: rig\nuplinks: [p0]\nhost_ports:\n"
		      "  - { dev: h0, sources: [10.0.7.0/24], %s }\n"
		      "heartbeat: none\nnode_limit: { %s }\npeers:\n" DEST(
			      "any", 1) "grant: { rate: 1gbit } }\n",
		      x[i].port, x[i].node);
		rig_advance(RIG_SECOND);
		assert_string_equal(until_refused(TO(1) "udp fill=900", NULL), x[i].reason);
	}
}

static void a_refusal_by_an_outer_limit_costs_the_inner_ones_nothing(void **state)
{
	struct bwl_state before, *s;
	uint32_t id;

	(void)state;
	apply(HEAD "zones: { full: { rate: 1mbit, burst: 3000b } }\npeers:\n" DEST(
		"inner",
		1) "grant: { rate: 1gbit, volume: 1gb }, zone: full, classes: { other: { rate: 1gbit } } }\n");
	rig_advance(RIG_SECOND);
	until_refused(TO(1) "udp fill=900", NULL);
	for (id = 1; strcmp(rig->pins->name[id].name, "inner"); id++)
		;
	s = &rig->pins->state[2 * id];
	before = *s;
	assert_string_equal(host(TO(1) "udp fill=900"), "zone-rate");
	assert_int_equal(before.finish_bytes, s->finish_bytes);
	assert_int_equal(before.used_bytes, s->used_bytes);
}

static void what_cannot_be_sent_is_not_charged(void **state)
{
	uint64_t used, finish;
	uint32_t id;

	(void)state;
	apply(HEAD
	      "peers:\n"
	      "  - { name: sealed, addresses: [10.1.0.2], ipsec: { remote: 192.0.2.9 }, grant: { rate: 1gbit, volume: 1gb } }\n");
	rig_advance(RIG_SECOND);
	for (id = 1; strcmp(rig->pins->name[id].name, "sealed"); id++)
		;
	used = rig->pins->state[2 * id].used_bytes;
	finish = rig->pins->state[2 * id].finish_bytes;
	assert_string_equal(host(TO(2) "udp fill=900"), "no-sa");
	assert_int_equal(rig->pins->state[2 * id].used_bytes, used);
	assert_int_equal(rig->pins->state[2 * id].finish_bytes, finish);
}

static void a_packet_without_a_way_out_says_so(void **state)
{
	(void)state;
	apply(HEAD "peers:\n" DEST("way", 1) "grant: { rate: 1gbit } }\n");
	rig_advance(RIG_SECOND);
	rig->pins->dev[RIG_P0].kind = BWL_PORT_HOST;
	assert_string_equal(host(TO(1) "udp"), "no-nexthop");
	rig->pins->dev[RIG_P0].kind = BWL_PORT_UPLINK;
	assert_string_equal(host(TO(1) "udp"), "pass");
}

static void monitor_passes_what_the_peers_own_limit_would_drop(void **state)
{
	unsigned i;

	(void)state;
	apply(HEAD "zones: { outer: { rate: 1mbit, burst: 8000b } }\npeers:\n" DEST(
		"dry", 1) "grant: { rate: 1mbit, burst: 3000b, mode: monitor }, zone: outer }\n");
	rig_advance(RIG_SECOND);
	for (i = 0; i < 3; i++)
		assert_string_equal(host(TO(1) "udp fill=900"), "pass");
	for (i = 0; i < 5; i++)
		assert_string_equal(host(TO(1) "udp fill=900"), "pass-monitor");
	assert_string_equal(host(TO(1) "udp fill=900"), "zone-rate"); /* outer limits hold */
}

static void mark_sets_ce_before_the_limit_and_drops_above_it(void **state)
{
	struct rig_packet k = { .spec = "eth ip4 src=10.0.7.2 dst=10.1.0.1 tos=2 udp fill=958" };
	struct rig_result r;
	unsigned i;

	(void)state;
	apply(HEAD
	      "peers:\n"
	      "  - { name: ecn, addresses: [10.1.0.1, 'fd00:1::1'], path: clear, via: 192.0.2.1, via6: 'fe80::1', grant: { rate: 1mbit, burst: 10001b, mode: mark, mark: 50 } }\n");
	rig_advance(RIG_SECOND);
	for (i = 0; i < 10; i++) {
		assert_string_equal(judge(&k, &r), i < 5 ? "pass" : "pass-marked");
		assert_int_equal(r.data[15] & 3, i < 5 ? 2 : 3);
	}
	assert_string_equal(judge(&k, &r), "peer-rate");
	rig_advance(RIG_SECOND);
	for (i = 0; i < 6; i++)
		judge(&k, &r);
	/* Not ECN-capable: nothing to set. */
	k.spec = "eth ip4 src=10.0.7.2 dst=10.1.0.1 udp fill=958";
	assert_string_equal(judge(&k, &r), "pass");
	k.spec = "eth vlan id=5 ip4 src=10.0.7.2 dst=10.1.0.1 tos=1 udp fill=500";
	assert_string_equal(judge(&k, &r), "pass-marked");
	assert_int_equal(r.data[15] & 3, 3);
	k.spec = "eth ip6 src=fd00:7::2 dst=fd00:1::1 udp fill=100";
	assert_string_equal(judge(&k, &r), "pass");
}

static void a_grant_ends_at_its_nanosecond(void **state)
{
	struct bwl_change c = { .set = BWL_SET_EXPIRY };
	struct bwl_err e = { 0 };

	(void)state;
	apply(HEAD "peers:\n" DEST("ends", 1) "grant: { rate: 1gbit } }\n" DEST(
		"falls", 2) "grant: { rate: 1gbit }, floor: { rate: 1mbit, burst: 3000b } }\n");
	rig_advance(RIG_SECOND);
	c.expiry_ns = rig_now() + RIG_SECOND;
	assert_int_equal(bwl_peer_change(rig->pins, "ends", &c, &e), 0);
	assert_int_equal(bwl_peer_change(rig->pins, "falls", &c, &e), 0);
	rig_set_clock(c.expiry_ns - 1);
	assert_string_equal(host(TO(1) "udp"), "pass");
	assert_string_equal(host(TO(2) "udp"), "pass");
	rig_set_clock(c.expiry_ns);
	assert_string_equal(host(TO(1) "udp"), "expired");
	assert_string_equal(host(TO(2) "udp"), "pass-floor");
	assert_string_equal(until_refused(TO(2) "udp fill=900", NULL), "floor-rate");
	rig_set_clock(c.expiry_ns - 1);
	assert_string_equal(host(TO(2) "udp fill=900"), "pass");
	rig_set_clock(c.expiry_ns);
	c.expiry_ns = BWL_NEVER_NS;
	assert_int_equal(bwl_peer_change(rig->pins, "ends", &c, &e), 0);
	assert_string_equal(host(TO(1) "udp"), "pass");
}

static void a_floors_volume_ends_too(void **state)
{
	struct bwl_change c = { .set = BWL_SET_EXPIRY, .expiry_ns = 1 };
	struct bwl_err e = { 0 };

	(void)state;
	apply(HEAD "peers:\n" DEST(
		"low", 1) "grant: { rate: 1gbit }, floor: { rate: 1mbit, volume: 3000b } }\n");
	rig_advance(RIG_SECOND);
	assert_int_equal(bwl_peer_change(rig->pins, "low", &c, &e), 0);
	assert_string_equal(until_refused(TO(1) "udp fill=900", NULL), "floor-volume");
}

static void lapses(bool it_does)
{
	struct bwl_change c = { .set = BWL_SET_EXPIRY, .expiry_ns = it_does ? 1 : BWL_NEVER_NS };
	struct bwl_err e = { 0 };

	assert_int_equal(bwl_peer_change(rig->pins, "low", &c, &e), 0);
	rig_advance(RIG_SECOND);
}

/*
 * Who makes a grant lapse (a host that drops its link, with `clamp`) gets no second volume: what
 * the floor passes is charged to the grant, which refuses what it has no room for. Ten frames of
 * 100 bytes are 1000.
 */
static void a_floor_passes_nothing_that_the_grant_has_no_room_for(void **state)
{
	static const char *const four = TO(1) "udp fill=58",
				 *const six = "eth ip6 src=fd00:7::2 dst=fd00:1::1 udp fill=38";
	unsigned n;

	(void)state;
	apply(HEAD
	      "peers:\n"
	      "  - { name: low, addresses: [10.1.0.1, 'fd00:1::1'], path: clear, via: 192.0.2.1, via6: '2001:db8::1', grant: { rate: 1gbit, volume: 3000b }, floor: { rate: 100mbit, volume: 1500b } }\n");
	rig_advance(RIG_SECOND);
	lapses(true);
	assert_string_equal(host(four), "pass-floor");
	assert_string_equal(until_refused(six, &n), "floor-volume");
	assert_int_equal(n, 14);
	lapses(false);
	assert_string_equal(until_refused(four, &n), "peer-volume");
	assert_int_equal(n, 15);
	lapses(true);
	assert_string_equal(host(four), "peer-volume");
	assert_string_equal(host(six), "peer-volume");
}

/* The same of a floor without a volume, after a window's end, too. */
static void a_floor_has_the_grants_window(void **state)
{
	unsigned n;

	(void)state;
	apply(HEAD "peers:\n" DEST(
		"low",
		1) "grant: { rate: 1gbit, volume: 3000b per 1h }, floor: { rate: 100mbit } }\n");
	rig_advance(RIG_SECOND);
	lapses(true);
	assert_string_equal(until_refused(TO(1) "udp fill=58", &n), "peer-volume");
	assert_int_equal(n, 30);
	rig_advance(2 * 3600 * RIG_SECOND);
	assert_string_equal(until_refused(TO(1) "udp fill=58", &n), "peer-volume");
	assert_int_equal(n, 30);
}

static void silence_closes_at_its_nanosecond(void **state)
{
	struct bwl_err e = { 0 };
	uint64_t deadline;

	(void)state;
	apply(PORTS "heartbeat: 60s\npeers:\n" DEST("beat", 1) "grant: { rate: 1gbit } }\n" DEST(
		"floor", 2) "grant: { rate: 1gbit }, floor: { rate: 1mbit } }\n");
	rig->pins->ctl->heartbeat_ns = 0;
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1) "udp"), "silent"); /* never renewed */
	assert_string_equal(host(TO(2) "udp"), "pass-floor");
	assert_int_equal(bwl_heartbeat(rig->pins, &deadline, &e), 0);
	assert_int_equal(deadline, rig_now() + 60 * RIG_SECOND);
	rig_set_clock(deadline - 1);
	assert_string_equal(host(TO(1) "udp"), "pass");
	rig_set_clock(deadline);
	assert_string_equal(host(TO(1) "udp"), "silent");
	assert_string_equal(host(TO(2) "udp"), "pass-floor");
	assert_int_equal(bwl_heartbeat(rig->pins, &deadline, &e), 0);
	assert_string_equal(host(TO(1) "udp"), "pass");
	/* Explicitly none. */
	apply(HEAD "peers:\n" DEST("beat", 1) "grant: { rate: 1gbit } }\n");
	rig_set_clock(deadline + RIG_SECOND);
	assert_string_equal(host(TO(1) "udp"), "pass");
}

/*
 * The previous policy allows a shorter silence: a beat during the trial of another one ends with
 * it.
 */
static void a_beat_on_trial_lasts_no_longer_than_the_policy_before_allows(void **state)
{
	static const char *const trial[] = { "1h", "none" };
	const struct bwl_publish_opts o = { .confirm_ns = 10 * RIG_SECOND };
	struct bwl_err e = { 0 };
	uint64_t deadline;
	char text[600];
	int i, j;

	(void)state;
	for (i = 0; i < 2; i++) {
		for (j = 0; j < 2; j++) {
			apply(PORTS
			      "heartbeat: 60s\npeers:\n" DEST("beat",
							      1) "grant: { rate: 1gbit } }\n");
			snprintf(text, sizeof(text),
				 PORTS
				 "heartbeat: %s\npeers:\n" DEST("beat",
								1) "grant: { rate: 1gbit } }\n",
				 trial[i]);
			assert_int_equal(rig_try_policy(rig, text, &o, NULL, &e), 0);
			rig_advance(5 * RIG_SECOND);
			assert_int_equal(bwl_heartbeat(rig->pins, &deadline, &e), 0);
			deadline = rig_now() + 60 * RIG_SECOND;
			if (j)
				rig_advance(o.confirm_ns);
			assert_int_equal(bwl_rollback(rig->pins, &e), 0);
			rig_set_clock(deadline - 1);
			assert_string_equal(host(TO(1) "udp"), "pass");
			rig_set_clock(deadline);
			assert_string_equal(host(TO(1) "udp"), "silent");
		}
	}
}

static void a_revocation_survives_everything_but_a_grant(void **state)
{
	const char *pol = HEAD "peers:\n" DEST("gone", 1) "grant: { rate: 1gbit } }\n" DEST(
		"stays", 2) "grant: { rate: 1gbit } }\n";
	const char *without = HEAD "peers:\n" DEST("stays", 2) "grant: { rate: 1gbit } }\n";
	const char *bare = HEAD
		"peers:\n"
		"  - { name: gone, addresses: [10.1.0.1], path: clear, via: 192.0.2.1 }\n" DEST(
			"stays", 2) "grant: { rate: 1gbit } }\n";
	struct bwl_change c = { .set = BWL_SET_AUTHORISE };
	struct bwl_err e = { 0 };

	(void)state;
	apply("%s", pol);
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1) "udp"), "pass");
	assert_int_equal(bwl_revoke(rig->pins, "gone", &e), 0);
	assert_string_equal(host(TO(1) "udp"), "revoked");
	assert_string_equal(host(TO(2) "udp"), "pass");
	apply("%s", pol);
	assert_string_equal(host(TO(1) "udp"), "revoked");
	apply("%s", without);
	assert_string_equal(host(TO(1) "udp"), "no-peer");
	apply("%s", pol);
	assert_string_equal(host(TO(1) "udp"), "revoked");
	apply("%s", bare);
	assert_string_equal(host(TO(1) "udp"), "no-grant");
	apply("%s", pol);
	assert_string_equal(host(TO(1) "udp"), "revoked");
	assert_int_equal(bwl_peer_change(rig->pins, "gone", &c, &e), 0);
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1) "udp"), "pass");
	apply("%s", pol);
	assert_string_equal(host(TO(1) "udp"), "pass");
}

static void a_changed_limit_lifts_no_revocation(void **state)
{
	struct bwl_change c = {
		.set = BWL_SET_RATE | BWL_SET_BURST | BWL_SET_VOLUME | BWL_SET_MODE,
		.lim = { .rate_bps = 1000000, .burst = 9000, .volume = 1000000, .has_volume = true }
	};
	struct bwl_err e = { 0 };

	(void)state;
	apply(HEAD "peers:\n" DEST("one", 1) "grant: { rate: 1gbit } }\n" DEST(
		"two", 2) "grant: { rate: 1gbit } }\n");
	rig_advance(RIG_SECOND);
	assert_int_equal(bwl_revoke(rig->pins, "one", &e), 0);
	assert_int_equal(bwl_peer_change(rig->pins, "one", &c, &e), 0);
	assert_int_equal(bwl_revoke(rig->pins, NULL, &e), 0);
	assert_int_equal(bwl_peer_change(rig->pins, "two", &c, &e), 0);
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1) "udp"), "revoked");
	assert_string_equal(host(TO(2) "udp"), "revoked");
}

static void revoke_all_survives_everything_but_a_grant(void **state)
{
	const char *pol = HEAD "peers:\n" DEST("all1", 1) "grant: { rate: 1gbit } }\n" DEST(
		"all2", 2) "grant: { rate: 1gbit } }\n";
	const char *without = HEAD "peers:\n" DEST("all2", 2) "grant: { rate: 1gbit } }\n";
	struct bwl_change c = { .set = BWL_SET_AUTHORISE };
	struct bwl_err e = { 0 };

	(void)state;
	apply("%s", pol);
	rig_advance(RIG_SECOND);
	assert_int_equal(bwl_revoke(rig->pins, NULL, &e), 0);
	assert_string_equal(host(TO(1) "udp"), "revoked");
	assert_string_equal(host(TO(2) "udp"), "revoked");
	apply("%s", pol);
	assert_string_equal(host(TO(1) "udp"), "revoked");
	apply("%s", without);
	assert_string_equal(host(TO(2) "udp"), "revoked");
	apply("%s", pol); /* meanwhile the policy did not have it */
	assert_string_equal(host(TO(1) "udp"), "revoked");
	assert_int_equal(bwl_peer_change(rig->pins, "all2", &c, &e), 0);
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(2) "udp"), "pass");
	assert_string_equal(host(TO(1) "udp"), "revoked");
}

static void every_byte_on_the_wire_is_charged(void **state)
{
	struct rig_packet k = { 0 };
	struct rig_result r;

	(void)state;
	apply(HEAD "min_charge: 100\npeers:\n" DEST("cost", 1) "grant: { rate: 100gbit } }\n");
	rig_advance(RIG_SECOND);
	k.spec = TO(1) "udp fill=10";
	judge(&k, &r);
	assert_int_equal(r.bytes, 52);
	assert_int_equal(r.charged, 100); /* min_charge */
	k.spec = "eth vlan id=5 vlan id=6 ip4 src=10.0.7.2 dst=10.1.0.1 udp fill=958";
	judge(&k, &r);
	assert_int_equal(r.charged, 1008); /* includes tags */
	/* 2 segments of 1000 bytes: one more header of 54 */
	k.spec = TO(1) "tcp fill=2000";
	k.gso_size = 1000;
	k.gso_segs = 2;
	judge(&k, &r);
	assert_int_equal(r.charged, 54 + 2000 + 54);
}

static void gso_fields_may_raise_the_charge_and_never_lower_it(void **state)
{
	struct rig_packet k = { .spec = TO(1) "tcp fill=3000" };
	struct rig_result r;
	unsigned honest;

	(void)state;
	apply(HEAD "peers:\n" DEST("gso", 1) "grant: { rate: 100gbit } }\n");
	rig_advance(RIG_SECOND);
	assert_string_equal(judge(&k, &r), "too-big"); /* not a GSO packet */
	k.gso_size = 1460;
	k.gso_segs = 3;
	judge(&k, &r);
	honest = (unsigned)r.charged;
	assert_int_equal(honest, 54 + 3000 + 2 * 54);
	k.gso_size = 65000; /* "one segment": the uplink's MTU says three */
	k.gso_segs = 1;
	judge(&k, &r);
	assert_int_equal(r.charged, honest);
	k.gso_size = 3000;
	k.gso_segs = 0;
	judge(&k, &r);
	assert_int_equal(r.charged, honest);
	k.gso_size = 1; /* 3000 segments */
	judge(&k, &r);
	assert_int_equal(r.charged, 3000 * 64); /* min_charge of 64 for each */
	k.gso_size = 1460;
	k.gso_segs = 60000;
	judge(&k, &r);
	assert_int_equal(r.charged, 60000 * 64);
}

/* By the bytes alone: a test run sets none of the fields that GRO sets (thief.41_merged_tunnels).
 */
static void each_segment_is_charged_with_the_headers_that_it_repeats(void **state)
{
#define IN4 "ip4 src=1.1.1.1 dst=2.2.2.2 "
#define IN6 "ip6 src=1::1 dst=2::2 "
#define GRE "type=47 hex=0000"
#define VIA6 "eth ip6 src=fd00:7::2 dst=fd00:1::1 "
	static const struct {
		const char *spec;
		unsigned headers; /* 0: refused */
	} tunnels[] = {
		{ TO(1) "tcp fill=2000", 54 },
		{ TO(1) "udp fill=2000", 42 },
		{ TO(1) IN4 "tcp fill=2000", 74 },
		{ TO(1) IN6 "tcp fill=2000", 94 },
		{ TO(1) IN6 "udp fill=2000", 82 },
		{ TO(1) IN6 "ext kind=60 size=200 ext kind=0 size=16 tcp fill=2000", 310 },
		{ TO(1) IN6 "ext kind=60 size=1200 tcp fill=2000", 1294 },
		{ TO(1) GRE "0800 " IN4 "tcp fill=2000", 78 },
		{ TO(1) GRE "86dd " IN6 "tcp fill=2000", 98 },
		{ TO(1) "type=47 hex=b0000800000000000000000100000002 " IN4 "tcp fill=2000", 90 },
		{ TO(1) GRE "6558 hex=0202020202020404040404040800 " IN4 "tcp fill=2000", 92 },
		{ TO(1) GRE "6558 hex=02020202020204040404040481000005 hex=0800 " IN4
			    "tcp fill=2000",
		  96 },
		{ TO(1) IN4 IN4 "tcp fill=2000", 94 },
		{ VIA6 "ext kind=60 size=64 " IN4 "tcp fill=2000", 158 },
		{ VIA6 IN6 "tcp fill=2000", 114 },
		{ VIA6 GRE "0800 " IN4 "tcp fill=2000", 98 },
		/* No GSO of the kernel leads through these. */
		{ TO(1) IN4 "icmp fill=2000", 0 },
		{ TO(1) IN4 "mf=1 tcp fill=2000", 0 },
		{ TO(1) IN6 "frag6 id=1 tcp fill=2000", 0 },
		{ TO(1) GRE "8847 hex=00000000 " IN4 "tcp fill=2000", 0 },
		{ TO(1) GRE "0006 tcp fill=2000", 0 },
		{ TO(1) "type=47 hex=40000800 " IN4 "tcp fill=2000", 0 },
		{ TO(1) "type=47 hex=00010800 " IN4 "tcp fill=2000", 0 },
		{ TO(1) IN4 IN4 IN4 IN4 IN4 IN4 IN4 IN4 IN4 "tcp fill=2000", 0 },
		{ "eth ip4 src=10.0.7.2 dst=10.1.0.1 mf=1 tcp fill=2000", 0 },
		{ VIA6 "frag6 id=1 tcp fill=2000", 0 },
	};
	struct rig_result r;
	size_t i;

	(void)state;
	apply(HEAD
	      "peers:\n"
	      "  - { name: a, addresses: [10.1.0.1, \"fd00:1::/64\"], path: clear, via: 192.0.2.1, via6: 2001:db8::1, grant: { rate: 100gbit } }\n");
	rig_advance(RIG_SECOND);
	for (i = 0; i < sizeof(tunnels) / sizeof(tunnels[0]); i++) {
		struct rig_packet k = { .spec = tunnels[i].spec, .gso_size = 100, .gso_segs = 20 };
		unsigned h = tunnels[i].headers;

		judge(&k, &r);
		if (r.charged != (h ? 2000 + 20 * h : 0))
			print_message("%s: charged %u\n", k.spec, (unsigned)r.charged);
		assert_int_equal(r.charged, h ? 2000 + 20 * h : 0);
	}
}

/* 1: the digest that is stored with the policy in force is that of what it reads back as; 0: none
 */
static int is_a_files_policy(void)
{
	static const uint8_t none[32];
	struct bwl_policy *pol;
	struct bwl_err e = { 0 };
	uint8_t digest[32];
	struct bwl_gen g;
	int is;

	assert_int_equal(bwl_policy_read(rig->pins, &pol, &e), 0);
	assert_int_equal(bwl_policy_digest(pol, digest), 0);
	bwl_policy_free(pol);
	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), &g, NULL), 0);
	is = !memcmp(g.base->digest, digest, 32) ? 1 : !memcmp(g.base->digest, none, 32) ? 0 : -1;
	bwl_gen_close(&g);
	return is;
}

/* So bwlimitd, when it starts, finds the policy of its file where only a revocation was lifted. */
static void an_edit_that_changes_nothing_of_the_text_keeps_its_digest(void **state)
{
	static const struct {
		const char *what;
		struct bwl_change c;
		int is;
	} edits[] = {
		{ "grant",
		  { .set = BWL_SET_AUTHORISE | BWL_SET_EXPIRY, .expiry_ns = BWL_NEVER_NS },
		  1 },
		{ "for 1h", { .set = BWL_SET_EXPIRY, .expiry_ns = 3600 * RIG_SECOND }, 1 },
		{ "the same rate", { .set = BWL_SET_RATE, .lim.rate_bps = 1000000000 }, 1 },
		{ "the same volume",
		  { .set = BWL_SET_VOLUME,
		    .lim = { .has_volume = true,
			     .volume = 1 << 30,
			     .window_ns = 86400 * RIG_SECOND } },
		  1 },
		{ "a mode", { .set = BWL_SET_MODE, .mode = BWL_MODE_MONITOR }, 0 },
		{ "a rate", { .set = BWL_SET_RATE, .lim.rate_bps = 2000000000 }, 0 },
		{ "a burst", { .set = BWL_SET_BURST, .lim.burst = 1 << 20 }, 0 },
		{ "a volume",
		  { .set = BWL_SET_VOLUME, .lim = { .has_volume = true, .volume = 1 << 20 } },
		  0 },
		{ "more volume", { .set = BWL_ADD_VOLUME, .lim.volume = 1 << 20 }, 0 },
		{ "accept",
		  { .set = BWL_SET_ACCEPT, .accept = { .present = true, .rate_bps = 3000000000 } },
		  0 },
	};
	struct bwl_err e = { 0 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		apply(HEAD "peers:\n" DEST(
			"a",
			1) "grant: { rate: 1gbit, volume: 1gb per 1d }, accept: { rate: 2gbit } }\n");
		rig_advance(RIG_SECOND);
		host(TO(1) "udp");
		assert_int_equal(is_a_files_policy(), 1);
		if (bwl_peer_change(rig->pins, "a", &edits[i].c, &e))
			fail_msg("%s: %s", edits[i].what, e.text);
		if (is_a_files_policy() != edits[i].is)
			fail_msg("%s: %d", edits[i].what, is_a_files_policy());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(each_limit_refuses_under_its_own_name),
		RIG_TEST(port_and_node_limits_refuse_under_their_own_names),
		RIG_TEST(a_refusal_by_an_outer_limit_costs_the_inner_ones_nothing),
		RIG_TEST(what_cannot_be_sent_is_not_charged),
		RIG_TEST(a_packet_without_a_way_out_says_so),
		RIG_TEST(monitor_passes_what_the_peers_own_limit_would_drop),
		RIG_TEST(mark_sets_ce_before_the_limit_and_drops_above_it),
		RIG_TEST(a_grant_ends_at_its_nanosecond),
		RIG_TEST(a_floors_volume_ends_too),
		RIG_TEST(a_floor_passes_nothing_that_the_grant_has_no_room_for),
		RIG_TEST(a_floor_has_the_grants_window),
		RIG_TEST(silence_closes_at_its_nanosecond),
		RIG_TEST(a_beat_on_trial_lasts_no_longer_than_the_policy_before_allows),
		RIG_TEST(a_revocation_survives_everything_but_a_grant),
		RIG_TEST(a_changed_limit_lifts_no_revocation),
		RIG_TEST(revoke_all_survives_everything_but_a_grant),
		RIG_TEST(every_byte_on_the_wire_is_charged),
		RIG_TEST(gso_fields_may_raise_the_charge_and_never_lower_it),
		RIG_TEST(each_segment_is_charged_with_the_headers_that_it_repeats),
		RIG_TEST(an_edit_that_changes_nothing_of_the_text_keeps_its_digest),
	};

	return cmocka_run_group_tests_name("grants", tests, NULL, NULL);
}
