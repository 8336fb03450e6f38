/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fleet with four keys: alice, bob and carol are people, and the controller has the online key.
 */
#ifndef BWL_TEST_SIGNED_RIG_H
#define BWL_TEST_SIGNED_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/doc.h>
#include <bwl/encode.h>
#include "signed/envelope.h"
#include "signed/payload.h"
#include "signed/root.h"
#include "test.h"

#define NOW 1800000000LL /* 2027-01-15T08:00:00Z */
#define DAY 86400LL

enum { ALICE, BOB, CAROL, CONTROLLER, MALLORY, NKEYS };
static const char *const owner[] = { "alice", "bob", "carol", "controller", "mallory" };
static struct bwl_key *key[NKEYS];
static const struct bwl_tray tray = { .fleet = "hall-3",
				      .name = "tray-7",
				      .labels = (const char *const[]){ "rack=3" },
				      .nlabels = 1 };

static int rig_keys(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NKEYS; i++)
		key[i] = bwl_key_random();
	return 0;
}

static int rig_no_keys(void **state)
{
	(void)state;
	for (unsigned i = 0; i < NKEYS; i++)
		bwl_key_free(key[i]);
	return 0;
}

static const char *rig_id(unsigned who)
{
	static char id[NKEYS][BWL_KEY_ID];

	return bwl_key_id(bwl_key_public(key[who]), id[who]);
}

/* The terms that every document has. */
static json_t *rig_terms(const char *name, unsigned epoch, uint64_t version, int64_t issued_s,
			 int64_t not_after_s)
{
	char from[BWL_TIME_BUF], to[BWL_TIME_BUF];

	return json_pack("{s:s, s:i, s:I, s:s, s:s}", "name", name, "epoch", epoch, "version",
			 (json_int_t)version, "issued_at", bwl_utc(issued_s, -1, from), "not_after",
			 bwl_utc(not_after_s, -1, to));
}

/*
 * A serial that follows from the content: tests sign the same again, and mean the same document.
 * Tools draw one.
 */
static void rig_serial(struct bwl_envelope *v, const json_t *body)
{
	char *content = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS), *was = (char *)v->payload,
	     *from = strstr(was, "\nserial: ") + strlen("\nserial: "), *to = strchr(from, '\n'),
	     *is;
	uint64_t n = 14695981039346656037ULL;
	size_t rest = v->len - (size_t)(to - was), before;

	for (const char *c = content; *c; c++)
		n = (n ^ (uint8_t)*c) * 1099511628211ULL;
	v->serial = n >> 1 | 1;
	is = malloc(v->len + 24);
	before = (size_t)sprintf(is, "%.*s%llu", (int)(from - was), was,
				 (unsigned long long)v->serial);
	memcpy(is + before, to, rest + 1);
	v->terms_at += before - (size_t)(to - was);
	v->text_at += before - (size_t)(to - was);
	v->len = before + rest;
	v->payload = (uint8_t *)is;
	free(was);
	free(content);
}

/* Takes the reference. who: bit per signer. */
static char *rig_sign(enum bwl_signed_type type, const char *fleet, const char *audience,
		      json_t *body, unsigned who)
{
	struct bwl_envelope v;
	struct bwl_err e;
	size_t len;
	char *text;

	if (bwl_envelope_new(type, fleet, audience, body, &v, &e))
		fail_msg("%s", e.text);
	rig_serial(&v, body);
	for (unsigned i = 0; i < NKEYS; i++)
		if (who & 1U << i)
			assert_int_equal(bwl_envelope_sign(&v, key[i], &e), 0);
	text = bwl_envelope_text(&v, &len);
	assert_int_equal(strlen(text), len);
	bwl_envelope_free(&v);
	json_decref(body);
	return text;
}

#define PEOPLE (1U << ALICE | 1U << BOB | 1U << CAROL)
struct rig_root {
	unsigned version, epoch, people, online; /* bit per key */
	unsigned threshold;
	int64_t not_after_s;
};
static const struct rig_root rig_root_1 = { 1, 1, PEOPLE, 1U << CONTROLLER, 2, NOW + 365 * DAY };

static json_t *rig_root_body(const struct rig_root *w)
{
	json_t *o = rig_terms("root", w->epoch, w->version, NOW - DAY, w->not_after_s);
	json_t *keys = json_object(), *people = json_array(), *online = json_array();
	char pub[BWL_BASE64_LEN(BWL_PUBLIC) + 1];

	for (unsigned i = 0; i < NKEYS; i++) {
		if (!((w->people | w->online) & 1U << i))
			continue;
		bwl_base64_encode(bwl_key_public(key[i]), BWL_PUBLIC, pub);
		json_object_set_new(keys, rig_id(i),
				    json_pack("{s:s, s:s}", "public", pub, "owner", owner[i]));
		json_array_append_new(w->people & 1U << i ? people : online,
				      json_string(rig_id(i)));
	}
	json_object_set_new(o, "keys", keys);
	json_object_set_new(o, "roles",
			    json_pack("{s:{s:i, s:O}, s:{s:i, s:o}, s:{s:i, s:o}}", "root",
				      "threshold", w->threshold, "keys", people, "policy",
				      "threshold", w->threshold, "keys", people, "online",
				      "threshold", 1, "keys", online));
	return o;
}

static inline char *rig_root_text(const struct rig_root *w, unsigned who)
{
	return rig_sign(BWL_SIGNED_ROOT, "hall-3", "all", rig_root_body(w), who);
}

static inline struct bwl_root *rig_root(void)
{
	char *text = rig_root_text(&rig_root_1, 1U << ALICE | 1U << BOB);
	struct bwl_root *r = NULL;
	struct bwl_err e = { 0 };

	if (bwl_root_first(text, strlen(text), &r, &e))
		fail_msg("%s", e.text);
	free(text);
	return r;
}

static inline int open_as(const char *text, const struct bwl_tray *who, int64_t now,
			  struct bwl_signed *ret, struct bwl_err *e)
{
	struct bwl_root *root = rig_root();
	int r;

	*e = (struct bwl_err){ 0 };
	r = bwl_signed_open(text, strlen(text), root, who, now, ret, e);
	bwl_root_free(root);
	return r;
}

/* A document of that type with the required keys. */
static inline json_t *rig_body(enum bwl_signed_type type, unsigned version)
{
	static const char d[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	json_t *o = rig_terms("it", 1, version, NOW - 60, NOW + DAY), *more = NULL;

	switch (type) {
	case BWL_SIGNED_POLICY:
		more = json_pack("{s:s}", "text", "version: 1\n");
		break;
	case BWL_SIGNED_GRANT:
		more = json_pack("{s:s, s:{s:s}, s:s}", "peer", "log", "limit", "rate", "1mbit",
				 "reason", "ticket 4711");
		break;
	case BWL_SIGNED_LEASE:
		more = json_pack("{s:s, s:s}", "policy", d, "for", "2h");
		break;
	case BWL_SIGNED_REVOCATION:
		more = json_pack("{s:b, s:s}", "all", 1, "reason", "drill");
		break;
	case BWL_SIGNED_ROLLOUT:
		more = json_pack("{s:s, s:i, s:s}", "to", d, "percent", 10, "salt", "s");
		break;
	case BWL_SIGNED_EXPULSION:
		more = json_pack("{s:s, s:s}", "tray", "tray-9", "reason", "stolen");
		break;
	case BWL_SIGNED_ENROLMENT:
		more = json_pack("{s:s, s:s}", "tray", "tray-7", "root", d);
		break;
	default:
		break;
	}
	if (more)
		json_object_update(o, more);
	json_decref(more);
	return o;
}

#endif
