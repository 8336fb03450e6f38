// SPDX-License-Identifier: GPL-2.0-or-later
/* See opening.h. */
#include <bwl/doc.h>
#include <stdlib.h>
#include <string.h>
#include "opening.h"

#define VERSION 1 /* of a file */

/* First that it is in the log: only then is it a newer version's, and not simply changed. */
int ev_entry_check(const struct ev_trust *t, const char *line, size_t len, const char *proof,
		   size_t proof_len, struct ev_entry *ret, uint64_t *ret_n,
		   struct bwl_checkpoint *ret_checkpoint, struct bwl_err *e)
{
	struct bwl_tlog_proof p;
	struct bwl_hash leaf;
	int r = bwl_tlog_proof_parse(proof, proof_len, &p, e);

	if (r)
		return r;
	bwl_hash_leaf(line, len, &leaf);
	r = bwl_tlog_proof_check(&p, &leaf, &t->log, &t->witnesses, ret_checkpoint, e);
	if (r)
		return r;
	*ret_n = p.index;
	r = ev_entry_line(line, len, ret, ret_n, e);
	if (r != -EBADMSG && p.index != *ret_n)
		r = bwl_fail(e, EBADMSG, "the entry says that it is record %llu, its proof %llu",
			     (unsigned long long)*ret_n, (unsigned long long)p.index);
	return r;
}

static json_t *hashes(const struct bwl_hash *hash, unsigned n)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(a, ev_bytes_json(hash[i].b, 32));
	return a;
}

/* The content of a slot, and the path to the interval's root. */
static json_t *slot_json(const struct ev_interval *v, uint32_t slot)
{
	struct bwl_hash path[EV_DEPTH], *leaf = bwl_must(calloc(v->slots, sizeof(*leaf)));
	json_t *o = json_object();
	unsigned n;

	for (uint32_t i = 0; i < v->slots; i++)
		ev_peer_hash(&v->peer[i], &leaf[i]);
	ev_path(EV_NODE, leaf, v->slots, slot, path, &n);
	free(leaf);
	json_object_set_new(o, "slot", json_integer(slot));
	json_object_set_new(o, "peer", ev_peer_json(&v->peer[slot]));
	json_object_set_new(o, "path", hashes(path, n));
	return o;
}

static void set_name(const struct ev_interval *v, uint32_t slot, json_t *o)
{
	const struct ev_own *own = &v->own[slot];
	uint8_t salt[EV_SALT];

	ev_name_salt(v->master, own->id, own->name, salt);
	json_object_set_new(o, "id", bwl_json_u64(own->id));
	json_object_set_new(o, "name", json_string(own->name));
	json_object_set_new(o, "name_salt", ev_bytes_json(salt, sizeof(salt)));
}

static json_t *record_json(const struct ev_interval *v, uint32_t slot, uint64_t index)
{
	const struct ev_record *r = &v->record[v->own[slot].first + index];
	uint8_t salt[EV_SALT];

	ev_record_salt(v, slot, index, salt);
	return json_pack("{s:I,s:s%,s:o}", "index", (json_int_t)index, "line", r->line, r->len,
			 "salt", ev_bytes_json(salt, sizeof(salt)));
}

json_t *ev_open_record(const struct ev_interval *v, uint32_t slot, uint64_t index)
{
	struct ev_node *leaf, path[EV_DEPTH];
	json_t *o = slot_json(v, slot), *way = json_array(), *record;
	unsigned n;

	set_name(v, slot, o);
	leaf = ev_interval_leaves(v, slot);
	ev_sum_path(leaf, v->peer[slot].slots, (uint32_t)index, path, &n);
	free(leaf);
	for (unsigned i = 0; i < n; i++)
		json_array_append_new(way, json_pack("[o,o]", ev_bytes_json(path[i].hash.b, 32),
						     ev_sum_json(&path[i].sum)));
	record = record_json(v, slot, index);
	json_object_set_new(record, "path", way);
	json_object_set_new(o, "records", json_pack("[o]", record));
	return o;
}

json_t *ev_open_peer(const struct ev_interval *v, uint32_t slot)
{
	json_t *o = slot_json(v, slot), *a;
	uint8_t pad[EV_SALT];

	if (v->own[slot].decoy)
		return o;
	set_name(v, slot, o);
	ev_pad_key(v, slot, pad);
	json_object_set_new(o, "pad_key", ev_bytes_json(pad, sizeof(pad)));
	a = json_array();
	for (uint64_t i = 0; i < v->own[slot].n; i++)
		json_array_append_new(a, record_json(v, slot, i));
	json_object_set_new(o, "records", a);
	return o;
}

json_t *ev_open_interval(const char *line, const char *proof, json_t *peers)
{
	return json_pack("{s:s,s:s,s:o}", "entry", line, "proof", proof, "peers", peers);
}

/* Judging what others show. */
struct judge {
	struct ev_watch *w;
	struct bwl_err *e;
	const struct ev_entry *entry;
	struct ev_peer peer;
	uint32_t slot;
	uint64_t id;
	char name[EV_NAME];
};

static int fails(struct judge *j, int code, const char *what)
{
	return bwl_fail(j->e, code, "interval %llu, slot %u: %s",
			(unsigned long long)j->entry->id.sequence, j->slot, what);
}

static int bad(struct judge *j, const char *what)
{
	return fails(j, EBADMSG, what);
}

/* r: of a function that filled e. */
static int pass_on(struct judge *j, int r, const struct bwl_err *e)
{
	return r ? fails(j, -r, e->text) : 0;
}

static int only_known(struct judge *j, const json_t *o, const char *const *known)
{
	struct bwl_err e = { 0 };

	return pass_on(j, ev_only_known(o, known, &e), &e);
}

static int parse_path(const json_t *a, struct bwl_hash ret[static EV_DEPTH], unsigned *ret_n)
{
	*ret_n = (unsigned)json_array_size(a);
	if (!json_is_array(a) || json_array_size(a) > EV_DEPTH)
		return -EBADMSG;
	for (unsigned i = 0; i < *ret_n; i++)
		if (!ev_bytes_parse(json_array_get(a, i), ret[i].b, 32))
			return -EBADMSG;
	return 0;
}

static int check_slot(struct judge *j, const json_t *o)
{
	struct bwl_hash path[EV_DEPTH], hash;
	struct bwl_err e = { 0 };
	uint64_t slot;
	unsigned n;
	int r;

	if (!ev_number_parse(json_object_get(o, "slot"), EV_SLOTS_MAX - 1, &slot))
		return bad(j, "it has no slot");
	j->slot = (uint32_t)slot;
	r = ev_peer_parse(json_object_get(o, "peer"), &j->peer, &e);
	if (r)
		return pass_on(j, r, &e);
	if (parse_path(json_object_get(o, "path"), path, &n) || 1U << n != j->entry->slots)
		return bad(j, "the path to the interval's root cannot be read");
	ev_peer_hash(&j->peer, &hash);
	if (!ev_climb(EV_NODE, &hash, slot, path, n, &hash))
		return bad(j, "the peer is not in this interval, or was changed");
	ev_interval_root(&j->entry->id, &hash, &hash);
	if (!bwl_hash_equal(&hash, &j->entry->root))
		return bad(j, "the peer is not in this interval, or was changed");
	if (ev_peer_denied(&j->entry->id, &j->peer))
		return bad(j, ev_peer_denied(&j->entry->id, &j->peer));
	return ev_peer_wrong(&j->peer) ? bad(j, ev_peer_wrong(&j->peer)) : 0;
}

static int check_name(struct judge *j, const json_t *o)
{
	struct bwl_hash pseudonym;
	uint8_t salt[EV_SALT];

	if (!ev_number_parse(json_object_get(o, "id"), UINT32_MAX, &j->id) ||
	    !ev_text_parse(json_object_get(o, "name"), j->name, sizeof(j->name)) ||
	    !ev_bytes_parse(json_object_get(o, "name_salt"), salt, sizeof(salt)))
		return bad(j, "the peer's name cannot be read");
	ev_pseudonym(salt, j->id, j->name, &pseudonym);
	return bwl_hash_equal(&pseudonym, &j->peer.pseudonym)
		       ? 0
		       : bad(j, "the name does not match the pseudonym");
}

/* Computes a record's leaf from its line and salt. ret->line points into o. */
static int check_record(struct judge *j, const json_t *o, struct ev_record *ret,
			uint64_t *ret_index, struct ev_node *ret_leaf)
{
	static const char *const known[] = { "index", "line", "salt", "path", NULL };
	const json_t *line = json_object_get(o, "line");
	uint8_t salt[EV_SALT];
	struct bwl_err e = { 0 };
	char name[EV_NAME];
	struct bwl_hash c;
	int r;

	if (!ev_number_parse(json_object_get(o, "index"), j->peer.slots - 1, ret_index) ||
	    !json_is_string(line) ||
	    !ev_bytes_parse(json_object_get(o, "salt"), salt, sizeof(salt)))
		return bad(j, "a record cannot be read");
	r = ev_record_parse(json_string_value(line), json_string_length(line), ret, name, &e);
	if (r)
		return pass_on(j, r, &e);
	r = only_known(j, o, known);
	if (r)
		return r;
	if (ret->id != j->id || strcmp(name, j->name))
		return bad(j, "a record is of another peer");
	ev_record_commit(salt, ret->line, ret->len, &c);
	ev_record_leaf(*ret_index, &ret->sum, &c, ret_leaf);
	return 0;
}

static void show(struct judge *j, const struct ev_record *r, uint64_t index,
		 const struct ev_sum *before)
{
	const struct ev_shown s = {
		j->entry, &j->peer, j->slot, j->id, j->name, index, r, *before
	};

	j->w->records++;
	if (j->w->on_record)
		j->w->on_record(&s, j->w->arg);
}

static bool is_root(const struct judge *j, const struct ev_node *x)
{
	struct ev_sum records;

	return bwl_hash_equal(&x->hash, &j->peer.root) && ev_peer_records(&j->peer, &records) &&
	       ev_sum_same(&x->sum, &records);
}

static int check_one(struct judge *j, const json_t *o)
{
	struct ev_node leaf, path[EV_DEPTH], root;
	const json_t *way = json_object_get(o, "path");
	struct ev_sum before, most;
	struct ev_record rec;
	uint64_t index;
	size_t n = json_array_size(way);
	int r = check_record(j, o, &rec, &index, &leaf);

	if (r)
		return r;
	if (!json_is_array(way) || n > EV_DEPTH || 1U << n != j->peer.slots)
		return bad(j, "a record's path cannot be read");
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(way, i);

		if (json_array_size(x) != 2 ||
		    !ev_bytes_parse(json_array_get(x, 0), path[i].hash.b, 32) ||
		    !ev_sum_parse(json_array_get(x, 1), &path[i].sum))
			return bad(j, "a record's path cannot be read");
	}
	if (!ev_sum_climb(&leaf, index, path, (unsigned)n, &root, &before) || !is_root(j, &root))
		return bad(j, "a record is not in this interval, or was changed");
	most = rec.remainder ? j->peer.remainder : j->peer.flows;
	if (!ev_sum_less(&most, &rec.sum))
		return bad(
			j,
			"a record has more bytes or frames than all records of its kind together");
	show(j, &rec, index, &before);
	return 0;
}

/* Each part must be the sum of the peer's records of that direction and class. */
static int check_parts(struct judge *j, const struct ev_record *rec, size_t n)
{
	for (size_t i = 0; i < j->peer.nparts; i++) {
		struct ev_sum left = j->peer.part[i].sum;

		for (size_t k = 0; k < n; k++)
			if (!strcmp(rec[k].way, j->peer.part[i].way) &&
			    !strcmp(rec[k].class_, j->peer.part[i].class_) &&
			    !ev_sum_less(&left, &rec[k].sum))
				return bad(j, "its classes are not what its records add up to");
		if (!ev_sum_is_zero(&left))
			return bad(j, "its classes are not what its records add up to");
	}
	return 0;
}

/* Flows and remainders must each match their sums, not only together. */
static int check_kinds(struct judge *j, const struct ev_record *rec, size_t n)
{
	struct ev_sum flows = j->peer.flows, remainder = j->peer.remainder;

	for (size_t i = 0; i < n; i++)
		if (!ev_sum_less(rec[i].remainder ? &remainder : &flows, &rec[i].sum))
			return bad(j,
				   "its flows and remainders do not add up to what the peer says");
	return ev_sum_is_zero(&flows) && ev_sum_is_zero(&remainder)
		       ? 0
		       : bad(j, "its flows and remainders do not add up to what the peer says");
}

static int check_all(struct judge *j, const json_t *a, const json_t *pad_key)
{
	size_t n = json_array_size(a), i;
	struct ev_node *node;
	struct ev_record *rec;
	struct ev_sum before = { { 0 } };
	uint8_t pad[EV_SALT];
	struct bwl_hash c;
	uint64_t index;
	int r = 0;

	if (n > j->peer.slots || !ev_bytes_parse(pad_key, pad, sizeof(pad)))
		return bad(j, "its records cannot be read");
	node = bwl_must(calloc(j->peer.slots, sizeof(*node)));
	rec = bwl_must(calloc(n + 1, sizeof(*rec)));
	for (i = 0; !r && i < j->peer.slots; i++) {
		if (i >= n) {
			ev_pad_commit(pad, i, &c);
			ev_record_leaf(i, &(struct ev_sum){ { 0 } }, &c, &node[i]);
			continue;
		}
		r = check_record(j, json_array_get(a, i), &rec[i], &index, &node[i]);
		if (!r && index != i)
			r = bad(j, "its records are out of order");
	}
	if (!r && (!ev_sum_root(node, j->peer.slots) || !is_root(j, node)))
		r = bad(j,
			"its records are not those of this interval: one was changed, left out or added");
	if (!r)
		r = check_parts(j, rec, n);
	if (!r)
		r = check_kinds(j, rec, n);
	for (i = 0; !r && i < n; i++) {
		show(j, &rec[i], i, &before);
		ev_sum_add(&before, &rec[i].sum);
	}
	free(node);
	free(rec);
	return r;
}

static int check_peer(struct judge *j, const json_t *o)
{
	static const char *const known[] = { "slot",      "peer",    "path",    "id", "name",
					     "name_salt", "records", "pad_key", NULL };
	const json_t *records = json_object_get(o, "records"),
		     *pad_key = json_object_get(o, "pad_key");
	int r = check_slot(j, o);
	size_t i;

	*j->name = '\0';
	if (!r)
		r = only_known(j, o, known);
	if (r)
		return r;
	if (!records) { /* a slot that has nothing to show */
		struct ev_sum sum;

		if (!ev_peer_records(&j->peer, &sum) || !ev_sum_is_zero(&sum) || j->peer.ncpus)
			return bad(j, "a peer that has traffic is not shown");
		j->w->whole_slots++;
		return 0;
	}
	if (!json_is_array(records))
		return bad(j, "its records cannot be read");
	r = check_name(j, o);
	if (r)
		return r;
	j->w->peers++;
	if (j->w->on_peer)
		j->w->on_peer(j->entry, &j->peer, j->slot, j->name, pad_key, j->w->arg);
	if (pad_key) {
		r = check_all(j, records, pad_key);
		j->w->whole_slots += !r;
		j->w->whole_peers += !r;
		return r;
	}
	for (i = 0; !r && i < json_array_size(records); i++)
		r = check_one(j, json_array_get(records, i));
	return r;
}

static int check_interval(const json_t *o, const struct ev_trust *t, struct ev_watch *w,
			  struct ev_seen *last, struct bwl_err *e)
{
	const json_t *line = json_object_get(o, "entry"), *proof = json_object_get(o, "proof"),
		     *peers = json_object_get(o, "peers");
	static const char *const known[] = { "entry", "proof", "peers", NULL };
	struct ev_seen seen = { .any = true };
	const struct ev_watch was = *w;
	int64_t slot = -1;
	int r;

	if (!json_is_string(line) || !json_is_string(proof) || !json_is_array(peers))
		return bwl_fail(e, EBADMSG, "an interval needs entry, proof and peers");
	r = ev_entry_check(t, json_string_value(line), json_string_length(line),
			   json_string_value(proof), json_string_length(proof), &seen.x, &seen.n,
			   &seen.checkpoint, e);
	if (!r)
		r = ev_only_known(o, known, e);
	if (!r && last->any && seen.n <= last->n)
		r = bwl_fail(
			e, EBADMSG,
			"interval %llu: record %llu of the log comes after record %llu: a duplicate, or out of order",
			(unsigned long long)seen.x.id.sequence, (unsigned long long)seen.n,
			(unsigned long long)last->n);
	if (!r && last->any &&
	    (seen.checkpoint.size != last->checkpoint.size ||
	     !bwl_hash_equal(&seen.checkpoint.root, &last->checkpoint.root)))
		r = bwl_fail(
			e, EBADMSG,
			"interval %llu: its proof leads to a different checkpoint than the proof of the interval before",
			(unsigned long long)seen.x.id.sequence);
	for (size_t i = 0; !r && i < json_array_size(peers); i++) {
		struct judge j = { .w = w, .e = e, .entry = &seen.x };

		r = check_peer(&j, json_array_get(peers, i));
		if (!r && (int64_t)j.slot <= slot)
			r = bad(&j, "a peer is shown twice");
		slot = j.slot;
		ev_peer_free(&j.peer);
	}
	if (r)
		return r;
	seen.whole = w->whole_slots - was.whole_slots == seen.x.slots;
	seen.peers = w->peers - was.peers;
	seen.whole_peers = w->whole_peers - was.whole_peers;
	w->intervals++;
	w->whole_intervals += seen.whole;
	if (w->on_interval)
		w->on_interval(&seen, w->arg);
	*last = seen;
	return 0;
}

int ev_opening_check(const json_t *doc, const struct ev_trust *t, struct ev_watch *w,
		     struct bwl_err *e)
{
	static const char *const known[] = { "version", "kind", "intervals", NULL };
	const char *kind = json_string_value(json_object_get(doc, "kind"));
	const json_t *all = json_object_get(doc, "intervals");
	struct ev_seen last = { 0 };
	uint64_t version;
	int r;

	if (!kind || strcmp(kind, EV_OPENING_KIND) ||
	    !ev_number_parse(json_object_get(doc, "version"), INT64_MAX, &version) || !version)
		return bwl_fail(e, EBADMSG, "it is not what `evidence open` or `challenge` writes");
	if (version > VERSION)
		return bwl_fail(e, EV_NEWER, "it is of version %llu, this program knows %d",
				(unsigned long long)version, VERSION);
	if (!json_array_size(all))
		return bwl_fail(e, EBADMSG, "it shows no interval: must have one at least");
	r = ev_only_known(doc, known, e);
	for (size_t i = 0; !r && i < json_array_size(all); i++)
		r = check_interval(json_array_get(all, i), t, w, &last, e);
	return r;
}
