// SPDX-License-Identifier: GPL-2.0-or-later
/* See log.h. */
#include <jansson.h>
#include <string.h>
#include "log.h"

static json_t *note_json(const struct log_head *h)
{
	return *h->note ? json_string(h->note) : json_null();
}

bool log_is_before(const struct bwl_signed_terms *enrolled, uint64_t epoch, uint64_t version)
{
	return enrolled->epoch < epoch || (enrolled->epoch == epoch && enrolled->version < version);
}

char *log_state_text(const struct log_state *c)
{
	char key[BWL_NOTE_KEY_TEXT];
	json_t *o = json_pack(
		"{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:s, s:o}", "key",
		*c->key.name ? json_string(bwl_note_key_format(&c->key, false, key)) : json_null(),
		"seen", note_json(&c->seen), "cosigned", note_json(&c->cosigned), "cosigned_at",
		(json_int_t)c->cosigned_s, "number", (json_int_t)c->number, "enrolled_epoch",
		(json_int_t)c->enrolled_epoch, "enrolled_version", (json_int_t)c->enrolled_version,
		"wrong", c->wrong, "evidence", note_json(&c->evidence));
	char *text = bwl_must(json_dumps(bwl_must(o), JSON_COMPACT));

	json_decref(o);
	return text;
}

bool log_head_set(struct log_head *h, const char *note, size_t len)
{
	if (len >= sizeof(h->note) || bwl_checkpoint_read(note, len, &h->c, NULL))
		return false;
	memcpy(h->note, note, len);
	h->note[len] = '\0';
	return true;
}

static bool take_head(const json_t *o, const char *key, struct log_head *ret)
{
	const json_t *v = json_object_get(o, key);

	return json_is_null(v) || (json_is_string(v) &&
				   log_head_set(ret, json_string_value(v), json_string_length(v)));
}

static bool take_key(const json_t *v, struct bwl_note_key *ret)
{
	return json_is_null(v) ||
	       (json_is_string(v) && !bwl_note_key_parse(json_string_value(v), ret, NULL) &&
		!ret->can_sign);
}

int log_state_parse(const void *at, size_t len, struct log_state *ret, struct bwl_err *e)
{
	json_t *o = json_loadb(at, len, JSON_REJECT_DUPLICATES, NULL);
	const char *wrong = json_string_value(json_object_get(o, "wrong"));
	const json_t *when = json_object_get(o, "cosigned_at");
	bool ok;

	memset(ret, 0, sizeof(*ret));
	ok = wrong && strlen(wrong) < sizeof(ret->wrong) && json_is_integer(when) &&
	     take_key(json_object_get(o, "key"), &ret->key) && take_head(o, "seen", &ret->seen) &&
	     take_head(o, "cosigned", &ret->cosigned) && take_head(o, "evidence", &ret->evidence);
	if (ok) {
		strcpy(ret->wrong, wrong);
		ret->cosigned_s = json_integer_value(when);
		/* older controllers wrote none */
		ret->number = (uint64_t)json_integer_value(json_object_get(o, "number"));
		ret->enrolled_epoch = (uint64_t)json_integer_value(
			json_object_get(o, "enrolled_epoch"));
		ret->enrolled_version = (uint64_t)json_integer_value(
			json_object_get(o, "enrolled_version"));
	} else {
		memset(ret, 0, sizeof(*ret));
	}
	json_decref(o);
	return ok ? 0
		  : bwl_fail(e, EBADMSG,
			     "what was kept of an audit log is not what a controller wrote");
}
