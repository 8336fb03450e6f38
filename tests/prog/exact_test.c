// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where a CPU's shares must not be used (bpf/lib/cpu.h), everything is charged exactly: in a
 * program that interrupts another one on the same CPU, and on PREEMPT_RT.
 */
#include <bpf/bpf.h>
#define RIG_HOST_ONLY
#include "bwlimit_test.skel.h"
#include "dests.h"

#define BIG "udp fill=1458"
#define PACKETS 10

static void start(void)
{
	apply(HEAD "node_limit: { rate: 10gbit, burst: 2097152b }\n"
		   "peers:\n" DEST("a", 1) "grant: { rate: 10gbit, burst: 2097152b } }\n");
	rig_advance(RIG_SECOND);
}

/* From the limits' own words: by how much ten packets moved the grant's and the node's. */
static void ten_packets_charge(uint64_t *ret_grant, uint64_t *ret_node)
{
	const struct bwl_state *grant, *node;
	struct bwl_gen g;
	int i;

	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), &g, NULL), 0);
	node = &rig->pins->state[g.base->node.volume.state];
	bwl_gen_close(&g);
	grant = &rig->pins->state[bwl_grant_state(id_of("a"))];
	for (i = 0; i < 2; i++) /* the first takes the entry for the peer, the second fills it */
		assert_string_equal(host(TO(1) BIG), "pass");
	*ret_grant = grant->finish_bytes;
	*ret_node = node->finish_bytes;
	for (i = 0; i < PACKETS; i++)
		assert_string_equal(host(TO(1) BIG), "pass");
	*ret_grant = grant->finish_bytes - *ret_grant;
	*ret_node = node->finish_bytes - *ret_node;
}

static void all_is_charged_exactly(void)
{
	uint64_t grant, node;

	ten_packets_charge(&grant, &node);
	assert_int_equal(grant, PACKETS * 1500);
	assert_int_equal(node, PACKETS * 1500);
}

static void all_is_charged_by_shares(void)
{
	uint64_t grant, node;

	ten_packets_charge(&grant, &node);
	assert_int_equal(grant, 0);
	assert_int_equal(node, 0);
}

/* As if on each CPU a program was using the shares, and ours had interrupted it. */
static void every_cpu_is_busy(uint32_t busy)
{
	struct bwl_cpu *cpu = calloc((size_t)rig->cpus, sizeof(*cpu));
	int fd = rig->pins->fd[BWL_PIN_cpu], i;
	uint32_t zero = 0;

	assert_non_null(cpu);
	assert_int_equal(bpf_map_lookup_elem(fd, &zero, cpu), 0);
	for (i = 0; i < rig->cpus; i++) {
		assert_int_equal(cpu[i].busy, !busy);
		cpu[i].busy = busy;
	}
	assert_int_equal(bpf_map_update_elem(fd, &zero, cpu, 0), 0);
	free(cpu);
}

static void a_program_that_interrupts_another_leaves_its_shares_alone(void **state)
{
	uint64_t held;

	(void)state;
	start();
	all_is_charged_by_shares();
	held = held_of_peer("a");
	assert_true(held > PACKETS * 1500);
	every_cpu_is_busy(1);
	all_is_charged_exactly();
	assert_int_equal(held_of_peer("a"), held);
	every_cpu_is_busy(0); /* still set: a program that did not set it did not clear it */
	all_is_charged_by_shares();
}

/* The number of destinations that CPUs have cached. */
static unsigned noted_destinations(void)
{
	int fd = bpf_map__fd(rig->skel->maps.bwl_last_dest);
	uint32_t n = bpf_map__max_entries(rig->skel->maps.bwl_last_dest), i;
	struct {
		uint32_t addr[4], generation, slot, id, family;
	} *d = calloc((size_t)rig->cpus, sizeof(*d));
	unsigned noted = 0;
	int c;

	assert_non_null(d);
	assert_int_equal(bpf_map__value_size(rig->skel->maps.bwl_last_dest), sizeof(*d));
	for (i = 0; i < n; i++) {
		assert_int_equal(bpf_map_lookup_elem(fd, &i, d), 0);
		for (c = 0; c < rig->cpus; c++)
			noted += d[c].id != 0;
	}
	free(d);
	return noted;
}

static void where_programs_take_turns_on_a_cpu_nothing_is_kept_for_one(void **state)
{
	(void)state;
	start();
	all_is_charged_exactly();
	assert_int_equal(held_of_peer("a"), 0);
	assert_int_equal(noted_destinations(), 0);
}

static void else_destinations_are_noted(void **state)
{
	(void)state;
	start();
	all_is_charged_by_shares();
	assert_int_not_equal(noted_destinations(), 0);
}

static int realtime(void **state)
{
	(void)state;
	rig = rig_open(&(struct rig_opts){ .host_only = true, .realtime = true });
	runs = 0;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(a_program_that_interrupts_another_leaves_its_shares_alone),
		cmocka_unit_test_setup_teardown(
			where_programs_take_turns_on_a_cpu_nothing_is_kept_for_one, realtime,
			rig_teardown),
		RIG_TEST(else_destinations_are_noted),
	};

	stay_on_cpu(0);
	return cmocka_run_group_tests_name("exact", tests, NULL, NULL);
}
