// SPDX-License-Identifier: GPL-2.0-or-later
/* Network devices by rtnetlink (libmnl). */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <bwl/netdev.h>
#include <bwl/nl.h>

static int link_attr(const struct nlattr *a, void *arg)
{
	struct bwl_netdev *d = arg;
	const struct nlattr *n;

	switch (mnl_attr_get_type(a)) {
	case IFLA_IFNAME:
		snprintf(d->name, sizeof(d->name), "%s", mnl_attr_get_str(a));
		break;
	case IFLA_MTU:
		d->mtu = mnl_attr_get_u32(a);
		break;
	case IFLA_MASTER:
		d->master = mnl_attr_get_u32(a);
		break;
	case IFLA_CARRIER:
		d->carrier = mnl_attr_get_u8(a);
		break;
	case IFLA_ADDRESS:
		if (mnl_attr_get_payload_len(a) == 6)
			memcpy(d->mac, mnl_attr_get_payload(a), 6);
		break;
	case IFLA_LINKINFO:
		mnl_attr_for_each_nested(n, a) if (mnl_attr_get_type(n) == IFLA_INFO_KIND)
			snprintf(d->kind, sizeof(d->kind), "%.15s", mnl_attr_get_str(n));
		break;
	}
	return MNL_CB_OK;
}

static void read_link(const struct nlmsghdr *h, struct bwl_netdev *d)
{
	const struct ifinfomsg *m = mnl_nlmsg_get_payload(h);

	memset(d, 0, sizeof(*d));
	d->ifindex = (uint32_t)m->ifi_index;
	d->up = m->ifi_flags & IFF_UP;
	d->loopback = m->ifi_flags & IFF_LOOPBACK;
	mnl_attr_parse(h, sizeof(*m), link_attr, d);
}

struct list {
	struct bwl_netdev *dev;
	size_t n;
};

static int list_link(const struct nlmsghdr *h, void *arg)
{
	struct list *l = arg;
	struct bwl_netdev *more = reallocarray(l->dev, l->n + 1, sizeof(*more));

	if (!more)
		return MNL_CB_ERROR;
	l->dev = more;
	read_link(h, &l->dev[l->n++]);
	return MNL_CB_OK;
}

#define DUMP_TRIES 10

int bwl_netdev_list(struct bwl_netdev **ret, size_t *ret_n, struct bwl_err *e)
{
	char buf[256];
	struct list l = { 0 };
	int r = -EINTR, tries;

	/* EINTR: devices appeared or disappeared meanwhile, so the list may be incomplete. */
	for (tries = 0; r == -EINTR && tries < DUMP_TRIES; tries++) {
		struct nlmsghdr *h = bwl_nl_request(buf, RTM_GETLINK, NLM_F_DUMP);
		struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

		m->ifi_family = AF_UNSPEC;
		l.n = 0;
		r = bwl_nl_talk(NETLINK_ROUTE, h, list_link, &l);
	}
	if (r) {
		free(l.dev);
		return bwl_fail(e, -r, "cannot list network devices: %s", strerror(-r));
	}
	*ret = l.dev;
	*ret_n = l.n;
	return 0;
}

/* name NULL: by ifindex. Returns -ENODEV without words. */
static int find(const char *name, uint32_t ifindex, struct bwl_netdev *ret, struct bwl_err *e)
{
	struct bwl_netdev *all;
	size_t n, i;
	int r;

	r = bwl_netdev_list(&all, &n, e);
	if (r)
		return r;
	for (i = 0; i < n && (name ? strcmp(all[i].name, name) != 0 : all[i].ifindex != ifindex);
	     i++)
		;
	if (i < n)
		*ret = all[i];
	free(all);
	return i < n ? 0 : -ENODEV;
}

int bwl_netdev_get(const char *name, struct bwl_netdev *ret, struct bwl_err *e)
{
	int r = find(name, 0, ret, e);

	if (r != -ENODEV)
		return r;
	bwl_fail(e, ENODEV, "no such network device in this namespace: %s", name);
	return bwl_hint(e, "ip link show lists them");
}

int bwl_netdev_at(uint32_t ifindex, struct bwl_netdev *ret, struct bwl_err *e)
{
	int r = find(NULL, ifindex, ret, e);

	return r == -ENODEV ? bwl_fail(e, ENODEV, "interface %u is not in this namespace", ifindex)
			    : r;
}

int bwl_netdev_set_up(uint32_t ifindex, bool up, struct bwl_err *e)
{
	char buf[256];
	struct nlmsghdr *h = bwl_nl_request(buf, RTM_NEWLINK, NLM_F_ACK);
	struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	int r;

	m->ifi_index = (int)ifindex;
	m->ifi_change = IFF_UP;
	m->ifi_flags = up ? IFF_UP : 0;
	r = bwl_nl_talk(NETLINK_ROUTE, h, NULL, NULL);
	if (r)
		return bwl_fail(e, -r, "cannot set interface %u %s: %s", ifindex,
				up ? "up" : "down", strerror(-r));
	return 0;
}

struct watch {
	int (*fn)(const struct bwl_netdev *d, void *arg);
	void *arg;
};

static int watch_link(const struct nlmsghdr *h, void *arg)
{
	struct watch *w = arg;
	struct bwl_netdev d;

	if (h->nlmsg_type != RTM_NEWLINK)
		return MNL_CB_OK;
	read_link(h, &d);
	return w->fn(&d, w->arg) ? MNL_CB_STOP : MNL_CB_OK;
}

/* Every device that exists now. Returns MNL_CB_OK, MNL_CB_STOP or a negative errno. */
static int watch_all(const struct watch *w, struct bwl_err *e)
{
	struct bwl_netdev *d = NULL;
	size_t n = 0, i;
	int r, stop = 0;

	r = bwl_netdev_list(&d, &n, e);
	if (r)
		return r;
	for (i = 0; !stop && i < n; i++)
		stop = w->fn(&d[i], w->arg);
	free(d);
	return stop ? MNL_CB_STOP : MNL_CB_OK;
}

static int run_watch(const char *buf, size_t n, struct watch *w)
{
	int r = mnl_cb_run(buf, n, 0, 0, watch_link, w);

	return r < 0 ? -errno : r;
}

/* Waits for news until then. false: the time has come. */
static bool has_news(const struct mnl_socket *s, time_t until)
{
	struct pollfd p = { .fd = mnl_socket_get_fd(s), .events = POLLIN };
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec < until && poll(&p, 1, (int)(until - now.tv_sec) * 1000);
}

static time_t in(unsigned s)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + (time_t)s;
}

int bwl_netdev_watch(int (*fn)(const struct bwl_netdev *d, void *arg), void *arg, unsigned every_s,
		     struct bwl_err *e)
{
	struct mnl_socket *s = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	struct watch w = { fn, arg };
	time_t next = in(every_s);
	char buf[32768];
	ssize_t n;
	int r, err;

	if (!s || mnl_socket_bind(s, RTMGRP_LINK, MNL_SOCKET_AUTOPID)) {
		err = errno;
		if (s)
			mnl_socket_close(s);
		return bwl_fail(e, err, "cannot watch network devices: %s", strerror(err));
	}
	r = watch_all(&w, e); /* after the subscription, so that no device is missed */
	while (r > 0) {
		if (every_s && !has_news(s, next)) {
			next = in(every_s);
			if (fn(NULL, arg))
				break;
			continue;
		}
		n = mnl_socket_recvfrom(s, buf, sizeof(buf));
		if (n < 0 && errno == ENOBUFS)
			r = watch_all(&w, e);
		else if (n >= 0)
			r = run_watch(buf, (size_t)n, &w);
		else if (errno != EINTR)
			r = -errno;
		if (r < 0)
			bwl_fail(e, -r, "watching network devices failed: %s", strerror(-r));
	}
	mnl_socket_close(s);
	return r < 0 ? r : 0;
}
