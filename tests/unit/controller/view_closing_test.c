// SPDX-License-Identifier: GPL-2.0-or-later
/* Which closing documents a signed time names, whatever the store has. */
#include "view_rig.h"
#include "signed/closing.h"

/* Returns how many closing documents are named. *ret: the first of them. */
static size_t names(const struct view *v, struct bwl_closing *ret)
{
	size_t left_out, n;
	json_t *list = view_closing(v, NOW, &left_out, NULL);

	n = json_array_size(list);
	if (n)
		assert_true(bwl_closing_read(json_array_get(list, 0), ret));
	ret->audience = NULL;
	json_decref(list);
	return n;
}

static void what_closes_is_named_until_it_ends_whatever_the_store_has(void **state)
{
	struct view v = { 0 };
	struct bwl_closing first;

	rig_keys(state);
	v.root = rig_root();
	assert_int_equal(names(&v, &first), 0);
	is_there(&v, BWL_SIGNED_REVOCATION, rig_body(BWL_SIGNED_REVOCATION, 5), 1U << MALLORY);
	assert_int_equal(names(&v, &first), 0); /* signed by a stranger */
	is_there(&v, BWL_SIGNED_REVOCATION, rig_body(BWL_SIGNED_REVOCATION, 5), 1U << ALICE);
	is_there(&v, BWL_SIGNED_REVOCATION, rig_body(BWL_SIGNED_REVOCATION, 4), 1U << ALICE);
	assert_int_equal(names(&v, &first), 1);
	assert_int_equal(first.version, 5);
	view_read_begin(&v); /* it was removed from the store */
	view_read_end(&v);
	assert_int_equal(names(&v, &first), 1);
	is_there(&v, BWL_SIGNED_EXPULSION, rig_body(BWL_SIGNED_EXPULSION, 1), 1U << BOB);
	assert_int_equal(names(&v, &first), 2);
	is_there(&v, BWL_SIGNED_REVOCATION,
		 json_pack("{s:s, s:i, s:i, s:s, s:s, s:s, s:b}", "name", "ended", "epoch", 1,
			   "version", 1, "issued_at", "2026-01-15T08:00:00Z", "not_after",
			   "2026-01-16T08:00:00Z", "reason", "drill", "all", 1),
		 1U << ALICE);
	assert_int_equal(names(&v, &first), 2);
	is_there(&v, BWL_SIGNED_REVOCATION,
		 json_pack("{s:s, s:i, s:i, s:s, s:s, s:s, s:i}", "name", "all", "epoch", 1,
			   "version", 1, "issued_at", "2027-01-15T07:59:59Z", "not_after",
			   "2027-01-16T08:00:00Z", "reason", "drill", "new_epoch", 2),
		 1U << ALICE);
	assert_int_equal(v.epoch, 2);
	/* the old epoch's documents are over, but not the revocation that ended it */
	assert_int_equal(names(&v, &first), 1);
	assert_string_equal(first.name, "all");
	view_done(&v);
	rig_no_keys(state);
}

static unsigned replaced_of;
static void hear_replaced(void *arg, const char *what, const struct bwl_err *why)
{
	(void)arg;
	replaced_of += !strcmp(what, "revocation/it") && why && why->id &&
		       !strcmp(why->id, "closing-replaced");
}

static json_t *closes(unsigned version, const char *peer)
{
	json_t *o = rig_body(BWL_SIGNED_REVOCATION, version);

	json_object_del(o, "all");
	json_object_set_new(o, "peers", json_pack("[s]", peer));
	return o;
}

/* A thief of one person's key overwrites another person's revocation with one of his own. */
static void one_that_says_something_else_takes_nobodys_place_and_is_told(void **state)
{
	struct view v = { .trouble = hear_replaced };
	struct bwl_closing first;

	rig_keys(state);
	v.root = rig_root();
	replaced_of = 0;
	is_there(&v, BWL_SIGNED_REVOCATION, closes(5, "log"), 1U << ALICE);
	is_there(&v, BWL_SIGNED_REVOCATION, closes(6, "log"), 1U << BOB); /* the same again */
	assert_int_equal(names(&v, &first), 1);
	assert_int_equal(first.version, 6);
	assert_int_equal(replaced_of, 0);
	is_there(&v, BWL_SIGNED_REVOCATION, closes(7, "nobody"), 1U << BOB);
	is_there(&v, BWL_SIGNED_REVOCATION, closes(7, "nobody"), 1U << BOB); /* read again */
	assert_int_equal(names(&v, &first), 2);
	assert_int_equal(replaced_of, 1);
	for (unsigned i = 0; i < 2; i++)
		assert_true(v.closing[i].shared);
	/* A revocation for another tray has its own place. */
	{
		BWL_AUTO_FREE char *text = rig_sign(BWL_SIGNED_REVOCATION, "hall-3", "tray:x",
						    closes(1, "a"), 1U << ALICE);
		BWL_AUTO_FREE char *other = rig_sign(BWL_SIGNED_REVOCATION, "hall-3", "tray:y",
						     closes(1, "b"), 1U << ALICE);
		struct view w = { .trouble = hear_replaced, .root = rig_root() };

		lies(&w, BWL_DOC_revocation, text);
		lies(&w, BWL_DOC_revocation, other);
		assert_int_equal(names(&w, &first), 2);
		assert_false(w.closing[0].shared || w.closing[1].shared);
		view_done(&w);
	}
	assert_int_equal(replaced_of, 1);
	view_done(&v);
	rig_no_keys(state);
}

static void no_epoch_but_that_of_all_ends_what_is_named(void **state)
{
	struct view v = { 0 };
	struct bwl_closing first;

	rig_keys(state);
	v.root = rig_root();
	is_there(&v, BWL_SIGNED_REVOCATION, rig_body(BWL_SIGNED_REVOCATION, 5), 1U << ALICE);
	v.epoch = 2; /* the epoch of a policy that was published ahead of its epoch */
	assert_int_equal(names(&v, &first), 1);
	is_there(&v, BWL_SIGNED_REVOCATION,
		 json_pack("{s:s, s:i, s:i, s:s, s:s, s:s, s:i}", "name", "far", "epoch", 1,
			   "version", 1, "issued_at", "2027-01-15T07:59:59Z", "not_after",
			   "2027-01-16T08:00:00Z", "reason", "drill", "new_epoch", 5000),
		 1U << ALICE); /* no tray accepts it */
	assert_int_equal(names(&v, &first), 2);
	view_done(&v);
	rig_no_keys(state);
}

static void what_a_new_root_does_not_judge_good_is_named_no_more(void **state)
{
	struct view v = { 0 };
	struct bwl_closing first;

	rig_keys(state);
	v.root = rig_root();
	is_there(&v, BWL_SIGNED_REVOCATION, rig_body(BWL_SIGNED_REVOCATION, 5), 1U << ALICE);
	is_there(&v, BWL_SIGNED_EXPULSION, rig_body(BWL_SIGNED_EXPULSION, 1), 1U << BOB);
	view_closing_root(&v);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(names(&v, &first), 2);
		view_read_begin(&v);
		is_there(&v, BWL_SIGNED_REVOCATION, rig_body(BWL_SIGNED_REVOCATION, 5),
			 1U << ALICE);
		view_read_end(&v);
	}
	assert_int_equal(names(&v, &first), 1);
	assert_int_equal(first.type, BWL_SIGNED_REVOCATION);
	view_done(&v);
	rig_no_keys(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_closes_is_named_until_it_ends_whatever_the_store_has),
		cmocka_unit_test(one_that_says_something_else_takes_nobodys_place_and_is_told),
		cmocka_unit_test(no_epoch_but_that_of_all_ends_what_is_named),
		cmocka_unit_test(what_a_new_root_does_not_judge_good_is_named_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
