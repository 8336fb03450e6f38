// SPDX-License-Identifier: GPL-2.0-or-later
/* Enrolments and expulsions, of this tray and of others: the newest counts. */
#include "signed/memory_bound.h"
#include "memory_rig.h"

static void the_newest_enrolment_counts_whatever_came_last(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	const struct {
		const char *name;
		unsigned version;
	} row[] = { { "b", 7 }, { "c", 3 } };
	BWL_AUTO(bwl_root_free) struct bwl_root *root = rig_root();
	char hex[65];

	(void)state;
	bwl_hex_encode(bwl_root_digest(root), 32, hex);
	for (unsigned i = 0; i < 2; i++) {
		json_t *o = rig_terms(row[i].name, 1, row[i].version, NOW - 60, NOW + DAY);

		json_object_set_new(o, "tray", json_string("tray-7"));
		json_object_set_new(o, "root", json_string(hex));
		assert_null(give(m, BWL_SIGNED_ENROLMENT, o, PEOPLE));
		assert_int_equal(bwl_memory_bound(m).version, 7);
	}
}

static void who_enrols_brings_what_two_people_signed(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	BWL_AUTO_FREE char *root = rig_root_text(&rig_root_1, PEOPLE);
	const struct {
		const char *tray;
		unsigned who;
		bool ok;
	} row[] = { { "tray-7", 1U << ALICE, false }, { "tray-7", PEOPLE, true } };
	struct bwl_memory *fresh = NULL;
	struct bwl_err e = { 0 };
	char *text = enrolment_of("tray-7", 1, PEOPLE), path[128];

	(void)state;
	assert_int_equal(bwl_memory_enrol(dir, root, strlen(root), text, strlen(text), NOW, &fresh,
					  &e),
			 -EEXIST);
	free(text);
	snprintf(path, sizeof(path), "%s/" BWL_MEMORY, dir);
	unlink(path);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		text = enrolment_of(row[i].tray, 1, row[i].who);
		assert_int_equal(!bwl_memory_enrol(dir, root, strlen(root), text, strlen(text), NOW,
						   &fresh, &e),
				 row[i].ok);
		free(text);
	}
	bwl_memory_free(fresh);
	/* another enrolment of this tray changes its labels; another tray's does not */
	text = enrolment_of("tray-8", 2, PEOPLE);
	{
		struct bwl_signed d;

		assert_int_equal(bwl_signed_open(text, strlen(text), bwl_memory_root(m), NULL, NOW,
						 &d, &e),
				 0);
		assert_int_not_equal(bwl_memory_accept(m, &d, &e), 0);
		bwl_signed_free(&d);
	}
	free(text);
}

static const char *expel(struct bwl_memory *m, const char *name, unsigned version, int64_t at,
			 unsigned who)
{
	json_t *o = rig_terms(name, 1, version, at, NOW + DAY);

	json_object_set_new(o, "tray", json_string(name));
	json_object_set_new(o, "reason", json_string("stolen"));
	return give(m, BWL_SIGNED_EXPULSION, o, who);
}

static const char *readmit(struct bwl_memory *m, const char *name, unsigned version, int64_t at,
			   unsigned who)
{
	BWL_AUTO(bwl_root_free) struct bwl_root *root = rig_root();
	json_t *o = rig_terms(name, 1, version, at, NOW + DAY);
	char hex[65];

	json_object_set_new(o, "tray", json_string(name));
	json_object_set_new(o, "root", json_string(bwl_hex_encode(bwl_root_digest(root), 32, hex)));
	return give(m, BWL_SIGNED_ENROLMENT, o, who);
}

static void who_is_expelled_is_so_until_an_enrolment_that_was_signed_after_it(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();

	(void)state;
	assert_null(readmit(m, "tray-9", 1, NOW - 50, PEOPLE)); /* it was enrolled once */
	assert_null(expel(m, "tray-9", 1, NOW - 40, 1U << BOB));
	again(&m);
	assert_true(bwl_memory_is_expelled(m, "tray-9", NULL));
	assert_true(bwl_memory_is_expelled(m, "east", "tray-9"));  /* by its IKE identity */
	assert_true(bwl_memory_is_expelled(m, "east", "@Tray-9")); /* however it is spelt */
	assert_true(bwl_memory_is_expelled(m, "TRAY-9", NULL));
	assert_false(bwl_memory_is_expelled(m, "tray-8", "tray-7"));
	assert_false(bwl_memory_is_expelled(m, "tray-99", "fqdn:tray-9."));
	/* an older enrolment, whatever its number, or one person's, admits nobody */
	assert_null(readmit(m, "tray-9", 2, NOW - 45, PEOPLE));
	assert_null(readmit(m, "tray-9", 3, NOW - 40, PEOPLE));
	assert_string_equal(readmit(m, "tray-9", 4, NOW - 30, 1U << BOB), "signed-untrusted");
	assert_true(bwl_memory_is_expelled(m, "tray-9", NULL));
	assert_null(readmit(m, "tray-9", 4, NOW - 30, PEOPLE));
	again(&m);
	assert_false(bwl_memory_is_expelled(m, "tray-9", NULL));
	/* a withheld older expulsion with a higher number */
	assert_null(expel(m, "tray-9", 2, NOW - 35, 1U << BOB));
	assert_false(bwl_memory_is_expelled(m, "tray-9", NULL));
	assert_null(expel(m, "tray-9", 3, NOW - 20, 1U << BOB));
	assert_true(bwl_memory_is_expelled(m, "tray-9", NULL));
	/* and in the other order: an older expulsion that is still in the store */
	assert_null(readmit(m, "tray-8", 1, NOW - 10, PEOPLE));
	assert_null(expel(m, "tray-8", 1, NOW - 20, 1U << BOB));
	assert_false(bwl_memory_is_expelled(m, "tray-8", NULL));
	assert_int_equal(bwl_memory_bound(m).version,
			 1); /* none of it is an enrolment of this tray */
}

static void who_was_replaced_is_not_expelled_by_what_the_store_still_has(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol(); /* at NOW - 60 */

	(void)state;
	assert_null(expel(m, "tray-7", 1, NOW - 61, PEOPLE));
	assert_false(bwl_memory_is_expelled(m, "tray-7", NULL));
	assert_null(expel(m, "tray-7", 2, NOW - 50, 1U << ALICE));
	assert_true(bwl_memory_is_expelled(m, "tray-7", NULL));
}

static void keys_go_for_two_people_until_this_tray_is_enrolled_again(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol(); /* at NOW - 60 */

	(void)state;
	assert_null(expel(m, "tray-9", 1, NOW - 50, PEOPLE));
	assert_null(expel(m, "tray-7", 1, NOW - 50, 1U << ALICE));
	assert_false(bwl_memory_destroys(m)); /* another tray's, and one person's */
	assert_null(expel(m, "tray-7", 2, NOW - 40, PEOPLE));
	assert_true(bwl_memory_destroys(m));
	again(&m);
	assert_true(bwl_memory_destroys(m)); /* after a restart, too */
	assert_null(readmit(m, "tray-7", 2, NOW - 30, PEOPLE));
	again(&m);
	assert_false(bwl_memory_destroys(m)); /* a tray that is enrolled again keeps its new keys */
}

static void enrol_with(struct bwl_memory *m, unsigned version, int64_t issued_s, const char *a,
		       const char *b)
{
	json_t *o = rig_terms("tray-7", 1, version, issued_s, NOW + DAY);
	char hex[65];

	json_object_set_new(o, "tray", json_string("tray-7"));
	json_object_set_new(o, "root",
			    json_string(
				    bwl_hex_encode(bwl_root_digest(bwl_memory_root(m)), 32, hex)));
	json_object_set_new(o, "labels", json_pack("[s, s]", a, b));
	assert_null(give(m, BWL_SIGNED_ENROLMENT, o, PEOPLE));
}

static void since_when_a_tray_has_a_label_is_kept_over_enrolments_and_restarts(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();

	(void)state;
	assert_int_equal(bwl_memory_label_since(m, 0), NOW - 60);
	enrol_with(m, 2, NOW - 30, "row=b", "zone=mesh");
	again(&m);
	assert_string_equal(bwl_memory_tray(m)->labels[0], "row=b");
	assert_int_equal(bwl_memory_label_since(m, 0), NOW - 30);
	assert_int_equal(bwl_memory_label_since(m, 1), NOW - 60);
	enrol_with(m, 3, NOW - 10, "rack=3", "zone=mesh"); /* it lacked rack=3 in between */
	again(&m);
	assert_int_equal(bwl_memory_label_since(m, 0), NOW - 10);
	assert_int_equal(bwl_memory_label_since(m, 1), NOW - 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_enrolment_counts_whatever_came_last),
		cmocka_unit_test(who_enrols_brings_what_two_people_signed),
		cmocka_unit_test(who_is_expelled_is_so_until_an_enrolment_that_was_signed_after_it),
		cmocka_unit_test(who_was_replaced_is_not_expelled_by_what_the_store_still_has),
		cmocka_unit_test(keys_go_for_two_people_until_this_tray_is_enrolled_again),
		cmocka_unit_test(
			since_when_a_tray_has_a_label_is_kept_over_enrolments_and_restarts),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
