// SPDX-License-Identifier: GPL-2.0-or-later
/* Which classic filter a packet meets first at a device's clsact hook. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <bwl/netdev.h>
#include <bwl/nl.h>

static void read_options(const struct nlattr *a, struct bwl_filter *f)
{
	const struct nlattr *n;

	mnl_attr_for_each_nested(n, a) if (mnl_attr_get_type(n) == TCA_BPF_ID)
		f->prog_id = mnl_attr_get_u32(n);
}

/* The kernel lists filters in the order in which packets meet them. */
static int one_filter(const struct nlmsghdr *h, void *arg)
{
	const struct tcmsg *m = mnl_nlmsg_get_payload(h);
	struct bwl_filter *first = arg, f = { 0 };
	const struct nlattr *a;

	if (h->nlmsg_type != RTM_NEWTFILTER || !m->tcm_handle)
		return MNL_CB_OK; /* handle 0: the entry for the list itself */
	f.handle = m->tcm_handle;
	f.priority = m->tcm_info >> 16;
	mnl_attr_for_each(a, h, sizeof(*m))
	{
		if (mnl_attr_get_type(a) == TCA_KIND)
			snprintf(f.kind, sizeof(f.kind), "%.15s", mnl_attr_get_str(a));
		else if (mnl_attr_get_type(a) == TCA_OPTIONS)
			read_options(a, &f);
	}
	f.count = first->count + 1;
	if (first->count)
		first->count = f.count;
	else
		*first = f;
	return MNL_CB_OK;
}

int bwl_netdev_first_filter(uint32_t ifindex, bool ingress, struct bwl_filter *ret,
			    struct bwl_err *e)
{
	char buf[256];
	struct nlmsghdr *h = bwl_nl_request(buf, RTM_GETTFILTER, NLM_F_DUMP);
	struct tcmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	int r;

	memset(ret, 0, sizeof(*ret));
	m->tcm_family = AF_UNSPEC;
	m->tcm_ifindex = (int)ifindex;
	m->tcm_parent = TC_H_MAKE(TC_H_CLSACT, ingress ? TC_H_MIN_INGRESS : TC_H_MIN_EGRESS);
	r = bwl_nl_talk(NETLINK_ROUTE, h, one_filter, ret);
	if (r)
		return bwl_fail(e, -r, "cannot list the filters of interface %u: %s", ifindex,
				strerror(-r));
	return 0;
}
