// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Envelopes and roots: whose signatures count, for which documents, for how long, and that no byte
 * can be changed.
 */
#include <errno.h>
#include "dsse.h"

/* Is a document of that type taken if these signed it? If not, the error has this id. */
static void expect(enum bwl_signed_type type, unsigned who, const char *id, int enough)
{
	char *text = rig_sign(type, "hall-3", "tray:tray-7", rig_body(type, 1), who);
	struct bwl_signed d;
	struct bwl_err e;
	int r = open_as(text, &tray, NOW, &d, &e);

	if (!id && r)
		fail_msg("%s signed by %x: %s", bwl_signed_word(type), who, e.text);
	if (id && !r)
		fail_msg("%s signed by %x was taken", bwl_signed_word(type), who);
	if (id)
		assert_string_equal(e.id, id);
	else
		assert_int_equal(d.enough, enough);
	bwl_signed_free(&d);
	free(text);
}

static void each_type_needs_the_people_of_its_role(void **state)
{
	const char *no = "signed-untrusted";

	(void)state;
	for (enum bwl_signed_type t = BWL_SIGNED_POLICY; t < _BWL_SIGNED_MAX; t++) {
		bool online = bwl_signed_role(t) == BWL_ROLE_ONLINE;
		bool one = t != BWL_SIGNED_ENROLMENT && !online;

		expect(t, 0, no, 0);
		expect(t, 1U << MALLORY, no, 0);
		expect(t, 1U << CONTROLLER, online ? NULL : no, 1);
		expect(t, 1U << ALICE, one ? NULL : no, 0);
		expect(t, 1U << ALICE | 1U << MALLORY | 1U << CONTROLLER, one || online ? NULL : no,
		       online);
		expect(t, 1U << ALICE | 1U << CAROL, online ? no : NULL, 1);
	}
}

static void two_keys_of_one_owner_are_one_person(void **state)
{
	struct rig_root w = rig_root_1;
	json_t *body = rig_root_body(&w), *keys = json_object_get(body, "keys");
	struct bwl_root *root = NULL;
	struct bwl_signed d;
	struct bwl_err e = { 0 };
	char *text;

	(void)state;
	json_object_set_new(json_object_get(keys, rig_id(BOB)), "owner", json_string("alice"));
	text = rig_sign(BWL_SIGNED_ROOT, "hall-3", "all", body, 1U << ALICE | 1U << BOB);
	assert_int_not_equal(bwl_root_first(text, strlen(text), &root, &e), 0);
	assert_string_equal(e.id, "signed-untrusted");
	free(text);

	body = rig_root_body(&w);
	keys = json_object_get(body, "keys");
	json_object_set_new(json_object_get(keys, rig_id(BOB)), "owner", json_string("alice"));
	text = rig_sign(BWL_SIGNED_ROOT, "hall-3", "all", body, PEOPLE);
	assert_int_equal(bwl_root_first(text, strlen(text), &root, &e), 0);
	free(text);
	text = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", rig_body(BWL_SIGNED_POLICY, 1),
			1U << ALICE | 1U << BOB);
	assert_int_equal(bwl_signed_open(text, strlen(text), root, &tray, NOW, &d, &e), 0);
	assert_int_equal(d.people, 1);
	assert_false(d.enough);
	bwl_signed_free(&d);
	bwl_root_free(root);
	free(text);
}

static void a_document_is_for_its_fleet_and_its_trays_alone(void **state)
{
	static const struct {
		const char *fleet, *audience;
		bool mine;
	} row[] = {
		{ "hall-3", "all", true },
		{ "hall-3", "tray:tray-7", true },
		{ "hall-3", "tray:tray-70", false },
		{ "hall-3", "tray:tray-", false },
		{ "hall-3", "label:rack=3", true },
		{ "hall-3", "label:rack=33", false },
		{ "hall-3", "tray:a,label:rack=3,tray:b", true },
		{ "hall-4", "all", false },
		{ "hall-4", "tray:tray-7", false },
	};
	struct bwl_signed d;
	struct bwl_err e;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char *text = rig_sign(BWL_SIGNED_POLICY, row[i].fleet, row[i].audience,
				      rig_body(BWL_SIGNED_POLICY, 1), PEOPLE);
		int r = open_as(text, &tray, NOW, &d, &e);

		assert_int_equal(!r, row[i].mine);
		if (r)
			assert_string_equal(e.id, "signed-audience");
		bwl_signed_free(&d);
		free(text);
	}
}

static void a_document_lives_from_issue_to_end(void **state)
{
	char *text = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", rig_body(BWL_SIGNED_POLICY, 1),
			      PEOPLE);
	struct bwl_signed d;
	struct bwl_err e;

	(void)state;
	assert_int_equal(open_as(text, &tray, NOW + DAY - 1, &d, &e), 0);
	bwl_signed_free(&d);
	assert_int_not_equal(open_as(text, &tray, NOW + DAY, &d, &e), 0);
	assert_string_equal(e.id, "signed-expired");
	assert_int_equal(open_as(text, &tray, NOW - 120, &d, &e), 0); /* clocks may differ */
	bwl_signed_free(&d);
	assert_int_not_equal(open_as(text, &tray, NOW - 121, &d, &e), 0);
	assert_string_equal(e.id, "signed-early");
	assert_non_null(strstr(e.text, "in 61 s"));
	free(text);
}

static void under_an_ended_root_one_closes_and_opens_nothing(void **state)
{
	struct rig_root w = rig_root_1;
	struct bwl_root *root = NULL;
	struct bwl_signed d;
	struct bwl_err e = { 0 };
	char *text;

	(void)state;
	w.not_after_s = NOW - 1;
	text = rig_root_text(&w, PEOPLE);
	assert_int_equal(bwl_root_first(text, strlen(text), &root, &e), 0);
	free(text);
	for (enum bwl_signed_type t = BWL_SIGNED_POLICY; t < _BWL_SIGNED_MAX; t++) {
		bool online = bwl_signed_role(t) == BWL_ROLE_ONLINE;
		bool closes = !online && t != BWL_SIGNED_ENROLMENT;

		text = rig_sign(t, "hall-3", "all", rig_body(t, 1),
				online ? 1U << CONTROLLER : PEOPLE);
		assert_int_equal(!bwl_signed_open(text, strlen(text), root, NULL, NOW, &d, &e),
				 closes);
		assert_false(d.enough);
		bwl_signed_free(&d);
		free(text);
	}
	bwl_root_free(root);
}

/* Every byte of what is signed, one after another. The second form: that of bwlimit 0.3.0. */
static void no_byte_can_be_changed(void **state)
{
	const unsigned both = 1U << ALICE | 1U << BOB;
	char *text[] = {
		rig_sign(BWL_SIGNED_GRANT, "hall-3", "tray:tray-7", rig_body(BWL_SIGNED_GRANT, 1),
			 both),
		rig_sign(BWL_SIGNED_POLICY, "hall-3", "tray:tray-7", rig_body(BWL_SIGNED_POLICY, 1),
			 both),
		dsse_sign(BWL_SIGNED_GRANT, "hall-3", "tray:tray-7", rig_body(BWL_SIGNED_GRANT, 1),
			  both),
	};
	struct bwl_root *root = rig_root();
	struct bwl_signed d;
	struct bwl_err e;

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		char *t = text[k];
		size_t len = strlen(t), from, end;

		from = k < 2 ? (size_t)(strstr(t, "\ntype: ") + 1 - t) : 0;
		end = k < 2 ? len : (size_t)(strstr(t, "\"signatures\"") - t);
		assert_int_equal(bwl_signed_open(t, len, root, &tray, NOW, &d, &e), 0);
		assert_true(d.enough);
		bwl_signed_free(&d);
		for (size_t i = 0; i < end; i++) {
			char was = t[i];

			if (i == strlen("bwlimit-document: 2\n") && i < from)
				i = from; /* signatures */
			was = t[i];
			for (unsigned bit = 0; bit < 7; bit++) {
				t[i] = (char)(was ^ (char)(1U << bit));
				if (!bwl_signed_open(t, len, root, &tray, NOW, &d, &e))
					fail_msg("%u: byte %zu as '%c' is taken", k, i, t[i]);
			}
			t[i] = was;
		}
		/* nor left out, nor added; one newline at the end is none of the document */
		for (size_t n = from; n < len; n++)
			if (!bwl_signed_open(t, n, root, &tray, NOW, &d, &e))
				fail_msg("%u: cut off after %zu of %zu it is taken", k, n, len);
		free(t);
	}
	bwl_root_free(root);
}

static void every_document_has_its_serial_number_and_its_moment(void **state)
{
	json_t *body = rig_body(BWL_SIGNED_POLICY, 1);
	struct bwl_signed d[3];
	uint64_t serial[2];
	struct bwl_err e;

	(void)state;
	json_object_set_new(body, "issued_at", json_string("2027-01-15T07:59:00.123Z"));
	for (unsigned i = 0; i < 3; i++) {
		char *text = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", json_deep_copy(body),
				      1U << ALICE);

		if (i == 1)
			json_object_set_new(body, "issued_at",
					    json_string("2027-01-15T07:59:00.124Z"));
		assert_int_equal(open_as(text, &tray, NOW, &d[i], &e), 0);
		assert_true(d[i].serial);
		free(text);
	}
	assert_true(d[1].serial != d[2].serial);
	for (unsigned i = 0; i < 2; i++) { /* as tools do: the same content, and another document */
		struct bwl_envelope v;

		assert_int_equal(bwl_envelope_new(BWL_SIGNED_POLICY, "f", "all", body, &v, &e), 0);
		serial[i] = v.serial;
		bwl_envelope_free(&v);
	}
	assert_true(serial[0] && serial[1] && serial[0] != serial[1]);
	assert_int_equal(d[0].terms.issued_s, NOW - 60);
	assert_int_equal(d[0].terms.issued_ms, 123);
	assert_int_equal(bwl_signed_order(&d[0].terms, &d[1].terms), 0);
	assert_true(bwl_signed_order(&d[1].terms, &d[2].terms) < 0);
	assert_true(bwl_signed_order(&d[2].terms, &d[0].terms) > 0);
	d[0].terms.issued_ms = -1; /* it does not say */
	assert_int_equal(bwl_signed_order(&d[0].terms, &d[2].terms), 0);
	assert_int_equal(bwl_signed_order(&d[2].terms, &d[0].terms), 0);
	for (unsigned i = 0; i < 3; i++)
		bwl_signed_free(&d[i]);
	json_decref(body);
}

/* What bwlimit 0.3.0 signed stays valid; nobody signs it any more. */
static void the_first_form_is_read_and_never_written(void **state)
{
	const unsigned both = 1U << ALICE | 1U << BOB;

	(void)state;
	for (enum bwl_signed_type t = BWL_SIGNED_POLICY; t < _BWL_SIGNED_MAX; t++) {
		unsigned who = bwl_signed_role(t) == BWL_ROLE_ONLINE ? 1U << CONTROLLER : both;
		char *text = dsse_sign(t, "hall-3", "all", rig_body(t, 1), who);
		struct bwl_envelope v;
		struct bwl_signed d;
		struct bwl_err e;

		assert_int_equal(open_as(text, &tray, NOW, &d, &e), 0);
		assert_true(d.enough && !d.serial && d.terms.issued_ms == -1);
		bwl_signed_free(&d);
		assert_int_equal(bwl_envelope_parse(text, strlen(text), &v, &e), 0);
		assert_int_equal(bwl_envelope_sign(&v, key[CAROL], &e), -EINVAL);
		assert_non_null(strstr(e.hint, "policy sign"));
		bwl_envelope_free(&v);
		free(text);
	}
}

/* The signatures of one, and what the other says. */
static char *forged_of(const char *signatures, const char *content)
{
	char *ret = NULL;

	assert_true(asprintf(&ret, "%.*s%s", (int)(strstr(signatures, "type: ") - signatures),
			     signatures, strstr(content, "type: ")) > 0);
	return ret;
}

static void a_signature_of_one_type_is_none_of_another(void **state)
{
	char *text = rig_sign(BWL_SIGNED_EXPULSION, "hall-3", "all",
			      rig_body(BWL_SIGNED_EXPULSION, 1), PEOPLE),
	     *other = rig_sign(BWL_SIGNED_REVOCATION, "hall-3", "all",
			       rig_body(BWL_SIGNED_EXPULSION, 1), 0),
	     *forged = forged_of(text, other), *same = forged_of(text, text);
	struct bwl_signed d;
	struct bwl_err e;

	(void)state;
	assert_int_equal(open_as(same, &tray, NOW, &d, &e), 0);
	bwl_signed_free(&d);
	assert_int_not_equal(open_as(forged, &tray, NOW, &d, &e), 0);
	assert_string_equal(e.id, "signed-untrusted");
	free(forged);
	free(same);
	free(other);
	free(text);
}

static void payloads_have_the_keys_of_their_type_and_no_others(void **state)
{
	static const struct {
		enum bwl_signed_type type;
		const char *key, *value; /* JSON; NULL: the key is removed */
	} row[] = {
		{ BWL_SIGNED_GRANT, "widens", "false" },
		{ BWL_SIGNED_GRANT, "peer", NULL },
		{ BWL_SIGNED_GRANT, "peer", "\"../x\"" },
		{ BWL_SIGNED_GRANT, "opens", "[]" },
		{ BWL_SIGNED_GRANT, "opens", "[\"a\", \"a\"]" },
		{ BWL_SIGNED_GRANT, "limit", "\"1gbit\"" },
		{ BWL_SIGNED_GRANT, "version", "0" },
		{ BWL_SIGNED_GRANT, "version", "1.5" },
		{ BWL_SIGNED_GRANT, "version", "-3" },
		{ BWL_SIGNED_GRANT, "version", "99999999999999999999" },
		{ BWL_SIGNED_GRANT, "epoch", NULL },
		{ BWL_SIGNED_GRANT, "not_after", NULL },
		{ BWL_SIGNED_GRANT, "not_after", "\"never\"" },
		{ BWL_SIGNED_GRANT, "not_after", "\"2027-02-31T00:00:00Z\"" },
		{ BWL_SIGNED_GRANT, "not_after", "\"2027-01-31 00:00:00Z\"" },
		{ BWL_SIGNED_GRANT, "not_after", "\"2026-01-31T00:00:00Z\"" },
		{ BWL_SIGNED_GRANT, "offline_for", "\"0s\"" },
		{ BWL_SIGNED_GRANT, "offline_for", "15" },
		{ BWL_SIGNED_POLICY, "fresh_volume", "false" },
		{ BWL_SIGNED_POLICY, "text", "\"\"" },
		{ BWL_SIGNED_LEASE, "policy", "\"00\"" },
		{ BWL_SIGNED_REVOCATION, "all", NULL },
		{ BWL_SIGNED_ROLLOUT, "percent", "101" },
		{ BWL_SIGNED_ENROLMENT, "labels", "[\"rack\"]" },
		{ BWL_SIGNED_TIMESTAMP, "text", "\"x\"" },
	};
	struct bwl_signed d;
	struct bwl_err e;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		bool online = bwl_signed_role(row[i].type) == BWL_ROLE_ONLINE;
		json_t *o = rig_body(row[i].type, 1);
		json_t *v = row[i].value ? json_loads(row[i].value, JSON_DECODE_ANY, NULL) : NULL;
		char *text;

		json_object_del(o, row[i].key);
		if (v)
			json_object_set_new(o, row[i].key, v);
		else if (row[i].value) /* jansson has no such number, so it is given as a string */
			json_object_set_new(o, row[i].key, json_string(row[i].value));
		text = rig_sign(row[i].type, "hall-3", "all", o,
				online ? 1U << CONTROLLER : PEOPLE);
		if (!open_as(text, &tray, NOW, &d, &e))
			fail_msg("%s, %s: %s was taken", bwl_signed_word(row[i].type), row[i].key,
				 row[i].value);
		assert_string_equal(e.id, "signed-malformed");
		assert_non_null(strstr(e.text, row[i].key));
		free(text);
	}
}

static void a_root_is_handed_over_by_the_old_people_and_the_new(void **state)
{
	const unsigned a = 1U << ALICE, b = 1U << BOB, c = 1U << CAROL, m = 1U << MALLORY;
	const struct {
		struct rig_root to;
		unsigned who;
		const char *id;
	} row[] = {
		{ { 2, 1, a | b | m, 1U << CONTROLLER, 2, NOW + DAY }, a | b, NULL },
		{ { 2, 1, c | m, 1U << CONTROLLER, 2, NOW + DAY }, a | b | c | m, NULL },
		{ { 2, 1, c | m, 1U << CONTROLLER, 2, NOW + DAY }, c | m, "signed-untrusted" },
		{ { 2, 1, c | m, 1U << CONTROLLER, 2, NOW + DAY }, a | b | c, "signed-untrusted" },
		{ { 2, 1, a | b | c, 1U << CONTROLLER, 3, NOW + DAY }, a | b, "signed-untrusted" },
		{ { 2, 1, a | b | c, 1U << CONTROLLER, 2, NOW + DAY }, a, "signed-untrusted" },
		{ { 1, 1, a | b | c, 1U << CONTROLLER, 2, NOW + DAY }, a | b, "signed-old" },
		{ { 3, 1, a | b | c, 1U << CONTROLLER, 2, NOW + DAY }, a | b, "signed-old" },
		{ { 2, 1, a | b, 1U << CONTROLLER, 1, NOW + DAY }, a | b, "signed-malformed" },
		{ { 2, 1, a | b, 1U << CONTROLLER, 3, NOW + DAY }, a | b, "signed-malformed" },
		{ { 2, 1, a | b, 0, 2, NOW + DAY }, a | b, "signed-malformed" },
	};
	struct bwl_root *old = rig_root(), *next;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char *text = rig_root_text(&row[i].to, row[i].who);
		struct bwl_err e = { 0 };
		int r = bwl_root_next(old, text, strlen(text), &next, &e);

		if (!r != !row[i].id)
			fail_msg("row %zu: %s", i, r ? e.text : "taken");
		if (r)
			assert_string_equal(e.id, row[i].id);
		else
			bwl_root_free(next);
		free(text);
	}
	bwl_root_free(old);
}

static void the_online_key_is_nobody_among_the_people(void **state)
{
	json_t *body = rig_root_body(&rig_root_1);
	struct bwl_root *root;
	struct bwl_err e = { 0 };
	char *text;

	(void)state;
	json_object_set_new(json_object_get(json_object_get(body, "keys"), rig_id(CONTROLLER)),
			    "owner", json_string("alice"));
	text = rig_sign(BWL_SIGNED_ROOT, "hall-3", "all", body, PEOPLE);
	assert_int_not_equal(bwl_root_first(text, strlen(text), &root, &e), 0);
	assert_string_equal(e.id, "signed-malformed");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_needs_the_people_of_its_role),
		cmocka_unit_test(two_keys_of_one_owner_are_one_person),
		cmocka_unit_test(a_document_is_for_its_fleet_and_its_trays_alone),
		cmocka_unit_test(a_document_lives_from_issue_to_end),
		cmocka_unit_test(under_an_ended_root_one_closes_and_opens_nothing),
		cmocka_unit_test(no_byte_can_be_changed),
		cmocka_unit_test(a_signature_of_one_type_is_none_of_another),
		cmocka_unit_test(payloads_have_the_keys_of_their_type_and_no_others),
		cmocka_unit_test(every_document_has_its_serial_number_and_its_moment),
		cmocka_unit_test(the_first_form_is_read_and_never_written),
		cmocka_unit_test(a_root_is_handed_over_by_the_old_people_and_the_new),
		cmocka_unit_test(the_online_key_is_nobody_among_the_people),
	};

	return cmocka_run_group_tests(tests, rig_keys, rig_no_keys);
}
