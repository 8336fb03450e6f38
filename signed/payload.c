// SPDX-License-Identifier: GPL-2.0-or-later
/* See payload.h. */
#include <string.h>
#include <bwl/encode.h>
#include <bwl/units.h>
#include "audit/signed_note.h"
#include "signed/closing.h"
#include "signed/envelope.h"
#include "signed/payload.h"
#include "signed/text.h"

enum kind {
	NAME,
	TEXT,
	NAMES,
	LABELS,
	DIGEST,
	DIGESTS,
	NUMBER,
	PERCENT,
	SPAN,
	MOMENT,
	MOMENT_MS, /* or in whole seconds */
	YES,
	MAP,
	CLOSINGS,
	LOG_KEY
};

static const char *const domain[] = {
	[NAME] = "must be a name of 1 to 31 of A-Z a-z 0-9 . _ -, not beginning with -",
	[TEXT] = "must be text, not empty",
	[NAMES] = "must be a list of names, without duplicates",
	[LABELS] = "must be a list of KEY=VALUE, without duplicates",
	[DIGEST] = "must be a SHA-256 in 64 hex digits",
	[DIGESTS] = "must be a list of SHA-256 in 64 hex digits, without duplicates",
	[NUMBER] = "must be a whole number from 1",
	[PERCENT] = "must be a whole number from 1 to 100",
	[SPAN] = "must be a time such as 15m, from 1s to 366d",
	[MOMENT] = "must be a time such as 2027-01-31T18:00:00Z",
	[MOMENT_MS] = "must be a time such as 2027-01-31T18:00:00Z or 2027-01-31T18:00:00.123Z",
	[YES] = "must be true, or left out",
	[MAP] = "must be a mapping",
	[CLOSINGS] = "must be a list of documents that close, as a controller makes it",
	[LOG_KEY] =
		"must be the public key of the tray's audit log, NAME+ID+BASE64, as printed by `bwlimit-ctl audit init`",
};

struct key {
	int type; /* enum bwl_signed_type; -1: all types */
	const char *name;
	enum kind kind;
	bool must;
};

static const struct key keys[] = { { -1, "name", NAME, true },
				   { -1, "epoch", NUMBER, true },
				   { -1, "version", NUMBER, true },
				   { -1, "issued_at", MOMENT_MS, true },
				   { -1, "not_after", MOMENT, true },
#define X(t, n, k, m) { BWL_SIGNED_##t, n, k, m },
				   BWL_PAYLOAD_KEYS(X)
#undef X
};
#define NKEYS (sizeof(keys) / sizeof(keys[0]))

static int malformed(struct bwl_err *e, enum bwl_signed_type type, const char *key,
		     const char *what)
{
	bwl_fail(e, EBADMSG, "this is not a valid %s: `%.64s` %s", bwl_signed_word(type), key,
		 what);
	if (e)
		e->id = "signed-malformed";
	return -EBADMSG;
}

static bool is_digest(const char *s)
{
	uint8_t d[32];

	return bwl_hex_decode(s, d, sizeof(d));
}

static bool is_span(const char *s)
{
	uint64_t ns;

	return !bwl_parse_time(s, &ns, NULL) && ns >= 1000000000ULL &&
	       ns <= 366 * 86400 * 1000000000ULL;
}

static bool is_log_key(const char *s)
{
	struct bwl_note_key k;

	return !bwl_note_key_parse(s, &k, NULL) && !k.can_sign && k.type == BWL_NOTE_ED25519;
}

static bool fits_word(enum kind kind, const char *s)
{
	int ms;
	int64_t at;

	switch (kind) {
	case NAME:
	case NAMES:
		return bwl_is_name(s, strlen(s));
	case TEXT:
		return *s;
	case LABELS:
		return bwl_is_label(s, strlen(s));
	case DIGEST:
	case DIGESTS:
		return is_digest(s);
	case SPAN:
		return is_span(s);
	case MOMENT:
		return bwl_moment_parse(s, &at);
	case MOMENT_MS:
		return bwl_moment_ms_parse(s, &at, &ms);
	case LOG_KEY:
		return is_log_key(s);
	default:
		return false;
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool fits_list(enum kind kind, const json_t *v)
{
	size_t n = json_array_size(v), i;
	const char **word;
	const json_t *o;
	bool ok = json_is_array(v) && n && n <= BWL_PAYLOAD_LIST_MAX;

	if (!ok)
		return false;
	word = bwl_must(calloc(n, sizeof(*word)));
	json_array_foreach(v, i, o)
	{
		word[i] = json_string_value(o);
		ok = ok && word[i] && fits_word(kind, word[i]);
	}
	if (ok)
		qsort(word, n, sizeof(*word), by_text);
	for (i = 1; ok && i < n; i++)
		ok = strcmp(word[i - 1], word[i]);
	free(word);
	return ok;
}

static bool fits_closings(const json_t *v)
{
	struct bwl_closing one;
	const json_t *o;
	size_t i;

	json_array_foreach(v, i, o) if (!bwl_closing_read(o, &one)) return false;
	return json_is_array(v) && json_array_size(v) <= BWL_PAYLOAD_LIST_MAX;
}

static bool fits(enum kind kind, const json_t *v)
{
	switch (kind) {
	case NAMES:
	case LABELS:
	case DIGESTS:
		return fits_list(kind, v);
	case NUMBER:
		return json_is_integer(v) && json_integer_value(v) > 0;
	case PERCENT:
		return json_is_integer(v) && json_integer_value(v) > 0 &&
		       json_integer_value(v) <= 100;
	case YES:
		return json_is_true(v);
	case MAP:
		return json_is_object(v);
	case CLOSINGS:
		return fits_closings(v);
	default:
		return json_is_string(v) && fits_word(kind, json_string_value(v));
	}
}

static const struct key *find(enum bwl_signed_type type, const char *name)
{
	for (size_t i = 0; i < NKEYS; i++)
		if ((keys[i].type < 0 || keys[i].type == (int)type) && !strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

/* Checks what the table of keys cannot express. */
static int check(enum bwl_signed_type type, const struct bwl_signed_terms *t, const json_t *o,
		 struct bwl_err *e)
{
	const json_t *v;
	size_t i;

	if (t->not_after_s <= t->issued_s)
		return malformed(e, type, "not_after", "must be later than `issued_at`");
	json_array_foreach(
		json_object_get(o, "lifts"), i,
		v) if (strcmp(json_string_value(v), "stop") &&
		       strcmp(json_string_value(v),
			      "clamp")) return malformed(e, type, "lifts",
							 "must be a list of `stop` and `clamp`");
	if (type == BWL_SIGNED_REVOCATION && !json_object_get(o, "peers") &&
	    !json_object_get(o, "all") && !json_object_get(o, "documents") &&
	    !json_object_get(o, "new_epoch"))
		return malformed(
			e, type, "peers",
			"is missing, and so are `all`, `documents` and `new_epoch`: one is needed");
	return 0;
}

static int take(enum bwl_signed_type type, json_t *o, struct bwl_signed_terms *ret,
		struct bwl_err *e)
{
	const char *name;
	json_t *v;

	json_object_foreach(o, name, v)
	{
		const struct key *k = find(type, name);

		if (!k)
			return malformed(e, type, name, "is not known");
		if (!fits(k->kind, v))
			return malformed(e, type, name, domain[k->kind]);
	}
	for (size_t i = 0; i < NKEYS; i++)
		if (keys[i].must && find(type, keys[i].name) == &keys[i] &&
		    !json_object_get(o, keys[i].name))
			return malformed(e, type, keys[i].name, "is missing");
	strcpy(ret->name, bwl_payload_text(o, "name"));
	ret->epoch = bwl_payload_number(o, "epoch");
	ret->version = bwl_payload_number(o, "version");
	bwl_moment_ms_parse(bwl_payload_text(o, "issued_at"), &ret->issued_s, &ret->issued_ms);
	bwl_moment_parse(bwl_payload_text(o, "not_after"), &ret->not_after_s);
	return check(type, ret, o, e);
}

/* The terms' line, with a policy's text, which has bytes of its own. */
static int body_of(const struct bwl_envelope *v, json_t **ret, struct bwl_err *e)
{
	const char *text = (const char *)v->payload + v->text_at;
	size_t n = v->len - v->text_at;
	json_t *o, *string;

	if (v->form == BWL_FORM_DSSE) {
		*ret = json_loadb((const char *)v->payload, v->len, JSON_REJECT_DUPLICATES, NULL);
		return 0;
	}
	o = json_loadb((const char *)v->payload + v->terms_at, v->nterms, JSON_REJECT_DUPLICATES,
		       NULL);
	*ret = o;
	if (!json_is_object(o))
		return 0;
	if (json_object_get(o, "text"))
		return malformed(e, v->type, "text", "must follow the blank line");
	if (v->type != BWL_SIGNED_POLICY)
		return n ? malformed(e, v->type, "bytes", "must be 0: only a policy has a text")
			 : 0;
	string = n && !memchr(text, '\0', n) ? json_stringn(text, n) : NULL;
	if (!string)
		return malformed(e, v->type, "text", "must be UTF-8, not empty, without NUL");
	json_object_set_new(o, "text", string);
	return 0;
}

int bwl_payload_parse(const struct bwl_envelope *v, struct bwl_signed_terms *ret, json_t **ret_body,
		      struct bwl_err *e)
{
	json_t *o = NULL;
	int r = body_of(v, &o, e);

	*ret_body = NULL;
	if (!r)
		r = bwl_payload_check(v->type, o, ret, e);
	if (r)
		json_decref(o);
	else
		*ret_body = o;
	return r;
}

int bwl_payload_check(enum bwl_signed_type type, const json_t *body, struct bwl_signed_terms *ret,
		      struct bwl_err *e)
{
	*ret = (struct bwl_signed_terms){ 0 };
	if (!json_is_object(body))
		return malformed(e, type, "payload", "must be a JSON object");
	return take(type, (json_t *)(uintptr_t)body, ret, e);
}

const char *bwl_payload_text(const json_t *body, const char *key)
{
	return json_string_value(json_object_get(body, key));
}

bool bwl_payload_yes(const json_t *body, const char *key)
{
	return json_is_true(json_object_get(body, key));
}

uint64_t bwl_payload_number(const json_t *body, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(body, key));
}

uint64_t bwl_payload_span(const json_t *body, const char *key, uint64_t otherwise_ns)
{
	const char *s = bwl_payload_text(body, key);
	uint64_t ns;

	return s && !bwl_parse_time(s, &ns, NULL) ? ns : otherwise_ns;
}

bool bwl_payload_lists(const json_t *body, const char *key, const char *word)
{
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(body, key), i,
			   o) if (!strcmp(json_string_value(o), word)) return true;
	return false;
}
