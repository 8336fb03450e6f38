// SPDX-License-Identifier: GPL-2.0-or-later
/* When XDP of a host port rests and when it looks again (bpf/lib/rest.h), on one CPU. */
#include "prog.h"

#define LOOKS 1024 /* BWL_LOOKS there */

#define PEER                                                                                       \
	PORTS "heartbeat: none\npeers:\n"                                                          \
	      "  - { name: one, addresses: [10.1.0.0/16], path: clear, via: 192.0.2.1,"            \
	      " grant: { rate: 1gbit } }\n"

static const struct rig_packet good = { .prog = RIG_XDP,
					.port = RIG_H0,
					.spec = "eth ip4 src=10.0.7.2 dst=10.1.0.1 udp" };
static const struct rig_packet nobodys = { .prog = RIG_XDP,
					   .port = RIG_H0,
					   .spec = "eth ip4 src=10.0.7.2 dst=10.9.0.1 udp" };

static int setup(void **state)
{
	stay_on_this_cpu();
	if (rig_setup(state))
		return -1;
	rig_policy(rig, PEER);
	rig_advance(RIG_SECOND);
	return 0;
}

/* Frames that XDP passes unexamined are TC's to count. */
static int down(void **state)
{
	(void)state;
	rig_close(rig);
	return 0;
}

static bool xdp_drops(void)
{
	return rig_fire(rig, &nobodys, 1) == XDP_DROP_ACT;
}

static unsigned tc_says(const char *spec)
{
	struct rig_result r;

	return rig_run(rig, &(struct rig_packet){ .prog = RIG_HOST, .port = RIG_H0, .spec = spec },
		       &r);
}

static void where_nothing_is_refused_it_rests(void **state)
{
	(void)state;
	assert_int_equal(rig_fire(rig, &good, LOOKS - 1), XDP_PASS_ACT);
	assert_true(xdp_drops());
	assert_int_equal(rig_fire(rig, &good, LOOKS), XDP_PASS_ACT);
	assert_false(xdp_drops());
}

static void what_it_drops_keeps_it_awake(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rig_fire(rig, &good, LOOKS - 1), XDP_PASS_ACT);
		assert_true(xdp_drops());
	}
}

static void what_tc_refuses_wakes_it_and_what_passes_does_not(void **state)
{
	(void)state;
	rig_fire(rig, &good, LOOKS);
	assert_int_equal(tc_says(good.spec), BWL_R_PASS);
	assert_false(xdp_drops());
	assert_int_equal(tc_says(nobodys.spec), BWL_R_NO_PEER);
	assert_true(xdp_drops());
}

static void what_it_passes_unseen_is_refused_by_tc(void **state)
{
	(void)state;
	rig_fire(rig, &good, LOOKS);
	assert_false(xdp_drops());
	assert_int_equal(tc_says(nobodys.spec), BWL_R_NO_PEER);
	assert_int_equal(rig_frames(rig, RIG_H0, BWL_R_NO_PEER), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(where_nothing_is_refused_it_rests),
		TEST(what_it_drops_keeps_it_awake),
		TEST(what_tc_refuses_wakes_it_and_what_passes_does_not),
		TEST(what_it_passes_unseen_is_refused_by_tc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
