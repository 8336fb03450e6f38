// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks the way to a peer: path, ipsec, uplink and next hop. */
#include <errno.h>
#include <string.h>
#include "policy_check.h"

static void check_via(struct bwl_check *c, const uint8_t *addr, uint8_t family, const char *who)
{
	struct bwl_pfx x = { .family = family, .len = family == 4 ? 32 : 128 };
	enum bwl_range u;
	char text[64];

	memcpy(x.addr, addr, family == 4 ? 4 : 16);
	u = bwl_pfx_range(&x);
	if (u == BWL_USABLE || u == BWL_LINK_LOCAL)
		return;
	BWL_BAD(c, EINVAL, "%s: via %s is %s: give the address of a router", who,
		bwl_pfx_format(&x, text, sizeof(text)), bwl_range_text[u]);
}

static bool sure(const struct bwl_check *c, size_t i, const char *key)
{
	return bwl_sure(c->rep, "peers/%zu/%s/", i, key);
}

static void check_ipsec(struct bwl_check *c, size_t i, const char *who)
{
	struct bwl_pol_peer *x = &c->p->peers[i];
	bool known = sure(c, i, "path") && sure(c, i, "ipsec/remote");
	struct bwl_pfx remote;

	bwl_check_at(c, "peers", i, "path", x->line);
	if (x->path >= _BWL_PATH_MAX)
		BWL_BAD(c, EINVAL, "%s: path is xfrm, offload or clear", who);
	else if (x->path == BWL_PATH_CLEAR && *x->ipsec_remote && known)
		BWL_BAD(c, EINVAL, "%s: path clear and ipsec exclude each other: remove one", who);
	else if (x->path != BWL_PATH_CLEAR && !*x->ipsec_remote && known)
		BWL_BAD(c, EINVAL, "%s: ipsec is missing: path %s needs ipsec: { remote: ADDRESS }",
			who, bwl_path_name(x->path));
	bwl_check_peer_at(c, i, "ipsec", "remote");
	if (*x->ipsec_remote && (bwl_pfx_parse(x->ipsec_remote, &remote, NULL) ||
				 strchr(x->ipsec_remote, '/') || bwl_pfx_range(&remote)))
		BWL_BAD(c, EINVAL, "%s: ipsec remote '%s' is not the address of a DPU", who,
			x->ipsec_remote);
	bwl_check_peer_ipsec(c, i, who);
}

/* Of a peer with path clear. */
static void check_next_hop(struct bwl_check *c, size_t i, const char *who)
{
	struct bwl_pol_peer *x = &c->p->peers[i];
	bool need4 = false, need6 = false;

	if (!strcmp(x->name, "self")) {
		bwl_check_at(c, "peers", i, "next_hop_mac", x->line);
		if (bwl_mac_is_one(x->next_hop_mac))
			BWL_BAD(c, EINVAL, "%s: next_hop_mac needs a next hop: remove it", who);
		return;
	}
	if (!sure(c, i, "via") || !sure(c, i, "via6"))
		return;
	for (size_t a = 0; a < x->naddresses; a++) {
		need4 |= x->addresses[a].family == 4;
		need6 |= x->addresses[a].family == 6;
	}
	bwl_check_at(c, "peers", i, "via", x->line);
	if (!x->has_via4 && !x->has_via6)
		BWL_BAD(c, EINVAL, "%s: via is missing: path clear needs the address of a next hop",
			who);
	else if (need4 && !x->has_via4)
		BWL_BAD(c, EINVAL, "%s: via is missing: its IPv4 addresses need an IPv4 next hop",
			who);
	else if (need6 && !x->has_via6) {
		bwl_check_at(c, "peers", i, "via6", x->line);
		BWL_BAD(c, EINVAL, "%s: via6 is missing: its IPv6 addresses need an IPv6 next hop",
			who);
	}
}

void bwl_check_path(struct bwl_check *c, size_t i, const char *who)
{
	struct bwl_pol_peer *x = &c->p->peers[i];

	check_ipsec(c, i, who);
	bwl_check_at(c, "peers", i, "uplink", x->line);
	if (*x->uplink && !bwl_check_has_uplink(c->p, x->uplink) && bwl_sure(c->rep, "uplinks/"))
		BWL_BAD(c, ENOENT, "%s: unknown uplink %s: it must be one of uplinks", who,
			x->uplink);
	bwl_check_at(c, "peers", i, "via", x->line);
	if (x->has_via4)
		check_via(c, x->via4, 4, who);
	bwl_check_at(c, "peers", i, x->has_via4 ? "via6" : "via", x->line);
	if (x->has_via6)
		check_via(c, x->via6, 6, who);
	/* one without a name may be `self` */
	if (x->path == BWL_PATH_CLEAR && sure(c, i, "path") && sure(c, i, "name"))
		check_next_hop(c, i, who);
}

/* Do a and b go to the same address by different MACs? The kernel has one MAC per address. */
static bool is_torn(const struct bwl_hop *a, const struct bwl_hop *b)
{
	/* the cheapest first: at least half of the places are empty, and have no MAC */
	return bwl_mac_is_one(a->mac) && bwl_mac_is_one(b->mac) && !strcmp(a->uplink, b->uplink) &&
	       memcmp(a->mac, b->mac, sizeof(a->mac)) &&
	       ((a->has_via4 && b->has_via4 && !memcmp(a->via4, b->via4, 4)) ||
		(a->has_via6 && b->has_via6 && !memcmp(a->via6, b->via6, 16)));
}

/* Is all of it known? */
static bool next_hop_of(const struct bwl_check *c, size_t i, struct bwl_hop *h)
{
	static const char *const keys[] = { "path",   "via",          "via6",        "name",
					    "uplink", "next_hop_mac", "ipsec/remote" };
	const struct bwl_pol_peer *x = &c->p->peers[i];

	for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++)
		if (!sure(c, i, keys[k]))
			return false;
	return bwl_effect_hop(c->p, x, h) && *h->uplink; /* else it is already reported */
}

void bwl_check_nexthop(struct bwl_check *c, size_t at, const char *who)
{
	const struct bwl_pol_peer *x = &c->p->peers[at];
	struct bwl_hop h;
	size_t i;

	if (!next_hop_of(c, at, &h) || !memcmp(&c->last_hop, &h, sizeof(h)))
		return; /* most peers have the same next hop as the one before them in the file */
	c->last_hop = h;
	i = bwl_check_hash(&h, sizeof(h)) & c->nexthops_mask;
	for (; *c->nexthops[i].uplink; i = (i + 1) & c->nexthops_mask)
		if (!memcmp(&c->nexthops[i], &h, sizeof(h)))
			return;
	bwl_check_at(c, "peers", at, "next_hop_mac", x->line);
	for (size_t k = 0; bwl_mac_is_one(h.mac) && k <= c->nexthops_mask; k++) {
		if (!is_torn(&c->nexthops[k], &h))
			continue;
		BWL_BAD(c, EINVAL,
			"%s: next_hop_mac differs from that of another peer with the same via",
			who);
		return;
	}
	if (c->nnexthops + 1 < BWL_MAX_NEXTHOPS) {
		c->nexthops[i] = h;
		c->nnexthops++;
		return;
	}
	bwl_check_at(c, "peers", at, NULL, x->line);
	BWL_BAD(c, E2BIG,
		"%s: more than %d different next hops (uplink, via, via6, next_hop_mac or ipsec remote)",
		who, BWL_MAX_NEXTHOPS - 1);
}
