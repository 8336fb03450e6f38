// SPDX-License-Identifier: GPL-2.0-or-later
/* Where documents lie in the store. */
#include <errno.h>
#include <string.h>
#include "fleet/store/layout.h"
#include "../test.h"

static void a_key_says_what_it_was_made_of(void **state)
{
	char key[BWL_ETCD_KEY_MAX], range[BWL_ETCD_KEY_MAX];
	struct bwl_doc_at at;

	(void)state;
	for (unsigned k = 0; k < BWL_DOC_KIND_COUNT; k++)
		for (unsigned big = 0; big < 2; big++)
			for (unsigned mine = 0; mine < 2; mine++) {
				const char *tray = mine ? "tray-1" : NULL;

				assert_int_equal(bwl_doc_key(key, "/bwl/v1", tray, k, "7.x", big),
						 0);
				assert_int_equal(bwl_doc_range(range, "/bwl/v1", tray), 0);
				assert_int_equal(bwl_doc_parse_key(range, key, strlen(key), &at),
						 0);
				assert_true(at.kind == k && at.big == big);
				assert_string_equal(at.name, "7.x");
			}
}

static void what_is_no_document_of_ours_is_none(void **state)
{
	static const char *const bad[] = {
		"/b/all/",
		"/b/all/doc/",
		"/b/all/doc/root",
		"/b/all/doc/root/",
		"/b/all/doc/no/x",
		"/b/all/xxx/root/x",
		"/b/all/doc/root/..",
		"/b/all/doc/root/.",
		"/b/all/doc/root/a/b",
		"/b/all/doc/root/a b",
		"/b/node/t/in/doc/root/x",
		"/c/all/doc/root/x",
		"/b/all/doc/root/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};
	struct bwl_doc_at at;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(bwl_doc_parse_key("/b/all/", bad[i], strlen(bad[i]), &at),
				 -EINVAL);
	assert_int_equal(bwl_doc_parse_key("/b/all/", "/b/all/doc/root/x", 17, &at), 0);
	assert_int_equal(bwl_doc_parse_key("/b/all/", "/b/all/doc/root/\0x", 18, &at), -EINVAL);
}

static void the_range_of_a_tray_has_nothing_of_another_one(void **state)
{
	char one[BWL_ETCD_KEY_MAX], end[BWL_ETCD_KEY_MAX], ten[BWL_ETCD_KEY_MAX];

	(void)state;
	bwl_doc_range(one, "/b", "tray1");
	bwl_etcd_prefix_end(one, end);
	bwl_doc_key(ten, "/b", "tray10", BWL_DOC_root, "1", false);
	assert_true(strcmp(ten, one) < 0 || strcmp(ten, end) >= 0);
	bwl_doc_key(ten, "/b", "tray1", BWL_DOC_root, "1", false);
	assert_true(strcmp(ten, one) >= 0 && strcmp(ten, end) < 0);
}

static void what_closes_comes_before_what_opens(void **state)
{
	(void)state;
	assert_true(BWL_DOC_root < BWL_DOC_timestamp && BWL_DOC_timestamp < BWL_DOC_revocation);
	assert_true(BWL_DOC_revocation < BWL_DOC_expulsion && BWL_DOC_expulsion < BWL_DOC_grant);
	assert_true(BWL_DOC_expulsion < BWL_DOC_lease && BWL_DOC_expulsion < BWL_DOC_policy &&
		    BWL_DOC_policy < BWL_DOC_grant);
}

static void a_head_says_parts_and_digest_or_is_refused(void **state)
{
#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	static const char *const bad[] = { "",        "0 " SHA,     "33 " SHA,
					   "3",       "3 " SHA "0", "3 " SHA " ",
					   "-1 " SHA, "3 0123",     "999999 " SHA };
	struct bwl_doc_head h;

	(void)state;
	assert_int_equal(bwl_doc_parse_head("32 " SHA, 67, &h), 0);
	assert_int_equal(h.parts, 32);
	assert_string_equal(h.sha, SHA);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(bwl_doc_parse_head(bad[i], strlen(bad[i]), &h), -EINVAL);
	assert_int_equal(bwl_doc_parse_head("3 " SHA "\0", 67, &h), -EINVAL);
}

static void prefixes_are_paths(void **state)
{
	(void)state;
	assert_int_equal(bwl_store_prefix_ok("/bwl/v1", NULL), 0);
	assert_int_equal(bwl_store_prefix_ok("/bwl/v1/", NULL), -EINVAL);
	assert_int_equal(bwl_store_prefix_ok("bwl", NULL), -EINVAL);
	assert_int_equal(bwl_store_prefix_ok("/", NULL), -EINVAL);
	assert_int_equal(bwl_store_prefix_ok("/a b", NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_says_what_it_was_made_of),
		cmocka_unit_test(what_is_no_document_of_ours_is_none),
		cmocka_unit_test(the_range_of_a_tray_has_nothing_of_another_one),
		cmocka_unit_test(what_closes_comes_before_what_opens),
		cmocka_unit_test(a_head_says_parts_and_digest_or_is_refused),
		cmocka_unit_test(prefixes_are_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
