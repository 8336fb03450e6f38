// SPDX-License-Identifier: GPL-2.0-or-later
/* The bytes of documents: each form has one spelling. */
#include "rig.h"

#define HEAD "bwlimit-document: 2\n"
#define WHAT "type: policy\nfleet: f\naudience: all\nserial: 7\n"
#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define SIG                                                                                        \
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="

static void a_newline_at_the_end_is_none_of_the_document(void **state)
{
	char *text = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", rig_body(BWL_SIGNED_POLICY, 1),
			      1U << ALICE),
	     *more = NULL;
	struct bwl_signed a, b;
	struct bwl_err e;

	(void)state;
	assert_int_equal(open_as(text, &tray, NOW, &a, &e), 0);
	assert_true(asprintf(&more, "%s\n", text) > 0);
	assert_int_equal(open_as(more, &tray, NOW, &b, &e), 0);
	assert_memory_equal(a.digest, b.digest, sizeof(a.digest));
	assert_string_equal(bwl_payload_text(a.body, "text"), bwl_payload_text(b.body, "text"));
	bwl_signed_free(&a);
	bwl_signed_free(&b);
	free(more);
	assert_true(asprintf(&more, "%s\n\n", text) > 0);
	assert_int_not_equal(open_as(more, &tray, NOW, &b, &e), 0);
	assert_string_equal(e.id, "signed-malformed");
	free(more);
	free(text);
}

static void the_first_form_has_one_spelling(void **state)
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

	(void)state;
	assert_int_equal(bwl_envelope_parse(good, strlen(good), &v, &e), 0);
	bwl_envelope_free(&v);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (!bwl_envelope_parse(bad[i], strlen(bad[i]), &v, &e))
			fail_msg("taken: %s", bad[i]);
		assert_string_equal(e.id, "signed-malformed");
	}
}

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
		  true },
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

static void documents_have_one_spelling(void **state)
{
	static const char *const good[] = {
		HEAD WHAT "bytes: 0\nterms: {}\n\n",
		HEAD WHAT "bytes: 3\nterms: {}\n\nabc",
		HEAD WHAT "bytes: 3\nterms: {}\n\nabc\n",
		HEAD WHAT "bytes: 4\nterms: {}\n\nabc\n",
		HEAD "signature: " KEY " " SIG "\n" WHAT "bytes: 0\nterms: {}\n\n",
	};
	static const char *const bad[] = {
		HEAD,
		HEAD "\n",
		"bwlimit-document: 3\n" WHAT "bytes: 0\nterms: {}\n\n",
		"bwlimit-document: 2\r\n" WHAT "bytes: 0\nterms: {}\n\n",
		" " HEAD WHAT "bytes: 0\nterms: {}\n\n",
		HEAD WHAT,
		HEAD WHAT "bytes: 0\n",
		HEAD WHAT "bytes: 0\nterms: {}",
		HEAD WHAT "bytes: 0\nterms: {}\n",
		HEAD WHAT "bytes: 0\nterms: {}\n\n\n\n",
		HEAD WHAT "bytes: 1\nterms: {}\n\n",
		HEAD WHAT "bytes: 00\nterms: {}\n\n",
		HEAD WHAT "bytes: +0\nterms: {}\n\n",
		HEAD WHAT "bytes:  0\nterms: {}\n\n",
		HEAD WHAT "bytes: -1\nterms: {}\n\n",
		HEAD WHAT "bytes: 18446744073709551616\nterms: {}\n\n",
		HEAD WHAT "terms: {}\nbytes: 0\n\n",
		HEAD WHAT "bytes: 0\nbytes: 0\nterms: {}\n\n",
		HEAD WHAT "more: 0\nbytes: 0\nterms: {}\n\n",
		HEAD "type: thing\nfleet: f\naudience: all\nserial: 7\nbytes: 0\nterms: {}\n\n",
		HEAD "type: policy \nfleet: f\naudience: all\nserial: 7\nbytes: 0\nterms: {}\n\n",
		HEAD "type: policy\nfleet: \naudience: all\nserial: 7\nbytes: 0\nterms: {}\n\n",
		HEAD "type: policy\nfleet: -f\naudience: all\nserial: 7\nbytes: 0\nterms: {}\n\n",
		HEAD "type: policy\nfleet: f\naudience: \nserial: 7\nbytes: 0\nterms: {}\n\n",
		HEAD
		"type: policy\nfleet: f\naudience: all,all\nserial: 7\nbytes: 0\nterms: {}\n\n",
		HEAD
		"type: policy\nfleet: f\naudience: tray:a,\nserial: 7\nbytes: 0\nterms: {}\n\n",
		HEAD "type: policy\nfleet: f\naudience: all\nserial: 0\nbytes: 0\nterms: {}\n\n",
		HEAD
		"type: policy\nfleet: f\naudience: all\nserial: 9223372036854775808\nbytes: 0\nterms: {}\n\n",
		HEAD "fleet: f\ntype: policy\naudience: all\nserial: 7\nbytes: 0\nterms: {}\n\n",
		HEAD WHAT "signature: " KEY " " SIG "\nbytes: 0\nterms: {}\n\n",
		HEAD "signature: " KEY " " SIG "\nsignature: " KEY " " SIG "\n" WHAT
		     "bytes: 0\nterms: {}\n\n",
		HEAD "signature: " KEY "  " SIG "\n" WHAT "bytes: 0\nterms: {}\n\n",
		HEAD "signature: x" KEY " " SIG "\n" WHAT "bytes: 0\nterms: {}\n\n",
		HEAD "signature: " KEY "\n" WHAT "bytes: 0\nterms: {}\n\n",
		HEAD "signature: \n" WHAT "bytes: 0\nterms: {}\n\n",
	};
	struct bwl_envelope v;
	struct bwl_err e;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (bwl_envelope_parse(good[i], strlen(good[i]), &v, &e))
			fail_msg("%s: %s", good[i], e.text);
		assert_int_equal(v.form, BWL_FORM_LINES);
		assert_int_equal(v.serial, 7);
		assert_int_equal(v.nterms, 2);
		bwl_envelope_free(&v);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		e = (struct bwl_err){ 0 };
		if (!bwl_envelope_parse(bad[i], strlen(bad[i]), &v, &e))
			fail_msg("taken: %s", bad[i]);
		assert_string_equal(e.id, "signed-malformed");
	}
}

static void a_text_is_the_policys_and_plain(void **state)
{
	static const struct {
		enum bwl_signed_type type;
		const char *text;
		size_t len;
		bool good;
	} row[] = {
		{ BWL_SIGNED_POLICY, "abc", 3, true },   { BWL_SIGNED_POLICY, "", 0, false },
		{ BWL_SIGNED_POLICY, "a\0c", 3, false }, { BWL_SIGNED_POLICY, "a\xff", 2, false },
		{ BWL_SIGNED_GRANT, "", 0, true },       { BWL_SIGNED_GRANT, "x", 1, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		json_t *o = rig_body(row[i].type, 1);
		struct bwl_signed_terms t;
		struct bwl_envelope v;
		struct bwl_err e;
		json_t *body;

		json_object_del(o, "text");
		assert_int_equal(bwl_envelope_new(row[i].type, "f", "all", o, &v, &e), 0);
		json_decref(o);
		v.payload = realloc(v.payload, v.len + row[i].len + 1);
		memcpy(v.payload + v.len, row[i].text, row[i].len);
		v.len += row[i].len;
		v.payload[v.len] = '\0';
		if (!bwl_payload_parse(&v, &t, &body, &e) != row[i].good)
			fail_msg("row %zu: %s", i, row[i].good ? e.text : "taken");
		if (row[i].good)
			json_decref(body);
		bwl_envelope_free(&v);
	}
}

/* Written by hand. */
static void what_is_signed_are_the_first_line_and_all_from_the_type_on(void **state)
{
	static const char text
		[] = HEAD "signature: " KEY " " SIG "\n" WHAT "bytes: 3\nterms: {}\n\nabc",
	    want[] = HEAD WHAT "bytes: 3\nterms: {}\n\nabc",
	    dsse[] =
		    "{\"payloadType\":\"application/vnd.bwlimit.timestamp+json;fleet=hall-3;audience=all\",\"payload\":\"e30=\",\"signatures\":[]}",
	    dsse_want[] =
		    "DSSEv1 64 application/vnd.bwlimit.timestamp+json;fleet=hall-3;audience=all 2 {}";
	struct bwl_envelope v;
	struct bwl_err e;
	uint8_t *at;
	size_t len;

	(void)state;
	assert_int_equal(bwl_envelope_parse(text, strlen(text), &v, &e), 0);
	at = bwl_envelope_signed(&v, &len);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(at, want, len);
	free(at);
	bwl_envelope_free(&v);
	assert_int_equal(bwl_envelope_parse(dsse, strlen(dsse), &v, &e), 0);
	at = bwl_envelope_signed(&v, &len);
	assert_int_equal(len, strlen(dsse_want));
	assert_memory_equal(at, dsse_want, len);
	free(at);
	bwl_envelope_free(&v);
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
		cmocka_unit_test(a_newline_at_the_end_is_none_of_the_document),
		cmocka_unit_test(the_first_form_has_one_spelling),
		cmocka_unit_test(the_payload_is_that_of_its_key),
		cmocka_unit_test(documents_have_one_spelling),
		cmocka_unit_test(a_text_is_the_policys_and_plain),
		cmocka_unit_test(what_is_signed_are_the_first_line_and_all_from_the_type_on),
		cmocka_unit_test(base64_has_one_spelling),
	};

	return cmocka_run_group_tests(tests, rig_keys, rig_no_keys);
}
