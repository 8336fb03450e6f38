// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A policy on trial (policy apply --confirm) and its end. Promise 2: trials and ways back, over and
 * over, give no burst. Promise 3: nor a volume. Promise 4: grants end at the nanosecond, whoever is
 * dead. Promise 9: what was revoked by any name stays revoked.
 */
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/bpf.h>
#define RIG_HOST_ONLY
#include "history.h"

#define HOSTS(limit)                                                                               \
	"version: 1\nnode: rig\nuplinks: [p0]\nhost_ports:\n"                                      \
	"  - { dev: h0, sources: [10.0.7.0/24, fd00:7::/64]" limit " }\n"                          \
	"  - { dev: h1, sources: [10.0.8.0/24] }\nheartbeat: none\n"
#define PEER(name, addresses)                                                                      \
	"  - { name: " name ", addresses: [" addresses "], path: clear,"                           \
	" via: 192.0.2.1, via6: 'fe80::1', "
#define TO4(addr) "eth ip4 src=10.0.7.2 dst=" addr " udp"
#define TO6(addr) "eth ip6 src=fd00:7::2 dst=" addr " udp"

static void close_name(const char *name)
{
	struct bwl_err e = { 0 };

	assert_int_equal(bwl_revoke(rig->pins, name, &e), 0);
}

static void its_grants_end_at_the_nanosecond_and_the_policy_before_returns(void **state)
{
	const char *next = HEAD "peers:\n" DEST("trial", 2) "grant: { rate: 1gbit } }\n" DEST(
		"floor", 3) "grant: { rate: 1gbit }, floor: { rate: 1mbit } }\n";
	struct bwl_err e = { 0 };
	uint64_t at;

	(void)state;
	apply(HEAD "peers:\n" DEST("steady", 1) "grant: { rate: 1gbit } }\n");
	rig_advance(RIG_SECOND);
	on_trial(next);
	at = rig_now() + short_trial.confirm_ns;
	rig_set_clock(at - 1);
	assert_string_equal(host(TO(2) "udp"), "pass");
	assert_string_equal(host(TO(3) "udp"), "pass");
	assert_string_equal(host(TO(1) "udp"), "no-peer");
	assert_int_equal(rig_try_policy(rig, next, &short_trial, NULL, &e), -EBUSY);
	rig_set_clock(at);
	/* Nobody has applied the policy before yet: closed, except for floors. */
	assert_string_equal(host(TO(2) "udp"), "expired");
	assert_string_equal(host(TO(3) "udp"), "pass-floor");
	assert_string_equal(host(TO(1) "udp"), "no-peer");
	assert_int_equal(bwl_confirm(rig->pins, &e), -EBUSY);
	assert_int_equal(rig_try_policy(rig, next, &short_trial, NULL, &e), -EBUSY);
	assert_int_equal(rig_try_policy(rig, next, NULL, NULL, &e), -EBUSY); /* nor for good */
	assert_int_equal(bwl_peer_change(rig->pins, "trial",
					 &(struct bwl_change){ .set = BWL_SET_AUTHORISE }, &e),
			 -EBUSY);
	way_back();
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(2) "udp"), "no-peer");
	assert_string_equal(host(TO(1) "udp"), "pass");
	assert_int_equal(bwl_rollback(rig->pins, &e), -ENOENT);
}

static void confirmed_in_time_it_stays(void **state)
{
	const char *next = HEAD "peers:\n" DEST("trial", 2) "grant: { rate: 1gbit } }\n";
	struct bwl_err e = { 0 };

	(void)state;
	apply(HEAD "peers:\n" DEST("steady", 1) "grant: { rate: 1gbit } }\n");
	on_trial(next);
	assert_int_equal(bwl_confirm(rig->pins, &e), 0);
	rig_advance(short_trial.confirm_ns + 1);
	assert_string_equal(host(TO(2) "udp"), "pass");
	assert_int_equal(bwl_confirm(rig->pins, &e), -ENOENT);
	assert_int_equal(bwl_rollback(rig->pins, &e), -ENOENT);
}

/* What was revoked and spent on trial stays with the prefixes, although no policy has them. */
static void after_the_first_policy_its_prefixes_are_remembered(void **state)
{
	const char *wide = HEAD
		"peers:\n"
		"  - { name: wide, addresses: [10.1.0.0/24], path: clear, via: 192.0.2.1, grant: { rate: 1gbit, volume: 12800b } }\n";
	struct bwl_err e = { 0 };
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		rig_teardown(NULL);
		rig_setup(NULL);
		rig->pins->ctl->fresh_volume = 1;
		on_trial(HEAD
			 "peers:\n" DEST("first", 1) "grant: { rate: 1gbit, volume: 12800b } }\n");
		rig_advance(RIG_SECOND);
		assert_string_equal(host(TO(1) "udp"), "pass");
		if (i)
			close_name("first");
		way_back();
		apply("%s", wide);
		rig_advance(RIG_SECOND);
		if (i)
			assert_string_equal(host(TO(1) "udp"), "revoked");
		else
			assert_int_equal(drain(TO(1) "udp"), 199);
		assert_int_equal(bwl_rollback(rig->pins, &e), -ENOENT);
	}
}

static void before_the_first_policy_there_was_none(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	on_trial(HEAD "peers:\n" DEST("first", 1) "grant: { rate: 1gbit } }\n");
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1) "udp"), "pass");
	rig_advance(short_trial.confirm_ns);
	assert_string_equal(host(TO(1) "udp"), "expired");
	assert_int_equal(bwl_way_back(rig->pins), BWL_BACK_TO_NONE);
	way_back();
	assert_string_equal(host(TO(1) "udp"), "no-policy");
	assert_int_equal(bwl_rollback(rig->pins, &e), -ENOENT);
}

static void die(void)
{
	_exit(0);
}

/* Killed before its switch. */
static void killed_way_back(void)
{
	struct bwl_err e = { 0 };
	pid_t child;

	bwl_pins_close(rig->pins); /* with the lock */
	rig->pins = rig_pins(rig);
	child = fork();
	if (!child) {
		rig_on_grace = die;
		bwl_rollback(rig->pins, &e);
		_exit(1);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* It has overwritten the policy before. */
static void a_policy_before_that_is_lost_is_not_said_to_be_back(void **state)
{
	const char *before = HEAD "peers:\n" DEST("steady", 1) "grant: { rate: 1gbit } }\n";

	(void)state;
	apply("%s", before);
	on_trial(HEAD "peers:\n" DEST("trial", 2) "grant: { rate: 1gbit } }\n");
	assert_int_equal(bwl_way_back(rig->pins), BWL_BACK_TO_POLICY);
	killed_way_back();
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(2) "udp"), "pass"); /* the trial goes on to its end */
	assert_int_equal(bwl_way_back(rig->pins), BWL_BACK_IS_LOST);
	assert_true(bwl_is_before_lost(rig->pins));
	assert_int_equal(bwl_slot_before(rig->pins), BWL_NO_SLOT);
	rig_advance(short_trial.confirm_ns);
	assert_string_equal(host(TO(2) "udp"), "expired");
	way_back();
	assert_string_equal(host(TO(1) "udp"), "no-policy");
	assert_string_equal(host(TO(2) "udp"), "no-policy");
	assert_false(bwl_is_before_lost(rig->pins));
	apply("%s", before);
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1) "udp"), "pass");
}

/* The same rate and burst stands in one place before, in another one on trial. */
#define L "{ rate: 10mbit, burst: 30000b }"
#define WIDE "{ rate: 1tbit, burst: 100mb }"
static const struct {
	const char *what, *before, *trial;
} places[] = {
	{ "grant", HEAD "peers:\n" DEST("a", 1) "grant: " L " }\n",
	  HEAD "peers:\n" DEST("a", 1) "grant: " L " }\n" },
	{ "name", HEAD "peers:\n" DEST("a", 1) "grant: " L " }\n",
	  HEAD "peers:\n" DEST("b", 1) "grant: " L " }\n" },
	{ "removed", HEAD "peers:\n" DEST("a", 1) "grant: " L " }\n",
	  HEAD "peers:\n" DEST("far", 9) "grant: " L " }\n" },
	{ "zone", HEAD "zones: { z: " L " }\npeers:\n" DEST("a", 1) "zone: z, grant: " WIDE " }\n",
	  HEAD "zones: { y: " L " }\npeers:\n" DEST("a", 1) "zone: y, grant: " WIDE " }\n" },
	{ "zone and grant",
	  HEAD "zones: { z: " L " }\npeers:\n" DEST("a", 1) "zone: z, grant: " WIDE " }\n",
	  HEAD "peers:\n" DEST("a", 1) "grant: " L " }\n" },
	{ "port", HOSTS(", limit: " L) "peers:\n" DEST("a", 1) "grant: " WIDE " }\n",
	  HEAD "peers:\n" DEST("a", 1) "grant: " L " }\n" },
	{ "node", HEAD "node_limit: " L "\npeers:\n" DEST("a", 1) "grant: " WIDE " }\n",
	  HEAD "peers:\n" DEST("a", 1) "grant: " L " }\n" },
	{ "tenant", HEAD "peers:\n" DEST("a", 1) "ports: { h0: " L " }, grant: " WIDE " }\n",
	  HEAD "peers:\n" DEST("b", 1) "ports: { h0: " L " }, grant: " WIDE " }\n" },
	{ "class", HEAD "peers:\n" DEST("a", 1) "grant: " WIDE ", classes: { other: " L " } }\n",
	  HEAD "peers:\n" DEST("b", 1) "grant: " WIDE ", classes: { other: " L " } }\n" },
};

static void flood_meanwhile(void)
{
	drain_and_note(TO(1) "udp");
	rig_advance(5000000);
	drain_and_note(TO(1) "udp");
}

static void over_and_over_it_gives_no_burst(void **state)
{
	unsigned k, i, late;

	(void)state;
	for (k = 0; k < sizeof(places) / sizeof(places[0]); k++) {
		print_message("%s\n", places[k].what);
		for (late = 0; late < 2; late++) { /* by rollback in time, or after its end */
			rig_teardown(NULL);
			rig_setup(NULL);
			nhistory = 0;
			rig_policy(rig, places[k].before);
			rig_advance(RIG_SECOND);
			drain_and_note(TO(1) "udp");
			assert_int_equal(history[0].bytes, 29999 / 64 * 64); /* control */
			rig_on_grace = flood_meanwhile;
			for (i = 0; i < 8; i++) {
				on_trial(places[k].trial);
				drain_and_note(TO(1) "udp");
				rig_advance(late ? short_trial.confirm_ns : i % 3 * 10000000);
				drain_and_note(TO(1) "udp");
				way_back();
				drain_and_note(TO(1) "udp");
				rig_advance(i % 4 * 7000000);
			}
			rig_on_grace = NULL;
			check_history(10000000, 30000);
			rig_advance(RIG_SECOND);
			drain_and_note(TO(1) "udp"); /* control: the way back passes packets */
			assert_int_equal(history[nhistory - 1].bytes, 29999 / 64 * 64);
		}
	}
}

/* Without the limit on trial it is not in force; on the way back it is as if it had been spent. */
static void what_the_trial_lets_through_gives_no_burst_afterwards(void **state)
{
	static const char *const before[] = {
		HEAD "peers:\n" DEST("a", 1) "grant: " L " }\n",
		HEAD "zones: { z: " L " }\npeers:\n" DEST("a", 1) "zone: z, grant: " WIDE " }\n",
		HEAD "node_limit: " L "\npeers:\n" DEST("a", 1) "grant: " WIDE " }\n",
	};
	unsigned k;

	(void)state;
	for (k = 0; k < 3; k++) {
		rig_teardown(NULL);
		rig_setup(NULL);
		rig_policy(rig, before[k]);
		rig_advance(RIG_SECOND);
		on_trial(HEAD "peers:\n" DEST("b", 1) "grant: { rate: 1tbit, burst: 1mb } }\n");
		rig_advance(RIG_SECOND);
		assert_string_equal(host(TO(1) "udp"), "pass");
		way_back();
		assert_int_equal(drain(TO(1) "udp"), 0);
		rig_advance(30000 * 8 * 100); /* ns: a burst, at 10 Mbit/s */
		assert_int_equal(drain(TO(1) "udp"), 29999 / 64);
	}
}

/* Total and windowed; by the same name, another one, another kind, and removed. */
static void nor_does_it_give_a_volume(void **state)
{
#define V(name, volume)                                                                            \
	HEAD "peers:\n" DEST(name, 1) "grant: { rate: 1gbit, volume: " volume " } }\n"
	static const char *const before[] = { V("a", "12800b"), V("a", "12800b per 1d") };
	static const char *const next[] = {
		V("a", "12800b"),
		V("a", "12800b per 1d"),
		V("a", "12800b per 2d"),
		V("b", "12800b"),
		V("b", "12800b per 1d"),
		HEAD "peers:\n" DEST("far", 9) "grant: { rate: 1gbit } }\n",
	};
	unsigned i, k, late, sum;

	(void)state;
	for (i = 0; i < 2; i++) {
		for (k = 0; k < 6; k++) {
			for (late = 0; late < 2; late++) {
				rig_teardown(NULL);
				rig_setup(NULL);
				rig->pins->ctl->fresh_volume = 1;
				rig_policy(rig, before[i]);
				rig_advance(RIG_SECOND);
				assert_string_equal(host(TO(1) "udp"), "pass"); /* 64 bytes */
				on_trial(next[k]);
				rig_advance(RIG_SECOND);
				sum = 1 + (k < 5 ? drain(TO(1) "udp") : 0);
				assert_true(sum <= 200);
				if (late)
					rig_advance(short_trial.confirm_ns);
				way_back();
				rig_advance(RIG_SECOND);
				sum += drain(TO(1) "udp");
				assert_int_equal(sum, 200); /* all of it, and no more */
			}
		}
	}
}

/* An account with nothing on it that the trial removed is known: it does not start spent. */
static void an_unspent_volume_that_the_trial_removed_is_unspent_afterwards(void **state)
{
	static const char *const before[] = { V("a", "6400b"), V("a", "6400b per 1d") };
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		rig_teardown(NULL);
		rig_setup(NULL);
		rig->pins->ctl->fresh_volume = 1;
		rig_policy(rig, before[i]);
		rig->pins->ctl->fresh_volume = 0;
		on_trial(HEAD "peers:\n" DEST("far", 9) "grant: { rate: 1gbit } }\n");
		rig_advance(short_trial.confirm_ns);
		way_back();
		rig_advance(RIG_SECOND);
		assert_int_equal(drain(TO(1) "udp"), 100);
	}
}

#define ALPHA(addresses) PEER("alpha", addresses) "grant: { rate: 1gbit } }\n"
#define BETA(addresses) PEER("beta", addresses) "grant: { rate: 1gbit } }\n"
#define OTHER PEER("other", "10.2.0.1") "grant: { rate: 1gbit } }\n"
#define ONE "10.1.0.0/24, 'fd00:1::/64'"

static const char *const renamed[] = {
	HEAD "peers:\n" BETA(ONE) OTHER,
	HEAD "peers:\n" BETA("10.1.0.0/25, 'fd00:1::/96'") OTHER,
	HEAD "peers:\n" BETA("10.1.0.1, 'fd00:1::1'") OTHER,
	HEAD "peers:\n" BETA("10.1.0.0/16, 'fd00:1::/48'") OTHER,
};

static void both(const char *reason)
{
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO4("10.1.0.1")), reason);
	assert_string_equal(host(TO6("fd00:1::1")), reason);
	assert_string_equal(host(TO4("10.2.0.1")), "pass"); /* control */
}

static void on_trial_as(unsigned k)
{
	rig_teardown(NULL);
	rig_setup(NULL);
	apply(HEAD "peers:\n" ALPHA(ONE) OTHER);
	rig_advance(RIG_SECOND);
	on_trial(renamed[k]);
	both("pass");
}

static void revoked_by_its_name_on_trial_it_stays_revoked_by_its_name_before(void **state)
{
	unsigned k, late;

	(void)state;
	for (k = 0; k < 4; k++) {
		for (late = 0; late < 2; late++) {
			on_trial_as(k);
			close_name("beta");
			both("revoked");
			if (late)
				rig_advance(short_trial.confirm_ns);
			way_back();
			both("revoked");
			apply(HEAD "peers:\n" ALPHA(ONE) OTHER);
			both("revoked");
		}
	}
}

static void revoked_by_its_name_before_it_is_closed_on_trial_and_after_it(void **state)
{
	struct bwl_err e = { 0 };
	unsigned k, confirmed;

	(void)state;
	for (k = 0; k < 4; k++) {
		for (confirmed = 0; confirmed < 2; confirmed++) {
			on_trial_as(k);
			close_name("alpha");
			both("revoked");
			if (confirmed)
				assert_int_equal(bwl_confirm(rig->pins, &e), 0);
			else
				way_back();
			both("revoked");
		}
	}
}

static void what_was_revoked_before_a_trial_is_confirmed_stays_closed(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	apply(HEAD "peers:\n" ALPHA(ONE) OTHER);
	on_trial(HEAD "peers:\n" OTHER);
	close_name("alpha");
	assert_int_equal(bwl_confirm(rig->pins, &e), 0);
	apply(HEAD "peers:\n" BETA("10.1.0.1, 'fd00:1::1'") OTHER);
	both("revoked");
}

static void open_name(const char *name)
{
	const struct bwl_change c = { .set = BWL_SET_AUTHORISE };
	struct bwl_err e = { 0 };

	if (bwl_peer_change(rig->pins, name, &c, &e))
		fail_msg("%s", e.text);
}

/* By its prefixes and by its name; by the one or by all. */
static void what_was_revoked_of_a_policy_that_is_lost_stays_closed(void **state)
{
	for (int all = 0; all < 2; all++) {
		rig_teardown(state);
		rig_setup(state);
		apply(HEAD "peers:\n" ALPHA(ONE) OTHER);
		on_trial(HEAD "peers:\n" OTHER);
		if (all)
			assert_int_equal(bwl_revoke(rig->pins, NULL, NULL), 0);
		else
			close_name("alpha");
		killed_way_back();
		assert_int_equal(bwl_way_back(rig->pins), BWL_BACK_IS_LOST);
		way_back();
		apply(HEAD "peers:\n" BETA("10.1.0.1, 'fd00:1::1'") OTHER);
		if (all)
			open_name("other");
		both("revoked");
		apply(HEAD "peers:\n" ALPHA("10.3.0.1, 'fd00:3::1'") OTHER);
		rig_advance(RIG_SECOND);
		assert_string_equal(host(TO4("10.3.0.1")), "revoked");
		assert_string_equal(host(TO6("fd00:3::1")), "revoked");
		apply(HEAD "peers:\n" BETA("10.1.0.1, 'fd00:1::1'") OTHER);
		both("revoked");
		open_name("beta");
		both("pass");
	}
}

/* Twelve of sixteen places, of which a killed way back keeps eight for peers without an account. */
static void however_many_prefixes_that_are(void **state)
{
	char before[2000], after[4000];
	int at, i;

	rig_teardown(state);
	rig = rig_open(&(struct rig_opts){ .host_only = true, .max_peers = 16 });
	runs = 0;
	at = snprintf(
		before, sizeof(before),
		HEAD
		"peers:\n" OTHER
		"  - { name: alpha, path: clear, via: 192.0.2.1, via6: 'fe80::1', grant: { rate: 1gbit }, addresses: [10.6.0.0");
	for (i = 1; i <= 6; i++)
		at += snprintf(before + at, sizeof(before) - (size_t)at,
			       ", 10.5.0.%d, 'fd00:5::%d'", i, i);
	snprintf(before + at, sizeof(before) - (size_t)at, "] }\n");
	at = snprintf(after, sizeof(after), HEAD "peers:\n" OTHER);
	for (i = 1; i <= 6; i++)
		at += snprintf(after + at, sizeof(after) - (size_t)at,
			       PEER("four-%d", "10.5.0.%d") "grant: { rate: 1gbit } }\n" PEER(
				       "six-%d", "'fd00:5::%d'") "grant: { rate: 1gbit } }\n",
			       i, i, i, i);
	apply("%s", before);
	on_trial(HEAD "peers:\n" OTHER);
	close_name("alpha");
	killed_way_back();
	way_back();
	apply("%s", after);
	rig_advance(RIG_SECOND);
	for (i = 1; i <= 6; i++) {
		char to4[64], to6[64];

		snprintf(to4, sizeof(to4), TO4("10.5.0.%d"), i);
		snprintf(to6, sizeof(to6), TO6("fd00:5::%d"), i);
		assert_string_equal(host(to4), "revoked");
		assert_string_equal(host(to6), "revoked");
	}
	open_name("four-6");
	open_name("six-6");
	assert_string_equal(host(TO4("10.5.0.6")), "pass");
	assert_string_equal(host(TO6("fd00:5::6")), "pass");
}

/* By its name, although only the policy that was lost had it, and nothing was spent there. */
static void a_peer_of_a_policy_that_is_lost_is_revoked_by_its_prefixes(void **state)
{
	(void)state;
	apply(HEAD "peers:\n" ALPHA("10.1.0.0/24, 'fd00:1::/64'") OTHER);
	on_trial(HEAD "peers:\n" BETA("10.1.0.1, 'fd00:1::1'") OTHER);
	rig_advance(RIG_SECOND);
	killed_way_back();
	assert_int_equal(bwl_way_back(rig->pins), BWL_BACK_IS_LOST);
	both("pass");
	close_name("alpha");
	both("revoked");
	way_back();
	apply(HEAD "peers:\n" BETA("10.1.0.1, 'fd00:1::1'") OTHER);
	both("revoked");
	apply(HEAD "peers:\n" PEER("gamma", "10.1.0.9") "grant: { rate: 1gbit } }\n" OTHER);
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO4("10.1.0.9")), "revoked");
}

static unsigned kept(bool any)
{
	struct bwl_key_retired key, *at = NULL;
	unsigned n = 0;

	for (; !bpf_map_get_next_key(rig->pins->fd[BWL_PIN_retired], at, &key); at = &key)
		n += any || key.closed;
	return n;
}

/* It keeps what it would lose if it were killed: as much as there is room for, and no longer. */
static void a_way_back_needs_no_room_for_what_is_revoked(void **state)
{
	char before[2000];
	size_t at;

	rig_teardown(state);
	rig = rig_open(&(struct rig_opts){ .host_only = true, .max_peers = 16 });
	runs = 0;
	at = (size_t)snprintf(
		before, sizeof(before),
		HEAD "peers:\n" OTHER BETA(
			"10.4.0.1") "  - { name: alpha, path: clear, via: 192.0.2.1, via6: 'fe80::1', grant: { rate: 1gbit }, addresses: ['fd00:1::1'");
	for (int i = 1; i <= 20; i++)
		at += (size_t)snprintf(before + at, sizeof(before) - at, ", 10.1.0.%d", i);
	snprintf(before + at, sizeof(before) - at, "] }\n");
	apply("%s", before);
	on_trial(HEAD "peers:\n" OTHER);
	close_name("alpha");
	way_back();
	assert_int_equal(kept(false), 0);
	both("revoked");
	apply("%s", before);
	both("revoked");
	open_name("alpha");
	both("pass");
}

static void close_beta_once(void)
{
	rig_on_grace = NULL;
	close_name("beta");
}

/* Of peers without an account it keeps as many as leave room for others, and no longer. */
static void a_way_back_leaves_room_for_what_others_lose(void **state)
{
	char before[2000];
	size_t at = (size_t)snprintf(
		before, sizeof(before),
		HEAD
		"peers:\n" OTHER
		"  - { name: alpha, path: clear, via: 192.0.2.1, grant: { rate: 1gbit }, addresses: [10.3.0.0");

	for (int i = 1; i < 20; i++)
		at += (size_t)snprintf(before + at, sizeof(before) - at, ", 10.3.0.%d", i);
	snprintf(before + at, sizeof(before) - at, "] }\n");
	for (int killed = 0; killed < 2; killed++) {
		rig_teardown(state);
		rig = rig_open(&(struct rig_opts){ .host_only = true, .max_peers = 16 });
		runs = 0;
		apply("%s", before);
		on_trial(HEAD "peers:\n" OTHER BETA(ONE));
		if (killed) {
			killed_way_back();
			assert_int_equal(kept(true), 8);
			continue;
		}
		rig_on_grace = close_beta_once;
		way_back();
		rig_on_grace = NULL;
		assert_int_equal(kept(true), 2); /* beta's, closed */
		apply(HEAD "peers:\n" OTHER PEER("gamma", ONE) "grant: { rate: 1gbit } }\n");
		both("revoked");
	}
}

/* Without an account nothing is left of the name: so nothing is said to be closed. */
static void once_confirmed_a_name_that_is_gone_is_no_peer(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	on_trial_as(0);
	assert_int_equal(bwl_confirm(rig->pins, &e), 0);
	assert_int_equal(bwl_revoke(rig->pins, "alpha", &e), -ENOENT);
	close_name("beta");
	both("revoked");
}

static void a_return_never_undoes_a_revocation_and_makes_none(void **state)
{
	const char *pol = HEAD "peers:\n" DEST("undo", 1) "grant: { rate: 1gbit } }\n" DEST(
		"keep", 2) "grant: { rate: 1gbit } }\n" DEST("again",
							     3) "grant: { rate: 1gbit } }\n";
	const char *none = HEAD "peers:\n" DEST("far", 9) "grant: { rate: 1gbit } }\n";
	struct bwl_change c = { .set = BWL_SET_AUTHORISE };
	struct bwl_err e = { 0 };
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) { /* with the same peers on trial, and without them */
		rig_teardown(NULL);
		rig_setup(NULL);
		apply("%s", pol);
		close_name("again");
		assert_int_equal(bwl_peer_change(rig->pins, "again", &c, &e), 0);
		rig_advance(RIG_SECOND);
		on_trial(i ? none : pol);
		close_name("undo");
		rig_advance(short_trial.confirm_ns);
		way_back();
		rig_advance(RIG_SECOND);
		assert_string_equal(host(TO(1) "udp"), "revoked");
		assert_string_equal(host(TO(2) "udp"), "pass");
		assert_string_equal(host(TO(3) "udp"), "pass");
	}
}

static void revoke_all_on_trial_survives_the_return(void **state)
{
	const char *before = HEAD "peers:\n" DEST("both", 1) "grant: { rate: 1gbit } }\n" DEST(
		"only", 2) "grant: { rate: 1gbit } }\n";
	const char *next = HEAD "peers:\n" DEST("both", 1) "grant: { rate: 1gbit } }\n";
	struct bwl_err e = { 0 };
	int i;

	(void)state;
	/* by time, by rollback, and by confirming and applying the old one again */
	for (i = 0; i < 3; i++) {
		rig_teardown(NULL);
		rig_setup(NULL);
		apply("%s", before);
		rig_advance(RIG_SECOND);
		assert_int_equal(rig_try_policy(rig, next, &short_trial, NULL, &e), 0);
		assert_int_equal(bwl_revoke(rig->pins, NULL, &e), 0);
		assert_string_equal(host(TO(1) "udp"), "revoked");
		if (!i)
			rig_advance(short_trial.confirm_ns);
		if (i < 2)
			way_back();
		if (i == 2)
			assert_int_equal(bwl_confirm(rig->pins, &e), 0);
		rig_advance(RIG_SECOND);
		if (i == 2)
			apply("%s", before);
		assert_string_equal(host(TO(1) "udp"), "revoked");
		assert_string_equal(host(TO(2) "udp"), "revoked");
		apply("%s", next);
		apply("%s", before);
		assert_string_equal(host(TO(2) "udp"), "revoked");
	}
}

static void on_trial_cpus_hold_shares_too(void **state)
{
	(void)state;
	apply(HEAD "peers:\n" DEST("a", 1) "grant: { rate: 1gbit, burst: 1048575b } }\n");
	rig_advance(RIG_SECOND);
	on_trial(HEAD "peers:\n" DEST("a", 1) "grant: { rate: 1gbit, burst: 1048576b } }\n");
	rig_advance(RIG_SECOND);
	host(TO(1) "udp fill=1458");
	host(TO(1) "udp fill=1458");
	assert_true(held_of_peer("a") > 0);
	rig_advance(short_trial.confirm_ns);
	assert_string_equal(host(TO(1) "udp"), "expired"); /* although this CPU holds enough */
}

/* Names that a trial does not have keep their ids, so that they are the same peers afterwards. */
static void names_keep_their_ids_over_a_trial(void **state)
{
	uint32_t alpha;

	(void)state;
	apply(HEAD "peers:\n" ALPHA(ONE) OTHER);
	alpha = id_of("alpha");
	on_trial(HEAD "peers:\n" BETA(ONE) OTHER);
	assert_int_not_equal(id_of("beta"), alpha);
	way_back();
	assert_int_equal(id_of("alpha"), alpha);
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO4("10.1.0.1")), "pass");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(its_grants_end_at_the_nanosecond_and_the_policy_before_returns),
		RIG_TEST(confirmed_in_time_it_stays),
		RIG_TEST(before_the_first_policy_there_was_none),
		RIG_TEST(a_policy_before_that_is_lost_is_not_said_to_be_back),
		RIG_TEST(after_the_first_policy_its_prefixes_are_remembered),
		RIG_TEST(over_and_over_it_gives_no_burst),
		RIG_TEST(what_the_trial_lets_through_gives_no_burst_afterwards),
		RIG_TEST(nor_does_it_give_a_volume),
		RIG_TEST(an_unspent_volume_that_the_trial_removed_is_unspent_afterwards),
		RIG_TEST(revoked_by_its_name_on_trial_it_stays_revoked_by_its_name_before),
		RIG_TEST(revoked_by_its_name_before_it_is_closed_on_trial_and_after_it),
		RIG_TEST(what_was_revoked_before_a_trial_is_confirmed_stays_closed),
		RIG_TEST(what_was_revoked_of_a_policy_that_is_lost_stays_closed),
		RIG_TEST(however_many_prefixes_that_are),
		RIG_TEST(a_peer_of_a_policy_that_is_lost_is_revoked_by_its_prefixes),
		RIG_TEST(a_way_back_leaves_room_for_what_others_lose),
		RIG_TEST(a_way_back_needs_no_room_for_what_is_revoked),
		RIG_TEST(once_confirmed_a_name_that_is_gone_is_no_peer),
		RIG_TEST(a_return_never_undoes_a_revocation_and_makes_none),
		RIG_TEST(revoke_all_on_trial_survives_the_return),
		RIG_TEST(on_trial_cpus_hold_shares_too),
		RIG_TEST(names_keep_their_ids_over_a_trial),
	};

	return cmocka_run_group_tests_name("trial", tests, NULL, NULL);
}
