// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This tray's status for the fleet: at most STATUS_MAX bytes. What does not fit is omitted in this
 * order: the oldest of what was taken, except TAKEN_MIN; refusals, except one; what was taken,
 * except one; times of closures; the proof of the audit log (one of 41 hashes, of 2^40 records,
 * fits beside the longest names); the rest. Somebody who published a document may look for its
 * digest in the status.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent.h"
#include "bwl/doc.h"
#include "bwl/encode.h"
#include "checkpoint.h"
#include "journal/journal.h"
#include "ledger/seq.h"
#include "part.h"

#define STATUS_MAX 4000 /* a line of the socket has 4096 */
#define TAKEN 16
#define TAKEN_MIN 4
#define CLOSED 8
#define MISSING 4
#define SINCE_NS 60000000000ULL /* what was closed again within this time is not a new name */

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
		if (json_object_get(o, key)) /* an older one, which closes something else */
			continue;
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
	if (bwl_gen_open(v->pins, bwl_active_slot(v->pins), &g, NULL))
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

/*
 * Seconds since 1970; 0: the journal has no time for this name, for example if only prefixes were
 * closed.
 */
static json_int_t closed_s(const struct bwl_closed *c, const char *name)
{
	for (size_t i = 0; i < c->nnames; i++)
		if (!strcmp(c->name[i].name, name))
			return (json_int_t)c->name[i].wall_s;
	return 0;
}

static json_t *read_since(const struct documents *v, const json_t *names)
{
	json_t *list = json_array(), *o;
	struct bwl_journal j;
	const json_t *name;
	size_t i;

	bwl_journal_look(bwl_journal_dir(v->pins->ctl->drill), &j);
	json_array_foreach(names, i, name)
		json_array_append_new(list,
				      json_integer(closed_s(&j.closed, json_string_value(name))));
	o = json_pack("{s:o, s:I, s:I}", "closed", list, "stopped",
		      (json_int_t)(j.closed.stop ? j.closed.stop_s : 0), "clamped",
		      (json_int_t)(j.closed.clamp ? j.closed.clamp_s : 0));
	bwl_journal_free(&j);
	return o;
}

/*
 * Since when each closed name is closed. The status is asked for four times a second: the journal
 * is read when something is closed or opened, and each minute while anything is closed. NULL:
 * nothing is.
 */
static json_t *since(struct documents *v, const json_t *names)
{
	bool stopped = bwl_is_stopped(v->pins), clamped = bwl_is_clamped(v->pins);
	uint64_t now = bwl_now_ns();
	json_t *of;

	if (!json_array_size(names) && !stopped && !clamped)
		return NULL;
	of = json_pack("[O, b, b]", names, stopped, clamped);
	if (json_equal(of, v->closed.of) && now - v->closed.read_ns < SINCE_NS) {
		json_decref(of);
		return json_incref(v->closed.since);
	}
	json_decref(v->closed.of);
	json_decref(v->closed.since);
	v->closed.of = of;
	v->closed.since = read_since(v, names);
	v->closed.read_ns = now;
	return json_incref(v->closed.since);
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
	if (docs_is_withheld(v))
		json_array_append_new(list, json_string("withheld"));
	if (v->docs.m && *v->why)
		json_array_append_new(list, json_string("floor"));
	return list;
}

/* Named at once, although the alarm waits a minute: it may be on its way. */
static json_t *missing(const struct documents *v)
{
	char name[MISSING][DOCS_KEY];
	size_t n = v->docs.m ? docs_missing(&v->docs, name, MISSING) : 0;
	json_t *list = json_array();

	for (size_t i = 0; i < n && i < MISSING; i++)
		json_array_append_new(list, json_string(name[i]));
	return list;
}

/*
 * SAs that the policy in force needs and the kernel lacks, according to what the part `tracking`
 * put in the maps: one out and one in for each encrypted peer. Revoked peers should have none.
 */
static json_int_t sas_down(const struct documents *v)
{
	const struct bwl_peer *body;
	json_int_t n = 0;
	struct bwl_gen g;

	if (bwl_gen_open(v->pins, bwl_active_slot(v->pins), &g, NULL))
		return 0;
	for (uint32_t id = 1; id < v->pins->schema.max_peers; id++) {
		uint8_t flags = *(const volatile __u8 *)&v->pins->tunnel[id].flags;

		body = bwl_body(v->pins, &g, id);
		if (!body || body->meta.path == BWL_PATH_CLEAR || bwl_is_revoked(v->pins, &g, id))
			continue;
		n += !(flags & BWL_TUN_SA);
		n += !(flags & BWL_TUN_SA_IN);
	}
	bwl_gen_close(&g);
	return n;
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
	return json_pack("{s:I, s:I, s:I, s:I}", "passed_packets", (json_int_t)passed,
			 "dropped_packets", (json_int_t)dropped, "sas_down", sas_down(v), "lease_s",
			 (json_int_t)(until > now ? (until - now) / 1000000000ULL : 0));
}

/* The audit log: `checkpoint`, `log_key`, `proof`; null if there is none. */
static void tell_log(json_t *o, uint64_t cosigned)
{
	struct agent_checkpoint c;
	bool any = agent_checkpoint_tell(cosigned, &c);
	char hash[BWL_HASH_TEXT];
	json_t *list;

	json_object_set_new(o, "checkpoint", any ? json_string(c.note) : json_null());
	json_object_set_new(o, "log_key", any ? json_string(c.key) : json_null());
	if (!any || !c.proven) {
		json_object_set_new(o, "proof", json_null());
		return;
	}
	list = json_array();
	for (unsigned i = 0; i < c.nproof; i++)
		json_array_append_new(list, json_string(bwl_hash_format(&c.proof[i], hash)));
	json_object_set_new(o, "proof",
			    json_pack("{s:I, s:o}", "from", (json_int_t)c.from, "hashes", list));
}

static size_t length(const json_t *o)
{
	return json_dumpb(o, NULL, 0, JSON_COMPACT);
}

/* Drops the last key of an object if it has more than `least`. */
static bool drop_last(json_t *o, size_t least)
{
	const char *key, *last = NULL;
	char name[DOCS_KEY];
	json_t *value;

	if (json_object_size(o) <= least)
		return false;
	json_object_foreach(o, key, value) last = key;
	snprintf(name, sizeof(name), "%s", last);
	return !json_object_del(o, name);
}

static bool drop_proof(json_t *o)
{
	return !json_is_null(json_object_get(o, "proof")) &&
	       !json_object_set_new(o, "proof", json_null());
}

/* Returns false if nothing is left that may be dropped. */
static bool drop_one(json_t *o)
{
	json_t *took = json_object_get(o, "taken"), *refusals = json_object_get(o, "refused");

	return drop_last(took, TAKEN_MIN) || drop_last(refusals, 1) || drop_last(took, 1) ||
	       !json_object_del(o, "closed_since") || drop_proof(o) || drop_last(took, 0) ||
	       drop_last(refusals, 0);
}

json_t *docs_status(struct documents *v, uint64_t cosigned, const struct docs_stamp *stamp)
{
	json_t *o = json_object(), *names, *when;
	struct docs_clock c = docs_clock_now();
	json_int_t n;

	if (v->docs.m) {
		json_object_set_new(o, "tray", json_string(bwl_memory_tray(v->docs.m)->name));
		json_object_set_new(o, "epoch",
				    json_integer((json_int_t)bwl_memory_epoch(v->docs.m)));
		json_object_set_new(o, "seq", json_integer((json_int_t)bwl_memory_seq(v->docs.m)));
	}
	if (stamp) {
		json_object_set_new(o, "number", json_integer((json_int_t)stamp->number));
		json_object_set_new(o, "said_at", json_integer((json_int_t)stamp->wall_s));
		json_object_set_new(o, "up_s", json_integer((json_int_t)stamp->boot_s));
	}
	names = closed(v, &n);
	json_object_set_new(o, "policy", policy(v));
	json_object_set_new(o, "taken", v->docs.m ? taken(v) : json_object());
	json_object_set_new(o, "refused", refused(v));
	json_object_set_new(o, "fresh",
			    json_boolean(v->docs.m && docs_is_fresh(&v->docs, &v->terms, &c)));
	json_object_set_new(o, "missing", missing(v));
	json_object_set_new(o, "closed", names);
	json_object_set_new(o, "closed_count", json_integer(n));
	when = since(v, names);
	if (when)
		json_object_set_new(o, "closed_since", when);
	json_object_set_new(o, "alarms", alarms(v));
	json_object_set_new(o, "ledger_seq",
			    json_integer((json_int_t)ledger_seq_read(v->a->state_dir)));
	tell_log(o, cosigned);
	json_object_set_new(o, "health", health(v));
	while (length(o) > STATUS_MAX && drop_one(o))
		;
	return o;
}
