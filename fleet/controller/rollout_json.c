/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rollout as it lies in the store: rollout.h. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "bwl/encode.h"
#include "rollout.h"

static const char *const phases[_ROLLOUT_PHASES] = {
	[ROLLOUT_GOING] = "going",
	[ROLLOUT_DONE] = "done",
	[ROLLOUT_BACK] = "back",
	[ROLLOUT_STUCK] = "stuck",
};

const char *rollout_phase_word(enum rollout_phase p)
{
	return phases[p];
}

char *rollout_text(const struct rollout *r)
{
	char from[65], to[65], *text;
	json_t *o = json_pack("{s:s, s:s, s:o, s:s, s:I, s:I, s:I, s:I, s:s, s:I, s:s}", "name",
			      r->name, "phase", phases[r->phase], "from",
			      r->has_from ? json_string(bwl_hex_encode(r->from, 32, from))
					  : json_null(),
			      "to", bwl_hex_encode(r->to, 32, to), "to_version",
			      (json_int_t)r->to_version, "from_lease_s",
			      (json_int_t)r->from_lease_s, "to_lease_s", (json_int_t)r->to_lease_s,
			      "version", (json_int_t)r->version, "salt", r->salt, "percent",
			      (json_int_t)r->percent, "why", r->why);

	text = bwl_must(json_dumps(bwl_must(o), JSON_COMPACT));
	json_decref(o);
	return text;
}

static bool take_number(const json_t *o, const char *key, uint64_t *ret)
{
	const json_t *v = json_object_get(o, key);

	*ret = (uint64_t)json_integer_value(v);
	return json_is_integer(v) && json_integer_value(v) >= 0;
}

static bool take_text(const json_t *o, const char *key, char *ret, size_t size)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s && snprintf(ret, size, "%s", s) < (int)size;
}

static bool take_digest(const json_t *o, const char *key, uint8_t ret[static 32])
{
	const char *s = json_string_value(json_object_get(o, key));

	return s && bwl_hex_decode(s, ret, 32);
}

static bool take(const json_t *o, struct rollout *r)
{
	const char *phase = json_string_value(json_object_get(o, "phase"));
	uint64_t percent;

	while (phase && r->phase < _ROLLOUT_PHASES && strcmp(phase, phases[r->phase]))
		r->phase++;
	r->has_from = !json_is_null(json_object_get(o, "from"));
	if (!phase || r->phase == _ROLLOUT_PHASES ||
	    !take_text(o, "name", r->name, sizeof(r->name)) ||
	    !take_text(o, "salt", r->salt, sizeof(r->salt)) ||
	    !take_text(o, "why", r->why, sizeof(r->why)) || !take_digest(o, "to", r->to) ||
	    (r->has_from && !take_digest(o, "from", r->from)) ||
	    !take_number(o, "to_version", &r->to_version) ||
	    !take_number(o, "from_lease_s", &r->from_lease_s) ||
	    !take_number(o, "to_lease_s", &r->to_lease_s) ||
	    !take_number(o, "version", &r->version) || !take_number(o, "percent", &percent))
		return false;
	r->percent = (unsigned)percent;
	return percent <= 100;
}

int rollout_parse(const void *at, size_t len, struct rollout *ret, struct bwl_err *e)
{
	json_t *o = json_loadb(at, len, JSON_REJECT_DUPLICATES, NULL);
	bool ok;

	*ret = (struct rollout){ 0 };
	ok = json_is_object(o) && take(o, ret);
	json_decref(o);
	return ok ? 0
		  : bwl_fail(e, EBADMSG,
			     "the state of a rollout in the store is not what a controller wrote");
}
