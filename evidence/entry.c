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

static const char *const total_name[EV_TOTALS] = { "before", "after", "flows", "remainder",
						   "unclassed" };

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

/*
 * Flags are written as 0 or 1: `true` is shorter than `false`, and every entry has the same length.
 */
static const struct flag {
	const char *name;
	size_t at;
} flags[] = { { "final", offsetof(struct ev_id, final) },
	      { "gap", offsetof(struct ev_id, gap) },
	      { "thinned", offsetof(struct ev_id, thinned) },
	      { "balanced", offsetof(struct ev_id, balanced) },
	      { "other_known", offsetof(struct ev_id, other_known) } };
#define FLAGS (sizeof(flags) / sizeof(flags[0]))

static bool *flag_of(struct ev_id *id, size_t i)
{
	return (bool *)((char *)id + flags[i].at);
}

json_t *ev_entry_json(const struct ev_entry *x)
{
	struct ev_id id = x->id;
	json_t *o = json_object();
	size_t i;

	json_object_set_new(o, "version", json_integer(VERSION));
	json_object_set_new(o, "boot", json_string(id.boot));
	json_object_set_new(o, "tables", number(id.tables));
	json_object_set_new(o, "interval", number(id.interval));
	json_object_set_new(o, "sequence", number(id.sequence));
	json_object_set_new(o, "epoch", number(x->epoch));
	json_object_set_new(o, "begin", json_string(*id.begin ? id.begin : NO_TIME));
	json_object_set_new(o, "end", json_string(*id.end ? id.end : NO_TIME));
	for (i = 0; i < FLAGS; i++)
		json_object_set_new(o, flags[i].name, json_integer(*flag_of(&id, i)));
	json_object_set_new(o, "other", numbers(&id.other));
	for (i = 0; i < EV_TOTALS; i++)
		json_object_set_new(o, total_name[i], numbers(&x->total[i]));
	json_object_set_new(o, "slots", number(x->slots));
	json_object_set_new(o, "root", ev_bytes_json(x->root.b, 32));
	json_object_set_new(o, "previous", ev_bytes_json(x->previous.b, 32));
	return o;
}

static bool parse_time(const json_t *o, char ret[static EV_TIME])
{
	if (!ev_text_parse(o, ret, EV_TIME))
		return false;
	if (!strcmp(ret, NO_TIME))
		memset(ret, 0, EV_TIME);
	return true;
}

bool ev_entry_parse(const json_t *data, struct ev_entry *ret)
{
	struct ev_id *id = &ret->id;
	uint64_t version, slots, flag;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	if (!ev_number_parse(json_object_get(data, "version"), VERSION, &version) ||
	    version != VERSION || json_object_size(data) != 17 + EV_TOTALS ||
	    !ev_text_parse(json_object_get(data, "boot"), id->boot, sizeof(id->boot)) ||
	    !parse_number(json_object_get(data, "tables"), &id->tables) ||
	    !parse_number(json_object_get(data, "interval"), &id->interval) ||
	    !parse_number(json_object_get(data, "sequence"), &id->sequence) ||
	    !parse_number(json_object_get(data, "epoch"), &ret->epoch) ||
	    !parse_time(json_object_get(data, "begin"), id->begin) ||
	    !parse_time(json_object_get(data, "end"), id->end) ||
	    !parse_numbers(json_object_get(data, "other"), &id->other) ||
	    !parse_number(json_object_get(data, "slots"), &slots) || !ev_is_slots(slots) ||
	    !ev_bytes_parse(json_object_get(data, "root"), ret->root.b, 32) ||
	    !ev_bytes_parse(json_object_get(data, "previous"), ret->previous.b, 32))
		return false;
	for (i = 0; i < FLAGS; i++) {
		if (!ev_number_parse(json_object_get(data, flags[i].name), 1, &flag))
			return false;
		*flag_of(id, i) = flag;
	}
	for (i = 0; i < EV_TOTALS; i++)
		if (!parse_numbers(json_object_get(data, total_name[i]), &ret->total[i]))
			return false;
	ret->slots = (uint32_t)slots;
	return true;
}

bool ev_entry_line(const char *line, size_t len, struct ev_entry *ret, uint64_t *ret_n)
{
	json_t *o = len < 65536 ? json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *event = json_string_value(json_object_get(o, "event"));
	bool good = event && !strcmp(event, EV_EVENT) &&
		    ev_number_parse(json_object_get(o, "n"), INT64_MAX, ret_n) &&
		    ev_entry_parse(json_object_get(o, "data"), ret);

	json_decref(o);
	return good;
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
