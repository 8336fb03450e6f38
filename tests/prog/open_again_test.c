// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is allowed passes again: found by the lower bound of the model (tests/model/live.c). An
 * account that a writer holds full is not taken for a spent one.
 */
#define RIG_HOST_ONLY
#include "prog.h"

#define HEAD PORTS "heartbeat: none\npeers:\n"
#define PEER(name, addresses, more)                                                                \
	"  - { name: " name ", addresses: [" addresses "], path: clear, via: 192.0.2.1,"           \
	" via6: 'fe80::1', grant: { rate: 1gbit" more " } }\n"
#define TO(addr) "eth ip4 src=10.0.7.2 dst=" addr " udp"
#define TO6(addr) "eth ip6 src=fd00:7::2 dst=" addr " udp"

static const char elsewhere[] = HEAD PEER("far", "10.9.0.9", "");

#define SMALL ", volume: 6400b"
#define HOURLY ", volume: 6400b per 1h"
#define NARROW(volume) PEER("narrow", "10.1.0.1, 'fd00:1::1'", volume)
#define WIDE(volume) PEER("wide", "10.1.0.0/24, 'fd00:1::/64'", volume)

static unsigned passes(const char *spec)
{
	unsigned n = 0;

	while (n < 1000 && !strcmp(host(spec), "pass"))
		n++;
	return n;
}

/* One has the wider prefix around the other's: both leave, and both come back, with all of it. */
static void who_comes_back_with_who_is_around_him_has_spent_nothing(void **state)
{
	static const char *const both[] = {
		HEAD NARROW(SMALL) WIDE(SMALL),
		HEAD WIDE(SMALL) NARROW(SMALL),
		HEAD NARROW(HOURLY) WIDE(HOURLY),
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(both) / sizeof(*both); i++) {
		rig_teardown(NULL);
		rig_setup(NULL);
		rig->pins->ctl->fresh_volume = 1;
		rig_policy(rig, both[i / 2]);
		rig->pins->ctl->fresh_volume = 0;
		rig_advance(RIG_SECOND);
		assert_string_equal(host(TO("10.1.0.2")), "pass"); /* of wide: 64 bytes */
		if (i % 2) {
			on_trial(elsewhere);
			way_back();
		} else {
			rig_policy(rig, elsewhere);
			rig_policy(rig, both[i / 2]);
		}
		rig_advance(RIG_SECOND);
		assert_int_equal(passes(TO("10.1.0.2")), 99);
		assert_in_range(passes(i % 2 ? TO("10.1.0.1") : TO6("fd00:1::1")), 99, 100);
	}
}

static void close_here(void)
{
	struct bwl_err e = { 0 };

	rig_on_grace = NULL;
	if (bwl_revoke(rig->pins, "here", &e))
		fail_msg("%s", e.text);
}

static void open_here(void)
{
	const struct bwl_change c = { .set = BWL_SET_AUTHORISE };
	struct bwl_err e = { 0 };

	if (bwl_peer_change(rig->pins, "here", &c, &e))
		fail_msg("%s", e.text);
}

static void here_is(const char *reason)
{
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO("10.1.0.1")), reason);
	assert_string_equal(host(TO6("fd00:1::1")), reason);
}

/* What `grant` has lifted does not come back with a peer that was away; what it has not, does. */
static void who_was_granted_again_before_he_left_comes_back_open(void **state)
{
	static const char here[] = HEAD PEER("here", "10.1.0.1, 'fd00:1::1'", ", volume: 1mb");
	enum { GRANTED, NOT_GRANTED, REVOKED_AS_HE_LEFT };

	(void)state;
	for (int how = GRANTED; how <= REVOKED_AS_HE_LEFT; how++)
		for (int trial = 0; trial < 2; trial++) {
			rig_teardown(NULL);
			rig_setup(NULL);
			rig->pins->ctl->fresh_volume = 1;
			rig_policy(rig, here);
			close_here();
			here_is("revoked");
			if (how != NOT_GRANTED) {
				open_here();
				here_is("pass");
			}
			rig_on_grace = how == REVOKED_AS_HE_LEFT ? close_here : NULL;
			if (trial) {
				on_trial(elsewhere);
				way_back();
			} else {
				rig_policy(rig, elsewhere);
				rig_policy(rig, here);
			}
			rig_on_grace = NULL;
			here_is(how == GRANTED ? "pass" : "revoked");
			open_here();
			here_is("pass");
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(who_was_granted_again_before_he_left_comes_back_open),
		RIG_TEST(who_comes_back_with_who_is_around_him_has_spent_nothing),
	};

	return cmocka_run_group_tests_name("open_again", tests, NULL, NULL);
}
