/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See status.h. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "bwl/encode.h"
#include "status.h"

static int no_good(struct bwl_err *e, const char *tray, const char *what)
{
	return bwl_fail(e, EBADMSG, "the status of %.79s: %s", tray, what);
}

/* A number that is not there is 0; false: it is something else. */
static bool take_number(const json_t *o, const char *key, uint64_t *ret)
{
	const json_t *v = json_object_get(o, key);

	*ret = (uint64_t)json_integer_value(v);
	return !v || (json_is_integer(v) && json_integer_value(v) >= 0);
}

static bool take_policy(const json_t *v, struct tray_status *s)
{
	const char *sha = json_string_value(json_object_get(v, "sha256"));

	if (!v || json_is_null(v))
		return true;
	s->has_policy = true;
	return sha && bwl_hex_decode(sha, s->policy, sizeof(s->policy)) &&
	       take_number(v, "version", &s->policy_version);
}

static bool take_refused(const json_t *list, struct tray_status *s)
{
	const char *what, *text;
	json_t *v;

	if (list && !json_is_object(list))
		return false;
	json_object_foreach((json_t *)list, what, v)
	{
		struct status_refused *r = &s->refused[s->nrefused];

		if (s->nrefused == STATUS_REFUSED_MOST || strlen(what) >= sizeof(r->what) ||
		    !take_number(v, "version", &r->version))
			return false;
		text = json_string_value(json_object_get(v, "text"));
		snprintf(r->what, sizeof(r->what), "%s", what);
		snprintf(r->text, sizeof(r->text), "%.150s", text ? text : "");
		s->nrefused++;
	}
	return true;
}

/* "origin\nsize\nroot", as the body of a checkpoint has it; its last newline may be there. */
static bool take_checkpoint(const json_t *v, struct tray_status *s)
{
	const char *at = json_string_value(v), *size, *root;
	size_t n;

	if (!v || json_is_null(v))
		return true;
	size = at ? strchr(at, '\n') : NULL;
	root = size ? strchr(size + 1, '\n') : NULL;
	if (!root || size == at || (size_t)(size - at) >= sizeof(s->origin))
		return false;
	snprintf(s->origin, sizeof(s->origin), "%.*s", (int)(size - at), at);
	for (const char *c = s->origin; *c; c++)
		if (*c <= ' ' || *c > '~')
			return false;
	n = (size_t)(root - ++size);
	if (!n || n > 18 || strspn(size, "0123456789") != n || (n > 1 && *size == '0'))
		return false;
	for (; n--; size++)
		s->size = s->size * 10 + (uint64_t)(*size - '0');
	n = strcspn(++root, "\n");
	if (root[n] && root[n + 1])
		return false;
	s->has_checkpoint = true;
	return bwl_base64_decode(root, n, s->root, sizeof(s->root)) == sizeof(s->root);
}

/* {"from": SIZE, "hashes": [BASE64, …]} */
static bool take_proof(const json_t *v, struct tray_status *s)
{
	const json_t *list = json_object_get(v, "hashes"), *h;
	size_t i;

	if (!v || json_is_null(v))
		return true;
	if (!json_is_array(list) || json_array_size(list) > STATUS_PROOF_MOST ||
	    !take_number(v, "from", &s->proof_from))
		return false;
	json_array_foreach(list, i, h)
	{
		const char *text = json_string_value(h);

		if (!text || bwl_base64_decode(text, strlen(text), s->proof[i], 32) != 32)
			return false;
	}
	s->nproof = (unsigned)json_array_size(list);
	return true;
}

static int take(const char *tray, const json_t *o, struct tray_status *s, struct bwl_err *e)
{
	const char *name = json_string_value(json_object_get(o, "tray"));
	const json_t *health = json_object_get(o, "health");

	if (!name || strcmp(name, tray))
		return no_good(e, tray, "`tray` is not its own name");
	if (!take_policy(json_object_get(o, "policy"), s))
		return no_good(e, tray,
			       "`policy` is no {\"sha256\": HEX, \"version\": N}, or null");
	if (!take_refused(json_object_get(o, "refused"), s))
		return no_good(e, tray,
			       "`refused` is no {\"KIND/NAME\": {\"version\": N}}, at most four");
	if (!take_checkpoint(json_object_get(o, "checkpoint"), s))
		return no_good(e, tray, "`checkpoint` is no origin, size and root, a line each");
	if (!take_proof(json_object_get(o, "proof"), s))
		return no_good(e, tray, "`proof` is no {\"from\": SIZE, \"hashes\": [BASE64, …]}");
	if (health &&
	    (!json_is_object(health) || !take_number(health, "passed_packets", &s->passed) ||
	     !take_number(health, "dropped_packets", &s->dropped) ||
	     !take_number(health, "sas_down", &s->sas_down)))
		return no_good(e, tray, "`health` has no whole numbers from 0");
	return 0;
}

int status_parse(const char *tray, const void *at, size_t len, struct tray_status *ret,
		 struct bwl_err *e)
{
	json_t *o = len <= STATUS_BYTES_MOST ? json_loadb(at, len, JSON_REJECT_DUPLICATES, NULL)
					     : NULL;
	int r;

	*ret = (struct tray_status){ 0 };
	if (json_is_object(o))
		r = take(tray, o, ret, e);
	else
		r = no_good(e, tray, "no JSON object of at most 4096 bytes");
	json_decref(o);
	if (r)
		*ret = (struct tray_status){ 0 };
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
