// SPDX-License-Identifier: GPL-2.0-or-later
/* What a network device reports as sent. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <bwl/netdev.h>
#include <bwl/nl.h>

struct sent {
	struct bwl_netdev_sent now;
	bool found;
};

static int on_attr(const struct nlattr *a, void *arg)
{
	struct rtnl_link_stats64 s = { 0 };
	struct sent *t = arg;
	size_t len = mnl_attr_get_payload_len(a);

	if (mnl_attr_get_type(a) != IFLA_STATS64)
		return MNL_CB_OK;
	memcpy(&s, mnl_attr_get_payload(a), len < sizeof(s) ? len : sizeof(s));
	t->now = (struct bwl_netdev_sent){ s.tx_packets, s.tx_bytes };
	t->found = true;
	return MNL_CB_STOP;
}

static int on_link(const struct nlmsghdr *h, void *arg)
{
	mnl_attr_parse(h, sizeof(struct ifinfomsg), on_attr, arg);
	return MNL_CB_OK;
}

int bwl_netdev_sent(uint32_t ifindex, struct bwl_netdev_sent *ret)
{
	char buf[256];
	struct nlmsghdr *h = bwl_nl_request(buf, RTM_GETLINK, NLM_F_ACK);
	struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	struct sent t = { 0 };
	int r;

	m->ifi_index = (int)ifindex;
	r = bwl_nl_talk(NETLINK_ROUTE, h, on_link, &t);
	if (!r && !t.found)
		r = -ENODATA;
	*ret = t.now;
	return r;
}
