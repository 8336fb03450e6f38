// SPDX-License-Identifier: GPL-2.0-or-later
/* Statuses of trays, read as untrusted input; and which trays a leader knows. */
#include <string.h>
#include "../signed/rig.h"
#include "signed/closing.h"
#include "lead_rollout.h"
#include "signed/said/said.h"
#include "view.h"

static struct bwl_etcd_kv kv(const char *value, int64_t mod)
{
	return (struct bwl_etcd_kv){ .value = bwl_pb_in(value, strlen(value)), .mod = mod };
}

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

	snprintf(text, sizeof(text),
		 "{\"tray\": \"t\", \"number\": %u, \"said_at\": %lld, \"closed_count\": %u, "
		 "\"policy\": {\"name\": \"p\", \"version\": 1, \"sha256\": \"%064u\"}}",
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

static void lies(struct view *v, enum bwl_doc_kind kind, const char *text)
{
	struct bwl_doc_at place = { .kind = kind, .name = "it" };
	struct bwl_etcd_kv at = kv(text, 1);

	view_document(v, "", &place, &at, NOW);
}

static void is_there(struct view *v, enum bwl_signed_type type, json_t *body, unsigned who)
{
	BWL_AUTO_FREE char *text = rig_sign(type, "hall-3", "all", body, who);

	lies(v, type == BWL_SIGNED_EXPULSION ? BWL_DOC_expulsion : BWL_DOC_revocation, text);
}

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
	for (unsigned i = 0; i < VIEW_TRAYS_MOST + 2; i++) {
		snprintf(name, sizeof(name), "t-%05u", i);
		view_said(&v, name, "alive", &kv, &now);
	}
	assert_int_equal(told_trays, 1);
	for (unsigned i = 0; i < VIEW_PARTS_MOST + 2; i++)
		view_document(&v, "", &at, &kv, NOW);
	assert_int_equal(told_closing, 1);
	for (unsigned i = 0; i < VIEW_CLOSING_MOST + 2; i++)
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
	for (unsigned i = 0; i < VIEW_CLOSING_MOST + 30; i++)
		revoked(&v, "flood", i, 1000 + i, 1U << ALICE);
	assert_int_equal(v.nclosing, VIEW_CLOSING_MOST);
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
		   strstr(why->text, "of alice");
}

static void what_is_too_much_to_keep_is_told_and_is_of_who_said_most(void **state)
{
	struct view v = { .trouble = hear_no_room };

	rig_keys(state);
	v.root = rig_root();
	no_room = 0;
	revoked(&v, "bobs", 0, 0, 1U << BOB);
	for (unsigned i = 0; i < VIEW_CLOSING_MOST - 1; i++)
		revoked(&v, "flood", i, 1000 + i, 1U << ALICE);
	assert_int_equal(no_room, 0);
	for (unsigned i = 0; i < 3; i++)
		revoked(&v, "more", i, 2 + i, 1U << ALICE);
	assert_int_equal(no_room, 1); /* once per read */
	assert_int_equal(v.nclosing, VIEW_CLOSING_MOST);
	assert_int_equal(named_of(&v, "bobs", NULL), 1);
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
		cmocka_unit_test(what_closes_is_named_until_it_ends_whatever_the_store_has),
		cmocka_unit_test(one_that_says_something_else_takes_nobodys_place_and_is_told),
		cmocka_unit_test(no_epoch_but_that_of_all_ends_what_is_named),
		cmocka_unit_test(what_a_new_root_does_not_judge_good_is_named_no_more),
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
