// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shares in the real programs (maps/share.h): CPUs that spend what they hold pass no more than the
 * limits allow, and what is revoked, stopped or replaced is not spent.
 */
#include <bpf/bpf.h>
#define RIG_HOST_ONLY
#include "hammer.h"

#define BURST (2 << 20)
#define BIG "udp fill=1458"
#define ECT "eth ip4 src=10.0.7.2 dst=10.1.0.1 tos=2 " BIG

/* What all CPUs hold of one share of bwl_cpu_v1. */
static uint64_t held_at(size_t offset)
{
	struct bwl_cpu *cpu = calloc((size_t)rig->cpus, sizeof(*cpu));
	uint32_t zero = 0;
	uint64_t sum = 0;
	int i;

	assert_non_null(cpu);
	assert_int_equal(bpf_map_lookup_elem(rig->pins->fd[BWL_PIN_cpu], &zero, cpu), 0);
	for (i = 0; i < rig->cpus; i++) {
		assert_int_equal(cpu[i].busy, 0);
		sum += ((const struct bwl_share *)((const char *)&cpu[i] + offset))->bytes;
	}
	free(cpu);
	return sum;
}

static uint64_t node_is_charged(void)
{
	struct bwl_gen g;
	uint64_t finish;

	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), &g, NULL), 0);
	finish = rig->pins->state[g.base->node.volume.state].finish_bytes;
	bwl_gen_close(&g);
	return finish;
}

/* Sends as many as pass now, on this CPU; returns bytes. */
static uint64_t flood(const char *spec)
{
	struct rig_packet k = { .spec = spec };
	uint64_t first = passed_bytes(), was;

	do {
		was = passed_bytes();
		rig_fire(rig, &k, 16);
		runs += 16;
	} while (passed_bytes() - was > 0);
	return was - first;
}

static void all_cpus_together_keep_limits_that_are_shared_out(void **state)
{
	static const char *const spec[] = { TO(1) "udp fill=958", TO(2) "udp fill=958" };

	(void)state;
	apply(HEAD "node_limit: { rate: 40gbit }\nzones: { z: { rate: 10gbit, burst: %d } }\n"
		   "peers:\n" DEST("a", 1) "zone: z, grant: { rate: 20gbit } }\n" DEST(
			   "b", 2) "zone: z, grant: { rate: 20gbit } }\n",
	      BURST);
	rig_advance(RIG_SECOND);
	saturate(spec, 2, BWL_R_ZONE_RATE, 10000000000, BURST, 400000, 100);
	apply(HEAD "node_limit: { rate: 40gbit }\npeers:\n" DEST(
		      "busy", 1) "grant: { rate: 10gbit, burst: %d } }\n",
	      BURST);
	rig_advance(RIG_SECOND);
	saturate(spec, 1, BWL_R_PEER_RATE, 10000000000, BURST, 400000, 50);
}

static void packets_spend_what_the_cpu_holds_and_no_word_of_all_cpus(void **state)
{
	uint64_t charged, held, peer;
	int i;

	(void)state;
	apply(HEAD "node_limit: { rate: 10gbit, burst: %d }\n"
		   "peers:\n" DEST("a", 1) "grant: { rate: 10gbit, burst: %d } }\n",
	      BURST, BURST);
	rig_advance(RIG_SECOND);
	for (i = 0; i < 2; i++) /* the first takes the entry for the peer, the second fills it */
		assert_string_equal(host(TO(1) BIG), "pass");
	charged = node_is_charged();
	held = held_at(offsetof(struct bwl_cpu, node));
	peer = held_of_peer("a");
	assert_true(held > 0 && peer > 0);
	for (i = 0; i < 10; i++)
		assert_string_equal(host(TO(1) BIG), "pass");
	assert_int_equal(node_is_charged(), charged);
	assert_int_equal(held - held_at(offsetof(struct bwl_cpu, node)), 15000);
	assert_int_equal(peer - held_of_peer("a"), 15000);
}

/*
 * The node's share is not spent on what the peer refuses, nor the peer's on what the node refuses.
 */
static void a_refused_packet_spends_nothing(void **state)
{
	uint64_t held;
	int i;

	(void)state;
	apply(HEAD "node_limit: { rate: 10gbit, burst: %d }\n"
		   "peers:\n" DEST("small", 1) "grant: { rate: 1mbit, burst: 3000b } }\n",
	      BURST);
	rig_advance(RIG_SECOND);
	flood(TO(1) BIG);
	held = held_at(offsetof(struct bwl_cpu, node));
	assert_true(held > 0);
	for (i = 0; i < 10; i++)
		assert_string_equal(host(TO(1) BIG), "peer-rate");
	assert_int_equal(held_at(offsetof(struct bwl_cpu, node)), held);

	apply(HEAD "node_limit: { rate: 1mbit, burst: 6000b }\n"
		   "peers:\n" DEST("large", 2) "grant: { rate: 10gbit, burst: %d } }\n",
	      BURST);
	rig_advance(4 * RIG_SECOND); /* what CPUs held of the larger node limit is debt */
	flood(TO(2) BIG);
	held = held_of_peer("large");
	assert_true(held > 0);
	for (i = 0; i < 10; i++)
		assert_string_equal(host(TO(2) BIG), "node-rate");
	assert_int_equal(held_of_peer("large"), held);
}

/*
 * Nor is anything put back into a share that was not spent from it: time and again the port refuses
 * a packet.
 */
static void a_port_passes_its_burst_and_its_rate_and_no_more(void **state)
{
	struct rig_packet k = { .spec = TO(1) BIG };
	const uint64_t step_ns = 12000;
	uint64_t first = passed_bytes(), steps;

	(void)state;
	apply("version: 1\nnode: rig\nuplinks: [p0]\nhost_ports:\n"
	      "  - { dev: h0, sources: [10.0.7.0/24], limit: { rate: 1gbit, burst: %d } }\n"
	      "heartbeat: none\nnode_limit: { rate: 40gbit }\n"
	      "peers:\n" DEST("a", 1) "grant: { rate: 20gbit } }\n",
	      BURST);
	rig_advance(RIG_SECOND);
	assert_true(flood(TO(1) BIG) > BURST / 2);
	for (steps = 1; steps < 2000; steps++) {
		rig_advance(step_ns);
		rig_fire(rig, &k, 4);
		runs += 4;
		assert_true(passed_bytes() - first <= BURST + steps * step_ns / 8);
	}
	assert_string_equal(host(TO(1) BIG), "port-rate");
}

static void what_is_held_ends_with_the_grant_the_policy_and_the_switch(void **state)
{
	struct bwl_change authorise = { .set = BWL_SET_AUTHORISE };
	struct bwl_change lower = { .set = BWL_SET_BURST, .lim = { .burst = 2000 } };
	struct bwl_err e = { 0 };

	(void)state;
	apply(HEAD "peers:\n" DEST("a", 1) "grant: { rate: 1gbit, burst: %d } }\n", BURST);
	rig_advance(RIG_SECOND);
	host(TO(1) BIG);
	host(TO(1) BIG);
	assert_true(held_of_peer("a") > 1500);
	assert_int_equal(bwl_revoke(rig->pins, "a", &e), 0);
	assert_string_equal(host(TO(1) BIG), "revoked");
	assert_int_equal(bwl_peer_change(rig->pins, "a", &authorise, &e), 0);
	rig->pins->ctl->stop = BWL_STOPPED;
	assert_string_equal(host(TO(1) BIG), "stop");
	rig->pins->ctl->stop = BWL_RUN;
	rig_advance(RIG_SECOND);
	host(TO(1) BIG);
	host(TO(1) BIG);
	assert_true(held_of_peer("a") > 1500);
	rig_advance(1);
	/* What CPUs held of the larger burst is debt: nothing passes until it has drained. */
	assert_int_equal(bwl_peer_change(rig->pins, "a", &lower, &e), 0);
	assert_int_equal(flood(TO(1) BIG), 0);
	rig_advance(RIG_SECOND);
	assert_int_equal(flood(TO(1) BIG), 1500);
}

/* Smaller and larger, back and forth by time: each time as much as possible is sent. */
static void nothing_an_operator_does_adds_to_a_burst_that_is_shared_out(void **state)
{
	static const char *const burst[] = { "2097152b", "2097152b", "1048576b", "100kb",
					     "30000b" };
	const struct bwl_publish_opts o = { .confirm_ns = 2000000 };
	uint64_t begin = rig_now(), now, passed, first;
	int64_t under, lowest = 0;
	struct bwl_err e = { 0 };
	char text[400];
	unsigned i;

	(void)state;
	apply(HEAD "peers:\n" DEST("name", 1) "grant: { rate: 1gbit, burst: 2097152b } }\n");
	begin = rig_now();
	first = passed_bytes();
	for (i = 0; i < 120; i++) {
		snprintf(text, sizeof(text),
			 HEAD "peers:\n" DEST("name", 1) "grant: { rate: 1gbit, burst: %s } }\n",
			 burst[i * 7 / 3 % 5]);
		rig_advance(1 + i % 5 * 3000000);
		if (i % 6 == 5) {
			assert_int_equal(rig_try_policy(rig, text, &o, NULL, &e), 0);
			flood(TO(1) BIG);
			rig_advance(o.confirm_ns);
			assert_int_equal(bwl_rollback(rig->pins, &e), 0);
		} else {
			rig_policy(rig, text);
		}
		flood(TO(1) BIG);
		now = rig_now();
		passed = passed_bytes() - first;
		under = (int64_t)passed - (int64_t)((now - begin) / 8);
		assert_true(under - lowest <= 2097152);
		if (under < lowest)
			lowest = under;
	}
}

static uint64_t used_by(const char *name)
{
	return rig->pins->state[bwl_grant_state(id_of(name))].used_bytes;
}

/* What the CPU holds of a volume is spent; near its end every byte is charged exactly. */
static void a_volume_is_spent_by_shares_and_never_exceeded(void **state)
{
	uint64_t first, used;
	int i;

	(void)state;
	apply(HEAD "peers:\n" DEST("a", 1) "grant: { rate: 10gbit, burst: %d, volume: 1gb } }\n",
	      BURST);
	rig_advance(RIG_SECOND);
	for (i = 0; i < 2; i++)
		assert_string_equal(host(TO(1) BIG), "pass");
	used = used_by("a");
	assert_int_equal(used, 3000 + held_of_peer("a"));
	for (i = 0; i < 10; i++)
		assert_string_equal(host(TO(1) BIG), "pass");
	assert_int_equal(used_by("a"), used);

	apply(HEAD
	      "peers:\n" DEST("b", 2) "grant: { rate: 10gbit, burst: %d, volume: 18000000b } }\n",
	      BURST);
	first = passed_bytes();
	for (i = 0; i < 40; i++) {
		rig_advance(RIG_SECOND);
		flood(TO(2) BIG);
	}
	/* The rest of a share, smaller than a frame, stays with the CPU. */
	assert_in_range(passed_bytes() - first, 18000000 - 1500, 18000000);
	assert_string_equal(host(TO(2) BIG), "peer-volume");
}

static void a_share_of_a_windowed_volume_ends_with_its_slice(void **state)
{
	uint64_t held;
	int i;

	(void)state;
	apply(HEAD
	      "peers:\n" DEST("a", 1) "grant: { rate: 10gbit, burst: %d, volume: 1gb per 11s } }\n",
	      BURST);
	rig_advance(RIG_SECOND - rig_now() % RIG_SECOND);
	for (i = 0; i < 2; i++)
		assert_string_equal(host(TO(1) BIG), "pass");
	held = held_of_peer("a");
	assert_true(held > 100000);
	rig_advance(RIG_SECOND - 1);
	assert_string_equal(host(TO(1) BIG), "pass");
	assert_int_equal(held_of_peer("a"), held - 1500);
	rig_advance(1);
	assert_string_equal(host(TO(1) BIG), "pass"); /* filled again: the rest is lost */
	assert_int_equal(held_of_peer("a"), held);
}

/* Mode mark without fq: by shares, with CE according to the debt. */
static void mark_marks_what_is_spent_by_shares(void **state)
{
	uint64_t marked;
	int i;

	(void)state;
	apply(HEAD
	      "peers:\n" DEST("m",
			      1) "grant: { rate: 1gbit, burst: %d, mode: mark, mark: 50%% } }\n",
	      BURST);
	rig_advance(RIG_SECOND);
	for (i = 0; i < 300; i++)
		assert_string_equal(host(ECT), "pass");
	assert_true(held_of_peer("m") > 0);
	marked = rig_frames(rig, RIG_H0, BWL_R_PASS_MARKED);
	for (i = 0; i < 500; i++)
		host(ECT);
	assert_true(rig_frames(rig, RIG_H0, BWL_R_PASS_MARKED) > marked);
}

/*
 * Mode shape with fq: by shares within the burst; once a packet has to wait, nothing overtakes it.
 */
static void what_a_cpu_holds_never_overtakes_a_packet_that_waits(void **state)
{
	int i;

	(void)state;
	if (!rig_keeps_times())
		skip();
	apply(HEAD "peers:\n" DEST("s", 1) "grant: { rate: 1gbit, burst: %d, mode: shape } }\n",
	      BURST);
	rig->pins->dev[RIG_P0].flags |= BWL_DEV_FQ;
	rig_advance(RIG_SECOND);
	for (i = 0; i < 3; i++)
		assert_string_equal(host(TO(1) BIG), "pass");
	assert_true(held_of_peer("s") > 0);
	for (; i < BURST / 1500 + 10; i++)
		assert_int_equal(strncmp(host(TO(1) BIG), "pass", 4), 0);
	assert_int_equal(held_of_peer("s"), 0);
}

static void a_class_is_spent_by_shares(void **state)
{
	uint64_t word;
	struct bwl_gen g;
	uint32_t class_;
	int i;

	(void)state;
	apply(HEAD "peers:\n" DEST(
		      "c",
		      1) "grant: { rate: 10gbit, burst: %d }, classes: { other: { rate: 10gbit, burst: %d } } }\n",
	      BURST, BURST);
	rig_advance(RIG_SECOND);
	for (i = 0; i < 3; i++)
		assert_string_equal(host(TO(1) BIG), "pass");
	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), &g, NULL), 0);
	class_ = g.sub[1].volume.state;
	bwl_gen_close(&g);
	word = rig->pins->state[class_].finish_bytes;
	for (i = 0; i < 10; i++)
		assert_string_equal(host(TO(1) BIG), "pass");
	assert_int_equal(rig->pins->state[class_].finish_bytes, word);
	/* … and is counted nevertheless. */
	assert_int_equal(rig->pins->state[class_ | 1].used_bytes, 13 * 1500);
}

/* The grant has lapsed: it still applies, beside the floor. */
static void a_floor_and_its_grant_are_spent_by_shares(void **state)
{
	struct bwl_change ends = { .set = BWL_SET_EXPIRY };
	struct bwl_err e = { 0 };
	struct bwl_gen g;
	uint64_t word, of_grant, held, held_grant;
	uint32_t floor, grant;
	int i;

	(void)state;
	apply(HEAD "peers:\n" DEST(
		      "f",
		      1) "grant: { rate: 10gbit, burst: %d }, floor: { rate: 10gbit, burst: %d } }\n",
	      BURST, BURST);
	grant = bwl_grant_state(id_of("f"));
	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), &g, NULL), 0);
	floor = g.sub[1].volume.state;
	bwl_gen_close(&g);
	ends.expiry_ns = rig_now() + RIG_SECOND;
	assert_int_equal(bwl_peer_change(rig->pins, "f", &ends, &e), 0);
	rig_advance(RIG_SECOND);
	for (i = 0; i < 2; i++)
		assert_string_equal(host(TO(1) BIG), "pass-floor");
	word = rig->pins->state[floor].finish_bytes;
	of_grant = rig->pins->state[grant].finish_bytes;
	held = held_of(floor);
	held_grant = held_of(grant);
	assert_true(held > 15000 && held_grant > 15000);
	for (i = 0; i < 10; i++)
		assert_string_equal(host(TO(1) BIG), "pass-floor");
	assert_int_equal(rig->pins->state[floor].finish_bytes, word);
	assert_int_equal(held - held_of(floor), 15000);
	assert_int_equal(rig->pins->state[grant].finish_bytes, of_grant);
	assert_int_equal(held_grant - held_of(grant), 15000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(all_cpus_together_keep_limits_that_are_shared_out),
		RIG_TEST(packets_spend_what_the_cpu_holds_and_no_word_of_all_cpus),
		RIG_TEST(a_refused_packet_spends_nothing),
		RIG_TEST(a_port_passes_its_burst_and_its_rate_and_no_more),
		RIG_TEST(what_is_held_ends_with_the_grant_the_policy_and_the_switch),
		RIG_TEST(nothing_an_operator_does_adds_to_a_burst_that_is_shared_out),
		RIG_TEST(a_volume_is_spent_by_shares_and_never_exceeded),
		RIG_TEST(a_share_of_a_windowed_volume_ends_with_its_slice),
		RIG_TEST(mark_marks_what_is_spent_by_shares),
		RIG_TEST(what_a_cpu_holds_never_overtakes_a_packet_that_waits),
		RIG_TEST(a_class_is_spent_by_shares),
		RIG_TEST(a_floor_and_its_grant_are_spent_by_shares),
	};

	/* What a CPU holds is tested on this one, except with hammers, which choose their own. */
	stay_on_cpu(0);
	return cmocka_run_group_tests_name("shares", tests, NULL, NULL);
}
