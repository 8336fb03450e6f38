// SPDX-License-Identifier: GPL-2.0-or-later
/* What is known of a fleet's numbers, and how they are reported. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fleet/model/answer.h"
#include "fleet/model/metrics.h"
#include "../test.h"

#define WALL 1795372260 /* a whole minute */
#define SECOND 1000000000ULL
#define NOW (1000 * SECOND)

static json_t *parse(const char *text)
{
	json_error_t e;
	json_t *o = json_loads(text, 0, &e);

	if (!o)
		fail_msg("%s: %s", e.text, text);
	return o;
}

static struct model_tray *add(struct model_set *s, const char *name)
{
	struct model_tray *t = model_tray_add(s, name, strlen(name));

	assert_non_null(t);
	t->seen = t->alive = true;
	t->heard_ns = NOW - SECOND;
	return t;
}

static void take_top(struct model_set *s, struct model_tray *t, double pass, uint64_t sum,
		     const char *state, int64_t wall_s)
{
	char text[1024];
	json_t *o;

	snprintf(
		text, sizeof(text),
		"{\"kind\": \"top\", \"passed_bits_per_second\": %f, \"dropped_bits_per_second\": 8, \"passed_bytes\": %llu, \"dropped_bytes\": 10, \"switch\": \"running\", \"peers\": [{\"peer\": \"log\", \"state\": \"%s\", \"passed_bits_per_second\": %f, \"rate_bits_per_second\": 1000, \"dropped_bits_per_second\": 8, \"left\": null}]}",
		pass, (unsigned long long)sum, state, pass);
	o = parse(text);
	assert_int_equal(model_take_top(s, t, o, wall_s), 0);
	json_decref(o);
}

static struct model_asked all(const struct model_set *s)
{
	return (struct model_asked){ .set = s, .fleet = "hall", .now_ns = NOW, .wall_s = WALL };
}

static void say(struct model_set *s, struct model_tray *t, const char *status)
{
	model_take_status(s, t, &(struct status_now){ NOW, WALL }, status, strlen(status));
}

static double number(const json_t *o, const char *list, size_t i, const char *key)
{
	return json_number_value(json_object_get(json_array_get(json_object_get(o, list), i), key));
}

static const char *text(const json_t *o, const char *list, size_t i, const char *key)
{
	return json_string_value(json_object_get(json_array_get(json_object_get(o, list), i), key));
}

static void peers_of_one_name_are_added_up_and_the_worst_state_is_said(void **state)
{
	struct model_set s = { 0 };
	struct model_tray *a = add(&s, "b"), *b = add(&s, "a");
	struct model_asked q = all(&s);
	json_t *o;

	(void)state;
	take_top(&s, a, 100, 1, "live", WALL);
	take_top(&s, b, 200, 1, "revoked", WALL);
	o = model_top(&q);
	assert_int_equal(json_array_size(json_object_get(o, "peers")), 1);
	assert_true(number(o, "peers", 0, "passed_bits_per_second") == 300);
	assert_true(number(o, "peers", 0, "rate_bits_per_second") == 2000);
	assert_string_equal(text(o, "peers", 0, "state"), "revoked");
	json_decref(o);
	q.choice.tray = "b";
	o = model_top(&q);
	assert_true(number(o, "peers", 0, "passed_bits_per_second") == 100);
	json_decref(o);
	model_set_done(&s);
}

static void what_a_silent_tray_said_last_is_not_what_passes_now(void **state)
{
	struct model_set s = { 0 };
	struct model_tray *a = add(&s, "a"), *b = add(&s, "b");
	struct model_asked q = all(&s);
	json_t *o;

	(void)state;
	take_top(&s, a, 100, 1, "live", WALL);
	take_top(&s, b, 200, 1, "live", WALL);
	a->label[a->nlabels++] = b->label[b->nlabels++] = model_name_of(&s.names, "rack=1",
									&a->names_left);
	for (unsigned i = 0; i < 2; i++) {
		double sum = i ? 100 : 300;

		o = model_top(&q);
		assert_true(json_number_value(json_object_get(o, "passed_bits_per_second")) == sum);
		assert_true(number(o, "peers", 0, "passed_bits_per_second") == sum);
		assert_true(number(o, "peers", 0, "rate_bits_per_second") == 2000);
		json_decref(o);
		o = model_status(&q);
		assert_string_equal(text(o, "sums", 0, "group_kind"), "fleet");
		assert_true(number(o, "sums", 0, "passed_bits_per_second") == sum);
		assert_true(number(o, "sums", 0, "dropped_bits_per_second") == (i ? 8 : 16));
		assert_string_equal(text(o, "sums", 1, "group"), "rack=1");
		assert_true(number(o, "sums", 1, "passed_bits_per_second") == sum);
		assert_int_equal(json_integer_value(json_object_get(o, "heard_count")), 2 - i);
		json_decref(o);
		b->heard_ns = NOW - MODEL_OLD_NS;
	}
	model_set_done(&s);
}

static void minutes_hold_what_was_sent_in_them_over_a_new_attach(void **state)
{
	struct model_set s = { 0 };
	struct model_tray *t = add(&s, "a");
	struct model_asked q = all(&s);
	json_t *o;

	(void)state;
	take_top(&s, t, 1, 1000, "live", WALL - 120); /* the first look counts nothing */
	take_top(&s, t, 1, 1500, "live", WALL - 90);
	take_top(&s, t, 1, 1700, "live", WALL - 61);
	take_top(&s, t, 1, 40, "live", WALL - 1); /* attached anew */
	o = model_history(&q);
	assert_int_equal(json_array_size(json_object_get(o, "points")), 60);
	assert_true(number(o, "points", 57, "sent_bytes") == 700);
	assert_true(number(o, "points", 58, "sent_bytes") == 40);
	assert_true(number(o, "points", 59, "sent_bytes") == 0);
	json_decref(o);
	/* An hour later they are gone. */
	q.wall_s += 3600;
	o = model_history(&q);
	for (size_t i = 0; i < 60; i++)
		assert_true(number(o, "points", i, "sent_bytes") == 0);
	json_decref(o);
	model_set_done(&s);
}

static void exfil(struct model_set *s, struct model_tray *t, double bytes_a_second)
{
	json_t *o = json_pack("{s:s, s:f, s:f, s:i, s:i, s:i, s:s}", "kind", "exfil",
			      "long_run_bits_per_second", bytes_a_second * 8, "at_once_bytes", 0.0,
			      "exit_count", 1, "contained_count", 0, "unlimited_count", 0,
			      "binding", "zone x");
	json_t *curve = json_array();

	for (unsigned i = 0; i < BWL_EXFIL_POINTS; i++)
		json_array_append_new(curve, json_real(bytes_a_second * bwl_exfil_moment_s(i)));
	json_object_set_new(o, "curve_bytes", curve);
	assert_int_equal(model_take_exfil(s, t, o), 0);
	json_decref(o);
}

static void a_theft_through_all_doors_takes_what_their_sum_needs(void **state)
{
	struct model_set s = { 0 };
	struct model_tray *t[10];
	struct model_asked q = all(&s);
	struct bwl_err e = { 0 };
	char name[8];
	double least;
	json_t *o, *curve;

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		t[i] = add(&s, name);
		exfil(&s, t[i], i < 9 ? 1e6 : 91e6); /* 100 MB/s in all */
	}
	assert_ptr_equal(t[0]->curve, t[1]->curve);
	assert_int_equal(t[0]->curve->users, 9);
	o = model_exfil(&q, "1tb", NULL, &e);
	least = json_number_value(json_object_get(o, "least_s"));
	assert_true(least <= 1099511627776.0 / 100e6 && least > 1099511627776.0 / 100e6 / 1.1);
	assert_non_null(
		strstr(json_string_value(json_object_get(o, "binding")), "tray t9: zone x"));
	assert_int_equal(json_integer_value(json_object_get(o, "tray_count")), 10);
	curve = json_object_get(o, "curve_bytes");
	assert_int_equal(json_array_size(curve), BWL_EXFIL_POINTS);
	for (size_t i = 0; i < BWL_EXFIL_POINTS; i++)
		assert_true(fabs(json_number_value(json_array_get(curve, i)) /
					 (100e6 * bwl_exfil_moment_s((unsigned)i)) -
				 1) < 1e-9);
	json_decref(o);
	o = model_exfil(&q, "1tb", "10", &e);
	assert_true(json_number_value(json_object_get(o, "least_s")) < least / 9);
	json_decref(o);
	assert_null(model_exfil(&q, "-1", NULL, &e));
	assert_null(model_exfil(&q, "1tb", "nan", &e));
	exfil(&s, t[0], 2e6);
	assert_int_equal(t[1]->curve->users, 8);
	model_set_done(&s);
}

static void a_tray_of_which_nothing_is_known_is_told_and_nothing_is_never(void **state)
{
	struct model_set s = { 0 };
	struct model_asked q = all(&s);
	struct bwl_err e = { 0 };
	json_t *o;

	(void)state;
	o = model_exfil(&q, "1tb", NULL, &e);
	assert_true(json_is_null(json_object_get(o, "curve_bytes")));
	json_decref(o);
	exfil(&s, add(&s, "a"), 0);
	o = model_exfil(&q, "1tb", NULL, &e);
	assert_true(json_is_true(json_object_get(o, "never")));
	json_decref(o);
	add(&s, "b");
	o = model_exfil(&q, "1tb", NULL, &e);
	assert_true(json_is_false(json_object_get(o, "never")));
	assert_int_equal(json_integer_value(json_object_get(o, "tray_count")), 1);
	assert_non_null(strstr(json_string_value(json_array_get(json_object_get(o, "warnings"), 0)),
			       "nothing is known"));
	json_decref(o);
	model_set_done(&s);
}

/* Whatever a tray sends is refused or stays within bounds. */
static void nothing_that_a_tray_says_takes_more_than_its_place(void **state)
{
	static const char *const bad[] = {
		"{}",
		"[]",
		"{\"kind\": \"top\"}",
		"{\"kind\": \"top\", \"peers\": 1}",
		"{\"kind\": \"top\", \"peers\": [1, null, {\"peer\": 7, \"state\": {}}], \"passed_bits_per_second\": -1e300, \"passed_bytes\": 1e300}",
		"{\"kind\": \"usage\", \"volumes\": [{\"limit_key\": null, \"used_bytes\": -5}]}",
		"{\"kind\": \"reasons\", \"reasons\": [{\"reason\": \"of the future\", \"frames\": 3}]}",
		"{\"kind\": \"exfil\", \"curve_bytes\": []}",
	};
	struct model_set s = { 0 };
	struct model_tray *t = add(&s, "a");
	struct model_asked q = all(&s);
	json_t *many = json_array(), *o;
	char name[32], *metrics;
	size_t len;
	FILE *f;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		o = parse(bad[i]);
		model_take_top(&s, t, o, WALL);
		model_take_usage(&s, t, o);
		model_take_reasons(t, o);
		model_take_exfil(&s, t, o);
		json_decref(o);
	}
	say(&s, t, "{\"tray\": \"a\", \"policy\": [], \"alarms\": 7}");
	say(&s, t, "nothing");
	model_take_cosigned(t, "\n\xe2\x80\x94 nobody AAAA", 17);
	assert_int_equal(t->cosigned_s, 0);
	/* A hundred thousand names, all different. */
	for (unsigned i = 0; i < 100; i++) {
		json_array_clear(many);
		for (unsigned k = 0; k < 1000; k++) {
			snprintf(name, sizeof(name), "zone %u\n\"\\-%u", i, k);
			json_array_append_new(many, json_pack("{s:s}", "limit_key", name));
		}
		o = json_pack("{s:s, s:O}", "kind", "usage", "volumes", many);
		assert_int_equal(model_take_usage(&s, t, o), 0);
		json_decref(o);
	}
	assert_int_equal(t->nvolumes, MODEL_VOLUMES);
	assert_true(s.names.n <= MODEL_NAMES_A_TRAY + 1);
	f = open_memstream(&metrics, &len);
	model_metrics(f, &q);
	fclose(f);
	assert_true(len < 100000);
	free(metrics);
	json_decref(many);
	json_decref(model_status(&q));
	json_decref(model_usage(&q));
	json_decref(model_reasons(&q));
	model_set_done(&s);
}

/* Of all trays, by hook; a tray of a version without them counts as none. */
static void merged_frames_are_added_up_beside_the_reasons(void **state)
{
	static const char *const says[] = {
		"{\"kind\": \"reasons\", \"reasons\": [{\"reason\": \"pass\", \"hook\": \"ingress\", \"frames\": 5, \"bytes\": 500, \"charged_bytes\": 700}], \"merged\": [{\"port\": \"hpf0\", \"hook\": \"ingress\", \"frames\": 2, \"bytes\": 132}, {\"port\": \"p0\", \"hook\": \"gate\", \"frames\": 3, \"bytes\": 0}]}",
		"{\"kind\": \"reasons\", \"reasons\": [], \"merged\": [{\"port\": \"hpf0\", \"hook\": \"ingress\", \"frames\": 4, \"bytes\": 264}, {\"port\": \"hpf1\", \"hook\": \"ingress\", \"frames\": 1, \"bytes\": 66}]}",
		"{\"kind\": \"reasons\", \"reasons\": []}",
	};
	static const char *const names[] = { "a", "b", "c" };
	json_t *o, *want, *got;
	struct model_set s = { 0 };
	struct model_asked q;

	(void)state;
	for (size_t i = 0; i < sizeof(says) / sizeof(*says); i++) {
		o = parse(says[i]);
		assert_int_equal(model_take_reasons(add(&s, names[i]), o), 0);
		json_decref(o);
	}
	q = all(&s);
	got = model_reasons(&q);
	want = parse(
		"[{\"port\": null, \"hook\": \"ingress\", \"frames\": 7, \"bytes\": 462}, {\"port\": null, \"hook\": \"gate\", \"frames\": 3, \"bytes\": 0}]");
	assert_true(json_equal(json_object_get(got, "merged"), want));
	assert_int_equal(json_array_size(json_object_get(got, "reasons")), 1);
	json_decref(want);
	json_decref(got);
	model_set_done(&s);
}

static void trays_that_the_store_has_no_more_go(void **state)
{
	struct model_set s = { 0 };
	char name[16];

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "t%u", i * 7919 % 1000);
		add(&s, name)->seen = i % 3 == 0;
	}
	for (size_t i = 1; i < s.n; i++)
		assert_true(strcmp(s.tray[i - 1]->name, s.tray[i]->name) < 0);
	s.tray[1]->busy = true;
	model_sweep(&s);
	assert_in_range(s.n, 334, 335);
	add(&s, "zz");
	assert_non_null(model_tray(&s, "zz", 2));
	assert_null(model_tray(&s, "z", 1));
	model_set_done(&s);
}

static void sums_are_of_labels_and_zones_with_the_worst_tray(void **state)
{
	struct model_set s = { 0 };
	struct model_asked q = all(&s);
	json_t *o, *rows;
	bool label = false, zone = false;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		char name[8], text_[256];
		struct model_tray *t;

		snprintf(name, sizeof(name), "t%u", i);
		t = add(&s, name);
		t->label[t->nlabels++] = model_name_of(&s.names, i % 2 ? "rack=1" : "rack=0",
						       &t->names_left);
		take_top(&s, t, 100, 1, "live", WALL);
		snprintf(
			text_, sizeof(text_),
			"{\"kind\": \"usage\", \"volumes\": [{\"limit_key\": \"zone external\", \"used_bytes\": %u, \"volume_bytes\": 100, \"window_s\": 60, \"ledger_state\": \"released\"}]}",
			i * 10);
		o = parse(text_);
		model_take_usage(&s, t, o);
		json_decref(o);
	}
	o = model_status(&q);
	rows = json_object_get(o, "sums");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const char *kind = text(o, "sums", i, "group_kind"),
			   *group = text(o, "sums", i, "group");

		if (!strcmp(kind, "label") && !strcmp(group, "rack=1")) {
			label = true;
			assert_true(number(o, "sums", i, "passed_bits_per_second") == 200);
		}
		if (!strcmp(kind, "zone") && !strcmp(group, "external")) {
			zone = true;
			assert_true(number(o, "sums", i, "used_bytes") == 60);
			assert_string_equal(text(o, "sums", i, "worst_tray"), "t3");
		}
	}
	assert_true(label && zone);
	json_decref(o);
	model_set_done(&s);
}

/* Four of 1000 trays have the previous version. A tray with another policy is not late. */
static void who_is_late_is_counted_over_the_fleet_and_comes_after_whatever_is_worse(void **state)
{
	struct model_set s = { 0 };
	struct model_asked q = all(&s);
	json_t *o;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		char name[16], status[256];

		snprintf(name, sizeof(name), "t%03u", i);
		snprintf(
			status, sizeof(status),
			"{\"tray\": \"%s\", \"policy\": {\"name\": \"%s\", \"version\": %u, \"sha256\": \"%064u\"}, \"fresh\": true, \"closed_count\": %u}",
			name, i == 7 ? "other" : "base",
			i == 7         ? 2
			: i % 250 == 9 ? 41
				       : 42,
			0, i == 500);
		say(&s, add(&s, name), status);
	}
	q.page = (struct model_page){ .limit = 6, .sort = MODEL_BY_WORST };
	o = model_status(&q);
	assert_int_equal(json_integer_value(json_object_get(o, "late_count")), 4);
	assert_int_equal(json_array_size(json_object_get(o, "policies")), 3);
	assert_true(number(o, "policies", 0, "policy_version") == 42);
	assert_true(number(o, "policies", 0, "tray_count") == 995);
	assert_true(number(o, "policies", 1, "policy_version") == 41);
	assert_true(number(o, "policies", 1, "tray_count") == 4);
	assert_string_equal(text(o, "trays", 0, "tray"), "t500");
	for (size_t i = 1; i < 5; i++)
		assert_true(json_is_true(
			json_object_get(json_array_get(json_object_get(o, "trays"), i), "late")));
	assert_string_equal(text(o, "trays", 1, "tray"), "t009");
	assert_string_equal(text(o, "trays", 5, "tray"), "t000");
	json_decref(o);
	/* Asked about alone, the tray is still late. */
	q.choice.tray = "t259";
	o = model_status(&q);
	assert_int_equal(json_integer_value(json_object_get(o, "late_count")), 1);
	assert_int_equal(json_array_size(json_object_get(o, "policies")), 1);
	json_decref(o);
	model_set_done(&s);
}

static void what_is_closed_is_told_with_since_when_and_what_opens_it(void **state)
{
	struct model_set s = { 0 };
	struct model_tray *a = add(&s, "a"), *b = add(&s, "b"), *c = add(&s, "c");
	struct model_asked q = all(&s);
	json_t *o;

	(void)state;
	say(&s, a,
	    "{\"tray\": \"a\", \"policy\": {\"name\": \"base\", \"version\": 4, \"sha256\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}, \"closed\": [\"log\", \"web\"], \"closed_count\": 5, \"alarms\": [], \"closed_since\": {\"closed\": [1795372000, 0], \"stopped\": 0, \"clamped\": 0}, \"missing\": [\"revocation/r1\", \"root/root\"]}");
	say(&s, b,
	    "{\"tray\": \"b\", \"closed\": [\"x; reboot\"], \"closed_count\": 1, \"alarms\": [\"stopped\", \"colour\"], \"closed_since\": {\"closed\": [1795372100], \"stopped\": 1795371000}, \"missing\": [\"revocation/r1\"], \"refused\": {\"grant/g\": {\"version\": 1}}}");
	say(&s, c, "{\"tray\": \"c\", \"closed\": [], \"closed_count\": 0, \"alarms\": []}");
	o = model_closures(&q);
	assert_int_equal(json_integer_value(json_object_get(o, "closure_count")), 5);
	/* A whole tray comes first, then the newest closure. */
	assert_string_equal(text(o, "closures", 0, "closure"), "stopped");
	assert_string_equal(text(o, "closures", 0, "tray"), "b");
	assert_string_equal(text(o, "closures", 0, "closed_at"), "2026-11-22T18:10:00Z");
	assert_non_null(strstr(text(o, "closures", 0, "todo"),
			       "bwlimit-ctl policy sign b.yaml --key YOUR.pem --fleet hall"));
	assert_non_null(strstr(text(o, "closures", 0, "todo"), "--lifts stop"));
	/* No command is suggested if a shell could act on the name. */
	assert_string_equal(text(o, "closures", 1, "peer"), "x; reboot");
	assert_null(text(o, "closures", 1, "todo"));
	assert_string_equal(text(o, "closures", 2, "peer"), "log");
	assert_string_equal(text(o, "closures", 2, "closed_at"), "2026-11-22T18:26:40Z");
	assert_non_null(strstr(text(o, "closures", 2, "todo"),
			       "--audience tray:a --name base --number 5 --for 30d --opens log"));
	assert_null(text(o, "closures", 3, "closed_at"));
	assert_null(text(o, "closures", 4, "peer")); /* three more, without names */
	/* Documents that some trays lack. */
	assert_string_equal(text(o, "unacknowledged", 0, "document"), "revocation/r1");
	assert_string_equal(text(o, "unacknowledged", 0, "lack"), "missing");
	assert_true(number(o, "unacknowledged", 0, "tray_count") == 2);
	assert_int_equal(json_array_size(json_object_get(o, "unacknowledged")), 3);
	json_decref(o);
	q.choice.tray = "c";
	o = model_closures(&q);
	assert_int_equal(json_array_size(json_object_get(o, "closures")), 0);
	assert_int_equal(json_array_size(json_object_get(o, "unacknowledged")), 0);
	json_decref(o);
	/* After an invalid status nothing more is known of the tray's closures. */
	q.choice.tray = "a";
	say(&s, a, "nothing");
	o = model_closures(&q);
	assert_int_equal(json_array_size(json_object_get(o, "closures")), 0);
	json_decref(o);
	model_set_done(&s);
}

static void certificates_that_end_soon_are_counted_and_the_first_is_named(void **state)
{
	struct model_set s = { 0 };
	struct model_tray *a = add(&s, "a"), *b = add(&s, "b"), *c = add(&s, "c");
	struct model_asked q = all(&s);
	json_t *o;

	(void)state;
	(void)c; /* nothing is known of it */
	a->cert_end_s = WALL + 29 * 86400;
	b->cert_end_s = WALL + 31 * 86400;
	o = model_status(&q);
	assert_int_equal(json_integer_value(json_object_get(o, "ending_certificate_count")), 1);
	assert_string_equal(json_string_value(json_object_get(o, "first_certificate_tray")), "a");
	assert_true(json_number_value(json_object_get(o, "first_certificate_ends_in_s")) ==
		    29 * 86400);
	assert_true(number(o, "trays", 1, "certificate_ends_in_s") == 31 * 86400);
	assert_true(json_is_null(json_object_get(json_array_get(json_object_get(o, "trays"), 2),
						 "certificate_ends_in_s")));
	json_decref(o);
	b->cert_end_s = WALL - 5; /* ended */
	o = model_status(&q);
	assert_int_equal(json_integer_value(json_object_get(o, "ending_certificate_count")), 2);
	assert_string_equal(json_string_value(json_object_get(o, "first_certificate_tray")), "b");
	json_decref(o);
	model_set_done(&s);
}

static void of_ten_thousand_closures_the_list_is_short_and_the_count_is_not(void **state)
{
	struct model_set s = { 0 };
	struct model_asked q = all(&s);
	char name[16], status[128];
	json_t *o;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "t%05u", i);
		snprintf(
			status, sizeof(status),
			"{\"tray\": \"%s\", \"closed\": [\"log\"], \"closed_count\": 1, \"missing\": [\"revocation/r\"]}",
			name);
		say(&s, add(&s, name), status);
	}
	o = model_closures(&q);
	assert_int_equal(json_integer_value(json_object_get(o, "closure_count")), 10000);
	assert_int_equal(json_array_size(json_object_get(o, "closures")), 256);
	assert_true(number(o, "unacknowledged", 0, "tray_count") == 10000);
	assert_int_equal(json_array_size(json_object_get(
				 json_array_get(json_object_get(o, "unacknowledged"), 0),
				 "tray_names")),
			 8);
	json_decref(o);
	model_set_done(&s);
}

/* A tray whose status is in doubt is marked so, counts as an alarm, and is not fresh. */
static void whose_status_nobody_can_judge_or_comes_late_is_no_word_of_now(void **state)
{
	static const char said[] =
		"{\"tray\": \"a\", \"fresh\": true, \"closed_count\": 3, \"closed\": [\"log\"]}";
	struct model_set s = { 0 };
	struct model_tray *t = add(&s, "a");
	struct model_asked q = all(&s);
	char *metrics;
	size_t len;
	FILE *f;

	(void)state;
	t->status_mod = 1;
	say(&s, t, said);
	for (unsigned i = 0; i < 4; i++) {
		json_t *o, *row;

		if (i == 1) { /* a signed status, and nothing has come since */
			t->by.named = true;
			t->last = (struct status_last){ .number = 1,
							.said_s = WALL - STATUS_LATE_S - 1 };
		} else if (i == 2) { /* the tray is off: no alarm because of its status */
			t->alive = false;
		} else if (i == 3) {
			t->alive = true;
			status_signer_unjudged("the root has ended", &t->by);
			say(&s, t, said);
		}
		o = model_status(&q);
		row = json_array_get(json_object_get(o, "trays"), 0);
		assert_string_equal(json_string_value(json_object_get(row, "status_signature")),
				    i == 0   ? "unsigned"
				    : i == 3 ? "unjudged"
					     : "late");
		assert_int_equal(json_is_null(json_object_get(row, "fresh")), i != 0);
		assert_int_equal(json_is_null(json_object_get(row, "closed_count")), i == 3);
		assert_int_equal(json_integer_value(json_object_get(row, "alarm_count")),
				 i == 1 || i == 3);
		if (i == 3)
			assert_non_null(strstr(json_string_value(json_object_get(row, "why")),
					       "the root has ended: enrol it anew"));
		json_decref(o);
		f = open_memstream(&metrics, &len);
		model_metrics(f, &q);
		fclose(f);
		assert_int_equal(!!strstr(metrics, "bwlimit_tray_status_refused{tray=\"a\"} 1\n"),
				 i == 1 || i == 3);
		free(metrics);
	}
	assert_int_equal(t->nclosed, 0);
	model_set_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peers_of_one_name_are_added_up_and_the_worst_state_is_said),
		cmocka_unit_test(what_a_silent_tray_said_last_is_not_what_passes_now),
		cmocka_unit_test(minutes_hold_what_was_sent_in_them_over_a_new_attach),
		cmocka_unit_test(a_theft_through_all_doors_takes_what_their_sum_needs),
		cmocka_unit_test(a_tray_of_which_nothing_is_known_is_told_and_nothing_is_never),
		cmocka_unit_test(nothing_that_a_tray_says_takes_more_than_its_place),
		cmocka_unit_test(merged_frames_are_added_up_beside_the_reasons),
		cmocka_unit_test(trays_that_the_store_has_no_more_go),
		cmocka_unit_test(sums_are_of_labels_and_zones_with_the_worst_tray),
		cmocka_unit_test(
			who_is_late_is_counted_over_the_fleet_and_comes_after_whatever_is_worse),
		cmocka_unit_test(what_is_closed_is_told_with_since_when_and_what_opens_it),
		cmocka_unit_test(whose_status_nobody_can_judge_or_comes_late_is_no_word_of_now),
		cmocka_unit_test(certificates_that_end_soon_are_counted_and_the_first_is_named),
		cmocka_unit_test(of_ten_thousand_closures_the_list_is_short_and_the_count_is_not),
	};

	printf("# %zu bytes a tray\n", sizeof(struct model_tray));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
