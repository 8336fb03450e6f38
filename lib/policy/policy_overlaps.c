// SPDX-License-Identifier: GPL-2.0-or-later
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

static void at(struct bwl_check *o, const struct bwl_pfx_entry *x)
{
	bool source = x->what == SOURCE;

	bwl_check_at(o, source ? "host_ports" : "peers", x->owner,
		     source              ? "sources"
		     : x->what == REMOTE ? "ipsec"
					 : "addresses",
		     line_of(o->p, x));
	if (x->what == REMOTE)
		bwl_place_key(&o->w, "remote");
	else
		bwl_place_index(&o->w, x->item);
}

static int overlap_error(struct bwl_check *o, const struct bwl_pfx_entry *outer,
			 const struct bwl_pfx_entry *inner)
{
	const struct bwl_policy *p = o->p;
	char a[64], b[64];
	unsigned line = line_of(p, outer);

	bwl_fail(o->e, EEXIST, "%s %s: %s overlaps %s of %s %s%s",
		 inner->what == SOURCE ? "host port" : "peer", name_of(p, inner),
		 bwl_pfx_format(prefix_of(p, inner), a, sizeof(a)),
		 bwl_pfx_format(prefix_of(p, outer), b, sizeof(b)),
		 outer->what == SOURCE ? "host port" : "peer", name_of(p, outer),
		 outer->what == SOURCE && inner->what != SOURCE
			 ? ": a host may not send as one of its destinations"
			 : "");
	return line ? bwl_hint(o->e, "the other one is in line %u", line) : -EEXIST;
}

/* A packet from a host to a peer's DPU itself would look like the DPUs' own ESP and IKE. */
static int remote_error(struct bwl_check *o, const struct bwl_pfx_entry *outer,
			const struct bwl_pfx_entry *inner)
{
	const struct bwl_policy *p = o->p;
	char b[64];

	if (outer->what == REMOTE)
		return bwl_fail(
			o->e, EEXIST,
			"peer %s: ipsec remote %s is also that of peer %s: each DPU is one peer",
			name_of(p, inner), p->peers[inner->owner].ipsec_remote, name_of(p, outer));
	return bwl_fail(o->e, EEXIST,
			"peer %s: ipsec remote %s is within %s of %s %s: no host may send there",
			name_of(p, inner), p->peers[inner->owner].ipsec_remote,
			bwl_pfx_format(prefix_of(p, outer), b, sizeof(b)),
			outer->what == SOURCE ? "host port" : "peer", name_of(p, outer));
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

/* A prefix that was refused overlaps nothing, and a peer without a name may be `self`. */
static bool is_sure(const struct bwl_check *o, const struct bwl_pfx_entry *outer,
		    const struct bwl_pfx_entry *inner)
{
	if (outer->what == SOURCE)
		return bwl_sure(o->rep, "host_ports/%u/sources/%u/", outer->owner, outer->item);
	if (outer->what == REMOTE)
		return bwl_sure(o->rep, "peers/%u/ipsec/remote/", outer->owner);
	return bwl_sure(o->rep, "peers/%u/addresses/%u/", outer->owner, outer->item) &&
	       (inner->what != REMOTE || bwl_sure(o->rep, "peers/%u/name/", outer->owner));
}

static int judge(void *arg, struct bwl_pfx_open *outer, const struct bwl_pfx_entry *inner)
{
	struct bwl_check *o = arg;
	int r = judge_one(o, outer, inner);

	at(o, inner);
	if (r && is_sure(o, outer->x, inner))
		bwl_check_tell(o, r);
	return o->rep->r;
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

void bwl_policy_check_overlaps(struct bwl_check *c)
{
	const struct bwl_policy *p = c->p;
	struct bwl_pfx remote;
	size_t n = 0, k = 0;
	struct bwl_pfx_entry *list;

	for (size_t i = 0; i < p->nports; i++)
		n += p->ports[i].nsources;
	for (size_t i = 0; i < p->npeers; i++)
		n += p->peers[i].naddresses + 1;
	list = malloc((n ? n : 1) * sizeof(*list));
	if (!list) {
		BWL_BAD(c, ENOMEM, "out of memory");
		return;
	}
	for (size_t i = 0; i < p->nports; i++)
		for (size_t j = 0; j < p->ports[i].nsources; j++)
			if (p->ports[i].sources[j].family)
				list[k++] = bwl_pfx_entry(&p->ports[i].sources[j], i, j, SOURCE);
	for (size_t i = 0; i < p->npeers; i++) {
		for (size_t j = 0; j < p->peers[i].naddresses; j++)
			if (p->peers[i].addresses[j].family)
				list[k++] = bwl_pfx_entry(&p->peers[i].addresses[j], i, j, ADDRESS);
		if (!bwl_pfx_parse(p->peers[i].ipsec_remote, &remote, NULL))
			list[k++] = bwl_pfx_entry(&remote, i, 0, REMOTE);
	}
	bwl_pfx_walk(list, k, judge, leave, c);
	free(list);
}
