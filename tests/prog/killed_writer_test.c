// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promises 3 and 6: a writer that puts a policy in force is killed at any instruction while it
 * holds volumes full; the next writer gives back what was held, and not one byte of what was spent.
 * Promise 9: what he put in force can be revoked by its names.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#define RIG_HOST_ONLY
#include "prog.h"

#define PEER(name, n, volume)                                                                      \
	"  - { name: " name ", addresses: [10.1.0." #n "], path: clear,"                           \
	" via: 192.0.2.1, grant: { rate: 1gbit, volume: " volume " } }\n"
#define HEAD PORTS "heartbeat: 60s\npeers:\n"
#define NAME                                                                                       \
	"  - { name: name, addresses: [10.1.0.3, 10.1.0.6], path: clear, via: 192.0.2.1,"          \
	" grant: { rate: 1gbit, volume: 6400b } }\n"
#define AWAY HEAD PEER("far", 9, "1gb")
/*
 * In the next policy: another kind, a new one, one within another's prefix, one with a volume
 * again, one with a longer window, which also counts what the shorter one has forgotten.
 */
#define LONGER(window) PEER("longer", 5, "6400b per " window)
#define FIRST HEAD PEER("kind", 1, "6400b") NAME PEER("again", 4, "6400b") LONGER("1h")
#define NO_VOLUME                                                                                  \
	"  - { name: again, addresses: [10.1.0.4], path: clear, via: 192.0.2.1, grant: { rate: 1gbit } }\n"
#define BEFORE HEAD PEER("kind", 1, "6400b") NAME NO_VOLUME LONGER("1h")
#define NEXT                                                                                       \
	HEAD PEER("kind", 1, "6400b per 1h") PEER("new", 2, "6400b") PEER("other", 3, "6400b")     \
		PEER("name", 6, "6400b") PEER("again", 4, "6400b") LONGER("1d")
/* "kind" with another name, and so with the same id */
#define RENAMED HEAD PEER("anew", 1, "6400b per 1h")
/* a new name that takes over from "longer" what its shorter window has forgotten, too */
#define WIDER                                                                                      \
	HEAD "  - { name: wider, addresses: [10.1.0.4/31], path: clear, via: 192.0.2.1,"           \
	     " grant: { rate: 1gbit, volume: 6400b per 1d } }\n"
#define ANEW_LEFT HEAD PEER("new", 2, "6400b")
#define KIND_AGAIN HEAD PEER("kind", 2, "6400b") PEER("anew", 1, "6400b per 1h")
#define TO(n) "eth ip4 src=10.0.7.2 dst=10.1.0." #n " udp" /* charged 64 bytes */
#define LEFT 100U
#define SPENT 30U

static unsigned calls, stop_at, held_at;
static const char *next = NEXT;

static void at_clock(void)
{
	calls++;
	if (!held_at && rig->pins && bwl_is_held(rig->pins))
		held_at = calls;
	if (calls == stop_at)
		raise(SIGSTOP);
}

static unsigned drain(const char *spec, unsigned most)
{
	unsigned n = 0;

	while (n < most && !strncmp(host(spec), "pass", 4))
		n++;
	return n;
}

static void unlock(void)
{
	bwl_pins_close(rig->pins);
	rig->pins = rig_pins(rig);
}

/* With all accounts empty. */
static void begin(void)
{
	uint32_t n = 2 * (rig->pins->schema.max_peers + rig->pins->schema.max_extras);

	rig_policy(rig, AWAY);
	for (uint32_t i = 0; i < n; i++)
		rig->pins->state[i].used_bytes = 0;
	memset(rig->pins->window, 0, sizeof(*rig->pins->window) * rig->pins->schema.max_windows);
	rig_policy(rig, AWAY);
	rig_advance(100000 * RIG_SECOND);
	rig_policy(rig, FIRST);
	rig->pins->ctl->heartbeat_ns = BWL_NEVER_NS - 1;
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO(5), SPENT), SPENT);
	rig_advance(7200 * RIG_SECOND);
	assert_int_equal(drain(TO(5), SPENT), SPENT);
	assert_int_equal(drain(TO(1), SPENT), SPENT);
	assert_int_equal(drain(TO(3), SPENT), SPENT);
	assert_int_equal(drain(TO(4), SPENT), SPENT);
	rig_policy(rig, BEFORE);
	rig_advance(RIG_SECOND);
	unlock();
}

/* Puts the next policy in force in a child that is stopped when it reads the time for the at-th
 * time. */
static pid_t stopped(unsigned at)
{
	pid_t child = fork();
	int status;

	if (!child) {
		struct bwl_err e = { 0 };

		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		calls = held_at = 0;
		stop_at = at;
		rig_on_clock = at_clock;
		_exit(rig_try_policy(rig, next, NULL, NULL, &e) ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status));
	return child;
}

/* One step; false: it has ended. */
static bool step(pid_t child)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSTOPPED(status);
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* The number of steps from this call until is_held() is `until`. */
static unsigned steps_until(unsigned at, bool until)
{
	unsigned n = 0;
	pid_t child;

	begin();
	child = stopped(at);
	while (bwl_is_held(rig->pins) != until && step(child))
		n++;
	end(child);
	return n;
}

static unsigned points, stuck;

/* The sum of all accounts of total volumes, in packets. */
static uint64_t sum(void)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < 2 * (rig->pins->schema.max_peers + rig->pins->schema.max_extras);
	     i += 2)
		bytes += rig->pins->state[i].used_bytes;
	return bytes / 64;
}

/* before: what passed before it was settled. */
static void fits(const char *spec, unsigned spent, unsigned before)
{
	unsigned n = before + drain(spec, 2 * LEFT);

	if (n > LEFT - spent)
		fail_msg("%s: %u passed of %u", spec, n, LEFT - spent);
	stuck += n < LEFT - spent;
}

/*
 * Killed after this many steps from that call; then what each volume still allows, before and after
 * it is settled.
 */
static void killed(unsigned at, unsigned steps)
{
	bool whole = !steps; /* not in the middle of an account */
	unsigned one, two, three;
	struct bwl_err e = { 0 };
	uint32_t before;
	uint64_t was;
	pid_t child;

	begin();
	before = rig->pins->ctl->active;
	was = sum();
	child = stopped(at);
	while (steps-- && step(child))
		;
	end(child);
	one = drain(TO(1), 2 * LEFT);
	two = drain(TO(2), 2 * LEFT);
	three = drain(TO(3), 2 * LEFT);
	if (points++ % 2 && bwl_settle_held(rig->dir, &e))
		fail_msg("%s", e.text);
	if (rig->pins->ctl->active == before) {
		if (whole && !bwl_is_held(rig->pins))
			assert_int_equal(sum(), was + one + two + three);
		rig_policy(rig, NEXT);
	} else if (bwl_is_held(rig->pins)) {
		rig_policy(rig, NEXT);
	}
	rig_advance(RIG_SECOND);
	assert_false(bwl_is_held(rig->pins));
	fits(TO(1), SPENT, one);
	fits(TO(2), 0, two);
	fits(TO(3), SPENT, three);
	fits(TO(4), SPENT, 0);
	fits(TO(5), 2 * SPENT, 0);
	/* an account spent to the last byte is not taken for a held one */
	unlock();
	assert_int_equal(bwl_settle_held(rig->dir, &e), 0);
	rig_policy(rig, NEXT);
	assert_int_equal(drain(TO(1), 1) + drain(TO(2), 1) + drain(TO(3), 1) + drain(TO(4), 1) +
				 drain(TO(5), 1),
			 0);
}

/* The calls that read the time: the last before accounts are held, and the last while they are. */
static void find_calls(unsigned *ret_hold, unsigned *ret_last)
{
	begin();
	rig_on_clock = at_clock;
	calls = held_at = stop_at = 0;
	*ret_last = 0;
	rig_policy(rig, next);
	rig_on_clock = NULL;
	assert_true(held_at > 1);
	*ret_hold = held_at - 1;
	for (unsigned at = held_at; at <= calls; at++) {
		pid_t child;

		begin();
		child = stopped(at);
		if (bwl_is_held(rig->pins))
			*ret_last = at;
		end(child);
		bwl_settle_held(rig->dir, NULL);
	}
	assert_true(*ret_last >= held_at);
}

static void a_writer_killed_at_any_instruction_gives_back_what_he_held_and_no_more(void **state)
{
	bool fine = getenv("BWL_HELD_FINE"); /* takes some minutes */
	unsigned hold, last, n, i;

	(void)state;
	find_calls(&hold, &last);
	/* while holding, for about 900 steps after the first one is recorded */
	n = steps_until(hold, true);
	for (i = fine ? 0 : n; i <= n + 900; i += fine ? 31 : 307)
		killed(hold, i);
	/* before and after the switch */
	for (i = 2 * (hold + 1); i < 2 * (last + 1); i++)
		killed(i / 2, 0);
	/* while settling: the last steps with anything held */
	n = steps_until(last, false);
	for (i = n > 400 ? n - 400 : 0; i <= n + 5; i += fine ? 3 : 97)
		killed(last, i);
	print_message("# %u kills, %u of %u volumes stay spent\n", points, stuck, 5 * points);
	assert_true(stuck * 5 <= 5 * points);
}

/* Killed at its first call after the switch; which one that was. */
static unsigned kill_after_switch(void)
{
	unsigned at, last, before;
	pid_t child;

	find_calls(&at, &last);
	do {
		begin();
		before = rig->pins->ctl->active;
		child = stopped(++at);
		end(child);
	} while (rig->pins->ctl->active == before);
	return at;
}

/* The window turns meanwhile, and packets spend it again: nothing is left to give back. */
static void a_window_that_turned_while_it_was_held_is_not_given_back_twice(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	kill_after_switch();
	rig->pins->ctl->heartbeat_ns = BWL_NEVER_NS - 1;
	assert_true(bwl_is_held(rig->pins));
	assert_int_equal(drain(TO(1), 1), 0);
	rig_advance(7200 * RIG_SECOND);
	assert_int_equal(drain(TO(1), 2 * LEFT), LEFT);
	assert_int_equal(bwl_settle_held(rig->dir, &e), 0);
	assert_int_equal(drain(TO(1), 2 * LEFT), 0);
	rig_advance(7200 * RIG_SECOND);
	assert_int_equal(drain(TO(1), 2 * LEFT), LEFT);
}

static void what_a_shorter_window_forgot_is_taken_over_from_the_record_too(void **state)
{
	struct bwl_err e = { 0 };
	int how;

	(void)state;
	next = WIDER;
	for (how = 0; how < 3; how++) { /* nobody killed; settled alone; by the next writer */
		if (how) {
			kill_after_switch();
			assert_true(bwl_is_held(rig->pins));
		} else {
			begin();
		}
		if (how == 1)
			assert_int_equal(bwl_settle_held(rig->dir, &e), 0);
		else
			rig_policy(rig, next);
		rig->pins->ctl->heartbeat_ns = BWL_NEVER_NS - 1;
		rig_advance(120 * RIG_SECOND); /* for so long a new rate may stay closed */
		assert_int_equal(drain(TO(5), 2 * LEFT), LEFT - 2 * SPENT);
		unlock();
	}
	next = NEXT;
}

/* Promise 9: the name that the policy in force has, although it is not stored yet. */
static void a_renamed_peer_can_be_revoked_by_its_new_name(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	next = RENAMED;
	kill_after_switch();
	assert_int_equal(bwl_name_id(rig->pins, "anew"), 0);
	assert_int_equal(bwl_revoke(rig->pins, "nobody", &e), -ENOENT);
	assert_string_equal(host(TO(1)), "peer-volume");
	assert_int_equal(bwl_revoke(rig->pins, "anew", &e), 0);
	assert_string_equal(host(TO(1)), "revoked");
	rig_policy(rig, next);
	assert_string_equal(host(TO(1)), "revoked");
	next = NEXT;
}

static int grant(const char *name)
{
	const struct bwl_change c = { .set = BWL_SET_AUTHORISE };
	struct bwl_err e = { 0 };

	return bwl_peer_change(rig->pins, name, &c, &e);
}

/* Also of the policy before a trial, during it and when it is in force again. */
static void what_comes_after_a_killed_writer_finds_its_names(void **state)
{
	const struct bwl_publish_opts trial = { .confirm_ns = 60 * RIG_SECOND };
	struct bwl_err e = { 0 };

	(void)state;
	next = RENAMED;
	kill_after_switch();
	assert_int_equal(rig_try_policy(rig, ANEW_LEFT, &trial, NULL, &e), 0);
	assert_int_equal(bwl_revoke(rig->pins, "anew", &e), 0);
	assert_int_equal(bwl_rollback(rig->pins, &e), 0);
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1)), "revoked");
	assert_int_equal(grant("kind"), -ENOENT);
	assert_string_equal(host(TO(1)), "revoked");
	assert_int_equal(grant("anew"), 0);
	assert_string_equal(host(TO(1)), "pass");
	next = NEXT;
}

/* It is a writer, too. Its own record would take the place of that one's. */
static void a_grant_after_a_killed_writer_settles_what_he_held(void **state)
{
	(void)state;
	kill_after_switch();
	assert_true(bwl_is_held(rig->pins));
	assert_int_equal(drain(TO(4), 1), 0);
	assert_int_equal(grant("longer"), 0);
	assert_false(bwl_is_held(rig->pins));
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO(1), 2 * LEFT), LEFT - SPENT);
	assert_int_equal(drain(TO(4), 2 * LEFT), LEFT - SPENT);
}

static void a_grant_after_a_killed_writer_goes_by_the_new_names(void **state)
{
	(void)state;
	next = RENAMED;
	kill_after_switch();
	assert_int_equal(grant("kind"), -ENOENT);
	assert_int_equal(grant("anew"), 0);
	kill_after_switch();
	assert_int_equal(grant("anew"), 0);
	assert_int_equal(drain(TO(1), 2 * LEFT), LEFT - SPENT);
	next = NEXT;
}

static void names_of_a_policy_that_did_not_come_into_force_are_forgotten(void **state)
{
	struct bwl_err e = { 0 };
	unsigned hold, last;
	uint32_t before;

	(void)state;
	next = RENAMED;
	find_calls(&hold, &last);
	begin();
	before = rig->pins->ctl->active;
	end(stopped(hold));
	assert_int_equal(rig->pins->ctl->active, before);
	assert_true(bwl_is_renaming(rig->pins));
	assert_int_equal(bwl_settle_held(rig->dir, &e), 0);
	assert_false(bwl_is_renaming(rig->pins));
	assert_int_equal(bwl_revoke(rig->pins, "anew", &e), -ENOENT);
	assert_int_equal(grant("anew"), -ENOENT);
	assert_string_equal(host(TO(1)), "pass");
	assert_int_equal(bwl_revoke(rig->pins, "kind", &e), 0);
	assert_string_equal(host(TO(1)), "revoked");
	next = NEXT;
}

/* The peer has his id, and he is revoked wherever he comes back. */
static void a_revoked_name_that_a_killed_writer_replaced_stays_revoked(void **state)
{
	struct bwl_err e = { 0 };
	uint32_t before;
	unsigned at;

	(void)state;
	next = RENAMED;
	at = kill_after_switch();
	begin();
	assert_int_equal(bwl_revoke(rig->pins, "kind", &e), 0);
	before = rig->pins->ctl->active;
	end(stopped(at));
	assert_int_not_equal(rig->pins->ctl->active, before);
	rig_policy(rig, KIND_AGAIN);
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1)), "revoked");
	assert_string_equal(host(TO(2)), "revoked");
	assert_int_equal(grant("anew"), 0);
	assert_string_equal(host(TO(1)), "pass");
	assert_string_equal(host(TO(2)), "revoked");
	next = NEXT;
}

#define OPEN(name, addresses)                                                                      \
	"  - { name: " name ", addresses: [" addresses "], path: clear,"                           \
	" via: 192.0.2.1, via6: 'fe80::1', grant: { rate: 1gbit } }\n"
#define VICTIM HEAD OPEN("victim", "10.2.0.0/24, 'fd00:2::/64'") OPEN("there", "10.3.0.1")
/* parts of what it had, by a new name, by one that was there, and by nobody */
#define SPLIT                                                                                      \
	HEAD OPEN("part", "10.2.0.2, 'fd00:2::2'") OPEN("there", "10.3.0.1, 10.2.0.8/29")          \
		OPEN("free", "10.4.0.1")
#define IN(addr) "eth ip4 src=10.0.7.2 dst=" addr " udp"
#define IN6(addr) "eth ip6 src=fd00:7::2 dst=" addr " udp"

static const char *revoked; /* NULL: nobody */
static const char everybody[] = "--all";
static unsigned graces, dies_at;

/*
 * At its first wait, which is between the writer's look at revocations and its switch, or just
 * after that if the way back leads to no policy.
 */
static void revoke_and_die(void)
{
	const char *name = revoked == everybody ? NULL : revoked;

	if (!graces++ && revoked && bwl_revoke(rig->pins, name, NULL))
		_exit(1);
	if (graces == dies_at)
		_exit(0);
}

/* what NULL: the way back from a trial. at: its wait; 0: it is not killed. */
static void kill_just_after_switch(const char *what, const struct bwl_publish_opts *o, unsigned at)
{
	struct bwl_err e = { 0 };
	int status;
	pid_t child;

	unlock();
	graces = 0;
	dies_at = at;
	child = fork();
	if (!child) {
		rig_on_grace = revoke_and_die;
		if (what)
			rig_try_policy(rig, what, o, NULL, &e);
		else
			bwl_rollback(rig->pins, &e);
		_exit(at != 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	rig->pins->ctl->heartbeat_ns = BWL_NEVER_NS - 1;
	rig_advance(120 * RIG_SECOND); /* for so long a new rate may stay closed */
}

static void apply_open(const char *yaml)
{
	rig_policy(rig, yaml);
	rig->pins->ctl->heartbeat_ns = BWL_NEVER_NS - 1;
	rig_advance(RIG_SECOND);
}

/* Promise 9: settled alone, by the next writer, or by a grant; of a policy on trial, too. */
static void who_was_revoked_just_before_the_switch_is_closed_wherever_he_was(void **state)
{
	const struct bwl_publish_opts trial = { .confirm_ns = 3600 * RIG_SECOND };
	static const char *const expect[] = { "revoked", "pass" };
	struct bwl_err e = { 0 };

	for (unsigned i = 0; i < 12; i++) {
		const char *want = expect[i / 6];
		bool on_trial = i % 2;

		rig_teardown(state);
		rig_setup(state);
		apply_open(VICTIM);
		assert_string_equal(host(IN("10.2.0.2")), "pass");
		revoked = i < 6 ? "victim" : NULL; /* control: nobody */
		kill_just_after_switch(SPLIT, on_trial ? &trial : NULL, 2);
		assert_string_equal(host(IN("10.2.0.2")), "pass");
		if (i / 2 % 3 == 0)
			assert_int_equal(bwl_settle_held(rig->dir, &e), 0);
		else if (i / 2 % 3 == 1 && !on_trial)
			apply_open(SPLIT);
		else
			assert_int_equal(grant("free"), on_trial ? -EBUSY : 0);
		if (on_trial)
			assert_int_equal(bwl_confirm(rig->pins, &e), 0);
		rig_advance(RIG_SECOND);
		assert_string_equal(host(IN("10.2.0.2")), want);
		assert_string_equal(host(IN6("fd00:2::2")), want);
		assert_string_equal(host(IN("10.2.0.9")), want);
		assert_string_equal(host(IN("10.4.0.1")), "pass");
		apply_open(HEAD OPEN("later", "10.2.0.64/26") OPEN("free", "10.4.0.1"));
		assert_string_equal(host(IN("10.2.0.65")), want);
		assert_string_equal(host(IN("10.4.0.1")), "pass");
		assert_int_equal(grant("later"), 0);
		assert_string_equal(host(IN("10.2.0.65")), "pass");
	}
}

static void so_is_who_was_revoked_just_before_a_way_back(void **state)
{
	const struct bwl_publish_opts trial = { .confirm_ns = 3600 * RIG_SECOND };
	struct bwl_err e = { 0 };

	for (unsigned i = 0; i < 3; i++) { /* to a policy; to none; the same, and it lives */
		rig_teardown(state);
		rig_setup(state);
		if (!i)
			apply_open(HEAD OPEN("before", "10.2.0.2") OPEN("free", "10.4.0.1"));
		rig->pins->ctl->heartbeat_ns = BWL_NEVER_NS - 1;
		assert_int_equal(rig_try_policy(rig, VICTIM, &trial, NULL, &e), 0);
		revoked = "victim";
		kill_just_after_switch(NULL, NULL, 2 - i);
		assert_string_equal(host(IN("10.2.0.2")), i ? "no-policy" : "pass");
		assert_int_equal(bwl_settle_held(rig->dir, &e), 0);
		if (i)
			apply_open(HEAD OPEN("before", "10.2.0.2") OPEN("free", "10.4.0.1"));
		rig_advance(RIG_SECOND);
		assert_string_equal(host(IN("10.2.0.2")), "revoked");
		assert_string_equal(host(IN("10.4.0.1")), "pass");
	}
}

/* `revoke --all`: nobody new may have what they had. The last one is not killed. */
static void so_is_everybody(void **state)
{
	struct bwl_err e = { 0 };

	for (unsigned i = 0; i < 3; i++) {
		rig_teardown(state);
		rig_setup(state);
		apply_open(VICTIM);
		revoked = i ? everybody : NULL; /* control: nobody */
		kill_just_after_switch(SPLIT, NULL, i < 2 ? 2 : 0);
		assert_int_equal(bwl_settle_held(rig->dir, &e), 0);
		rig_advance(RIG_SECOND);
		assert_string_equal(host(IN("10.2.0.2")), i ? "revoked" : "pass");
		apply_open(HEAD OPEN("later", "10.2.0.64/26") OPEN("fresh", "10.4.0.77"));
		assert_string_equal(host(IN("10.2.0.65")), i ? "revoked" : "pass");
		assert_string_equal(host(IN("10.4.0.77")), "pass");
		assert_int_equal(grant("later"), 0);
		assert_string_equal(host(IN("10.2.0.65")), "pass");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(a_writer_killed_at_any_instruction_gives_back_what_he_held_and_no_more),
		RIG_TEST(a_window_that_turned_while_it_was_held_is_not_given_back_twice),
		RIG_TEST(what_a_shorter_window_forgot_is_taken_over_from_the_record_too),
		RIG_TEST(a_renamed_peer_can_be_revoked_by_its_new_name),
		RIG_TEST(what_comes_after_a_killed_writer_finds_its_names),
		RIG_TEST(a_grant_after_a_killed_writer_settles_what_he_held),
		RIG_TEST(a_grant_after_a_killed_writer_goes_by_the_new_names),
		RIG_TEST(names_of_a_policy_that_did_not_come_into_force_are_forgotten),
		RIG_TEST(a_revoked_name_that_a_killed_writer_replaced_stays_revoked),
		RIG_TEST(who_was_revoked_just_before_the_switch_is_closed_wherever_he_was),
		RIG_TEST(so_is_who_was_revoked_just_before_a_way_back),
		RIG_TEST(so_is_everybody),
	};

	return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
