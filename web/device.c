// SPDX-License-Identifier: GPL-2.0-or-later
/* See device.h. Runs before the process is sealed. */
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/clock.h"
#include "bwl/cleanup.h"
#include "device.h"

#define PATIENCE_NS 20000000000ULL

BWL_AUTO_DEFINE(json_decref, json_t *)

static bool same(const struct sockaddr *x, const struct sockaddr *y)
{
	if (!x || x->sa_family != y->sa_family)
		return false;
	return x->sa_family == AF_INET6 ? !memcmp(&((const struct sockaddr_in6 *)x)->sin6_addr,
						  &((const struct sockaddr_in6 *)y)->sin6_addr, 16)
					: ((const struct sockaddr_in *)x)->sin_addr.s_addr ==
						  ((const struct sockaddr_in *)y)->sin_addr.s_addr;
}

static int device_of(const struct sockaddr *at, char ret[static IF_NAMESIZE], struct bwl_err *e)
{
	struct ifaddrs *all = NULL;
	int r = -ENODEV;

	if (getifaddrs(&all))
		return bwl_fail(e, errno, "cannot list the addresses of this machine: %m");
	for (struct ifaddrs *x = all; r && x; x = x->ifa_next) {
		if (!same(x->ifa_addr, at))
			continue;
		snprintf(ret, IF_NAMESIZE, "%s", x->ifa_name);
		r = 0;
	}
	freeifaddrs(all);
	if (r)
		bwl_fail(e, ENODEV, "the address does not belong to this machine");
	return r;
}

static json_t *status_of(struct asker *a, struct bwl_err *e)
{
	uint64_t end_ns = bwl_now_ns() + PATIENCE_NS;
	BWL_AUTO_FREE char *text = NULL;
	struct asker_head head;
	int r = asker_ask(a, "status");

	while (!r && bwl_now_ns() < end_ns) {
		struct pollfd p = { .fd = a->fd, .events = POLLIN };

		poll(&p, 1, 1000);
		r = asker_take(a, &head, &text);
	}
	if (r == 1 && head.status == 200)
		return json_loadb(text, head.len, 0, NULL);
	bwl_fail(e, ENOTCONN, "bwlimitd does not report which devices are for management");
	bwl_hint(e, "systemctl status bwlimitd; this program asks again when it is restarted");
	return NULL;
}

int device_judge(struct asker *a, const struct sockaddr *at, struct bwl_err *e)
{
	BWL_AUTO(json_decref) json_t *status = NULL;
	const json_t *port;
	char dev[IF_NAMESIZE];
	size_t i;
	int r = device_of(at, dev, e);

	if (r)
		return r;
	status = status_of(a, e);
	if (!status)
		return -e->code;
	json_array_foreach(json_object_get(status, "ports"), i, port)
	{
		const char *name = json_string_value(json_object_get(port, "port")),
			   *role = json_string_value(json_object_get(port, "role"));

		if (name && role && !strcmp(name, dev) && !strcmp(role, "management"))
			return 0;
	}
	bwl_fail(e, EPERM, "%s, which has that address, is not a management device", dev);
	return bwl_hint(e, "bwlimit-load attach --management %s; or --listen 127.0.0.1:9650", dev);
}
