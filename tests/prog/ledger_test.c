// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promise 3 in the data plane: no volume is spent past its release, to the byte, and policies
 * without a ledger are not affected.
 */
#define RIG_HOST_ONLY
#include "prog.h"

#define DEST(name, n)                                                                              \
	"  - { name: " name ", addresses: [10.1.0." #n "], path: clear, via: 192.0.2.1, "
#define TO(n) "eth ip4 src=10.0.7.2 dst=10.1.0." #n " udp fill=958" /* 1000 bytes */
#define HEAD PORTS "heartbeat: none\n"
#define LEN 1000U

static void set_released(uint32_t state, uint64_t bytes)
{
	rig->pins->mark[state].spendable_bytes = bytes;
}

/* The number of frames that pass before the first refusal, whose reason must be `then`. */
static unsigned passes(const char *spec, const char *then)
{
	const char *name;
	unsigned n = 0;

	while (name = host(spec), !strncmp(name, "pass", 4) && n < 1000)
		n++;
	assert_string_equal(name, then);
	return n;
}

static void a_volume_is_spent_up_to_its_mark_and_not_a_byte_further(void **state)
{
	uint32_t total, window;

	(void)state;
	apply(HEAD "peers:\n" DEST("total", 1) "grant: { volume: 20000b } }\n" DEST(
		"windowed", 2) "grant: { volume: 20000b per 1h } }\n");
	rig_advance(RIG_SECOND);
	total = 2 * id_of("total");
	window = 2 * id_of("windowed");
	set_released(total, 5 * LEN);
	set_released(window, 5 * LEN - 1);
	assert_int_equal(passes(TO(1), "ledger"), 5);
	assert_int_equal(passes(TO(2), "ledger"), 4);
	assert_int_equal(rig->pins->state[total].used_bytes, 5 * LEN);
	set_released(window, 5 * LEN);
	assert_int_equal(passes(TO(2), "ledger"), 1);
	/* A release beyond the volume does not change it. */
	set_released(total, 1 << 30);
	set_released(window, 1 << 30);
	assert_int_equal(passes(TO(1), "peer-volume"), 15);
	assert_int_equal(passes(TO(2), "peer-volume"), 15);
	/* At the volume's end the volume refuses, and the refusal is repeated for a moment. */
	set_released(total, 20000);
	assert_string_equal(host(TO(1)), "peer-volume");
	set_released(total, BWL_RELEASE_CLOSED);
	assert_string_equal(host(TO(1)), "peer-volume");
	rig_advance(1000000);
	assert_string_equal(host(TO(1)), "ledger");
}

static void each_limit_has_a_release_of_its_own(void **state)
{
	struct bwl_gen g;
	uint32_t id, zone, class_, port, node;

	(void)state;
	/* So small that no CPU holds a share of them. */
	apply("version: 1\nnode: rig\nuplinks: [p0]\nhost_ports:\n"
	      "  - { dev: h0, sources: [10.0.7.0/24], limit: { volume: 5mb } }\n"
	      "heartbeat: none\nnode_limit: { volume: 5mb }\nzones: { z: { volume: 5mb } }\npeers:\n" DEST(
		      "x",
		      1) "zone: z, grant: { volume: 5mb }, classes: { other: { volume: 5mb } } }\n");
	rig_advance(RIG_SECOND);
	id = id_of("x");
	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), &g, NULL), 0);
	zone = g.base->zone[1].limit.volume.state;
	class_ = g.sub[1].volume.state;
	port = g.base->port[RIG_H0].limit.volume.state;
	node = g.base->node.volume.state;
	bwl_gen_close(&g);
	set_released(node, 5 * LEN);
	assert_int_equal(passes(TO(1), "ledger"), 5);
	set_released(node, BWL_RELEASE_NONE);
	set_released(port, 6 * LEN);
	assert_int_equal(passes(TO(1), "ledger"), 1);
	set_released(port, BWL_RELEASE_NONE);
	set_released(zone, 7 * LEN);
	assert_int_equal(passes(TO(1), "ledger"), 1);
	set_released(zone, BWL_RELEASE_NONE);
	set_released(class_, 8 * LEN);
	assert_int_equal(passes(TO(1), "ledger"), 1);
	/* The refusal by the class cost the peer nothing. */
	assert_int_equal(rig->pins->state[2 * id].used_bytes, 8 * LEN);
}

static void a_policy_that_requires_a_ledger_is_closed_until_one_has_come(void **state)
{
	(void)state;
	apply(HEAD "ledger: required\npeers:\n" DEST("x", 1) "grant: { volume: 20000b } }\n" DEST(
		"free", 2) "grant: { rate: 1gbit } }\n");
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1)), "ledger");
	assert_string_equal(host(TO(2)), "pass");
	set_released(2 * id_of("x"), 3 * LEN);
	assert_int_equal(passes(TO(1), "ledger"), 3);
	/* If it is applied again, what the ledger has released stays released. */
	apply(HEAD "ledger: required\npeers:\n" DEST("x", 1) "grant: { volume: 30000b } }\n");
	assert_int_equal(rig->pins->mark[2 * id_of("x")].spendable_bytes, 3 * LEN);
}

static void a_policy_without_ledger_takes_back_only_its_own_closing(void **state)
{
	(void)state;
	apply(HEAD "ledger: required\npeers:\n" DEST("x", 1) "grant: { volume: 20000b } }\n" DEST(
		"y", 2) "grant: { volume: 20000b } }\n");
	rig_advance(RIG_SECOND);
	set_released(2 * id_of("y"), BWL_RELEASE_CLOSED);
	apply(HEAD "peers:\n" DEST("x", 1) "grant: { volume: 20000b } }\n" DEST(
		"y", 2) "grant: { volume: 20000b } }\n");
	assert_string_equal(host(TO(1)), "pass");
	assert_string_equal(host(TO(2)), "ledger");
}

static void once_a_ledger_has_come_new_volumes_wait_for_it(void **state)
{
	const struct bwl_change c = { .set = BWL_SET_VOLUME,
				      .lim = { .has_volume = true, .volume = 20000 } };
	struct bwl_err e = { 0 };

	(void)state;
	apply(HEAD "peers:\n" DEST("x", 1) "grant: { rate: 1gbit } }\n");
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1)), "pass");
	rig->pins->ctl->ledger = 1;
	if (bwl_peer_change(rig->pins, "x", &c, &e))
		fail_msg("%s", e.text);
	assert_string_equal(host(TO(1)), "ledger");
	apply(HEAD "peers:\n" DEST("x", 1) "grant: { volume: 20000b } }\n" DEST(
		"y", 2) "grant: { volume: 20000b } }\n");
	assert_string_equal(host(TO(2)), "ledger");
}

/* Without --fresh-volume: as after a reboot. */
static void what_starts_spent_says_how_much_of_it_is_not_known(void **state)
{
	const struct rig_opts old = { .host_only = true, .old_volume = true };
	uint32_t id;

	(void)state;
	rig_close(rig);
	rig = rig_open(&old);
	apply(HEAD "peers:\n" DEST("x", 1) "grant: { volume: 20000b } }\n");
	rig_advance(RIG_SECOND);
	id = id_of("x");
	assert_string_equal(host(TO(1)), "peer-volume");
	assert_int_equal(rig->pins->mark[2 * id].unknown_bytes, 20000);
	assert_int_equal(rig->pins->state[2 * id].used_bytes, 20000);
	/* After its volume is raised, bytes pass beyond the unknown part. */
	apply(HEAD "peers:\n" DEST("x", 1) "grant: { volume: 22000b } }\n");
	assert_int_equal(passes(TO(1), "peer-volume"), 2);
	assert_int_equal(rig->pins->mark[2 * id].unknown_bytes, 20000);
}

static void whoever_gets_an_id_gets_no_release_with_it(void **state)
{
	uint32_t id;

	(void)state;
	apply(HEAD "peers:\n" DEST("x", 1) "grant: { volume: 20000b } }\n");
	id = id_of("x");
	set_released(2 * id, 1 << 20);
	rig->pins->mark[2 * id].unknown_bytes = 7;
	apply(HEAD "peers: []\n"); /* its account is empty: the id is free */
	apply(HEAD "peers:\n" DEST("y", 2) "grant: { volume: 20000b } }\n");
	assert_int_equal(id_of("y"), id);
	assert_int_equal(rig->pins->mark[2 * id].spendable_bytes, BWL_RELEASE_NONE);
	assert_int_equal(rig->pins->mark[2 * id].unknown_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(a_volume_is_spent_up_to_its_mark_and_not_a_byte_further),
		RIG_TEST(each_limit_has_a_release_of_its_own),
		RIG_TEST(a_policy_that_requires_a_ledger_is_closed_until_one_has_come),
		RIG_TEST(a_policy_without_ledger_takes_back_only_its_own_closing),
		RIG_TEST(once_a_ledger_has_come_new_volumes_wait_for_it),
		RIG_TEST(what_starts_spent_says_how_much_of_it_is_not_known),
		RIG_TEST(whoever_gets_an_id_gets_no_release_with_it),
	};

	stay_on_this_cpu(); /* a refusal is repeated by the CPU that noted it */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
