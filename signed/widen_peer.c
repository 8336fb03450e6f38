/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares a peer with its former self: what it may get, and by which way. */
#include <stdio.h>
#include <string.h>
#include <bwl/doc.h>
#include <bwl/units.h>
#include "signed/widen_parts.h"

/* Returns what may arrive; false: nothing. */
static bool accepts(const struct bwl_pol_peer *p, struct bwl_lim *ret)
{
	if (p->accept_none)
		return false;
	*ret = p->accept.present ? p->accept : bwl_default_accept(&p->grant);
	return ret->present;
}

bool widen_is_open(const struct bwl_pol_peer *p)
{
	struct bwl_lim l;

	return !p->revoked && (p->grant.present || p->floor.present || accepts(p, &l));
}

/* Pacing lets a packet leave later than it was charged, so it counts as wider. */
static unsigned mode_rank(const struct bwl_pol_peer *p)
{
	return p->mode == BWL_MODE_MONITOR ? 2 : bwl_mode_paces(p->mode) ? 1 : 0;
}

/* Bytes that may wait. Computed in the same way whether or not the policy sets the time. */
static uint64_t waits(const struct bwl_policy *pol, const struct bwl_pol_peer *p)
{
	unsigned __int128 rate = p->grant.rate_bps, bytes = BWL_HORIZON_BYTES;
	const unsigned __int128 ns8 = 8000000000ULL;

	if (!bwl_mode_paces(p->mode))
		return p->mode == BWL_MODE_MONITOR ? UINT64_MAX : 0;
	if (rate == BWL_NO_RATE)
		return UINT64_MAX;
	if (pol->horizon_ns)
		return (uint64_t)(rate * pol->horizon_ns / ns8);
	if (bytes > rate * BWL_HORIZON_MOST_NS / ns8)
		bytes = rate * BWL_HORIZON_MOST_NS / ns8;
	if (bytes < rate * BWL_HORIZON_LEAST_NS / ns8)
		bytes = rate * BWL_HORIZON_LEAST_NS / ns8;
	return (uint64_t)bytes;
}

static char *boot_moment(uint64_t ns, char *buf)
{
	char t[BWL_TIME_BUF];

	snprintf(buf, BWL_UNIT_BUF, "%.*s", BWL_UNIT_BUF - 1, bwl_utc_boot(ns, t));
	return buf;
}

static void grant(struct widen *w, const char *name, const struct bwl_pol_peer *a,
		  const struct bwl_pol_peer *b)
{
	char where[64];

	snprintf(where, sizeof(where), "peer %s, grant", name);
	if (!b->grant.present)
		return;
	if (!a->grant.present) {
		widen_add(w, where, "grant", "none", "there is one");
		return;
	}
	if (a->mode != BWL_MODE_MONITOR)
		widen_limit(w, where, &a->grant, &b->grant);
	if (mode_rank(b) > mode_rank(a))
		widen_add(w, where, "mode", bwl_mode_name(a->mode), bwl_mode_name(b->mode));
	else
		widen_number(w, where, "horizon, bytes", waits(w->from, a), waits(w->to, b),
			     bwl_format_size);
	widen_number(w, where, "until", a->expiry_ns, b->expiry_ns, boot_moment);
	for (unsigned k = 0; k < _BWL_CLASS_MAX; k++) {
		snprintf(where, sizeof(where), "peer %s, class %s", name, bwl_class_name(k));
		widen_limit(w, where, &a->class_[k], &b->class_[k]);
	}
	for (size_t i = 0; i < a->ntenants; i++) {
		const struct bwl_pol_tenant *t = bwl_policy_tenant(b, a->tenants[i].port);

		snprintf(where, sizeof(where), "peer %s, port %s", name, a->tenants[i].port);
		widen_limit(w, where, &a->tenants[i].limit, t ? &t->limit : &(struct bwl_lim){ 0 });
	}
}

/* Does the floor replace the grant at the same moment as before? */
static bool falls_as_before(const struct widen *w, const struct bwl_pol_peer *a,
			    const struct bwl_pol_peer *b)
{
	return a->grant.present == b->grant.present && a->expiry_ns == b->expiry_ns &&
	       w->from->heartbeat_ns == w->to->heartbeat_ns &&
	       w->from->heartbeat_none == w->to->heartbeat_none &&
	       w->from->lease_ns == w->to->lease_ns;
}

/*
 * A floor may allow more than the grant above it (it has a volume of its own): a grant that ends
 * earlier would then open something.
 */
static void floor_(struct widen *w, const char *name, const struct bwl_pol_peer *a,
		   const struct bwl_pol_peer *b)
{
	char where[64];

	snprintf(where, sizeof(where), "peer %s, floor", name);
	if (!b->floor.present)
		return;
	if (!a->floor.present)
		widen_add(w, where, "floor", "none", "there is one");
	else
		widen_limit(w, where, &a->floor, &b->floor);
	if (a->grant.present && a->mode != BWL_MODE_MONITOR && !falls_as_before(w, a, b) &&
	    !widen_is_within(&a->grant, &b->floor))
		widen_add(w, where, "when it holds", "after the grant, which is lower",
			  "at another time");
}

static void accept_(struct widen *w, const char *name, const struct bwl_pol_peer *a,
		    const struct bwl_pol_peer *b)
{
	struct bwl_lim x, y;
	char where[64];

	snprintf(where, sizeof(where), "peer %s, accept", name);
	if (!accepts(b, &y))
		return;
	if (!accepts(a, &x))
		widen_add(w, where, "accept", "none", "there is one");
	else
		widen_limit(w, where, &x, &y);
}

static void same(struct widen *w, const char *where, const char *what, const char *a, const char *b)
{
	if (strcmp(a, b))
		widen_add(w, where, what, *a ? a : "none", *b ? b : "none");
}

static const char *ppk(const struct bwl_policy *pol, const struct bwl_pol_peer *p)
{
	const char *s = p->ipsec_ppk ? p->ipsec_ppk : pol->ipsec.ppk;

	return strcmp(s, "none") ? s : "";
}

static const char *uplink(const struct bwl_policy *pol, const struct bwl_pol_peer *p)
{
	return *p->uplink ? p->uplink : pol->nuplinks ? pol->uplinks[0] : "";
}

static void via(struct widen *w, const char *where, bool has_a, const uint8_t *a, bool has_b,
		const uint8_t *b, uint8_t family)
{
	struct bwl_pfx p = { .family = family, .len = family == 4 ? 32 : 128 };
	size_t n = family == 4 ? 4 : 16;
	char x[64] = "none", y[64];

	if (!has_b || (has_a && !memcmp(a, b, n)))
		return;
	memcpy(p.addr, b, n);
	bwl_pfx_format(&p, y, sizeof(y));
	memcpy(p.addr, a, n);
	if (has_a)
		bwl_pfx_format(&p, x, sizeof(x));
	widen_add(w, where, family == 4 ? "via" : "via6", x, y);
}

static const char *mac(const struct bwl_pol_peer *p, char buf[static BWL_MAC_BUF])
{
	return bwl_mac_is_one(p->next_hop_mac) ? bwl_mac_format(p->next_hop_mac, buf) : "";
}

/* Another way means another wire, or another reader: one person may not choose that. */
static void way(struct widen *w, const char *where, const struct bwl_pol_peer *a,
		const struct bwl_pol_peer *b)
{
	static const unsigned rank[] = {
		[BWL_PATH_XFRM] = 0, [BWL_PATH_OFFLOAD] = 1, [BWL_PATH_CLEAR] = 2
	};
	char from[BWL_MAC_BUF], to[BWL_MAC_BUF];

	if (rank[b->path] > rank[a->path])
		widen_add(w, where, "path", bwl_path_name(a->path), bwl_path_name(b->path));
	same(w, where, "uplink", uplink(w->from, a), uplink(w->to, b));
	same(w, where, "next_hop_mac", mac(a, from), mac(b, to));
	if (b->path == BWL_PATH_CLEAR) {
		via(w, where, a->has_via4, a->via4, b->has_via4, b->via4, 4);
		via(w, where, a->has_via6, a->via6, b->has_via6, b->via6, 6);
	} else if (a->path != BWL_PATH_CLEAR) {
		same(w, where, "ipsec remote", a->ipsec_remote, b->ipsec_remote);
		same(w, where, "ipsec id", a->ipsec_id ? a->ipsec_id : "",
		     b->ipsec_id ? b->ipsec_id : "");
		if (*ppk(w->from, a))
			same(w, where, "ipsec ppk", ppk(w->from, a), ppk(w->to, b));
	}
}

static bool may_use(const struct bwl_policy *pol, const struct bwl_pol_peer *p, const char *port)
{
	for (size_t i = 0; i < p->nfrom; i++)
		if (!strcmp(p->from[i], port))
			return true;
	for (size_t i = 0; !p->nfrom && i < pol->nports; i++)
		if (!strcmp(pol->ports[i].name, port))
			return true;
	return false;
}

void widen_peer(struct widen *w, const struct bwl_pol_peer *a, const struct bwl_pol_peer *b)
{
	char where[64];

	snprintf(where, sizeof(where), "peer %s", b->name);
	grant(w, b->name, a, b);
	floor_(w, b->name, a, b);
	accept_(w, b->name, a, b);
	way(w, where, a, b);
	if (*a->zone)
		same(w, where, "zone", a->zone, b->zone);
	if (b->contained && !a->contained) /* exfil would no longer count it */
		widen_add(w, where, "contained", "an exit", "none");
	if (a->revoked)
		widen_add(w, where, "revocation", "closed", "open");
	for (size_t i = 0; i < w->to->nports; i++)
		if (may_use(w->to, b, w->to->ports[i].name) &&
		    !may_use(w->from, a, w->to->ports[i].name))
			widen_add(w, where, "from", "not this port", w->to->ports[i].name);
}
