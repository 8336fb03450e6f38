// SPDX-License-Identifier: GPL-2.0-or-later
/* Words for events' addresses and for limits, for people. */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include "bwl/pins.h"
#include "bwl/policy.h"
#include "bwl/tables.h"

char *bwl_event_address(const struct bwl_event *e, const __be32 a[4],
			char buf[static BWL_EVENT_ADDRESS])
{
	/* A host can write such an address into a frame of IPv6, too. */
	bool v4 = e->ethertype != ETH_P_IPV6 && !a[0] && !a[1] && a[2] == htonl(0xffff);

	_Static_assert(BWL_EVENT_ADDRESS == INET6_ADDRSTRLEN, "as inet_ntop() writes them");
	inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? &a[3] : a, buf, BWL_EVENT_ADDRESS);
	return buf;
}

char *bwl_limit_key(const struct bwl_pins *p, uint32_t state, char buf[static BWL_LIMIT_KEY])
{
	static const char *const word[] = {
		[BWL_X_NODE] = "node",           [BWL_X_PORT] = "port",
		[BWL_X_NEIGHBOUR] = "neighbour", [BWL_X_ZONE] = "zone",
		[BWL_X_CLASS] = "class",         [BWL_X_FLOOR] = "floor",
		[BWL_X_ACCEPT] = "accept",       [BWL_X_TENANT] = "tenant",
		[BWL_X_PORTION] = "portion",     [BWL_X_RENAMED] = "renamed",
	};
	const uint32_t n = p->schema.max_peers;
	const struct bwl_extra *x;
	const char *peer, *kind;

	*buf = '\0';
	if (state < 2 * n) {
		snprintf(buf, BWL_LIMIT_KEY, "peer %.*s", BWL_NAME_LEN - 1,
			 p->name[state / 2].name);
		return buf;
	}
	if ((state - 2 * n) / 2 >= p->schema.max_extras)
		return buf;
	x = &p->extra[(state - 2 * n) / 2];
	kind = x->kind < sizeof(word) / sizeof(*word) ? word[x->kind] : NULL;
	peer = p->name[x->peer < n ? x->peer : 0].name;
	if (!kind)
		return buf;
	switch (x->kind) {
	case BWL_X_NODE:
		snprintf(buf, BWL_LIMIT_KEY, "%s", kind);
		break;
	case BWL_X_CLASS:
		snprintf(buf, BWL_LIMIT_KEY, "%s %.*s/%s", kind, BWL_NAME_LEN - 1, peer,
			 bwl_class_name(x->class));
		break;
	case BWL_X_TENANT:
		snprintf(buf, BWL_LIMIT_KEY, "%s %.*s/%.*s", kind, BWL_NAME_LEN - 1, peer,
			 BWL_NAME_LEN - 1, x->name);
		break;
	default: /* a peer's, or one with its own name */
		snprintf(buf, BWL_LIMIT_KEY, "%s %.*s", kind, BWL_NAME_LEN - 1,
			 *x->name ? x->name : peer);
	}
	return buf;
}
