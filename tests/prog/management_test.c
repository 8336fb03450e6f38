// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What leaves through a management device (bpf/lib/management.h): everything that the DPU itself
 * sends, whatever mark others put on it; nothing that has this boot's tag or came in through a
 * port.
 */
#include "prog.h"

#define MGMT RIG_P1 /* the rig's device that stands for it */
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* What a DPU sends by itself, and what its kernel answers: of each family and protocol. */
static const char *const said[] = {
	"eth ip4 src=10.250.0.1 dst=10.250.0.2 tcp sport=22 dport=40000 flags=0x18 fill=400",
	"eth ip4 src=10.250.0.1 dst=10.250.0.2 tcp sport=22 dport=40000 flags=0x04",
	"eth ip4 src=10.250.0.1 dst=10.250.0.2 udp sport=123 dport=123 fill=48",
	"eth ip4 src=10.250.0.1 dst=10.250.0.2 icmp kind=0 fill=56",
	"eth ip4 src=10.250.0.1 dst=10.250.0.2 icmp kind=3 code=3 fill=28",
	"eth ip4 src=10.250.0.1 dst=10.250.0.2 id=7 mf=1 udp fill=1400",
	"eth ip4 src=10.250.0.1 dst=10.250.0.2 id=7 off=1408 type=17 fill=800",
	"eth dst=01:00:5e:00:00:16 ip4 src=10.250.0.1 dst=224.0.0.22 ttl=1 igmp",
	"eth ip4 src=10.250.0.1 dst=10.250.0.2 type=50 fill=80",
	"eth ip6 src=fd00:250::1 dst=fd00:250::2 tcp sport=22 dport=40000 flags=0x18 fill=400",
	"eth ip6 src=fd00:250::1 dst=fd00:250::2 tcp sport=22 dport=40000 flags=0x04",
	"eth ip6 src=fd00:250::1 dst=fd00:250::2 udp sport=123 dport=123 fill=48",
	"eth ip6 src=fd00:250::1 dst=fd00:250::2 icmp kind=129 fill=56",
	"eth ip6 src=fd00:250::1 dst=fd00:250::2 icmp kind=1 code=4 fill=48",
	"eth ip6 src=fd00:250::1 dst=fd00:250::2 frag6 id=7 mf=1 udp fill=1400",
	"eth ip6 src=fd00:250::1 dst=fd00:250::2 hop=255 nd kind=135 target=fd00:250::2",
	"eth ip6 src=fd00:250::1 dst=fd00:250::2 hop=255 nd kind=136 flags=0x60000000 target=fd00:250::1",
	"eth dst=33:33:00:00:00:02 ip6 src=fe80::1 dst=ff02::2 hop=255 nd kind=133",
	"eth dst=33:33:00:00:00:16 ip6 src=fe80::1 dst=ff02::16 hop=1 ext kind=0 size=8 icmp kind=143",
	"eth ip6 src=fd00:250::1 dst=fd00:250::2 type=50 fill=80",
	"eth dst=ff:ff:ff:ff:ff:ff arp op=1 sip=10.250.0.1 tip=10.250.0.2",
	"eth arp op=2 sip=10.250.0.1 tip=10.250.0.2",
	"eth vlan id=5 ip4 src=10.250.0.1 dst=10.250.0.2 udp fill=48",
	"eth dst=01:80:c2:00:00:0e type=0x88cc fill=64",
	"eth type=0x88b5 fill=1000",
};

static void managing(void)
{
	rig->pins->dev[MGMT].kind = BWL_PORT_MANAGEMENT;
}

/* With this mark, of a packet that came in at `came` (RIG_NOWHERE: the DPU's own). */
static const char *leaves(const char *spec, uint32_t mark, enum rig_port came)
{
	return judge(&(struct rig_packet){ .prog = RIG_MGMT,
					   .port = MGMT,
					   .spec = spec,
					   .mark = mark,
					   .ingress = came },
		     NULL);
}

static void all_leave(uint32_t mark, enum rig_port came, const char *reason)
{
	size_t i;

	for (i = 0; i < COUNT(said); i++)
		if (strcmp(leaves(said[i], mark, came), reason))
			fail_msg("'%s', mark %#x, of %d: not %s", said[i], mark, (int)came, reason);
}

static void what_the_dpu_says_by_itself_passes(void **state)
{
	(void)state;
	managing();
	all_leave(0, RIG_NOWHERE, "pass-own");
	all_leave(0, MGMT, "pass-own");      /* came in there: the DPU's own answer */
	all_leave(0, RIG_ALIEN, "pass-own"); /* of a bridge's or a container's device */
	apply(PORTS "heartbeat: none\npeers: []\n");
	all_leave(0, RIG_NOWHERE, "pass-own");
	rig->pins->ctl->stop = BWL_STOPPED;
	all_leave(0, RIG_NOWHERE, "pass-own");
	rig->pins->ctl->stop = BWL_UPGRADING;
	all_leave(0, RIG_NOWHERE, "pass-own");
}

static void what_carries_our_mark_is_dropped_and_counted(void **state)
{
	uint32_t tag = rig->pins->ctl->tag, up = bwl_mark_up(tag);

	(void)state;
	managing();
	all_leave(tag, RIG_NOWHERE, "reflected");
	all_leave(up, RIG_NOWHERE, "reflected");
	all_leave((tag & ~BWL_MARK_ID) | 5, RIG_NOWHERE, "reflected");
	all_leave(up | BWL_MARK_ID, RIG_NOWHERE, "reflected");
	all_leave(up, RIG_H0, "reflected");
	all_leave(up, MGMT, "reflected");
	rig->pins->ctl->stop = BWL_STOPPED;
	all_leave(up, RIG_NOWHERE, "reflected");
	assert_int_equal(rig_frames(rig, BWL_MAX_PORTS + MGMT, BWL_R_REFLECTED), 7 * COUNT(said));
	assert_int_equal(rig_frames(rig, BWL_MAX_PORTS + MGMT, BWL_R_PASS_OWN), 0);
	assert_int_equal(rig_charged(rig, BWL_MAX_PORTS + MGMT, BWL_R_REFLECTED), 0);
}

/*
 * A mark that differs in one bit of the tag is somebody else's; the other bits are an id and the
 * direction.
 */
static void every_bit_of_the_tag_must_be_ours_and_no_other_bit_matters(void **state)
{
	uint32_t tag = rig->pins->ctl->tag, n, step = BWL_MARK_TAG & -BWL_MARK_TAG;
	unsigned bit;

	(void)state;
	managing();
	for (bit = 0; bit < 32; bit++)
		assert_string_equal(leaves(said[bit % COUNT(said)], tag ^ 1U << bit, RIG_NOWHERE),
				    BWL_MARK_TAG >> bit & 1 ? "pass-own" : "reflected");
	for (n = 0; n <= BWL_MARK_TAG / step; n++)
		assert_string_equal(leaves(said[n % COUNT(said)], n * step, RIG_NOWHERE),
				    n * step == (tag & BWL_MARK_TAG) ? "reflected" : "pass-own");
}

/* For every tag that a boot may draw, with each bit changed: no tag is easier to miss. */
static void the_same_for_tags_of_other_boots(void **state)
{
	static const uint32_t tags[] = {
		0x00400000U, 0x40000000U, 0x7fc00000U, 0x3fffffffU,
		0x80400000U, 0xffffffffU, 0x2a800000U,
	};
	unsigned bit;
	size_t i;

	(void)state;
	managing();
	for (i = 0; i < COUNT(tags); i++) {
		rig->pins->ctl->tag = tags[i];
		assert_string_equal(leaves(said[0], 0, RIG_NOWHERE), "pass-own");
		for (bit = 0; bit < 32; bit++)
			assert_string_equal(leaves(said[0], tags[i] ^ 1U << bit, RIG_NOWHERE),
					    BWL_MARK_TAG >> bit & 1 ? "pass-own" : "reflected");
	}
}

static void marks_of_others_pass(void **state)
{
	static const uint32_t marks[] = {
		1,           0xff,        0x4000,      0x8000,      /* kube-proxy */
		0x200,       0xf00,       0x10000,     0xffff0000U, /* cilium, calico */
		0xca6c,      0x80000,     0xff0000,                 /* WireGuard, Tailscale */
		0x62776c00U, /* our if_id is not one of our marks */
		0x3fffff,    0x80000000U, 0x7fffffffU, 0xffffffffU,
	};
	uint32_t tag = rig->pins->ctl->tag & BWL_MARK_TAG;
	size_t i;

	(void)state;
	managing();
	for (i = 0; i < COUNT(marks); i++) {
		assert_int_not_equal(marks[i] & BWL_MARK_TAG, tag);
		all_leave(marks[i], RIG_NOWHERE, "pass-own");
	}
	all_leave(~tag, RIG_NOWHERE, "pass-own");
}

/* Before the first boot's tag is drawn, or after it was lost: ssh works. */
static void without_a_tag_no_mark_is_ours(void **state)
{
	(void)state;
	managing();
	rig->pins->ctl->tag = 0;
	all_leave(0, RIG_NOWHERE, "pass-own");
	rig->pins->ctl->tag = BWL_MARK_ID | BWL_MARK_UP;
	all_leave(0, RIG_NOWHERE, "pass-own");
	all_leave(BWL_MARK_ID | BWL_MARK_UP, RIG_NOWHERE, "pass-own");
}

static void what_a_port_brought_is_dropped_without_any_mark(void **state)
{
	(void)state;
	managing();
	all_leave(0, RIG_H0, "reflected");
	all_leave(0, RIG_H1, "reflected");
	all_leave(0, RIG_P0, "reflected");
	all_leave(0xca6c, RIG_P0, "reflected");
	rig->pins->ifport[rig->ifindex[RIG_H1]].v = 0; /* no longer a port */
	all_leave(0, RIG_H1, "pass-own");
}

/* The program outlives its device's entry: not counted, but the same verdict. */
static void a_device_without_an_entry_is_judged_all_the_same(void **state)
{
	struct rig_packet k = {
		.prog = RIG_MGMT, .port = MGMT, .spec = said[0], .ingress = RIG_NOWHERE
	};
	static struct rig_result r;

	(void)state;
	managing();
	rig->pins->ifport[rig->ifindex[MGMT]].v = 0;
	rig_run(rig, &k, &r);
	assert_int_equal(r.counted, 0);
	assert_int_equal((int)r.act, TC_ACT_UNSPEC);
	k.mark = bwl_mark_up(rig->pins->ctl->tag);
	rig_run(rig, &k, &r);
	assert_int_equal(r.counted, 0);
	assert_int_equal(r.act, TC_ACT_SHOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(what_the_dpu_says_by_itself_passes),
		RIG_TEST(what_carries_our_mark_is_dropped_and_counted),
		RIG_TEST(every_bit_of_the_tag_must_be_ours_and_no_other_bit_matters),
		RIG_TEST(the_same_for_tags_of_other_boots),
		RIG_TEST(marks_of_others_pass),
		RIG_TEST(without_a_tag_no_mark_is_ours),
		RIG_TEST(what_a_port_brought_is_dropped_without_any_mark),
		RIG_TEST(a_device_without_an_entry_is_judged_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
