/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel answers packets that it refuses (ICMP "too big"), quoting them, to the host by its own
 * routes: on a DPU mostly its management port. With fwmark_reflect (4.x) an answer has the mark of the
 * packet that it answers, and what was charged has this boot's tag: a rule sends such answers nowhere. A
 * route to the hosts' prefixes would do as well, and take the DPU its own ways there.
 */
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>
#include <bwl/netdev.h>
#include "nl.h"

/* After the tunnel device's rule (netdev_xfrm.c), whose packets have the mark as well. */
#define RULE_PRIORITY 5211U
#define RULE_PROTOCOL 98	/* of nobody else (rtnetlink.h): whose rule it is */

static const struct { uint8_t family; const char *reflect; } families[] = {
	{ AF_INET, "/proc/sys/net/ipv4/fwmark_reflect" },
	{ AF_INET6, "/proc/sys/net/ipv6/fwmark_reflect" },
};

static struct nlmsghdr *rule_request(char *buf, uint16_t type, uint16_t flags, uint8_t family)
{
	struct nlmsghdr *h = bwl_nl_request(buf, type, flags);
	struct fib_rule_hdr *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	m->family = family;
	m->action = FR_ACT_BLACKHOLE;
	return h;
}

static int reflect(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;	/* no such family here */
	r = write(fd, "1", 1) == 1 ? 0 : -errno;
	close(fd);
	return r;
}

void bwl_netdev_loud(void)
{
	char buf[256];
	unsigned i;

	for (i = 0; i < 2; i++) {
		int r = 0, n;

		for (n = 0; !r && n < 16; n++) {	/* those of other tags too */
			struct nlmsghdr *h = rule_request(buf, RTM_DELRULE, NLM_F_ACK, families[i].family);

			mnl_attr_put_u32(h, FRA_PRIORITY, RULE_PRIORITY);
			mnl_attr_put_u8(h, FRA_PROTOCOL, RULE_PROTOCOL);
			r = bwl_nl_talk(NETLINK_ROUTE, h, NULL, NULL);
		}
	}
}

int bwl_netdev_quiet(uint32_t mark, uint32_t mask)
{
	char buf[256];
	unsigned i;
	int r = 0;

	if (bwl_netdev_is_quiet(mark, mask))
		return 0;
	bwl_netdev_loud();
	for (i = 0; !r && i < 2; i++) {
		struct nlmsghdr *h = rule_request(buf, RTM_NEWRULE, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
					     families[i].family);

		mnl_attr_put_u32(h, FRA_PRIORITY, RULE_PRIORITY);
		mnl_attr_put_u8(h, FRA_PROTOCOL, RULE_PROTOCOL);
		mnl_attr_put_u32(h, FRA_FWMARK, mark & mask);
		mnl_attr_put_u32(h, FRA_FWMASK, mask);
		r = bwl_nl_talk(NETLINK_ROUTE, h, NULL, NULL);
		if (r == -EAFNOSUPPORT)
			r = 0;
		if (!r)
			r = reflect(families[i].reflect);
	}
	return r;
}

struct wanted {
	uint32_t mark, mask;
	bool found;
};

static int one_rule(const struct nlmsghdr *h, void *arg)
{
	const struct fib_rule_hdr *m = mnl_nlmsg_get_payload(h);
	const struct nlattr *a;
	struct wanted *w = arg;
	uint32_t mark = 0, mask = 0;
	bool narrow = m->src_len || m->dst_len || m->tos || m->flags & FIB_RULE_INVERT;

	mnl_attr_for_each(a, h, sizeof(*m)) {
		switch (mnl_attr_get_type(a)) {
		case FRA_FWMARK:
			mark = mnl_attr_get_u32(a);
			break;
		case FRA_FWMASK:
			mask = mnl_attr_get_u32(a);
			break;
		case FRA_IIFNAME:
		case FRA_OIFNAME:
		case FRA_IP_PROTO:
			narrow = true;
			break;
		}
	}
	w->found |= m->action == FR_ACT_BLACKHOLE && !narrow && mark == w->mark && mask == w->mask;
	return MNL_CB_OK;
}

bool bwl_netdev_is_quiet(uint32_t mark, uint32_t mask)
{
	char buf[256];
	unsigned i;

	for (i = 0; i < 2; i++) {
		struct wanted w = { mark & mask, mask, false };
		struct nlmsghdr *h = rule_request(buf, RTM_GETRULE, NLM_F_DUMP, families[i].family);
		char value = '1';
		int fd = open(families[i].reflect, O_RDONLY | O_CLOEXEC), r;

		if (fd < 0)
			continue;	/* no such family here */
		r = read(fd, &value, 1) == 1 && value == '1' ? 0 : -EIO;
		close(fd);
		if (!r)
			r = bwl_nl_talk(NETLINK_ROUTE, h, one_rule, &w);
		if (r || !w.found)
			return false;
	}
	return true;
}
