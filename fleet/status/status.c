// SPDX-License-Identifier: GPL-2.0-or-later
/* See status.h. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "bwl/encode.h"
#include "bwl/text.h"
#include "status.h"

static int no_good(struct bwl_err *e, const char *tray, const char *what)
{
	return bwl_fail(e, EBADMSG, "the status of %.79s: %s", tray, what);
}

/* A missing number is 0; false: it is not a number. */
static bool take_number(const json_t *o, const char *key, uint64_t *ret)
{
	const json_t *v = json_object_get(o, key);

	*ret = (uint64_t)json_integer_value(v);
	return !v || (json_is_integer(v) && json_integer_value(v) >= 0);
}

/* A missing word is empty. */
static bool take_word(const json_t *o, const char *key, char *ret, size_t size)
{
	const json_t *v = json_object_get(o, key);

	bwl_text_ascii(ret, size, json_is_string(v) ? json_string_value(v) : "");
	return !v || json_is_string(v);
}

/* "KIND/NAME" */
static bool take_what(const char *what, char ret[static STATUS_WHAT])
{
	bwl_text_ascii(ret, STATUS_WHAT, what);
	return strlen(what) < STATUS_WHAT;
}

static bool take_digest(const json_t *o, uint8_t ret[static 32])
{
	const char *sha = json_string_value(json_object_get(o, "sha256"));

	return sha && bwl_hex_decode(sha, ret, 32);
}

static bool take_policy(const json_t *v, struct tray_status *s)
{
	if (!v || json_is_null(v))
		return true;
	s->has_policy = true;
	return take_word(v, "name", s->policy_name, sizeof(s->policy_name)) &&
	       take_digest(v, s->policy) && take_number(v, "version", &s->policy_version);
}

static bool take_taken(const json_t *list, struct status_taken *ret)
{
	const char *what;
	json_t *v;

	if (list && !json_is_object(list))
		return false;
	json_object_foreach((json_t *)list, what, v)
	{
		if (ret->n == STATUS_TAKEN_MAX || !take_what(what, ret->doc[ret->n].what) ||
		    !take_digest(v, ret->doc[ret->n].digest) ||
		    !take_number(v, "version", &ret->doc[ret->n].version))
			return false;
		ret->n++;
	}
	return true;
}

static bool take_refused(const json_t *list, struct tray_status *s)
{
	const char *what;
	json_t *v;

	if (list && !json_is_object(list))
		return false;
	json_object_foreach((json_t *)list, what, v)
	{
		struct status_refused *r = &s->refused[s->nrefused];

		if (s->nrefused == STATUS_REFUSED_MAX || !take_what(what, r->what) ||
		    !take_number(v, "version", &r->version) ||
		    !take_word(v, "id", r->id, sizeof(r->id)) ||
		    !take_word(v, "text", r->text, sizeof(r->text)))
			return false;
		s->nrefused++;
	}
	return true;
}

static bool take_alarms(const json_t *list, struct tray_status *s)
{
	const json_t *v;
	size_t i;

	if (list && !json_is_array(list))
		return false;
	json_array_foreach(list, i, v)
	{
		if (!json_is_string(v))
			return false;
		s->not_in_force |= !strcmp(json_string_value(v), "not-in-force");
	}
	s->alarms = (unsigned)json_array_size(list);
	return true;
}

/* A signed note, and the key that supposedly signed it. */
static bool take_checkpoint(const json_t *v, const json_t *key, struct tray_status *s)
{
	const char *note = json_string_value(v), *text = json_string_value(key);

	if (!v || json_is_null(v))
		return true;
	if (!note || json_string_length(v) >= sizeof(s->note) || !text ||
	    bwl_note_key_parse(text, &s->key, NULL) || s->key.can_sign ||
	    bwl_checkpoint_read(note, json_string_length(v), &s->checkpoint, NULL) ||
	    s->checkpoint.size > INT64_MAX)
		return false;
	memcpy(s->note, note, json_string_length(v));
	s->has_checkpoint = true;
	return true;
}

/* {"from": SIZE, "hashes": [BASE64, …]} */
static bool take_proof(const json_t *v, struct tray_status *s)
{
	const json_t *list = json_object_get(v, "hashes"), *h;
	size_t i;

	if (!v || json_is_null(v))
		return true;
	if (!json_is_array(list) || json_array_size(list) > STATUS_PROOF_MAX ||
	    !take_number(v, "from", &s->proof_from))
		return false;
	json_array_foreach(list, i, h)
	{
		const char *text = json_string_value(h);

		if (!text || !bwl_hash_parse(text, strlen(text), &s->proof[i]))
			return false;
	}
	s->nproof = (unsigned)json_array_size(list);
	return true;
}

static int take(const char *tray, const json_t *o, struct tray_status *s,
		struct status_taken *taken, struct bwl_err *e)
{
	const char *name = json_string_value(json_object_get(o, "tray"));
	const json_t *health = json_object_get(o, "health");
	uint64_t closed = 0, said_s, up_s;

	if (!name || strcmp(name, tray))
		return no_good(e, tray, "`tray` must be its own name");
	if (!take_policy(json_object_get(o, "policy"), s))
		return no_good(
			e, tray,
			"`policy` must be {\"name\": NAME, \"sha256\": HEX, \"version\": N}, or null");
	if (!take_taken(json_object_get(o, "taken"), taken))
		return no_good(
			e, tray,
			"`taken` must be {\"KIND/NAME\": {\"version\": N, \"sha256\": HEX}}, at most 16");
	if (!take_refused(json_object_get(o, "refused"), s))
		return no_good(e, tray,
			       "`refused` must be {\"KIND/NAME\": {\"version\": N}}, at most four");
	if (!take_alarms(json_object_get(o, "alarms"), s))
		return no_good(e, tray, "`alarms` must be a list of words");
	if (!take_number(o, "closed_count", &closed) || closed > UINT32_MAX)
		return no_good(
			e, tray,
			"`closed_count` must be a whole number of peers, from 0 to 4294967295");
	s->closed = (uint32_t)closed;
	s->fresh = json_is_true(json_object_get(o, "fresh"));
	if (!take_number(o, "number", &s->number))
		return no_good(e, tray, "`number` must be a whole number from 0");
	if (!take_number(o, "said_at", &said_s) || !take_number(o, "up_s", &up_s) ||
	    said_s > INT64_MAX / 2 || up_s > INT64_MAX / 2)
		return no_good(e, tray,
			       "`said_at` and `up_s` must be whole numbers of seconds, from 0");
	s->said_s = (int64_t)said_s;
	s->up_s = (int64_t)up_s;
	if (!take_number(o, "ledger_seq", &s->ledger_seq))
		return no_good(e, tray, "`ledger_seq` must be a whole number from 0");
	if (!take_checkpoint(json_object_get(o, "checkpoint"), json_object_get(o, "log_key"), s))
		return no_good(
			e, tray,
			"`checkpoint` must be a signed note of origin, size and root, and `log_key` NAME+ID+BASE64");
	if (!take_proof(json_object_get(o, "proof"), s))
		return no_good(e, tray,
			       "`proof` must be {\"from\": SIZE, \"hashes\": [BASE64, …]}");
	if (health &&
	    (!json_is_object(health) || !take_number(health, "passed_packets", &s->passed) ||
	     !take_number(health, "dropped_packets", &s->dropped) ||
	     !take_number(health, "sas_down", &s->sas_down)))
		return no_good(
			e, tray,
			"`health` must have whole numbers from 0 in `passed_packets`, `dropped_packets` and `sas_down`");
	return 0;
}

int status_parse(const char *tray, const void *at, size_t len, struct tray_status *ret,
		 struct status_taken *ret_taken, struct bwl_err *e)
{
	json_t *o = len <= STATUS_BYTES_MAX ? json_loadb(at, len, JSON_REJECT_DUPLICATES, NULL)
					    : NULL;
	struct status_taken taken = { 0 };
	int r;

	*ret = (struct tray_status){ 0 };
	if (json_is_object(o))
		r = take(tray, o, ret, &taken, e);
	else
		r = no_good(e, tray, "must be a JSON object of at most 4096 bytes");
	json_decref(o);
	if (r) {
		*ret = (struct tray_status){ 0 };
		taken.n = 0;
	}
	if (ret_taken)
		*ret_taken = taken;
	return r;
}

const struct status_refused *status_refuses(const struct tray_status *s, const char *what,
					    uint64_t version)
{
	for (unsigned i = 0; i < s->nrefused; i++)
		if (s->refused[i].version == version && !strcmp(s->refused[i].what, what))
			return &s->refused[i];
	return NULL;
}
