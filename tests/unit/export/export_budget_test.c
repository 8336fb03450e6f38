// SPDX-License-Identifier: GPL-2.0-or-later
/* The byte budget of bwlimit-export, and what it remembers over restarts. */
#include "tests/unit/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "state.h"

#define S 1000000000ULL

static void a_window_lets_its_bytes_out_and_not_one_more(void **state)
{
	struct budget b = { 0 };
	uint64_t out = 0;

	(void)state;
	budget_set(&b, 1000, 10 * S);
	budget_pass(&b, 5 * S);
	assert_false(budget_take(&b, 1001, 5 * S));
	assert_true(budget_take(&b, 600, 5 * S));
	assert_false(budget_take(&b, 401, 6 * S));
	assert_true(budget_take(&b, 400, 6 * S));
	assert_false(budget_take(&b, 1, 15 * S - 1));
	assert_true(budget_take(&b, 1000, 15 * S));
	/* constant requests get at most one window more than the windows that passed */
	for (uint64_t t = 15 * S; t < 115 * S; t += S / 7)
		out += budget_take(&b, 100, t) ? 100 : 0;
	assert_in_range(out, 9000, 10000);
}

static void a_clock_that_goes_back_or_a_reboot_gives_nothing(void **state)
{
	struct budget b = { 0 };

	(void)state;
	budget_set(&b, 1000, 10 * S);
	assert_true(budget_take(&b, 1000, 100 * S));
	assert_false(budget_take(&b, 1, 50 * S));
	b.at_ns = 0; /* another boot: its clock cannot be compared with this window */
	assert_false(budget_take(&b, 1, 7000 * S));
	assert_false(budget_take(&b, 1, 7009 * S));
	assert_true(budget_take(&b, 1, 7010 * S));
}

static void another_budget_does_not_forget_what_was_used(void **state)
{
	struct budget b = { 0 };

	(void)state;
	budget_set(&b, 1000, 10 * S);
	assert_true(budget_take(&b, 800, 1 * S));
	budget_set(&b, 500, 10 * S);
	assert_false(budget_take(&b, 1, 2 * S));
	budget_set(&b, 900, 20 * S);
	assert_false(budget_take(&b, 101, 2 * S));
	assert_true(budget_take(&b, 100, 2 * S));
	assert_false(budget_take(&b, 900, 12 * S));
	budget_set(&b, 900, 1 * S);
	assert_true(budget_take(&b, 900, 13 * S));
}

static void a_state_is_read_back_and_none_is_made_up(void **state)
{
	char dir[] = "/tmp/bwl-export-XXXXXX", path[64], cmd[80];
	struct state s = { .next = 7,
			   .begun = true,
			   .skipped = 3,
			   .file_bytes = 9,
			   .sequence = UINT32_MAX,
			   .losses = { 1, 2, 3, 4, 5 } };
	struct state back;
	struct bwl_err e = { 0 };
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(state_load(dir, "b1", &back, &e), 0);
	assert_int_equal(back.next, 0);
	budget_set(&s.budget, 1000, 10 * S);
	assert_true(budget_take(&s.budget, 10, S));
	assert_int_equal(state_save(dir, "b1", &s, &e), 0);
	assert_int_equal(state_load(dir, "b1", &back, &e), 0);
	assert_memory_equal(&s, &back, sizeof(s));
	assert_int_equal(state_load(dir, "b2", &back, &e), 0);
	assert_int_equal(back.budget.at_ns, 0);
	snprintf(path, sizeof(path), "%s/state.json", dir);
	f = fopen(path, "w");
	fputs("{}", f);
	fclose(f);
	assert_int_not_equal(state_load(dir, "b1", &back, &e), 0);
	assert_non_null(strstr(e.text, "not the state"));
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	assert_int_equal(system(cmd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_lets_its_bytes_out_and_not_one_more),
		cmocka_unit_test(a_clock_that_goes_back_or_a_reboot_gives_nothing),
		cmocka_unit_test(another_budget_does_not_forget_what_was_used),
		cmocka_unit_test(a_state_is_read_back_and_none_is_made_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
