// SPDX-License-Identifier: GPL-2.0-or-later
/* See rollout_state.h. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "bwl/encode.h"
#include "rollout_state.h"

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
	json_t *o = json_pack("{s:s, s:s, s:o, s:s, s:I, s:I, s:I, s:I, s:s, s:I, s:s, s:I}",
			      "name", r->name, "phase", phases[r->phase], "from",
			      r->has_from ? json_string(bwl_hex_encode(r->from, 32, from))
					  : json_null(),
			      "to", bwl_hex_encode(r->to, 32, to), "to_version",
			      (json_int_t)r->to_version, "from_lease_s",
			      (json_int_t)r->from_lease_s, "to_lease_s", (json_int_t)r->to_lease_s,
			      "version", (json_int_t)r->version, "salt", r->salt, "percent",
			      (json_int_t)r->percent, "why", r->why, "since_s",
			      (json_int_t)r->since_s);

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
	uint64_t percent, since_s;

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
	/* Controllers before 0.3 did not write it. */
	if (json_object_get(o, "since_s") && !take_number(o, "since_s", &since_s))
		return false;
	r->since_s = json_integer_value(json_object_get(o, "since_s"));
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

char *rollout_health_text(const struct rollout_health *h)
{
	json_t *stages = json_array(), *waits = json_array(), *o;
	char *text;

	for (unsigned i = 0; i < h->nstages; i++)
		json_array_append_new(stages, json_integer(h->stage[i]));
	for (unsigned i = 0; i < h->nwaits; i++)
		json_array_append_new(waits, json_string(h->waits[i]));
	o = json_pack("{s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:s, s:o}", "version",
		      (json_int_t)h->version, "said_s", (json_int_t)h->said_s, "soak_until_s",
		      (json_int_t)h->soak_until_s, "stages", stages, "judged",
		      (json_int_t)h->judged, "unwell", (json_int_t)h->unwell, "bad",
		      (json_int_t)h->bad, "why", h->why, "waits", waits);
	text = bwl_must(json_dumps(bwl_must(o), JSON_COMPACT));
	json_decref(o);
	return text;
}

static bool take_small(const json_t *o, const char *key, uint64_t most, unsigned *ret)
{
	uint64_t v;

	if (!take_number(o, key, &v) || v > most)
		return false;
	*ret = (unsigned)v;
	return true;
}

static bool take_lists(const json_t *o, struct rollout_health *h)
{
	const json_t *stages = json_object_get(o, "stages"), *waits = json_object_get(o, "waits"),
		     *v;
	size_t i;

	if (!json_is_array(stages) || json_array_size(stages) > ROLLOUT_STAGES_MAX ||
	    !json_is_array(waits) || json_array_size(waits) > ROLLOUT_WAITS)
		return false;
	json_array_foreach(stages, i, v)
	{
		if (!json_is_integer(v) || json_integer_value(v) < 1 || json_integer_value(v) > 100)
			return false;
		h->stage[h->nstages++] = (unsigned)json_integer_value(v);
	}
	json_array_foreach(waits, i, v)
	{
		const char *name = json_string_value(v);

		if (!name || !bwl_store_name_ok(name, strlen(name)))
			return false;
		snprintf(h->waits[h->nwaits++], sizeof(*h->waits), "%s", name);
	}
	return true;
}

static bool take_health(const json_t *o, struct rollout_health *h)
{
	uint64_t said_s, soak_until_s;

	if (!take_number(o, "version", &h->version) || !take_number(o, "said_s", &said_s) ||
	    !take_number(o, "soak_until_s", &soak_until_s) ||
	    !take_small(o, "judged", UINT32_MAX, &h->judged) ||
	    !take_small(o, "unwell", UINT32_MAX, &h->unwell) ||
	    !take_small(o, "bad", UINT32_MAX, &h->bad) ||
	    !take_text(o, "why", h->why, sizeof(h->why)) || !take_lists(o, h))
		return false;
	h->said_s = (int64_t)said_s;
	h->soak_until_s = (int64_t)soak_until_s;
	return true;
}

int rollout_health_parse(const void *at, size_t len, struct rollout_health *ret, struct bwl_err *e)
{
	json_t *o = json_loadb(at, len, JSON_REJECT_DUPLICATES, NULL);
	bool ok;

	*ret = (struct rollout_health){ 0 };
	ok = json_is_object(o) && take_health(o, ret);
	json_decref(o);
	if (ok)
		return 0;
	*ret = (struct rollout_health){ 0 };
	return bwl_fail(e, EBADMSG, "how a rollout stands is not what a controller wrote");
}
