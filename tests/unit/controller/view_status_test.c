// SPDX-License-Identifier: GPL-2.0-or-later
/* Statuses of trays, read as untrusted input; and which trays a leader knows. */
#include "view_rig.h"
#include "lead_rollout.h"
#include "signed/said/said.h"

static const struct status_now *at_ns(uint64_t now_ns)
{
	static struct status_now now;

	now = (struct status_now){ now_ns, NOW };
	return &now;
}

static void what_lay_there_for_long_is_no_news(void **state)
{
	struct view v = { 0 };
	struct bwl_etcd_kv a = kv("{\"tray\": \"t\"}", 5), b = kv("{\"tray\": \"t\"}", 6),
			   gone = { .gone = true };

	(void)state;
	view_read_begin(&v);
	view_said(&v, "t", "status", &a, at_ns(100));
	view_said(&v, "t", "alive", &a, at_ns(100));
	view_read_end(&v);
	assert_int_equal(v.ntrays, 1);
	assert_true(v.tray[0]->alive && v.tray[0]->known);
	assert_int_equal(v.tray[0]->heard_ns, 0);
	/* the same status again, by a read after the watch */
	view_said(&v, "t", "status", &a, at_ns(200));
	assert_int_equal(v.tray[0]->heard_ns, 0);
	view_said(&v, "t", "status", &b, at_ns(300));
	assert_int_equal(v.tray[0]->heard_ns, 300);
	view_said(&v, "t", "alive", &gone, at_ns(300));
	assert_false(v.tray[0]->alive);
	view_read_begin(&v); /* the next read finds nothing of the tray */
	view_read_end(&v);
	assert_int_equal(v.ntrays, 0);
	view_done(&v);
}

static void a_tray_that_is_new_has_said_something_now(void **state)
{
	struct view v = { 0 };
	struct bwl_etcd_kv a = kv("{\"tray\": \"t\"}", 5), alive = kv("1", 4);

	(void)state;
	view_said(&v, "t", "alive", &alive, at_ns(50));
	view_said(&v, "t", "status", &a, at_ns(100));
	assert_true(v.tray[0]->known);
	view_done(&v);
}

/*
 * An enrolment of t, signed by these people and seen at that time. log: the key that it names;
 * NULL: none.
 */
static void enrolled_by(struct view *v, unsigned version, const struct bwl_note_key *log,
			unsigned who, int64_t now_s)
{
	json_t *o = rig_terms("t", 1, version, NOW - DAY, NOW + DAY);
	struct bwl_doc_at place = { .kind = BWL_DOC_enrolment, .name = "t" };
	BWL_AUTO_FREE char *text = NULL;
	char name[BWL_NOTE_KEY_TEXT];
	struct bwl_etcd_kv at;

	json_object_set_new(o, "tray", json_string("t"));
	json_object_set_new(
		o, "root",
		json_string("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
	if (log)
		json_object_set_new(o, "log_key",
				    json_string(bwl_note_key_format(log, false, name)));
	text = rig_sign(BWL_SIGNED_ENROLMENT, "hall-3", "tray:t", o, who);
	at = kv(text, 1);
	view_document(v, "t", &place, &at, now_s);
}

static void enrolled(struct view *v, unsigned version, const struct bwl_note_key *log)
{
	enrolled_by(v, version, log, 1U << ALICE | 1U << BOB, NOW);
}

static unsigned told_of, unjudged_of, late_of;
static void hear_trouble(void *arg, const char *what, const struct bwl_err *why)
{
	(void)arg;
	if (strcmp(what, "t") || !why || !why->id)
		return;
	told_of += !strcmp(why->id, "status-refused");
	unjudged_of += !strcmp(why->id, "status-unjudged");
	late_of += !strcmp(why->id, "status-late");
}

static void says(struct view *v, const struct bwl_note_key *k, const char *payload, int64_t mod,
		 uint64_t now_ns)
{
	BWL_AUTO(bwl_key_free) struct bwl_key *by = k ? bwl_key_of_seed(k->seed) : NULL;
	BWL_AUTO_FREE char *text = k ? bwl_said_sign(by, "hall-3", "t", payload, strlen(payload),
						     NULL)
				     : strdup(payload);
	struct bwl_etcd_kv at = kv(text, mod);

	view_said(v, "t", "status", &at, at_ns(now_ns));
}

static void what_is_not_the_trays_own_word_is_told_and_is_no_sign_of_life(void **state)
{
	struct view v = { .trouble = hear_trouble, .signers = status_signers_new() };
	struct bwl_note_key log, thief;
	const struct view_tray *t;

	rig_keys(state);
	v.root = rig_root();
	told_of = 0;
	assert_int_equal(bwl_note_key_new("log", &log, NULL), 0);
	assert_int_equal(bwl_note_key_new("log", &thief, NULL), 0);
	says(&v, NULL, "{\"tray\": \"t\", \"closed_count\": 1}", 5, 100);
	t = view_tray(&v, "t");
	assert_true(t->known && !t->status.is_signed);
	enrolled(&v, 2, &log);
	assert_false(t->known); /* the first status was not verified */
	assert_true(status_signers_get(v.signers, "t").named);
	says(&v, &log,
	     "{\"tray\": \"t\", \"said_at\": 1800000000, \"number\": 7, \"closed_count\": 2}", 6,
	     200);
	says(&v, &log,
	     "{\"tray\": \"t\", \"said_at\": 1800000000, \"number\": 8, \"closed_count\": 2}", 7,
	     300);
	assert_true(t->known && t->status.is_signed && t->status.closed == 2);
	assert_int_equal(t->heard_ns, 300);
	says(&v, NULL, "{\"tray\": \"t\", \"closed_count\": 0}", 8, 400);
	says(&v, &thief,
	     "{\"tray\": \"t\", \"said_at\": 1800000000, \"number\": 9, \"closed_count\": 0}", 9,
	     500);
	says(&v, &log,
	     "{\"tray\": \"t\", \"said_at\": 1800000000, \"number\": 7, \"closed_count\": 2}", 10,
	     600);
	says(&v, &log,
	     "{\"tray\": \"t\", \"said_at\": 1800000000, \"number\": 8, \"closed_count\": 2}", 11,
	     700);
	assert_int_equal(t->heard_ns, 300);
	assert_int_equal(t->status.closed, 2);
	assert_int_equal(told_of, 1); /* once, until the tray itself sends a status */
	enrolled(&v, 1, NULL);        /* an older enrolment, put back */
	says(&v, NULL, "{\"tray\": \"t\", \"closed_count\": 0}", 12, 800);
	assert_int_equal(t->status.closed, 2);
	says(&v, &log,
	     "{\"tray\": \"t\", \"said_at\": 1800000000, \"number\": 9, \"closed_count\": 3}", 13,
	     900);
	assert_int_equal(t->heard_ns, 900);
	assert_int_equal(t->status.closed, 3);
	says(&v, NULL, "{}", 14, 1000);
	assert_int_equal(told_of, 2);
	view_done(&v);
	status_signers_free(v.signers);
	rig_no_keys(state);
}

static void says_number(struct view *v, const struct bwl_note_key *k, unsigned number,
			int64_t said_s, uint64_t now_ns)
{
	char text[256];

	snprintf(
		text, sizeof(text),
		"{\"tray\": \"t\", \"number\": %u, \"said_at\": %lld, \"closed_count\": %u, \"policy\": {\"name\": \"p\", \"version\": 1, \"sha256\": \"%064u\"}}",
		number, (long long)said_s, number, 0);
	says(v, k, text, number, now_ns);
}

/* In turn, the tray's enrolment is no longer valid by the root, has ended, or was overwritten. */
static void what_nobody_can_judge_is_no_health_and_no_word(void **state)
{
	static const struct rig_root second = {
		2, 1, PEOPLE & ~(1U << BOB), 1U << CONTROLLER, 2, NOW + 365 * DAY
	};
	struct bwl_note_key log;

	rig_keys(state);
	assert_int_equal(bwl_note_key_new("log", &log, NULL), 0);
	for (unsigned i = 0; i < 3; i++) {
		struct view v = { .trouble = hear_trouble, .signers = status_signers_new() };
		BWL_AUTO_FREE char *next = rig_root_text(&second, PEOPLE);
		struct bwl_doc_at place = { .kind = BWL_DOC_root, .name = "root" };
		struct bwl_etcd_kv at = kv(next, 2);
		const struct view_tray *t;

		v.root = rig_root();
		enrolled(&v, 2, &log);
		says_number(&v, &log, 7, NOW, 100);
		says_number(&v, &log, 8, NOW, 200);
		t = view_tray(&v, "t");
		assert_true(t->known && t->status.closed == 8);
		unjudged_of = told_of = 0;
		if (i == 0) { /* a new root, without one of the signers */
			view_document(&v, "", &place, &at, NOW);
			assert_int_equal(bwl_root_terms(v.root)->version, 2);
			enrolled(&v, 2, &log);
		} else if (i == 1) { /* the enrolment has ended */
			enrolled_by(&v, 2, &log, 1U << ALICE | 1U << BOB, NOW + 2 * DAY);
		} else { /* signed by one person, and names no key */
			enrolled_by(&v, 3, NULL, 1U << ALICE, NOW);
		}
		assert_false(t->known);
		assert_true(status_signers_get(v.signers, "t").unjudged);
		says(&v, NULL, "{\"tray\": \"t\", \"closed_count\": 0}", 9, 300);
		says_number(&v, &log, 10, NOW, 400);
		assert_false(t->known);
		assert_int_equal(t->heard_ns, 200);
		assert_int_equal(t->status.closed, 8);
		assert_int_equal(unjudged_of, 1);
		/* An older enrolment is put back, and then comes one that can be judged. */
		enrolled_by(&v, 1, NULL, 1U << ALICE | 1U << CAROL, NOW);
		says(&v, NULL, "{\"tray\": \"t\", \"closed_count\": 0}", 11, 500);
		assert_false(t->known);
		enrolled_by(&v, 4, &log, 1U << ALICE | 1U << CAROL, NOW);
		says_number(&v, &log, 7, NOW, 550);
		assert_false(t->known); /* the status is an older one that was put back, too */
		assert_int_equal(told_of, 1);
		told_of = 0;
		says_number(&v, &log, 12, NOW, 600);
		assert_true(t->known && t->status.closed == 12);
		assert_int_equal(told_of, 0);
		view_done(&v);
		status_signers_free(v.signers);
	}
	rig_no_keys(state);
}

static void what_was_said_long_ago_is_told_and_is_no_sign_of_life(void **state)
{
	struct view v = { .trouble = hear_trouble };
	struct bwl_etcd_kv alive = kv("1", 1);
	struct bwl_note_key log;
	const struct view_tray *t;

	rig_keys(state);
	v.root = rig_root();
	late_of = 0;
	assert_int_equal(bwl_note_key_new("log", &log, NULL), 0);
	enrolled(&v, 2, &log);
	/* the tray is off, so the late status is not reported */
	says_number(&v, &log, 6, NOW - 3600, 50);
	t = view_tray(&v, "t");
	assert_false(t->known);
	assert_int_equal(late_of, 0);
	view_said(&v, "t", "alive", &alive, at_ns(60));
	says_number(&v, &log, 7, NOW, 100);
	says_number(&v, &log, 8, NOW - STATUS_LATE_S, 200);
	assert_int_equal(t->heard_ns, 200);
	says_number(&v, &log, 9, NOW - STATUS_LATE_S - 1, 300);
	says_number(&v, &log, 10, NOW - STATUS_LATE_S - 2, 400);
	assert_int_equal(t->heard_ns, 200);
	assert_int_equal(t->status.closed, 8);
	assert_int_equal(late_of, 1);
	says_number(&v, &log, 11, NOW, 500);
	assert_int_equal(t->heard_ns, 500);
	view_done(&v);
	rig_no_keys(state);
}

/* A stage is passed when each tray has sent two current statuses of its own. */
static void what_is_no_word_of_a_tray_does_not_pass_a_stage(void **state)
{
	struct view v = { 0 };
	struct lead l = { .v = &v };
	struct lead_rollout lr = { 0 };
	struct view_policy p = { .audience = strdup("all") };
	struct bwl_note_key log;

	rig_keys(state);
	v.root = rig_root();
	assert_int_equal(bwl_note_key_new("log", &log, NULL), 0);
	enrolled(&v, 2, &log);
	says_number(&v, &log, 7, NOW, 100);
	lead_seats_new(&l, &lr, &p, 150);
	lead_seats_begin(&lr, 150);
	assert_int_equal(lr.nseats, 1);
	says_number(&v, &log, 8, NOW, 200);
	lead_seats_hear(&l, &lr, &p, 200);
	assert_int_equal(lr.seat[0].heard, 1);
	says(&v, NULL, "{\"tray\": \"t\"}", 9, 300); /* not signed by the tray */
	lead_seats_hear(&l, &lr, &p, 300);
	says_number(&v, &log, 8, NOW, 400); /* an old copy */
	view_tray(&v, "t")->mod++;
	lead_seats_hear(&l, &lr, &p, 400);
	says_number(&v, &log, 10, NOW - DAY, 500); /* signed long ago */
	lead_seats_hear(&l, &lr, &p, 500);
	enrolled_by(&v, 3, NULL, 1U << ALICE, NOW); /* an enrolment that cannot be judged */
	says_number(&v, &log, 11, NOW, 600);
	lead_seats_hear(&l, &lr, &p, 600);
	assert_int_equal(lr.seat[0].heard, 1);
	assert_int_equal(lr.seat[0].heard_ns, 200);
	enrolled(&v, 4, &log);
	says_number(&v, &log, 12, NOW, 700);
	lead_seats_hear(&l, &lr, &p, 700);
	assert_int_equal(lr.seat[0].heard, 2);
	free(lr.seat);
	free(p.audience);
	view_done(&v);
	rig_no_keys(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_lay_there_for_long_is_no_news),
		cmocka_unit_test(what_is_not_the_trays_own_word_is_told_and_is_no_sign_of_life),
		cmocka_unit_test(what_nobody_can_judge_is_no_health_and_no_word),
		cmocka_unit_test(what_was_said_long_ago_is_told_and_is_no_sign_of_life),
		cmocka_unit_test(what_is_no_word_of_a_tray_does_not_pass_a_stage),
		cmocka_unit_test(a_tray_that_is_new_has_said_something_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
