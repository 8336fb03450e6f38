// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What XDP really does on a device. A driver may accept a native program and never run it
 * (netdevsim), and one that runs it may not send frames that are redirected to it: since 6.3 the
 * kernel reports both.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include <bwl/netdev.h>
#include <bwl/nl.h>

/* From linux/netdev.h (6.3); Debian 12's headers lack them. */
#define NETDEV_CMD_DEV_GET 1
#define NETDEV_A_DEV_IFINDEX 1
#define NETDEV_A_DEV_XDP_FEATURES 3
#define NETDEV_XDP_ACT_BASIC (1U << 0)
#define NETDEV_XDP_ACT_NDO_XMIT (1U << 2)

static int features(const struct nlmsghdr *h, void *arg)
{
	struct bwl_netdev_xdp *x = arg;
	const struct nlattr *a;
	uint64_t f;

	mnl_attr_for_each(a, h, 4 /* genlmsghdr */)
	{
		if (mnl_attr_get_type(a) != NETDEV_A_DEV_XDP_FEATURES)
			continue;
		f = mnl_attr_get_u64(a);
		x->told = true;
		x->runs = f & NETDEV_XDP_ACT_BASIC;
		x->sends = f & NETDEV_XDP_ACT_NDO_XMIT;
	}
	return MNL_CB_OK;
}

static int ask_kernel(uint32_t ifindex, struct bwl_netdev_xdp *ret)
{
	struct nlmsghdr *h;
	char buf[256];
	uint16_t id;
	int r = bwl_genl_family("netdev", &id);

	if (r)
		return r == -ENOENT ? 0 : r;
	h = bwl_genl_request(buf, id, NETDEV_CMD_DEV_GET, NLM_F_ACK);
	mnl_attr_put_u32(h, NETDEV_A_DEV_IFINDEX, ifindex);
	return bwl_nl_talk(NETLINK_GENERIC, h, features, ret);
}

/*
 * The driver's name, and what it does to received frames; nothing if ethtool does not know the
 * device.
 */
static void ask_driver(const char *name, struct bwl_netdev_xdp *ret)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ethtool_value flags = { .cmd = ETHTOOL_GFLAGS };
	struct ifreq q = { .ifr_data = (void *)&info };
	int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* any family: units forbid INET */

	if (s < 0)
		return;
	snprintf(q.ifr_name, sizeof(q.ifr_name), "%s", name);
	if (!ioctl(s, SIOCETHTOOL, &q))
		snprintf(ret->driver, sizeof(ret->driver), "%.31s", info.driver);
	q.ifr_data = (void *)&flags;
	ret->strips = ioctl(s, SIOCETHTOOL, &q) || flags.data & ETH_FLAG_RXVLAN;
	ret->merges = flags.data & ETH_FLAG_LRO;
	flags = (struct ethtool_value){ .cmd = ETHTOOL_GGRO };
	ret->merges |= !ioctl(s, SIOCETHTOOL, &q) && flags.data;
	close(s);
}

int bwl_netdev_xdp(const char *name, uint32_t ifindex, struct bwl_netdev_xdp *ret,
		   struct bwl_err *e)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, o);
	int r;

	*ret = (struct bwl_netdev_xdp){ .strips = true };
	ask_driver(name, ret);
	r = ask_kernel(ifindex, ret);
	if (r)
		return bwl_fail(e, -r, "%s: cannot query the XDP features of its driver: %s", name,
				strerror(-r));
	if (!ret->told) /* the only known driver that accepts programs and does not run them */
		ret->runs = strcmp(ret->driver, "netdevsim") != 0;
	r = bpf_xdp_query((int)ifindex, 0, &o);
	if (r)
		return bwl_fail(e, -r, "%s: cannot query XDP: %s", name, strerror(-r));
	ret->native = o.drv_prog_id;
	ret->generic = o.skb_prog_id;
	return 0;
}
