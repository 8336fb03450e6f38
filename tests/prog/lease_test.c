// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promise 4: a lease ends in the data plane, to the nanosecond, without any daemon; renewing,
 * applying or trying a policy prolongs it only as far as the policy says.
 */
#include <errno.h>
#define RIG_HOST_ONLY
#include "prog.h"

#define PEER                                                                                       \
	"peers:\n  - { name: d1, addresses: [10.1.0.1], path: clear, via: 192.0.2.1, grant: { rate: 1gbit } }\n"
#define POLICY(beat, lease) PORTS "heartbeat: " beat "\n" lease PEER
#define FRAME "eth ip4 src=10.0.7.2 dst=10.1.0.1 udp"
#define MINUTE (60 * RIG_SECOND)

static struct bwl_err e;

/* 0, or the error; *ret_left: time until the deadline. */
static int beat(uint64_t *ret_left)
{
	uint64_t deadline = 0;
	int r;

	e = (struct bwl_err){ 0 };
	r = bwl_heartbeat(rig->pins, &deadline, &e);
	if (ret_left)
		*ret_left = deadline - rig_now();
	return r;
}

static int renew(uint64_t for_ns)
{
	e = (struct bwl_err){ 0 };
	return bwl_lease_renew(rig->pins, for_ns, &e);
}

static const char *state(void)
{
	struct bwl_lease_now l;

	assert_int_equal(bwl_lease(rig->pins, &l, &e), 0);
	return bwl_lease_word(l.state);
}

static void maps_that_were_made_anew_have_no_lease(void **s)
{
	(void)s;
	apply(POLICY("60s", "lease: 2m\n"));
	rig_advance(RIG_SECOND);
	assert_string_equal(state(), "never");
	assert_int_equal(beat(NULL), -EPERM);
	assert_string_equal(e.hint, "bwlimit-ctl lease renew");
	assert_string_equal(host(FRAME), "silent");
	assert_int_equal(renew(0), 0);
	assert_int_equal(beat(NULL), 0);
	assert_string_equal(state(), "live");
	assert_string_equal(host(FRAME), "pass");
}

static void a_lease_ends_at_its_nanosecond_with_nobody_there(void **s)
{
	uint64_t left, start;

	(void)s;
	apply(POLICY("60s", "lease: 2m\n"));
	assert_int_equal(renew(0), 0);
	start = rig_now();
	assert_int_equal(beat(&left), 0);
	assert_int_equal(left, MINUTE);
	rig_advance(MINUTE + 30 * RIG_SECOND);
	assert_int_equal(beat(&left), 0);
	assert_int_equal(left, 30 * RIG_SECOND);
	rig_set_clock(start + 2 * MINUTE - 1);
	assert_string_equal(host(FRAME), "pass");
	assert_int_equal(beat(&left), 0);
	assert_int_equal(left, 1);
	rig_set_clock(start + 2 * MINUTE);
	assert_string_equal(host(FRAME), "silent");
	assert_string_equal(state(), "ended");
	assert_int_equal(beat(NULL), -EPERM);
	assert_string_equal(host(FRAME), "silent");
	assert_int_equal(renew(MINUTE), 0);
	assert_int_equal(beat(NULL), 0);
	assert_string_equal(host(FRAME), "pass");
	rig_advance(MINUTE);
	assert_string_equal(host(FRAME), "silent");
}

static void a_renewal_is_for_what_the_policy_allows_or_less(void **s)
{
	uint64_t until;

	(void)s;
	apply(POLICY("60s", "lease: 2m\n"));
	assert_int_equal(renew(0), 0);
	until = rig->pins->lease->until_ns;
	rig_advance(RIG_SECOND);
	assert_int_equal(renew(2 * MINUTE + 1), -ERANGE);
	assert_non_null(strstr(e.text, "1s to 2m"));
	assert_int_equal(renew(RIG_SECOND - 1), -ERANGE);
	assert_int_equal(rig->pins->lease->until_ns, until);
	assert_int_equal(renew(RIG_SECOND), 0);
	assert_int_equal(renew(2 * MINUTE), 0);
	assert_int_equal(rig->pins->lease->until_ns, until + RIG_SECOND);
	apply(POLICY("60s", ""));
	assert_string_equal(state(), "none");
	assert_int_equal(renew(RIG_SECOND), -EINVAL);
	assert_int_equal(beat(&until), 0);
	assert_int_equal(until, MINUTE);
}

static void a_shorter_renewal_ends_the_heartbeat_as_well(void **s)
{
	(void)s;
	apply(POLICY("60s", "lease: 2m\n"));
	assert_int_equal(renew(0), 0);
	assert_int_equal(beat(NULL), 0);
	assert_int_equal(renew(10 * RIG_SECOND), 0);
	rig_advance(10 * RIG_SECOND - 1);
	assert_string_equal(host(FRAME), "pass");
	rig_advance(1);
	assert_string_equal(host(FRAME), "silent");
}

static void a_policy_never_lengthens_a_lease(void **s)
{
	uint64_t left;

	(void)s;
	apply(POLICY("60s", ""));
	rig_advance(RIG_SECOND);
	assert_int_equal(beat(NULL), 0);
	assert_string_equal(host(FRAME), "pass");
	apply(POLICY("60s", "lease: 2m\n"));
	assert_string_equal(host(FRAME), "silent"); /* the first one has none yet */
	assert_int_equal(renew(0), 0);
	rig_advance(MINUTE);
	apply(POLICY("10m", "lease: 5m\n"));
	assert_int_equal(beat(&left), 0);
	assert_int_equal(left, MINUTE);
	apply(POLICY("10m", "lease: 10s\n"));
	rig_advance(10 * RIG_SECOND - 1);
	assert_string_equal(host(FRAME), "pass");
	rig_advance(1);
	assert_string_equal(host(FRAME), "silent");
	apply(POLICY("10m", "lease: 5m\n"));
	assert_int_equal(beat(NULL), -EPERM);
}

/* The policy before may return at any moment. */
static void on_trial_the_shorter_lease_of_both_counts(void **s)
{
	static const char *const policy[] = { POLICY("60s", "lease: 2m\n"),
					      POLICY("60s", "lease: 20s\n"), POLICY("60s", "") };
	static const struct {
		int before, trial;
	} x[] = { { 0, 1 }, { 1, 0 }, { 1, 2 }, { 2, 1 } };
	const struct bwl_publish_opts o = { .confirm_ns = 10 * RIG_SECOND };

	(void)s;
	for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++) {
		uint64_t start;

		*rig->pins->lease = (struct bwl_lease){ 0 };
		rig->pins->ctl->heartbeat_ns = 0;
		apply("%s", policy[x[i].before]);
		if (x[i].before != 2)
			assert_int_equal(renew(0), 0);
		assert_int_equal(beat(NULL), 0);
		assert_int_equal(rig_try_policy(rig, policy[x[i].trial], &o, NULL, &e), 0);
		assert_int_equal(renew(MINUTE), -ERANGE);
		assert_int_equal(renew(0), 0);
		start = rig_now();
		assert_int_equal(beat(NULL), 0);
		rig_advance(15 * RIG_SECOND);
		assert_int_equal(bwl_rollback(rig->pins, &e), 0);
		assert_string_equal(host(FRAME), "pass");
		rig_set_clock(start + 20 * RIG_SECOND - 1);
		assert_string_equal(host(FRAME), "pass");
		rig_advance(1);
		assert_string_equal(host(FRAME), "silent");
	}
}

static void going_back_to_a_shorter_lease_shortens_it(void **s)
{
	const struct bwl_publish_opts o = { .confirm_ns = 10 * RIG_SECOND };

	(void)s;
	apply(POLICY("60s", "lease: 20s\n"));
	assert_int_equal(rig_try_policy(rig, POLICY("60s", "lease: 2m\n"), &o, NULL, &e), 0);
	/* as by a tool that knew only the new one */
	rig->pins->lease->until_ns = rig_now() + 2 * MINUTE;
	assert_int_equal(beat(NULL), 0);
	assert_int_equal(bwl_rollback(rig->pins, &e), 0);
	rig_advance(20 * RIG_SECOND - 1);
	assert_string_equal(host(FRAME), "pass");
	rig_advance(1);
	assert_string_equal(host(FRAME), "silent");
}

static void a_renewal_ends_no_clamp(void **s)
{
	(void)s;
	apply(POLICY("60s", "lease: 2m\n"));
	rig_advance(RIG_SECOND);
	assert_int_equal(renew(0), 0);
	assert_int_equal(beat(NULL), 0);
	assert_true(bwl_clamp(rig->pins));
	assert_int_equal(renew(0), 0);
	assert_true(bwl_is_clamped(rig->pins));
	apply(POLICY("60s", "lease: 1m\n"));
	assert_true(bwl_is_clamped(rig->pins));
	assert_int_equal(beat(NULL), -EPERM);
	assert_string_equal(host(FRAME), "silent");
	assert_true(bwl_unclamp(rig->pins));
	assert_int_equal(beat(NULL), 0);
	assert_string_equal(host(FRAME), "pass");
}

#define TO_D1                                                                                      \
	"peers:\n  - { name: d1, addresses: [10.1.0.1], path: clear, via: 192.0.2.1, grant: { "
#define PEER_OF(words, grant) PORTS words TO_D1 grant " } }\n"

/* Whatever it says: a clamp ends by `heartbeat --lift`. */
static void no_policy_ends_a_clamp(void **s)
{
	static const char *const policy[] = {
		PEER_OF("heartbeat: none\n", "rate: 1gbit"),
		PEER_OF("heartbeat: 1h\n", "rate: 1gbit"),
		PEER_OF("heartbeat: 1h\nlease: 1h\n", "rate: 1gbit"),
		PEER_OF("heartbeat: 1h\ntamper: { program: log }\n", "rate: 1gbit"),
		PEER_OF("heartbeat: 1h\n", "rate: 1gbit, mode: monitor"),
		PEER_OF("heartbeat: 1h\nledger: required\n", "rate: 1gbit, volume: 1gb"),
	};

	(void)s;
	apply(POLICY("60s", ""));
	rig_advance(RIG_SECOND);
	assert_int_equal(beat(NULL), 0);
	assert_string_equal(host(FRAME), "pass");
	assert_true(bwl_clamp(rig->pins));
	for (size_t i = 0; i < sizeof(policy) / sizeof(policy[0]); i++) {
		int none = strstr(policy[i], "none") ? -EPERM : 0;

		e = (struct bwl_err){ 0 };
		assert_int_equal(rig_try_policy(rig, policy[i], NULL, NULL, &e), none);
		if (none)
			assert_string_equal(
				e.hint,
				"once the cause is understood: bwlimit-ctl heartbeat --lift");
		rig_advance(RIG_SECOND);
		assert_string_equal(host(FRAME), "silent");
		assert_int_equal(rig_try_policy(rig, policy[i], &short_trial, NULL, &e), none);
		rig_advance(RIG_SECOND);
		assert_string_equal(host(FRAME), "silent");
		if (!none)
			assert_int_equal(bwl_rollback(rig->pins, &e), 0);
	}
	assert_true(bwl_unclamp(rig->pins));
	apply("%s", policy[0]);
	rig_advance(RIG_SECOND);
	assert_string_equal(host(FRAME), "pass");
}

static unsigned calls, clamp_at;

/* As bwlimitd: without a heartbeat there is no clamp. */
static void clamp_then(void)
{
	if (++calls == clamp_at && !bwl_clamp(rig->pins))
		bwl_revoke(rig->pins, NULL, NULL);
}

static void a_clamp_at_any_moment_of_such_a_change_closes(void **s)
{
	const char *now;

	(void)s;
	for (clamp_at = 1;; clamp_at++) {

		rig_on_clock = NULL;
		bwl_unclamp(rig->pins);
		/* another peer's name each time, so that no revocation stays */
		apply(PORTS
		      "heartbeat: 60s\npeers:\n  - { name: x%u, addresses: [10.1.%u.2], path: clear, via: 192.0.2.1, grant: { rate: 1gbit } }\n",
		      clamp_at, clamp_at);
		apply(POLICY("60s", ""));
		assert_int_equal(bwl_peer_change(rig->pins, "d1",
						 &(struct bwl_change){ .set = BWL_SET_AUTHORISE },
						 &e),
				 0);
		assert_int_equal(beat(NULL), 0);
		rig_advance(RIG_SECOND);
		assert_string_equal(host(FRAME), "pass");
		calls = 0;
		rig_on_clock = clamp_then;
		rig_try_policy(rig, POLICY("none", ""), NULL, NULL, &e);
		rig_on_clock = NULL;
		if (calls < clamp_at)
			break;
		now = host(FRAME);
		if (strcmp(now, "silent") && strcmp(now, "revoked"))
			fail_msg("clamped at reading %u of the clock: %s", clamp_at, now);
	}
	assert_string_equal(host(FRAME), "pass");
	assert_true(clamp_at > 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(maps_that_were_made_anew_have_no_lease),
		RIG_TEST(a_lease_ends_at_its_nanosecond_with_nobody_there),
		RIG_TEST(a_renewal_is_for_what_the_policy_allows_or_less),
		RIG_TEST(a_shorter_renewal_ends_the_heartbeat_as_well),
		RIG_TEST(a_policy_never_lengthens_a_lease),
		RIG_TEST(on_trial_the_shorter_lease_of_both_counts),
		RIG_TEST(going_back_to_a_shorter_lease_shortens_it),
		RIG_TEST(a_renewal_ends_no_clamp),
		RIG_TEST(no_policy_ends_a_clamp),
		RIG_TEST(a_clamp_at_any_moment_of_such_a_change_closes),
	};

	return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
