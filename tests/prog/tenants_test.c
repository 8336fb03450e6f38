// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The limits of single host ports to a peer (`ports`): in addition to the peer's grant, which
 * applies to all.
 */
#define RIG_HOST_ONLY
#include "dests.h"

/* From h0 and h1. */
#define FROM0 "eth ip4 src=10.0.7.2 dst=10.1.0.1 udp "
#define FROM1 "eth ip4 src=10.0.8.2 dst=10.1.0.1 udp "
#define KB "fill=958" /* frames of 1000 bytes */

static unsigned drain_from(enum rig_port port, const char *spec)
{
	unsigned n = 0;

	while (!strncmp(from(port, spec), "pass", 4))
		n++;
	return n;
}

static void port_policy(const char *grant, const char *ports)
{
	apply(HEAD "peers:\n" DEST("store", 1) "grant: { %s }, ports: { %s } }\n", grant, ports);
	rig_advance(RIG_SECOND);
}

/* The entry in bwl_state_v1 for h0 or h1 to the peer; 0: none. */
static uint32_t tenant_state(const char *peer, const char *port)
{
	const struct bwl_schema *s = &rig->pins->schema;
	uint32_t id = id_of(peer), i;

	for (i = 0; i < s->max_extras; i++) {
		const struct bwl_extra *x = &rig->pins->extra[i];

		if (x->kind == BWL_X_TENANT && x->peer == id && !strcmp(x->name, port))
			return BWL_EXTRA_STATE(s->max_peers, i);
	}
	return 0;
}

static void a_port_over_its_rate_to_a_peer_leaves_the_others_what_they_have(void **state)
{
	(void)state;
	port_policy("rate: 100mbit, burst: 100000b",
		    "h0: { rate: 1mbit, burst: 10001b }, h1: { rate: 1mbit, burst: 20001b }");
	assert_int_equal(drain_from(RIG_H0, FROM0 KB), 10);
	assert_string_equal(from(RIG_H0, FROM0 KB), "port-rate");
	assert_int_equal(drain_from(RIG_H1, FROM1 KB), 20);
	/* A thousand refusals have taken nothing from the peer's common limit. */
	for (unsigned i = 0; i < 1000; i++)
		assert_string_equal(from(RIG_H0, FROM0 KB), "port-rate");
	rig_advance(RIG_SECOND);
	assert_int_equal(drain_from(RIG_H1, FROM1 KB), 20);
	assert_int_equal(drain_from(RIG_H0, FROM0 KB), 10);
}

static void the_grant_stands_above_its_ports(void **state)
{
	(void)state;
	port_policy("rate: 1mbit, burst: 15001b", "h0: { rate: 1gbit, burst: 10001b }");
	assert_int_equal(drain_from(RIG_H0, FROM0 KB), 10);
	/* What is left of the grant is also for the port that is not listed. */
	assert_int_equal(drain_from(RIG_H1, FROM1 KB), 5);
	assert_string_equal(from(RIG_H1, FROM1 KB), "peer-rate");
	rig_advance(1000000); /* 125 bytes for the peer, 125 kB for the port */
	assert_string_equal(from(RIG_H0, FROM0 KB), "peer-rate");
}

static void what_the_peer_refuses_costs_the_port_nothing(void **state)
{
	(void)state;
	port_policy("rate: 1kbit, burst: 4001b", "h0: { volume: 6000b }");
	rig_advance(1000 * RIG_SECOND);
	assert_int_equal(drain_from(RIG_H0, FROM0 KB), 4);
	for (unsigned i = 0; i < 100; i++)
		assert_string_equal(from(RIG_H0, FROM0 KB), "peer-rate");
	rig_advance(1000 * RIG_SECOND);
	assert_int_equal(drain_from(RIG_H0, FROM0 KB), 2);
	assert_string_equal(from(RIG_H0, FROM0 KB), "port-volume");
	assert_int_equal(rig->pins->state[tenant_state("store", "h0")].used_bytes, 6000);
}

static void the_volume_of_each_port_is_exact(void **state)
{
	static const char *const window[] = { "", " per 1h" };
	char ports[128];

	(void)state;
	for (unsigned w = 0; w < 2; w++) {
		snprintf(ports, sizeof(ports), "h0: { volume: 7000b%s }, h1: { volume: 3000b%s }",
			 window[w], window[w]);
		apply(HEAD
		      "peers:\n"
		      "  - { name: v%u, addresses: [10.1.0.1], path: clear, via: 192.0.2.1, grant: { rate: 1gbit }, ports: { %s } }\n",
		      w, ports);
		rig_advance(RIG_SECOND);
		assert_int_equal(drain_from(RIG_H0, FROM0 KB), w ? 0 : 7); /* v1 replaces v0 */
		assert_int_equal(drain_from(RIG_H1, FROM1 KB), w ? 0 : 3);
		assert_string_equal(from(RIG_H0, FROM0 KB), "port-volume");
		rig_advance(3600 * RIG_SECOND + 400 * RIG_SECOND);
		assert_int_equal(drain_from(RIG_H0, FROM0 KB), w ? 7 : 0);
		assert_int_equal(drain_from(RIG_H1, FROM1 KB), w ? 3 : 0);
	}
}

static void nothing_an_operator_does_gives_a_port_more(void **state)
{
	static const char *const ports[] = {
		"h0: { rate: 1mbit, burst: 10001b, volume: 16000b }",
		"h0: { rate: 2mbit, burst: 10001b, volume: 16000b }, h1: { rate: 1mbit }",
		"h1: { rate: 1mbit }, h0: { rate: 1mbit, burst: 9001b, volume: 16000b }",
	};
	struct bwl_change c = { .set = BWL_SET_RATE | BWL_SET_AUTHORISE,
				.lim = { .rate_bps = 2000000000 } };
	struct bwl_err e = { 0 };
	uint64_t sent;

	(void)state;
	port_policy("rate: 1gbit", ports[0]);
	sent = drain_from(RIG_H0, FROM0 KB);
	assert_int_equal(sent, 10);
	for (unsigned i = 1; i < 30; i++) {
		apply(HEAD
		      "peers:\n"
		      "  - { name: %s, addresses: [10.1.0.1], path: clear, via: 192.0.2.1, grant: { rate: 1gbit }, ports: { %s } }\n",
		      i % 2 ? "other" : "store", ports[i % 3]);
		assert_int_equal(bwl_peer_change(rig->pins, i % 2 ? "other" : "store", &c, &e), 0);
		assert_int_equal(drain_from(RIG_H0, FROM0 KB), 0);
	}
	/* Absent for a while, so that only the volume is remembered. */
	apply(HEAD "peers:\n" DEST("store", 1) "grant: { rate: 1gbit } }\n");
	rig_advance(RIG_SECOND);
	assert_string_equal(from(RIG_H0, FROM0 KB), "pass");
	port_policy("rate: 1gbit", ports[0]);
	assert_int_equal(drain_from(RIG_H0, FROM0 KB), 6);
	assert_string_equal(from(RIG_H0, FROM0 KB), "port-volume");
}

/* One host port and one peer. */
static void one(const char *port, const char *source, const char *peer, const char *address,
		const char *limits)
{
	apply("version: 1\nnode: rig\nuplinks: [p0]\nheartbeat: none\nhost_ports:\n"
	      "  - { dev: %s, sources: [%s] }\npeers:\n"
	      "  - { name: %s, addresses: [%s], path: clear, via: 192.0.2.1, grant: { rate: 1gbit }%s }\n",
	      port, source, peer, address, limits);
	rig_advance(RIG_SECOND);
}
#define ON(port) ", ports: { " port ": { volume: 5000b } }"

static void spend_by_h0(void)
{
	one("h0", "10.0.7.0/24", "store", "10.1.0.1", ON("h0"));
	assert_int_equal(drain_from(RIG_H0, FROM0 KB), 5);
}

static void spent_by_h1(void)
{
	assert_int_equal(drain_from(RIG_H1, FROM1 KB), 0);
	assert_string_equal(from(RIG_H1, FROM1 KB), "port-volume");
}

static void who_takes_a_ports_place_takes_its_account(void **state)
{
	(void)state;
	spend_by_h0();
	one("h1", "10.0.8.0/24", "store", "10.1.0.1", ON("h1"));
	spent_by_h1();
}

static void so_does_who_takes_it_together_with_a_peers_place(void **state)
{
	(void)state;
	spend_by_h0();
	one("h1", "10.0.8.0/24", "wider", "10.1.0.0/24", ON("h1"));
	spent_by_h1();
}

static void so_does_who_takes_it_after_a_policy_without_the_peer(void **state)
{
	(void)state;
	spend_by_h0();
	one("h0", "10.0.7.0/24", "else", "10.9.0.1", "");
	one("h1", "10.0.8.0/24", "store", "10.1.0.1", ON("h1"));
	spent_by_h1();
}

static void so_does_who_takes_it_after_a_policy_without_the_limit(void **state)
{
	(void)state;
	spend_by_h0();
	one("h0", "10.0.7.0/24", "store", "10.1.0.1", "");
	one("h1", "10.0.8.0/24", "store", "10.1.0.1", ON("h1"));
	spent_by_h1();
}

/* The control: a new port next to one that stays has its own account. */
static void a_port_that_comes_beside_another_begins_anew(void **state)
{
	(void)state;
	spend_by_h0();
	port_policy("rate: 1gbit", "h0: { volume: 5000b }, h1: { volume: 5000b }");
	assert_int_equal(drain_from(RIG_H0, FROM0 KB), 0);
	assert_int_equal(drain_from(RIG_H1, FROM1 KB), 5);
}

static const char *peers_name(int i)
{
	static char name[8];

	snprintf(name, sizeof(name), "p%d", i);
	return name;
}

static void mode_monitor_counts_a_port_and_stops_nothing(void **state)
{
	(void)state;
	port_policy("rate: 1gbit, mode: monitor", "h0: { rate: 1mbit, burst: 2001b }");
	assert_string_equal(from(RIG_H0, FROM0 KB), "pass");
	assert_string_equal(from(RIG_H0, FROM0 KB), "pass");
	assert_string_equal(from(RIG_H0, FROM0 KB), "pass-monitor");
	assert_string_equal(from(RIG_H1, FROM1 KB), "pass");
}

/*
 * What mode monitor counts as passed over a limit is what police drops of the same packets, to the
 * byte, whichever of the peer's own limits it is. Peers 1 to 5 police, 6 to 10 monitor.
 */
static void monitor_counts_what_police_drops(void **state)
{
	static const struct {
		const char *grant, *more;
		unsigned passes;
	} rows[] = {
		{ "rate: 1mbit, burst: 3001b", "", 3 },
		{ "rate: 1gbit, volume: 4000b", "", 4 },
		{ "rate: 1gbit", ", ports: { h0: { rate: 1mbit, burst: 2001b } }", 2 },
		{ "rate: 1gbit", ", classes: { ssh: { rate: 1mbit, burst: 5001b } }", 5 },
		{ "rate: 1gbit", "", 9 },
	};
	enum { N = sizeof(rows) / sizeof(*rows), FRAMES = 9 };
	struct bwl_peer_count count[2 * N + 1];
	struct bwl_over_count over[2 * N + 1];
	char peers[4096] = "", spec[128];

	(void)state;
	for (int i = 0; i < 2 * N; i++)
		snprintf(
			peers + strlen(peers), sizeof(peers) - strlen(peers),
			"  - { name: p%d, addresses: [10.1.0.%d], path: clear, via: 192.0.2.1, grant: { %s%s }%s }\n",
			i + 1, i + 1, rows[i % N].grant, i < N ? "" : ", mode: monitor",
			rows[i % N].more);
	apply(HEAD "peers:\n%s", peers);
	rig_advance(RIG_SECOND);
	for (int i = 0; i < 2 * N; i++) {
		snprintf(spec, sizeof(spec),
			 "eth ip4 src=10.0.7.2 dst=10.1.0.%d tcp dport=22 fill=946", i + 1);
		for (int k = 0; k < FRAMES;
		     k++) /* not before in XDP, too: it counts what it drops */
			judge(&(struct rig_packet){ .prog = RIG_HOST,
						    .port = RIG_H0,
						    .spec = spec },
			      NULL);
	}
	assert_int_equal(bwl_peercnt_read_first(rig->pins, 2 * N + 1, count, NULL), 0);
	assert_int_equal(bwl_over_read(rig->pins, 2 * N + 1, over, NULL), 0);
	for (int i = 0; i < N; i++) {
		uint32_t held = id_of(peers_name(i + 1)), dry = id_of(peers_name(N + i + 1));

		assert_int_equal(count[held].frames, rows[i].passes);
		assert_int_equal(over[held].frames, 0);
		assert_int_equal(count[dry].frames, FRAMES);
		assert_int_equal(count[dry].drop_frames, 0);
		assert_int_equal(over[dry].frames, count[held].drop_frames);
		assert_int_equal(over[dry].bytes, count[held].drop_bytes);
		assert_int_equal(over[dry].bytes, count[dry].bytes - count[held].bytes);
	}
}

static void each_port_is_counted_beside_the_class(void **state)
{
	uint32_t h0, h1;

	(void)state;
	apply(HEAD "count_classes: all\npeers:\n" DEST(
		"store",
		1) "grant: { rate: 1gbit }, ports: { h0: { rate: 1gbit, burst: 5001b }, h1: { rate: 1gbit } } }\n");
	rig_advance(RIG_SECOND);
	h0 = tenant_state("store", "h0") | 1;
	h1 = tenant_state("store", "h1") | 1;
	assert_int_equal(drain_from(RIG_H0, FROM0 KB), 5);
	assert_string_equal(from(RIG_H1, FROM1 KB), "pass");
	assert_int_equal(rig->pins->state[h0].used_bytes, 5000);
	assert_true(rig->pins->state[h0].drop_bytes >= 1000);
	assert_int_equal(rig->pins->state[h1].used_bytes, 1000);
	assert_int_equal(rig->pins->state[h1].drop_bytes, 0);
}

/* CPUs hold shares of a large one; what they hold is part of its burst. */
static void a_port_with_shares_passes_its_burst_and_no_more(void **state)
{
	uint64_t frames = 0;

	(void)state;
	port_policy("rate: 10gbit, burst: 64mb", "h0: { rate: 100mbit, burst: 2000000b }");
	while (!strcmp(from(RIG_H0, FROM0 "fill=1400"), "pass"))
		frames++;
	assert_in_range(frames * 1442, 1000000, 2000000);
	while (!strcmp(from(RIG_H0, FROM0 KB), "pass"))
		;
	assert_string_equal(from(RIG_H0, FROM0 KB), "port-rate");
	assert_string_equal(from(RIG_H1, FROM1 "fill=1400"), "pass");
	assert_in_range(rig->pins->state[tenant_state("store", "h0") | 1].used_bytes, 1000000,
			2000000);
}

static void what_is_in_force_reads_back(void **state)
{
	struct bwl_policy *pol = NULL;
	const struct bwl_pol_tenant *t;
	struct bwl_pol_peer *q;
	struct bwl_err e = { 0 };
	uint8_t digest[32];
	struct bwl_gen g;

	(void)state;
	port_policy("rate: 1gbit", "h1: { rate: 2mbit, volume: 1gb per 1d }, h0: { volume: 3mb }");
	if (bwl_policy_read(rig->pins, &pol, &e))
		fail_msg("%s", e.text);
	q = bwl_policy_peer(pol, "store");
	assert_int_equal(q->ntenants, 2);
	t = bwl_policy_tenant(q, "h1");
	assert_non_null(t);
	assert_int_equal(t->limit.rate_bps, 2000000);
	assert_int_equal(t->limit.window_ns, 86400 * RIG_SECOND);
	assert_int_equal(bwl_policy_tenant(q, "h0")->limit.rate_bps, BWL_NO_RATE);
	assert_int_equal(bwl_policy_digest(pol, digest), 0);
	bwl_policy_free(pol);
	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), &g, NULL), 0);
	assert_memory_equal(digest, g.base->digest, 32);
	bwl_gen_close(&g);
}

/* Peers that do not use it are not affected. */
static void peers_without_ports_have_nothing_of_it(void **state)
{
	struct bwl_gen g;

	(void)state;
	apply(HEAD "peers:\n" DEST("plain", 1) "grant: { rate: 1gbit } }\n" DEST(
		"other", 2) "grant: { rate: 1gbit }, ports: { h0: { rate: 1mbit } } }\n");
	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), &g, NULL), 0);
	assert_int_equal(bwl_body(rig->pins, &g, id_of("plain"))->meta.class_mask, 0);
	assert_int_equal(bwl_body(rig->pins, &g, id_of("other"))->meta.class_mask, BWL_HAS_TENANTS);
	bwl_gen_close(&g);
}

/* As a policy file with such a grant is refused: in any mode that enforces, it would pass
 * everything. */
static void what_leaves_monitor_has_a_limit_to_leave_it_for(void **state)
{
	static const struct {
		const char *grant;
		struct bwl_change c;
		bool ok;
	} changes[] = {
		{ "mode: monitor", { .set = BWL_SET_MODE, .mode = BWL_MODE_POLICE }, false },
		{ "mode: monitor", { .set = BWL_SET_MODE, .mode = BWL_MODE_SHAPE }, false },
		{ "mode: monitor", { .set = BWL_SET_MODE, .mode = BWL_MODE_MONITOR }, true },
		{ "mode: monitor",
		  { .set = BWL_SET_MODE | BWL_SET_RATE, .lim.rate_bps = 8000000 },
		  true },
		{ "mode: monitor",
		  { .set = BWL_SET_MODE | BWL_SET_VOLUME, .lim = { .has_volume = true } },
		  true },
		{ "mode: monitor", { .set = BWL_SET_EXPIRY, .expiry_ns = 1 }, true },
		{ "mode: monitor, rate: 1mbit",
		  { .set = BWL_SET_MODE, .mode = BWL_MODE_POLICE },
		  true },
		{ "mode: monitor, volume: 1mb",
		  { .set = BWL_SET_MODE, .mode = BWL_MODE_POLICE },
		  true },
		{ "rate: 1mbit", { .set = BWL_SET_RATE }, false }, /* unlimited */
		{ "rate: 1mbit, volume: 1mb", { .set = BWL_SET_RATE }, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct bwl_change c = changes[i].c;
		struct bwl_err e = { 0 };
		int r;

		apply(HEAD "peers:\n" DEST("store", 1) "grant: { %s } }\n", changes[i].grant);
		c.set |= BWL_SET_AUTHORISE; /* `grant`; and without: `peer set` */
		r = bwl_peer_change(rig->pins, "store", &c, &e);
		if (r != (changes[i].ok ? 0 : -EINVAL))
			fail_msg("%zu: grant: %d %s", i, r, e.text);
		if (!r)
			continue;
		assert_non_null(strstr(e.text, "grant is empty"));
		assert_non_null(strstr(e.hint, "bwlimit-ctl grant store rate R mode "));
		r = bwl_peer_change(rig->pins, "store", &changes[i].c, &e);
		if (r != -EINVAL)
			fail_msg("%zu: peer set: %d", i, r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(a_port_over_its_rate_to_a_peer_leaves_the_others_what_they_have),
		RIG_TEST(the_grant_stands_above_its_ports),
		RIG_TEST(what_the_peer_refuses_costs_the_port_nothing),
		RIG_TEST(the_volume_of_each_port_is_exact),
		RIG_TEST(nothing_an_operator_does_gives_a_port_more),
		RIG_TEST(who_takes_a_ports_place_takes_its_account),
		RIG_TEST(so_does_who_takes_it_together_with_a_peers_place),
		RIG_TEST(so_does_who_takes_it_after_a_policy_without_the_peer),
		RIG_TEST(so_does_who_takes_it_after_a_policy_without_the_limit),
		RIG_TEST(a_port_that_comes_beside_another_begins_anew),
		RIG_TEST(mode_monitor_counts_a_port_and_stops_nothing),
		RIG_TEST(monitor_counts_what_police_drops),
		RIG_TEST(what_leaves_monitor_has_a_limit_to_leave_it_for),
		RIG_TEST(each_port_is_counted_beside_the_class),
		RIG_TEST(a_port_with_shares_passes_its_burst_and_no_more),
		RIG_TEST(what_is_in_force_reads_back),
		RIG_TEST(peers_without_ports_have_nothing_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
