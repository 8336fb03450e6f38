// SPDX-License-Identifier: GPL-2.0-or-later
/* Compares a peer with its former self: what it may get, and by which way. */
#include <stdio.h>
#include <string.h>
#include <bwl/doc.h>
#include <bwl/effects.h>
#include <bwl/units.h>
#include "signed/widen_parts.h"

/* Nothing passes, in either direction, without a grant: its floor does not hold either. */
bool widen_is_open(const struct bwl_pol_peer *p)
{
	return !p->revoked && p->grant.present;
}

/*
 * Pacing lets a packet leave later than it was charged, by zone, port and node as well, so it
 * counts as wider: than `monitor`, too, under which these hold to the byte.
 */
static unsigned mode_kind(const struct bwl_pol_peer *p) /* 0: exact */
{
	return !bwl_mode_enforces(p->mode) ? 2 : bwl_mode_paces(p->mode) ? 1 : 0;
}

/* Bytes that may wait. Computed in the same way whether or not the policy sets the time. */
static uint64_t waits(const struct bwl_policy *pol, const struct bwl_pol_peer *p)
{
	unsigned __int128 rate = p->grant.rate_bps, bytes = BWL_HORIZON_BYTES;
	const unsigned __int128 ns8 = 8000000000ULL;

	if (!bwl_mode_paces(p->mode))
		return bwl_mode_enforces(p->mode) ? 0 : UINT64_MAX;
	if (rate == BWL_NO_RATE)
		return UINT64_MAX;
	if (pol->horizon_ns)
		return (uint64_t)(rate * pol->horizon_ns / ns8);
	if (bytes > rate * BWL_HORIZON_MAX_NS / ns8)
		bytes = rate * BWL_HORIZON_MAX_NS / ns8;
	if (bytes < rate * BWL_HORIZON_MIN_NS / ns8)
		bytes = rate * BWL_HORIZON_MIN_NS / ns8;
	return (uint64_t)bytes;
}

/*
 * How long they may wait, in ns, where either policy says it: with `auto` in both the bytes decide,
 * and a lower rate takes longer for the same.
 */
static uint64_t waits_ns(const struct bwl_policy *pol, const struct bwl_pol_peer *p)
{
	if (pol->horizon_ns || p->grant.rate_bps == BWL_NO_RATE)
		return pol->horizon_ns;
	return (uint64_t)((unsigned __int128)waits(pol, p) * 8000000000ULL / p->grant.rate_bps);
}

static char *moment(const struct widen *w, uint64_t ns, char buf[static BWL_TIME_BUF])
{
	const struct bwl_holding *c = w->clocks;

	if (ns == BWL_NEVER_NS)
		return strcpy(buf, "never");
	if (!c->boot_ns && !c->wall_s)
		return bwl_utc_boot(ns, buf);
	return bwl_utc(c->wall_s + (int64_t)(ns - c->boot_ns) / 1000000000, -1, buf);
}

static void until(struct widen *w, const char *where, uint64_t a, uint64_t b)
{
	char x[BWL_TIME_BUF], y[BWL_TIME_BUF];

	if (b > a)
		widen_add(w, where, "until", moment(w, a, x), moment(w, b, y));
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

/* b is open, so it has one. */
static void grant(struct widen *w, const char *name, const struct bwl_pol_peer *a,
		  const struct bwl_pol_peer *b)
{
	char where[64];

	snprintf(where, sizeof(where), "peer %s, grant", name);
	if (!a->grant.present) {
		widen_add(w, where, "grant", "none", "there is one");
		return;
	}
	if (bwl_mode_enforces(a->mode))
		widen_limit(w, where, &a->grant, &b->grant);
	if (mode_kind(b) && mode_kind(b) != mode_kind(a))
		widen_add(w, where, "mode", bwl_mode_name(a->mode), bwl_mode_name(b->mode));
	else
		widen_number(w, where, "horizon, bytes", waits(w->from, a), waits(w->to, b),
			     bwl_format_size);
	if (bwl_mode_paces(a->mode) && bwl_mode_paces(b->mode) &&
	    (w->from->horizon_ns || w->to->horizon_ns))
		widen_number(w, where, "horizon", waits_ns(w->from, a), waits_ns(w->to, b),
			     bwl_format_time);
	until(w, where, a->expiry_ns, b->expiry_ns);
	for (unsigned k = 0; k < _BWL_CLASS_MAX; k++) {
		snprintf(where, sizeof(where), "peer %s, class %s", name, bwl_class_name(k));
		widen_limit(w, where, &a->class_[k], &b->class_[k]);
	}
	for (size_t i = 0; i < a->ntenants; i++) {
		const struct bwl_pol_tenant *t = bwl_policy_tenant(b, a->tenants[i].port);

		if (!may_use(w->to, b, a->tenants[i].port))
			continue; /* it sends nothing there any more */
		snprintf(where, sizeof(where), "peer %s, port %s", name, a->tenants[i].port);
		widen_limit(w, where, &a->tenants[i].limit, t ? &t->limit : &(struct bwl_lim){ 0 });
	}
}

/*
 * When it holds does not matter: the grant's rate and volume hold beside it (bpf/lib/charge.h), so
 * a grant that ends sooner, by whatever ends it, only has the floor's limits on top.
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
}

static void accept_(struct widen *w, const char *name, const struct bwl_pol_peer *a,
		    const struct bwl_pol_peer *b)
{
	struct bwl_lim x, y;
	char where[64];

	snprintf(where, sizeof(where), "peer %s, accept", name);
	if (!bwl_effect_arrives(b, &y))
		return;
	if (!bwl_effect_arrives(a, &x))
		widen_add(w, where, "accept", "none", "there is one");
	else
		widen_limit(w, where, &x, &y);
}

static void same(struct widen *w, const char *where, const char *what, const char *a, const char *b)
{
	if (strcmp(a, b))
		widen_add(w, where, what, *a ? a : "none", *b ? b : "none");
}

const char *widen_id(const struct bwl_pol_peer *p, char buf[static BWL_IDENTITY_SIZE])
{
	return bwl_identity_text(p->ipsec_id, p->name, buf);
}

static const char *ppk(const struct bwl_policy *pol, const struct bwl_pol_peer *p)
{
	const char *s = p->ipsec_ppk ? p->ipsec_ppk : pol->ipsec.ppk;

	return strcmp(s, "none") ? s : "";
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

/* However it is spelt. */
static bool same_address(const char *a, const char *b)
{
	struct bwl_pfx x, y;

	return !bwl_pfx_parse(a, &x, NULL) && !bwl_pfx_parse(b, &y, NULL) && x.family == y.family &&
	       !memcmp(x.addr, y.addr, sizeof(x.addr));
}

/* Another way means another wire, or another reader: one person may not choose that. */
static void way(struct widen *w, const char *where, const struct bwl_pol_peer *a,
		const struct bwl_pol_peer *b)
{
	static const unsigned rank[] = {
		[BWL_PATH_XFRM] = 0, [BWL_PATH_OFFLOAD] = 1, [BWL_PATH_CLEAR] = 2
	};
	char was[BWL_IDENTITY_SIZE], is[BWL_IDENTITY_SIZE];
	struct bwl_hop x, y;

	bwl_effect_hop(w->from, a, &x);
	bwl_effect_hop(w->to, b, &y);
	if (rank[b->path] > rank[a->path])
		widen_add(w, where, "path", bwl_path_name(a->path), bwl_path_name(b->path));
	same(w, where, "uplink", x.uplink, y.uplink);
	via(w, where, x.has_via4, x.via4, y.has_via4, y.via4, 4);
	via(w, where, x.has_via6, x.via6, y.has_via6, y.via6, 6);
	if (b->path == BWL_PATH_CLEAR)
		return;
	/* from clear, too: whoever is there can read it from now on */
	if (!same_address(x.remote, y.remote))
		same(w, where, "ipsec remote", x.remote, y.remote);
	same(w, where, "ipsec id", *x.remote ? widen_id(a, was) : "", widen_id(b, is));
	if (a->path != BWL_PATH_CLEAR && *ppk(w->from, a))
		same(w, where, "ipsec ppk", ppk(w->from, a), ppk(w->to, b));
}

/* Who opens a peer opens all that it is: what was changed while it was closed is said now. */
static void opened(struct widen *w, const char *where, const struct bwl_pol_peer *b)
{
	char text[80], one[64];
	struct bwl_hop h;
	size_t i, n = 0;

	for (i = 0; i < b->naddresses && n < sizeof(text) - 50; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? ", " : "",
				      bwl_pfx_format(&b->addresses[i], one, sizeof(one)));
	if (i < b->naddresses)
		snprintf(text + n, sizeof(text) - n, ", and %zu more", b->naddresses - i);
	widen_add(w, where, "addresses", "closed", text);
	bwl_effect_hop(w->to, b, &h);
	if (*h.remote)
		snprintf(text, sizeof(text), "%s to %.40s by %.15s", bwl_path_name(b->path),
			 h.remote, h.uplink);
	else
		snprintf(text, sizeof(text), "clear by %.15s", h.uplink);
	widen_add(w, where, "way", "closed", text);
	widen_add(w, where, "zone", "closed", *b->zone ? b->zone : "none");
	if (b->contained)
		widen_add(w, where, "contained", "closed", "no exit is counted");
}

void widen_peer(struct widen *w, const struct bwl_pol_peer *a, const struct bwl_pol_peer *b)
{
	char where[64];

	snprintf(where, sizeof(where), "peer %s", b->name);
	if (a->revoked)
		widen_add(w, where, "revocation", "closed", "open");
	grant(w, b->name, a, b);
	floor_(w, b->name, a, b);
	accept_(w, b->name, a, b);
	way(w, where, a, b);
	if (*a->zone)
		same(w, where, "zone", a->zone, b->zone);
	if (b->contained && !a->contained) /* exfil would no longer count it */
		widen_add(w, where, "contained", "an exit", "none");
	for (size_t i = 0; i < w->to->nports; i++)
		if (may_use(w->to, b, w->to->ports[i].name) &&
		    !may_use(w->from, a, w->to->ports[i].name))
			widen_add(w, where, "from", "not this port", w->to->ports[i].name);
	if (!widen_is_open(a))
		opened(w, where, b);
}
