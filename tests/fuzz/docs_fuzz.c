// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any payloads, signed by any of a fleet's people and its controller, one after the other:
 * whichever ones bwlimitd accepts, what is to be in force can be read as a policy, and ends.
 *
 * A line is a document: a digit for its type, one for its signers (a bit each for alice, bob and
 * the controller), and the payload.
 */
#include <bwl/doc.h>
#include <bwl/encode.h>
#include "agent/documents/docs.h"
#include "fuzz.h"
#include "signed/envelope.h"
#include "signed/payload.h"

#define NOW 1800000000LL /* 2027-01-15T08:00:00Z */
#define TERMS                                                                                      \
	"\"epoch\":1,\"version\":1,\"issued_at\":\"2027-01-15T07:00:00Z\",\"not_after\":\"2028-01-15T07:00:00Z\""

enum { ALICE, BOB, CONTROLLER, NKEYS };
static struct bwl_key *key[NKEYS];
static char *root, *enrolment;

static char *sign(enum bwl_signed_type type, const char *payload, size_t len, unsigned who)
{
	json_t *body = json_loadb(payload, len, 0, NULL);
	struct bwl_envelope v;
	struct bwl_err e;
	char *text;

	if (!json_is_object(body)) {
		json_decref(body);
		return NULL;
	}
	must(!bwl_envelope_new(type, "f", "all", body, &v, &e), "an envelope");
	json_decref(body);
	for (unsigned i = 0; i < NKEYS; i++)
		if (who & 1U << i)
			must(!bwl_envelope_sign(&v, key[i], &e), "a signature");
	text = bwl_envelope_text(&v, &len);
	bwl_envelope_free(&v);
	return text;
}

static void begin(void)
{
	static const char *const owner[] = { "alice", "bob", "controller" };
	char keys[1024] = "", id[NKEYS][BWL_KEY_ID], pub[BWL_BASE64_LEN(BWL_PUBLIC) + 1],
	     text[4096], hex[65];
	struct bwl_root *r = NULL;
	struct bwl_err e;

	for (unsigned i = 0; i < NKEYS; i++) {
		key[i] = bwl_key_random();
		bwl_key_id(bwl_key_public(key[i]), id[i]);
		bwl_base64_encode(bwl_key_public(key[i]), BWL_PUBLIC, pub);
		snprintf(keys + strlen(keys), sizeof(keys) - strlen(keys),
			 "%s\"%s\":{\"public\":\"%s\",\"owner\":\"%s\"}", i ? "," : "", id[i], pub,
			 owner[i]);
	}
	snprintf(
		text, sizeof(text),
		"{\"name\":\"root\"," TERMS
		",\"keys\":{%s},\"roles\":{\"root\":{\"threshold\":2,\"keys\":[\"%s\",\"%s\"]},\"policy\":{\"threshold\":2,\"keys\":[\"%s\",\"%s\"]},\"online\":{\"threshold\":1,\"keys\":[\"%s\"]}}}",
		keys, id[0], id[1], id[0], id[1], id[2]);
	root = sign(BWL_SIGNED_ROOT, text, strlen(text), 3);
	must(!bwl_root_first(root, strlen(root), &r, &e), "a root");
	bwl_hex_encode(bwl_root_digest(r), 32, hex);
	bwl_root_free(r);
	snprintf(text, sizeof(text), "{\"name\":\"t\"," TERMS ",\"tray\":\"t\",\"root\":\"%s\"}",
		 hex);
	enrolment = sign(BWL_SIGNED_ENROLMENT, text, strlen(text), 3);
}

static void is_sound(struct docs *s, const struct docs_clock *c)
{
	struct bwl_policy *pol = NULL;
	struct docs_terms t;
	struct bwl_err e = { 0 };
	char *text = NULL;
	size_t len;

	if (!docs_terms(s, &t, &e)) {
		struct docs_end end = docs_end(s, &t, c);

		must(end.at_ns < BWL_NEVER_NS, "whatever holds has an end");
		must(!docs_text(s, c, &text, &len, &e), "it can be written down");
		must(!bwl_policy_parse("text", text, len, c->boot_ns, c->wall_s, &pol, &e),
		     "and reads as a policy");
		must(pol->lease_ns && pol->heartbeat_ns, "which ends by itself");
		bwl_policy_free(pol);
		free(text);
	}
	docs_terms_free(&t);
}

static void one(struct docs *s, const struct docs_clock *c, const char *line, size_t len)
{
	struct docs_verdict v;
	struct bwl_err e = { 0 };
	char *text;

	if (len < 3 || line[0] < '1' || line[0] >= '0' + _BWL_SIGNED_MAX)
		return;
	text = sign((enum bwl_signed_type)(line[0] - '0'), line + 2, len - 2, line[1] & 7);
	if (!text)
		return;
	if (!docs_judge(s, text, strlen(text), c, &v, &e)) {
		must(v.known || v.d.people, "somebody signed it");
		must(!v.widens || v.d.enough, "what widens has enough");
		if (!v.known && !docs_take(s, &v, text, strlen(text), c, &e))
			is_sound(s, c);
		docs_verdict_free(&v);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct docs_clock c = { .boot_ns = 1000000000000ULL, .wall_s = NOW };
	const char *at = (const char *)data, *end = at + size;
	struct docs s = { 0 };
	struct bwl_err e;

	if (!root)
		begin();
	must(!bwl_memory_enrol("/nonexistent", root, strlen(root), enrolment, strlen(enrolment),
			       NOW, &s.m, &e),
	     "enrolled");
	for (unsigned n = 0; at < end && n < 16; n++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		stop = stop ? stop : end;
		one(&s, &c, at, (size_t)(stop - at));
		at = stop + 1;
		c.boot_ns += 7000000000ULL;
		c.wall_s += 7;
	}
	docs_free(&s);
	return 0;
}
