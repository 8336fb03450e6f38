// SPDX-License-Identifier: GPL-2.0-or-later
/* An interval's file is read, or refused. */
#include "rig.h"

static void what_is_scanned_is_what_is_parsed(void **state)
{
	static const char *const good =
		"{\"kind\":\"flow-remainder\",\"id\":7,\"peer\":\"a\\\",\\\"frames\\\":9\",\"generation\":3,\"direction\":\"in\",\"port\":null,\"class\":\"other\",\"reason\":\"peer-rate\",\"frames\":4,\"bytes\":400,\"charged_bytes\":1,\"first\":null,\"last\":null}";
	struct ev_record scanned, parsed;
	char name[EV_NAME];

	(void)state;
	assert_true(ev_record_scan(good, strlen(good), &scanned));
	assert_int_equal(ev_record_parse(good, strlen(good), &parsed, name, NULL), 0);
	assert_string_equal(name, "a\",\"frames\":9");
	assert_true(ev_sum_same(&scanned.sum, &parsed.sum));
	assert_int_equal(parsed.sum.v[EV_DROPPED_BYTES], 400);
	assert_int_equal(parsed.sum.v[EV_BYTES], 0);
	assert_int_equal(scanned.id, 7);
	assert_string_equal(scanned.way, "in");
	for (size_t n = 0; n < strlen(good); n++) /* a truncated line is not a record */
		assert_int_not_equal(ev_record_parse(good, n, &parsed, name, NULL), 0);
}

static void a_file_that_is_none_is_refused(void **state)
{
	char *whole = file_of(1, 2, 3, false, false);
	struct ev_interval v;
	struct bwl_err e;

	(void)state;
	for (size_t n = 0; n < strlen(whole); n += 13) {
		char *cut = strndup(whole, n);

		if (!ev_interval_make(cut, n, master, &v, &e))
			ev_interval_free(&v);
	}
	free(whole);
	assert_int_not_equal(ev_interval_make(strdup("{}\n"), 3, master, &v, &e), 0);
	assert_int_not_equal(ev_interval_make(strdup(""), 0, master, &v, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_scanned_is_what_is_parsed),
		cmocka_unit_test(a_file_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
