// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Latency as the real programs measure it, with the injected clock: each packet is in the right bin
 * of the right peer, and no verdict or mark depends on it.
 */
#include <bwl/latency.h>
#include "prog.h"

#define MICRO 1000ULL
#define MILLI 1000000ULL

#define POLICY                                                                                     \
	"version: 1\nnode: rig\nuplinks: [p0]\nhost_ports:\n"                                      \
	"  - { dev: h0, sources: [10.0.7.0/24] }\n"                                                \
	"heartbeat: none\nhorizon: 10ms\npeers:\n"                                                 \
	"  - { name: fast, addresses: [10.1.0.1], path: clear, via: 192.0.2.1,"                    \
	" grant: { rate: 100gbit } }\n"                                                            \
	"  - { name: paced, addresses: [10.1.0.2], path: clear, via: 192.0.2.1,"                   \
	" grant: { rate: 8mbit, burst: 3000b, mode: shape } }\n"                                   \
	"  - { name: sealed, addresses: [10.3.0.0/24], ipsec: { remote: 192.0.2.9 },"              \
	" grant: { rate: 100gbit } }\n"

static int setup(void **state)
{
	static const struct rig_opts o = { .plain_tunnel = true, .measures = true };

	(void)state;
	rig = rig_open(&o);
	runs = 0;
	rig->pins->dev[RIG_P0].flags = BWL_DEV_FQ;
	apply(POLICY);
	rig->pins->tunnel[id_of("sealed")].flags = BWL_TUN_SA;
	rig_advance(RIG_SECOND);
	return 0;
}
#define LAT_TEST(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)

/* Of a peer by name, which must have a row; NULL: of all peers without a row. */
static struct bwl_latency of(const char *name)
{
	static struct bwl_lat_peers all;
	struct bwl_err e = { 0 };
	size_t i;

	assert_int_equal(bwl_lat_read(rig->pins, &all, &e), 0);
	for (i = 0; i < all.n; i++)
		if (name ? !strcmp(all.peer[i].name, name) : !all.peer[i].id)
			return all.peer[i].sum;
	fail_msg("%s is not measured by name", name);
	return all.peer[0].sum;
}

static uint64_t at_gate(const char *name)
{
	struct bwl_latency l = of(name);

	return bwl_lat_frames(&l.gate);
}

static uint64_t in_shape(const char *name)
{
	struct bwl_latency l = of(name);

	return bwl_lat_frames(&l.shape);
}

static bool is_named(const char *name)
{
	static struct bwl_lat_peers all;
	struct bwl_err e = { 0 };
	size_t i;

	assert_int_equal(bwl_lat_read(rig->pins, &all, &e), 0);
	for (i = 1; i < all.n; i++)
		if (!strcmp(all.peer[i].name, name))
			return true;
	return false;
}

static void begin(const char *name)
{
	struct bwl_err e = { 0 };

	assert_int_equal(bwl_lat_begin(rig->pins, id_of(name), &e), 0);
}

static void end(const char *name)
{
	struct bwl_err e = { 0 };

	assert_int_equal(bwl_lat_end(rig->pins, name ? id_of(name) : 0, &e), 0);
}

static const char *send(const char *spec, struct rig_result *r)
{
	return judge(&(struct rig_packet){ .prog = RIG_HOST, .port = RIG_H0, .spec = spec }, r);
}

/* To the uplink, as the packet came out of the previous program. */
static const char *gate(const struct rig_result *was, const char *spec, struct rig_result *r)
{
	return judge(&(struct rig_packet){ .prog = RIG_GATE,
					   .port = RIG_P0,
					   .spec = spec,
					   .ingress = RIG_H0,
					   .mark = was->mark,
					   .priority = was->priority },
		     r);
}

#define FAST "eth ip4 src=10.0.7.2 dst=10.1.0.1 udp fill=100"
#define PACED "eth ip4 src=10.0.7.2 dst=10.1.0.2 udp fill=958"
#define SEALED "eth ip4 src=10.0.7.2 dst=10.3.0.1 udp fill=100"
#define ESP "eth ip4 src=192.0.2.2 dst=192.0.2.9 type=50 fill=160"

/* The bins, in ns: up to and including 2^i. Pure: the programs use the same function. */
static void a_bin_holds_what_is_above_half_of_its_end(void **state)
{
	uint32_t i;

	(void)state;
	assert_int_equal(bwl_lat_bin(0), 0);
	assert_int_equal(bwl_lat_bin(1), 0);
	for (i = 1; i < BWL_LAT_BINS - 1; i++) {
		assert_int_equal(bwl_lat_bin(1U << i), i);
		assert_int_equal(bwl_lat_bin((1U << i) + 1), i + 1);
	}
	assert_int_equal(bwl_lat_bin(1U << 31), BWL_LAT_BINS - 1);
	assert_int_equal(bwl_lat_bin(~0U), BWL_LAT_BINS - 1);
}

static void the_way_to_the_gate_is_in_its_bin(void **state)
{
	static const struct {
		uint64_t ns;
		unsigned bin;
	} way[] = { { 0, 0 },     { 2, 1 },          { 700, 10 },        { 1024, 10 },
		    { 1026, 11 }, { 5 * MICRO, 13 }, { 40 * MILLI, 26 }, { 2 * RIG_SECOND, 31 } };
	static struct rig_result r;
	struct bwl_latency was, is;
	unsigned i, b;

	(void)state;
	begin("fast");
	for (i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		was = of("fast");
		assert_string_equal(send(FAST, &r), "pass");
		assert_int_not_equal(r.priority, 0);
		rig_advance(way[i].ns);
		assert_string_equal(gate(&r, FAST, &r), "pass-gate");
		assert_int_equal(r.priority, 0); /* fq would choose a band by it */
		is = of("fast");
		for (b = 0; b < BWL_LAT_BINS; b++)
			assert_int_equal(is.gate.bin[b] - was.gate.bin[b], b == way[i].bin);
		assert_int_equal(is.gate.sum_ns - was.gate.sum_ns, way[i].ns);
		assert_int_equal(is.shape.bin[0] - was.shape.bin[0], 1);
		assert_int_equal(is.shape.sum_ns, 0);
		assert_int_equal(is.unmatched, 0);
	}
	/*
	 * An odd time: the time that is carried is odd, and so is the one that it is compared with.
	 */
	rig_advance(1);
	was = of("fast");
	assert_string_equal(send(FAST, &r), "pass");
	rig_advance(101);
	gate(&r, FAST, &r);
	is = of("fast");
	assert_in_range(is.gate.sum_ns - was.gate.sum_ns, 100, 102);
}

/*
 * One byte per microsecond: the first two pass at once, each further one waits one millisecond
 * longer.
 */
static void the_wait_in_shape_is_the_departure_time_less_now(void **state)
{
	static struct rig_result r;
	struct bwl_latency is;
	uint64_t want[BWL_LAT_BINS] = { 0 }, sum = 0, wait;
	unsigned n, b, late = 0;

	(void)state;
	if (!rig_keeps_times())
		skip();
	begin("paced");
	for (n = 0; !strcmp(send(PACED, &r), "pass") || r.reason == BWL_R_PASS_MARKED; n++) {
		wait = r.departs_ns ? r.departs_ns - rig_now() : 0;
		want[bwl_lat_bin((uint32_t)wait)]++;
		sum += wait;
		late += wait > 0;
	}
	assert_int_equal(r.reason, BWL_R_PEER_RATE); /* which is not measured */
	assert_int_equal(late, 10);
	is = of("paced");
	for (b = 0; b < BWL_LAT_BINS; b++)
		assert_int_equal(is.shape.bin[b], want[b]);
	assert_int_equal(is.shape.sum_ns, sum);
	assert_true(sum > 40 * MILLI);
	assert_int_equal(bwl_lat_frames(&is.gate), 0);
}

/* Through the tunnel device, where the priority is the peer's id, and as ESP to the last gate. */
static void what_is_encrypted_keeps_its_time(void **state)
{
	struct rig_packet k = {
		.prog = RIG_TUNOUT, .port = RIG_P1, .spec = SEALED, .ingress = RIG_H0
	};
	static struct rig_result r;
	struct bwl_latency is;

	(void)state;
	begin("sealed");
	assert_string_equal(send(SEALED, &r), "pass");
	assert_int_equal(r.priority, id_of("sealed"));
	k.mark = r.mark;
	k.priority = r.priority;
	rig_advance(300);
	assert_string_equal(judge(&k, &r), "pass-gate");
	assert_int_not_equal(r.priority, 0);
	rig_advance(20 * MICRO);
	assert_string_equal(gate(&r, ESP, &r), "pass-esp");
	assert_int_equal(r.priority, 0);
	is = of("sealed");
	assert_int_equal(is.gate.bin[15], 1); /* 20.3 µs */
	assert_int_equal(is.gate.sum_ns, 20 * MICRO + 300);
	/* The kernel segmented it: the second segment has the first one's time. */
	k.priority = 0;
	assert_string_equal(gate(&(struct rig_result){ .mark = r.mark }, ESP, &r), "gate");
}

/* No time was written: another packet's is not used instead. */
static void a_packet_without_a_time_passes_and_is_counted_as_unmatched(void **state)
{
	struct rig_packet k = {
		.prog = RIG_TUNOUT, .port = RIG_P1, .spec = SEALED, .ingress = RIG_H0
	};
	static struct rig_result r;
	struct bwl_latency is;

	(void)state;
	begin("sealed");
	begin("fast");
	assert_string_equal(send(SEALED, &r), "pass");
	k.mark = r.mark;
	k.priority = r.priority;
	assert_string_equal(judge(&k, &r), "pass-gate");
	assert_string_equal(judge(&k, &r), "pass-gate"); /* once more: its time is taken */
	assert_int_equal(r.priority, 0);
	assert_string_equal(gate(&r, ESP, &r), "pass-esp");
	is = of("sealed");
	assert_int_equal(is.unmatched, 1);
	assert_int_equal(bwl_lat_frames(&is.gate), 0);
	/* Another peer's packet was the last on this CPU: its time is not this one's. */
	assert_string_equal(send(SEALED, &r), "pass");
	send(FAST, NULL);
	assert_string_equal(judge(&k, &r), "pass-gate");
	assert_string_equal(gate(&r, ESP, &r), "pass-esp");
	is = of("sealed");
	assert_int_equal(is.unmatched, 2);
	assert_int_equal(of("fast").unmatched, 0);
	/* Nor what the gate stops, nor an unknown mark. */
	assert_string_equal(gate(&(struct rig_result){ .priority = 77 }, FAST, NULL), "gate");
	assert_int_equal(at_gate("fast"), 0);
}

/* Peers that were not named share one row, and no packet is counted in two. */
static void who_has_no_row_of_its_own_is_among_all_others(void **state)
{
	static struct rig_result r;
	unsigned i;

	(void)state;
	assert_false(is_named("fast"));
	assert_string_equal(send(FAST, &r), "pass");
	gate(&r, FAST, NULL);
	assert_int_equal(at_gate(NULL), 1);
	begin("fast");
	assert_int_equal(at_gate("fast"), 0);
	for (i = 0; i < 5; i++) {
		send(FAST, &r);
		gate(&r, FAST, NULL);
	}
	begin("fast"); /* again: nothing is lost */
	assert_int_equal(at_gate("fast"), 5);
	assert_int_equal(in_shape("fast"), 5);
	assert_int_equal(at_gate(NULL), 1);
	end("fast");
	assert_false(is_named("fast"));
	send(FAST, &r);
	gate(&r, FAST, NULL);
	assert_int_equal(at_gate(NULL), 2);
	begin("paced"); /* gets the row that fast had: it is empty */
	assert_int_equal(at_gate("paced"), 0);
}

/* The id goes to another peer: measurements are not shown under that one's name. */
static void an_id_that_another_peer_has_is_not_measured_by_name_any_more(void **state)
{
	uint32_t id;

	(void)state;
	begin("fast");
	id = id_of("fast");
	assert_true(is_named("fast"));
	strcpy(rig->pins->name[id].name, "other");
	assert_false(is_named("fast"));
	assert_false(is_named("other"));
	begin("paced"); /* makes room */
	strcpy(rig->pins->name[id].name, "fast");
	assert_false(is_named("fast"));
	assert_true(is_named("paced"));
}

static void rows_are_bounded_and_the_last_one_says_so(void **state)
{
	char yaml[20000];
	struct bwl_err e = { 0 };
	char name[32];
	unsigned i;
	int len;

	(void)state;
	len = snprintf(yaml, sizeof(yaml), PORTS "heartbeat: none\npeers:\n");
	for (i = 0; i < BWL_LAT_ROWS; i++)
		len += snprintf(
			yaml + len, sizeof(yaml) - (size_t)len,
			"  - { name: n%u, addresses: [10.5.0.%u], path: clear, via: 192.0.2.1, grant: { rate: 1gbit } }\n",
			i, i + 1);
	apply("%s", yaml);
	for (i = 0; i < BWL_LAT_ROWS - 1; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		begin(name);
	}
	snprintf(name, sizeof(name), "n%u", i);
	assert_int_equal(bwl_lat_begin(rig->pins, id_of(name), &e), -ENOSPC);
	assert_non_null(strstr(e.hint, "latency off"));
	assert_true(is_named("n0"));
	end(NULL);
	assert_false(is_named("n0"));
	begin(name);
}

/* The same packets, measured or not: verdicts, marks, frames and departure times are the same. */
static void measuring_changes_no_verdict(void **state)
{
	static const char *const spec[] = { FAST, PACED, SEALED,
					    "eth ip4 src=10.0.7.2 dst=9.9.9.9 udp",
					    "eth ip4 src=10.9.9.9 dst=10.1.0.1 udp" };
	static const struct rig_opts off = { .plain_tunnel = true };
	static struct rig_result with[60], without;
	unsigned i;

	(void)state;
	for (i = 0; i < 60; i++)
		send(spec[i % 5], &with[i]);
	rig_teardown(NULL);
	rig = rig_open(&off);
	runs = 0;
	rig->pins->dev[RIG_P0].flags = BWL_DEV_FQ;
	apply(POLICY);
	rig->pins->tunnel[id_of("sealed")].flags = BWL_TUN_SA;
	rig_advance(RIG_SECOND);
	for (i = 0; i < 60; i++) {
		send(spec[i % 5], &without);
		assert_int_equal(without.reason, with[i].reason);
		assert_int_equal(without.charged, with[i].charged);
		assert_int_equal(without.departs_ns, with[i].departs_ns);
		assert_int_equal(without.mark, with[i].mark);
		assert_int_equal(without.len, with[i].len);
		assert_memory_equal(without.data, with[i].data, without.len);
		if (without.reason == BWL_R_PASS && i % 5 == 0)
			assert_int_equal(without.priority, 0); /* nothing is left in it */
	}
	assert_int_equal(in_shape(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bin_holds_what_is_above_half_of_its_end),
		LAT_TEST(the_way_to_the_gate_is_in_its_bin),
		LAT_TEST(the_wait_in_shape_is_the_departure_time_less_now),
		LAT_TEST(what_is_encrypted_keeps_its_time),
		LAT_TEST(a_packet_without_a_time_passes_and_is_counted_as_unmatched),
		LAT_TEST(who_has_no_row_of_its_own_is_among_all_others),
		LAT_TEST(an_id_that_another_peer_has_is_not_measured_by_name_any_more),
		LAT_TEST(rows_are_bounded_and_the_last_one_says_so),
		LAT_TEST(measuring_changes_no_verdict),
	};

	stay_on_this_cpu(); /* on the way into the tunnel device the time is its CPU's */
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("latency", tests, NULL, NULL);
}
