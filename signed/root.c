// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The root. Its payload, beside the terms of every document:
 *
 *	"keys":  { KEY ID: { "public": BASE64, "owner": NAME }, … }
 *	"roles": { "root": { "threshold": 2, "keys": [KEY ID, …] }, "policy": …, "online": … }
 */
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>
#include <bwl/encode.h>
#include "signed/envelope.h"
#include "signed/payload.h"
#include "signed/root.h"
#include "signed/text.h"

#define KEYS_MAX 64

struct root_key {
	char id[BWL_KEY_ID], owner[BWL_NAME_LEN];
	uint8_t pub[BWL_PUBLIC];
	bool in[_BWL_ROLE_MAX];
};

struct bwl_root {
	char fleet[BWL_NAME_LEN];
	struct bwl_signed_terms terms;
	uint8_t digest[32];
	struct root_key key[KEYS_MAX];
	size_t nkeys;
	unsigned threshold[_BWL_ROLE_MAX];
};

static const char *const role_word[] = {
	[BWL_ROLE_ROOT] = "root",
	[BWL_ROLE_POLICY] = "policy",
	[BWL_ROLE_ONLINE] = "online",
};

const char *bwl_role_word(enum bwl_role role)
{
	return role_word[role];
}

static int bad(struct bwl_err *e, int code, const char *id)
{
	if (e)
		e->id = id;
	return -code;
}
#define malformed(e, ...) (bwl_fail(e, EBADMSG, __VA_ARGS__), bad(e, EBADMSG, "signed-malformed"))
#define untrusted(e, ...)                                                                          \
	(bwl_fail(e, EKEYREJECTED, __VA_ARGS__), bad(e, EKEYREJECTED, "signed-untrusted"))

static int take_keys(struct bwl_root *r, json_t *keys, struct bwl_err *e)
{
	const char *id;
	json_t *o;

	if (json_object_size(keys) > KEYS_MAX)
		return malformed(e, "a root may have at most %d keys", KEYS_MAX);
	json_object_foreach(keys, id, o)
	{
		struct root_key *k = &r->key[r->nkeys];
		const char *pub = bwl_payload_text(o, "public"),
			   *owner = bwl_payload_text(o, "owner");

		if (json_object_size(o) != 2 || !pub || !owner ||
		    !bwl_is_name(owner, strlen(owner)) ||
		    bwl_base64_decode(pub, strlen(pub), k->pub, BWL_PUBLIC) != BWL_PUBLIC)
			return malformed(
				e,
				"root, key %.16s: must have `public`, 32 bytes in base64, `owner`, a name, and nothing else",
				id);
		if (strcmp(bwl_key_id(k->pub, k->id), id))
			return malformed(e, "root, key %.16s: its id must be %.16s…", id, k->id);
		strcpy(k->owner, owner);
		r->nkeys++;
	}
	return 0;
}

static struct root_key *find(const struct bwl_root *r, const char *id)
{
	for (size_t i = 0; id && i < r->nkeys; i++)
		if (!strcmp(r->key[i].id, id))
			return (struct root_key *)&r->key[i];
	return NULL;
}

/*
 * How many different people own the keys of a role that are marked; marked NULL: all of its keys.
 */
static unsigned people(const struct bwl_root *r, enum bwl_role role, const bool *marked)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->nkeys; i++) {
		bool counted = !r->key[i].in[role] || (marked && !marked[i]);

		for (size_t k = 0; !counted && k < i; k++)
			counted = r->key[k].in[role] && (!marked || marked[k]) &&
				  !strcmp(r->key[k].owner, r->key[i].owner);
		n += !counted;
	}
	return n;
}

static int take_role(struct bwl_root *r, enum bwl_role role, const json_t *o, struct bwl_err *e)
{
	unsigned least = role == BWL_ROLE_ONLINE ? 1 : 2;
	const json_t *list = json_object_get(o, "keys"), *v,
		     *threshold = json_object_get(o, "threshold");
	size_t i;

	if (json_object_size(o) != 2 || !json_is_array(list) || !json_is_integer(threshold) ||
	    json_integer_value(threshold) < least || json_integer_value(threshold) > KEYS_MAX)
		return malformed(
			e,
			"root, role %s: must have `threshold`, a number from %u, `keys`, a list of key ids, and nothing else",
			role_word[role], least);
	r->threshold[role] = (unsigned)json_integer_value(threshold);
	json_array_foreach(list, i, v)
	{
		struct root_key *k = find(r, json_string_value(v));

		if (!k || k->in[role])
			return malformed(
				e,
				"root, role %s: each key must be one of `keys`, without duplicates",
				role_word[role]);
		k->in[role] = true;
	}
	if (people(r, role, NULL) < r->threshold[role])
		return malformed(e, "root, role %s: %u people have its keys, but %u must sign",
				 role_word[role], people(r, role, NULL), r->threshold[role]);
	return 0;
}

/* The online key is on a machine that can be stolen: its owner must not be one of the people. */
static int check_online(const struct bwl_root *r, struct bwl_err *e)
{
	for (size_t i = 0; i < r->nkeys; i++)
		for (size_t k = 0; k < r->nkeys; k++)
			if (r->key[i].in[BWL_ROLE_ONLINE] &&
			    (r->key[k].in[BWL_ROLE_ROOT] || r->key[k].in[BWL_ROLE_POLICY]) &&
			    !strcmp(r->key[i].owner, r->key[k].owner))
				return malformed(
					e,
					"root: %s owns an online key and a person's key: the controller's key must have its own owner",
					r->key[i].owner);
	return 0;
}

static int take(struct bwl_root *r, const json_t *body, struct bwl_err *e)
{
	const json_t *roles = json_object_get(body, "roles");
	int err = take_keys(r, json_object_get(body, "keys"), e);

	if (!err && json_object_size(roles) != _BWL_ROLE_MAX)
		err = malformed(e,
				"root: `roles` must have root, policy and online, and no others");
	for (enum bwl_role i = 0; !err && i < _BWL_ROLE_MAX; i++)
		err = take_role(r, i, json_object_get(roles, role_word[i]), e);
	return err ? err : check_online(r, e);
}

unsigned bwl_root_people(const struct bwl_root *r, enum bwl_role role, const struct bwl_envelope *v,
			 char *ret_one)
{
	const char *owner = "";
	unsigned n;
	bool holds[KEYS_MAX] = { false };
	size_t len;
	uint8_t *at = bwl_envelope_signed(v, &len);

	for (size_t i = 0; i < v->nsig; i++) {
		const struct root_key *k = find(r, v->sig[i].key);

		if (k && k->in[role] && bwl_key_verifies(k->pub, at, len, v->sig[i].sig))
			holds[k - r->key] = true;
	}
	free(at);
	n = people(r, role, holds);
	for (size_t i = 0; i < r->nkeys; i++)
		if (n == 1 && holds[i])
			owner = r->key[i].owner;
	if (ret_one)
		snprintf(ret_one, BWL_NAME_LEN, "%s", owner);
	return n;
}

static int enough(const struct bwl_root *r, const struct bwl_envelope *v, const char *whose,
		  struct bwl_err *e)
{
	unsigned n = bwl_root_people(r, BWL_ROLE_ROOT, v, NULL);

	if (n >= r->threshold[BWL_ROLE_ROOT])
		return 0;
	return untrusted(e, "the root is signed by %u people of %s root, but %u must sign", n,
			 whose, r->threshold[BWL_ROLE_ROOT]);
}

static int parse(const struct bwl_envelope *v, struct bwl_root *r, struct bwl_err *e)
{
	json_t *body;
	int err = bwl_payload_parse(v, &r->terms, &body, e);

	if (err)
		return err;
	strcpy(r->fleet, v->fleet);
	if (EVP_Digest(v->payload, v->len, r->digest, NULL, EVP_sha256(), NULL) != 1)
		abort();
	err = take(r, body, e);
	json_decref(body);
	return err;
}

static int read_root(const struct bwl_root *old, const struct bwl_envelope *v, struct bwl_root *r,
		     struct bwl_err *e)
{
	int err = 0;

	if (v->type != BWL_SIGNED_ROOT || strcmp(v->audience, "all"))
		return malformed(e, "a root must have the type root and audience=all");
	if (old && strcmp(old->fleet, v->fleet))
		return untrusted(e, "it is the root of fleet %s, but this is fleet %s", v->fleet,
				 old->fleet);
	if (old)
		err = enough(old, v, "the former", e);
	if (!err)
		err = parse(v, r, e);
	if (!err && old && r->terms.version != old->terms.version + 1) {
		bwl_fail(e, ESTALE,
			 "the root is version %llu, but version %llu must be followed by %llu",
			 (unsigned long long)r->terms.version,
			 (unsigned long long)old->terms.version,
			 (unsigned long long)old->terms.version + 1);
		err = bad(e, ESTALE, "signed-old");
	}
	if (!err && old && r->terms.epoch < old->terms.epoch) {
		bwl_fail(e, ESTALE, "the root goes back to epoch %llu from %llu",
			 (unsigned long long)r->terms.epoch, (unsigned long long)old->terms.epoch);
		err = bad(e, ESTALE, "signed-old");
	}
	return err ? err : enough(r, v, "its own", e);
}

int bwl_root_next(const struct bwl_root *old, const char *bytes, size_t len, struct bwl_root **ret,
		  struct bwl_err *e)
{
	BWL_AUTO(bwl_root_free) struct bwl_root *r = bwl_must(calloc(1, sizeof(*r)));
	struct bwl_envelope v;
	int err = bwl_envelope_parse(bytes, len, &v, e);

	if (err)
		return err;
	err = read_root(old, &v, r, e);
	bwl_envelope_free(&v);
	if (!err)
		*ret = bwl_take_ptr(&r);
	return err;
}

int bwl_root_first(const char *bytes, size_t len, struct bwl_root **ret, struct bwl_err *e)
{
	return bwl_root_next(NULL, bytes, len, ret, e);
}

void bwl_root_free(struct bwl_root *r)
{
	free(r);
}

const char *bwl_root_fleet(const struct bwl_root *r)
{
	return r->fleet;
}

const struct bwl_signed_terms *bwl_root_terms(const struct bwl_root *r)
{
	return &r->terms;
}

const uint8_t *bwl_root_digest(const struct bwl_root *r)
{
	return r->digest;
}

unsigned bwl_root_threshold(const struct bwl_root *r, enum bwl_role role)
{
	return r->threshold[role];
}

const char *bwl_root_owner(const struct bwl_root *r, const char *id, enum bwl_role role)
{
	const struct root_key *k = find(r, id);

	return k && k->in[role] ? k->owner : NULL;
}

bool bwl_root_keeps(const struct bwl_root *a, const struct bwl_root *b, enum bwl_role role)
{
	for (size_t i = 0; i < a->nkeys; i++)
		if (a->key[i].in[role] && !bwl_root_owner(b, a->key[i].id, role))
			return false;
	return true;
}
