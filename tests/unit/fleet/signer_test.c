// SPDX-License-Identifier: GPL-2.0-or-later
/* A status signed by the tray's own key, and forged ones in its place. */
#include <stdlib.h>
#include <string.h>
#include "fleet/status/signer.h"
#include "signed/said/said.h"
#include "../test.h"

#define SECOND 1000000000ULL

static struct bwl_note_key note;
static struct bwl_key *key, *other;
static struct status_signer by;
static struct status_last last;
static struct status_now now;
static struct bwl_err e;

static int begin(void **state)
{
	char text[BWL_NOTE_KEY_TEXT];
	json_t *body;

	(void)state;
	assert_int_equal(bwl_note_key_new("bwlimit/tray-7", &note, NULL), 0);
	key = bwl_key_of_seed(note.seed);
	assert_memory_equal(bwl_key_public(key), note.pub, sizeof(note.pub));
	other = bwl_key_random();
	body = json_pack("{s:s}", "log_key", bwl_note_key_format(&note, false, text));
	status_signer_of("hall-3", body, &by);
	json_decref(body);
	assert_true(by.named);
	last = (struct status_last){ 0 };
	now = (struct status_now){ 5000 * SECOND, 1800000000 };
	return 0;
}

static int end(void **state)
{
	(void)state;
	bwl_key_free(key);
	bwl_key_free(other);
	return 0;
}

/* said_s: by the tray's clock; up_s: since its boot. */
static char *text_at(const char *tray, unsigned number, unsigned closed, int64_t said_s,
		     int64_t up_s)
{
	char *text;

	assert_true(
		asprintf(
			&text,
			"{\"tray\": \"%s\", \"number\": %u, \"closed_count\": %u, \"said_at\": %lld, \"up_s\": %lld}",
			tray, number, closed, (long long)said_s, (long long)up_s) > 0);
	return text;
}

static char *text_of(const char *tray, unsigned number, unsigned closed)
{
	return text_at(tray, number, closed, now.wall_s, (int64_t)(now.ns / SECOND) - 4000);
}

/* Signs the payload by k, in an envelope of that fleet and tray. k NULL: leaves it unsigned. */
static char *say(const struct bwl_key *k, const char *fleet, const char *tray, char *payload)
{
	char *text;

	if (!k)
		return payload;
	text = bwl_said_sign(k, fleet, tray, payload, strlen(payload), &e);
	assert_non_null(text);
	free(payload);
	return text;
}

/* Takes a status. */
static int take_by(const struct status_signer *who, char *text, struct tray_status *ret)
{
	int r;

	e = (struct bwl_err){ 0 };
	r = status_take("tray-7", who, &last, &now, text, strlen(text), ret, NULL, NULL, &e);
	free(text);
	return r;
}

static int take(char *text)
{
	struct tray_status s = { 0 };

	return take_by(&by, text, &s);
}

static const char *word(void)
{
	return status_signature_word(status_worth(&by, &last, &now));
}

static void pass(unsigned s)
{
	now.ns += s * SECOND;
	now.wall_s += s;
}

static char *mine(unsigned number, unsigned closed)
{
	return say(key, "hall-3", "tray-7", text_of("tray-7", number, closed));
}

static void what_its_key_signed_is_taken_and_called_signed(void **state)
{
	struct tray_status s;

	(void)state;
	assert_int_equal(take_by(&by, mine(10, 3), &s), 0);
	assert_true(s.is_signed);
	assert_int_equal(s.number, 10);
	assert_int_equal(s.closed, 3);
	assert_string_equal(word(), "signed");
	assert_int_equal(take(mine(11, 3)), 0);
}

static void refused(char *text, const char *why)
{
	assert_int_equal(take(text), -EKEYREJECTED);
	assert_non_null(strstr(e.text, why));
	assert_string_equal(e.id, "status-refused");
	assert_string_equal(word(), "refused");
}

static void what_anybody_else_says_in_its_name_is_refused(void **state)
{
	static const struct status_signer nobody;
	struct status_signer fleet = by;
	char *text = mine(11, 3), *at;

	(void)state;
	assert_int_equal(take(mine(10, 3)), 0);
	refused(say(NULL, "", "", text_of("tray-7", 11, 0)), "not signed");
	refused(say(other, "hall-3", "tray-7", text_of("tray-7", 11, 0)), "another key");
	refused(say(key, "hall-3", "tray-8", text_of("tray-8", 11, 0)), "another fleet or tray");
	refused(say(key, "hall-4", "tray-7", text_of("tray-7", 11, 0)), "another fleet or tray");
	/* the envelope is this tray's, its content is another tray's */
	refused(say(key, "hall-3", "tray-7", text_of("tray-8", 11, 0)), "cannot be read");
	refused(strdup("{\"payloadType\": \"\"}"), "JSON");
	/* each letter of the payload */
	at = strstr(text, "\"payload\"") + 12;
	for (char *p = at; *p != '"'; p++) {
		char was = *p;

		*p = was == 'A' ? 'B' : 'A';
		assert_int_equal(take(strdup(text)), -EKEYREJECTED);
		*p = was;
	}
	/* none of that harms the tray's own next status */
	assert_int_equal(take(text), 0);
	assert_string_equal(word(), "signed");
	/* the key's own signature is not valid for another fleet */
	snprintf(fleet.fleet, sizeof(fleet.fleet), "hall-4");
	assert_int_equal(take_by(&fleet, mine(12, 3), &(struct tray_status){ 0 }), -EKEYREJECTED);
	assert_false(status_signer_is(&fleet, &by));
	assert_false(status_signer_is(&nobody, &by));
}

static void what_it_said_before_is_refused_and_a_copy_is_no_sign_of_life(void **state)
{
	(void)state;
	assert_int_equal(take(mine(10, 3)), 0);
	assert_int_equal(take(mine(10, 3)), 1);
	assert_string_equal(word(), "signed");
	refused(mine(10, 4), "older");
	refused(mine(9, 0), "older");
	refused(say(key, "hall-3", "tray-7", strdup("{\"tray\": \"tray-7\"}")), "no number");
	/* a copy of the newest status does not make up for that */
	assert_int_equal(take(mine(10, 3)), 1);
	assert_string_equal(word(), "refused");
	assert_int_equal(take(mine(11, 3)), 0);
	assert_string_equal(word(), "signed");
}

/* A thief of the tray's bwlimit-sync can pass on its statuses in order, but later and later. */
static void what_comes_later_and_later_is_late_by_the_readers_clock(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		bool late = i * 2 > STATUS_LATE_S;

		assert_int_equal(
			take(say(key, "hall-3", "tray-7",
				 text_at("tray-7", 10 + i, 0, 1800000000 + i * 30, 1000 + i * 30))),
			0);
		assert_string_equal(word(), late ? "late" : "signed");
		assert_int_equal(status_doubt(&by, &last, &now, &e), late);
		pass(32);
	}
	assert_string_equal(e.id, "status-late");
	assert_non_null(strstr(e.text, "198 s late"));
	assert_int_equal(take(mine(1000, 0)), 0);
	assert_string_equal(word(), "signed");
	pass(STATUS_LATE_S); /* nothing more comes */
	assert_string_equal(word(), "signed");
	pass(1);
	assert_string_equal(word(), "late");
}

/* If the tray's clock is far ahead and hides the delay, the time since its boot reveals it. */
static void what_comes_later_and_later_is_late_whatever_the_trays_clock_says(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(
			take(say(key, "hall-3", "tray-7",
				 text_at("tray-7", 10 + i, 0, 1800009000 + i * 30, 1000 + i * 30))),
			0);
		/* a clock may be slow by 1/1000 */
		assert_string_equal(word(),
				    i * 2 - i * 32 / 1000 > STATUS_LATE_S ? "late" : "signed");
		pass(32);
	}
	/* It has booted again: nothing is known of the new boot. */
	assert_int_equal(
		take(say(key, "hall-3", "tray-7", text_at("tray-7", 1000, 0, 1800009000, 20))), 0);
	assert_string_equal(word(), "signed");
	/* A status without a time is late. */
	assert_int_equal(take(say(key, "hall-3", "tray-7",
				  strdup("{\"tray\": \"tray-7\", \"number\": 1001}"))),
			 0);
	assert_string_equal(word(), "late");
}

/*
 * It is not known by which key the tray signs, or whether it signs at all. Nothing is taken, signed
 * or not.
 */
static void where_its_enrolment_cannot_be_judged_nothing_is_taken(void **state)
{
	struct status_signer unjudged;

	(void)state;
	status_signer_unjudged("it is signed by 1 of the people of role policy", &unjudged);
	assert_false(status_signer_is(&unjudged, &(struct status_signer){ 0 }));
	for (unsigned i = 0; i < 2; i++) {
		char *text = i ? mine(10, 3) : text_of("tray-7", 0, 5);

		assert_int_equal(take_by(&unjudged, text, &(struct tray_status){ 0 }),
				 -EKEYREJECTED);
		assert_string_equal(e.id, "status-unjudged");
		assert_non_null(strstr(e.text, "cannot be judged"));
		assert_non_null(strstr(e.text, "enrol it anew"));
		assert_non_null(strstr(e.text, "people of role policy"));
		assert_string_equal(status_signature_word(status_worth(&unjudged, &last, &now)),
				    "unjudged");
	}
	/* With an enrolment that can be judged, its statuses count again. */
	assert_int_equal(take(mine(11, 3)), 0);
	assert_string_equal(word(), "signed");
}

/* No enrolment names a key: every status is taken, as before, and none is called signed. */
static void without_a_key_nothing_is_called_signed(void **state)
{
	static const struct status_signer nobody;
	struct tray_status s;

	(void)state;
	assert_int_equal(take_by(&nobody, text_of("tray-7", 0, 5), &s), 0);
	assert_int_equal(s.closed, 5);
	assert_false(s.is_signed);
	assert_string_equal(status_signature_word(status_worth(&nobody, &last, &now)), "unsigned");
	/* A tray that signs was enrolled with a key, but the store lacks that enrolment. */
	assert_int_equal(take_by(&nobody, mine(10, 3), &s), -EKEYREJECTED);
	assert_int_equal(s.closed, 5);
	assert_string_equal(e.id, "status-unjudged");
	assert_string_equal(status_signature_word(status_worth(&nobody, &last, &now)), "unjudged");
	assert_int_equal(take_by(&nobody, text_of("tray-8", 0, 5), &s), -EBADMSG);
	assert_int_equal(s.closed, 0);
}

/* A checkpoint is signed by the same key, but it is not a status, nor the reverse. */
static void no_checkpoint_is_a_status(void **state)
{
	struct bwl_checkpoint c = { .origin = "bwlimit/tray-7", .size = 1 };
	char text[BWL_CHECKPOINT_NOTE];
	size_t n;

	(void)state;
	assert_int_equal(bwl_checkpoint_sign(&note, &c, text, &n, &e), 0);
	refused(strdup(text), "not signed");
}

static void who_asks_gets_the_signer_that_was_set_last(void **state)
{
	struct status_signers *s = status_signers_new();
	struct status_signer got;
	char name[16];

	(void)state;
	assert_false(status_signers_get(NULL, "t").named);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "t%u", i * 7 % 1000);
		status_signers_set(s, name, &by);
	}
	status_signers_set(s, "t5", &(struct status_signer){ 0 });
	got = status_signers_get(s, "t6");
	assert_true(status_signer_is(&got, &by));
	assert_false(status_signers_get(s, "t5").named);
	assert_false(status_signers_get(s, "t1000").named);
	status_signers_free(s);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		T(what_its_key_signed_is_taken_and_called_signed),
		T(what_anybody_else_says_in_its_name_is_refused),
		T(what_it_said_before_is_refused_and_a_copy_is_no_sign_of_life),
		T(what_comes_later_and_later_is_late_by_the_readers_clock),
		T(what_comes_later_and_later_is_late_whatever_the_trays_clock_says),
		T(where_its_enrolment_cannot_be_judged_nothing_is_taken),
		T(without_a_key_nothing_is_called_signed),
		T(no_checkpoint_is_a_status),
		T(who_asks_gets_the_signer_that_was_set_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
