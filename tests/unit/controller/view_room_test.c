// SPDX-License-Identifier: GPL-2.0-or-later
/* More closing documents than there is room for: each person has a share of it. */
#include "view_rig.h"
#include "signed/closing.h"

static void what_finds_no_room_in_a_signed_time_is_counted(void **state)
{
	struct view v = { 0 };
	size_t left_out;
	json_t *list;
	char *whose;

	rig_keys(state);
	v.root = rig_root();
	for (unsigned i = 0; i < 300; i++) {
		json_t *o = rig_body(BWL_SIGNED_REVOCATION, 1);
		char name[16];

		snprintf(name, sizeof(name), "it-%u", i);
		json_object_set_new(o, "name", json_string(name));
		is_there(&v, BWL_SIGNED_REVOCATION, o, 1U << ALICE);
	}
	list = view_closing(&v, NOW, &left_out, &whose);
	assert_non_null(strstr(whose, " of alice"));
	free(whose);
	assert_true(json_array_size(list) > 100);
	assert_int_equal(json_array_size(list) + left_out, 300);
	assert_true(json_dumpb(list, NULL, 0, JSON_COMPACT) <= BWL_CLOSING_BYTES + 1);
	json_decref(list);
	view_done(&v);
	rig_no_keys(state);
}

/* Adds revocation number n, signed by `who`, after_s seconds after NOW - DAY. */
static void revoked(struct view *v, const char *what, unsigned n, int64_t after_s, unsigned who)
{
	char name[32];
	json_t *o;

	snprintf(name, sizeof(name), "%s-%u", what, n);
	o = rig_terms(name, 1, n + 1, NOW - DAY + after_s, NOW + DAY);
	json_object_set_new(o, "reason", json_string("drill"));
	json_object_set_new(o, "peers", json_pack("[s]", name));
	is_there(v, BWL_SIGNED_REVOCATION, o, who);
}

static size_t named_of(const struct view *v, const char *what, char **ret_whose)
{
	size_t left_out, n = 0, i;
	json_t *list = view_closing(v, NOW, &left_out, ret_whose), *one;

	json_array_foreach(list, i, one)
		n += !strncmp(json_string_value(json_object_get(one, "name")), what, strlen(what));
	json_decref(list);
	return n;
}

static void says_it(struct view *v, unsigned n, unsigned version, unsigned who)
{
	char name[32];
	json_t *o;

	snprintf(name, sizeof(name), "bobs-%u", n);
	o = rig_terms(name, 1, version, NOW - DAY + version, NOW + DAY);
	json_object_set_new(o, "reason", json_string("drill"));
	json_object_set_new(o, "peers", json_pack("[s]", name));
	is_there(v, BWL_SIGNED_REVOCATION, o, who);
}

static void nobodys_later_ones_push_another_persons_out(void **state)
{
	struct view v = { 0 };
	char *whose;

	rig_keys(state);
	v.root = rig_root();
	for (unsigned i = 0; i < 20; i++)
		revoked(&v, "bobs", i, i, 1U << BOB);
	for (unsigned i = 0; i < 300; i++)
		revoked(&v, "flood", i, 1000 + i, 1U << ALICE);
	assert_int_equal(named_of(&v, "bobs", &whose), 20);
	assert_non_null(strstr(whose, "of alice"));
	assert_null(strstr(whose, "of bob"));
	free(whose);
	assert_true(named_of(&v, "flood", NULL) > 80); /* the rest of the room is Alice's */
	view_done(&v);
	rig_no_keys(state);
}

/*
 * A thief of Alice's key signs all of Bob's many revocations again, with a later or an earlier
 * date, and they are read before or after Bob's. None moves to another account, where it would push
 * out the few that several people signed.
 */
static void what_a_thief_signs_again_stays_in_the_room_of_who_said_it(void **state)
{
	struct view v = { 0 };
	char *whose;

	rig_keys(state);
	v.root = rig_root();
	for (unsigned i = 0; i < 80; i++) {
		says_it(&v, i, i % 4 < 2 ? 1000 : 3, 1U << (i % 2 ? ALICE : BOB));
		says_it(&v, i, i % 4 < 2 ? 3 : 1000, 1U << (i % 2 ? BOB : ALICE));
	}
	for (unsigned i = 0; i < 60; i++)
		revoked(&v, "both", i, 2, 1U << ALICE | 1U << BOB);
	for (unsigned i = 0; i < 600; i++)
		revoked(&v, "flood", i, 2000 + i, 1U << ALICE);
	assert_true(named_of(&v, "bobs", &whose) >= 45); /* at least a third of the room */
	assert_true(named_of(&v, "both", NULL) >= 45);
	assert_non_null(strstr(whose, "of alice"));
	free(whose);
	view_done(&v);
	rig_no_keys(state);
}

static unsigned told_trays, told_closing;
static void hear_most(void *arg, const char *what, const struct bwl_err *why)
{
	(void)arg;
	if (!why)
		return;
	told_trays += !strcmp(what, "trays");
	told_closing += !strcmp(what, "closing") && !strcmp(why->id, "closing-no-room");
}

static void one_that_is_full_hides_no_other(void **state)
{
	struct view v = { .trouble = hear_most };
	const struct bwl_doc_at at = { .kind = BWL_DOC_revocation, .big = true };
	struct bwl_etcd_kv kv = { 0 };
	const struct status_now now = { 0 };
	char name[16];

	rig_keys(state);
	v.root = rig_root();
	told_trays = told_closing = 0;
	view_read_begin(&v);
	for (unsigned i = 0; i < VIEW_TRAYS_MAX + 2; i++) {
		snprintf(name, sizeof(name), "t-%05u", i);
		view_said(&v, name, "alive", &kv, &now);
	}
	assert_int_equal(told_trays, 1);
	for (unsigned i = 0; i < VIEW_PARTS_MAX + 2; i++)
		view_document(&v, "", &at, &kv, NOW);
	assert_int_equal(told_closing, 1);
	for (unsigned i = 0; i < VIEW_CLOSING_MAX + 2; i++)
		revoked(&v, "flood", i, i, 1U << ALICE);
	assert_int_equal(told_closing, 2);
	view_read_begin(&v);
	revoked(&v, "more", 0, 5000, 1U << ALICE);
	assert_int_equal(told_closing, 3); /* once per read */
	view_done(&v);
	rig_no_keys(state);
}

/* Another person's revocation that a thief signs again is not forgotten as one of the thief's. */
static void what_a_thief_signs_again_makes_no_room(void **state)
{
	struct view v = { 0 };

	rig_keys(state);
	v.root = rig_root();
	for (unsigned i = 0; i < 20; i++) {
		says_it(&v, i, 1, 1U << BOB);
		says_it(&v, i, 2, 1U << ALICE);
	}
	for (unsigned i = 0; i < VIEW_CLOSING_MAX + 30; i++)
		revoked(&v, "flood", i, 1000 + i, 1U << ALICE);
	assert_int_equal(v.nclosing, VIEW_CLOSING_MAX);
	assert_int_equal(named_of(&v, "bobs", NULL), 20);
	view_done(&v);
	rig_no_keys(state);
}

/* This holds whichever of the two is read first: copies are not read in the order of time. */
static void saying_another_persons_again_takes_nothing_of_it(void **state)
{
	struct view v = { 0 };

	rig_keys(state);
	v.root = rig_root();
	for (unsigned i = 0; i < 40; i++) {
		unsigned alice = 1U << ALICE, bob = 1U << BOB;

		says_it(&v, i, 2, i % 2 ? alice : bob);
		says_it(&v, i, 1, i % 2 ? bob : alice);
	}
	for (unsigned i = 0; i < 300; i++)
		revoked(&v, "flood", i, 1000 + i, 1U << ALICE);
	assert_int_equal(named_of(&v, "bobs", NULL), 40);
	view_done(&v);
	rig_no_keys(state);
}

static unsigned no_room;
static void hear_no_room(void *arg, const char *what, const struct bwl_err *why)
{
	(void)arg;
	no_room += !strcmp(what, "closing") && why && !strcmp(why->id, "closing-no-room") &&
		   strstr(why->text, "signed by alice");
}

static void what_is_too_much_to_keep_is_told_and_is_of_who_said_most(void **state)
{
	struct view v = { .trouble = hear_no_room };

	rig_keys(state);
	v.root = rig_root();
	no_room = 0;
	revoked(&v, "bobs", 0, 0, 1U << BOB);
	for (unsigned i = 0; i < VIEW_CLOSING_MAX - 1; i++)
		revoked(&v, "flood", i, 1000 + i, 1U << ALICE);
	assert_int_equal(no_room, 0);
	for (unsigned i = 0; i < 3; i++)
		revoked(&v, "more", i, 2 + i, 1U << ALICE);
	assert_int_equal(no_room, 1); /* once per read */
	assert_int_equal(v.nclosing, VIEW_CLOSING_MAX);
	assert_int_equal(named_of(&v, "bobs", NULL), 1);
	view_done(&v);
	rig_no_keys(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_finds_no_room_in_a_signed_time_is_counted),
		cmocka_unit_test(nobodys_later_ones_push_another_persons_out),
		cmocka_unit_test(saying_another_persons_again_takes_nothing_of_it),
		cmocka_unit_test(what_a_thief_signs_again_stays_in_the_room_of_who_said_it),
		cmocka_unit_test(what_a_thief_signs_again_makes_no_room),
		cmocka_unit_test(one_that_is_full_hides_no_other),
		cmocka_unit_test(what_is_too_much_to_keep_is_told_and_is_of_who_said_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
