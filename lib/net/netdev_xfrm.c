// SPDX-License-Identifier: GPL-2.0-or-later
/* The xfrm interface of the encrypted peers, and its routes. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <bwl/netdev.h>
#include "maps/tunnel.h"
#include <bwl/nl.h>

/* if_id 0: in collect-metadata mode. */
static int add_link(const char *name, uint32_t if_id)
{
	char buf[512];
	struct nlmsghdr *h = bwl_nl_request(buf, RTM_NEWLINK,
					    NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
	struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	struct nlattr *info, *data;

	m->ifi_family = AF_UNSPEC;
	mnl_attr_put_strz(h, IFLA_IFNAME, name);
	info = mnl_attr_nest_start(h, IFLA_LINKINFO);
	mnl_attr_put_strz(h, IFLA_INFO_KIND, "xfrm");
	data = mnl_attr_nest_start(h, IFLA_INFO_DATA);
	if (if_id)
		mnl_attr_put_u32(h, IFLA_XFRM_IF_ID, if_id);
	else
		mnl_attr_put(h, IFLA_XFRM_COLLECT_METADATA, 0, NULL);
	mnl_attr_nest_end(h, data);
	mnl_attr_nest_end(h, info);
	return bwl_nl_talk(NETLINK_ROUTE, h, NULL, NULL);
}

/*
 * The uplink's MTU, minus what ESP adds, decides what fits. A smaller MTU of this device (1500 when
 * made) would limit the path through it, too (xfrm_init_pmtu()): jumbo packets would end there,
 * each with an ICMP error from the DPU's kernel that quotes the host.
 */
static int widen(const struct bwl_netdev *d, struct bwl_err *e)
{
	char buf[256];
	struct nlmsghdr *h = bwl_nl_request(buf, RTM_SETLINK, NLM_F_ACK);
	struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	int r;

	m->ifi_family = AF_UNSPEC;
	m->ifi_index = (int)d->ifindex;
	mnl_attr_put_u32(h, IFLA_MTU, 65535); /* the largest that it accepts */
	r = bwl_nl_talk(NETLINK_ROUTE, h, NULL, NULL);
	return r ? bwl_fail(e, -r, "cannot set the MTU of %s: %s", d->name, strerror(-r)) : 0;
}

/* No link-local address: the device itself sends nothing. Without IPv6 it has none anyway. */
static void no_addresses(uint32_t ifindex)
{
	char buf[256];
	struct nlmsghdr *h = bwl_nl_request(buf, RTM_SETLINK, NLM_F_ACK);
	struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	struct nlattr *spec, *six;

	m->ifi_family = AF_UNSPEC;
	m->ifi_index = (int)ifindex;
	spec = mnl_attr_nest_start(h, IFLA_AF_SPEC);
	six = mnl_attr_nest_start(h, AF_INET6);
	mnl_attr_put_u8(h, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
	mnl_attr_nest_end(h, six);
	mnl_attr_nest_end(h, spec);
	bwl_nl_talk(NETLINK_ROUTE, h, NULL, NULL);
}

struct mode {
	bool collects;
	uint32_t if_id;
};

static void one_word(const struct nlattr *k, struct mode *x)
{
	x->collects |= mnl_attr_get_type(k) == IFLA_XFRM_COLLECT_METADATA;
	if (mnl_attr_get_type(k) == IFLA_XFRM_IF_ID && !mnl_attr_validate(k, MNL_TYPE_U32))
		x->if_id = mnl_attr_get_u32(k);
}

static int info_data(const struct nlattr *a, void *arg)
{
	const struct nlattr *n, *k;

	if (mnl_attr_get_type(a) != IFLA_LINKINFO)
		return MNL_CB_OK;
	mnl_attr_for_each_nested(n, a) if (mnl_attr_get_type(n) == IFLA_INFO_DATA)
		mnl_attr_for_each_nested(k, n) one_word(k, arg);
	return MNL_CB_OK;
}

static int one_link(const struct nlmsghdr *h, void *arg)
{
	return mnl_attr_parse(h, sizeof(struct ifinfomsg), info_data, arg);
}

/*
 * A kernel before 6.1 ignores the attribute and makes another kind of interface: so its mode is
 * read back.
 */
static struct mode mode_of(uint32_t ifindex)
{
	char buf[256];
	struct nlmsghdr *h = bwl_nl_request(buf, RTM_GETLINK, NLM_F_ACK);
	struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	struct mode x = { 0 };

	m->ifi_family = AF_UNSPEC;
	m->ifi_index = (int)ifindex;
	bwl_nl_talk(NETLINK_ROUTE, h, one_link, &x);
	return x;
}

bool bwl_netdev_is_plain_xfrm(uint32_t ifindex)
{
	struct mode x = mode_of(ifindex);

	return !x.collects && x.if_id == BWL_TUN_IF_ID;
}

/* An existing device, of either kind. */
static int known(const char *name, struct bwl_netdev *d, bool *ret_plain, struct bwl_err *e)
{
	struct mode x;
	int r = bwl_netdev_get(name, d, e);

	if (r)
		return r;
	x = mode_of(d->ifindex);
	*ret_plain = !x.collects;
	if (!strcmp(d->kind, "xfrm") && (x.collects || x.if_id == BWL_TUN_IF_ID))
		return widen(d, e);
	bwl_fail(e, EEXIST, "%s exists and is not an xfrm interface of bwlimit", name);
	return bwl_hint(e, "ip link del %s, or give another name", name);
}

static int make(const char *name, bool plain, struct bwl_netdev *d, struct bwl_err *e)
{
	int r = add_link(name, plain ? BWL_TUN_IF_ID : 0);

	if (r) {
		bwl_fail(e, -r, "cannot make xfrm interface %s: %s", name, strerror(-r));
		return bwl_hint(e, "modprobe xfrm_interface (CONFIG_XFRM_INTERFACE)");
	}
	r = bwl_netdev_get(name, d, e);
	if (r)
		return r;
	no_addresses(d->ifindex);
	r = widen(d, e);
	if (r)
		return r;
	if (plain || mode_of(d->ifindex).collects)
		return 0;
	bwl_netdev_del(d->ifindex, NULL);
	return bwl_fail(e, EOPNOTSUPP,
			"xfrm interfaces of this kernel collect no metadata (kernel 6.1)");
}

int bwl_netdev_add_xfrm(const char *name, bool *plain, struct bwl_err *e)
{
	struct bwl_netdev d;

	if (!bwl_netdev_get(name, &d, NULL))
		return known(name, &d, plain, e);
	if (!*plain && !make(name, false, &d, NULL))
		return 0;
	*plain = true;
	return make(name, true, &d, e);
}

int bwl_netdev_del(uint32_t ifindex, struct bwl_err *e)
{
	char buf[256];
	struct nlmsghdr *h = bwl_nl_request(buf, RTM_DELLINK, NLM_F_ACK);
	struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	int r;

	m->ifi_family = AF_UNSPEC;
	m->ifi_index = (int)ifindex;
	r = bwl_nl_talk(NETLINK_ROUTE, h, NULL, NULL);
	return r ? bwl_fail(e, -r, "cannot delete interface %u: %s", ifindex, strerror(-r)) : 0;
}

static int add_route(uint8_t family, uint32_t ifindex, uint32_t table)
{
	char buf[256];
	struct nlmsghdr *h = bwl_nl_request(buf, RTM_NEWROUTE,
					    NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);
	struct rtmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	m->rtm_family = family;
	m->rtm_table = RT_TABLE_UNSPEC;
	m->rtm_protocol = RTPROT_STATIC;
	m->rtm_scope = RT_SCOPE_LINK;
	m->rtm_type = RTN_UNICAST;
	mnl_attr_put_u32(h, RTA_TABLE, table);
	mnl_attr_put_u32(h, RTA_OIF, ifindex);
	return bwl_nl_talk(NETLINK_ROUTE, h, NULL, NULL);
}

int bwl_netdev_route_all(const struct bwl_netdev *d, uint32_t table, struct bwl_err *e)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	unsigned i;
	int r;

	for (i = 0; i < 2; i++) {
		r = add_route(families[i], d->ifindex, table);
		if (r == -EAFNOSUPPORT || r == -EOPNOTSUPP)
			continue; /* there is no IPv6 here */
		if (r)
			return bwl_fail(e, -r, "cannot route IPv%d into %s: %s", i ? 6 : 4, d->name,
					strerror(-r));
	}
	return 0;
}
