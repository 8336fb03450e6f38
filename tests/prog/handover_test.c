// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What XDP hands to TC in a packet's metadata (bpf/lib/handover.h): the same for every packet of a
 * flow, different after every edit, and none if TC must look itself. That TC trusts no other
 * metadata is tested in tests/thief/25_metadata.sh: test runs of TC have no metadata.
 */
#define RIG_HOST_ONLY
#include "prog.h"

#define META 24 /* bytes */
#define HEAD PORTS "heartbeat: none\n"
#define PEER(name, n)                                                                              \
	"  - { name: " name ", addresses: [10." #n ".0.0/16, 'fd00:" #n "::/64'], path: clear,"    \
	" via: 192.0.2.1, via6: 'fe80::1', grant: { rate: 1gbit } }\n"
#define BOTH HEAD "peers:\n" PEER("one", 1) PEER("two", 2)

static struct rig_result res;

/* The metadata of a frame that XDP passes to TC; NULL: none. */
static const uint8_t *handed(const char *spec)
{
	const struct rig_packet k = { .prog = RIG_XDP, .port = RIG_H0, .spec = spec };
	static uint8_t meta[META];
	size_t len;

	rig_run(rig, &(struct rig_packet){ .prog = RIG_HOST, .port = RIG_H0, .spec = spec }, &res);
	len = res.len;
	rig_run(rig, &k, &res);
	if (res.act != XDP_PASS_ACT || res.len == len)
		return NULL;
	assert_int_equal(res.len, len + META);
	memcpy(meta, res.data, META);
	return meta;
}

static bool same(const char *a, const char *b)
{
	uint8_t first[META];
	const uint8_t *m = handed(a);

	if (!m)
		return false;
	memcpy(first, m, META);
	m = handed(b);
	return m && !memcmp(first, m, META);
}

/* Frames that XDP passes are counted by TC, which is not run here. */
static int down(void **state)
{
	(void)state;
	rig_close(rig);
	return 0;
}

static void packets_of_a_flow_have_the_same(void **state)
{
	(void)state;
	rig_policy(rig, BOTH);
	rig_advance(RIG_SECOND); /* XDP does not pass again what TC refuses */
	assert_true(same("eth ip4 src=10.0.7.2 dst=10.1.0.1 tcp seq=1 flags=0x10 fill=10",
			 "eth ip4 src=10.0.7.2 ttl=9 dst=10.1.0.1 tcp seq=11 flags=0x18 fill=900"));
	rig_advance(RIG_SECOND);
	assert_true(same("eth ip6 src=fd00:7::2 dst=fd00:1::1 udp fill=10",
			 "eth ip6 src=fd00:7::2 dst=fd00:1::1 udp fill=1000"));
	assert_false(same("eth ip4 src=10.0.7.2 dst=10.1.0.1 udp",
			  "eth ip4 src=10.0.7.2 dst=10.2.0.1 udp"));
}

static void what_tc_must_look_at_itself_has_none(void **state)
{
	(void)state;
	rig_policy(rig, BOTH);
	assert_non_null(handed("eth ip4 src=10.0.7.2 dst=10.1.0.1 udp"));
	assert_null(handed("eth vlan id=5 ip4 src=10.0.7.2 dst=10.1.0.1 udp"));
	assert_null(handed("eth ip4 src=10.0.7.2 dst=10.3.0.1 udp"));
	assert_null(handed("eth arp op=1 sip=10.0.7.2 tip=10.0.7.1"));
}

static void every_edit_makes_it_another(void **state)
{
	static const char *const spec = "eth ip4 src=10.0.7.2 dst=10.1.0.1 udp";
	struct bwl_pins *pins;
	uint8_t was[META];

	(void)state;
	rig_policy(rig, BOTH);
	memcpy(was, handed(spec), META);
	rig_policy(rig, BOTH);
	assert_memory_not_equal(was, handed(spec), META);
	memcpy(was, handed(spec), META);
	pins = rig_pins(rig);
	__atomic_add_fetch(&pins->ctl->edits, 1, __ATOMIC_SEQ_CST);
	bwl_pins_close(pins);
	assert_memory_not_equal(was, handed(spec), META);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(packets_of_a_flow_have_the_same),
		TEST(what_tc_must_look_at_itself_has_none),
		TEST(every_edit_makes_it_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
