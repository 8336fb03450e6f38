// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promise 3 where a peer stays, and gives up a prefix: what was on its account then is owed by the
 * next new name there, however many policies later, and nothing else is. In a full table, on trial,
 * and of a policy that is refused, too.
 */
#define RIG_HOST_ONLY
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "prefixes.h"

#define GRANT "grant: { rate: 1gbit, volume: 6400b } }\n"
#define HOUR "grant: { rate: 1gbit, volume: 6400b per 1h } }\n"

static unsigned notes(void)
{
	struct bwl_key_retired key, *at = NULL;
	unsigned n = 0;

	for (; !bpf_map_get_next_key(rig->pins->fd[BWL_PIN_given], at, &key); at = &key)
		n++;
	return n;
}

/* "one" has spent so much when it has the prefixes no more, and nobody has them. */
static void give_up(const char *grant, unsigned spent)
{
	apply(HEAD "peers:\n" PEER("one", HOME ", " THERE) "%s", grant);
	rig_advance(RIG_SECOND);
	send(TO("10.1.0.1"), spent);
	apply(HEAD "peers:\n" PEER("one", HOME) "%s", grant);
	rig_advance(RIG_SECOND);
}

static void who_takes_a_prefix_that_was_given_up_owes_what_was_spent(void **state)
{
	static const char *const grant[] = { GRANT, HOUR };
	static const char *const to[] = { THERE, "10.1.0.0/16, 'fd00::/16'",
					  "10.1.0.1, 'fd00:1::1'", "10.1.0.0/25, 'fd00:1::/80'" };

	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		rig_teardown(NULL);
		rig_setup(NULL);
		give_up(grant[i % 2], 60);
		if (i / 8) /* applied again nothing is noted anew */
			apply(HEAD "peers:\n" PEER("one", HOME) "%s", grant[i % 2]);
		assert_int_equal(notes(), 2);
		apply(HEAD "peers:\n" PEER("one", HOME) "%s" PEER("two", "%s")
			      GRANT PEER("free", "10.7.0.1, 'fd00:17::7'") GRANT,
		      grant[i % 2], to[i / 2 % 4]);
		rig_advance(RIG_SECOND);
		assert_int_equal(drain(i % 4 < 2 ? TO("10.1.0.1") : TO6("fd00:1::1")), 40);
		/* Control: where nobody was it has all. */
		assert_int_equal(drain(TO("10.7.0.1")), 100);
		/* Who has the prefix has the account: the note is gone, if all of it is his. */
		apply(HEAD "peers:\n" PEER("one", HOME) "%s" PEER("two", "%s") GRANT, grant[i % 2],
		      to[i / 2 % 4]);
		assert_int_equal(notes(), i / 2 % 4 < 2 ? 0 : 2);
		apply(HEAD "peers:\n" PEER("one", HOME) "%s" PEER("three", "%s") GRANT,
		      grant[i % 2], to[i / 2 % 4]);
		rig_advance(RIG_SECOND);
		assert_int_equal(drain(TO("10.1.0.1")), 0);
	}
}

static void what_is_spent_elsewhere_later_is_not_owed(void **state)
{
	(void)state;
	give_up(HOUR, 60);
	send(TO("10.5.0.1"), 40);
	assert_int_equal(drain(TO("10.5.0.1")), 0);
	/* A new name of its own has its account, and nothing of the note. */
	apply(HEAD "peers:\n" PEER("renamed", HOME) HOUR PEER("two", THERE) HOUR);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.1")), 40);
	assert_int_equal(drain(TO("10.5.0.1")), 0);
}

/* Not even a note that is older than what its account still counts. */
static void who_gave_it_up_owes_only_its_own_account(void **state)
{
	(void)state;
	give_up(HOUR, 60);
	rig_advance(3500 * RIG_SECOND);
	send(TO("10.5.0.1"), 10);
	rig_advance(1000 * RIG_SECOND);
	assert_string_equal(host(TO("10.5.0.1")), "pass"); /* turns the window */
	apply(HEAD "peers:\n" PEER("one", HOME ", " THERE) HOUR);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.1")), 89);
	apply(HEAD "peers:\n" PEER("one", HOME ", 'fd00:1::/64'") HOUR);
	apply(HEAD "peers:\n" PEER("renamed", HOME ", 'fd00:1::/64'") HOUR);
	rig_advance(2 * 3600 * RIG_SECOND);
	assert_string_equal(host(TO("10.5.0.1")), "pass");
	assert_int_equal(notes(), 1);
	apply(HEAD "peers:\n" PEER("renamed", HOME) HOUR);
	apply(HEAD "peers:\n" PEER("again", HOME) HOUR);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.5.0.1")), 99);
}

static void a_windows_note_ends_with_it(void **state)
{
	(void)state;
	give_up(HOUR, 60);
	rig_advance(3000 * RIG_SECOND);
	apply(HEAD "peers:\n" PEER("one", HOME) HOUR);
	assert_int_equal(notes(), 2);
	rig_advance(1000 * RIG_SECOND);
	apply(HEAD "peers:\n" PEER("one", HOME) HOUR);
	assert_int_equal(notes(), 0);
	apply(HEAD "peers:\n" PEER("one", HOME) HOUR PEER("two", THERE) HOUR);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.1")), 100);
	/* Control: a total's does not. */
	rig_teardown(NULL);
	rig_setup(NULL);
	give_up(GRANT, 60);
	rig_advance(100000 * RIG_SECOND);
	apply(HEAD "peers:\n" PEER("one", HOME) GRANT PEER("two", THERE) GRANT);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO6("fd00:1::1")), 40);
}

static void who_left_and_comes_back_without_it_has_given_it_up(void **state)
{
	(void)state;
	apply(HEAD "peers:\n" PEER("one", THERE) HOUR PEER("far", "10.9.0.9") GRANT);
	rig_advance(RIG_SECOND);
	send(TO("10.1.0.1"), 60);
	apply(HEAD "peers:\n" PEER("far", "10.9.0.9") GRANT);
	assert_int_equal(notes(), 0); /* bwl_retired_v1 has them */
	apply(HEAD "peers:\n" PEER("one", HOME) HOUR);
	assert_int_equal(notes(), 2);
	apply(HEAD "peers:\n" PEER("one", HOME) HOUR PEER("two", THERE) HOUR);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO6("fd00:1::1")), 40);
}

static unsigned graces;

/* The second wait is that after the switch. */
static void die_after_switch(void)
{
	if (++graces == 2)
		_exit(0);
}

/* A packet that has read the policy before is charged. */
static void charge_late(void)
{
	rig->pins->state[bwl_grant_state(bwl_name_id(rig->pins, "one"))].used_bytes += 64;
	graces++;
}

/* yaml NULL: the way back from a trial. */
static void kill_after_switch(const char *yaml)
{
	struct bwl_err e = { 0 };
	pid_t child;

	graces = 0;
	bwl_pins_close(rig->pins); /* with the lock */
	rig->pins = rig_pins(rig);
	child = fork();
	if (!child) {
		rig_on_grace = die_after_switch;
		if (yaml)
			rig_try_policy(rig, yaml, NULL, NULL, &e);
		else
			bwl_rollback(rig->pins, &e);
		_exit(1);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(bwl_is_unsettled(rig->pins));
}

static void who_notes_for_a_killed_writer_waits_for_packets_in_flight(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	apply(HEAD "peers:\n" PEER("one", HOME ", " THERE) GRANT);
	rig_advance(RIG_SECOND);
	send(TO("10.1.0.1"), 60);
	kill_after_switch(HEAD "peers:\n" PEER("one", HOME) GRANT);
	graces = 0;
	assert_int_equal(notes(), 0);
	rig_on_grace = charge_late;
	assert_int_equal(bwl_settle_held(rig->dir, &e), 0);
	rig_on_grace = NULL;
	assert_int_equal(graces, 1);
	apply(HEAD "peers:\n" PEER("one", HOME) GRANT PEER("two", THERE) GRANT);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.1")), 39);
}

static void a_policy_that_is_refused_leaves_no_note(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	apply(HEAD "peers:\n" PEER("one", HOME ", " THERE) GRANT);
	rig_advance(RIG_SECOND);
	send(TO("10.1.0.1"), 60);
	assert_int_not_equal(rig_try_policy(rig,
					    HEAD "peers:\n" PEER("one", HOME) GRANT PEER(
						    "two", "10.6.0.1") "from: [h7], " GRANT,
					    NULL, NULL, &e),
			     0);
	assert_int_equal(notes(), 0);
	assert_int_equal(drain(TO("10.1.0.1")), 40);
}

static void on_trial_and_back_it_is_owed_once(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	/* Given up on trial: after the way back it is there as before. */
	apply(HEAD "peers:\n" PEER("one", HOME ", " THERE) GRANT);
	rig_advance(RIG_SECOND);
	send(TO("10.1.0.1"), 60);
	assert_int_equal(rig_try_policy(rig, HEAD "peers:\n" PEER("one", HOME) GRANT, &short_trial,
					NULL, &e),
			 0);
	assert_int_equal(bwl_rollback(rig->pins, &e), 0);
	rig_advance(RIG_SECOND);
	send(TO("10.1.0.1"), 20);
	/* Taken on trial: the way back gives it up again, with what was spent on trial. */
	apply(HEAD "peers:\n" PEER("one", HOME) GRANT);
	assert_int_equal(rig_try_policy(rig,
					HEAD "peers:\n" PEER("one", HOME) GRANT PEER("two", THERE)
						GRANT,
					&short_trial, NULL, &e),
			 0);
	rig_advance(RIG_SECOND);
	send(TO6("fd00:1::1"), 15);
	assert_int_equal(bwl_rollback(rig->pins, &e), 0);
	apply(HEAD "peers:\n" PEER("one", HOME) GRANT PEER("three", THERE) GRANT);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.1")), 5);
	assert_int_equal(drain(TO("10.5.0.1")), 20);
}

#define SUBS                                                                                       \
	"grant: { rate: 1gbit }, floor: { rate: 1gbit, volume: 6400b },"                           \
	" classes: { other: { volume: 6400b }, ssh: { volume: 6400b } } }\n"

static void classes_are_owed_each_its_own(void **state)
{
	(void)state;
	give_up(SUBS, 60);
	apply(HEAD "peers:\n" PEER("one", HOME) SUBS PEER("two", THERE) SUBS);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.1")), 40);
	assert_int_equal(drain("eth ip4 src=10.0.7.2 dst=10.1.0.1 tcp dport=22"), 100);
}

#define TENANTS "grant: { rate: 1gbit }, ports: { h0: { volume: 6400b } } }\n"

static void so_are_tenants(void **state)
{
	(void)state;
	give_up(TENANTS, 60);
	apply(HEAD "peers:\n" PEER("one", HOME) TENANTS PEER("two", THERE) TENANTS);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.1.0.1")), 40);
}

#define ZONES(name) HEAD "zones: { " name ": { rate: 1gbit, volume: 6400b } }\npeers:\n"
#define IN(zone) "zone: " zone ", grant: { rate: 1gbit } }\n"

static void a_new_zone_owes_what_its_prefixes_zones_had_spent(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) { /* who had them stays, or leaves */
		rig_teardown(NULL);
		rig_setup(NULL);
		apply(ZONES("old") PEER("one", HOME) IN("old") PEER("gives", "10.2.0.1, " THERE)
			      IN("old"));
		rig_advance(RIG_SECOND);
		send(TO("10.1.0.1"), 60);
		apply(ZONES("old") PEER("one", HOME) IN("old") "%s",
		      i ? "" : PEER("gives", "10.2.0.1") IN("old"));
		send(TO("10.5.0.1"), 10);
		apply(HEAD
		      "zones: { old: { rate: 1gbit, volume: 6400b }, new: { rate: 1gbit, volume: 6400b } }\n"
		      "peers:\n" PEER("one", HOME) IN("old") PEER("two", THERE) IN("new"));
		rig_advance(RIG_SECOND);
		assert_int_equal(drain(TO6("fd00:1::1")), 40);
		assert_int_equal(drain(TO("10.5.0.1")), 30);
	}
}

static void a_first_policy_on_trial_leaves_what_its_zones_had_spent(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	rig->pins->ctl->fresh_volume = 1;
	assert_int_equal(rig_try_policy(rig, ZONES("old") PEER("one", THERE) IN("old"),
					&short_trial, NULL, &e),
			 0);
	rig_advance(RIG_SECOND);
	send(TO("10.1.0.1"), 60);
	assert_int_equal(bwl_rollback(rig->pins, &e), 0);
	apply(ZONES("new") PEER("two", THERE) IN("new"));
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO6("fd00:1::1")), 40);
}

static int setup_small(void **state)
{
	static const struct rig_opts small = {
		.host_only = true, .max_peers = 16, .max_extras = 64, .max_windows = 16
	};

	(void)state;
	rig = rig_open(&small);
	runs = 0;
	return 0;
}

/* Each with another's note: a place is taken until its end. */
static void fill(unsigned n)
{
	struct bwl_given g = { .of[BWL_OWED_GRANT].total_bytes = 640 };

	for (unsigned i = 0; i < n; i++) {
		struct bwl_key_retired k = { .family = 4, .len = 32 };
		uint8_t addr[4] = { 10, 100, 0, (uint8_t)i };

		memcpy(k.addr, addr, 4);
		assert_int_equal(
			bpf_map_update_elem(rig->pins->fd[BWL_PIN_given], &k, &g, BPF_NOEXIST), 0);
	}
}

static void a_full_table_refuses_nothing_and_loses_nothing(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	apply(HEAD "peers:\n" PEER("one", HOME) HOUR);
	rig_advance(RIG_SECOND);
	send(TO("10.5.0.1"), 10);
	assert_int_equal(rig_try_policy(rig, HEAD "peers:\n" PEER("one", HOME ", " THERE) HOUR,
					&short_trial, NULL, &e),
			 0);
	rig_advance(RIG_SECOND);
	fill(16);
	send(TO("10.1.0.1"), 50);
	assert_int_equal(bwl_rollback(rig->pins, &e), 0);
	assert_int_equal(notes(), 18); /* and one for each family */
	apply(HEAD "peers:\n" PEER("one", HOME) HOUR);
	assert_int_equal(notes(), 18);
	/* Wherever nobody was; a name that is in force, or renamed, owes nothing of it. */
	apply(HEAD "peers:\n" PEER("other", HOME) HOUR PEER("two", THERE)
		      HOUR PEER("three", "10.7.0.1, 'fd00:17::7'") HOUR);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO6("fd00:1::1")), 40);
	assert_int_equal(drain(TO("10.7.0.1")), 40);
	assert_int_equal(drain(TO("10.5.0.1")), 40);
	/* They end with the window, and then there is none. */
	rig_advance(4000 * RIG_SECOND);
	apply(HEAD "peers:\n" PEER("other", HOME) HOUR PEER("four", "10.8.0.1, 'fd00:8::1'") HOUR);
	assert_int_equal(notes(), 16);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.8.0.1")), 100);
	assert_int_equal(drain(TO6("fd00:8::1")), 0);
}

/* bwl_retired_v1 is full: what who leaves has spent is noted. */
static void a_way_back_needs_no_room_for_the_prefixes_of_who_leaves(void **state)
{
	struct bwl_err e = { 0 };
	char gone[400] = "10.100.0.0";
	size_t at = strlen(gone);

	(void)state;
	for (unsigned i = 1; i < 16; i++)
		at += (size_t)snprintf(gone + at, sizeof(gone) - at, ", 10.100.0.%u", i);
	apply(HEAD "peers:\n" PEER("one", HOME) GRANT PEER("gone", "%s") GRANT, gone);
	rig_advance(RIG_SECOND);
	send(TO("10.100.0.3"), 30);
	apply(HEAD "peers:\n" PEER("one", HOME) GRANT);
	for (unsigned i = 0; i < 2; i++) { /* killed, it is noted by whoever comes next */
		assert_int_equal(rig_try_policy(rig,
						HEAD "peers:\n" PEER("one", HOME)
							GRANT PEER("tried", THERE) GRANT,
						&short_trial, NULL, &e),
				 0);
		rig_advance(RIG_SECOND);
		send(TO("10.1.0.1"), 30);
		rig_advance(short_trial.confirm_ns);
		if (!i) {
			assert_int_equal(bwl_rollback(rig->pins, &e), 0);
		} else {
			kill_after_switch(NULL);
			assert_int_equal(bwl_settle_held(rig->dir, &e), 0);
		}
		assert_int_equal(notes(), 2);
	}
	/* Nobody may leave so by another policy, as before. */
	assert_int_equal(rig_try_policy(rig, HEAD "peers:\n" PEER("far", "10.9.0.1") GRANT, NULL,
					NULL, &e),
			 -E2BIG);
	apply(HEAD "peers:\n" PEER("one", HOME) GRANT PEER("two", THERE)
		      GRANT PEER("back", "10.100.0.0/24") GRANT);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO6("fd00:1::1")), 40);
	assert_int_equal(drain(TO("10.100.0.3")), 70);
}

/* What bwlimit says meanwhile. */
static char said[4000];

static void hear(void *arg, const char *text)
{
	size_t at = strlen(said);

	(void)arg;
	snprintf(said + at, sizeof(said) - at, "%s\n", text);
}

/* "gone" has left, and takes all places; "tried" is on trial, and has none. */
static void fill_and_try(void)
{
	struct bwl_err e = { 0 };
	char gone[400] = "10.100.0.0";
	size_t at = strlen(gone);

	rig_teardown(NULL);
	setup_small(NULL);
	said[0] = '\0';
	for (unsigned i = 1; i < 16; i++)
		at += (size_t)snprintf(gone + at, sizeof(gone) - at, ", 10.100.0.%u", i);
	apply(HEAD "peers:\n" PEER("one", HOME) GRANT PEER("gone", "%s") GRANT, gone);
	rig_advance(RIG_SECOND);
	send(TO("10.100.0.3"), 30);
	apply(HEAD "peers:\n" PEER("one", HOME) GRANT);
	assert_int_equal(rig_try_policy(rig,
					HEAD "peers:\n" PEER("one", HOME) GRANT PEER("tried", THERE)
						GRANT,
					&short_trial, NULL, &e),
			 0);
	rig_advance(11 * RIG_SECOND);
}

/* Revocations find room in bwl_retired_v1: what peers that left have spent is noted. */
static void nor_for_those_of_who_was_revoked(void **state)
{
	const struct bwl_change c = { .set = BWL_SET_AUTHORISE };
	struct bwl_err e = { 0 };

	(void)state;
	/* in time; while a writer that was killed is not settled; all of them; control: nobody */
	for (unsigned i = 0; i < 4; i++) {
		fill_and_try();
		bwl_warn_to(hear, NULL);
		if (i == 1)
			kill_after_switch(NULL);
		if (i < 3)
			assert_int_equal(bwl_revoke(rig->pins, "tried", &e), 0);
		if (i == 2)
			assert_int_equal(bwl_revoke(rig->pins, "gone", &e), 0);
		if (i == 1)
			assert_int_equal(bwl_settle_held(rig->dir, &e), 0);
		else
			assert_int_equal(bwl_rollback(rig->pins, &e), 0);
		bwl_warn_to(NULL, NULL);
		assert_int_equal(bwl_peer_change(rig->pins, "one", &c, &e), 0);
		apply(HEAD "peers:\n" PEER("one", HOME) GRANT PEER("two", THERE)
			      GRANT PEER("back", "10.100.0.0/24") GRANT);
		rig_advance(120 * RIG_SECOND);
		/* It is said of whom a revocation is lost. */
		assert_int_equal(strstr(said, "tried is revoked, and there is no room") != NULL,
				 i == 2);
		assert_string_equal(host(TO("10.1.0.1")), i < 2 ? "revoked" : "pass");
		assert_string_equal(host(TO6("fd00:1::1")), i < 2 ? "revoked" : "pass");
		if (i == 2)
			assert_string_equal(host(TO("10.100.0.3")), "revoked");
		else
			assert_int_equal(drain(TO("10.100.0.3")), 70);
	}
}

/* Revoked long after the switch: what it had before it came back is not its own. */
static void a_late_settle_closes_who_has_what_the_revoked_one_had_and_says_so(void **state)
{
	struct bwl_err e = { 0 };

	for (unsigned i = 0; i < 2; i++) { /* it had left before; it had it until the switch */
		rig_teardown(state);
		rig_setup(state);
		said[0] = '\0';
		apply(HEAD "peers:\n" PEER("one", HOME) GRANT PEER("x", THERE) GRANT);
		rig_advance(RIG_SECOND);
		send(TO("10.1.0.1"), 30);
		if (!i)
			apply(HEAD "peers:\n" PEER("one", HOME) GRANT);
		kill_after_switch(HEAD "peers:\n" PEER("one", HOME) GRANT PEER("x", "10.8.0.1")
					  GRANT PEER("other", "10.1.0.0/16") GRANT);
		assert_int_equal(bwl_revoke(rig->pins, "x", &e), 0);
		bwl_warn_to(hear, NULL);
		assert_int_equal(bwl_settle_held(rig->dir, &e), 0);
		bwl_warn_to(NULL, NULL);
		rig_advance(120 * RIG_SECOND);
		assert_string_equal(host(TO("10.8.0.1")), "revoked");
		assert_string_equal(host(TO("10.1.0.1")), i ? "revoked" : "pass");
		assert_int_equal(strstr(said, "other is closed") != NULL, i);
		assert_string_equal(host(TO("10.5.0.1")), "pass");
	}
}

#define MANY 10000U

static int setup_large(void **state)
{
	static const struct rig_opts large = { .host_only = true, .max_peers = 2 * MANY };

	(void)state;
	rig = rig_open(&large);
	runs = 0;
	return 0;
}

/* Ten thousand addresses from `at` on, without their brackets. */
static char *addresses(unsigned at)
{
	char *text = malloc(MANY * 16), *to = text;

	for (unsigned i = at; i < at + MANY; i++)
		to += sprintf(to, "%s10.%u.%u.%u", i == at ? "" : ", ", 32 + i / 65536,
			      i / 256 % 256, i % 256);
	return text;
}

static void ten_thousand_prefixes_are_noted_and_no_more_of_them_each_time(void **state)
{
	char *a = addresses(0), *b = addresses(MANY), *of[] = { a, b };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		apply(HEAD "peers:\n" PEER("one", "%s") GRANT, of[i % 2]);
		rig_advance(RIG_SECOND);
		send(i % 2 ? TO("10.32.39.16") : TO("10.32.0.0"), 10);
		assert_int_equal(notes(), i ? MANY + (i > 1 ? MANY : 0) : 0);
	}
	apply(HEAD "peers:\n" PEER("one", "%s") GRANT PEER("two", "10.32.0.0/16") GRANT, b);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.32.3.4")), 70);
	apply(HEAD "peers:\n" PEER("one", "%s") GRANT PEER("two", "10.32.0.0/16") GRANT, b);
	assert_int_equal(notes(), 0);
	free(a);
	free(b);
}

#define ZONE(name) name ": { rate: 1gbit, volume: 6400b }"
#define IN(zone) "zone: " zone ", grant: { rate: 1gbit } }\n"

/* One note for prefixes of several zones: also a zone that was there before owes it. */
static void a_zone_owes_what_prefixes_of_several_zones_had_spent(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) { /* in one step, and later */
		rig_teardown(NULL);
		rig_setup(NULL);
		apply(HEAD "zones: { " ZONE("a") ", " ZONE("b") ", " ZONE(
			"z") " }\npeers:\n" PEER("pa", "10.1.0.0/24, 'fd00:1::/64'") IN("a")
			      PEER("pb", "10.2.0.0/24, 'fd00:2::/64'") IN("b") PEER("pz", HOME)
				      IN("z"));
		rig_advance(RIG_SECOND);
		send(TO("10.1.0.1"), 60);
		send(TO6("fd00:2::1"), 70);
		send(TO("10.5.0.1"), 10);
		if (i)
			apply(HEAD "zones: { " ZONE("z") " }\npeers:\n" PEER("pz", HOME) IN("z"));
		apply(HEAD "zones: { " ZONE("z") " }\npeers:\n" PEER("pz", HOME) IN("z")
			      PEER("heir", "10.1.0.0/24, 'fd00:1::/64', 10.2.0.0/24, 'fd00:2::/64'")
				      IN("z"));
		rig_advance(RIG_SECOND);
		assert_int_equal(drain(i ? TO6("fd00:1::1") : TO("10.1.0.1")), 30);
	}
}

/* The packets to what was given up go to another one, who owes it. */
static void who_has_a_wider_prefix_than_another_new_name_owes_nothing_of_it(void **state)
{
	(void)state;
	apply(HEAD "peers:\n" PEER("one", HOME ", 10.1.2.0/24, 'fd00:1:2::/64'") GRANT);
	rig_advance(RIG_SECOND);
	send(TO("10.1.2.1"), 60);
	apply(HEAD "peers:\n" PEER("one", HOME) GRANT);
	rig_advance(RIG_SECOND);
	apply(HEAD "peers:\n" PEER("one", HOME) GRANT PEER("mid", "10.1.0.0/16, 'fd00:1::/32'")
		      GRANT PEER("wide", "10.0.0.0/8") GRANT PEER("wide6", "'fd00::/16'") GRANT);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.99.0.1")), 100);
	assert_int_equal(drain(TO6("fd00:99::1")), 100);
	assert_int_equal(drain(TO6("fd00:1:2::1")), 40);
}

static int setup_old(void **state)
{
	static const struct rig_opts o = { .host_only = true, .old_volume = true };

	(void)state;
	rig = rig_open(&o);
	runs = 0;
	return 0;
}

/* As after a reboot: a note says something of one prefix, and nothing of the rest. */
static void a_note_does_not_make_an_unknown_past_known(void **state)
{
	const struct bwl_publish_opts fresh = { .fresh_volume = true };
	struct bwl_err e = { 0 };

	(void)state;
	assert_int_equal(rig_try_policy(rig, HEAD "peers:\n" PEER("one", HOME ", " THERE) GRANT,
					&fresh, NULL, &e),
			 0);
	rig_advance(RIG_SECOND);
	send(TO("10.1.0.1"), 1);
	apply(HEAD "peers:\n" PEER("one", HOME) GRANT);
	assert_int_equal(notes(), 2);
	apply(HEAD "peers:\n" PEER("one", HOME) GRANT PEER("big", "10.0.0.0/8, 'fd00::/16'") GRANT);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO("10.99.0.1")), 0);
	assert_int_equal(drain(TO6("fd00:99::1")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(who_takes_a_prefix_that_was_given_up_owes_what_was_spent),
		RIG_TEST(what_is_spent_elsewhere_later_is_not_owed),
		RIG_TEST(who_gave_it_up_owes_only_its_own_account),
		RIG_TEST(a_windows_note_ends_with_it),
		RIG_TEST(who_left_and_comes_back_without_it_has_given_it_up),
		RIG_TEST(who_notes_for_a_killed_writer_waits_for_packets_in_flight),
		RIG_TEST(a_policy_that_is_refused_leaves_no_note),
		RIG_TEST(on_trial_and_back_it_is_owed_once),
		RIG_TEST(classes_are_owed_each_its_own),
		RIG_TEST(so_are_tenants),
		RIG_TEST(a_new_zone_owes_what_its_prefixes_zones_had_spent),
		RIG_TEST(a_first_policy_on_trial_leaves_what_its_zones_had_spent),
		RIG_TEST(a_zone_owes_what_prefixes_of_several_zones_had_spent),
		RIG_TEST(who_has_a_wider_prefix_than_another_new_name_owes_nothing_of_it),
		cmocka_unit_test_setup_teardown(a_note_does_not_make_an_unknown_past_known,
						setup_old, rig_teardown),
		cmocka_unit_test_setup_teardown(
			a_way_back_needs_no_room_for_the_prefixes_of_who_leaves, setup_small,
			rig_teardown),
		cmocka_unit_test_setup_teardown(nor_for_those_of_who_was_revoked, setup_small,
						rig_teardown),
		RIG_TEST(a_late_settle_closes_who_has_what_the_revoked_one_had_and_says_so),
		cmocka_unit_test_setup_teardown(a_full_table_refuses_nothing_and_loses_nothing,
						setup_small, rig_teardown),
		cmocka_unit_test_setup_teardown(
			ten_thousand_prefixes_are_noted_and_no_more_of_them_each_time, setup_large,
			rig_teardown),
	};

	return cmocka_run_group_tests_name("given up", tests, NULL, NULL);
}
