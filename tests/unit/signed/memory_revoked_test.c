// SPDX-License-Identifier: GPL-2.0-or-later
/* What was revoked by digest or by a new epoch is never accepted again. */
#include "memory_rig.h"

static void a_new_epoch_ends_all_that_was_signed_before(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	json_t *o = rig_terms("all", 1, 1, NOW - 60, NOW + DAY);

	(void)state;
	assert_null(give_policy(m, "base", 1, 5, "a"));
	json_object_set_new(o, "new_epoch", json_integer(2));
	json_object_set_new(o, "reason", json_string("a key was lost"));
	assert_null(give(m, BWL_SIGNED_REVOCATION, o, 1U << BOB)); /* one person may close */
	again(&m);
	assert_int_equal(bwl_memory_epoch(m), 2);
	assert_string_equal(give_policy(m, "base", 1, 6, "a"), "signed-old");
	assert_string_equal(give_policy(m, "new", 1, 1, "a"), "signed-old");
	assert_null(give_policy(m, "base", 2, 1, "a"));
	assert_string_equal(give_policy(m, "base", 2000, 1, "a"), "signed-malformed");
}

static void a_document_that_was_revoked_by_name_is_never_taken(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	json_t *p = policy("base", 1, 5, "a"), *o = rig_terms("it", 1, 1, NOW - 60, NOW + DAY);
	char *payload = json_dumps(p, JSON_COMPACT), hex[65];
	struct bwl_signed d;
	struct bwl_err e;
	char *text = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", p, 0);

	(void)state;
	assert_int_equal(bwl_signed_peek(text, strlen(text), &d, &e), 0);
	assert_int_equal(d.people, 0);
	json_object_set_new(o, "documents", json_pack("[s]", bwl_hex_encode(d.digest, 32, hex)));
	json_object_set_new(o, "reason", json_string("wrong"));
	assert_null(give(m, BWL_SIGNED_REVOCATION, o, 1U << CAROL));
	again(&m);
	assert_string_equal(give_policy(m, "base", 1, 5, "a"), "signed-revoked");
	assert_null(give_policy(m, "base", 1, 5, "b"));
	bwl_signed_free(&d);
	free(payload);
	free(text);
}

/*
 * This also holds for a document of the new epoch or a later one, and for the revocation that
 * begins the epoch.
 */
static void what_was_revoked_stays_so_in_the_epochs_that_follow(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	static const unsigned epoch[] = { 1, 2, 3 };
	json_t *list = json_array(), *o;
	char hex[65];

	(void)state;
	assert_null(give_policy(m, "base", 1, 5, "a"));
	for (unsigned i = 0; i < 3; i++) {
		BWL_AUTO_FREE char *text = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all",
						    policy("base", epoch[i], 5, "a"), 0);
		struct bwl_signed d;

		assert_int_equal(bwl_signed_peek(text, strlen(text), &d, NULL), 0);
		json_array_append_new(list, json_string(bwl_hex_encode(d.digest, 32, hex)));
		bwl_signed_free(&d);
	}
	for (unsigned round = 1; round <= 2; round++) {
		o = rig_terms("it", round, 1, NOW - 60, NOW + DAY);
		if (round == 1)
			json_object_set(o, "documents", list);
		json_object_set_new(o, "new_epoch", json_integer(round + 1));
		json_object_set_new(o, "reason", json_string("wrong"));
		assert_null(give(m, BWL_SIGNED_REVOCATION, o, 1U << CAROL));
		again(&m);
		for (unsigned e = round + 1; e <= 3; e++)
			assert_string_equal(give_policy(m, "base", e, 5, "a"), "signed-revoked");
	}
	json_decref(list);
	assert_null(give_policy(m, "base", 3, 6, "a"));
}

/*
 * A document for an epoch that had not begun is revoked by digest. Then a root begins that epoch.
 */
static void what_was_revoked_stays_so_under_a_root_of_a_higher_epoch(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	struct rig_root w = rig_root_1;
	json_t *o = rig_terms("it", 1, 1, NOW - 60, NOW + DAY);
	struct bwl_err e = { 0 };
	struct bwl_signed d;
	char hex[65], *text;

	(void)state;
	text = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", policy("base", 2, 5, "a"), 0);
	assert_int_equal(bwl_signed_peek(text, strlen(text), &d, NULL), 0);
	json_object_set_new(o, "documents", json_pack("[s]", bwl_hex_encode(d.digest, 32, hex)));
	json_object_set_new(o, "reason", json_string("wrong"));
	bwl_signed_free(&d);
	free(text);
	assert_null(give(m, BWL_SIGNED_REVOCATION, o, 1U << CAROL));
	w.version = w.epoch = 2;
	text = rig_root_text(&w, PEOPLE);
	assert_int_equal(bwl_memory_next_root(m, text, strlen(text), &e), 0);
	assert_int_equal(bwl_memory_keep(m, dir, &e), 0);
	free(text);
	again(&m);
	assert_int_equal(bwl_memory_epoch(m), 2);
	assert_string_equal(give_policy(m, "base", 2, 5, "a"), "signed-revoked");
	assert_null(give_policy(m, "base", 2, 5, "b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_epoch_ends_all_that_was_signed_before),
		cmocka_unit_test(a_document_that_was_revoked_by_name_is_never_taken),
		cmocka_unit_test(what_was_revoked_stays_so_in_the_epochs_that_follow),
		cmocka_unit_test(what_was_revoked_stays_so_under_a_root_of_a_higher_epoch),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
