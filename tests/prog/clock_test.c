// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The coarse clock (bpf/lib/clock.h): it never prolongs a grant, whatever the clocks do; and
 * repeated refusals (bpf/lib/again.h) last no longer than necessary.
 */
#define RIG_HOST_ONLY
#include "dests.h"

#define BIG "udp fill=1458"
#define LATE 2000000 /* ns, as set in the rig */

static void lives_until(uint64_t expiry_ns)
{
	struct bwl_change c = { .set = BWL_SET_EXPIRY, .expiry_ns = expiry_ns };
	struct bwl_err e = { 0 };

	assert_int_equal(bwl_peer_change(rig->pins, "a", &c, &e), 0);
	assert_string_equal(host(TO(1) BIG),
			    "pass"); /* takes the entry for the peer, notes the clock */
	assert_string_equal(host(TO(1) BIG), "pass"); /* fills the share */
	assert_string_equal(host(TO(1) BIG), "pass"); /* from what the CPU holds */
}

static void start(void)
{
	rig_coarse_clock_behind(0);
	rig_policy(rig,
		   HEAD "peers:\n" DEST("a", 1) "grant: { rate: 10gbit, burst: 2097152b } }\n");
	rig_advance(RIG_SECOND);
}

/* To the nanosecond: if the coarse clock says that it may be over, the exact one is read. */
static void a_grant_ends_when_it_says_by_the_exact_clock(void **state)
{
	uint64_t end;

	(void)state;
	start();
	end = rig_now() + 100 * LATE;
	lives_until(end);
	rig_advance(100 * LATE - 1);
	assert_string_equal(host(TO(1) BIG), "pass");
	rig_advance(1);
	assert_string_equal(host(TO(1) BIG), "expired");
}

static void a_coarse_clock_that_lags_two_ticks_lengthens_nothing(void **state)
{
	uint64_t end;

	(void)state;
	start();
	end = rig_now() + 100 * LATE;
	lives_until(end);
	rig_advance(100 * LATE);
	rig_coarse_clock_behind(LATE);
	assert_string_equal(host(TO(1) BIG), "expired");
}

/*
 * The ticks stood still, and nothing reports it: a virtual machine that was not run, or a kernel
 * without the tracepoint. What the CPU held had been charged before. The first packet that needs
 * more reads both clocks, and from then on the grant is over.
 */
static void where_ticks_stood_still_a_cpu_passes_what_it_held_and_no_more(void **state)
{
	uint64_t end, passed = 0, day = 86400 * RIG_SECOND;
	uint64_t held;
	const char *last;

	(void)state;
	start();
	end = rig_now() + day / 2;
	lives_until(end);
	held = held_of_peer("a");
	assert_true(held > 1500);
	rig_coarse_clock_behind(day);
	rig_advance(day);
	while (!strcmp(last = host(TO(1) BIG), "pass"))
		passed += 1500;
	assert_string_equal(last, "expired");
	assert_int_equal(passed, held / 1500 * 1500);
	assert_string_equal(host(TO(1) BIG), "expired");
}

/* A suspend: the kernel reports it, and nothing that was held passes. */
static void after_a_suspend_a_cpu_passes_nothing_by_a_grant_that_has_ended(void **state)
{
	uint64_t day = 86400 * RIG_SECOND;

	(void)state;
	start();
	lives_until(rig_now() + day / 2);
	assert_true(held_of_peer("a") > 1500);
	rig_suspended(rig, day);
	assert_string_equal(host(TO(1) BIG), "expired");
}

static void after_a_suspend_a_cpu_goes_on_by_the_ticks_once_it_has_read_the_clock(void **state)
{
	uint64_t day = 86400 * RIG_SECOND, end;

	(void)state;
	start();
	end = rig_now() + 2 * day;
	lives_until(end);
	rig_suspended(rig, day);
	assert_string_equal(host(TO(1) BIG), "pass");
	assert_string_equal(host(TO(1) BIG), "pass");
	assert_true(held_of_peer("a") > 1500);
	/* A report without a change of the clocks costs one reading, and nothing else. */
	rig_suspended(rig, 0);
	rig_coarse_clock_behind(day);
	assert_string_equal(host(TO(1) BIG), "pass");
	rig_advance(end - rig_now());
	assert_string_equal(host(TO(1) BIG), "expired");
}

static void after_a_suspend_a_peer_without_a_share_passes_nothing(void **state)
{
	uint64_t day = 86400 * RIG_SECOND;

	(void)state;
	rig_coarse_clock_behind(0);
	rig_policy(rig,
		   HEAD "peers:\n" DEST("a", 1) "grant: { rate: 100mbit, burst: 524288b } }\n");
	rig_advance(RIG_SECOND);
	lives_until(rig_now() + day / 2);
	rig_suspended(rig, day);
	assert_string_equal(host(TO(1) BIG), "expired");
}

/* The same with the heartbeat, and with a tick that stopped. */
static void a_stopped_tick_does_not_keep_a_silent_peer_alive(void **state)
{
	const char *last;
	unsigned n = 0;

	(void)state;
	rig_coarse_clock_behind(0);
	rig_policy(rig, PORTS "heartbeat: 2s\npeers:\n" DEST(
				"a", 1) "grant: { rate: 10gbit, burst: 2097152b } }\n");
	rig->pins->ctl->heartbeat_ns = rig_now() + 10 * RIG_SECOND;
	rig_advance(RIG_SECOND);
	host(TO(1) BIG);
	host(TO(1) BIG);
	assert_string_equal(host(TO(1) BIG), "pass");
	rig_coarse_clock_behind(20 * RIG_SECOND);
	rig_advance(20 * RIG_SECOND);
	while (!strcmp(last = host(TO(1) BIG), "pass"))
		n++;
	assert_true(n <= (128 << 10) / 1500);
	assert_string_equal(host(TO(1) BIG), "silent");
}

/*
 * A softirq on a machine whose CPUs were all idle: the ticks stand still, and nothing reports it.
 */
static void a_grant_that_ends_while_the_ticks_stand_still_ends_when_it_says(void **state)
{
	uint64_t end;

	(void)state;
	start();
	end = rig_now() + 60000000;
	lives_until(end);
	rig_coarse_clock_behind(end - rig_now());
	rig_set_clock(end);
	assert_true(held_of_peer("a") > 1500);
	assert_string_equal(host(TO(1) BIG), "expired");
}

static void a_slice_that_is_over_while_the_ticks_stand_still_voids_what_was_held(void **state)
{
	uint64_t slice = RIG_SECOND, before;

	(void)state;
	rig_coarse_clock_behind(0);
	rig_policy(rig, HEAD
		   "peers:\n" DEST("a", 1) "grant: { rate: 100gbit, volume: 1gb per 11s } }\n");
	rig_advance(3 * slice - rig_now() % slice - 60000000);
	for (int i = 0; i < 10; i++)
		assert_string_equal(host(TO(1) BIG), "pass");
	before = held_of_peer("a");
	assert_true(before > 4500);
	rig_coarse_clock_behind(70000000);
	rig_advance(70000000);
	assert_string_equal(host(TO(1) BIG), "pass");
	assert_true(held_of_peer("a") > before); /* filled again, from the current slice */
}

/*
 * The ticks stand still for 150 ms, in which the grant ends. The CPU holds a share, but even by the
 * ticks 150 ms have passed since it last read the clock, more than it may go without
 * (BWL_UNCLOCKED_NS).
 */
static void a_cpu_that_did_without_the_clock_for_100_ms_of_ticks_reads_it(void **state)
{
	(void)state;
	start();
	lives_until(rig_now() + 200000000);
	rig_coarse_clock_behind(150000000);
	rig_advance(300000000);
	assert_true(held_of_peer("a") > 1500);
	assert_string_equal(host(TO(1) BIG), "expired");
}

/* The same for a peer without a share: its burst is too small for one. */
static void where_ticks_stood_still_a_peer_without_a_share_passes_128_kib_and_no_more(void **state)
{
	uint64_t passed = 0, day = 86400 * RIG_SECOND;
	const char *last;

	(void)state;
	rig_coarse_clock_behind(0);
	rig_policy(rig,
		   HEAD "peers:\n" DEST("a", 1) "grant: { rate: 100mbit, burst: 524288b } }\n");
	rig_advance(RIG_SECOND);
	lives_until(rig_now() + day / 2);
	rig_coarse_clock_behind(day);
	rig_advance(day);
	while (!strcmp(last = host(TO(1) BIG), "pass"))
		passed += 1500;
	assert_string_equal(last, "expired");
	assert_in_range(passed, (128 << 10) - 3 * 1500, (128 << 10) + 1500);
	assert_string_equal(host(TO(1) BIG), "expired");
}

/*
 * There the time is known within four ticks: never more than the burst passes, and only that much
 * less.
 */
static void without_a_share_a_burst_is_what_it_is_by_the_ticks_too(void **state)
{
	uint64_t passed = 0;
	int i;

	(void)state;
	rig_coarse_clock_behind(0);
	rig_policy(rig,
		   HEAD "peers:\n" DEST("a", 1) "grant: { rate: 100mbit, burst: 524288b } }\n");
	for (i = 0; i < 5; i++) {
		rig_advance(RIG_SECOND);
		rig_coarse_clock_behind(i % 2 ? LATE : 0);
		for (passed = 0; !strcmp(host(TO(1) BIG), "pass");)
			passed += 1500;
		assert_in_range(passed, 524288 - 2 * LATE / 80 - 1500, 524288);
	}
	rig_coarse_clock_behind(0);
}

static uint64_t refused(void)
{
	return rig_frames(rig, RIG_H0, BWL_R_PEER_RATE);
}

/* Events, sent or lost. */
static uint64_t events(void)
{
	uint64_t lost, total;

	rig_event_sums(rig->pins, &lost, &total);
	return total;
}

/*
 * 1 Mbit/s, 3 000 bytes: a frame of 1 500 bytes may pass every 12 ms. Meanwhile a new second
 * begins: the next frame that is judged and refused causes an event.
 */
static void a_frame_that_is_refused_again_passes_when_the_limit_has_room(void **state)
{
	uint64_t first, told;
	int i;

	(void)state;
	rig_coarse_clock_behind(0);
	rig_policy(rig, HEAD "peers:\n" DEST("a", 1) "grant: { rate: 1mbit, burst: 3000b } }\n");
	rig_advance(2 * RIG_SECOND - rig_now() % RIG_SECOND - 1000000);
	for (i = 0; i < 2; i++) { /* the burst's last frame may lack a byte at first */
		rig_advance(100000);
		while (!strcmp(host(TO(1) BIG), "pass"))
			;
	}
	told = events();
	rig_advance(1000000);
	first = refused();
	for (i = 0; i < 100; i++)
		assert_string_equal(host(TO(1) BIG), "peer-rate");
	assert_int_equal(refused() - first, 200); /* by XDP, and by TC, which is run nevertheless */
	assert_int_equal(events(), told);
	for (i = 0; !strcmp(host(TO(1) BIG), "peer-rate"); i++)
		rig_advance(100000);
	assert_in_range(i, 1, 121);
	assert_int_equal(events(), told + 1); /* from one that was judged, 10 ms after the first */
	assert_string_equal(host(TO(1) BIG), "peer-rate");
	for (i = 0; !strcmp(host(TO(1) BIG), "peer-rate"); i++)
		rig_advance(100000);
	assert_in_range(i, 119, 121);
	assert_string_equal(host(TO(1) BIG), "peer-rate");
	/* A smaller frame is judged by itself. */
	rig_advance(1000000);
	assert_string_equal(host(TO(1) "udp fill=18"), "pass");
}

/* Two host ports, one of them at its own limit: the other's packets to the same peer pass. */
static void a_host_at_its_limit_refuses_nobody_elses_packets(void **state)
{
	int i;

	(void)state;
	rig_coarse_clock_behind(0);
	rig_policy(rig,
		   "version: 1\nnode: rig\nuplinks: [p0]\nheartbeat: none\nhost_ports:\n"
		   "  - { dev: h0, sources: [10.0.7.0/24], limit: { rate: 1mbit, burst: 3000b } }\n"
		   "  - { dev: h1, sources: [10.0.8.0/24] }\npeers:\n" DEST(
			   "a", 1) "grant: { rate: 10gbit, burst: 2097152b } }\n");
	rig_advance(RIG_SECOND);
	while (!strcmp(host(TO(1) BIG), "pass"))
		;
	for (i = 0; i < 10; i++) {
		assert_string_equal(host(TO(1) BIG), "port-rate");
		assert_string_equal(from(RIG_H1, "eth ip4 src=10.0.8.2 dst=10.1.0.1 " BIG), "pass");
	}
}

/*
 * What the zone's limit refused for one peer it refuses for another one without being checked, for
 * the same time: the other peer's own limit does not change. Peers of other zones are not affected.
 */
static void what_a_zone_refused_is_refused_to_its_other_peers_as_long(void **state)
{
	uint32_t n;
	int i;

	(void)state;
	rig_coarse_clock_behind(0);
#define GRANT "grant: { rate: 10gbit, burst: 2097152b } }\n"
#define TIGHT "zone: tight, " GRANT
	rig_policy(rig, HEAD "zones: { tight: { rate: 1mbit, burst: 3000b } }\n"
			     "peers:\n" DEST("a", 1) TIGHT DEST("b", 2) TIGHT DEST("c", 3)
				     GRANT DEST("d", 4) TIGHT);
#undef GRANT
#undef TIGHT
	rig_advance(RIG_SECOND);
	while (!strcmp(host(TO(1) BIG), "pass"))
		;
	for (i = 0; i < 10; i++) {
		assert_string_equal(host(TO(2) BIG), "zone-rate");
		assert_string_equal(host(TO(3) BIG), "pass");
	}
	/*
	 * It is not checked again: a limit that suddenly has room, which never happens, is not
	 * noticed.
	 */
	for (n = 0; n < 2 * (rig->pins->schema.max_peers + rig->pins->schema.max_extras); n++)
		rig->pins->state[n].finish_bytes = 0;
	assert_string_equal(host(TO(4) BIG), "zone-rate");
	assert_string_equal(host(TO(4) "udp fill=18"), "pass"); /* smaller: judged by itself */
	for (i = 0; !strcmp(host(TO(4) BIG), "zone-rate"); i++)
		rig_advance(100000);
	assert_in_range(i, 1, 126);
}

static void every_edit_ends_what_was_noted(void **state)
{
	struct bwl_change c = { .set = BWL_SET_RATE | BWL_SET_BURST,
				.lim = { .rate_bps = 10000000000, .burst = 1 << 19 } };
	struct bwl_err e = { 0 };

	(void)state;
	rig_coarse_clock_behind(0);
	rig_policy(rig, HEAD "peers:\n" DEST("a", 1) "grant: { rate: 1mbit, burst: 3000b } }\n");
	rig_advance(RIG_SECOND);
	while (!strcmp(host(TO(1) BIG), "pass"))
		;
	assert_string_equal(host(TO(1) BIG), "peer-rate");
	assert_int_equal(bwl_peer_change(rig->pins, "a", &c, &e), 0);
	/* 5 000 bytes at the new rate, 1.6 ms before there would have been any at the old one */
	rig_advance(4000);
	assert_string_equal(host(TO(1) BIG), "pass");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(a_grant_ends_when_it_says_by_the_exact_clock),
		RIG_TEST(a_coarse_clock_that_lags_two_ticks_lengthens_nothing),
		RIG_TEST(where_ticks_stood_still_a_cpu_passes_what_it_held_and_no_more),
		RIG_TEST(after_a_suspend_a_cpu_passes_nothing_by_a_grant_that_has_ended),
		RIG_TEST(after_a_suspend_a_cpu_goes_on_by_the_ticks_once_it_has_read_the_clock),
		RIG_TEST(after_a_suspend_a_peer_without_a_share_passes_nothing),
		RIG_TEST(a_grant_that_ends_while_the_ticks_stand_still_ends_when_it_says),
		RIG_TEST(a_slice_that_is_over_while_the_ticks_stand_still_voids_what_was_held),
		RIG_TEST(a_cpu_that_did_without_the_clock_for_100_ms_of_ticks_reads_it),
		RIG_TEST(where_ticks_stood_still_a_peer_without_a_share_passes_128_kib_and_no_more),
		RIG_TEST(without_a_share_a_burst_is_what_it_is_by_the_ticks_too),
		RIG_TEST(a_stopped_tick_does_not_keep_a_silent_peer_alive),
		RIG_TEST(a_frame_that_is_refused_again_passes_when_the_limit_has_room),
		RIG_TEST(a_host_at_its_limit_refuses_nobody_elses_packets),
		RIG_TEST(what_a_zone_refused_is_refused_to_its_other_peers_as_long),
		RIG_TEST(every_edit_ends_what_was_noted),
	};

	/* What is held belongs to this CPU. */
	stay_on_cpu(0);
	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
