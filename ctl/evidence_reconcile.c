// SPDX-License-Identifier: GPL-2.0-or-later
/* `evidence reconcile`: compares both ends of a pair, by what each of them showed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "evidence.h"

#define CAUSES 16

struct side {
	struct ctl *c;
	const char *path;
	char peer[EV_NAME], begin[EV_TIME], end[EV_TIME];
	bool mixed, unbalanced, part;
	struct ev_sum out, in;
	uint64_t gaps, skips, intervals; /* skips: gaps, in which intervals are not shown */
	uint64_t timeless;               /* intervals whose begin or end is not known */
	struct ev_id last;
	bool overflow;
};

static void on_peer(const struct ev_entry *x, const struct ev_peer *p, uint32_t slot,
		    const char *name, bool all, void *arg)
{
	struct side *s = arg;

	(void)slot;
	if (s->intervals && strcmp(s->peer, name))
		s->mixed = true;
	snprintf(s->peer, sizeof(s->peer), "%.255s", name);
	s->part |= !all;
	s->unbalanced |= !p->balanced;
	for (size_t i = 0; i < p->nparts; i++)
		s->overflow |= !ev_sum_add(!strcmp(p->part[i].way, "out") ? &s->out : &s->in,
					   &p->part[i].sum);
	if (*x->id.begin && (!*s->begin || strcmp(x->id.begin, s->begin) < 0))
		strcpy(s->begin, x->id.begin);
	if (strcmp(x->id.end, s->end) > 0)
		strcpy(s->end, x->id.end);
	/* A name may be in two slots. */
	if (!s->intervals || !ev_id_same(&s->last, &x->id)) {
		s->skips += s->intervals && !ev_follows(&s->last, &x->id);
		s->gaps += x->id.gap;
		s->timeless += !*x->id.begin || !*x->id.end;
	}
	s->intervals++;
	s->last = x->id;
}

static int read_side(struct side *s, const struct ev_trust *t)
{
	struct ev_watch w = { .on_peer = on_peer, .arg = s };
	struct bwl_err e = { 0 };
	json_t *doc;
	char *text;
	size_t n;
	int r = evidence_read(s->path, EV_OPENING_MAX, &text, &n, &s->c->err);

	if (r)
		return r;
	doc = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	r = ev_opening_check(doc, t, &w, &e);
	if (r)
		r = bwl_fail(&s->c->err, -r, "%.200s: %s%.400s", s->path,
			     r == -EV_NEWER ? "newer: cannot judge: " : "", e.text);
	else if (s->mixed || !s->intervals || s->part)
		r = bwl_fail(&s->c->err, EBADMSG,
			     "%.200s must be written by `evidence open --peer`, for one peer",
			     s->path);
	else if (s->overflow)
		r = bwl_fail(&s->c->err, EOVERFLOW, "%.200s: sums above 2^64", s->path);
	json_decref(doc);
	return r;
}

static int read_causes(struct ctl *c, const char *const *cause, size_t n, uint64_t *ret)
{
	const char *size;
	uint64_t bytes;

	*ret = 0;
	for (size_t i = 0; i < n; i++) {
		size = strchr(cause[i], '=');
		if (!size || size == cause[i])
			return ctl_usage(
				c, "--cause %.64s: must be NAME=SIZE, for example esp-gaps=12kb",
				cause[i]);
		if (bwl_parse_size(size + 1, &bytes, &c->err))
			return CTL_USAGE;
		if (__builtin_add_overflow(*ret, bytes, ret))
			return ctl_usage(c, "--cause: more than 2^64 bytes");
	}
	return 0;
}

static int say(struct ctl *c, const struct side *from, const struct side *to, uint64_t causes)
{
	uint64_t sent = from->out.v[EV_BYTES], arrived = to->in.v[EV_BYTES],
		 refused = to->in.v[EV_DROPPED_BYTES], known = 0, left = 0;
	bool more = __builtin_add_overflow(arrived, refused, &known) || known > sent;
	json_t *o;

	if (!more) {
		left = sent - known;
		left = left > causes ? left - causes : 0;
	}
	if (c->json) {
		o = bwl_doc("evidence-reconcile");
		json_object_set_new(o, "ok", json_boolean(!more));
		json_object_set_new(o, "sent_bytes", bwl_json_u64(sent));
		json_object_set_new(o, "arrived_bytes", bwl_json_u64(arrived));
		json_object_set_new(o, "refused_on_arrival_bytes", bwl_json_u64(refused));
		json_object_set_new(o, "known_cause_bytes", bwl_json_u64(causes));
		json_object_set_new(o, "unexplained_bytes", bwl_json_u64(left));
		json_object_set_new(o, "gap_count", bwl_json_u64(from->gaps + to->gaps));
		json_object_set_new(o, "skip_count", bwl_json_u64(from->skips + to->skips));
		bwl_doc_print(o);
	} else {
		bwl_put(stdout, "sent      %20llu bytes to %s, %s to %s\n",
			(unsigned long long)sent, from->peer, *from->begin ? from->begin : "?",
			*from->end ? from->end : "?");
		bwl_put(stdout, "arrived   %20llu bytes from %s, %s to %s\n",
			(unsigned long long)arrived, to->peer, *to->begin ? to->begin : "?",
			*to->end ? to->end : "?");
		printf("refused   %20llu bytes, on arrival (accept)\n",
		       (unsigned long long)refused);
		printf("lost      %20llu bytes to the named causes\n", (unsigned long long)causes);
		if (more)
			puts("BAD  more arrived than was sent: one of the two is false, or the times differ");
		else
			bwl_put(stdout, "%s  %llu bytes are unexplained\n", left ? "note" : "ok ",
				(unsigned long long)left);
		if (from->unbalanced || to->unbalanced || from->gaps || to->gaps)
			puts("note some intervals report that they do not balance, or that something is missing");
		if (from->timeless || to->timeless)
			printf("note %llu intervals do not know their begin or end: their bytes count, and the times above are of the others\n",
			       (unsigned long long)(from->timeless + to->timeless));
		if (from->skips || to->skips)
			printf("note %llu gaps between the intervals shown: nothing of the peer was in them, or they were left out; evidence export tells which\n",
			       (unsigned long long)(from->skips + to->skips));
	}
	fflush(stdout);
	return more ? CTL_EXIT + 1 : 0;
}

int evidence_reconcile(struct ctl *c, int argc, char **argv)
{
	const char *sender = NULL, *receiver = NULL, *cause[CAUSES];
	struct audit_witness_args witnesses = { 0 };
	const struct ctl_opt opts[] = { { "--sender-key", NULL, &sender },
					{ "--receiver-key", NULL, &receiver },
					{ "--witnesses", NULL, &witnesses.k },
					{ NULL, NULL, NULL } };
	size_t ncauses = 0;
	struct side from = { .c = c }, to = { .c = c };
	struct ev_trust t;
	uint64_t causes;
	int r = audit_take_witnesses(c, &argc, argv, &witnesses);

	if (!r)
		r = audit_take_all(c, &argc, argv, "--cause", cause, CAUSES, &ncauses);
	if (!r)
		r = ctl_opts(c, &argc, argv, opts);
	if (!r && (argc != 2 || !sender || !receiver))
		return ctl_usage(
			c, "evidence reconcile needs --sender-key, --receiver-key and two files");
	if (!r)
		r = read_causes(c, cause, ncauses, &causes);
	if (r)
		return r;
	from.path = argv[0];
	to.path = argv[1];
	r = evidence_trust(c, sender, &witnesses, &t);
	if (!r)
		r = read_side(&from, &t);
	if (!r)
		r = evidence_trust(c, receiver, &witnesses, &t);
	if (!r)
		r = read_side(&to, &t);
	return r ? r : say(c, &from, &to, causes);
}
