// SPDX-License-Identifier: GPL-2.0-or-later
/* `evidence open` and `challenge`: show what was asked for, and no more. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/log.h"
#include "evidence.h"
#include "evidence/draw.h"

struct ask {
	uint64_t from, to, flow; /* flow 0: not asked for */
	const char *peer;
};

/* The newest entry with that number. */
static const struct ev_found *entry_of(const struct ev_log *l, uint64_t sequence)
{
	for (size_t i = l->nentries; i-- > 0;)
		if (l->entry[i].x.id.sequence == sequence && l->entry[i].n < l->c.size)
			return &l->entry[i];
	return NULL;
}

/* The record in this row of the file; NULL: none. */
static json_t *open_flow(const struct ev_interval *v, uint64_t row)
{
	for (uint32_t slot = 0; slot < v->slots; slot++)
		for (size_t i = 0; i < v->own[slot].n; i++)
			if (v->record[v->own[slot].first + i].row == row)
				return json_pack("[o]", ev_open_record(v, slot, i));
	return NULL;
}

/* NULL: nothing of that peer is in it. A name may have had two ids, one after the other. */
static json_t *open_peers(const struct ev_interval *v, const char *peer)
{
	json_t *a = json_array();

	for (uint32_t slot = 0; slot < v->slots; slot++)
		if (!peer || (!v->own[slot].decoy && !strcmp(v->own[slot].name, peer)))
			json_array_append_new(a, ev_open_peer(v, slot));
	if (json_array_size(a))
		return a;
	json_decref(a);
	return NULL;
}

static int add_interval(const struct ev_log *l, const struct ev_found *x, json_t *peers, json_t *to,
			struct bwl_err *e)
{
	char *proof;
	int r = ev_log_prove(l, x->n, &proof, e);

	if (r) {
		json_decref(peers);
		return r;
	}
	json_array_append_new(to, ev_open_interval(x->line, proof, peers));
	free(proof);
	return 0;
}

static int by_record(const void *a, const void *b)
{
	const struct ev_found *const *x = a, *const *y = b;

	return (*x)->n < (*y)->n ? -1 : (*x)->n > (*y)->n;
}

/*
 * In the log's order, which differs from that of their numbers if the directory was started again.
 */
static int find_all(struct ctl *c, const struct ev_log *l, const struct ask *a,
		    const struct ev_found ***ret, size_t *ret_n)
{
	const struct ev_found **all = NULL, *x;
	size_t n = 0, room = 0;

	for (uint64_t at = a->from; at <= a->to; at++) {
		x = entry_of(l, at);
		if (!x) {
			free(all);
			return bwl_fail(&c->err, ENOENT,
					"the audit log has no interval %llu before its checkpoint",
					(unsigned long long)at);
		}
		if (n == room)
			all = bwl_must(reallocarray(all, room = 2 * room + 64, sizeof(*all)));
		all[n++] = x;
	}
	if (n)
		qsort(all, n, sizeof(*all), by_record);
	*ret = all;
	*ret_n = n;
	return 0;
}

static int open_all(struct ctl *c, struct evidence_from *f, const struct ask *a, json_t *to)
{
	const struct ev_found **all = NULL;
	size_t n = 0;
	int r = find_all(c, &f->log, a, &all, &n);

	for (size_t i = 0; !r && i < n; i++) {
		const struct ev_found *x = all[i];
		struct ev_interval v;
		json_t *peers;

		r = evidence_interval(f->state_dir, x, &v, &c->err);
		if (r)
			break;
		peers = a->flow ? open_flow(&v, a->flow) : open_peers(&v, a->peer);
		if (peers)
			r = add_interval(&f->log, x, peers, to, &c->err);
		else if (a->flow)
			r = bwl_fail(&c->err, ENOENT,
				     "interval %llu has only %zu flows and remainders",
				     (unsigned long long)x->x.id.sequence, v.nrecords);
		ev_interval_free(&v);
	}
	free(all);
	if (!r && !json_array_size(to))
		r = bwl_fail(&c->err, ENOENT, "none of these intervals has anything of peer %.64s",
			     a->peer ? a->peer : "?");
	return r;
}

/* Takes over the reference to all. */
static int write_opening(struct ctl *c, const char *path, json_t *all, const char *what)
{
	json_t *doc = json_pack("{s:i,s:s,s:o}", "version", BWL_JSON_VERSION, "kind",
				EV_OPENING_KIND, "intervals", all);
	char *text = bwl_must(json_dumps(doc, JSON_COMPACT));
	size_t n = json_array_size(json_object_get(doc, "intervals"));
	json_t *said;
	int r = evidence_write("", path, EVIDENCE_FOR_ONE, text, strlen(text), &c->err);

	free(text);
	json_decref(doc);
	if (r)
		return r;
	bwl_audit("evidence %s: %zu interval%s", what, n, BWL_S(n));
	if (c->json) {
		said = bwl_doc("evidence-open");
		json_object_set_new(said, "interval_count", bwl_json_u64(n));
		bwl_doc_print(said);
	} else {
		bwl_put(stdout, "%zu interval%s in %s\n", n, BWL_S(n), path);
	}
	return 0;
}

int evidence_open(struct ctl *c, int argc, char **argv)
{
	const char *interval = NULL, *to = NULL, *flow = NULL, *path = NULL;
	struct evidence_from f = { .state_dir = bwl_state_dir() };
	struct ask a = { 0 };
	const struct ctl_opt opts[] = {
		{ "--interval", NULL, &interval },
		{ "--to", NULL, &to },
		{ "--flow", NULL, &flow },
		{ "--peer", NULL, &a.peer },
		{ "--write", NULL, &path },
		{ "--state-dir", NULL, &f.state_dir },
		{ "--dir", NULL, &f.audit_dir },
		{ "--checkpoint", NULL, &f.checkpoint },
		{ NULL, NULL, NULL },
	};
	char what[200];
	json_t *all;
	int r = ctl_only_opts(c, argc, argv, opts);

	if (r)
		return r;
	if (!interval || !path)
		return ctl_usage(c, "evidence open needs --interval N and --write FILE");
	if (flow && (a.peer || to))
		return ctl_usage(c, "--flow needs a single interval, without --peer or --to");
	if (ctl_number(c, "--interval", interval, INT64_MAX, &a.from))
		return CTL_USAGE;
	a.to = a.from;
	if ((to && ctl_number(c, "--to", to, INT64_MAX, &a.to)) ||
	    (flow && ctl_number(c, "--flow", flow, UINT32_MAX, &a.flow)))
		return CTL_USAGE;
	r = evidence_log(c, &f);
	if (r)
		return r;
	all = json_array();
	r = open_all(c, &f, &a, all);
	ev_log_free(&f.log);
	if (r) {
		json_decref(all);
		return r;
	}
	snprintf(what, sizeof(what), "open interval %.20s%s%.20s%s%.64s%s%.20s", interval,
		 to ? " to " : "", to ? to : "", a.peer ? " peer " : "", a.peer ? a.peer : "",
		 flow ? " flow " : "", flow ? flow : "");
	return write_opening(c, path, all, what);
}

static int by_place(const void *a, const void *b)
{
	const struct evidence_place *x = a, *y = b;

	if (x->interval != y->interval)
		return x->interval < y->interval ? -1 : 1;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static json_t *last_of(json_t *a)
{
	return json_array_get(a, json_array_size(a) - 1);
}

/* The records of these bytes, each once, all from one interval. */
static json_t *open_places(const struct ev_interval *v, const struct evidence_place *p, size_t n)
{
	json_t *peers = json_array(), *o;
	uint64_t end = 0;
	size_t index = 0;

	for (size_t i = 0; i < n; i++) {
		const struct ev_own *own = &v->own[p[i].slot];
		bool same = i && p[i - 1].slot == p[i].slot;

		if (same && p[i].at < end)
			continue; /* the previous record covers it */
		if (!same)
			end = index = 0;
		for (; index < own->n; index++) {
			end += v->record[own->first + index].sum.v[EV_BYTES];
			if (p[i].at < end)
				break;
		}
		if (index == own->n)
			break; /* no such byte: the caller compared the sums */
		o = ev_open_record(v, p[i].slot, index++);
		if (!same) {
			json_array_append_new(peers, o);
			continue;
		}
		json_array_append(json_object_get(last_of(peers), "records"),
				  json_array_get(json_object_get(o, "records"), 0));
		json_decref(o);
	}
	return peers;
}

static const struct ev_found *entry_with(const struct ev_log *l, const struct bwl_hash *root)
{
	for (size_t i = l->nentries; i-- > 0;)
		if (bwl_hash_equal(&l->entry[i].x.root, root))
			return &l->entry[i];
	return NULL;
}

static int answer(struct ctl *c, struct evidence_from *f, const struct evidence_bytes *b,
		  const struct evidence_place *p, size_t n, json_t *to)
{
	size_t i, m;
	int r = 0;

	for (i = 0; !r && i < n; i += m) {
		const struct interval_bytes *of = &b->interval[p[i].interval];
		const struct ev_found *x = entry_with(&f->log, &of->root);
		struct ev_interval v;

		for (m = 1; i + m < n && p[i + m].interval == p[i].interval;)
			m++;
		if (!x)
			return bwl_fail(&c->err, ENOENT,
					"the audit log does not have interval %llu as exported",
					(unsigned long long)of->sequence);
		r = evidence_interval(f->state_dir, x, &v, &c->err);
		if (r)
			return r;
		r = add_interval(&f->log, x, open_places(&v, p + i, m), to, &c->err);
		ev_interval_free(&v);
	}
	return r;
}

static int read_bytes(struct ctl *c, const char *dir, struct evidence_bytes *b)
{
	struct evidence_export d;
	struct evidence_part part;
	int r = evidence_export_list(dir, &d, &c->err);

	for (size_t i = 0; !r && i < d.count; i++) {
		r = evidence_export_read(&d, i, &part, &c->err);
		if (r) {
			evidence_part_free(&part);
			break;
		}
		if (ev_entry_wrong(&part.x, part.peer, part.npeers) ||
		    !evidence_bytes_add(b, d.n[i], &part.x, part.peer, part.npeers))
			r = bwl_fail(&c->err, EBADMSG,
				     "%.300s has changed since its export: see evidence verify",
				     dir);
		evidence_part_free(&part);
	}
	free(d.n);
	return r;
}

int evidence_nonce(struct ctl *c, const char *nonce)
{
	return !nonce || (*nonce && strlen(nonce) <= EV_NONCE_MAX)
		       ? 0
		       : ctl_usage(c, "--nonce: must be a text of 1 to %d bytes", EV_NONCE_MAX);
}

int evidence_challenge(struct ctl *c, int argc, char **argv)
{
	const char *seed_from = NULL, *draws = NULL, *path = NULL, *nonce = NULL;
	struct audit_witness_args args = { 0 };
	struct bwl_witnesses witnesses;
	struct evidence_from f = { .state_dir = bwl_state_dir() };
	const struct ctl_opt opts[] = {
		{ "--seed-from", NULL, &seed_from }, { "--draws", NULL, &draws },
		{ "--write", NULL, &path },          { "--state-dir", NULL, &f.state_dir },
		{ "--dir", NULL, &f.audit_dir },     { "--nonce", NULL, &nonce },
		{ "--witnesses", NULL, &args.k },    { NULL, NULL, NULL },
	};
	struct evidence_bytes b = { 0 };
	struct evidence_place *p;
	struct bwl_hash seed;
	uint64_t n = 0;
	json_t *all;
	int r = audit_take_witnesses(c, &argc, argv, &args);

	if (!r)
		r = ctl_opts(c, &argc, argv, opts);
	if (r)
		return r;
	if (argc != 1 || !seed_from || !draws || !path)
		return ctl_usage(
			c, "evidence challenge needs --seed-from, --draws, --write and a folder");
	if (ctl_number(c, "--draws", draws, EV_DRAWS_MAX, &n))
		return CTL_USAGE;
	r = evidence_nonce(c, nonce);
	if (!r)
		r = audit_know_witnesses(c, &args, &witnesses);
	if (r)
		return r;
	f.checkpoint = seed_from;
	r = evidence_log(c, &f);
	if (!r)
		r = bwl_witnesses_hold(&witnesses, &f.log.key, f.log.note, f.log.note_len, NULL,
				       &c->err);
	if (!r)
		r = ev_seed(&witnesses, f.log.note, f.log.note_len, nonce, &seed, &c->err);
	if (!r)
		r = read_bytes(c, argv[0], &b);
	if (!r && !b.total)
		r = bwl_fail(&c->err, ENODATA, "nothing passed in these intervals");
	if (!r) {
		p = bwl_must(calloc(n, sizeof(*p)));
		for (uint64_t i = 0; i < n; i++)
			p[i] = evidence_place_of(&b, ev_draw(&seed, i, b.total));
		qsort(p, n, sizeof(*p), by_place);
		all = json_array();
		r = answer(c, &f, &b, p, n, all);
		free(p);
		if (!r)
			r = write_opening(c, path, all, "challenge");
		else
			json_decref(all);
	}
	evidence_bytes_free(&b);
	ev_log_free(&f.log);
	return r;
}
