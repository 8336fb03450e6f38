// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as evidence: if an interval's file is accepted, it adds up, and what it opens is what
 * it contains; a peer that is read is written again unchanged; and nothing is believed that the
 * log's key did not sign.
 */
#include <string.h>
#include "evidence/chain.h"
#include "evidence/opening.h"
#include "fuzz.h"

static void nothing(bool bad, const char *text, void *arg)
{
	(void)bad;
	(void)arg;
	must(strlen(text) < 300, "a line");
}

static void an_interval(const char *data, size_t size)
{
	static const uint8_t master[32] = { 7 };
	struct ev_chain c = { .fn = nothing };
	struct ev_interval v;
	struct bwl_err e;
	struct ev_entry x, back;
	json_t *o;

	if (ev_interval_make(strndup(data, size), strnlen(data, size), master, &v, &e))
		return;
	must(ev_is_slots(v.slots), "a power of two");
	if (ev_entry_of(&v, 1, NULL, &x)) {
		const char *wrong = ev_entry_wrong(&x, v.peer, v.slots);

		must(!wrong, "an entry is of its peers");
		o = ev_entry_json(&x);
		must(!ev_entry_parse(o, &back, NULL) &&
			     !memcmp(&x.total, &back.total, sizeof(x.total)),
		     "as it was written");
		json_decref(o);
		ev_chain_next(&c, &x, v.peer, v.slots);
		ev_chain_next(&c, &x, v.peer, v.slots);
	}
	for (uint32_t i = 0; i < v.slots; i++) {
		struct ev_node *node = v.own[i].decoy ? NULL : ev_interval_leaves(&v, i);
		struct ev_node path[EV_DEPTH], top, leaf = node ? node[0] : top;
		unsigned n;

		if (!node)
			continue;
		must(ev_sum_path(node, v.peer[i].slots, 0, path, &n), "a path");
		must(ev_sum_climb(&leaf, 0, path, n, &top, NULL) &&
			     bwl_hash_equal(&top.hash, &v.peer[i].root),
		     "to the root");
		free(node);
	}
	ev_chain_free(&c);
	ev_interval_free(&v);
}

/*
 * As if the log had signed it: a log with only that entry, so that the code after the signature
 * check is reached.
 */
static void as_if_signed(json_t *doc)
{
	json_t *first = json_array_get(json_object_get(doc, "intervals"), 0);
	const json_t *line = json_object_get(first, "entry");
	static struct ev_trust t;
	struct bwl_checkpoint c = { .size = 1 };
	char note[BWL_CHECKPOINT_NOTE], *proof;
	struct bwl_tlog_proof p = { .note = note };
	struct ev_watch w = { 0 };
	struct bwl_err e;

	if (!json_is_string(line))
		return;
	if (!t.log.can_sign)
		must(!bwl_note_key_new("fuzz", &t.log, &e), "a key");
	strcpy(c.origin, "fuzz");
	bwl_hash_leaf(json_string_value(line), json_string_length(line), &c.root);
	must(!bwl_checkpoint_sign(&t.log, &c, note, &p.note_len, &e), "a checkpoint");
	proof = bwl_tlog_proof_format(&p);
	json_object_set_new(first, "proof", json_string(proof));
	free(proof);
	(void)ev_opening_check(doc, &t, &w, &e);
}

static void a_peer(const json_t *o)
{
	struct ev_peer p, again;
	struct bwl_hash a, b;
	json_t *back;

	if (!ev_peer_parse(o, &p, NULL)) {
		(void)ev_peer_wrong(&p);
		back = ev_peer_json(&p);
		must(!ev_peer_parse(back, &again, NULL), "what was written is read");
		ev_peer_hash(&p, &a);
		ev_peer_hash(&again, &b);
		must(bwl_hash_equal(&a, &b), "and is the same");
		ev_peer_free(&again);
		json_decref(back);
	}
	ev_peer_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ev_trust nobody = { .log = { .name = "nobody" } };
	const char *text = (const char *)data;
	json_t *o = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	struct ev_watch w = { 0 };
	struct ev_record r;
	struct ev_entry x;
	struct bwl_err e;
	char name[EV_NAME];
	uint64_t n;

	an_interval(text, size);
	a_peer(o);
	if (o && !ev_opening_check(o, &nobody, &w, &e))
		must(!w.records && !w.peers, "nobody signs nothing");
	if (o)
		as_if_signed(o);
	json_decref(o);
	(void)ev_entry_line(text, size, &x, &n, NULL);
	if (!ev_record_parse(text, size, &r, name, NULL))
		must(r.len == size && strlen(name) < EV_NAME, "a line");
	(void)ev_record_scan(text, size, &r);
	return 0;
}
