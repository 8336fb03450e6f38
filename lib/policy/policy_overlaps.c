/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares prefixes and the addresses of the peers' DPUs with each other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy_check.h"
#include "bwl/pfx_walk.h"

enum what { SOURCE, ADDRESS, REMOTE }; /* the sort order of equal prefixes */

static const struct bwl_pfx *prefix_of(const struct bwl_policy *p, const struct bwl_pfx_entry *x)
{
	return x->what == SOURCE ? &p->ports[x->owner].sources[x->item]
				 : &p->peers[x->owner].addresses[x->item];
}

static const char *name_of(const struct bwl_policy *p, const struct bwl_pfx_entry *x)
{
	return x->what == SOURCE ? p->ports[x->owner].name : p->peers[x->owner].name;
}

static unsigned line_of(const struct bwl_policy *p, const struct bwl_pfx_entry *x)
{
	return x->what == SOURCE ? p->ports[x->owner].line : p->peers[x->owner].line;
}

static int overlap_error(struct bwl_check *o, const struct bwl_pfx_entry *outer,
			 const struct bwl_pfx_entry *inner)
{
	const struct bwl_policy *p = o->p;
	char a[64], b[64];
	unsigned line = line_of(p, outer);

	o->w->n = 0;
	bwl_place_key(o->w, inner->what == SOURCE ? "host_ports" : "peers");
	bwl_place_index(o->w, inner->owner);
	bwl_place_key(o->w, inner->what == SOURCE ? "sources" : "addresses");
	bwl_place_index(o->w, inner->item);
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

/* A packet from a host to a peer's DPU itself would look like the DPUs' own ESP and IKE. */
static int remote_error(struct bwl_check *o, const struct bwl_pfx_entry *outer,
			const struct bwl_pfx_entry *inner)
{
	const struct bwl_policy *p = o->p;
	char b[64];

	o->w->n = 0;
	bwl_place_key(o->w, "peers");
	bwl_place_index(o->w, inner->owner);
	bwl_place_key(o->w, "ipsec");
	if (outer->what == REMOTE)
		bwl_fail(o->e, EEXIST,
			 "peer %s: ipsec remote %s is also that of peer %s: each DPU is one peer",
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

static int judge_one(struct bwl_check *o, struct bwl_pfx_open *outer,
		     const struct bwl_pfx_entry *inner)
{
	const struct bwl_pfx_entry *x = outer->x;
	bool same = x->family == inner->family && x->len == inner->len;
	char a[64], b[64];

	if (inner->what == REMOTE && x->what == ADDRESS && !strcmp(name_of(o->p, x), "self"))
		return 0; /* hosts cannot send there anyway */
	if (inner->what == REMOTE)
		return remote_error(o, x, inner);
	if (same || (x->what == SOURCE && (inner->what != SOURCE || x->owner != inner->owner)))
		return overlap_error(o, x, inner);
	if (inner->what == SOURCE && x->what != SOURCE) {
		bwl_policy_warn(
			o->p, o->file, line_of(o->p, x),
			"peer %s: %s contains the sources of host port %s (%s): its neighbours there become destinations",
			name_of(o->p, x), bwl_pfx_format(prefix_of(o->p, x), a, sizeof(a)),
			name_of(o->p, inner), bwl_pfx_format(prefix_of(o->p, inner), b, sizeof(b)));
	} else if (x->owner != inner->owner && !outer->inside++) {
		outer->first = inner;
	}
	return 0;
}

static int judge(void *arg, struct bwl_pfx_open *outer, const struct bwl_pfx_entry *inner)
{
	return bwl_check_next(arg, judge_one(arg, outer, inner));
}

/* One warning per enclosing prefix, however many prefixes it contains. */
static void leave(void *arg, const struct bwl_pfx_open *outer)
{
	struct bwl_check *o = arg;
	char a[64], b[64], more[64] = "";

	if (!outer->inside)
		return;
	if (outer->inside > 1)
		snprintf(more, sizeof(more), " and %zu more", outer->inside - 1);
	bwl_policy_warn(o->p, o->file, line_of(o->p, outer->x),
			"peer %s: %s contains %s of peer %s%s: the longest prefix is used",
			name_of(o->p, outer->x),
			bwl_pfx_format(prefix_of(o->p, outer->x), a, sizeof(a)),
			bwl_pfx_format(prefix_of(o->p, outer->first), b, sizeof(b)),
			name_of(o->p, outer->first), more);
}

int bwl_policy_check_overlaps(struct bwl_check *c)
{
	const struct bwl_policy *p = c->p;
	struct bwl_pfx remote;
	size_t n = 0, k = 0;
	struct bwl_pfx_entry *list;
	int r;

	for (size_t i = 0; i < p->nports; i++)
		n += p->ports[i].nsources;
	for (size_t i = 0; i < p->npeers; i++)
		n += p->peers[i].naddresses + 1;
	list = malloc((n ? n : 1) * sizeof(*list));
	if (!list)
		return bwl_fail(c->e, ENOMEM, "out of memory");
	for (size_t i = 0; i < p->nports; i++)
		for (size_t j = 0; j < p->ports[i].nsources; j++)
			list[k++] = bwl_pfx_entry(&p->ports[i].sources[j], i, j, SOURCE);
	for (size_t i = 0; i < p->npeers; i++) {
		for (size_t j = 0; j < p->peers[i].naddresses; j++)
			list[k++] = bwl_pfx_entry(&p->peers[i].addresses[j], i, j, ADDRESS);
		if (!bwl_pfx_parse(p->peers[i].ipsec_remote, &remote, NULL))
			list[k++] = bwl_pfx_entry(&remote, i, 0, REMOTE);
	}
	r = bwl_pfx_walk(list, k, judge, leave, c);
	free(list);
	return r;
}
