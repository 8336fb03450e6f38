// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SAs and policies in a device: whether it encrypts, whether it drops what has no policy, and
 * whether XDP may send to it.
 */
#include "track_rig.h"

static void packet_offload_needs_the_sa_and_the_policy_in_one_device(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_msg p = policy(1), x = sa(0x100, true), y = sa(0x102, true);

	x.sa.offload = BWL_OFFLOAD_PACKET;
	x.sa.offload_ifindex = 4;
	tell(f, p);
	tell(f, x);
	is_closed(f, BWL_TRACK_HALF_OFFLOAD, BWL_TRACK_HALF_OFFLOAD);
	p.policy.offload = BWL_OFFLOAD_PACKET;
	p.policy.offload_ifindex = 5;
	tell(f, p);
	is_closed(f, BWL_TRACK_UNMATCHED, 0);
	p.policy.offload_ifindex = 4;
	tell(f, p);
	is_open(f);
	assert_int_equal(f->map[ID].offload, BWL_OFFLOAD_PACKET);
	/* the kernel never uses these SAs: the policy is in the device */
	tell(f, sa(0x101, true));
	is_open(f);
	y.sa.offload = BWL_OFFLOAD_CRYPTO;
	y.sa.offload_ifindex = 4;
	tell(f, y);
	is_open(f);
	assert_int_equal(f->map[ID].offload, BWL_OFFLOAD_PACKET);
	gone(f, x);
	is_closed(f, BWL_TRACK_UNMATCHED, 0);
}

static struct bwl_xfrm_msg drop_policy(uint32_t index, uint16_t family, uint32_t ifindex)
{
	return (struct bwl_xfrm_msg){ .kind = BWL_XFRM_POLICY,
				      .policy = {
					      .index = index,
					      .dir = BWL_XFRM_OUT,
					      .block = true,
					      .sel_all = true,
					      .sel_src = { .family = family },
					      .offload = BWL_OFFLOAD_PACKET,
					      .offload_ifindex = ifindex,
				      } };
}

static bool is_beneath(const struct fixture *f)
{
	is_open(f);
	return f->map[ID].flags & BWL_TUN_BENEATH;
}

static void a_device_that_drops_the_rest_is_told(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_addr two = addr(2);
	struct bwl_xfrm_msg p = policy(1), x = sa(0x100, true), d;

	x.sa.offload = p.policy.offload = BWL_OFFLOAD_PACKET;
	x.sa.offload_ifindex = p.policy.offload_ifindex = UPLINK;
	tell(f, p);
	tell(f, x);
	tell(f, drop_policy(10, AF_INET, UPLINK));
	assert_false(is_beneath(f));
	tell(f, drop_policy(11, AF_INET6, UPLINK + 1));
	assert_false(is_beneath(f));
	d = drop_policy(12, AF_INET6, UPLINK);
	d.policy.sel_all = false;
	tell(f, d);
	assert_false(is_beneath(f));
	d.policy.sel_all = true;
	d.policy.offload = BWL_OFFLOAD_NONE;
	tell(f, d);
	assert_false(is_beneath(f));
	d.policy.offload = BWL_OFFLOAD_PACKET;
	tell(f, d);
	assert_true(is_beneath(f));
	/* changed in place, then back */
	d.policy.block = false;
	tell(f, d);
	assert_false(is_beneath(f));
	d.policy.block = true;
	tell(f, d);
	assert_true(is_beneath(f));
	/* packets would leave through another device */
	bwl_track_peer(f->t, ID, &two, UPLINK + 1);
	bwl_track_settle(f->t, NOW);
	assert_false(is_beneath(f));
	bwl_track_peer(f->t, ID, &two, UPLINK);
	bwl_track_settle(f->t, NOW);
	assert_true(is_beneath(f));
	bwl_track_lost(f->t);
	bwl_track_settle(f->t, NOW);
	assert_false(is_beneath(f));
	bwl_track_dump_begin(f->t);
	tell(f, p);
	tell(f, x);
	tell(f, d);
	bwl_track_dump_end(f->t);
	bwl_track_settle(f->t, NOW);
	assert_false(is_beneath(f)); /* the dump did not name the policy for IPv4 */
	tell(f, drop_policy(10, AF_INET, UPLINK));
	assert_true(is_beneath(f));
	gone(f, d);
	assert_false(is_beneath(f));
	tell(f, d);
	assert_true(is_beneath(f));
	/* a policy in the device lets packets out in the clear; only key exchange may have one */
	d = drop_policy(13, AF_INET, UPLINK);
	d.policy.block = d.policy.sel_all = false;
	tell(f, d);
	assert_false(is_beneath(f));
	d.policy.sel_ike = true;
	tell(f, d);
	assert_true(is_beneath(f));
	d.policy.sel_ike = false;
	d.policy.offload_ifindex = UPLINK + 1;
	tell(f, d);
	assert_true(is_beneath(f));
	/* a second policy and its SA in another device; then only that policy */
	x.sa.spi = htonl(0x102);
	x.sa.offload_ifindex = UPLINK + 1;
	p.policy.index = 2;
	p.policy.offload_ifindex = UPLINK + 1;
	tell(f, x);
	tell(f, p);
	assert_false(is_beneath(f));
	assert_int_equal(f->map[ID].offload, BWL_OFFLOAD_PACKET);
	gone(f, policy(1));
	assert_false(is_beneath(f));
	gone(f, x);
	x.sa.offload_ifindex = p.policy.offload_ifindex = UPLINK;
	p.policy.index = 1;
	tell(f, p);
	gone(f, policy(2));
	assert_true(is_beneath(f));
	x.sa.spi = htonl(0x101);
	x.sa.offload = BWL_OFFLOAD_CRYPTO;
	p = policy(2);
	tell(f, p);
	tell(f, x);
	is_closed(f, BWL_TRACK_HALF_OFFLOAD, BWL_TRACK_HALF_OFFLOAD);
	assert_int_equal(f->map[ID].flags, 0);
}

static bool carries(struct fixture *f, struct bwl_track_way way, enum bwl_carried_by want)
{
	assert_int_equal(bwl_track_way(f->t, ID, &way), 0);
	bwl_track_settle(f->t, NOW);
	assert_int_equal(f->map[ID].carried_by, want);
	assert_int_equal(!!(f->map[ID].flags & BWL_TUN_XDP), want == BWL_CARRIED_XDP);
	return want == BWL_CARRIED_XDP;
}

static void xdp_carries_where_all_of_it_holds_and_the_first_that_does_not_is_said(void **state)
{
	struct fixture *f = *state;
	struct bwl_track_way all = { true, true, true, 0x770000000002ULL }, way = all;
	struct bwl_xfrm_addr two = addr(2);
	struct bwl_xfrm_msg p = policy(1), x = sa(0x100, true);

	bwl_track_peer(f->t, ID, &two, UPLINK);
	way.wanted = false;
	carries(f, way, BWL_CARRIED_UNTOLD);
	carries(f, all, BWL_CARRIED_NO_SA);
	tell(f, p);
	tell(f, x);
	carries(f, all, BWL_CARRIED_NOT_PACKET);
	x.sa.offload = p.policy.offload = BWL_OFFLOAD_PACKET;
	x.sa.offload_ifindex = p.policy.offload_ifindex = UPLINK + 1;
	tell(f, p);
	tell(f, x);
	carries(f, all, BWL_CARRIED_OTHER_DEV);
	x.sa.offload_ifindex = p.policy.offload_ifindex = UPLINK;
	tell(f, p);
	tell(f, x);
	carries(f, all, BWL_CARRIED_NO_BENEATH);
	tell(f, drop_policy(10, AF_INET, UPLINK));
	tell(f, drop_policy(11, AF_INET6, UPLINK));
	way = all;
	way.uplink = false;
	carries(f, way, BWL_CARRIED_UPLINK);
	way = all;
	way.host = false;
	carries(f, way, BWL_CARRIED_HOST);
	way = all;
	way.next_mac = 0;
	carries(f, way, BWL_CARRIED_NEIGHBOUR);
	assert_true(carries(f, all, BWL_CARRIED_XDP));
	assert_int_equal(f->map[ID].out, UPLINK);
	assert_true(f->map[ID].next_mac == all.next_mac);
	way = all;
	way.next_mac = 0x780000000002ULL; /* the next hop moved */
	assert_true(carries(f, way, BWL_CARRIED_XDP));
	assert_true(f->map[ID].next_mac == way.next_mac);
	bwl_track_lost(f->t);
	carries(f, all, BWL_CARRIED_UNSURE);
}

static void after_lost_news_nothing_counts_as_packet_offloaded(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_msg p = policy(1), x = sa(0x100, true);

	x.sa.offload = p.policy.offload = BWL_OFFLOAD_PACKET;
	tell(f, p);
	tell(f, x);
	assert_int_equal(f->map[ID].offload, BWL_OFFLOAD_PACKET);
	tell(f, (struct bwl_xfrm_msg){ .kind = BWL_XFRM_UNCLEAR });
	assert_true(bwl_track_is_unsure(f->t));
	is_open(f);
	assert_int_equal(f->map[ID].offload, BWL_OFFLOAD_NONE);
	bwl_track_dump_begin(f->t);
	tell(f, p);
	tell(f, x);
	assert_int_equal(f->map[ID].offload, BWL_OFFLOAD_NONE);
	bwl_track_dump_end(f->t);
	bwl_track_settle(f->t, NOW);
	assert_int_equal(f->map[ID].offload, BWL_OFFLOAD_PACKET);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(packet_offload_needs_the_sa_and_the_policy_in_one_device),
		T(a_device_that_drops_the_rest_is_told),
		T(xdp_carries_where_all_of_it_holds_and_the_first_that_does_not_is_said),
		T(after_lost_news_nothing_counts_as_packet_offloaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
