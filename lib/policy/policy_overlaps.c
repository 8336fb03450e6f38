/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prefixes and the addresses of the peers' DPUs against each other: sorted, an enclosing prefix
 * stands right before what it holds, so one walk with a stack of open prefixes sees every overlap.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy_text.h"

enum what { SOURCE, ADDRESS, REMOTE }; /* in this order where they are equal */

struct entry {
	uint64_t hi, lo; /* address in host byte order, left-aligned */
	uint32_t owner;  /* index of the peer, or of the host port */
	uint32_t item;   /* index in its list */
	uint8_t family, len;
	enum what what;
};

static struct entry make_entry(const struct bwl_pfx *x, size_t owner, size_t item, enum what what)
{
	struct entry n = {
		.owner = owner,
		.item = item,
		.family = x->family,
		.len = x->len,
		.what = what,
	};

	memcpy(&n.hi, x->addr, 8);
	memcpy(&n.lo, x->addr + 8, 8);
	n.hi = be64toh(n.hi);
	n.lo = be64toh(n.lo);
	return n;
}

static int compare(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	if (a->hi != b->hi)
		return a->hi < b->hi ? -1 : 1;
	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	if (a->what != b->what)
		return a->what < b->what ? -1 : 1;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

static bool holds(const struct entry *outer, const struct entry *inner)
{
	unsigned n = outer->len;

	if (outer->family != inner->family || outer->len > inner->len)
		return false;
	if (n == 0)
		return true;
	if (n <= 64)
		return !((outer->hi ^ inner->hi) >> (64 - n));
	return outer->hi == inner->hi && !((outer->lo ^ inner->lo) >> (128 - n));
}

/* An enclosing prefix while the walk is inside it. */
struct open {
	const struct entry *x;
	const struct entry *first; /* first prefix of another peer inside */
	size_t inside;             /* how many there are */
};

struct overlap {
	struct bwl_policy *p;
	const char *file;
	struct bwl_where *w;
	struct bwl_err *e;
};

static const struct bwl_pfx *prefix_of(const struct bwl_policy *p, const struct entry *x)
{
	return x->what == SOURCE ? &p->ports[x->owner].sources[x->item]
				 : &p->peers[x->owner].addresses[x->item];
}

static const char *name_of(const struct bwl_policy *p, const struct entry *x)
{
	return x->what == SOURCE ? p->ports[x->owner].name : p->peers[x->owner].name;
}

static unsigned line_of(const struct bwl_policy *p, const struct entry *x)
{
	return x->what == SOURCE ? p->ports[x->owner].line : p->peers[x->owner].line;
}

static int overlap_error(struct overlap *o, const struct entry *outer, const struct entry *inner)
{
	const struct bwl_policy *p = o->p;
	char a[64], b[64];
	unsigned line = line_of(p, outer);

	o->w->n = 0;
	bwl_where_key(o->w, inner->what == SOURCE ? "host_ports" : "peers");
	bwl_where_index(o->w, inner->owner);
	bwl_where_key(o->w, inner->what == SOURCE ? "sources" : "addresses");
	bwl_where_index(o->w, inner->item);
	bwl_fail(o->e, EEXIST, "%s %s: %s overlaps %s of %s %s%s",
		 inner->what == SOURCE ? "host port" : "peer", name_of(p, inner),
		 bwl_pfx_format(prefix_of(p, inner), a, sizeof(a)),
		 bwl_pfx_format(prefix_of(p, outer), b, sizeof(b)),
		 outer->what == SOURCE ? "host port" : "peer", name_of(p, outer),
		 outer->what == SOURCE && inner->what != SOURCE
			 ? ": a host may not send as one of its destinations"
			 : "");
	if (o->e)
		o->e->line = line_of(p, inner);
	return line ? bwl_hint(o->e, "the other one is in line %u", line) : -EEXIST;
}

/* What a host sends to a peer's DPU itself would look like the DPUs' own ESP and IKE. */
static int remote_error(struct overlap *o, const struct entry *outer, const struct entry *inner)
{
	const struct bwl_policy *p = o->p;
	char b[64];

	o->w->n = 0;
	bwl_where_key(o->w, "peers");
	bwl_where_index(o->w, inner->owner);
	bwl_where_key(o->w, "ipsec");
	if (outer->what == REMOTE)
		bwl_fail(o->e, EEXIST,
			 "peer %s: ipsec remote %s is that of peer %s, too: one peer a DPU",
			 name_of(p, inner), p->peers[inner->owner].ipsec_remote, name_of(p, outer));
	else
		bwl_fail(o->e, EEXIST,
			 "peer %s: ipsec remote %s is within %s of %s %s: no host may send there",
			 name_of(p, inner), p->peers[inner->owner].ipsec_remote,
			 bwl_pfx_format(prefix_of(p, outer), b, sizeof(b)),
			 outer->what == SOURCE ? "host port" : "peer", name_of(p, outer));
	if (o->e)
		o->e->line = line_of(p, inner);
	return -EEXIST;
}

static int judge(struct overlap *o, struct open *outer, const struct entry *inner)
{
	const struct entry *x = outer->x;
	bool same = x->family == inner->family && x->len == inner->len;
	char a[64], b[64];

	if (inner->what == REMOTE && x->what == ADDRESS && !strcmp(name_of(o->p, x), "self"))
		return 0; /* no host may use that one */
	if (inner->what == REMOTE)
		return remote_error(o, x, inner);
	if (same || (x->what == SOURCE && (inner->what != SOURCE || x->owner != inner->owner)))
		return overlap_error(o, x, inner);
	if (inner->what == SOURCE && x->what != SOURCE) {
		bwl_policy_warn(
			o->p, o->file, line_of(o->p, x),
			"peer %s: %s holds the sources of host port %s (%s): its neighbours there are destinations too",
			name_of(o->p, x), bwl_pfx_format(prefix_of(o->p, x), a, sizeof(a)),
			name_of(o->p, inner), bwl_pfx_format(prefix_of(o->p, inner), b, sizeof(b)));
	} else if (x->owner != inner->owner && !outer->inside++) {
		outer->first = inner;
	}
	return 0;
}

/* One warning for each enclosing prefix, however many it holds. */
static void leave(struct overlap *o, const struct open *outer)
{
	char a[64], b[64], more[64] = "";

	if (!outer->inside)
		return;
	if (outer->inside > 1)
		snprintf(more, sizeof(more), " and %zu more", outer->inside - 1);
	bwl_policy_warn(o->p, o->file, line_of(o->p, outer->x),
			"peer %s: %s holds %s of peer %s%s: the longest prefix is used",
			name_of(o->p, outer->x),
			bwl_pfx_format(prefix_of(o->p, outer->x), a, sizeof(a)),
			bwl_pfx_format(prefix_of(o->p, outer->first), b, sizeof(b)),
			name_of(o->p, outer->first), more);
}

static int walk(struct overlap *o, const struct entry *list, size_t n)
{
	struct open open[129]; /* lengths on the stack rise: 0 to 128 */
	size_t depth = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		while (depth && !holds(open[depth - 1].x, &list[i]))
			leave(o, &open[--depth]);
		if (depth && (r = judge(o, &open[depth - 1], &list[i])))
			return r;
		open[depth++] = (struct open){ .x = &list[i] };
	}
	while (depth)
		leave(o, &open[--depth]);
	return 0;
}

int bwl_policy_check_overlaps(struct bwl_policy *p, const char *file, struct bwl_where *w,
			      struct bwl_err *e)
{
	struct overlap o = { .p = p, .file = file, .w = w, .e = e };
	struct bwl_pfx remote;
	size_t n = 0, k = 0;
	struct entry *list;
	int r;

	for (size_t i = 0; i < p->nports; i++)
		n += p->ports[i].nsources;
	for (size_t i = 0; i < p->npeers; i++)
		n += p->peers[i].naddresses + 1;
	list = malloc((n ? n : 1) * sizeof(*list));
	if (!list)
		return bwl_fail(e, ENOMEM, "out of memory");
	for (size_t i = 0; i < p->nports; i++)
		for (size_t j = 0; j < p->ports[i].nsources; j++)
			list[k++] = make_entry(&p->ports[i].sources[j], i, j, SOURCE);
	for (size_t i = 0; i < p->npeers; i++) {
		for (size_t j = 0; j < p->peers[i].naddresses; j++)
			list[k++] = make_entry(&p->peers[i].addresses[j], i, j, ADDRESS);
		if (!bwl_pfx_parse(p->peers[i].ipsec_remote, &remote, NULL))
			list[k++] = make_entry(&remote, i, 0, REMOTE);
	}
	qsort(list, k, sizeof(*list), compare);
	r = walk(&o, list, k);
	free(list);
	return r;
}
