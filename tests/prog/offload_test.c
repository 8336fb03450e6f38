// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Path offload: XDP carries what the uplink's hardware encrypts, charges it once as TC would, and
 * leaves everything else to TC uncharged. The tracker of SAs, which feeds the programs in
 * operation, is simulated here (ipsec/track.h, tests/vm/23_offload.sh).
 */
#include <linux/if_ether.h>
#include <netinet/in.h>
#include "prog.h"
#include "bwl/kernel_has.h"

#define XDP_REDIRECT_ACT 4U
#define NEXT_HOP                                                                                   \
	{                                                                                          \
		2, 0, 0, 0, 0, 0x77                                                                \
	}

#define HEAD                                                                                       \
	"version: 1\nnode: rig\nuplinks: [p0, p1]\n"                                               \
	"host_ports:\n  - { dev: h0, sources: [10.0.7.0/24, fd00:7::/64], vlans: [5] }\n"          \
	"heartbeat: none\npeers:\n"
#define TO(name, path, grant)                                                                      \
	"  - { name: " name ", addresses: [10.3.0.1, 'fd00:3::1'], path: " path                    \
	", ipsec: { remote: 192.0.2.9 }, " grant " }\n"
#define FAST "grant: { rate: 1gbit, mode: police }"
#define SLOW "grant: { rate: 8mbit, burst: 3000b, mode: police }"
#define UDP4 "eth ip4 src=10.0.7.2 dst=10.3.0.1 udp "
#define UDP6 "eth ip6 src=fd00:7::2 dst=fd00:3::1 udp "
#define ALL (BWL_TUN_SA | BWL_TUN_BENEATH | BWL_TUN_XDP)

static struct bwl_tunnel *entry(void)
{
	return &rig->pins->tunnel[id_of("sealed")];
}

/* As if the tracker reported that p0 carries the peer, valid for a day. */
static void offloaded(const char *policy)
{
	const uint8_t mac[8] = NEXT_HOP;
	struct bwl_tunnel *t;

	apply("%s", policy);
	rig_advance(RIG_SECOND);
	rig->pins->ctl->tunnel = 4242;
	rig->pins->ctl->tracked_until_s = (uint32_t)(rig_now() / RIG_SECOND) + 86400;
	memcpy(rig->pins->dev[RIG_P0].mac, "\x02\0\0\0\0\x99", 6);
	t = entry();
	t->overhead = 60;
	t->out = (uint32_t)rig->ifindex[RIG_P0];
	t->offload = BWL_OFFLOAD_PACKET;
	memcpy(&t->next_mac, mac, 8);
	t->flags = ALL;
}

/* Through XDP: its action must match what it counted, and it counts at most once. */
static uint32_t xdp(const char *spec, struct rig_result *r)
{
	rig_run(rig, &(struct rig_packet){ .prog = RIG_XDP, .port = RIG_H0, .spec = spec }, r);
	runs += r->counted;
	assert_int_equal(r->counted, r->act == XDP_PASS_ACT ? 0 : 1);
	if (r->act == XDP_REDIRECT_ACT)
		assert_true(bwl_reason_is_pass(r->reason));
	return r->act;
}

static bool carried(const char *spec)
{
	static struct rig_result r;

	return xdp(spec, &r) == XDP_REDIRECT_ACT;
}

static const char *dropped(const char *spec)
{
	static struct rig_result r;

	assert_int_equal(xdp(spec, &r), XDP_DROP_ACT);
	return bwl_reason_name(r.reason);
}

static struct bwl_state spent(void)
{
	return rig->pins->state[2 * id_of("sealed")];
}

static void what_the_uplink_encrypts_is_charged_counted_and_sent_once(void **state)
{
	struct bwl_peer_count n[256];
	struct bwl_err e = { 0 };
	static struct rig_result r;
	struct bwl_state was;

	(void)state;
	offloaded(HEAD TO("sealed", "offload", FAST));
	was = spent();
	assert_int_equal(xdp(UDP4 "fill=100", &r), XDP_REDIRECT_ACT);
	assert_string_equal(bwl_reason_name(r.reason), "pass");
	assert_int_equal(r.bytes, 14 + 20 + 8 + 100);
	assert_int_equal(r.charged, 14 + 20 + 8 + 100);
	assert_true(spent().finish_bytes > was.finish_bytes);
	assert_int_equal(bwl_peercnt_read(rig->pins, n, &e), 0);
	assert_int_equal(n[id_of("sealed")].frames, 1);
	assert_int_equal(n[id_of("sealed")].bytes, 14 + 20 + 8 + 100);
	assert_true(carried(UDP6 "fill=100"));
}

static void what_xdp_sends_is_counted_to_the_uplink_too_and_what_it_does_not_is_not(void **state)
{
	unsigned p0 = BWL_MAX_PORTS + RIG_P0, p1 = BWL_MAX_PORTS + RIG_P1;
	uint64_t frames = rig_frames(rig, p0, BWL_REASON_XDP),
		 bytes = rig_bytes(rig, p0, BWL_REASON_XDP);
	uint64_t other = rig_frames(rig, p1, BWL_REASON_XDP);

	(void)state;
	offloaded(HEAD TO("sealed", "offload", SLOW));
	assert_true(carried(UDP4 "fill=1400"));
	assert_true(carried(UDP4 "fill=1400"));
	assert_string_equal(dropped(UDP4 "fill=1400"), "peer-rate");
	assert_int_equal(rig_frames(rig, p0, BWL_REASON_XDP), frames + 2);
	assert_int_equal(rig_bytes(rig, p0, BWL_REASON_XDP), bytes + 2 * (14 + 20 + 8 + 1400));
	assert_int_equal(rig_frames(rig, p1, BWL_REASON_XDP), other);
}

static void it_leaves_for_the_next_hop_of_the_dpu_from_its_uplink(void **state)
{
	static const uint8_t head[] = { 2, 0, 0, 0, 0, 0x77, 2, 0, 0, 0, 0, 0x99, 8, 0 };
	static struct rig_result r;

	(void)state;
	offloaded(HEAD TO("sealed", "offload", FAST));
	assert_int_equal(xdp("eth dst=02:00:00:00:00:55 ip4 src=10.0.7.2 dst=10.3.0.1 udp", &r),
			 XDP_REDIRECT_ACT);
	assert_memory_equal(r.data, head, sizeof(head));
}

static void the_flow_label_of_the_host_goes_nowhere(void **state)
{
	uint8_t frame[ETH_HLEN + 48] = { 2,    0,    0,    0,       0, 9,        2,
					 0,    0,    0,    0,       1, 0x86,     0xdd,
					 0x6a, 0xbc, 0xde, 0xf1,    0, 8,        IPPROTO_UDP,
					 64,   0xfd, 0,    0,       7, [37] = 2, 0xfd,
					 0,    0,    3,    [53] = 1 };
	struct rig_packet k = {
		.prog = RIG_XDP, .port = RIG_H0, .data = frame, .len = sizeof(frame)
	};
	static struct rig_result r;

	(void)state;
	frame[ETH_HLEN + 40 + 5] = 8; /* UDP length */
	offloaded(HEAD TO("sealed", "offload", FAST));
	rig_run(rig, &k, &r);
	runs += r.counted;
	assert_int_equal(r.act, XDP_REDIRECT_ACT);
	assert_memory_equal(r.data + ETH_HLEN, "\x6a\xb0\x00\x00", 4); /* class kept, label gone */
}

static void a_refusal_drops_counts_and_gives_back(void **state)
{
	struct bwl_state was;

	(void)state;
	offloaded(HEAD TO("sealed", "offload", SLOW));
	assert_true(carried(UDP4 "fill=1400"));
	assert_true(carried(UDP4 "fill=1400"));
	was = spent();
	assert_string_equal(dropped(UDP4 "fill=1400"), "peer-rate");
	assert_int_equal(spent().finish_bytes, was.finish_bytes);
	/* The same account as at TC, whichever of the two charges. */
	assert_string_equal(bwl_reason_name(rig_send(rig, UDP4 "fill=1400")), "peer-rate");
	runs++;
	rig_advance(RIG_SECOND);
	assert_true(carried(UDP4 "fill=1400"));
}

static void every_limit_holds_as_at_tc(void **state)
{
	(void)state;
	offloaded(
		"version: 1\nnode: rig\nuplinks: [p0]\n"
		"host_ports:\n  - { dev: h0, sources: [10.0.7.0/24] }\nheartbeat: none\n"
		"zones: { narrow: { rate: 8mbit, burst: 3000b } }\npeers:\n"
		"  - { name: sealed, addresses: [10.3.0.1], path: offload, zone: narrow, ipsec: { remote: 192.0.2.9 }, grant: { rate: 1gbit, volume: 1mb, mode: police } }\n");
	rig->pins->ctl->fresh_volume = 1;
	assert_true(carried(UDP4 "fill=1400"));
	assert_true(carried(UDP4 "fill=1400"));
	assert_int_equal(spent().used_bytes, 2 * (14 + 20 + 8 + 1400));
	assert_string_equal(dropped(UDP4 "fill=1400"), "zone-rate");
	assert_int_equal(spent().used_bytes, 2 * (14 + 20 + 8 + 1400));
}

static void without_any_one_proof_tc_has_it_uncharged(void **state)
{
	static const uint8_t flags[] = { ALL & ~BWL_TUN_SA, ALL & ~BWL_TUN_BENEATH,
					 ALL & ~BWL_TUN_XDP };
	struct bwl_tunnel *t;
	struct bwl_state was;
	uint32_t until;
	size_t i;

	(void)state;
	offloaded(HEAD TO("sealed", "offload", FAST));
	t = entry();
	was = spent();
	for (i = 0; i < sizeof(flags); i++) {
		t->flags = flags[i];
		assert_false(carried(UDP4));
	}
	t->flags = ALL;
	t->offload = BWL_OFFLOAD_CRYPTO;
	assert_false(carried(UDP4));
	t->offload = BWL_OFFLOAD_PACKET;
	t->out = (uint32_t)rig->ifindex[RIG_P1]; /* not the uplink of the peer's policy */
	assert_false(carried(UDP4));
	t->out = (uint32_t)rig->ifindex[RIG_P0];
	t->overhead = 0; /* its size would be unknown */
	assert_false(carried(UDP4));
	t->overhead = 60;
	until = rig->pins->ctl->tracked_until_s;
	rig->pins->ctl->tracked_until_s = 0;
	assert_false(carried(UDP4));
	rig->pins->ctl->tracked_until_s = (uint32_t)(rig_now() /
						     RIG_SECOND); /* the tracker is gone */
	assert_false(carried(UDP4));
	rig->pins->ctl->tracked_until_s = until;
	assert_int_equal(spent().finish_bytes, was.finish_bytes);
	assert_true(carried(UDP4));
}

static void what_the_policy_does_not_ask_for_tc_carries(void **state)
{
	(void)state;
	offloaded(HEAD TO("sealed", "xfrm", FAST));
	assert_false(carried(UDP4));
}

static void frames_that_tc_does_better_are_left_to_it(void **state)
{
	(void)state;
	offloaded(HEAD TO("sealed", "offload", FAST));
	assert_false(carried("eth vlan id=5 ip4 src=10.0.7.2 dst=10.3.0.1 udp"));
	assert_true(carried(UDP4 "fill=1412")); /* 1440 of 1500, 60 for ESP */
	assert_false(carried(UDP4 "fill=1413"));
	assert_false(carried(UDP4 "fill=8000")); /* a host's GSO packet over veth */
}

static void what_hardware_may_not_match_is_left_to_tc_and_stops_at_the_gate(void **state)
{
	static const char *const specs[] = {
		"eth ip4 src=10.0.7.2 dst=10.3.0.1 mf=1 udp fill=64",
		"eth ip4 src=10.0.7.2 dst=10.3.0.1 off=64 type=17 fill=64",
		"eth ip4 src=10.0.7.2 dst=10.3.0.1 opt=01010101 udp",
		"eth ip6 src=fd00:7::2 dst=fd00:3::1 ext kind=60 size=8 udp",
		"eth ip6 src=fd00:7::2 dst=fd00:3::1 frag6 mf=1 udp fill=64",
		UDP4 "sport=500",
		UDP4 "dport=500",
		UDP4 "sport=4500",
		UDP6 "dport=4500",
		"eth ip4 src=10.0.7.2 dst=10.3.0.1 type=50 fill=64",
	};
	struct rig_packet k = { .prog = RIG_GATE, .port = RIG_P0, .ingress = RIG_H0 };
	size_t i;

	(void)state;
	offloaded(HEAD TO("sealed", "offload", FAST));
	k.mark = rig->pins->ctl->tag;
	for (i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		k.spec = specs[i];
		assert_false(carried(specs[i]));
		assert_string_equal(judge(&k, NULL), "gate");
	}
}

static void revoked_expired_or_stopped_is_dropped(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	offloaded(HEAD TO("sealed", "offload", FAST));
	rig->pins->ctl->stop = 1;
	assert_string_equal(dropped(UDP4), "stop");
	rig->pins->ctl->stop = 0;
	assert_true(carried(UDP4));
	assert_int_equal(bwl_revoke(rig->pins, "sealed", &e), 0);
	assert_string_equal(dropped(UDP4), "revoked");
}

static void a_spoofed_source_is_dropped_before_all_that(void **state)
{
	(void)state;
	offloaded(HEAD TO("sealed", "offload", FAST));
	assert_string_equal(dropped("eth ip4 src=10.9.9.9 dst=10.3.0.1 udp"), "source-address");
}

static uint16_t ip_sum(const uint8_t *b)
{
	uint32_t sum = 0;
	int i;

	for (i = 0; i < 20; i += 2)
		sum += (uint32_t)(b[i] << 8 | b[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void mark_sets_ce_where_the_transport_can_and_the_checksum_holds(void **state)
{
	static struct rig_result r;
	int i;

	(void)state;
	offloaded(HEAD TO("sealed", "offload", "grant: { rate: 8mbit, burst: 30kb, mode: mark }"));
	for (i = 0; i < 18; i++)
		assert_int_equal(xdp("eth ip4 src=10.0.7.2 dst=10.3.0.1 tos=2 udp fill=1400", &r),
				 XDP_REDIRECT_ACT);
	assert_string_equal(bwl_reason_name(r.reason), "pass-marked");
	assert_int_equal(r.data[ETH_HLEN + 1], 3);
	assert_int_equal(ip_sum(r.data + ETH_HLEN), 0xffff);
	assert_int_equal(xdp(UDP4 "fill=1200", &r), XDP_REDIRECT_ACT);
	assert_string_equal(bwl_reason_name(r.reason), "pass"); /* not ECN-capable */
	assert_int_equal(r.data[ETH_HLEN + 1], 0);
}

static void shape_polices_there(void **state)
{
	(void)state;
	offloaded(
		HEAD TO("sealed", "offload", "grant: { rate: 8mbit, burst: 3000b, mode: shape }"));
	rig->pins->dev[RIG_P0].flags |= BWL_DEV_FQ;
	assert_true(carried(UDP4 "fill=1400"));
	assert_true(carried(UDP4 "fill=1400"));
	assert_string_equal(dropped(UDP4 "fill=1400"), "peer-rate");
}

/* Then TC carries it; if the device encrypts, what arrives at the gate is not encrypted yet. */
static void the_last_gate_lets_cleartext_out_only_to_a_device_that_encrypts_it(void **state)
{
	struct rig_packet k = { .prog = RIG_GATE, .port = RIG_P0, .spec = UDP4, .ingress = RIG_H0 };
	struct bwl_tunnel *t;

	(void)state;
	offloaded(HEAD TO("sealed", "offload", FAST));
	t = entry();
	assert_string_equal(judge(&k, NULL), "gate"); /* not charged */
	k.mark = rig->pins->ctl->tag;
	assert_string_equal(judge(&k, NULL), "pass-gate");
	t->flags &= ~BWL_TUN_BENEATH;
	assert_string_equal(judge(&k, NULL), "gate");
	t->flags = ALL & ~BWL_TUN_XDP;
	assert_string_equal(judge(&k, NULL), "pass-gate");
	t->offload = BWL_OFFLOAD_CRYPTO;
	assert_string_equal(judge(&k, NULL), "gate");
	t->offload = BWL_OFFLOAD_PACKET;
	k.port = RIG_P1; /* another device */
	assert_string_equal(judge(&k, NULL), "gate");
	k.port = RIG_P0;
	k.mark = (rig->pins->ctl->tag & ~BWL_MARK_ID) |
		 id_of("sealed"); /* as it leaves the tunnel device */
	assert_string_equal(judge(&k, NULL), "pass-gate");
	k.mark ^= 1; /* another peer's */
	assert_string_equal(judge(&k, NULL), "gate");
	k.mark ^= 1;
	t->offload = BWL_OFFLOAD_NONE;
	assert_string_equal(judge(&k, NULL), "gate");
	t->offload = BWL_OFFLOAD_PACKET;
	rig->pins->ctl->tracked_until_s = (uint32_t)(rig_now() / RIG_SECOND);
	assert_string_equal(judge(&k, NULL), "gate");
}

/*
 * What XDP leaves to TC takes the same path, through the last gate; what the gate would stop costs
 * nothing.
 */
static void what_tc_carries_goes_straight_to_the_uplink_too(void **state)
{
	static const uint8_t head[] = { 2, 0, 0, 0, 0, 0x77, 2, 0, 0, 0, 0, 0x99, 0x86, 0xdd };
	static const char *const unseen[] = {
		"eth ip4 src=10.0.7.2 dst=10.3.0.1 mf=1 udp fill=64",
		"eth ip4 src=10.0.7.2 dst=10.3.0.1 udp sport=500 dport=9",
		"eth ip4 src=10.0.7.2 dst=10.3.0.1 udp dport=4500",
		"eth ip4 src=10.0.7.2 dst=10.3.0.1 type=50 fill=64",
		"eth ip6 src=fd00:7::2 dst=fd00:3::1 ext kind=60 size=8 udp",
	};
	struct rig_packet k = {
		.prog = RIG_HOST,
		.port = RIG_H0,
		.spec = "eth ip6 src=fd00:7::2 dst=fd00:3::1 tcp dport=80 flags=2"
	};
	static struct rig_result r;
	struct bwl_tunnel *t;
	uint64_t was;
	size_t i;

	(void)state;
	offloaded(HEAD TO("sealed", "offload", FAST));
	t = entry();
	assert_string_equal(judge(&k, &r), "pass");
	assert_memory_equal(r.data, head, sizeof(head));
	assert_int_equal(r.mark, rig->pins->ctl->tag);
	assert_int_equal(r.priority, 0); /* not through the tunnel device */
	k.prog = RIG_GATE;
	k.port = RIG_P0;
	k.mark = r.mark;
	assert_string_equal(judge(&k, NULL), "pass-gate");
	k = (struct rig_packet){ .prog = RIG_HOST, .port = RIG_H0 };
	was = spent().finish_bytes;
	for (i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++) {
		k.spec = unseen[i];
		assert_string_equal(judge(&k, NULL), "device");
	}
	k.spec = UDP4;
	t->flags &= ~BWL_TUN_BENEATH;
	assert_string_equal(judge(&k, NULL), "device");
	t->flags = ALL;
	t->out++;
	assert_string_equal(judge(&k, NULL), "device");
	t->out--;
	assert_int_equal(spent().finish_bytes, was);
	t->next_mac = 0; /* the kernel resolves it */
	assert_string_equal(judge(&k, &r), "pass");
	assert_int_equal(r.priority, id_of("sealed"));
	t->offload = BWL_OFFLOAD_CRYPTO; /* the kernel makes all ESP packets */
	k.spec = unseen[0];
	assert_string_equal(judge(&k, &r), "pass");
}

static int setup_generic(void **state)
{
	static const struct rig_opts o = { .generic = true };

	(void)state;
	rig = rig_open(&o);
	runs = 0;
	return 0;
}

static void in_generic_mode_nothing_is_carried(void **state)
{
	(void)state;
	offloaded(HEAD TO("sealed", "offload", FAST));
	assert_false(carried(UDP4));
	assert_string_equal(dropped("eth ip4 src=10.9.9.9 dst=10.3.0.1 udp"), "source-address");
}

static bool has_packet_offload(void)
{
	struct bwl_kernel_has has;

	bwl_kernel_ask(&has);
	return has.policy_offload;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(what_the_uplink_encrypts_is_charged_counted_and_sent_once),
		RIG_TEST(what_xdp_sends_is_counted_to_the_uplink_too_and_what_it_does_not_is_not),
		RIG_TEST(it_leaves_for_the_next_hop_of_the_dpu_from_its_uplink),
		RIG_TEST(the_flow_label_of_the_host_goes_nowhere),
		RIG_TEST(a_refusal_drops_counts_and_gives_back),
		RIG_TEST(every_limit_holds_as_at_tc),
		RIG_TEST(without_any_one_proof_tc_has_it_uncharged),
		RIG_TEST(what_the_policy_does_not_ask_for_tc_carries),
		RIG_TEST(frames_that_tc_does_better_are_left_to_it),
		RIG_TEST(what_hardware_may_not_match_is_left_to_tc_and_stops_at_the_gate),
		RIG_TEST(revoked_expired_or_stopped_is_dropped),
		RIG_TEST(a_spoofed_source_is_dropped_before_all_that),
		RIG_TEST(mark_sets_ce_where_the_transport_can_and_the_checksum_holds),
		RIG_TEST(shape_polices_there),
		RIG_TEST(the_last_gate_lets_cleartext_out_only_to_a_device_that_encrypts_it),
		RIG_TEST(what_tc_carries_goes_straight_to_the_uplink_too),
		cmocka_unit_test_setup_teardown(in_generic_mode_nothing_is_carried, setup_generic,
						rig_teardown),
	};

	if (!has_packet_offload()) {
		printf("1..0 # SKIP this kernel has no packet offload\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
