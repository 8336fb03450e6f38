// SPDX-License-Identifier: GPL-2.0-or-later
#include "policy_text.h"
#include <stdlib.h>
#include <arpa/inet.h>
#include "lib/policy/policy_text.h"

#define PEER(more)                                                                                 \
	TOP "peers:\n  - name: a\n    addresses: [192.0.2.0/24]\n    path: clear\n"                \
	    "    via: 10.9.9.9\n" more

static struct bwl_policy *read_example(const char *name)
{
	struct bwl_policy *p = NULL;
	struct bwl_err e = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/packaging/examples/%s", BWL_SOURCE, name);
	if (bwl_policy_load(path, NOW_BOOT, NOW_WALL, &p, &e))
		fail_msg("%s:%u:%u: %s (%s)", e.file, e.line, e.column, e.text, e.hint);
	return p;
}

static void every_key_means_what_the_manual_says(void **state)
{
	struct bwl_policy *p = read_example("cluster.yaml");
	struct bwl_pol_peer *x;
	uint8_t via[4] = { 10, 0, 255, 1 };

	(void)state;
	assert_int_equal(p->nwarnings, 0);
	assert_string_equal(p->node, "tray-7");
	assert_int_equal(p->nuplinks, 2);
	assert_string_equal(p->uplinks[1], "p1");
	assert_int_equal(p->control,
			 1 << BWL_CONTROL_LLDP | 1 << BWL_CONTROL_BGP | 1 << BWL_CONTROL_BFD);
	assert_int_equal(p->heartbeat_ns, 60000000000);
	assert_false(p->heartbeat_none);
	assert_int_equal(p->min_charge, 64);
	assert_int_equal(p->node_limit.rate_bps, 200000000000);
	assert_int_equal(p->nports, 2);
	assert_int_equal(p->ports[0].nsources, 2);
	assert_int_equal(p->ports[0].nvlans, 0);
	assert_int_equal(p->ports[1].vlans[0], 120);
	assert_true(p->ports[1].has_mac && p->ports[1].mac[5] == 1);
	assert_int_equal(p->nzones, 3);
	assert_int_equal(p->zones[2].limit.volume, 20ULL << 30);
	assert_int_equal(p->zones[2].limit.window_ns, 86400000000000);
	assert_int_equal(p->nservices, 1);
	assert_int_equal(p->services[0].port, 4421);
	assert_int_equal(p->npeers, 5);

	x = bwl_policy_peer(p, "tray-3");
	assert_non_null(x);
	assert_string_equal(x->zone, "mesh");
	assert_true(x->contained);
	assert_int_equal(x->grant.burst, 125000); /* 1ms at 1gbit */
	assert_int_equal(x->mode, BWL_MODE_SHAPE);
	assert_int_equal(x->path, BWL_PATH_XFRM);
	assert_string_equal(x->ipsec_remote, "192.0.2.3");
	assert_true(x->accept.present);
	assert_int_equal(x->expiry_ns, BWL_NEVER_NS);

	x = bwl_policy_peer(p, "object-store");
	assert_int_equal(x->nfrom, 1);
	assert_string_equal(x->from[0], "pf0hpf");
	assert_string_equal(x->uplink, "p1");
	assert_true(x->has_via4 && !x->has_via6 && !memcmp(x->via4, via, 4));
	assert_int_equal(x->grant.rate_bps, 40000000000);
	assert_int_equal(x->grant.burst, 0); /* the default */
	assert_int_equal(x->mode, BWL_MODE_POLICE);
	assert_int_equal(x->floor.rate_bps, 1000000000);
	assert_true(x->class_[BWL_C_OTHER].has_volume);
	assert_int_equal(x->class_[BWL_C_NVME_TCP].rate_bps, 40000000000);
	assert_false(x->class_[BWL_C_SSH].present);

	x = bwl_policy_peer(p, "mirror");
	assert_int_equal(x->mode, BWL_MODE_MARK);
	assert_int_equal(x->mark_pct, 40);
	assert_true(x->accept_none && !x->accept.present);
	assert_int_equal(x->grant.window_ns, 0); /* in total */
	assert_null(bwl_policy_peer(p, "nobody"));
	bwl_policy_free(p);

	p = read_example("lab.yaml");
	assert_true(p->heartbeat_none && !p->heartbeat_ns);
	assert_int_equal(p->nwarnings, 1);
	assert_non_null(strstr(p->warnings[0], "counted, not enforced"));
	bwl_policy_free(p);
}

static void optional_keys_may_be_absent(void **state)
{
	struct bwl_policy *p = read_text(TOP);
	struct bwl_pol_peer *x;
	struct in6_addr want;

	(void)state;
	assert_int_equal(p->npeers + p->nzones + p->nservices + p->control, 0);
	assert_int_equal(p->min_charge, 64);
	assert_false(p->node_limit.present);
	bwl_policy_free(p);

	/* an IPv6 `via` is via6, and the design's unquoted addresses are read */
	p = read_text(
		TOP
		"peers:\n  - name: a\n    addresses: [fd00:3::/64]\n    path: clear\n    via: fd00::1\n");
	x = &p->peers[0];
	inet_pton(AF_INET6, "fd00::1", &want);
	assert_true(x->has_via6 && !x->has_via4 && !memcmp(x->via6, &want, 16));
	assert_false(x->grant.present || x->accept.present || x->floor.present || x->accept_none);
	assert_int_equal(x->mark_pct, 50);
	bwl_policy_free(p);
}

static void accept_none_is_seen_wherever_it_stands(void **state)
{
	struct bwl_policy *p = read_text(
		"# Ärger mit Umlauten: Bytes sind keine Zeichen\n" TOP "peers:\n"
		"  - { name: a, accept: none, addresses: [192.0.2.1], path: clear, via: 10.9.9.9 }\n"
		"  - { name: b, addresses: [192.0.2.2], path: clear, via: 10.9.9.9 } # accept: none\n"
		"  - name: c\n    addresses: [192.0.2.3] # ü€\n    path: clear\n    via: 10.9.9.9\n    accept:   none   # ö\n"
		"  - { name: none, accept:  {rate: 1mbit}, addresses: [192.0.2.4], path: clear, via: 10.9.9.9 }\n"
		"  - { name: e, path: clear, via: 10.9.9.9, addresses: [192.0.2.5], accept: none}\n");
	static const bool none[] = { true, false, true, false, true };

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(p->peers[i].accept_none, none[i]);
		assert_int_equal(p->peers[i].accept.present, i == 3);
	}
	assert_string_equal(p->peers[3].name, "none");
	bwl_policy_free(p);
}

static void a_burst_is_a_size_or_a_time_at_the_rate(void **state)
{
	static const struct {
		const char *yaml;
		uint64_t burst;
	} rows[] = {
		{ PEER("    grant: { rate: 1gbit, burst: 1ms }\n"), 125000 },
		{ PEER("    grant: { burst: 1ms, rate: 1gbit }\n"), 125000 },
		{ PEER("    grant: { rate: 100gbit, burst: 250us }\n"), 3125000 },
		{ PEER("    grant: { rate: 1gbit, burst: 1m }\n"), 1048576 },
		{ PEER("    grant: { rate: 1gbit, burst: 1518 }\n"), 1518 },
		{ PEER("    grant: { rate: 1gbit, burst: 1tb }\n"), 1ULL << 40 },
		{ PEER("    grant: { rate: 1gbit }\n"), 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bwl_policy *p = read_text(rows[i].yaml);

		assert_int_equal(p->peers[0].grant.burst, rows[i].burst);
		bwl_policy_free(p);
	}
	assert_int_equal(bwl_default_burst(1000), BWL_GSO_BURST);
	assert_int_equal(bwl_default_burst(100000000), 3125000); /* 250 ms */
	assert_int_equal(bwl_default_burst(100000000000), BWL_TCP_BURST_MAX);
	assert_int_equal(bwl_default_burst(1000000000000), 125000000); /* 1 ms */
	assert_int_equal(bwl_default_burst(BWL_NO_RATE), BWL_GSO_BURST);
}

static void the_horizon_fits_four_gso_packets_unless_it_is_said(void **state)
{
	static const struct {
		const char *yaml;
		uint32_t at_20mbit, at_1mbit, at_1gbit;
	} rows[] = {
		{ TOP, 117964801, 250000000, 10000000 },
		{ TOP "horizon: auto\n", 117964801, 250000000, 10000000 },
		{ TOP "horizon: 10ms\n", 10000000, 10000000, 10000000 },
		{ TOP "horizon: 1s\n", 1000000000, 1000000000, 1000000000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bwl_policy *p = read_text(rows[i].yaml);

		assert_int_equal(p->nwarnings, 0);
		assert_int_equal(bwl_horizon(p->horizon_ns, 20000000), rows[i].at_20mbit);
		assert_int_equal(bwl_horizon(p->horizon_ns, 1000000), rows[i].at_1mbit);
		assert_int_equal(bwl_horizon(p->horizon_ns, 1000000000), rows[i].at_1gbit);
		bwl_policy_free(p);
	}
}

static void the_default_accept_is_a_little_above_the_grant(void **state)
{
	struct bwl_lim grant = { .rate_bps = 1000000000, .burst = 100000, .present = true };
	struct bwl_lim a = bwl_default_accept(&grant);

	(void)state;
	assert_true(a.present && !a.has_volume);
	assert_int_equal(a.rate_bps, 1001000000);
	assert_int_equal(a.burst, 100000 + 625625);
	grant = (struct bwl_lim){
		.rate_bps = BWL_NO_RATE, .volume = 5, .has_volume = true, .present = true
	};
	a = bwl_default_accept(&grant);
	assert_true(a.present && a.rate_bps == BWL_NO_RATE && !a.has_volume);
	grant = (struct bwl_lim){ 0 };
	assert_false(bwl_default_accept(&grant).present);
	grant = (struct bwl_lim){ .rate_bps = 100000000000000,
				  .burst = 1ULL << 40,
				  .present = true };
	a = bwl_default_accept(&grant);
	assert_int_equal(a.rate_bps, 100000000000000);
	assert_int_equal(a.burst, 1ULL << 40);
}

static void until_becomes_boot_time(void **state)
{
	static const struct {
		const char *yaml;
		uint64_t boot;
		unsigned warnings;
	} rows[] = {
		{ PEER("    grant: { rate: 1mbit, until: 2027-01-15T08:00:10Z }\n"),
		  NOW_BOOT + 10000000000, 0 },
		{ PEER("    grant: { rate: 1mbit, until: \"2027-01-15T09:00:10+01:00\" }\n"),
		  NOW_BOOT + 10000000000, 0 },
		{ PEER("    grant: { rate: 1mbit, until: 2027-01-15T02:30:10.5-05:30 }\n"),
		  NOW_BOOT + 10500000000, 0 },
		{ PEER("    grant: { rate: 1mbit, until: 2028-02-29T08:00:00z }\n"),
		  NOW_BOOT + 410ULL * 86400 * 1000000000, 0 },
		{ PEER("    grant: { rate: 1mbit, until: 2027-01-15T07:59:50Z }\n"),
		  NOW_BOOT - 10000000000, 1 },
		{ PEER("    grant: { rate: 1mbit, until: 1999-01-15T07:59:50Z }\n"), 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bwl_policy *p = read_text(rows[i].yaml);

		assert_int_equal(p->peers[0].expiry_ns, rows[i].boot);
		assert_int_equal(p->nwarnings, rows[i].warnings);
		bwl_policy_free(p);
	}
}

/* Replaces lib/base/clock_wall.c. */
static enum bwl_wall wall;
enum bwl_wall bwl_wall_state(void)
{
	return wall;
}

static void until_is_refused_while_the_wall_clock_may_be_behind(void **state)
{
	struct bwl_policy *until = read_text(
		PEER("    grant: { rate: 1mbit, until: 2027-01-15T08:00:10Z }\n"));
	struct bwl_policy *never = read_text(PEER("    grant: { rate: 1mbit }\n"));
	struct bwl_err e = { 0 };

	(void)state;
	assert_int_equal(bwl_policy_wall_ok(until, &e), 0);
	for (wall = BWL_WALL_UNSYNC; wall <= BWL_WALL_OLD; wall++) {
		assert_int_equal(bwl_policy_wall_ok(never, &e), 0);
		assert_int_equal(bwl_policy_wall_ok(until, &e), -EAGAIN);
		assert_non_null(
			strstr(e.text, wall == BWL_WALL_OLD ? "build date" : "not synchronised"));
		assert_non_null(strstr(e.hint, "--trust-clock"));
	}
	wall = BWL_WALL_OK;
	bwl_policy_free(until);
	bwl_policy_free(never);
}

static void what_is_allowed_but_odd_is_warned_about_with_its_line(void **state)
{
#define P(name, addr) "  - { name: " name ", addresses: [" addr "], path: clear, via: 10.9.9.9 }\n"
	static const struct {
		const char *yaml, *want;
	} rows[] = {
		{ TOP "peers:\n" P("wide", "192.0.0.0/16") P("in", "192.0.2.0/24")
			  P("in2", "192.0.3.1"),
		  "f.yaml:7: peer wide: 192.0.0.0/16 contains 192.0.2.0/24 of peer in and 1 more: the longest prefix is used" },
		{ TOP "peers:\n" P("in", "192.0.2.0/24") P("all", "0.0.0.0/0"),
		  "f.yaml:8: peer all: 0.0.0.0/0 contains the sources of host port h0 (10.0.7.0/24)" },
		{ PEER("    grant: { rate: 1mbit, burst: 64kb }\n"),
		  "f.yaml:7: peer a: grant: burst 64kb is less than one GSO packet" },
		{ TOP
		  "horizon: 10ms\npeers:\n  - { name: p, addresses: [192.0.2.1], path: clear, via: 10.9.9.9,\n"
		  "      grant: { rate: 50mbit, mode: shape } }\n",
		  "f.yaml:8: peer p: the horizon of 10ms is less than one GSO packet at 50mbit" },
		{ PEER("    grant: { rate: 1mbit, until: 2027-01-15T07:59:50Z }\n"),
		  "peer a: the grant ended at" },
		{ PEER("    grant: { rate: 1mbit, mode: monitor }\n"),
		  "f.yaml:7: peer a: mode monitor: its limits are counted, not enforced" },
		{ PEER("    grant: { mode: monitor }\n"),
		  "f.yaml:7: peer a: mode monitor: its limits are counted, not enforced" },
		{ TOP "min_charge: 0\n", "f.yaml: min_charge 0: frames on the wire are padded" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bwl_policy *p = read_text(rows[i].yaml);

		if (!p->nwarnings || strncmp(p->warnings[0], rows[i].want, strlen(rows[i].want))) {
			if (!p->nwarnings || !strstr(p->warnings[0], rows[i].want))
				fail_msg("row %zu: %s", i,
					 p->nwarnings ? p->warnings[0] : "no warning");
		}
		bwl_policy_free(p);
	}
}

static void a_hundred_warnings_are_enough(void **state)
{
	struct bwl_policy *p = bwl_policy_new();
	struct bwl_err e = { 0 };

	(void)state;
	strcpy(p->node, "t");
	p->heartbeat_none = true;
	p->uplinks = calloc(1, sizeof(*p->uplinks));
	strcpy(p->uplinks[p->nuplinks++], "p0");
	p->ports = calloc(1, sizeof(*p->ports));
	strcpy(p->ports[p->nports++].name, "h0");
	p->ports[0].sources = calloc(1, sizeof(struct bwl_pfx));
	p->ports[0].nsources = 1;
	bwl_pfx_parse("10.0.7.0/24", p->ports[0].sources, NULL);
	for (unsigned i = 0; i < 500; i++) {
		struct bwl_pol_peer *x = bwl_policy_add_peer(p);

		snprintf(x->name, sizeof(x->name), "p%u", i);
		x->addresses = calloc(1, sizeof(struct bwl_pfx));
		x->naddresses = 1;
		*x->addresses = (struct bwl_pfx){ 4, 32, { 192, 0, 2 + i / 256, i % 256 } };
		x->has_via4 = true;
		memcpy(x->via4, "\x0a\x09\x09\x09", 4);
		x->grant = (struct bwl_lim){ .rate_bps = 1000000, .burst = 2000, .present = true };
	}
	if (bwl_policy_check(p, NULL, &e))
		fail_msg("%s", e.text);
	assert_int_equal(p->nwarnings, 101);
	assert_non_null(strstr(p->warnings[100], "more than"));
	assert_string_equal(p->warnings[0], strstr(p->warnings[0], "peer p0: grant"));
	bwl_policy_free(p);
}

static void normalised_text_reads_back_to_itself(void **state)
{
	static const char *const names[] = { "lab.yaml", "cluster.yaml" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct bwl_policy *p = read_example(names[i]), *q;
		char *a = text_of(p), *b;
		uint8_t da[32], db[32];

		q = read_text(a);
		b = text_of(q);
		assert_string_equal(a, b);
		assert_int_equal(bwl_policy_digest(p, da), 0);
		assert_int_equal(bwl_policy_digest(q, db), 0);
		assert_memory_equal(da, db, 32);
		assert_int_equal(p->npeers, q->npeers);
		free(a);
		free(b);
		bwl_policy_free(p);
		bwl_policy_free(q);
	}
}

/* The same policy, in another order and with its defaults written out. */
static void the_digest_is_of_the_meaning_not_of_the_text(void **state)
{
	static const char *const same[] = {
		TOP
		"zones: { y: { rate: 1mbit }, z: { rate: 1000kbit } }\npeers:\n"
		"  - { name: a, addresses: [192.0.2.0/24, 198.51.100.1], path: clear, via: 10.9.9.9, grant: { rate: 1gbit } }\n"
		"  - { name: b, addresses: [203.0.113.0/24], path: clear, via: 10.9.9.9, accept: none }\n",
		"# order and spelling\n" TOP
		"zones:\n  z: { rate: 1mbit }\n  y: { rate: 1mbit }\ndefault: deny\nmin_charge: 64b\npeers:\n"
		"  - { name: b, via: 10.9.9.9, addresses: [203.0.113.0/24], path: clear, accept: none }\n"
		"  - { name: a, addresses: [198.51.100.1/32, 192.0.2.0/24], path: clear, uplink: p0, via: 10.9.9.9,\n"
		"      grant: { rate: 1000mbit, burst: 250ms, mode: police }, accept: { rate: 1001mbit, burst: 31875625 } }\n",
		TOP
		"zones: { y: { rate: 1mbit }, z: { rate: 1000kbit } }\npeers:\n"
		"  - { name: a, addresses: [192.0.2.0/24, 198.51.100.1], path: clear, via: 10.9.9.9, grant: { rate: 1gbit, until: 2027-02-01T00:00:00Z } }\n"
		"  - { name: b, addresses: [203.0.113.0/24], path: clear, via: 10.9.9.9, accept: none }\n",
	};
	uint8_t first[32], other[32];

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		struct bwl_policy *p = read_text(same[i]);
		struct bwl_pol_peer *a;

		assert_int_equal(bwl_policy_digest(p, i ? other : first), 0);
		if (i)
			assert_memory_equal(first, other, 32);
		p->peers[0].revoked = true;
		assert_int_equal(bwl_policy_digest(p, other), 0);
		assert_memory_equal(first, other, 32);
		a = bwl_policy_peer(p, "a");
		a->accept = bwl_default_accept(&a->grant); /* unchanged */
		assert_int_equal(bwl_policy_digest(p, other), 0);
		assert_memory_equal(first, other, 32);
		a->accept.has_volume = true;
		assert_int_equal(bwl_policy_digest(p, other), 0);
		assert_memory_not_equal(first, other, 32);
		a->accept.has_volume = false;
		p->peers[0].contained = true;
		assert_int_equal(bwl_policy_digest(p, other), 0);
		assert_memory_not_equal(first, other, 32);
		bwl_policy_free(p);
	}
}

static char *file_text(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;

	if (!f)
		fail_msg("cannot open %s", path);
	if (getdelim(&text, &room, '\0', f) < 0)
		fail_msg("%s is empty", path);
	fclose(f);
	return text;
}

static void every_key_is_in_the_manual_and_among_the_seeds(void **state)
{
	static const char *const keys[] = {
#define X(S, kind, key, member, T, fields) key,
		BWL_LIMIT_KEYS(X, ) BWL_GRANT_KEYS(X, ) BWL_ZONE_KEYS(X, ) BWL_PORT_KEYS(X, )
			BWL_SERVICE_KEYS(X, ) BWL_PEER_IPSEC_KEYS(X, ) BWL_PEER_KEYS(X, )
				BWL_TOP_KEYS(X, )
#undef X
#define X(k) #k,
					BWL_IPSEC_KEYS(X) BWL_TAMPER_KEYS(X)
#undef X
	};
	char *manual = file_text(BWL_SOURCE "/docs/policy.md");
	char *seed = file_text(BWL_SOURCE "/tests/fuzz/policy.seeds/everything.yaml");
	char quoted[40], said[40];

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		snprintf(quoted, sizeof(quoted), "`%s`", keys[i]);
		snprintf(said, sizeof(said), "%s:", keys[i]);
		if (!strstr(manual, quoted) && !strstr(manual, said))
			fail_msg("docs/policy.md says nothing of %s", quoted);
		if (!strstr(seed, said))
			fail_msg("tests/fuzz/policy.seeds/everything.yaml does not say %s", said);
	}
	free(manual);
	free(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_means_what_the_manual_says),
		cmocka_unit_test(optional_keys_may_be_absent),
		cmocka_unit_test(accept_none_is_seen_wherever_it_stands),
		cmocka_unit_test(a_burst_is_a_size_or_a_time_at_the_rate),
		cmocka_unit_test(the_horizon_fits_four_gso_packets_unless_it_is_said),
		cmocka_unit_test(the_default_accept_is_a_little_above_the_grant),
		cmocka_unit_test(until_becomes_boot_time),
		cmocka_unit_test(until_is_refused_while_the_wall_clock_may_be_behind),
		cmocka_unit_test(what_is_allowed_but_odd_is_warned_about_with_its_line),
		cmocka_unit_test(a_hundred_warnings_are_enough),
		cmocka_unit_test(normalised_text_reads_back_to_itself),
		cmocka_unit_test(the_digest_is_of_the_meaning_not_of_the_text),
		cmocka_unit_test(every_key_is_in_the_manual_and_among_the_seeds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
