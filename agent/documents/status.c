/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this tray says of itself to the fleet: at most STATUS_MOST bytes, so the oldest of what was
 * taken is left out first. Whoever reads it may look for the digest of what he published.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent.h"
#include "bwl/doc.h"
#include "bwl/encode.h"
#include "part.h"

#define STATUS_MOST 4000 /* and a line of the socket has 4096 */
#define TAKEN 16
#define CLOSED 8

static int by_seq(const void *a, const void *b)
{
	uint64_t x = (*(const struct bwl_memory_item *const *)a)->seq,
		 y = (*(const struct bwl_memory_item *const *)b)->seq;

	return (x < y) - (x > y);
}

/* The newest first. */
static json_t *taken(const struct documents *v)
{
	size_t n;
	const struct bwl_memory_item *item = bwl_memory_items(v->docs.m, &n);
	BWL_AUTO_FREE const struct bwl_memory_item **list = bwl_must(calloc(n + 1, sizeof(*list)));
	json_t *o = json_object();
	char key[DOCS_KEY], hex[65];

	for (size_t i = 0; i < n; i++)
		list[i] = &item[i];
	qsort(list, n, sizeof(*list), by_seq);
	for (size_t i = 0; i < n && i < TAKEN; i++) {
		snprintf(key, sizeof(key), "%s/%s", bwl_signed_word(list[i]->type), list[i]->name);
		json_object_set_new(o, key,
				    json_pack("{s:I, s:s}", "version", (json_int_t)list[i]->version,
					      "sha256",
					      bwl_hex_encode(list[i]->digest.b, 32, hex)));
	}
	return o;
}

static json_t *refused(const struct documents *v)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < DOCS_REFUSED && *v->refused[i].key; i++)
		json_object_set_new(o, v->refused[i].key,
				    json_pack("{s:I, s:s, s:s}", "version",
					      (json_int_t)v->refused[i].version, "id",
					      v->refused[i].id, "text", v->refused[i].text));
	return o;
}

static json_t *policy(const struct documents *v)
{
	char hex[65], at[BWL_TIME_BUF];

	if (!v->terms.any)
		return json_null();
	return json_pack("{s:s, s:I, s:s, s:o}", "name", v->terms.policy->d.terms.name, "version",
			 (json_int_t)v->terms.policy->d.terms.version, "sha256",
			 bwl_hex_encode(v->terms.policy->d.digest, 32, hex), "since",
			 v->in_force && v->since_s ? json_string(bwl_utc(v->since_s, -1, at))
						   : json_null());
}

static json_t *closed(const struct documents *v, json_int_t *ret_n)
{
	json_t *list = json_array();
	struct bwl_gen g;

	*ret_n = 0;
	if (bwl_gen_open(v->pins, bwl_active_slot(v->pins, bwl_now_ns()), &g, NULL))
		return list;
	for (uint32_t id = 1; id < v->pins->schema.max_peers; id++) {
		if (!*v->pins->name[id].name || !bwl_body(v->pins, &g, id) ||
		    !bwl_is_revoked(v->pins, &g, id))
			continue;
		if (++*ret_n <= CLOSED)
			json_array_append_new(list, json_string(v->pins->name[id].name));
	}
	bwl_gen_close(&g);
	return list;
}

static json_t *alarms(const struct documents *v)
{
	json_t *list = json_array();

	if (v->damaged)
		json_array_append_new(list, json_string("memory-damaged"));
	if (bwl_is_stopped(v->pins))
		json_array_append_new(list, json_string("stopped"));
	if (bwl_is_clamped(v->pins))
		json_array_append_new(list, json_string("clamped"));
	if (v->docs.m && v->not_in_force)
		json_array_append_new(list, json_string("not-in-force"));
	if (v->docs.m && *v->why)
		json_array_append_new(list, json_string("floor"));
	return list;
}

static json_t *health(const struct documents *v)
{
	BWL_AUTO_FREE struct bwl_reason_count *count = bwl_must(
		calloc(BWL_REASON_ROWS * BWL_REASON_COLUMNS, sizeof(*count)));
	uint64_t passed = 0, dropped = 0, until = v->pins->lease->until_ns, now = bwl_now_ns();

	if (!bwl_reason_read(v->pins, count, NULL))
		for (unsigned i = 0; i < BWL_MAX_PORTS; i++)
			for (unsigned r = 0; r < _BWL_REASON_MAX; r++)
				*(bwl_reason_is_pass(r) ? &passed : &dropped) +=
					count[i * BWL_REASON_COLUMNS + r].frames;
	return json_pack("{s:I, s:I, s:i, s:I}", "passed_packets", (json_int_t)passed,
			 "dropped_packets", (json_int_t)dropped, "sas_down", 0, "lease_s",
			 (json_int_t)(until > now ? (until - now) / 1000000000ULL : 0));
}

static size_t length(const json_t *o)
{
	return json_dumpb(o, NULL, 0, JSON_COMPACT);
}

/* The last key of an object goes. */
static bool drop_last(json_t *o)
{
	const char *key, *last = NULL;
	char name[DOCS_KEY];
	json_t *value;

	json_object_foreach(o, key, value) last = key;
	if (!last)
		return false;
	snprintf(name, sizeof(name), "%s", last);
	return !json_object_del(o, name);
}

json_t *docs_status(struct documents *v)
{
	json_t *o = json_object(), *names;
	struct docs_clock c = docs_clock_now();
	json_int_t n;

	if (v->docs.m) {
		json_object_set_new(o, "tray", json_string(bwl_memory_tray(v->docs.m)->name));
		json_object_set_new(o, "epoch",
				    json_integer((json_int_t)bwl_memory_epoch(v->docs.m)));
		json_object_set_new(o, "seq", json_integer((json_int_t)bwl_memory_seq(v->docs.m)));
	}
	names = closed(v, &n);
	json_object_set_new(o, "policy", policy(v));
	json_object_set_new(o, "taken", v->docs.m ? taken(v) : json_object());
	json_object_set_new(o, "refused", refused(v));
	json_object_set_new(o, "fresh",
			    json_boolean(v->docs.m && docs_is_fresh(&v->docs, &v->terms, &c)));
	json_object_set_new(o, "closed", names);
	json_object_set_new(o, "closed_count", json_integer(n));
	json_object_set_new(o, "alarms", alarms(v));
	json_object_set_new(o, "health", health(v));
	while (length(o) > STATUS_MOST &&
	       (drop_last(json_object_get(o, "taken")) || drop_last(json_object_get(o, "refused"))))
		;
	return o;
}
