// SPDX-License-Identifier: GPL-2.0-or-later
/* Documents that a signed time names, and that do not come: then that time does not count. */
#include "signed/closing.h"
#include "docs_rig.h"

/* The entry of a signed time that names this document. Takes ownership of nothing. */
static json_t *named(const char *text, int64_t issued_s)
{
	struct bwl_signed d;
	struct bwl_closing c;
	json_t *o;

	assert_int_equal(bwl_signed_peek(text, strlen(text), &d, NULL), 0);
	c = (struct bwl_closing){ .type = d.type,
				  .epoch = d.terms.epoch,
				  .version = d.terms.version,
				  .issued_s = issued_s ? issued_s : d.terms.issued_s,
				  .audience = d.audience };
	strcpy(c.name, d.terms.name);
	memcpy(c.digest, d.digest, sizeof(c.digest));
	o = bwl_closing_json(&c);
	bwl_signed_free(&d);
	return o;
}

static char *closing_of(enum bwl_signed_type type, const char *name, const char *audience,
			const char *peer)
{
	json_t *o = terms(name, 30 * DAY);

	json_object_set_new(o, "reason", json_string("drill"));
	if (type == BWL_SIGNED_EXPULSION)
		json_object_set_new(o, "tray", json_string("tray-9"));
	else
		json_object_set_new(o, "peers", json_pack("[s]", peer));
	return rig_sign(type, "hall-3", audience, o, ONE);
}

static char *closing(enum bwl_signed_type type, const char *name, const char *audience)
{
	return closing_of(type, name, audience, "b");
}

/*
 * A store that hands over times but withholds one document gains no more than one that withholds
 * everything.
 */
static void a_time_that_names_what_does_not_come_is_as_none(void **state)
{
	static const enum bwl_signed_type types[] = { BWL_SIGNED_REVOCATION, BWL_SIGNED_EXPULSION };
	char missing[4][DOCS_KEY];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		BWL_AUTO_FREE char *text = NULL;

		enrol();
		assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
		assert_string_equal(give_time_naming(1, NULL), "taken");
		assert_int_equal(left(), 900);
		text = closing(types[i], "it", i ? "all" : "tray:tray-7");
		/* the time may arrive before the document: nothing falls to the floor */
		pass(10);
		assert_string_equal(give_time_naming(1, named(text, 0)), "taken");
		assert_int_equal(left(), 890);
		assert_int_equal(docs_missing(&s, missing, 4), 1);
		assert_string_equal(missing[0], i ? "expulsion/it" : "revocation/it");
		for (unsigned k = 0; k < 20; k++) { /* it is named each minute and never comes */
			pass(60);
			assert_string_equal(give_time_naming(1, named(text, 0)), "taken");
		}
		assert_int_equal(left(), 0);
		assert_string_equal(give_text(text), "taken");
		assert_int_equal(docs_missing(&s, NULL, 0), 0);
		assert_int_equal(left(), 900);
	}
}

static void what_is_named_and_not_for_this_tray_is_not_waited_for(void **state)
{
	BWL_AUTO_FREE char *other = NULL, *label = NULL, *old = NULL, *newer = NULL;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	other = closing(BWL_SIGNED_REVOCATION, "it", "tray:tray-8,label:rack=4");
	assert_string_equal(give_time_naming(1, named(other, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
	/* an older version than the tray's is not missing; a newer one is */
	old = closing(BWL_SIGNED_REVOCATION, "now", "all");
	newer = closing(BWL_SIGNED_REVOCATION, "now", "all");
	assert_string_equal(give_text(old), "taken");
	assert_string_equal(give_text(newer), "taken");
	assert_string_equal(give_time_naming(1, named(old, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
	label = closing(BWL_SIGNED_REVOCATION, "now", "all");
	assert_string_equal(give_time_naming(1, named(label, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 1);
	/* its epoch is over */
	assert_string_equal(give(BWL_SIGNED_REVOCATION, revocation("new_epoch", json_integer(2)),
				 ONE),
			    "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
}

static void enrol_anew(const char *label, const char *more)
{
	BWL_AUTO(bwl_root_free) struct bwl_root *root = rig_root();
	json_t *o = terms("tray-7", 300 * DAY);
	char hex[65];

	json_object_set_new(o, "tray", json_string("tray-7"));
	json_object_set_new(o, "root", json_string(bwl_hex_encode(bwl_root_digest(root), 32, hex)));
	json_object_set_new(o, "labels", json_pack("[s, s*]", label, more));
	assert_string_equal(give(BWL_SIGNED_ENROLMENT, o, TWO), "taken");
}

static void a_label_names_the_trays_that_had_it_then(void **state)
{
	BWL_AUTO_FREE char *label = NULL;

	(void)state;
	enrol();
	enrol_anew("rack=3", NULL);
	pass(10);
	label = closing(BWL_SIGNED_REVOCATION, "it", "label:rack=3");
	assert_string_equal(give_time_naming(1, named(label, at.wall_s - 11)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
	assert_string_equal(give_time_naming(1, named(label, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 1);
}

/*
 * The store hides one person's revocation. Another person's revocation with the same name closes
 * something else and does not count as the first.
 */
static void a_later_one_that_says_something_else_takes_no_place(void **state)
{
	BWL_AUTO_FREE char *first = NULL, *other = NULL, *again = NULL;
	char missing[1][DOCS_KEY];

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give_time_naming(1, NULL), "taken");
	pass(10);
	first = closing_of(BWL_SIGNED_REVOCATION, "it", "all", "b");
	other = closing_of(BWL_SIGNED_REVOCATION, "it", "all", "nobody");
	assert_string_equal(give_text(other), "taken");
	for (unsigned k = 0; k < 20; k++) {
		assert_string_equal(give_time_naming(1, named(first, 0)), "taken");
		assert_int_equal(docs_missing(&s, missing, 1), 1);
		assert_string_equal(missing[0], "revocation/it");
		pass(60);
	}
	assert_int_equal(left(), 0);
	assert_string_equal(give_text(first), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
	assert_string_equal(give_time_naming(1, named(other, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
	again = closing_of(BWL_SIGNED_REVOCATION, "it", "all", "b");
	assert_string_equal(give_text(again), "taken");
	assert_string_equal(give_text(first), "signed-old");
}

/* A store that hides the revocation of a label gains nothing from an enrolment in between. */
static void an_enrolment_anew_ends_nothing_that_a_label_owes(void **state)
{
	BWL_AUTO_FREE char *label = NULL, *other = NULL;

	(void)state;
	enrol();
	enrol_anew("rack=3", NULL);
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give_time_naming(1, NULL), "taken");
	pass(10);
	label = closing(BWL_SIGNED_REVOCATION, "it", "label:rack=3");
	other = closing(BWL_SIGNED_REVOCATION, "it", "label:row=b");
	pass(10);
	enrol_anew("row=b", "rack=3"); /* before a time names the revocation */
	for (unsigned k = 0; k < 20; k++) {
		assert_string_equal(give_time_naming(1, named(label, 0)), "taken");
		assert_int_equal(docs_missing(&s, NULL, 0), 1);
		pass(60);
	}
	assert_int_equal(left(), 0);
	enrol_anew("rack=3", "row=b"); /* and afterwards */
	assert_int_equal(docs_missing(&s, NULL, 0), 1);
	assert_string_equal(give_time_naming(1, named(other, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0); /* signed before the tray had that label */
	enrol_anew("row=b", NULL);
	enrol_anew("row=b", "rack=3"); /* it lacked rack=3 in between */
	assert_string_equal(give_time_naming(1, named(label, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
}

static void a_root_that_does_not_come_is_missed(void **state)
{
	const struct rig_root next = { 2, 1, PEOPLE, 1U << CONTROLLER, 2, NOW + 365 * DAY };
	BWL_AUTO_FREE char *text = rig_root_text(&next, TWO), *gone = NULL;
	char missing[1][DOCS_KEY];

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give_time_naming(2, NULL), "taken");
	assert_int_equal(docs_missing(&s, missing, 1), 1);
	assert_string_equal(missing[0], "root, version 2");
	assert_int_equal(left(), 0);
	assert_string_equal(give_text(text), "taken");
	assert_int_equal(left(), 900);
	/* a controller with the old root may name a document whose signers no longer count */
	gone = closing(BWL_SIGNED_REVOCATION, "it", "all");
	assert_string_equal(give_time_naming(1, named(gone, 0)), "taken");
	assert_int_equal(docs_missing(&s, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_time_that_names_what_does_not_come_is_as_none),
		cmocka_unit_test(what_is_named_and_not_for_this_tray_is_not_waited_for),
		cmocka_unit_test(a_label_names_the_trays_that_had_it_then),
		cmocka_unit_test(a_later_one_that_says_something_else_takes_no_place),
		cmocka_unit_test(an_enrolment_anew_ends_nothing_that_a_label_owes),
		cmocka_unit_test(a_root_that_does_not_come_is_missed),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
