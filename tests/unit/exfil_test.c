// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/exfil.h"
#include "lib/exfil/exfil_flow.h"

#define GB 1073741824.0
#define DAY 86400.0

#define TOP                                                                                        \
	"version: 1\nnode: t\nuplinks: [p0]\nheartbeat: none\n"                                    \
	"host_ports: [{ dev: h0, sources: [10.0.7.0/24] }, { dev: h1, sources: [10.0.8.0/24] }]\n"
/* clang-format off */
#define PORTS(a, b) \
	"version: 1\nnode: t\nuplinks: [p0]\nheartbeat: none\nhost_ports: [{ dev: h0, sources: [10.0.7.0/24], limit: { " a \
	" } }, { dev: h1, sources: [10.0.8.0/24], limit: { " b " } }]\n"
/* clang-format on */
#define PEER(name, addr, more)                                                                     \
	"  - { name: " name ", addresses: [" addr "], path: clear, via: 10.9.9.9, " more " }\n"

static struct bwl_exfil_result ask(const char *yaml, double size, double compression,
				   uint64_t trays)
{
	struct bwl_exfil_args a = { .size = (uint64_t)size,
				    .compression = compression,
				    .trays = trays };
	struct bwl_exfil_result r;
	struct bwl_policy *p;
	struct bwl_err e = { 0 };

	if (bwl_policy_parse("t", yaml, strlen(yaml), 0, 0, &p, &e))
		fail_msg("%u: %s", e.line, e.text);
	if (bwl_exfil(p, &a, &r, &e))
		fail_msg("%s", e.text);
	bwl_policy_free(p);
	return r;
}

static void close_to(double a, double b)
{
	if (a != b && !(fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b))))
		fail_msg("%.12g is not %.12g", a, b);
}

static void one_rate_takes_size_over_rate_less_the_burst(void **state)
{
	struct bwl_exfil_result r =
		ask(TOP "peers:\n" PEER("a", "192.0.2.1", "grant: { rate: 8mbit }"), GB, 1, 1);

	(void)state;
	close_to(r.seconds, (GB - bwl_default_burst(8000000)) / 1e6);
	close_to(r.rate_bps, 8e6);
	close_to(r.at_once, bwl_default_burst(8000000));
	assert_string_equal(r.binding, "peer a: rate 8mbit");
	assert_int_equal(r.exits, 1);
	/* compression and trays reduce what one tray must carry */
	r = ask(TOP "peers:\n" PEER("a", "192.0.2.1", "grant: { rate: 8mbit }"), GB, 16, 4);
	close_to(r.seconds, (GB / 64 - bwl_default_burst(8000000)) / 1e6);
}

static void what_fits_in_the_bursts_leaves_at_once(void **state)
{
	(void)state;
	close_to(ask(TOP "peers:\n" PEER("a", "192.0.2.1", "grant: { rate: 1mbit, burst: 1mb }"),
		     1048576, 1, 1)
			 .seconds,
		 0);
}

static void the_horizon_of_shape_counts_as_burst(void **state)
{
	struct bwl_exfil_result r =
		ask(TOP "peers:\n" PEER("a", "192.0.2.1",
					"grant: { rate: 8gbit, burst: 1mb, mode: shape }"),
		    GB, 1, 1);

	(void)state;
	close_to(r.at_once, 1048576 + 1e7);
	r = ask(TOP "peers:\n" PEER("a", "192.0.2.1", "grant: { rate: 20mbit, mode: shape }"), GB,
		1, 1);
	close_to(r.at_once, 5 * 73728 + 1); /* a nanosecond is rounded up */
}

static void a_volume_leaves_at_once_and_again_after_each_window(void **state)
{
	static const char yaml[] = TOP
		"peers:\n" PEER("a", "192.0.2.1", "grant: { rate: 100gbit, volume: 1gb per 1d }");
	struct bwl_exfil_result r = ask(yaml, 2.5 * GB, 1, 1);

	(void)state;
	close_to(r.seconds, 2 * DAY + 0.0);
	close_to(r.rate_bps, 8 * GB / DAY);
	assert_string_equal(r.binding, "peer a: volume 1gb per 1d");
	/* within the first volume the rate binds */
	r = ask(yaml, 0.5 * GB, 1, 1);
	close_to(r.seconds, (0.5 * GB - bwl_default_burst(100000000000)) / 12.5e9);
	assert_string_equal(r.binding, "peer a: rate 100gbit");
	/* exactly the volume needs no second window */
	assert_true(ask(yaml, GB, 1, 1).seconds < 1);
}

static void a_total_volume_is_never_exceeded(void **state)
{
	static const char yaml[] = TOP
		"peers:\n" PEER("a", "192.0.2.1", "grant: { rate: 1gbit, volume: 1gb }");
	struct bwl_exfil_result r = ask(yaml, GB + 1, 1, 1);

	(void)state;
	assert_true(isinf(r.seconds));
	close_to(r.rate_bps, 0);
	assert_string_equal(r.binding, "peer a: volume 1gb");
	close_to(ask(yaml, GB, 1, 1).seconds, (GB - bwl_default_burst(1000000000)) / 125e6);
}

static void a_zone_caps_the_sum_of_its_peers(void **state)
{
	struct bwl_exfil_result r = ask(
		TOP "zones: { ext: { rate: 8mbit, burst: 1mb } }\npeers:\n" PEER(
			"a", "192.0.2.1", "zone: ext, grant: { rate: 6mbit, burst: 100kb }")
			PEER("b", "192.0.2.2", "zone: ext, grant: { rate: 6mbit, burst: 100kb }")
				PEER("c", "192.0.2.3", "grant: { rate: 4mbit, burst: 100kb }"),
		GB, 1, 1);

	(void)state;
	close_to(r.rate_bps, 12e6);
	/* bursts: the zone's two peers have less burst than the zone */
	close_to(r.at_once, 3 * 102400);
	close_to(r.seconds, (GB - 1048576 - 102400) / 1.5e6);
	assert_string_equal(r.binding, "zone ext: rate 8mbit");
	assert_int_equal(r.exits, 3);
}

static void port_and_node_cap_everything(void **state)
{
	struct bwl_exfil_result r = ask(PORTS("rate: 1mbit", "rate: 2mbit") "peers:\n" PEER(
						"a", "192.0.2.1", "grant: { rate: 1gbit }"),
					GB, 1, 1);

	(void)state;
	close_to(r.rate_bps, 3e6);
	assert_string_equal(r.binding, "port h1: rate 2mbit");
	r = ask(PORTS("rate: 1mbit", "rate: 2mbit") "node_limit: { volume: 1gb per 1d }\npeers:\n" PEER(
			"a", "192.0.2.1", "grant: { rate: 1gbit }"),
		3 * GB, 1, 1);
	close_to(r.seconds, 2 * DAY);
	assert_string_equal(r.binding, "node: volume 1gb per 1d");
}

static void a_peer_only_reaches_the_ports_it_may_be_used_from(void **state)
{
	struct bwl_exfil_result r =
		ask(PORTS("rate: 1mbit", "rate: 20mbit") "peers:\n" PEER(
			    "a", "192.0.2.1", "from: [h0], grant: { rate: 10mbit }")
			    PEER("b", "192.0.2.2", "from: [h1], grant: { rate: 5mbit }")
				    PEER("c", "192.0.2.3", "grant: { rate: 3mbit }"),
		    GB, 1, 1);

	(void)state;
	/* h0 limits a; b and c use h1 */
	close_to(r.rate_bps, 9e6);
	assert_string_equal(r.binding, "peer b: rate 5mbit");
}

static void what_ports_may_send_to_a_peer_is_added_up_below_its_grant(void **state)
{
	const char *held =
		"grant: { rate: 10mbit }, ports: { h0: { rate: 1mbit }, h1: { rate: 2mbit } }";
	const char *one = "grant: { rate: 10mbit }, ports: { h0: { rate: 1mbit } }";
	char text[1024];

	(void)state;
	/* Below the grant: their sum. */
	snprintf(text, sizeof(text), "%s" PEER("a", "192.0.2.1", "%s"),
		 PORTS("rate: 100mbit", "rate: 100mbit") "peers:\n", held);
	close_to(ask(text, GB, 1, 1).rate_bps, 3e6);
	assert_string_equal(ask(text, GB, 1, 1).binding, "peer a, port h1: rate 2mbit");
	/* A port that is not listed has the grant. */
	snprintf(text, sizeof(text), "%s" PEER("a", "192.0.2.1", "%s"),
		 PORTS("rate: 100mbit", "rate: 100mbit") "peers:\n", one);
	close_to(ask(text, GB, 1, 1).rate_bps, 10e6);
	/* … plus what the port itself lets through. */
	snprintf(text, sizeof(text), "%s" PEER("a", "192.0.2.1", "%s"),
		 PORTS("rate: 100mbit", "rate: 4mbit") "peers:\n", one);
	close_to(ask(text, GB, 1, 1).rate_bps, 5e6);
	/* Beside another peer, which has no such limits. */
	snprintf(text, sizeof(text),
		 "%s" PEER("a", "192.0.2.1", "%s") PEER("b", "192.0.2.2", "grant: { rate: 7mbit }"),
		 PORTS("rate: 100mbit", "rate: 100mbit") "peers:\n", held);
	close_to(ask(text, GB, 1, 1).rate_bps, 10e6);
	/* Mode monitor limits nothing. */
	snprintf(text, sizeof(text),
		 "%s" PEER("a", "192.0.2.1",
			   "grant: { rate: 1mbit, mode: monitor }, ports: { h0: { rate: 1mbit } }"),
		 PORTS("rate: 100mbit", "rate: 4mbit") "peers:\n");
	close_to(ask(text, GB, 1, 1).rate_bps, 104e6);
}

static void monitor_and_no_rate_are_no_limit(void **state)
{
	struct bwl_exfil_result r =
		ask(TOP "zones: { ext: { rate: 8mbit } }\npeers:\n" PEER(
			    "a", "192.0.2.1", "zone: ext, grant: { rate: 1mbit, mode: monitor }"),
		    GB, 1, 1);

	(void)state;
	assert_int_equal(r.unlimited, 1);
	close_to(r.rate_bps, 8e6);
	assert_string_equal(r.binding, "zone ext: rate 8mbit");
	r = ask(TOP "peers:\n" PEER("a", "192.0.2.1", "grant: { mode: monitor }"), GB, 1, 1);
	close_to(r.seconds, 0);
	assert_true(isinf(r.rate_bps) && isinf(r.at_once));
	assert_string_equal(r.binding, "nothing: no limit at all");
}

static void only_exits_count(void **state)
{
	struct bwl_exfil_result r = ask(
		TOP
		"peers:\n" PEER("a", "192.0.2.1", "contained: true, grant: { rate: 1gbit }") PEER(
			"b", "192.0.2.2", "accept: none") PEER("c", "192.0.2.3",
							       "floor: { rate: 1mbit }")
			PEER("d", "192.0.2.4",
			     "grant: { rate: 2mbit }, floor: { rate: 1mbit }, classes: { ssh: { rate: 1kbit } }") "  - { name: self, addresses: [192.0.2.9], grant: { rate: 1gbit } }\n",
		GB, 1, 1);

	(void)state;
	assert_int_equal(r.exits, 2);
	assert_int_equal(r.contained, 2);
	close_to(r.rate_bps, 3e6);
	r = ask(TOP, GB, 1, 1);
	assert_int_equal(r.exits, 0);
	assert_true(isinf(r.seconds));
	close_to(r.rate_bps, 0);
	assert_string_equal(r.binding, "no exits");
}

static void senseless_questions_are_refused(void **state)
{
	static const struct {
		uint64_t size;
		double compression;
		uint64_t trays;
	} bad[] = {
		{ 0, 1, 1 },   { 1, 0, 1 },        { 1, 0.5, 1 }, { 1, -1, 1 },
		{ 1, NAN, 1 }, { 1, INFINITY, 1 }, { 1, 1, 0 },
	};
	struct bwl_policy *p = bwl_policy_new();
	struct bwl_exfil_result r;
	struct bwl_err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_not_equal(bwl_exfil(p,
					       &(struct bwl_exfil_args){
						       .size = bad[i].size,
						       .compression = bad[i].compression,
						       .trays = bad[i].trays },
					       &r, &e),
				     0);
	bwl_policy_free(p);
}

/* A random policy with zones, ports and `from`, built directly rather than from text. */
static struct bwl_policy *random_policy(uint64_t *seed)
{
	static const char *const ports[] = { "h0", "h1" }, *const zones[] = { "", "x", "y" };
	struct bwl_policy *p = bwl_policy_new();

	p->ports = calloc(2, sizeof(*p->ports));
	p->zones = calloc(2, sizeof(*p->zones));
	p->nports = p->nzones = 2;
	for (int i = 0; i < 2; i++) {
		strcpy(p->ports[i].name, ports[i]);
		strcpy(p->zones[i].name, zones[i + 1]);
	}
	for (int i = 0; i < 12; i++) {
		struct bwl_lim l = {
			.rate_bps = 1000 + test_random_scale(seed, 34),
			.present = true,
			.burst = 2000 + test_random_scale(seed, 24),
		};

		if (test_random(seed) % 3 == 0) {
			l.has_volume = true;
			l.volume = test_random_scale(seed, 34);
			l.window_ns = test_random(seed) % 2
					      ? 11000000000 + test_random_scale(seed, 46)
					      : 0;
		}
		if (i < 2)
			p->zones[i].limit = l;
		else if (i < 4 && test_random(seed) % 2)
			p->ports[i - 2].limit = l;
		else if (i == 4 && test_random(seed) % 2)
			p->node_limit = l;
		if (i < 5)
			continue;
		struct bwl_pol_peer *x = bwl_policy_add_peer(p);

		snprintf(x->name, sizeof(x->name), "p%d", i);
		strcpy(x->zone, zones[test_random(seed) % 3]);
		if (test_random(seed) % 2)
			strcpy(x->from[x->nfrom++], ports[test_random(seed) % 2]);
		x->grant = l;
	}
	return p;
}

static double amount(const struct bwl_lim *l, double t)
{
	double a = INFINITY;

	if (l->present) {
		a = l->rate_bps / 8.0 * t + l->burst;
		if (l->has_volume)
			a = fmin(a, l->volume * (l->window_ns ? 1 + floor(t / (l->window_ns / 1e9) +
									  1e-9)
							      : 1));
	}
	return a;
}

/*
 * The same by brute force: the smallest cut over every choice of the zones and ports that are on
 * the source's side. A peer is cut if its zone's output may flow and one of its ports is beyond the
 * cut.
 */
static double brute_total(const struct bwl_policy *p, double t)
{
	double best = amount(&p->node_limit, t);

	for (unsigned z = 0; z < 4; z++) {         /* zones that are not cut themselves */
		for (unsigned h = 0; h < 4; h++) { /* ports that are not cut themselves */
			double cut = 0;

			for (unsigned i = 0; i < 2; i++) {
				cut += z & 1 << i ? 0 : amount(&p->zones[i].limit, t);
				cut += h & 1 << i ? 0 : amount(&p->ports[i].limit, t);
			}
			for (size_t i = 0; i < p->npeers; i++) {
				const struct bwl_pol_peer *x = &p->peers[i];
				unsigned may = !x->nfrom ? 3 : 1 << (x->from[0][1] - '0');

				if ((!*x->zone || z & 1 << (*x->zone - 'x')) && may & h)
					cut += amount(&x->grant, t);
			}
			best = fmin(best, cut);
		}
	}
	return best;
}

static void random_policies_agree_with_brute_force(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (int i = 0; i < 1500; i++) {
		struct bwl_policy *p = random_policy(&seed);
		struct bwl_exfil_args a = { .size = 1 + test_random_scale(&seed, 44),
					    .compression = 1,
					    .trays = 1 };
		struct bwl_exfil_result r;

		assert_int_equal(bwl_exfil(p, &a, &r, NULL), 0);
		close_to(r.at_once, brute_total(p, 0));
		if (isinf(r.seconds)) {
			assert_true(brute_total(p, 1e20) < a.size);
		} else {
			/* enough at that time, not enough just before */
			assert_true(brute_total(p, r.seconds * (1 + 1e-9)) >= a.size * (1 - 1e-9));
			if (r.seconds > 0 && brute_total(p, r.seconds * (1 - 1e-6)) >= a.size)
				fail_msg("round %d: %g s is not the least", i, r.seconds);
		}
		assert_true(*r.binding);
		bwl_policy_free(p);
	}
}

static void flows_agree_with_the_smallest_cut(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		unsigned n = 3 + test_random(&seed) % 5;
		double cap[8][8] = { { 0 } }, best = INFINITY;
		struct bwl_flow f;

		assert_int_equal(bwl_flow_init(&f, n), 0);
		for (unsigned i = 0; i < n; i++) {
			for (unsigned j = 0; j < n; j++) {
				if (i == j || test_random(&seed) % 2)
					continue;
				cap[i][j] = test_random(&seed) % 10
						    ? test_random_scale(&seed, 40) / 7.0
						    : INFINITY;
				assert_true(bwl_flow_edge(&f, i, j, cap[i][j]) >= 0);
			}
		}
		for (unsigned side = 0; side < 1U << n; side++) {
			double cut = 0;

			if (!(side & 1) || side & 2)
				continue;
			for (unsigned i = 0; i < n; i++)
				for (unsigned j = 0; j < n; j++)
					if (side & 1 << i && !(side & 1 << j))
						cut += cap[i][j];
			best = fmin(best, cut);
		}
		close_to(bwl_flow_max(&f), best);
		close_to(bwl_flow_max(&f), best); /* it starts over */
		bwl_flow_done(&f);
	}
}

/*
 * The summed curves of several trays give a time that is never too long, and at most a tenth too
 * short.
 */
static void curves_of_trays_add_up_to_a_time_that_is_never_too_long(void **state)
{
	double curve[BWL_EXFIL_POINTS], sum[BWL_EXFIL_POINTS], one, both;
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct bwl_policy *p = random_policy(&seed);
		struct bwl_exfil_args a = { .size = 1ULL << (20 + i % 30),
					    .compression = 1,
					    .trays = 1 };
		struct bwl_exfil_result r, half;

		assert_int_equal(bwl_exfil(p, &a, &half, NULL), 0);
		a.size *= 2;
		a.curve = curve;
		assert_int_equal(bwl_exfil(p, &a, &r, NULL), 0);
		for (unsigned k = 0; k < BWL_EXFIL_POINTS; k++)
			sum[k] = 2 * curve[k];
		one = bwl_exfil_least_s(curve, (double)a.size);
		both = bwl_exfil_least_s(sum, (double)a.size);
		if (isfinite(one))
			assert_true(one <= r.seconds &&
				    (one >= r.seconds / 1.0906 || r.seconds < 1));
		else
			assert_true(r.seconds > bwl_exfil_moment_s(BWL_EXFIL_POINTS - 1));
		assert_true(both <= half.seconds || isinf(both));
		bwl_policy_free(p);
	}
}

static struct bwl_exfil_result ask_with_records(const char *yaml, double size, uint64_t volume)
{
	struct bwl_exfil_args a = { .size = (uint64_t)size,
				    .compression = 1,
				    .trays = 1,
				    .records = { .rate_bps = BWL_NO_RATE,
						 .volume = volume,
						 .window_ns = 86400000000000ULL,
						 .has_volume = true,
						 .present = true } };
	struct bwl_exfil_result r;
	struct bwl_policy *p;
	struct bwl_err e = { 0 };

	assert_int_equal(bwl_policy_parse("t", yaml, strlen(yaml), 0, 0, &p, &e), 0);
	assert_int_equal(bwl_exfil(p, &a, &r, &e), 0);
	bwl_policy_free(p);
	return r;
}

static void flow_records_that_leave_are_a_way_out(void **state)
{
	static const char *const closed = TOP
		"peers:\n" PEER("a", "192.0.2.1", "grant: { rate: 8mbit }, contained: true");
	struct bwl_exfil_result r = ask(closed, GB, 1, 1);

	(void)state;
	assert_true(isinf(r.seconds));
	/*
	 * one window's volume leaves at once, the next when the next window begins: 1 GiB takes 8
	 */
	r = ask_with_records(closed, GB, 1 << 27);
	close_to(r.seconds, 7 * DAY);
	close_to(r.at_once, 1 << 27);
	assert_int_equal(r.exits, 1);
	assert_string_equal(r.binding, "records: volume 128mb per 1d");
	/* beside a peer, and with a node limit, which does not apply to records */
	r = ask_with_records(TOP "node_limit: { volume: 100mb per 1d }\npeers:\n" PEER(
				     "a", "192.0.2.1", "grant: { rate: 1gbit }"),
			     200 << 20, 100 << 20);
	close_to(r.seconds, ask(TOP "peers:\n" PEER("a", "192.0.2.1", "grant: { rate: 1gbit }"),
				100 << 20, 1, 1)
				    .seconds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flow_records_that_leave_are_a_way_out),
		cmocka_unit_test(one_rate_takes_size_over_rate_less_the_burst),
		cmocka_unit_test(what_fits_in_the_bursts_leaves_at_once),
		cmocka_unit_test(the_horizon_of_shape_counts_as_burst),
		cmocka_unit_test(a_volume_leaves_at_once_and_again_after_each_window),
		cmocka_unit_test(a_total_volume_is_never_exceeded),
		cmocka_unit_test(a_zone_caps_the_sum_of_its_peers),
		cmocka_unit_test(port_and_node_cap_everything),
		cmocka_unit_test(a_peer_only_reaches_the_ports_it_may_be_used_from),
		cmocka_unit_test(what_ports_may_send_to_a_peer_is_added_up_below_its_grant),
		cmocka_unit_test(monitor_and_no_rate_are_no_limit),
		cmocka_unit_test(only_exits_count),
		cmocka_unit_test(senseless_questions_are_refused),
		cmocka_unit_test(curves_of_trays_add_up_to_a_time_that_is_never_too_long),
		cmocka_unit_test(random_policies_agree_with_brute_force),
		cmocka_unit_test(flows_agree_with_the_smallest_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
