// SPDX-License-Identifier: GPL-2.0-or-later
/* See entry.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "entry.h"

#define VERSION 1
#define DIGITS 20 /* of 2^64 - 1 */
#define NO_TIME "0000-00-00T00:00:00.000Z"

bool ev_totals(const struct ev_peer *peer, uint32_t n, struct ev_sum ret[static EV_TOTALS])
{
	struct ev_sum before, after;

	memset(ret, 0, EV_TOTALS * sizeof(*ret));
	for (uint32_t i = 0; i < n; i++)
		if (!ev_peer_counters(&peer[i], &before, &after) ||
		    !ev_sum_add(&ret[EV_BEFORE], &before) || !ev_sum_add(&ret[EV_AFTER], &after) ||
		    !ev_sum_add(&ret[EV_FLOWS], &peer[i].flows) ||
		    !ev_sum_add(&ret[EV_REMAINDER], &peer[i].remainder) ||
		    !ev_sum_add(&ret[EV_UNCLASSED], &peer[i].unclassed))
			return false;
	return true;
}

bool ev_entry_of(const struct ev_interval *v, uint64_t epoch, const struct bwl_hash *previous,
		 struct ev_entry *ret)
{
	*ret = (struct ev_entry){ .id = v->id, .epoch = epoch, .slots = v->slots, .root = v->root };
	if (previous)
		ret->previous = *previous;
	for (uint32_t i = 0; i < v->slots; i++)
		ret->id.balanced &= v->peer[i].balanced;
	return ev_totals(v->peer, v->slots, ret->total);
}

static json_t *number(uint64_t n)
{
	char text[DIGITS + 1];

	snprintf(text, sizeof(text), "%0*" PRIu64, DIGITS, n);
	return json_string(text);
}

static bool parse_number(const json_t *o, uint64_t *ret)
{
	const char *s = json_string_value(o);

	*ret = 0;
	if (!s || json_string_length(o) != DIGITS || strspn(s, "0123456789") != DIGITS)
		return false;
	for (; *s; s++)
		if (__builtin_mul_overflow(*ret, 10, ret) ||
		    __builtin_add_overflow(*ret, (uint64_t)(*s - '0'), ret))
			return false;
	return true;
}

static json_t *numbers(const struct ev_sum *s)
{
	json_t *a = json_array();

	for (int i = 0; i < EV_NUMBERS; i++)
		json_array_append_new(a, number(s->v[i]));
	return a;
}

static bool parse_numbers(const json_t *a, struct ev_sum *ret)
{
	if (json_array_size(a) != EV_NUMBERS)
		return false;
	for (size_t i = 0; i < EV_NUMBERS; i++)
		if (!parse_number(json_array_get(a, i), &ret->v[i]))
			return false;
	return true;
}

enum kind { BOOT, NUMBER, TIME, FLAG, SUM, SLOTS, HASH };

/* The accepted values, for messages. */
static const char *const domain[] = {
	[BOOT] = "text of 1 to 39 bytes",
	[NUMBER] = "20 digits, at most 2^64 - 1",
	[TIME] = "YYYY-MM-DDTHH:MM:SS.mmmZ from 1970 on, or " NO_TIME " if it is not known",
	[FLAG] = "0 or 1",
	[SUM] = "four numbers of 20 digits, each at most 2^64 - 1",
	[SLOTS] = "a power of two up to 2^20, in 20 digits",
	[HASH] = EV_DOMAIN_HASH,
};

/*
 * All that an entry has, after its version. Flags are written as 0 or 1: `true` is shorter than
 * `false`, and every entry has the same length.
 */
#define AT(member) offsetof(struct ev_entry, member)
static const struct field {
	const char *name;
	enum kind kind;
	size_t at;
} fields[] = {
	{ "boot", BOOT, AT(id.boot) },
	{ "tables", NUMBER, AT(id.tables) },
	{ "interval", NUMBER, AT(id.interval) },
	{ "sequence", NUMBER, AT(id.sequence) },
	{ "epoch", NUMBER, AT(epoch) },
	{ "begin", TIME, AT(id.begin) },
	{ "end", TIME, AT(id.end) },
	{ "final", FLAG, AT(id.final) },
	{ "gap", FLAG, AT(id.gap) },
	{ "thinned", FLAG, AT(id.thinned) },
	{ "balanced", FLAG, AT(id.balanced) },
	{ "other_known", FLAG, AT(id.other_known) },
	{ "other", SUM, AT(id.other) },
	{ "before", SUM, AT(total[EV_BEFORE]) },
	{ "after", SUM, AT(total[EV_AFTER]) },
	{ "flows", SUM, AT(total[EV_FLOWS]) },
	{ "remainder", SUM, AT(total[EV_REMAINDER]) },
	{ "unclassed", SUM, AT(total[EV_UNCLASSED]) },
	{ "slots", SLOTS, AT(slots) },
	{ "root", HASH, AT(root) },
	{ "previous", HASH, AT(previous) },
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static json_t *field_json(const struct field *f, const struct ev_entry *x)
{
	const void *at = (const char *)x + f->at;

	switch (f->kind) {
	case BOOT:
		return json_string(at);
	case NUMBER:
		return number(*(const uint64_t *)at);
	case TIME:
		return json_string(*(const char *)at ? at : NO_TIME);
	case FLAG:
		return json_integer(*(const bool *)at);
	case SUM:
		return numbers(at);
	case SLOTS:
		return number(*(const uint32_t *)at);
	case HASH:
		return ev_bytes_json(at, 32);
	}
	return NULL;
}

json_t *ev_entry_json(const struct ev_entry *x)
{
	json_t *o = json_object();

	json_object_set_new(o, "version", json_integer(VERSION));
	for (size_t i = 0; i < FIELDS; i++)
		json_object_set_new(o, fields[i].name, field_json(&fields[i], x));
	return o;
}

static bool parse_time(const json_t *o, char ret[static EV_TIME])
{
	int64_t at;

	if (!ev_text_parse(o, ret, EV_TIME))
		return false;
	if (strcmp(ret, NO_TIME))
		return ev_time_s(ret, &at);
	memset(ret, 0, EV_TIME);
	return true;
}

static bool parse_field(const struct field *f, const json_t *o, struct ev_entry *ret)
{
	void *at = (char *)ret + f->at;
	uint64_t n;

	switch (f->kind) {
	case BOOT:
		return ev_text_parse(o, at, EV_BOOT) && *(char *)at;
	case NUMBER:
		return parse_number(o, at);
	case TIME:
		return parse_time(o, at);
	case FLAG:
		if (!ev_number_parse(o, 1, &n))
			return false;
		*(bool *)at = n;
		return true;
	case SUM:
		return parse_numbers(o, at);
	case SLOTS:
		if (!parse_number(o, &n) || !ev_is_slots(n))
			return false;
		*(uint32_t *)at = (uint32_t)n;
		return true;
	case HASH:
		return ev_bytes_parse(o, at, 32);
	}
	return false;
}

int ev_entry_parse(const json_t *data, struct ev_entry *ret, struct bwl_err *e)
{
	const char *known[FIELDS + 2] = { "version" };
	uint64_t version;

	memset(ret, 0, sizeof(*ret));
	if (!ev_number_parse(json_object_get(data, "version"), INT64_MAX, &version) || !version)
		return bwl_fail(e, EBADMSG, "the entry has no version: must be a number from 1 on");
	if (version > VERSION)
		return bwl_fail(e, EV_NEWER, "the entry is of version %llu, this program knows %d",
				(unsigned long long)version, VERSION);
	for (size_t i = 0; i < FIELDS; i++) {
		const json_t *o = json_object_get(data, fields[i].name);

		if (!parse_field(&fields[i], o, ret))
			return bwl_fail(e, EBADMSG, "the entry's `%s` %s: must be %s",
					fields[i].name, o ? "cannot be read" : "is missing",
					domain[fields[i].kind]);
		known[i + 1] = fields[i].name;
	}
	return ev_only_known(data, known, e);
}

bool ev_entry_identity(const json_t *data, struct ev_entry *ret)
{
	static const char *const wanted[] = { "boot",     "tables", "interval",
					      "sequence", "final",  "root" };
	size_t found = 0;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < FIELDS; i++)
		for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++)
			if (!strcmp(fields[i].name, wanted[k]))
				found += parse_field(&fields[i], json_object_get(data, wanted[k]),
						     ret);
	return found == sizeof(wanted) / sizeof(wanted[0]);
}

int ev_entry_line(const char *line, size_t len, struct ev_entry *ret, uint64_t *ret_n,
		  struct bwl_err *e)
{
	json_t *o = len < 65536 ? json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *event = json_string_value(json_object_get(o, "event"));
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	if (!event || strcmp(event, EV_EVENT) ||
	    !ev_number_parse(json_object_get(o, "n"), INT64_MAX, ret_n))
		r = bwl_fail(e, EBADMSG, "it is not the log's record of an interval");
	if (!r)
		r = ev_entry_parse(json_object_get(o, "data"), ret, e);
	json_decref(o);
	return r;
}

const char *ev_entry_wrong(const struct ev_entry *x, const struct ev_peer *peer, uint32_t n)
{
	struct ev_sum total[EV_TOTALS];
	struct bwl_hash *hash;
	bool same;

	if (n != x->slots)
		return "its number of peers is different";
	for (uint32_t i = 1; i < n; i++)
		if (memcmp(peer[i - 1].pseudonym.b, peer[i].pseudonym.b, 32) >= 0)
			return "duplicate peer, or peers out of order";
	hash = bwl_must(calloc(n, sizeof(*hash)));
	for (uint32_t i = 0; i < n; i++)
		ev_peer_hash(&peer[i], &hash[i]);
	ev_root(EV_NODE, hash, n);
	ev_interval_root(&x->id, &hash[0], &hash[0]);
	same = bwl_hash_equal(&hash[0], &x->root);
	free(hash);
	if (!same)
		return "its peers are not these";
	for (uint32_t i = 0; i < n; i++)
		if (ev_peer_denied(&x->id, &peer[i]))
			return ev_peer_denied(&x->id, &peer[i]);
	if (!ev_totals(peer, n, total))
		return "its totals are above 2^64";
	return memcmp(total, x->total, sizeof(total))
		       ? "its totals are not what its peers add up to"
		       : NULL;
}
