/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of events' addresses and of limits, for people. */
#include <arpa/inet.h>
#include <stdio.h>
#include "bwl/pins.h"
#include "bwl/policy.h"
#include "bwl/tables.h"

char *bwl_event_address(const __be32 a[4], char buf[static BWL_EVENT_ADDRESS])
{
	bool v4 = !a[0] && !a[1] && a[2] == htonl(0xffff);

	_Static_assert(BWL_EVENT_ADDRESS == INET6_ADDRSTRLEN, "as inet_ntop() writes them");
	inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? &a[3] : a, buf, BWL_EVENT_ADDRESS);
	return buf;
}

char *bwl_limit_key(const struct bwl_pins *p, uint32_t state, char buf[static BWL_LIMIT_KEY])
{
	const uint32_t n = p->schema.max_peers;
	const struct bwl_extra *x;
	uint32_t peer;

	*buf = '\0';
	if (state < 2 * n) {
		snprintf(buf, BWL_LIMIT_KEY, "peer %.*s", BWL_NAME_LEN - 1,
			 p->name[state / 2].name);
		return buf;
	}
	if ((state - 2 * n) / 2 >= p->schema.max_extras)
		return buf;
	x = &p->extra[(state - 2 * n) / 2];
	peer = x->peer < n ? x->peer : 0;
	switch (x->kind) {
	case BWL_X_NODE:
		snprintf(buf, BWL_LIMIT_KEY, "node");
		break;
	case BWL_X_PORT:
	case BWL_X_NEIGHBOUR:
	case BWL_X_ZONE:
		snprintf(buf, BWL_LIMIT_KEY, "%s %.*s",
			 x->kind == BWL_X_ZONE   ? "zone"
			 : x->kind == BWL_X_PORT ? "port"
						 : "neighbour",
			 BWL_NAME_LEN - 1, x->name);
		break;
	case BWL_X_CLASS:
		snprintf(buf, BWL_LIMIT_KEY, "class %.*s/%s", BWL_NAME_LEN - 1, p->name[peer].name,
			 bwl_class_name(x->class));
		break;
	case BWL_X_FLOOR:
	case BWL_X_ACCEPT:
	case BWL_X_PORTION:
		snprintf(buf, BWL_LIMIT_KEY, "%s %.*s",
			 x->kind == BWL_X_FLOOR    ? "floor"
			 : x->kind == BWL_X_ACCEPT ? "accept"
						   : "portion",
			 BWL_NAME_LEN - 1, p->name[peer].name);
		break;
	case BWL_X_TENANT:
		snprintf(buf, BWL_LIMIT_KEY, "tenant %.*s/%.*s", BWL_NAME_LEN - 1,
			 p->name[peer].name, BWL_NAME_LEN - 1, x->name);
		break;
	default:
		break;
	}
	return buf;
}
