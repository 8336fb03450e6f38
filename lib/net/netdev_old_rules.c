/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules that versions before bwl/iif_rules.h set: the tunnel device's, and the one that discards
 * the kernel's replies to charged packets.
 */
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <bwl/netdev.h>
#include <bwl/nl.h>

#define RULE_PRIORITY 5211U
#define RULE_PROTOCOL 98

void bwl_netdev_loud(void)
{
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	char buf[256];
	unsigned i;

	for (i = 0; i < 2; i++) {
		int r = 0, n;

		for (n = 0; !r && n < 16; n++) { /* also those of other tags */
			struct nlmsghdr *h = bwl_nl_request(buf, RTM_DELRULE, NLM_F_ACK);
			struct fib_rule_hdr *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

			m->family = families[i];
			m->action = FR_ACT_BLACKHOLE;
			mnl_attr_put_u32(h, FRA_PRIORITY, RULE_PRIORITY);
			mnl_attr_put_u8(h, FRA_PROTOCOL, RULE_PROTOCOL);
			r = bwl_nl_talk(NETLINK_ROUTE, h, NULL, NULL);
		}
	}
}
