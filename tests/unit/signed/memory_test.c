// SPDX-License-Identifier: GPL-2.0-or-later
/* Accepted documents are remembered over restarts, and nothing older is accepted. */
#include <bwl/bytes.h>
#include <fcntl.h>
#include "signed/enrolled.h"
#include "memory_rig.h"

static void versions_only_rise_over_restarts_too(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();

	(void)state;
	assert_string_equal(bwl_memory_tray(m)->name, "tray-7");
	assert_null(give_policy(m, "base", 1, 5, "a"));
	for (unsigned round = 0; round < 2; round++, again(&m)) {
		assert_string_equal(give_policy(m, "base", 1, 4, "a"), "signed-old");
		assert_string_equal(give_policy(m, "base", 1, 5, "b"), "signed-conflict");
		assert_string_equal(give_policy(m, "base", 1, 5, "a"), "known");
	}
	assert_null(give_policy(m, "base", 1, 6, "b"));
	assert_null(give_policy(m, "other", 1, 1, "a")); /* each name has its own versions */
	assert_string_equal(give_policy(m, "base", 1, 5, "a"), "signed-old");
}

/* One person's policy that widens nothing must not be the last of its name. */
static void nobody_uses_up_a_name(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	const uint64_t step = 1ULL << 44, first = 1ULL << 62;

	(void)state;
	assert_string_equal(give_policy(m, "new", 1, first + 1, "a"), "signed-malformed");
	assert_null(give_policy(m, "new", 1, first, "a"));
	assert_null(give_policy(m, "new", 1, first + step, "b"));
	assert_null(give_policy(m, "base", 1, 5, "a"));
	assert_string_equal(give_policy(m, "base", 1, INT64_MAX, "b"), "signed-malformed");
	assert_string_equal(give_policy(m, "base", 1, 6 + step, "b"), "signed-malformed");
	assert_string_equal(give_policy(m, "base", 2, 6 + step, "b"), "signed-malformed");
	assert_null(give_policy(m, "base", 1, 5 + step, "b"));
	assert_null(give_policy(m, "base", 1, 6 + step, "c"));
}

/* Any changed byte, and any truncation, is damage. */
static void a_memory_that_was_changed_is_not_believed(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol(), *other = NULL;
	BWL_AUTO_FREE char *bytes = NULL;
	struct bwl_err e;
	char path[128];
	size_t len;
	int fd;

	(void)state;
	assert_null(give_policy(m, "base", 1, 5, "a"));
	snprintf(path, sizeof(path), "%s/" BWL_MEMORY, dir);
	fd = open(path, O_RDONLY);
	assert_int_equal(bwl_bytes_read(fd, 1 << 20, &bytes, &len, &e), 0);
	close(fd);
	assert_int_equal(bwl_memory_parse(bytes, len, &other, &e), 0);
	for (size_t i = 0; i < len; i++) {
		bytes[i] ^= 1;
		assert_int_equal(bwl_memory_parse(bytes, len, &(struct bwl_memory *){ NULL }, &e),
				 -EUCLEAN);
		bytes[i] ^= 1;
	}
	for (size_t cut = 0; cut < len; cut += 7)
		assert_int_equal(bwl_memory_parse(bytes, cut, &(struct bwl_memory *){ NULL }, &e),
				 -EUCLEAN);
}

static void what_holds_and_what_is_due_are_kept_over_restarts(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	const struct bwl_digest held[] = { { "one" }, { "two" } }, other = { "other" }, *h;
	const struct bwl_memory_item *item;
	json_t *o = rig_terms("all", 1, 1, NOW - 60, NOW + DAY);
	uint64_t was;
	size_t n;

	(void)state;
	assert_int_equal(bwl_memory_closed(m), 0);
	json_object_set_new(o, "all", json_true());
	json_object_set_new(o, "reason", json_string("drill"));
	assert_null(give(m, BWL_SIGNED_REVOCATION, o, 1U << BOB));
	bwl_memory_hold(m, held, 1);
	was = bwl_memory_seq(m);
	assert_null(give_policy(m, "base", 1, 5, "a"));
	bwl_memory_hold(m, held, 2);
	bwl_memory_set_done(m, held[1].b);
	bwl_memory_set_due(m, json_pack("{s:b}", "raise", 1));
	for (unsigned round = 0; round < 2; round++) {
		struct bwl_err e = { 0 };

		h = bwl_memory_held(m, &n);
		assert_int_equal(n, 2);
		assert_memory_equal(h, held, sizeof(held));
		assert_int_equal(bwl_memory_held_seq(m, held[0].b), was);
		assert_int_equal(bwl_memory_held_seq(m, held[1].b), bwl_memory_seq(m));
		assert_true(bwl_memory_held_seq(m, other.b) == UINT64_MAX);
		assert_true(bwl_memory_is_done(m, held[1].b));
		assert_false(bwl_memory_is_done(m, held[0].b));
		assert_true(json_is_true(json_object_get(bwl_memory_due(m), "raise")));
		assert_int_equal(bwl_memory_closed(m), NOW - 60);
		item = bwl_memory_items(m, &n);
		assert_int_equal(n, 3); /* with the enrolment */
		assert_int_equal(item[n - 1].type, BWL_SIGNED_POLICY);
		assert_int_equal(item[n - 1].seq, bwl_memory_seq(m));
		assert_int_equal(bwl_memory_keep(m, dir, &e), 0);
		again(&m);
	}
	bwl_memory_hold(m, held, 1); /* "done" is forgotten with the policy */
	assert_false(bwl_memory_is_done(m, held[1].b));
}

static void what_cannot_be_looked_at_counts_as_enrolled(void **state)
{
	char path[128];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/" BWL_MEMORY, dir);
	unlink(path);
	assert_false(bwl_is_enrolled(dir));
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600); /* an empty file */
	assert_true(fd >= 0);
	close(fd);
	assert_true(bwl_is_enrolled(dir));
}

static const char *close_peer(struct bwl_memory *m, unsigned version, const char *peer)
{
	json_t *o = rig_terms("it", 1, version, NOW - 60, NOW + DAY);
	char why[16];

	snprintf(why, sizeof(why), "drill %u", version);
	json_object_set_new(o, "reason", json_string(why));
	json_object_set_new(o, "peers", json_pack("[s]", peer));
	return give(m, BWL_SIGNED_REVOCATION, o, 1U << ALICE);
}

static void what_closes_something_else_has_versions_of_its_own_over_restarts_too(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	const struct bwl_memory_item *item;
	size_t n, before;

	(void)state;
	bwl_memory_items(m, &before);
	assert_null(close_peer(m, 5, "a"));
	for (unsigned i = 0; i < 2; i++) {
		assert_string_equal(close_peer(m, 4, "a"), "signed-old");
		assert_string_equal(close_peer(m, 5, "a"), "known");
		if (!i) {
			assert_null(close_peer(m, 4, "b")); /* another, not an older one */
			assert_null(close_peer(m, 6, "b"));
		}
		assert_string_equal(close_peer(m, 5, "b"), "signed-old");
		again(&m);
	}
	item = bwl_memory_items(m, &n);
	assert_int_equal(n, before + 2);
	assert_int_equal(item[n - 1].version, 6);
	assert_memory_not_equal(item[n - 1].before.b, item[n - 1].digest.b, 32);
	assert_memory_not_equal(item[n - 1].what.b, item[n - 2].what.b, 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_only_rise_over_restarts_too),
		cmocka_unit_test(nobody_uses_up_a_name),
		cmocka_unit_test(a_memory_that_was_changed_is_not_believed),
		cmocka_unit_test(what_holds_and_what_is_due_are_kept_over_restarts),
		cmocka_unit_test(what_cannot_be_looked_at_counts_as_enrolled),
		cmocka_unit_test(
			what_closes_something_else_has_versions_of_its_own_over_restarts_too),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
