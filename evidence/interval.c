// SPDX-License-Identifier: GPL-2.0-or-later
/* See interval.h. */
#include <bwl/reasons.h>
#include <bwl/text.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "interval.h"
#include "maps/reason.h"

/*
 * Did it pass? -EV_NEWER: no reason that this version knows, so nobody here can tell on which side
 * its bytes belong.
 */
static int find_reason(const char *reason, bool *ret_pass, struct bwl_err *e)
{
	char shown[EV_WORD];

	for (unsigned i = 0; i < _BWL_REASON_MAX; i++)
		if (!strcmp(bwl_reason_name(i), reason)) {
			*ret_pass = bwl_reason_is_pass(i);
			return 0;
		}
	bwl_text_ascii(shown, sizeof(shown), reason);
	return bwl_fail(e, EV_NEWER, "reason `%s` of a record is not known to this version", shown);
}

static void set_sum(struct ev_record *r, bool pass, uint64_t frames, uint64_t bytes,
		    uint64_t charged)
{
	r->sum = (struct ev_sum){ { 0 } };
	r->sum.v[pass ? EV_FRAMES : EV_DROPPED_FRAMES] = frames;
	r->sum.v[pass ? EV_BYTES : EV_DROPPED_BYTES] = pass ? charged : bytes;
}

/* Finds the value after a key. A string cannot imitate a key: quotes in it are escaped. */
static const char *behind(const char **at, const char *end, const char *key)
{
	size_t n = strlen(key);
	const char *found = memmem(*at, (size_t)(end - *at), key, n);

	*at = found ? found + n : end;
	return found ? *at : NULL;
}

static bool scan_number(const char **at, const char *end, const char *key, uint64_t *ret)
{
	const char *s = behind(at, end, key);
	uint64_t n = 0;
	unsigned digits = 0;

	for (; s && s < end && isdigit((unsigned char)*s) && digits < 19; s++, digits++)
		n = n * 10 + (uint64_t)(*s - '0');
	*ret = n;
	return digits && s < end && (*s == ',' || *s == '}') && n <= INT64_MAX;
}

static bool scan_word(const char **at, const char *end, const char *key, char *ret, size_t size)
{
	const char *s = behind(at, end, key);
	const char *quote = s ? memchr(s, '"', (size_t)(end - s)) : NULL;

	if (!quote || (size_t)(quote - s) >= size || memchr(s, '\\', (size_t)(quote - s)))
		return false;
	memcpy(ret, s, (size_t)(quote - s));
	ret[quote - s] = '\0';
	return true;
}

static bool starts(const char *line, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && !memcmp(line, with, n);
}

bool ev_record_scan(const char *line, size_t len, struct ev_record *ret)
{
	const char *at = line, *end = line + len;
	uint64_t frames, bytes, charged;
	char reason[EV_WORD];
	bool pass;

	memset(ret, 0, sizeof(*ret));
	ret->line = line;
	ret->len = len;
	ret->remainder = starts(line, len, "{\"kind\":\"flow-remainder\",");
	if (!ret->remainder && !starts(line, len, "{\"kind\":\"flow\","))
		return false;
	if (len >= EV_LINE || !scan_number(&at, end, ",\"id\":", &ret->id) ||
	    !scan_word(&at, end, ",\"direction\":\"", ret->way, sizeof(ret->way)) ||
	    !scan_word(&at, end, ",\"class\":\"", ret->class_, sizeof(ret->class_)) ||
	    !scan_word(&at, end, ",\"reason\":\"", reason, sizeof(reason)) ||
	    !scan_number(&at, end, ",\"frames\":", &frames) ||
	    !scan_number(&at, end, ",\"bytes\":", &bytes) ||
	    !scan_number(&at, end, ",\"charged_bytes\":", &charged) || !ev_is_way(ret->way) ||
	    find_reason(reason, &pass, NULL))
		return false;
	set_sum(ret, pass, frames, bytes, charged);
	return true;
}

static bool get_name(const json_t *o, char name[static EV_NAME])
{
	const json_t *peer = json_object_get(o, "peer");

	*name = '\0';
	return json_is_null(peer) || ev_text_parse(peer, name, EV_NAME);
}

int ev_record_parse(const char *line, size_t len, struct ev_record *ret, char name[static EV_NAME],
		    struct bwl_err *e)
{
	static const char *const known[] = {
		"kind",      "id",          "peer",        "generation",
		"direction", "port",        "class",       "reason",
		"source",    "source_port", "destination", "destination_port",
		"frames",    "bytes",       "queue_pair",  "charged_bytes",
		"first",     "last",        "tcp_flags",   "ip_protocol",
		NULL,
	};
	json_t *o = len < EV_LINE ? json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *kind = json_string_value(json_object_get(o, "kind"));
	uint64_t frames, bytes, charged;
	char reason[EV_WORD];
	bool pass = false;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	ret->line = line;
	ret->len = len;
	if (!kind || (strcmp(kind, "flow") && strcmp(kind, "flow-remainder")) ||
	    !get_name(o, name) ||
	    !ev_number_parse(json_object_get(o, "id"), UINT32_MAX, &ret->id) ||
	    !ev_text_parse(json_object_get(o, "direction"), ret->way, sizeof(ret->way)) ||
	    !ev_is_way(ret->way) ||
	    !ev_text_parse(json_object_get(o, "class"), ret->class_, sizeof(ret->class_)) ||
	    !ev_text_parse(json_object_get(o, "reason"), reason, sizeof(reason)) ||
	    !ev_number_parse(json_object_get(o, "frames"), INT64_MAX, &frames) ||
	    !ev_number_parse(json_object_get(o, "bytes"), INT64_MAX, &bytes) ||
	    !ev_number_parse(json_object_get(o, "charged_bytes"), INT64_MAX, &charged))
		r = bwl_fail(e, EBADMSG, "a record is not a line of a flow or a remainder");
	if (!r)
		r = find_reason(reason, &pass, e);
	if (!r)
		r = ev_only_known(o, known, e);
	if (!r)
		set_sum(ret, pass, frames, bytes, charged);
	ret->remainder = !r && !strcmp(kind, "flow-remainder");
	json_decref(o);
	return r;
}

static bool get_sum(const json_t *o, struct ev_sum *ret)
{
	static const char *const key[EV_NUMBERS] = { "frames", "bytes", "dropped_frames",
						     "dropped_bytes" };

	for (int i = 0; i < EV_NUMBERS; i++)
		if (!ev_number_parse(json_object_get(o, key[i]), INT64_MAX, &ret->v[i]))
			return false;
	return true;
}

/* null: not known. */
static bool get_time(const json_t *o, char ret[static EV_TIME])
{
	int64_t at;

	*ret = '\0';
	return json_is_null(o) || (ev_text_parse(o, ret, EV_TIME) && ev_time_s(ret, &at));
}

static bool get_flag(const json_t *o, bool *ret)
{
	*ret = json_is_true(o);
	return json_is_boolean(o);
}

bool ev_id_parse(const char *line, size_t len, struct ev_id *ret)
{
	json_t *o = len < EV_LINE ? json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *kind = json_string_value(json_object_get(o, "kind"));
	const json_t *other = json_object_get(o, "other"), *gap = json_object_get(o, "gap");
	bool good;

	memset(ret, 0, sizeof(*ret));
	good = kind && !strcmp(kind, "flow-interval") &&
	       ev_text_parse(json_object_get(o, "boot"), ret->boot, sizeof(ret->boot)) &&
	       *ret->boot &&
	       ev_number_parse(json_object_get(o, "tables"), INT64_MAX, &ret->tables) &&
	       ev_number_parse(json_object_get(o, "interval"), UINT32_MAX, &ret->interval) &&
	       ev_number_parse(json_object_get(o, "sequence"), INT64_MAX, &ret->sequence) &&
	       get_time(json_object_get(o, "begin"), ret->begin) &&
	       get_time(json_object_get(o, "end"), ret->end) &&
	       (json_is_null(other) || get_sum(other, &ret->other)) &&
	       get_flag(json_object_get(o, "final"), &ret->final) &&
	       get_flag(json_object_get(o, "thinned"), &ret->thinned) &&
	       get_flag(json_object_get(o, "balanced"), &ret->balanced) &&
	       (json_is_null(gap) || json_is_string(gap));
	ret->other_known = json_is_object(other);
	ret->gap = json_is_string(gap);
	json_decref(o);
	return good;
}

bool ev_id_same(const struct ev_id *a, const struct ev_id *b)
{
	return !strcmp(a->boot, b->boot) && a->tables == b->tables && a->interval == b->interval;
}

void ev_interval_root(const struct ev_id *id, const struct bwl_hash *peers, struct bwl_hash *ret)
{
	struct ev_hasher *h = ev_hash_begin(EV_INTERVAL);

	ev_hash_text(h, id->boot, strlen(id->boot));
	ev_hash_number(h, id->tables);
	ev_hash_number(h, id->interval);
	ev_hash_bytes(h, peers->b, sizeof(peers->b));
	ev_hash_end(h, ret);
}

const char *ev_peer_denied(const struct ev_id *id, const struct ev_peer *p)
{
	return id->balanced && !p->balanced
		       ? "the interval says that it balances, and one of its peers that it does not"
		       : NULL;
}

bool ev_follows(const struct ev_id *was, const struct ev_id *now)
{
	bool same = !strcmp(was->boot, now->boot) && was->tables == now->tables;

	return same ? !was->final && now->interval == was->interval + 1
		    : was->final && now->interval == 1;
}

void ev_interval_free(struct ev_interval *v)
{
	for (uint32_t i = 0; v->peer && i < v->slots; i++)
		ev_peer_free(&v->peer[i]);
	free(v->peer);
	free(v->own);
	free(v->record);
	free(v->text);
	explicit_bzero(v, sizeof(*v));
}

void ev_record_salt(const struct ev_interval *v, uint32_t slot, uint64_t index,
		    uint8_t ret[static EV_SALT])
{
	uint8_t said[40];

	memcpy(said, v->peer[slot].pseudonym.b, 32);
	for (int i = 0; i < 8; i++)
		said[32 + i] = (uint8_t)(index >> (56 - 8 * i));
	ev_secret(v->key, EV_OF_SALT, said, sizeof(said), ret);
}

void ev_pad_key(const struct ev_interval *v, uint32_t slot, uint8_t ret[static EV_SALT])
{
	ev_secret(v->key, EV_OF_PAD, v->peer[slot].pseudonym.b, 32, ret);
}

struct ev_node *ev_interval_leaves(const struct ev_interval *v, uint32_t slot)
{
	const struct ev_peer *p = &v->peer[slot];
	const struct ev_own *own = &v->own[slot];
	struct ev_node *node = bwl_must(calloc(p->slots, sizeof(*node)));
	const struct ev_record *r;
	uint8_t salt[EV_SALT], pad[EV_SALT];
	struct bwl_hash c;

	ev_pad_key(v, slot, pad);
	for (uint32_t i = 0; i < p->slots; i++) {
		if (i < own->n) {
			r = &v->record[own->first + i];
			ev_record_salt(v, slot, i, salt);
			ev_record_commit(salt, r->line, r->len, &c);
			ev_record_leaf(i, &r->sum, &c, &node[i]);
		} else {
			ev_pad_commit(pad, i, &c);
			ev_record_leaf(i, &(struct ev_sum){ { 0 } }, &c, &node[i]);
		}
	}
	return node;
}

static void interval_key(const uint8_t master[32], const struct ev_id *id, uint8_t ret[static 32])
{
	uint8_t said[EV_BOOT + 16] = { 0 };

	strcpy((char *)said, id->boot); /* zero-padded to a fixed length */
	for (int i = 0; i < 8; i++) {
		said[EV_BOOT + i] = (uint8_t)(id->tables >> (56 - 8 * i));
		said[EV_BOOT + 8 + i] = (uint8_t)(id->interval >> (56 - 8 * i));
	}
	ev_secret(master, EV_OF_INTERVAL, said, sizeof(said), ret);
}

static bool read_cpus(const json_t *a, struct ev_peer *p)
{
	size_t n = json_array_size(a);

	if (!json_is_array(a) || n > EV_CPUS)
		return false;
	p->cpu = bwl_must(calloc(n + 1, sizeof(*p->cpu)));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(a, i);
		struct ev_cpu *to = &p->cpu[p->ncpus++];
		uint64_t at[9];

		if (json_array_size(x) != 9)
			return false;
		for (size_t j = 0; j < 9; j++)
			if (!ev_number_parse(json_array_get(x, j), INT64_MAX, &at[j]))
				return false;
		to->cpu = (uint32_t)at[0];
		memcpy(to->before.v, at + 1, sizeof(to->before.v));
		memcpy(to->after.v, at + 5, sizeof(to->after.v));
	}
	return true;
}

static bool read_peer(const char *line, size_t len, struct ev_peer *p, struct ev_own *own)
{
	json_t *o = len < EV_TEXT ? json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const json_t *why = json_object_get(o, "why");
	bool good = get_name(o, own->name) &&
		    ev_number_parse(json_object_get(o, "id"), UINT32_MAX, &own->id) &&
		    get_sum(json_object_get(o, "flows"), &p->flows) &&
		    get_sum(json_object_get(o, "remainder"), &p->remainder) &&
		    get_sum(json_object_get(o, "unclassed"), &p->unclassed) &&
		    read_cpus(json_object_get(o, "cpus"), p) &&
		    get_flag(json_object_get(o, "balanced"), &p->balanced) &&
		    (json_is_string(why) ? !p->balanced && json_string_length(why)
					 : json_is_null(why) && p->balanced);

	if (json_is_string(why))
		snprintf(p->why, sizeof(p->why), "%.159s", json_string_value(why));
	json_decref(o);
	return good;
}

static int by_peer(const void *a, const void *b)
{
	const struct ev_record *x = a, *y = b;

	return x->id != y->id ? (x->id < y->id ? -1 : 1) : x->row < y->row ? -1 : x->row > y->row;
}

struct slot {
	struct ev_peer peer;
	struct ev_own own;
};

static int by_id(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->own.id < y->own.id ? -1 : x->own.id > y->own.id;
}

static int by_pseudonym(const void *a, const void *b)
{
	return memcmp(((const struct slot *)a)->peer.pseudonym.b,
		      ((const struct slot *)b)->peer.pseudonym.b, 32);
}

/* Reads the lines of the file: after the first one in any order. Each begins with its kind. */
static int read_lines(struct ev_interval *v, size_t len, struct slot **slot, size_t *nslots,
		      struct bwl_err *e)
{
	char *s = v->text, *end = v->text + len, *nl;
	size_t room = 0, nrows = 0, line = 0, slots_room = 0;

	for (; s < end; s = nl + 1) {
		nl = memchr(s, '\n', (size_t)(end - s));
		if (!nl)
			return bwl_fail(e, EBADMSG, "its last line is incomplete");
		if (!line++) {
			if (!ev_id_parse(s, (size_t)(nl - s), &v->id))
				return bwl_fail(e, EBADMSG, "line 1 does not describe an interval");
		} else if (starts(s, (size_t)(nl - s), "{\"kind\":\"flow-peer\",")) {
			if (*nslots == slots_room)
				*slot = bwl_must(reallocarray(
					*slot, slots_room = 2 * slots_room + 64, sizeof(**slot)));
			memset(&(*slot)[*nslots], 0, sizeof(**slot));
			++*nslots;
			if (!read_peer(s, (size_t)(nl - s), &(*slot)[*nslots - 1].peer,
				       &(*slot)[*nslots - 1].own))
				return bwl_fail(
					e, EBADMSG,
					"line %zu does not describe a peer as bwlimitd writes it (is it older than counters by CPU?)",
					line);
		} else {
			if (v->nrecords == room)
				v->record = bwl_must(reallocarray(v->record, room = 2 * room + 64,
								  sizeof(*v->record)));
			if (!ev_record_scan(s, (size_t)(nl - s), &v->record[v->nrecords]))
				return bwl_fail(
					e, EBADMSG,
					"line %zu does not describe a flow as bwlimitd writes it",
					line);
			v->record[v->nrecords++].row = ++nrows;
		}
	}
	return line ? 0 : bwl_fail(e, EBADMSG, "it is empty");
}

/*
 * Adds a record to the part of its direction and class. Parts are in the order of their first
 * records.
 */
static bool add_part(struct ev_peer *p, const struct ev_record *r)
{
	size_t i;

	for (i = 0; i < p->nparts; i++)
		if (!strcmp(p->part[i].way, r->way) && !strcmp(p->part[i].class_, r->class_))
			return ev_sum_add(&p->part[i].sum, &r->sum);
	if (i == EV_PARTS)
		return false;
	if (!p->part)
		p->part = bwl_must(calloc(EV_PARTS, sizeof(*p->part)));
	memcpy(p->part[i].way, r->way, sizeof(r->way));
	memcpy(p->part[i].class_, r->class_, sizeof(r->class_));
	p->part[i].sum = r->sum;
	p->nparts++;
	return true;
}

static int take_records(struct ev_interval *v, struct slot *slot, size_t n, struct bwl_err *e)
{
	size_t at = 0;

	if (v->nrecords)
		qsort(v->record, v->nrecords, sizeof(*v->record), by_peer);
	if (n)
		qsort(slot, n, sizeof(*slot), by_id);
	for (size_t i = 0; i < n; i++) {
		struct slot *s = &slot[i];

		s->own.first = at;
		for (; at < v->nrecords && v->record[at].id == s->own.id; at++, s->own.n++)
			if (!add_part(&s->peer, &v->record[at]))
				return bwl_fail(
					e, EOVERFLOW,
					"a sum is above 2^64, or there are more than %d classes",
					EV_PARTS);
		s->peer.slots = ev_slots(s->own.n, 1);
		if (!s->peer.slots)
			return bwl_fail(e, E2BIG, "more than %u records of a peer", EV_SLOTS_MAX);
		if (i && s->own.id == s[-1].own.id)
			return bwl_fail(e, EBADMSG, "duplicate peer");
	}
	return at == v->nrecords ? 0 : bwl_fail(e, EBADMSG, "a record's peer is not in the file");
}

/* If a file's flows have been deleted, only what is left of its records can be opened. */
static void thin(struct ev_peer *p)
{
	struct ev_sum left = { { 0 } };

	for (size_t i = 0; i < p->nparts; i++)
		ev_sum_add(&left, &p->part[i].sum);
	if (ev_sum_same(&left, &p->remainder) && !ev_sum_is_zero(&p->flows)) {
		p->flows = (struct ev_sum){ { 0 } };
		p->balanced = false;
		strcpy(p->why,
		       "its flows were deleted, to make room, before the audit log committed to them");
	}
}

static void fill(struct ev_interval *v, struct slot *slot, size_t n)
{
	uint8_t salt[EV_SALT];

	for (size_t i = 0; i < v->slots; i++) {
		struct slot *s = &slot[i];
		uint8_t at[4] = { (uint8_t)(i >> 24), (uint8_t)(i >> 16), (uint8_t)(i >> 8),
				  (uint8_t)i };

		if (i < n) {
			ev_name_salt(v->master, s->own.id, s->own.name, salt);
			ev_pseudonym(salt, s->own.id, s->own.name, &s->peer.pseudonym);
			if (v->id.thinned)
				thin(&s->peer);
			continue;
		}
		memset(s, 0, sizeof(*s));
		s->own.decoy = s->peer.balanced = true;
		s->peer.slots = 1;
		ev_secret(v->key, EV_OF_DECOY, at, sizeof(at), s->peer.pseudonym.b);
		ev_secret(v->key, EV_OF_DECOY_ROOT, at, sizeof(at), s->peer.root.b);
	}
}

static int take_slots(struct ev_interval *v, struct slot **all, size_t n, struct bwl_err *e)
{
	struct bwl_hash *hash;

	v->slots = ev_slots(n, EV_SLOTS_MIN);
	if (!v->slots)
		return bwl_fail(e, E2BIG, "more than %u peers", EV_SLOTS_MAX);
	*all = bwl_must(reallocarray(*all, v->slots, sizeof(**all)));
	fill(v, *all, n);
	qsort(*all, v->slots, sizeof(**all), by_pseudonym);
	v->peer = bwl_must(calloc(v->slots, sizeof(*v->peer)));
	v->own = bwl_must(calloc(v->slots, sizeof(*v->own)));
	hash = bwl_must(calloc(v->slots, sizeof(*hash)));
	for (uint32_t i = 0; i < v->slots; i++) {
		v->peer[i] = (*all)[i].peer;
		v->own[i] = (*all)[i].own;
	}
	for (uint32_t i = 0; i < v->slots; i++) {
		struct ev_node *node = v->own[i].decoy ? NULL : ev_interval_leaves(v, i);

		if (node && !ev_sum_root(node, v->peer[i].slots)) {
			free(node);
			free(hash);
			return bwl_fail(e, EOVERFLOW, "sums above 2^64");
		}
		if (node)
			v->peer[i].root = node->hash;
		free(node);
		ev_peer_hash(&v->peer[i], &hash[i]);
	}
	ev_root(EV_NODE, hash, v->slots);
	ev_interval_root(&v->id, &hash[0], &v->root);
	free(hash);
	return 0;
}

int ev_interval_make(char *text, size_t len, const uint8_t master[32], struct ev_interval *ret,
		     struct bwl_err *e)
{
	struct slot *slot = NULL;
	size_t n = 0;
	int r;

	memset(ret, 0, sizeof(*ret));
	ret->text = text;
	memcpy(ret->master, master, 32);
	r = read_lines(ret, len, &slot, &n, e);
	if (!r) {
		interval_key(master, &ret->id, ret->key);
		r = take_records(ret, slot, n, e);
	}
	if (!r)
		r = take_slots(ret, &slot, n, e);
	for (size_t i = 0; !ret->peer && i < n; i++)
		ev_peer_free(&slot[i].peer);
	free(slot);
	if (r)
		ev_interval_free(ret);
	return r;
}
