// SPDX-License-Identifier: GPL-2.0-or-later
/* Revocations: what opens again, and what is acknowledged. */
#include <sys/socket.h>
#include <unistd.h>
#include "documents/part.h"
#include "docs_rig.h"

static void what_opens_was_signed_after_what_closed(void **state)
{
	json_t *early, *late;
	const json_t *due;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(10, 10, DAY), TWO), "taken");
	early = policy(10, 10, DAY);
	json_object_set_new(early, "opens", json_pack("[s]", "a"));
	pass(5);
	assert_string_equal(give(BWL_SIGNED_REVOCATION, revocation("peers", json_pack("[s]", "a")),
				 ONE),
			    "taken");
	assert_string_equal(give(BWL_SIGNED_POLICY, early, TWO), "signed-old");
	pass(5);
	late = policy(10, 10, DAY - 10);
	json_object_set_new(late, "opens", json_pack("[s]", "a"));
	assert_string_equal(give(BWL_SIGNED_POLICY, json_deep_copy(late), ONE), "signed-widens");
	assert_string_equal(give(BWL_SIGNED_POLICY, late, TWO), "taken");
	due = bwl_memory_due(s.m);
	assert_string_equal(json_string_value(json_array_get(json_object_get(due, "opens"), 0)),
			    "a");
	/* it does not open what was closed on the tray after that moment (due.c) */
	assert_int_equal(json_integer_value(json_object_get(due, "signed")), at.wall_s);
	/* a revocation comes before the opening was done */
	assert_string_equal(give(BWL_SIGNED_REVOCATION, revocation("all", json_true()), ONE),
			    "taken");
	assert_int_equal(json_object_size(bwl_memory_due(s.m)), 0);
}

/* A map that cannot be read, and a map without any names. */
static void a_revocation_that_closes_nothing_is_not_acknowledged(void **state)
{
	BWL_AUTO_FREE char *text = NULL;
	struct bwl_ctl ctl = { 0 };
	struct bwl_pins pins = { .few = true, .ctl = &ctl };
	struct documents v = { .pins = &pins };
	struct bwl_err e = { 0 };
	struct bwl_signed d;

	(void)state;
	enrol();
	assert_int_equal(setenv("BWLIMIT_JOURNAL_DIR", "", 1), 0);
	for (unsigned i = 0; i < _BWL_PIN_MAX; i++)
		pins.fd[i] = -1;
	text = rig_sign(BWL_SIGNED_REVOCATION, "hall-3", "all",
			revocation("peers", json_pack("[s]", "a")), ONE);
	assert_int_equal(bwl_signed_peek(text, strlen(text), &d, &e), 0);
	assert_int_not_equal(docs_close(&v, &d, &e), 0);
	assert_non_null(strstr(e.text, "cannot close a: "));
	pins.few = false; /* the peer is missing, but a later policy may have it */
	assert_int_equal(docs_close(&v, &d, &e), 0);
	bwl_signed_free(&d);
	unsetenv("BWLIMIT_JOURNAL_DIR");
}

static void who_is_not_waited_for_is_not_told_that_it_is_in_force(void **state)
{
	char said[512] = "";
	int fd[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	docs_answer_unsettled(fd[0]);
	assert_true(read(fd[1], said, sizeof(said) - 1) > 0);
	assert_non_null(strstr(said, "\"error\""));
	assert_non_null(strstr(said, "\"not-in-force\""));
	close(fd[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_opens_was_signed_after_what_closed),
		cmocka_unit_test(a_revocation_that_closes_nothing_is_not_acknowledged),
		cmocka_unit_test(who_is_not_waited_for_is_not_told_that_it_is_in_force),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
