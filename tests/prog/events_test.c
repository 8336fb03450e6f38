// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events have a budget per kind and port: events that a host causes at will hide no other kind and
 * no other port, and do not fill the ring.
 */
#include <bpf/libbpf.h>
#include "prog.h"

#define POLICY                                                                                     \
	PORTS "heartbeat: none\npeers:\n"                                                          \
	      "  - { name: v, addresses: [10.1.0.1], path: clear, via: 192.0.2.1,"                 \
	      " grant: { rate: 1gbit, volume: 3000b } }\n"                                         \
	      "  - { name: c, addresses: [10.1.0.2], path: clear, via: 192.0.2.1,"                 \
	      " grant: { rate: 1gbit }, classes: { ssh: { volume: 3000b },"                        \
	      " https: { rate: 8kbit, burst: 3000b } } }\n"
#define UNKNOWN "eth ip4 src=10.0.7.2 dst=10.9.0.1 udp"
#define UNKNOWN1 "eth ip4 src=10.0.8.2 dst=10.9.0.1 udp"
#define SPOOFED "eth ip4 src=10.0.9.2 dst=10.1.0.1 udp"

struct seen {
	unsigned n[_BWL_EVENT_MAX][BWL_MAX_PORTS], all;
};

static int on_event(void *ctx, void *data, size_t size)
{
	struct seen *s = ctx;
	struct bwl_event e;

	assert_int_equal(size, sizeof(e));
	memcpy(&e, data, size);
	assert_true(e.kind < _BWL_EVENT_MAX && e.port < BWL_MAX_PORTS);
	s->n[e.kind][e.port]++;
	s->all++;
	return 0;
}

static struct seen heard(void)
{
	struct ring_buffer *rb;
	struct seen s = { 0 };

	rb = ring_buffer__new(rig->pins->fd[BWL_PIN_event], on_event, &s, NULL);
	assert_non_null(rb);
	assert_true(ring_buffer__consume(rb) >= 0);
	ring_buffer__free(rb);
	return s;
}

static unsigned of(const struct seen *s, unsigned kind)
{
	unsigned n = 0;

	for (unsigned port = 0; port < BWL_MAX_PORTS; port++)
		n += s->n[kind][port];
	return n;
}

/* At the port with the most. */
static unsigned most(const struct seen *s, unsigned kind)
{
	unsigned n = 0;

	for (unsigned port = 0; port < BWL_MAX_PORTS; port++)
		if (s->n[kind][port] > n)
			n = s->n[kind][port];
	return n;
}

static const char *gate(void)
{
	return judge(&(struct rig_packet){ .prog = RIG_GATE,
					   .port = RIG_P0,
					   .spec = UNKNOWN,
					   .ingress = RIG_NOWHERE },
		     NULL);
}

static void junk(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		assert_string_equal(host(UNKNOWN), "no-peer");
		assert_string_equal(host(SPOOFED), "source-address");
	}
}

static void spend(const char *spec, const char *reason)
{
	for (unsigned i = 0; i < 10; i++)
		if (!strcmp(host(spec), reason))
			return;
	fail_msg("%s: never %s", spec, reason);
}

static void junk_at_a_port_costs_no_other_kind_and_no_other_port_its_event(void **state)
{
	uint64_t lost, total;
	struct seen s;

	(void)state;
	apply(POLICY);
	rig_advance(RIG_SECOND);
	junk(500);
	spend("eth ip4 src=10.0.7.2 dst=10.1.0.1 udp fill=900", "peer-volume");
	assert_string_equal(gate(), "gate");
	assert_string_equal(from(RIG_H1, UNKNOWN1), "no-peer");
	s = heard();
	assert_int_equal(of(&s, BWL_E_EXHAUSTED), 1);
	assert_int_equal(of(&s, BWL_E_GATE), 1);
	assert_int_equal(most(&s, BWL_E_NEW_DEST), BWL_EVENTS_PER_SEC);
	assert_true(of(&s, BWL_E_NEW_DEST) > BWL_EVENTS_PER_SEC); /* the other port's */
	assert_int_equal(of(&s, BWL_E_SPOOF), BWL_EVENTS_PER_SEC);
	/* lost events are counted by kind and port */
	rig_event_sums(rig->pins, &lost, &total);
	assert_int_equal(total - lost, s.all);
	assert_true(lost >= 2 * (500 - BWL_EVENTS_PER_SEC));
}

static void refusals_by_a_rate_do_not_hide_a_spent_volume_of_the_same_peer(void **state)
{
	struct seen s;

	(void)state;
	apply(POLICY);
	rig_advance(RIG_SECOND);
	spend("eth ip4 src=10.0.7.2 dst=10.1.0.2 tcp dport=443 fill=900", "class-rate");
	spend("eth ip4 src=10.0.7.2 dst=10.1.0.2 tcp dport=22 fill=900", "class-volume");
	/* and each once a second */
	spend("eth ip4 src=10.0.7.2 dst=10.1.0.2 tcp dport=443 fill=900", "class-rate");
	spend("eth ip4 src=10.0.7.2 dst=10.1.0.2 tcp dport=22 fill=900", "class-volume");
	s = heard();
	assert_int_equal(of(&s, BWL_E_DROP), 1);
	assert_int_equal(of(&s, BWL_E_EXHAUSTED), 1);
}

static void a_ring_that_nobody_reads_keeps_room_for_what_is_no_junk(void **state)
{
	struct seen s;

	(void)state;
	apply(POLICY);
	for (unsigned i = 0; i < BWL_EVENT_RING_BYTES / 72 / (2 * BWL_EVENTS_PER_SEC) + 10; i++) {
		rig_advance(RIG_SECOND);
		junk(BWL_EVENTS_PER_SEC);
	}
	spend("eth ip4 src=10.0.7.2 dst=10.1.0.1 udp fill=900", "peer-volume");
	assert_string_equal(gate(), "gate");
	s = heard();
	assert_int_equal(of(&s, BWL_E_EXHAUSTED), 1);
	assert_int_equal(of(&s, BWL_E_GATE), 1);
	assert_in_range(of(&s, BWL_E_NEW_DEST) + of(&s, BWL_E_SPOOF), BWL_EVENT_ROOM_JUNK / 72 - 64,
			BWL_EVENT_ROOM_JUNK / 72 + 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(junk_at_a_port_costs_no_other_kind_and_no_other_port_its_event),
		RIG_TEST(refusals_by_a_rate_do_not_hide_a_spent_volume_of_the_same_peer),
		RIG_TEST(a_ring_that_nobody_reads_keeps_room_for_what_is_no_junk),
	};

	/* The budgets are per CPU: on two CPUs the same junk causes twice the events. */
	stay_on_this_cpu();
	return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
