// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What does not belong to a peer: the node, its ports and zones, and configuration of bwlimitd and
 * strongSwan.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/effects.h>
#include <bwl/units.h>
#include "signed/widen_parts.h"

static char *number(uint64_t v, char *buf)
{
	snprintf(buf, BWL_UNIT_BUF, "%llu", (unsigned long long)v);
	return buf;
}

static void uplinks(struct widen *w)
{
	const struct bwl_policy *x = w->from, *y = w->to;

	for (unsigned way = 0; way < 2; way++, x = w->to, y = w->from)
		for (size_t i = 0; i < x->nuplinks; i++) {
			bool has = false;

			for (size_t k = 0; !has && k < y->nuplinks; k++)
				has = !strcmp(x->uplinks[i], y->uplinks[k]);
			if (has)
				continue;
			/* an uplink that is gone has no last gate any more */
			widen_add(w, x->uplinks[i], "uplink", way ? "none" : "guarded",
				  way ? "there is one" : "none");
		}
}

static bool holds(const struct bwl_pfx *a, size_t n, const struct bwl_pfx *b)
{
	for (size_t i = 0; i < n; i++)
		if (bwl_pfx_holds(&a[i], b))
			return true;
	return false;
}

static void port(struct widen *w, const struct bwl_pol_port *a, const struct bwl_pol_port *b)
{
	char where[64], text[64];

	snprintf(where, sizeof(where), "host port %s", b->name);
	for (size_t i = 0; i < b->nsources; i++)
		if (!holds(a->sources, a->nsources, &b->sources[i]))
			widen_add(w, where, "sources", "not this one",
				  bwl_pfx_format(&b->sources[i], text, sizeof(text)));
	for (size_t i = 0; i < b->nvlans; i++) {
		bool has = false;

		for (size_t k = 0; !has && k < a->nvlans; k++)
			has = a->vlans[k] == b->vlans[i];
		if (!has)
			widen_add(w, where, "vlans", "not this one", number(b->vlans[i], text));
	}
	if (a->has_mac && (!b->has_mac || memcmp(a->mac, b->mac, sizeof(a->mac))))
		widen_add(w, where, "mac", "this one", b->has_mac ? "another" : "any");
	widen_limit(w, where, &a->limit, &b->limit);
}

static void ports(struct widen *w)
{
	for (size_t i = 0; i < w->to->nports; i++) {
		const struct bwl_pol_port *a = NULL, *b = &w->to->ports[i];

		for (size_t k = 0; !a && k < w->from->nports; k++)
			if (!strcmp(w->from->ports[k].name, b->name))
				a = &w->from->ports[k];
		if (a)
			port(w, a, b);
		else
			widen_add(w, b->name, "host port", "none", "there is one");
	}
}

/* A new zone only limits more. If a zone is gone, its peers are judged for that. */
static void zones(struct widen *w)
{
	char where[64];

	for (size_t i = 0; i < w->to->nzones; i++)
		for (size_t k = 0; k < w->from->nzones; k++) {
			const struct bwl_pol_zone *a = &w->from->zones[k], *b = &w->to->zones[i];

			if (strcmp(a->name, b->name))
				continue;
			snprintf(where, sizeof(where), "zone %s", b->name);
			widen_limit(w, where, &a->limit, &b->limit);
		}
}

struct classes {
	uint8_t proto[256], port[2][65536];
};

/*
 * A packet in another class has another limit. That matters if a peer with limits by class stays
 * open.
 */
static void differing_services(struct widen *w)
{
	BWL_AUTO_FREE struct classes *a = bwl_must(calloc(1, sizeof(*a)));
	BWL_AUTO_FREE struct classes *b = bwl_must(calloc(1, sizeof(*b)));
	BWL_AUTO_FREE const struct bwl_pol_peer **to = NULL;
	bool matters = false;

	bwl_class_table(w->from, a->proto, a->port);
	bwl_class_table(w->to, b->proto, b->port);
	if (!memcmp(a, b, sizeof(*a)))
		return;
	to = widen_sorted(w->to);
	for (size_t i = 0; !matters && i < w->from->npeers; i++) {
		const struct bwl_pol_peer *p = &w->from->peers[i], *is;
		bool any = false;

		for (unsigned k = 0; k < _BWL_CLASS_MAX; k++)
			any = any || p->class_[k].present;
		is = any ? widen_same(to, w->to->npeers, p) : NULL;
		matters = is && widen_is_open(is);
	}
	if (matters)
		widen_add(w, "", "services", "as they are", "others: classes have limits");
}

/* The same overrides are the same classes: mostly so, and two tables are 256 KiB. */
static void services(struct widen *w)
{
	const struct bwl_policy *x = w->from, *y = w->to;

	if (x->nservices != y->nservices ||
	    (x->nservices && memcmp(x->services, y->services, x->nservices * sizeof(*x->services))))
		differing_services(w);
}

/*
 * Each action must do at least what the previous one did. But `destroy` cannot be undone, so one
 * person can neither request it nor change when a lease that causes it ends.
 */
static void tamper(struct widen *w)
{
	for (unsigned i = 0; i < _BWL_TAMPER_MAX; i++) {
		unsigned a = bwl_effect_action(w->from, i), b = bwl_effect_action(w->to, i);

		if (a != b && b == BWL_ACTION_DESTROY)
			widen_add(w, "tamper", bwl_tamper_name(i), bwl_action_name(a),
				  "destroy: keys are destroyed");
		else if (a != b && a != BWL_ACTION_LOG &&
			 (b != BWL_ACTION_REVOKE || a == BWL_ACTION_DESTROY))
			widen_add(w, "tamper", bwl_tamper_name(i), bwl_action_name(a),
				  bwl_action_name(b));
	}
	if (w->to->tamper[BWL_TAMPER_lease] == BWL_ACTION_DESTROY && w->to->lease_ns &&
	    w->to->lease_ns - 1 < w->from->lease_ns - 1) /* 0, none, is the longest */
		widen_add(w, "", "lease", "as it is", "sooner: keys are destroyed");
}

static void same(struct widen *w, const char *what, const char *a, const char *b)
{
	if (strcmp(a, b))
		widen_add(w, "ipsec", what, *a ? a : "none", *b ? b : "none");
}

/* Who begins to speak: trap waits for a packet of a peer, start does not; auto is either. */
static unsigned starts(const char *s)
{
	return !strcmp(s, "trap") ? 0 : !strcmp(s, "auto") ? 1 : 2;
}

static unsigned strict(const char *s)
{
	return !strcmp(s, "strict") ? 0 : !strcmp(s, "ifuri") ? 1 : 2;
}

static void ipsec(struct widen *w)
{
	const struct bwl_pol_ipsec *a = &w->from->ipsec, *b = &w->to->ipsec;
	char was[BWL_IDENTITY_SIZE], is[BWL_IDENTITY_SIZE];

	same(w, "id", bwl_identity_text(a->id, w->from->node, was),
	     bwl_identity_text(b->id, w->to->node, is));
	same(w, "local", a->local, b->local);
	if (*a->ca)
		same(w, "ca", a->ca, b->ca);
	if (strcmp(a->hw_offload, b->hw_offload) && strcmp(b->hw_offload, "no"))
		widen_add(w, "ipsec", "hw_offload", a->hw_offload, b->hw_offload);
	if (strict(b->revocation) > strict(a->revocation))
		widen_add(w, "ipsec", "revocation", a->revocation, b->revocation);
	if (strcmp(a->start, b->start) && starts(b->start) >= starts(a->start))
		widen_add(w, "ipsec", "start", a->start, b->start);
	widen_number(w, "ipsec", "dpd", a->dpd_ns, b->dpd_ns, bwl_format_time);
	widen_number(w, "ipsec", "rekey", a->rekey_ns, b->rekey_ns, bwl_format_time);
	widen_number(w, "ipsec", "hard", a->hard_ns, b->hard_ns, bwl_format_time);
	widen_number(w, "ipsec", "ike_rekey", a->ike_rekey_ns, b->ike_rekey_ns, bwl_format_time);
	widen_number(w, "ipsec", "reauth", a->reauth_ns ? a->reauth_ns : UINT64_MAX,
		     b->reauth_ns ? b->reauth_ns : UINT64_MAX, bwl_format_time);
	widen_number(w, "ipsec", "replay_window", a->replay_window, b->replay_window, number);
	if (b->copy_ecn && !a->copy_ecn)
		widen_add(w, "ipsec", "copy_ecn", "false", "true");
}

void widen_node(struct widen *w)
{
	const struct bwl_policy *a = w->from, *b = w->to;
	char x[BWL_UNIT_BUF], y[BWL_UNIT_BUF];

	if (strcmp(a->node, b->node))
		widen_add(w, "", "node", *a->node ? a->node : "none", b->node);
	uplinks(w);
	if (b->control & ~a->control) {
		snprintf(x, sizeof(x), "%#x", a->control);
		snprintf(y, sizeof(y), "%#x", b->control);
		widen_add(w, "", "uplink_control", x, y);
	}
	widen_number(w, "", "heartbeat", a->heartbeat_none ? UINT64_MAX : a->heartbeat_ns,
		     b->heartbeat_none ? UINT64_MAX : b->heartbeat_ns, bwl_format_time);
	widen_number(w, "", "lease", a->lease_ns ? a->lease_ns : UINT64_MAX,
		     b->lease_ns ? b->lease_ns : UINT64_MAX, bwl_format_time);
	if (b->min_charge < a->min_charge)
		widen_add(w, "", "min_charge", number(a->min_charge, x), number(b->min_charge, y));
	if (a->ledger && !b->ledger)
		widen_add(w, "", "ledger", "required", "auto");
	widen_limit(w, "node_limit", &a->node_limit, &b->node_limit);
	ports(w);
	zones(w);
	services(w);
	tamper(w);
	ipsec(w);
}
