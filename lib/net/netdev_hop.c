// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The next hop towards an address, according to this DPU's routes and neighbours. The kernel learns
 * nothing from what XDP sends, so an ageing entry is refreshed explicitly.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <bwl/netdev.h>
#include <bwl/nl.h>
#include <bwl/prefix.h>

struct hop {
	uint8_t family; /* of via: an IPv4 route may have an IPv6 next hop */
	uint8_t via[16];
	uint32_t ifindex;
	uint8_t type; /* RTN_* */
	uint64_t mac;
	uint16_t state; /* NUD_* */
	uint8_t flags;  /* NTF_* */
	uint8_t protocol;
};

static size_t addr_len(uint8_t family)
{
	return family == AF_INET ? 4 : 16;
}

static int one_route(const struct nlmsghdr *h, void *arg)
{
	const struct rtmsg *m = mnl_nlmsg_get_payload(h);
	struct hop *x = arg;
	const struct nlattr *a;

	x->type = m->rtm_type;
	mnl_attr_for_each(a, h, sizeof(*m))
	{
		size_t len = mnl_attr_get_payload_len(a);

		if (mnl_attr_get_type(a) == RTA_OIF && len == 4) {
			x->ifindex = mnl_attr_get_u32(a);
		} else if (mnl_attr_get_type(a) == RTA_GATEWAY && len == addr_len(m->rtm_family)) {
			memcpy(x->via, mnl_attr_get_payload(a), len);
		} else if (mnl_attr_get_type(a) == RTA_VIA && len == sizeof(struct rtvia) + 16) {
			const struct rtvia *via = mnl_attr_get_payload(a);

			x->family = (uint8_t)via->rtvia_family;
			memcpy(x->via, via->rtvia_addr, 16);
		}
	}
	return MNL_CB_OK;
}

static int find_route(uint32_t ifindex, uint8_t family, const uint8_t *addr, struct hop *ret)
{
	char buf[256];
	struct nlmsghdr *h = bwl_nl_request(buf, RTM_GETROUTE, NLM_F_ACK);
	struct rtmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));
	int r;

	*ret = (struct hop){ .family = family };
	memcpy(ret->via, addr, addr_len(family)); /* itself, unless there is a gateway */
	m->rtm_family = family;
	m->rtm_dst_len = (uint8_t)(8 * addr_len(family));
	mnl_attr_put(h, RTA_DST, addr_len(family), addr);
	if (ifindex)
		mnl_attr_put_u32(h, RTA_OIF, ifindex);
	r = bwl_nl_talk(NETLINK_ROUTE, h, one_route, ret);
	return r                                                                   ? r
	       : ret->type == RTN_UNICAST && (!ifindex || ret->ifindex == ifindex) ? 0
										   : -ENETUNREACH;
}

static struct nlmsghdr *about_neighbour(char *buf, uint16_t type, uint16_t flags,
					const struct hop *x)
{
	struct nlmsghdr *h = bwl_nl_request(buf, type, NLM_F_ACK | flags);
	struct ndmsg *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	m->ndm_family = x->family;
	m->ndm_ifindex = (int)x->ifindex;
	mnl_attr_put(h, NDA_DST, addr_len(x->family), x->via);
	return h;
}

static int one_neighbour(const struct nlmsghdr *h, void *arg)
{
	const struct ndmsg *m = mnl_nlmsg_get_payload(h);
	struct hop *x = arg;
	const struct nlattr *a;

	x->state = m->ndm_state;
	x->flags = m->ndm_flags;
	mnl_attr_for_each(a, h, sizeof(*m))
	{
		size_t len = mnl_attr_get_payload_len(a);

		if (mnl_attr_get_type(a) == NDA_LLADDR && len == 6)
			memcpy(&x->mac, mnl_attr_get_payload(a), 6);
		else if (mnl_attr_get_type(a) == NDA_PROTOCOL && len == 1)
			x->protocol = mnl_attr_get_u8(a);
		else if (mnl_attr_get_type(a) == NDA_DST && len == addr_len(m->ndm_family))
			memcpy(x->via, mnl_attr_get_payload(a), len);
	}
	return MNL_CB_OK;
}

/*
 * As if the DPU sent a packet: the kernel resolves the address, or checks whether it is still
 * there.
 */
static void use_neighbour(const struct hop *x)
{
	char buf[256];
	struct nlmsghdr *h = about_neighbour(buf, RTM_NEWNEIGH, NLM_F_CREATE, x);
	struct ndmsg *m = mnl_nlmsg_get_payload(h);

	m->ndm_flags = NTF_USE;
	bwl_nl_talk(NETLINK_ROUTE, h, NULL, NULL);
}

int bwl_netdev_next_hop(uint32_t ifindex, uint8_t family, const uint8_t *addr, uint64_t *ret_mac,
			struct bwl_err *e)
{
	const uint16_t good = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT |
			      NUD_NOARP;
	char buf[256];
	struct hop x;
	int r = find_route(ifindex, family, addr, &x);

	*ret_mac = 0;
	if (r)
		return bwl_fail(e, -r, "no route through this device: %s", strerror(-r));
	r = bwl_nl_talk(NETLINK_ROUTE, about_neighbour(buf, RTM_GETNEIGH, 0, &x), one_neighbour,
			&x);
	if (r || !(x.state & (NUD_REACHABLE | NUD_PERMANENT | NUD_NOARP | NUD_DELAY | NUD_PROBE)))
		use_neighbour(&x);
	if (!r && x.state & good)
		*ret_mac = x.mac;
	return 0;
}

/*
 * An "externally learned" entry is not on the garbage collector's list (neigh_update_gc_list(),
 * 5.0). It is still resolved, probed and given another MAC like any other: it only keeps its place
 * in the table. NTF_EXT_MANAGED alone would keep it fresh, but not in the table. Before 5.16
 * NTF_USE does not set flags of an existing entry.
 */
int bwl_netdev_keep_next_hop(uint32_t ifindex, uint8_t family, const uint8_t *addr,
			     bool only_gateway)
{
	const uint16_t valid = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE;
	char buf[256];
	struct nlmsghdr *h;
	struct ndmsg *m;
	struct hop x;
	int r = find_route(ifindex, family, addr, &x);

	if (r || (only_gateway && x.family == family && !memcmp(x.via, addr, addr_len(family))))
		return r;
	r = bwl_nl_talk(NETLINK_ROUTE, about_neighbour(buf, RTM_GETNEIGH, 0, &x), one_neighbour,
			&x);
	if (r && r != -ENOENT)
		return r;
	if (!r && (x.flags & NTF_EXT_LEARNED || x.state & (NUD_PERMANENT | NUD_NOARP)))
		return 0;
	h = about_neighbour(buf, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &x);
	m = mnl_nlmsg_get_payload(h);
	m->ndm_flags = NTF_EXT_LEARNED;
	if (!r && x.state & valid)
		m->ndm_state = x.state == NUD_REACHABLE ? NUD_REACHABLE : NUD_STALE;
	else
		m->ndm_flags |= NTF_USE;
	return bwl_nl_talk(NETLINK_ROUTE, h, NULL, NULL);
}

int bwl_netdev_hop_find(struct bwl_fixed_hop *io)
{
	struct hop x;
	int r = find_route(0, io->family, io->addr, &x);

	if (r)
		return r;
	io->ifindex = x.ifindex;
	io->family = x.family;
	memcpy(io->addr, x.via, sizeof(io->addr));
	return 0;
}

static struct hop hop_of(const struct bwl_fixed_hop *f)
{
	struct hop x = { .family = f->family, .ifindex = f->ifindex };

	memcpy(x.via, f->addr, addr_len(f->family));
	return x;
}

int bwl_netdev_hop_check(const struct bwl_fixed_hop *f, struct bwl_err *e)
{
	char buf[256], mac[BWL_MAC_BUF], addr[INET6_ADDRSTRLEN], dev[IF_NAMESIZE] = "?";
	struct hop x = hop_of(f);
	int r = bwl_nl_talk(NETLINK_ROUTE, about_neighbour(buf, RTM_GETNEIGH, 0, &x), one_neighbour,
			    &x);

	if (!r && x.state & NUD_PERMANENT && !memcmp(&x.mac, f->mac, 6))
		return 0;
	inet_ntop(f->family, f->addr, addr, sizeof(addr));
	if_indextoname(f->ifindex, dev);
	if (r)
		return bwl_fail(e, -r, "next hop %s on %s has no entry in the neighbour table: %s",
				addr, dev, strerror(-r));
	return bwl_fail(e, ENOENT, "next hop %s on %s has the MAC %s%s", addr, dev,
			bwl_mac_format((const uint8_t *)&x.mac, mac),
			x.state & NUD_PERMANENT ? "" : ", and anyone on the link can change it");
}

int bwl_netdev_hop_fix(const struct bwl_fixed_hop *f, struct bwl_err *e)
{
	char buf[256], addr[INET6_ADDRSTRLEN], dev[IF_NAMESIZE] = "?";
	struct hop x = hop_of(f);
	struct nlmsghdr *h;
	struct ndmsg *m;
	int r;

	if (!bwl_netdev_hop_check(f, NULL))
		return 0; /* it may also be an operator's entry, which is left alone */
	h = about_neighbour(buf, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &x);
	m = mnl_nlmsg_get_payload(h);
	m->ndm_state = NUD_PERMANENT;
	mnl_attr_put(h, NDA_LLADDR, 6, f->mac);
	mnl_attr_put_u8(h, NDA_PROTOCOL, BWL_NEIGHBOUR_PROTOCOL);
	r = bwl_nl_talk(NETLINK_ROUTE, h, NULL, NULL);
	if (!r)
		return bwl_netdev_hop_check(f, e);
	inet_ntop(f->family, f->addr, addr, sizeof(addr));
	if_indextoname(f->ifindex, dev);
	return bwl_fail(e, -r, "cannot make next hop %s on %s permanent: %s", addr, dev,
			strerror(-r));
}

#define SWEEP_MAX 256 /* entries at a time; the next sweep removes the rest */

struct sweep {
	uint32_t ifindex;
	bool (*stays)(const struct bwl_fixed_hop *f, void *arg);
	void *arg;
	struct hop gone[SWEEP_MAX];
	unsigned n;
};

static int sweep_one(const struct nlmsghdr *h, void *arg)
{
	const struct ndmsg *m = mnl_nlmsg_get_payload(h);
	struct sweep *s = arg;
	struct bwl_fixed_hop f;
	struct hop x = { .family = m->ndm_family, .ifindex = (uint32_t)m->ndm_ifindex };

	if (x.ifindex != s->ifindex || (x.family != AF_INET && x.family != AF_INET6))
		return MNL_CB_OK;
	one_neighbour(h, &x);
	if (x.protocol != BWL_NEIGHBOUR_PROTOCOL || s->n == SWEEP_MAX)
		return MNL_CB_OK;
	f = (struct bwl_fixed_hop){ .ifindex = x.ifindex, .family = x.family };
	memcpy(f.addr, x.via, sizeof(f.addr));
	memcpy(f.mac, &x.mac, 6);
	if (!s->stays(&f, s->arg))
		s->gone[s->n++] = x;
	return MNL_CB_OK;
}

int bwl_netdev_hops_sweep(uint32_t ifindex, bool (*stays)(const struct bwl_fixed_hop *f, void *arg),
			  void *arg)
{
	struct sweep s = { .ifindex = ifindex, .stays = stays, .arg = arg };
	char buf[256];
	struct nlmsghdr *h = bwl_nl_request(buf, RTM_GETNEIGH, NLM_F_DUMP);
	int r;

	mnl_nlmsg_put_extra_header(h, sizeof(struct ndmsg));
	mnl_attr_put_u32(h, NDA_IFINDEX, ifindex);
	r = bwl_nl_talk(NETLINK_ROUTE, h, sweep_one, &s);
	for (unsigned i = 0; !r && i < s.n; i++) {
		r = bwl_nl_talk(NETLINK_ROUTE, about_neighbour(buf, RTM_DELNEIGH, 0, &s.gone[i]),
				NULL, NULL);
		r = r == -ENOENT ? 0 : r;
	}
	return r;
}

int bwl_netdev_route_dev(uint8_t family, const uint8_t *addr, uint32_t *ret_ifindex,
			 struct bwl_err *e)
{
	struct hop x;
	int r = find_route(0, family, addr, &x);

	*ret_ifindex = r ? 0 : x.ifindex;
	return r ? bwl_fail(e, -r, "no route: %s", strerror(-r)) : 0;
}
