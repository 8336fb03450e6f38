// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Envelopes and roots: whose signatures count, for which documents, for how long, and that no byte
 * can be changed.
 */
#include "rig.h"

static int open_as(const char *text, const struct bwl_tray *who, int64_t now,
		   struct bwl_signed *ret, struct bwl_err *e)
{
	struct bwl_root *root = rig_root();
	int r;

	*e = (struct bwl_err){ 0 };
	r = bwl_signed_open(text, strlen(text), root, who, now, ret, e);
	bwl_root_free(root);
	return r;
}

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
	assert_int_equal(open_as(text, &tray, NOW - 60, &d, &e), 0);
	bwl_signed_free(&d);
	/* not a second ahead: it would be put after what people sign until then */
	assert_int_not_equal(open_as(text, &tray, NOW - 61, &d, &e), 0);
	assert_string_equal(e.id, "signed-early");
	assert_non_null(strstr(e.text, "in 1 s"));
	free(text);
	/* the controller's clock may differ */
	text = rig_sign(BWL_SIGNED_ROLLOUT, "hall-3", "all", rig_body(BWL_SIGNED_ROLLOUT, 1),
			1U << CONTROLLER);
	assert_int_equal(open_as(text, &tray, NOW - 120, &d, &e), 0);
	bwl_signed_free(&d);
	assert_int_not_equal(open_as(text, &tray, NOW - 121, &d, &e), 0);
	assert_string_equal(e.id, "signed-early");
	free(text);
	/* what closes waits for no time, nor for a desk's clock to be right */
	text = rig_sign(BWL_SIGNED_REVOCATION, "hall-3", "all", rig_body(BWL_SIGNED_REVOCATION, 1),
			1U << ALICE);
	assert_int_equal(open_as(text, &tray, NOW - 300 * DAY, &d, &e), 0);
	bwl_signed_free(&d);
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

/* Every byte of what is signed, one after another, including the type. */
static void no_byte_can_be_changed(void **state)
{
	char *text = rig_sign(BWL_SIGNED_GRANT, "hall-3", "tray:tray-7",
			      rig_body(BWL_SIGNED_GRANT, 1), 1U << ALICE | 1U << BOB);
	size_t len = strlen(text), end = (size_t)(strstr(text, "\"signatures\"") - text);
	struct bwl_root *root = rig_root();
	struct bwl_signed d;
	struct bwl_err e;

	(void)state;
	assert_int_equal(bwl_signed_open(text, len, root, &tray, NOW, &d, &e), 0);
	bwl_signed_free(&d);
	for (size_t i = 0; i < end; i++) {
		char was = text[i];

		for (unsigned bit = 0; bit < 7; bit++) {
			text[i] = (char)(was ^ (char)(1U << bit));
			if (!bwl_signed_open(text, len, root, &tray, NOW, &d, &e))
				fail_msg("byte %zu as '%c' is taken", i, text[i]);
		}
		text[i] = was;
	}
	bwl_root_free(root);
	free(text);
}

static void a_signature_of_one_type_is_none_of_another(void **state)
{
	char *text = rig_sign(BWL_SIGNED_EXPULSION, "hall-3", "all",
			      rig_body(BWL_SIGNED_EXPULSION, 1), PEOPLE),
	     *other = rig_sign(BWL_SIGNED_REVOCATION, "hall-3", "all",
			       rig_body(BWL_SIGNED_EXPULSION, 1), 0);
	char *forged = NULL;
	struct bwl_signed d;
	struct bwl_err e;

	(void)state;
	*strstr(other, "\"signatures\"") = '\0';
	assert_true(asprintf(&forged, "%s%s", other, strstr(text, "\"signatures\"")) > 0);
	assert_int_not_equal(open_as(forged, &tray, NOW, &d, &e), 0);
	assert_string_equal(e.id, "signed-untrusted");
	free(forged);
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

static void envelopes_have_one_spelling(void **state)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"{\"payloadType\":1,\"payload\":\"\",\"signatures\":[]}",
		"{\"payloadType\":\"text/plain\",\"payload\":\"\",\"signatures\":[]}",
		"{\"payloadType\":\"application/vnd.bwlimit.thing+json;fleet=f;audience=all\",\"payload\":\"\",\"signatures\":[]}",
		"{\"payloadType\":\"application/vnd.bwlimit.policy+json;fleet=f;audience=\",\"payload\":\"\",\"signatures\":[]}",
		"{\"payloadType\":\"application/vnd.bwlimit.policy+json;fleet=;audience=all\",\"payload\":\"\",\"signatures\":[]}",
		"{\"payloadType\":\"application/vnd.bwlimit.policy+json;fleet=f;audience=all;\",\"payload\":\"\",\"signatures\":[]}",
		"{\"payloadType\":\"application/vnd.bwlimit.policy+json;fleet=f;audience=all,all\",\"payload\":\"\",\"signatures\":[]}",
		"{\"payloadType\":\"application/vnd.bwlimit.policy+json;fleet=f;audience=tray:a,tray:a\",\"payload\":\"\",\"signatures\":[]}",
		"{\"payloadType\":\"application/vnd.bwlimit.policy+json;fleet=f;audience=tray:a,\",\"payload\":\"\",\"signatures\":[]}",
		"{\"payloadType\":\"application/vnd.bwlimit.policy+json;fleet=f;audience=label:a\",\"payload\":\"\",\"signatures\":[]}",
		"{\"payloadType\":\"application/vnd.bwlimit.policy+json;fleet=f;audience=all\",\"payload\":\"e30\",\"signatures\":[]}",
		"{\"payloadType\":\"application/vnd.bwlimit.policy+json;fleet=f;audience=all\",\"payload\":\"e31=\",\"signatures\":[]}",
		"{\"payloadType\":\"application/vnd.bwlimit.policy+json;fleet=f;audience=all\",\"payload\":\"e30=\",\"signatures\":[{}]}",
		"{\"payloadType\":\"application/vnd.bwlimit.policy+json;fleet=f;audience=all\",\"payload\":\"e30=\",\"signatures\":[],\"x\":1}",
		"{\"payloadType\":\"application/vnd.bwlimit.policy+json;fleet=f;audience=all\",\"payload\":\"e30=\",\"payload\":\"e30=\",\"signatures\":[]}",
	};
	static const char good[] =
		"{\"payloadType\":\"application/vnd.bwlimit.policy+json;fleet=f;audience=all\",\"payload\":\"e30=\",\"signatures\":[]}";
	struct bwl_envelope v;
	struct bwl_err e;
	char *text;

	(void)state;
	assert_int_equal(bwl_envelope_parse(good, strlen(good), &v, &e), 0);
	text = bwl_envelope_text(&v);
	assert_string_equal(text, good);
	free(text);
	bwl_envelope_free(&v);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (!bwl_envelope_parse(bad[i], strlen(bad[i]), &v, &e))
			fail_msg("taken: %s", bad[i]);
		assert_string_equal(e.id, "signed-malformed");
	}
}

/*
 * The payload is cut out before the JSON is parsed: from its key, and never from a place that only
 * looks like it.
 */
static void the_payload_is_that_of_its_key(void **state)
{
	static const struct {
		const char *text;
		bool good;
	} row[] = {
		{ "{\"payloadType\": \"%s\", \"payload\" :\n\t \"e30=\", \"signatures\": []}",
		  true },
		{ "{\"signatures\": [], \"payload\":\"e30=\",\"payloadType\": \"%s\"}", true },
		{ "{\"payloadType\": \"%s\", \"payload\": \"\", \"signatures\": [{\"payload\": \"e30=\"}]}",
		  false },
		{ "{\"signatures\": [{\"payload\": \"e30=\"}], \"payload\": \"\", \"payloadType\": \"%s\"}",
		  false },
		{ "{\"signatures\": [{\"payload\": \"e30=\"}], \"payload\": \"e30=\", \"payloadType\": \"%s\"}",
		  false },
		{ "{\"payload\": \"e30=\", \"payload\": \"e30=\", \"payloadType\": \"%s\", \"signatures\": []}",
		  false },
		{ "{\"payload\": \"e30=\", \"pay\\u006coad\": \"e30=\", \"payloadType\": \"%s\", \"signatures\": []}",
		  false },
		{ "{\"payload\": {\"payload\": \"e30=\"}, \"payloadType\": \"%s\", \"signatures\": []}",
		  false },
		{ "{\"payload\"::\"e30=\", \"payloadType\": \"%s\", \"signatures\": []}", false },
		{ "{\"payload\": \"e30=\\\"\", \"payloadType\": \"%s\", \"signatures\": []}",
		  false },
		{ "{\"payload\": \"e30\\u003d\", \"payloadType\": \"%s\", \"signatures\": []}",
		  false },
		{ "{\"payload\": \"e30=", false },
	};
	struct bwl_envelope v;
	char text[400];

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int n = snprintf(text, sizeof(text), row[i].text,
				 "application/vnd.bwlimit.policy+json;fleet=hall-3;audience=all");

		if (!bwl_envelope_parse(text, (size_t)n, &v, NULL) != row[i].good)
			fail_msg("%s", text);
		if (row[i].good)
			assert_string_equal((const char *)v.payload, "{}");
		if (row[i].good)
			bwl_envelope_free(&v);
	}
}

/* DSSE's own example has a payload type that is not ours, so this one was written by hand. */
static void what_is_signed_is_as_dsse_says(void **state)
{
	static const char want[] =
		"DSSEv1 64 application/vnd.bwlimit.timestamp+json;fleet=hall-3;audience=all 2 {}";
	struct bwl_envelope v;
	struct bwl_err e;
	uint8_t *at;
	size_t len;

	(void)state;
	assert_int_equal(bwl_envelope_new(BWL_SIGNED_TIMESTAMP, "hall-3", "all", "{}", 2, &v, &e),
			 0);
	at = bwl_envelope_signed(&v, &len);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(at, want, len);
	free(at);
	bwl_envelope_free(&v);
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

static void base64_has_one_spelling(void **state)
{
	uint8_t in[64], out[64];
	char text[128];
	uint64_t seed = 3;

	(void)state;
	for (size_t n = 0; n < sizeof(in); n++) {
		for (size_t i = 0; i < n; i++)
			in[i] = (uint8_t)test_random(&seed);
		bwl_base64_encode(in, n, text);
		assert_int_equal(strlen(text), BWL_BASE64_LEN(n));
		assert_int_equal(bwl_base64_decode(text, strlen(text), out, n), n);
		assert_memory_equal(in, out, n);
		if (n)
			assert_int_equal(bwl_base64_decode(text, strlen(text), out, n - 1), -1);
	}
	for (const char *const *s = (const char *const[]){ "A", "AA", "AAA", "AB==", "AAB=", "====",
							   "A===", "AA=A", "AA A", "AAA\n", NULL };
	     *s; s++)
		assert_int_equal(bwl_base64_decode(*s, strlen(*s), out, sizeof(out)), -1);
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
		cmocka_unit_test(envelopes_have_one_spelling),
		cmocka_unit_test(the_payload_is_that_of_its_key),
		cmocka_unit_test(what_is_signed_is_as_dsse_says),
		cmocka_unit_test(a_root_is_handed_over_by_the_old_people_and_the_new),
		cmocka_unit_test(the_online_key_is_nobody_among_the_people),
		cmocka_unit_test(base64_has_one_spelling),
	};

	return cmocka_run_group_tests(tests, rig_keys, rig_no_keys);
}
