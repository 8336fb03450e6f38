// SPDX-License-Identifier: GPL-2.0-or-later
/* From SAs and policies to the data plane's entries; for packet offload: track_offload_test.c. */
#include "track_rig.h"

static void an_sa_and_the_policy_that_demands_it_open_the_peer(void **state)
{
	struct fixture *f = *state;

	tell(f, sa(0x100, true));
	is_closed(f, BWL_TRACK_NO_POLICY, 0);
	tell(f, policy(1));
	is_open(f);
	assert_int_equal(f->map[ID].spi_out, htonl(0x100));
	assert_int_equal(f->map[ID].overhead, 57);
	assert_false(f->map[ID].flags & BWL_TUN_SA_IN);
	tell(f, sa(0x200, false));
	assert_int_equal(f->map[ID].flags, BWL_TUN_SA | BWL_TUN_SA_IN);
	assert_int_equal(f->map[ID].spi_in, htonl(0x200));
	gone(f, policy(1));
	is_closed(f, BWL_TRACK_NO_POLICY, 0);
	assert_int_equal(f->map[ID].flags, BWL_TUN_SA_IN);
}

static void a_policy_without_an_sa_opens_nothing(void **state)
{
	struct fixture *f = *state;

	tell(f, policy(1));
	is_closed(f, BWL_TRACK_NO_SA, 0);
	assert_int_equal(f->changes, 0);
}

static void a_rekey_never_closes(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_msg new = sa(0x101, true);

	tell(f, policy(1));
	tell(f, sa(0x100, true));
	new.sa.life.add_s = NOW - 1;
	tell(f, new);
	is_open(f);
	assert_int_equal(f->map[ID].spi_out, htonl(0x101));
	gone(f, sa(0x100, true));
	is_open(f);
	gone(f, new);
	is_closed(f, BWL_TRACK_NO_SA, 0);
}

static void of_two_sas_the_weaker_offload_and_the_larger_overhead_count(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_msg x = sa(0x101, true);

	tell(f, policy(1));
	x.sa.offload = BWL_OFFLOAD_CRYPTO;
	x.sa.overhead = 77;
	tell(f, x);
	assert_int_equal(f->map[ID].offload, BWL_OFFLOAD_CRYPTO);
	tell(f, sa(0x100, true));
	assert_int_equal(f->map[ID].offload, BWL_OFFLOAD_NONE);
	assert_int_equal(f->map[ID].overhead, 77);
	x.sa.spi = htonl(0x102);
	x.sa.overhead = 0;
	tell(f, x);
	assert_int_equal(f->map[ID].overhead, 0);
}

static void an_sa_that_is_no_use_opens_nothing(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_msg x = sa(0x100, true);

	tell(f, policy(1));
	x.sa.keyed = false;
	tell(f, x);
	is_closed(f, BWL_TRACK_NO_SA, 0);
	x = sa(0x100, true);
	x.sa.encrypts = false;
	tell(f, x);
	is_closed(f, BWL_TRACK_NOT_ENCRYPTED, BWL_TRACK_NOT_ENCRYPTED);
	x = sa(0x100, true);
	x.sa.authenticates = false;
	tell(f, x);
	is_closed(f, BWL_TRACK_NOT_ENCRYPTED, BWL_TRACK_NOT_ENCRYPTED);
	x = sa(0x100, true);
	x.sa.mode = XFRM_MODE_TRANSPORT;
	tell(f, x);
	is_closed(f, BWL_TRACK_NOT_TUNNEL, BWL_TRACK_NOT_TUNNEL);
	gone(f, x);
	x = sa(0x100, true);
	x.sa.proto = IPPROTO_AH;
	tell(f, x);
	is_closed(f, BWL_TRACK_NOT_TUNNEL, BWL_TRACK_NOT_TUNNEL);
	gone(f, x);
	x = sa(0x101, true);
	x.sa.reqid = 6;
	tell(f, x);
	is_closed(f, BWL_TRACK_UNMATCHED, 0);
	tell(f, sa(0x102, true));
	is_open(f);
}

static void a_cipher_that_hides_nothing_closes_beside_a_good_sa(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_msg x = sa(0x101, true);

	tell(f, policy(1));
	tell(f, sa(0x100, true));
	x.sa.encrypts = false;
	tell(f, x);
	is_closed(f, BWL_TRACK_NOT_ENCRYPTED, BWL_TRACK_NOT_ENCRYPTED);
	gone(f, x);
	is_open(f);
}

static void an_sa_with_another_dpu_is_an_alarm_and_not_used(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_msg x = sa(0x101, true), other = sa(0x102, false);
	struct bwl_xfrm_addr nine = addr(9);

	tell(f, policy(1));
	x.sa.dst = nine;
	tell(f, x);
	is_closed(f, BWL_TRACK_SA_REMOTE, BWL_TRACK_SA_REMOTE);
	assert_true(bwl_xfrm_addr_is(&f->last.other, &nine));
	tell(f, sa(0x100, true));
	is_open(f);
	assert_int_equal(f->map[ID].spi_out, htonl(0x100));
	assert_int_equal(verdict(f, ID).alarm, BWL_TRACK_SA_REMOTE);
	gone(f, x);
	assert_int_equal(verdict(f, ID).alarm, 0);
	/* inbound, according to the kernel */
	other.sa.src = nine;
	other.sa.dir = BWL_XFRM_IN;
	tell(f, other);
	assert_int_equal(verdict(f, ID).alarm, BWL_TRACK_SA_REMOTE);
	assert_true(bwl_xfrm_addr_is(&f->last.other, &nine));
	assert_false(f->map[ID].flags & BWL_TUN_SA_IN);
}

/*
 * Promise 8: while a removed DPU's keys are still there, the kernel accepts what it sends. The
 * tunnel device sees only the id, which another peer may have by now.
 */
static void an_inbound_sa_of_another_dpu_closes_the_way_in_beside_a_good_one(void **state)
{
	static const uint8_t dirs[] = { BWL_XFRM_DIR_UNKNOWN, BWL_XFRM_IN };
	struct fixture *f = *state;

	tell(f, policy(1));
	tell(f, sa(0x100, true));
	tell(f, sa(0x101, false));
	is_open(f);
	assert_true(f->map[ID].flags & BWL_TUN_SA_IN);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		struct bwl_xfrm_msg stale = sa(0x90, false);

		stale.sa.src = addr(9);
		stale.sa.dir = dirs[i];
		stale.sa.offload = BWL_OFFLOAD_PACKET;
		tell(f, stale);
		assert_false(f->map[ID].flags & (BWL_TUN_SA_IN | BWL_TUN_DEV_IN));
		assert_int_equal(f->map[ID].spi_in, 0);
		assert_int_equal(verdict(f, ID).alarm, BWL_TRACK_SA_REMOTE);
		assert_true(f->map[ID].flags & BWL_TUN_SA);
		gone(f, stale);
		assert_true(f->map[ID].flags & BWL_TUN_SA_IN);
	}
}

static void an_inbound_sa_that_anybody_could_use_closes_the_way_in(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_msg weak = sa(0x102, false), larval = sa(0x103, false);

	tell(f, sa(0x101, false));
	weak.sa.authenticates = false;
	tell(f, weak);
	assert_false(f->map[ID].flags & BWL_TUN_SA_IN);
	gone(f, weak);
	assert_true(f->map[ID].flags & BWL_TUN_SA_IN);
	/* An SA without keys decrypts nothing; nor does an outbound SA. */
	larval.sa.src = addr(9);
	larval.sa.keyed = false;
	tell(f, larval);
	assert_true(f->map[ID].flags & BWL_TUN_SA_IN);
	weak = sa(0x104, true);
	weak.sa.authenticates = false;
	tell(f, weak);
	assert_true(f->map[ID].flags & BWL_TUN_SA_IN);
}

static void a_policy_that_demands_something_else_closes(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_msg x = sa(0x100, true);

	x.sa.offload = BWL_OFFLOAD_CRYPTO;
	tell(f, policy(1));
	tell(f, x);
	assert_int_equal(f->map[ID].offload, BWL_OFFLOAD_CRYPTO);
	x = policy(2);
	x.policy.tmpl.dst = addr(9);
	tell(f, x);
	is_closed(f, BWL_TRACK_POLICY_REMOTE, BWL_TRACK_POLICY_REMOTE);
	for (unsigned i = 0; i < 5; i++) {
		x = policy(2);
		if (i == 0)
			x.policy.ntmpl = 0;
		else if (i == 1)
			x.policy.ntmpl = 2;
		else if (i == 2)
			x.policy.tmpl.optional = true;
		else if (i == 3)
			x.policy.tmpl.proto = IPPROTO_AH;
		else
			x.policy.tmpl.mode = XFRM_MODE_TRANSPORT;
		tell(f, x);
		is_closed(f, BWL_TRACK_OPEN_POLICY, BWL_TRACK_OPEN_POLICY);
	}
	x.policy.block = true;
	tell(f, x);
	is_open(f);
	x.policy.block = false;
	x.policy.dir = BWL_XFRM_IN;
	tell(f, x);
	is_open(f);
}

static void a_flush_closes_everybody(void **state)
{
	struct fixture *f = *state;

	tell(f, policy(1));
	tell(f, sa(0x100, true));
	tell(f, sa(0x101, true));
	tell(f, (struct bwl_xfrm_msg){ .kind = BWL_XFRM_SA_FLUSH, .proto = IPPROTO_AH });
	is_open(f);
	tell(f, (struct bwl_xfrm_msg){ .kind = BWL_XFRM_SA_FLUSH, .proto = IPPROTO_ESP });
	is_closed(f, BWL_TRACK_NO_SA, 0);
	tell(f, sa(0x100, true));
	is_open(f);
	tell(f, (struct bwl_xfrm_msg){ .kind = BWL_XFRM_SA_FLUSH });
	is_closed(f, BWL_TRACK_NO_SA, 0);
	tell(f, sa(0x100, true));
	tell(f, (struct bwl_xfrm_msg){ .kind = BWL_XFRM_POLICY_FLUSH });
	is_closed(f, BWL_TRACK_NO_POLICY, 0);
	assert_true(bwl_track_is_unsure(f->t));
}

static void what_a_dump_does_not_name_is_gone(void **state)
{
	struct fixture *f = *state;

	tell(f, policy(1));
	tell(f, sa(0x100, true));
	bwl_track_dump_begin(f->t);
	tell(f, policy(1));
	is_open(f);
	bwl_track_dump_end(f->t);
	bwl_track_settle(f->t, NOW);
	is_closed(f, BWL_TRACK_NO_SA, 0);
}

static void a_lifetime_that_has_passed_closes(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_msg x = sa(0x100, true);

	tell(f, policy(1));
	x.sa.life.hard_add = 100;
	tell(f, x);
	is_closed(f, BWL_TRACK_NO_SA, 0);
	x.sa.life.hard_add = 101;
	tell(f, x);
	is_open(f);
	x.sa.life.hard_use = 10;
	tell(f, x);
	is_open(f);
	x.sa.life.use_s = NOW - 10;
	tell(f, x);
	is_closed(f, BWL_TRACK_NO_SA, 0);
	x = sa(0x100, true);
	x.sa.life.hard_bytes = x.sa.life.bytes = 1000;
	tell(f, x);
	is_closed(f, BWL_TRACK_NO_SA, 0);
	x.sa.life.bytes--;
	tell(f, x);
	is_open(f);
	x.sa.life.hard_packets = 0;
	tell(f, x);
	is_closed(f, BWL_TRACK_NO_SA, 0);
}

static void another_remote_or_none_closes(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_addr nine = addr(9), two = addr(2);

	tell(f, policy(1));
	tell(f, sa(0x100, true));
	bwl_track_peer(f->t, ID, &nine, UPLINK);
	bwl_track_settle(f->t, NOW);
	is_closed(f, BWL_TRACK_POLICY_REMOTE, BWL_TRACK_POLICY_REMOTE);
	bwl_track_peer(f->t, ID, &two, UPLINK);
	bwl_track_settle(f->t, NOW);
	is_open(f);
	bwl_track_peer(f->t, ID, NULL, 0);
	bwl_track_settle(f->t, NOW);
	is_closed(f, BWL_TRACK_NO_PEER, BWL_TRACK_NO_PEER);
}

static void what_somebody_else_closed_stays_closed_until_a_recheck(void **state)
{
	struct fixture *f = *state;

	tell(f, policy(1));
	tell(f, sa(0x100, true));
	f->map[ID].flags = 0;
	assert_int_equal(bwl_track_settle(f->t, NOW), 0);
	assert_int_equal(f->map[ID].flags, 0);
	bwl_track_recheck(f->t);
	assert_int_equal(bwl_track_settle(f->t, NOW), 1);
	is_open(f);
}

static void what_is_not_ours_is_left_alone(void **state)
{
	struct fixture *f = *state;
	struct bwl_tunnel before[PEERS];
	struct bwl_xfrm_msg x = sa(0x100, true);

	tell(f, policy(1));
	memcpy(before, f->map, sizeof(before));
	x.sa.peer = 0;
	tell(f, x);
	x.sa.peer = PEERS;
	tell(f, x);
	x.sa.peer = ~0U;
	tell(f, x);
	x = sa(0, true); /* the kernel's own request for an SA */
	tell(f, x);
	assert_memory_equal(before, f->map, sizeof(before));
	assert_int_equal(f->changes, 0);
}

static void what_another_tracker_left_is_closed(void **state)
{
	struct fixture *f = *state;
	struct bwl_track *t;

	f->map[3].flags = BWL_TUN_SA | BWL_TUN_SA_IN;
	f->map[3].spi_out = 1;
	f->map[4].offload = BWL_OFFLOAD_PACKET;
	assert_int_equal(bwl_track_new(PEERS, f->map, changed, f, &t), 0);
	bwl_track_settle(t, NOW);
	assert_int_equal(f->map[3].flags, 0);
	assert_int_equal(f->map[3].spi_out, 0);
	assert_int_equal(f->map[4].offload, BWL_OFFLOAD_NONE);
	bwl_track_free(t);
}

/*
 * After news in any order, the table is the same as one that saw only the final state, in a dump.
 */
static void news_and_a_dump_come_to_the_same(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_addr remote = addr(2);
	uint64_t seed = 1;
	unsigned opened = 0;

	for (unsigned run = 0; run < 2000; run++) {
		struct bwl_xfrm_msg all[8];
		bool there[8] = { 0 };
		struct bwl_tunnel other[PEERS] = { 0 };
		struct bwl_track *t;

		for (unsigned i = 0; i < 8; i++) {
			all[i] = i < 5 ? sa(0x100 + i, i != 4) : policy(i);
			if (i < 5 && test_random(&seed) % 4 == 0)
				all[i].sa.encrypts = false;
			if (i < 5 && test_random(&seed) % 4 == 0)
				all[i].sa.dst = addr(9);
			if (i >= 5 && test_random(&seed) % 4 == 0)
				all[i].policy.ntmpl = 0;
		}
		for (unsigned n = 0; n < 30; n++) {
			unsigned i = test_random(&seed) % 8;

			if (there[i])
				gone(f, all[i]);
			else
				tell(f, all[i]);
			there[i] = !there[i];
		}
		assert_int_equal(bwl_track_new(PEERS, other, NULL, NULL, &t), 0);
		bwl_track_peer(t, ID, &remote, UPLINK);
		bwl_track_dump_begin(t);
		for (unsigned i = 0; i < 8; i++)
			if (there[i])
				assert_int_equal(bwl_track_news(t, &all[i]), 0);
		bwl_track_dump_end(t);
		bwl_track_settle(t, NOW);
		assert_int_equal(other[ID].flags, f->map[ID].flags);
		assert_int_equal(other[ID].overhead, f->map[ID].overhead);
		opened += other[ID].flags & BWL_TUN_SA;
		bwl_track_free(t);
		for (unsigned i = 0; i < 8; i++)
			if (there[i])
				gone(f, all[i]);
	}
	assert_in_range(opened, 100, 1900);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_sa_and_the_policy_that_demands_it_open_the_peer),
		T(a_policy_without_an_sa_opens_nothing),
		T(a_rekey_never_closes),
		T(of_two_sas_the_weaker_offload_and_the_larger_overhead_count),
		T(an_sa_that_is_no_use_opens_nothing),
		T(a_cipher_that_hides_nothing_closes_beside_a_good_sa),
		T(an_sa_with_another_dpu_is_an_alarm_and_not_used),
		T(an_inbound_sa_of_another_dpu_closes_the_way_in_beside_a_good_one),
		T(an_inbound_sa_that_anybody_could_use_closes_the_way_in),
		T(a_policy_that_demands_something_else_closes),
		T(a_flush_closes_everybody),
		T(what_a_dump_does_not_name_is_gone),
		T(a_lifetime_that_has_passed_closes),
		T(another_remote_or_none_closes),
		T(what_somebody_else_closed_stays_closed_until_a_recheck),
		T(what_is_not_ours_is_left_alone),
		T(what_another_tracker_left_is_closed),
		T(news_and_a_dump_come_to_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
