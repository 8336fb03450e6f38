// SPDX-License-Identifier: GPL-2.0-or-later
/* A memory that is full: what has ended makes room, and nobody takes another's. */
#include "memory_rig.h"

/* Adds documents of a type, with different names, until one is refused. Returns how many. */
static unsigned fill(struct bwl_memory *m, enum bwl_signed_type type, const char *first,
		     int64_t end_s)
{
	struct bwl_signed d = { .type = type,
				.terms = { .epoch = bwl_memory_epoch(m),
					   .version = 1,
					   .issued_s = NOW - 50,
					   .not_after_s = end_s } };
	struct bwl_err e = { 0 };
	unsigned i = 0;
	int r;

	d.body = json_pack("{s:s}", "tray", "tray-9"); /* for types that have one */
	do {
		snprintf(d.terms.name, sizeof(d.terms.name), "%s%u", first, i);
		r = bwl_memory_accept(m, &d, &e);
	} while (!r && ++i < 10000);
	json_decref(d.body);
	assert_int_equal(r, -ENOSPC);
	return i;
}

static bool has(const struct bwl_memory *m, enum bwl_signed_type type, const char *name)
{
	size_t n;
	const struct bwl_memory_item *item = bwl_memory_items(m, &n);

	for (size_t i = 0; i < n; i++)
		if (item[i].type == type && !strcmp(item[i].name, name))
			return true;
	return false;
}

static void what_has_ended_makes_room(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();

	(void)state;
	assert_int_equal(fill(m, BWL_SIGNED_GRANT, "g", NOW), 3071); /* plus the enrolment */
	assert_null(give_time(m, 1, NOW + 1));
	assert_int_equal(fill(m, BWL_SIGNED_GRANT, "h", NOW + 3 * DAY), 3071);
	assert_false(has(m, BWL_SIGNED_GRANT, "g0"));
	assert_int_equal(bwl_memory_keep(m, dir, &(struct bwl_err){ 0 }), 0);
	again(&m);
}

static void the_online_key_alone_takes_room_from_nobody_else(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();

	(void)state;
	assert_string_equal(give(m, BWL_SIGNED_TIMESTAMP, rig_terms("t2", 1, 1, NOW, NOW + DAY),
				 1U << CONTROLLER),
			    "signed-malformed");
	assert_int_equal(fill(m, BWL_SIGNED_LEASE, "l", NOW), 256);
	assert_null(give_policy(m, "base", 1, 5, "a"));
	assert_null(give_time(m, 1, NOW + 1)); /* takes the place of one that has ended */
	assert_false(has(m, BWL_SIGNED_LEASE, "l0"));
	assert_true(has(m, BWL_SIGNED_LEASE, "l1"));
}

static void what_closes_has_room_where_one_person_filled_all_others(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	json_t *o = rig_terms("all", 1, 1, NOW - 60, NOW + DAY);

	(void)state;
	fill(m, BWL_SIGNED_GRANT, "g", NOW);
	fill(m, BWL_SIGNED_EXPULSION, "e", NOW);
	json_object_set_new(o, "new_epoch", json_integer(2));
	json_object_set_new(o, "reason", json_string("somebody fills it"));
	assert_null(give(m, BWL_SIGNED_REVOCATION, o, 1U << BOB));
	assert_null(give_policy(m, "base", 2, 1, "a"));
	again(&m);
	assert_true(has(m, BWL_SIGNED_ENROLMENT, "tray-7"));
}

static void what_holds_is_not_forgotten_for_what_comes(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	struct bwl_signed d = { .type = BWL_SIGNED_GRANT,
				.terms = { .name = "old",
					   .epoch = 1,
					   .version = 1,
					   .issued_s = NOW - 61,
					   .not_after_s = NOW } };
	const struct bwl_memory_item *item;
	struct bwl_err e = { 0 };
	struct bwl_digest held;
	size_t n;

	(void)state;
	assert_null(give_policy(m, "base", 1, 5, "a")); /* signed at NOW - 60 */
	item = bwl_memory_items(m, &n);
	held = item[n - 1].digest;
	bwl_memory_hold(m, &held, 1);
	assert_int_equal(bwl_memory_accept(m, &d, &e), 0);
	strcpy(d.terms.name, "tighter");
	d.terms.issued_s = NOW - 60;
	assert_int_equal(bwl_memory_accept(m, &d, &e), 0);
	assert_int_equal(bwl_memory_keep(m, dir, &e), 0);
	again(&m);
	fill(m, BWL_SIGNED_POLICY, "p", NOW);
	assert_null(give_time(m, 1, NOW + 2 * DAY)); /* all have ended, the enrolment, too */
	fill(m, BWL_SIGNED_POLICY, "q", NOW + 3 * DAY);
	assert_true(has(m, BWL_SIGNED_ENROLMENT, "tray-7"));
	assert_true(has(m, BWL_SIGNED_POLICY, "base"));
	assert_true(has(m, BWL_SIGNED_GRANT, "tighter"));
	assert_false(has(m, BWL_SIGNED_GRANT, "old"));
	assert_false(has(m, BWL_SIGNED_POLICY, "p0"));
}

static void what_could_not_be_read_is_not_written(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	struct bwl_signed d = { .type = BWL_SIGNED_GRANT,
				.terms = { .name = "no/name",
					   .epoch = 1,
					   .version = 1,
					   .issued_s = NOW - 61,
					   .not_after_s = NOW + DAY } };
	struct bwl_err e = { 0 };

	(void)state;
	assert_null(give_policy(m, "base", 1, 5, "a"));
	assert_int_equal(bwl_memory_accept(m, &d, &e), 0);
	assert_int_equal(bwl_memory_keep(m, dir, &e), -EBADMSG);
	assert_non_null(strstr(e.text, "stays as it was"));
	again(&m);
	assert_true(has(m, BWL_SIGNED_POLICY, "base"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_ended_makes_room),
		cmocka_unit_test(the_online_key_alone_takes_room_from_nobody_else),
		cmocka_unit_test(what_closes_has_room_where_one_person_filled_all_others),
		cmocka_unit_test(what_holds_is_not_forgotten_for_what_comes),
		cmocka_unit_test(what_could_not_be_read_is_not_written),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
