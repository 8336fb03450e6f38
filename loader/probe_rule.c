// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A meter in a card, and a flower rule that drops and uses one: added only in the card (skip_sw),
 * read back, deleted. The meter is in packets a second: the unit in which a meter of mlx5 never
 * exceeds its value (docs/scale.md). Mlx5 has both since 6.0.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>
#include <string.h>
#include "probe_thing.h"

#define PACKETS_PS 1000U
#define BURST_TICKS (100000000U >> 6) /* 100 packets at that rate, in ticks of 64 ns */
#define PRIORITY 0x6277U

/* index 0: the kernel chooses a free one. */
static void put_police(struct nlmsghdr *h, uint32_t index)
{
	struct tc_police p = { .index = index, .action = TC_ACT_SHOT };
	struct nlattr *options;

	mnl_attr_put_strz(h, TCA_ACT_KIND, "police");
	options = mnl_attr_nest_start(h, TCA_ACT_OPTIONS);
	mnl_attr_put(h, TCA_POLICE_TBF, sizeof(p), &p);
	mnl_attr_put_u32(h, TCA_POLICE_RESULT, TC_ACT_PIPE);
	mnl_attr_put_u64(h, TCA_POLICE_PKTRATE64, PACKETS_PS);
	mnl_attr_put_u64(h, TCA_POLICE_PKTBURST64, BURST_TICKS);
	mnl_attr_nest_end(h, options);
}

static int add_meter(uint32_t ifindex, char said[static BWL_NL_SAID])
{
	struct nla_bitfield32 flags = { TCA_ACT_FLAGS_SKIP_SW, TCA_ACT_FLAGS_SKIP_SW };
	char buf[1024] = { 0 };
	struct nlmsghdr *h = bwl_nl_request(buf, RTM_NEWACTION,
					    NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
	struct nlattr *all, *one;

	(void)ifindex;
	mnl_nlmsg_put_extra_header(h, sizeof(struct tcamsg));
	all = mnl_attr_nest_start(h, TCA_ACT_TAB);
	one = mnl_attr_nest_start(h, 1);
	put_police(h, PROBE_ID);
	mnl_attr_put(h, TCA_ACT_FLAGS, sizeof(flags), &flags);
	mnl_attr_nest_end(h, one);
	mnl_attr_nest_end(h, all);
	return bwl_nl_try(NETLINK_ROUTE, h, NULL, NULL, said);
}

static struct nlmsghdr *meter_request(char *buf, uint16_t type)
{
	struct nlmsghdr *h = bwl_nl_request(buf, type, NLM_F_ACK);
	struct nlattr *all, *one;

	mnl_nlmsg_put_extra_header(h, sizeof(struct tcamsg));
	all = mnl_attr_nest_start(h, TCA_ACT_TAB);
	one = mnl_attr_nest_start(h, 1);
	mnl_attr_put_strz(h, TCA_ACT_KIND, "police");
	mnl_attr_put_u32(h, TCA_ACT_INDEX, PROBE_ID);
	mnl_attr_nest_end(h, one);
	mnl_attr_nest_end(h, all);
	return h;
}

/* Reads how many cards have the meter. */
static int count_cards(const struct nlmsghdr *h, void *arg)
{
	const struct nlattr *a, *one, *n;

	mnl_attr_for_each(a, h, sizeof(struct tcamsg))
	{
		if (mnl_attr_get_type(a) != TCA_ACT_TAB)
			continue;
		mnl_attr_for_each_nested(one, a) mnl_attr_for_each_nested(
			n, one) if (mnl_attr_get_type(n) == TCA_ACT_IN_HW_COUNT &&
				    mnl_attr_validate(n, MNL_TYPE_U32) >= 0) *
			(uint32_t *)arg = mnl_attr_get_u32(n);
	}
	return MNL_CB_OK;
}

static bool held_meter(uint32_t ifindex)
{
	char buf[512] = { 0 };
	uint32_t cards = 0;

	(void)ifindex;
	return !bwl_nl_talk(NETLINK_ROUTE, meter_request(buf, RTM_GETACTION), count_cards,
			    &cards) &&
	       cards;
}

/* EINVAL, EOPNOTSUPP: the kernel has no such objects, so none of ours either. */
static int gone(int r)
{
	return r == -ENOENT || r == -EINVAL || r == -EOPNOTSUPP ? 0 : r;
}

static int del_meter(uint32_t ifindex)
{
	char buf[512] = { 0 };

	(void)ifindex;
	return gone(bwl_nl_talk(NETLINK_ROUTE, meter_request(buf, RTM_DELACTION), NULL, NULL));
}

static struct nlmsghdr *rule_request(char *buf, uint16_t type, uint16_t flags, uint32_t ifindex)
{
	struct nlmsghdr *h = bwl_nl_request(buf, type, NLM_F_ACK | flags);
	struct tcmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	m->tcm_family = AF_UNSPEC;
	m->tcm_ifindex = (int)ifindex;
	m->tcm_handle = PROBE_ID;
	m->tcm_parent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS);
	m->tcm_info = TC_H_MAKE(PRIORITY << 16, htons(ETH_P_IP));
	mnl_attr_put_strz(h, TCA_KIND, "flower");
	return h;
}

static void put_drop(struct nlmsghdr *h)
{
	struct tc_gact g = { .action = TC_ACT_SHOT };
	struct nlattr *options;

	mnl_attr_put_strz(h, TCA_ACT_KIND, "gact");
	options = mnl_attr_nest_start(h, TCA_ACT_OPTIONS);
	mnl_attr_put(h, TCA_GACT_PARMS, sizeof(g), &g);
	mnl_attr_nest_end(h, options);
}

static int add_rule(uint32_t ifindex, char said[static BWL_NL_SAID])
{
	char buf[2048] = { 0 };
	struct nlmsghdr *h = rule_request(buf, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, ifindex);
	struct nlattr *options = mnl_attr_nest_start(h, TCA_OPTIONS), *all, *one;
	struct in_addr to;

	inet_pton(AF_INET, PROBE_TO, &to);
	mnl_attr_put_u16(h, TCA_FLOWER_KEY_ETH_TYPE, htons(ETH_P_IP));
	mnl_attr_put_u32(h, TCA_FLOWER_KEY_IPV4_DST, to.s_addr);
	mnl_attr_put_u32(h, TCA_FLOWER_KEY_IPV4_DST_MASK, 0xffffffff);
	mnl_attr_put_u32(h, TCA_FLOWER_FLAGS, TCA_CLS_FLAGS_SKIP_SW);
	all = mnl_attr_nest_start(h, TCA_FLOWER_ACT);
	one = mnl_attr_nest_start(h, 1);
	put_police(h, 0);
	mnl_attr_nest_end(h, one);
	one = mnl_attr_nest_start(h, 2);
	put_drop(h);
	mnl_attr_nest_end(h, one);
	mnl_attr_nest_end(h, all);
	mnl_attr_nest_end(h, options);
	return bwl_nl_try(NETLINK_ROUTE, h, NULL, NULL, said);
}

static int read_flags(const struct nlmsghdr *h, void *arg)
{
	const struct nlattr *a, *n;

	mnl_attr_for_each(a, h, sizeof(struct tcmsg)) if (mnl_attr_get_type(a) == TCA_OPTIONS)
			mnl_attr_for_each_nested(n,
						 a) if (mnl_attr_get_type(n) == TCA_FLOWER_FLAGS &&
							mnl_attr_validate(n, MNL_TYPE_U32) >= 0) *
		(uint32_t *)arg = mnl_attr_get_u32(n);
	return MNL_CB_OK;
}

static bool held_rule(uint32_t ifindex)
{
	char buf[512] = { 0 };
	uint32_t flags = 0;

	return !bwl_nl_talk(NETLINK_ROUTE, rule_request(buf, RTM_GETTFILTER, 0, ifindex),
			    read_flags, &flags) &&
	       flags & TCA_CLS_FLAGS_IN_HW;
}

static int del_rule(uint32_t ifindex)
{
	char buf[512] = { 0 };

	return gone(bwl_nl_talk(NETLINK_ROUTE, rule_request(buf, RTM_DELTFILTER, 0, ifindex), NULL,
				NULL));
}

const struct probe_thing probe_meter = { "the meter", 0, add_meter, held_meter, del_meter };
const struct probe_thing probe_rule = { "the rule", PROBE_HOST, add_rule, held_rule, del_rule };
