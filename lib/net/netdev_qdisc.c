// SPDX-License-Identifier: GPL-2.0-or-later
/* fq on uplinks: detects qdiscs that keep departure times, and installs fq. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <bwl/netdev.h>
#include <bwl/nl.h>

#define FQ_PACKETS 20000U /* 10 ms of full frames at 25 Gbit/s */
#define MQ_HANDLE 0x62770000U

struct seen {
	uint32_t ifindex, root; /* root: handle of an mq; 0: none */
	bool root_fq, root_mq;
	unsigned fq, other; /* below the mq */
};

struct qdisc {
	char kind[16];
};

static int attr(const struct nlattr *a, void *arg)
{
	struct qdisc *q = arg;

	if (mnl_attr_get_type(a) == TCA_KIND)
		snprintf(q->kind, sizeof(q->kind), "%.15s", mnl_attr_get_str(a));
	return MNL_CB_OK;
}

/* The root is listed before what is below it. */
static int one_qdisc(const struct nlmsghdr *h, void *arg)
{
	const struct tcmsg *m = mnl_nlmsg_get_payload(h);
	struct seen *s = arg;
	struct qdisc q = { 0 };
	bool fq;

	if ((uint32_t)m->tcm_ifindex != s->ifindex)
		return MNL_CB_OK;
	mnl_attr_parse(h, sizeof(*m), attr, &q);
	fq = !strcmp(q.kind, "fq");
	if (m->tcm_parent == TC_H_ROOT) {
		s->root_fq = fq;
		s->root_mq = !strcmp(q.kind, "mq");
		s->root = m->tcm_handle;
	} else if (s->root_mq && TC_H_MAJ(m->tcm_parent) == TC_H_MAJ(s->root)) {
		s->fq += fq;
		s->other += !fq;
	}
	return MNL_CB_OK;
}

int bwl_netdev_is_paced(uint32_t ifindex, bool *ret, struct bwl_err *e)
{
	char buf[256];
	struct nlmsghdr *h = bwl_nl_request(buf, RTM_GETQDISC, NLM_F_DUMP);
	struct seen s = { .ifindex = ifindex };
	struct tcmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	int r;

	m->tcm_family = AF_UNSPEC;
	m->tcm_ifindex = (int)ifindex;
	r = bwl_nl_talk(NETLINK_ROUTE, h, one_qdisc, &s);
	if (r)
		return bwl_fail(e, -r, "cannot list the qdiscs of interface %u: %s", ifindex,
				strerror(-r));
	*ret = s.root_fq || (s.root_mq && s.fq && !s.other);
	return 0;
}

static int put_qdisc(uint32_t ifindex, uint32_t parent, uint32_t handle, const char *kind)
{
	char buf[512];
	struct nlmsghdr *h = bwl_nl_request(buf, RTM_NEWQDISC,
					    NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE);
	struct nlattr *options;
	struct tcmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	m->tcm_family = AF_UNSPEC;
	m->tcm_ifindex = (int)ifindex;
	m->tcm_parent = parent;
	m->tcm_handle = handle;
	mnl_attr_put_strz(h, TCA_KIND, kind);
	if (!strcmp(kind, "fq")) {
		options = mnl_attr_nest_start(h, TCA_OPTIONS);
		mnl_attr_put_u32(h, TCA_FQ_PLIMIT, FQ_PACKETS);
		mnl_attr_put_u32(h, TCA_FQ_FLOW_PLIMIT, FQ_PACKETS);
		mnl_attr_nest_end(h, options);
	}
	return bwl_nl_talk(NETLINK_ROUTE, h, NULL, NULL);
}

static int count_queues(const struct nlattr *a, void *arg)
{
	if (mnl_attr_get_type(a) == IFLA_NUM_TX_QUEUES)
		*(uint32_t *)arg = mnl_attr_get_u32(a);
	return MNL_CB_OK;
}

static int one_link(const struct nlmsghdr *h, void *arg)
{
	return mnl_attr_parse(h, sizeof(struct ifinfomsg), count_queues, arg);
}

static uint32_t tx_queues(uint32_t ifindex)
{
	char buf[256];
	struct nlmsghdr *h = bwl_nl_request(buf, RTM_GETLINK, NLM_F_ACK);
	struct ifinfomsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	uint32_t n = 1;

	m->ifi_family = AF_UNSPEC;
	m->ifi_index = (int)ifindex;
	bwl_nl_talk(NETLINK_ROUTE, h, one_link, &n);
	return n;
}

int bwl_netdev_pace(uint32_t ifindex, struct bwl_err *e)
{
	uint32_t n = tx_queues(ifindex), i;
	int r = n > 1 ? put_qdisc(ifindex, TC_H_ROOT, MQ_HANDLE, "mq")
		      : put_qdisc(ifindex, TC_H_ROOT, 0, "fq");

	for (i = 1; !r && n > 1 && i <= n; i++)
		r = put_qdisc(ifindex, MQ_HANDLE | i, 0, "fq");
	if (!r)
		return 0;
	bwl_fail(e, -r, "cannot put fq on interface %u: %s", ifindex, strerror(-r));
	return bwl_hint(e, "modprobe sch_fq");
}
