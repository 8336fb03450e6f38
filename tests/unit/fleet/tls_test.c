// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages about certificates and revocation lists that were read, and the end of a list. */
#include <string.h>
#include "fleet/http/tls.h"
#include "../test.h"

#define DAY 86400

static void a_list_that_has_ended_is_told_once_a_day(void **state)
{
	const struct bwl_tls_facts f = { .has_crl = true, .crl_until_s = 1000 };
	struct bwl_err why = { 0 };
	int64_t told_s = 0;

	(void)state;
	assert_false(bwl_tls_is_over(&f, 1000, &told_s, &why));
	assert_true(bwl_tls_is_over(&f, 1001, &told_s, &why));
	assert_non_null(strstr(why.text, "1970-01-01T00:16:40Z"));
	assert_true(*why.hint);
	assert_false(bwl_tls_is_over(&f, 1001 + DAY - 1, &told_s, &why));
	assert_true(bwl_tls_is_over(&f, 1001 + DAY, &told_s, &why));
}

static void no_list_and_one_that_names_no_end_never_end(void **state)
{
	const struct bwl_tls_facts none = { .crl_until_s = 0 },
				   open = { .has_crl = true, .crl_until_s = INT64_MAX };
	struct bwl_err why = { 0 };
	int64_t told_s = 0;

	(void)state;
	assert_false(bwl_tls_is_over(&none, INT64_MAX, &told_s, &why));
	assert_false(bwl_tls_is_over(&open, INT64_MAX, &told_s, &why));
}

static void what_systemd_copied_is_known_by_its_folder(void **state)
{
	const char *const files[_BWL_TLS_FILES] = { "/etc/b/ca.pem", "/run/credentials/x/cert",
						    "/run/credentials/xy/key", NULL };

	(void)state;
	assert_string_equal(bwl_tls_copied(files, "/run/credentials/x"), files[1]);
	assert_null(bwl_tls_copied(files, "/run/credentials/z"));
	assert_null(bwl_tls_copied(files, ""));
	assert_null(bwl_tls_copied(files, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_that_has_ended_is_told_once_a_day),
		cmocka_unit_test(no_list_and_one_that_names_no_end_never_end),
		cmocka_unit_test(what_systemd_copied_is_known_by_its_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
