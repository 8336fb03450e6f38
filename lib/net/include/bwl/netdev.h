/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Network devices of this namespace, by rtnetlink. For the card's own reports see bwl/card.h. */
#ifndef BWL_NETDEV_H
#define BWL_NETDEV_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <bwl/err.h>

struct bwl_netdev {
	uint32_t ifindex, mtu, master; /* master: ifindex of a bridge or bond, 0 none */
	bool up, loopback, carrier;    /* carrier: as the device reports it */
	uint8_t mac[6];
	char name[IFNAMSIZ];
	char kind[16]; /* "veth", "bridge", …; empty for a physical device */
};

/* All of them; free with free(). */
int bwl_netdev_list(struct bwl_netdev **ret, size_t *ret_n, struct bwl_err *e);
int bwl_netdev_get(const char *name, struct bwl_netdev *ret, struct bwl_err *e);
/* Whatever it is called now. */
int bwl_netdev_at(uint32_t ifindex, struct bwl_netdev *ret, struct bwl_err *e);
/*
 * Creates an xfrm interface in collect-metadata mode (kernel 6.1), otherwise, or when *plain, one
 * whose if_id is BWL_TUN_IF_ID; an existing one is kept. *plain tells which it is. An existing
 * device of that name and another kind is an error.
 */
int bwl_netdev_add_xfrm(const char *name, bool *plain, struct bwl_err *e);
bool bwl_netdev_is_plain_xfrm(uint32_t ifindex);
int bwl_netdev_del(uint32_t ifindex, struct bwl_err *e);
/*
 * Adds a default route through the device, IPv4 and IPv6, in `table`; bwl/iif_rules.h directs
 * packets bound to the device there.
 */
int bwl_netdev_route_all(const struct bwl_netdev *d, uint32_t table, struct bwl_err *e);
/* What the device counts as sent (IFLA_STATS64). */
struct bwl_netdev_sent {
	uint64_t frames, bytes;
};
int bwl_netdev_sent(uint32_t ifindex, struct bwl_netdev_sent *ret);
/* A driver's own counter, by its name in `ethtool -S`. */
struct bwl_counter {
	const char *name;
	uint64_t value;
	bool found;
};
/* 0, even if the device has none of them; or a negative errno. */
int bwl_netdev_counters(const char *name, struct bwl_counter *c, size_t n);
int bwl_netdev_set_up(uint32_t ifindex, bool up, struct bwl_err *e);

/*
 * Calls fn for every device that exists, appears or changes, until it returns non-zero. Nothing is
 * missed: after an overrun of the socket every device is reported again. every_s > 0: fn(NULL, arg)
 * that often as well.
 */
int bwl_netdev_watch(int (*fn)(const struct bwl_netdev *d, void *arg), void *arg, unsigned every_s,
		     struct bwl_err *e);

/* The first filter of a clsact hook. */
struct bwl_filter {
	uint32_t handle, priority, prog_id; /* prog_id 0: not a BPF filter */
	unsigned count;                     /* filters at the hook; 0: the other fields are empty */
	char kind[16];                      /* "bpf", "flower", … */
};
int bwl_netdev_first_filter(uint32_t ifindex, bool ingress, struct bwl_filter *ret,
			    struct bwl_err *e);

/* Is the root qdisc fq, or mq with fq in all its bands: does it keep departure times? */
int bwl_netdev_is_paced(uint32_t ifindex, bool *ret, struct bwl_err *e);
/*
 * Makes fq the root qdisc, beneath mq if the device has several transmit queues. Flow limits are as
 * large as the qdisc's, because all packets of one SA are one flow.
 */
int bwl_netdev_pace(uint32_t ifindex, struct bwl_err *e);

/* XDP state of one device. */
struct bwl_netdev_xdp {
	bool native;  /* a program is attached in driver mode */
	bool generic; /* one is attached behind the driver, and behind GRO */
	/* the kernel reports the next two (6.3); otherwise `runs` depends on the driver's name */
	bool told;
	bool runs;   /* a native program sees packets */
	bool sends;  /* it sends frames that others redirect to it */
	bool strips; /* removes VLAN tags before XDP sees the frame (ethtool -k: rx-vlan-offload) */
	bool merges; /* merges frames before TC sees them (GRO, LRO) */
	char driver[32];
};
int bwl_netdev_xdp(const char *name, uint32_t ifindex, struct bwl_netdev_xdp *ret,
		   struct bwl_err *e);

/*
 * The MAC of the next hop to addr (AF_INET or AF_INET6) through this device: 6 bytes in frame
 * order, then 2 of zero. 0 while unknown; it is then requested. -ENETUNREACH: no route through this
 * device.
 */
int bwl_netdev_next_hop(uint32_t ifindex, uint8_t family, const uint8_t *addr, uint64_t *ret_mac,
			struct bwl_err *e);
/*
 * Protects the neighbour entry of the next hop to addr, through this device or (0) any, from being
 * evicted by others. only_gateway: not if addr is on the link. 0 or -errno.
 */
int bwl_netdev_keep_next_hop(uint32_t ifindex, uint8_t family, const uint8_t *addr,
			     bool only_gateway);
/* A permanent entry of the neighbour table: nobody on the link can change it. */
struct bwl_fixed_hop {
	uint32_t ifindex;
	uint8_t family; /* AF_* */
	uint8_t addr[16], mac[6];
	bool routed; /* a route leads there: no policy names it */
};

/*
 * Replaces the address by the device and next hop that the DPU's own packets to it use, according
 * to its routes. No device is named in the query: with one, the kernel would treat an address
 * without a route as on the link. -ENETUNREACH: no route.
 */
int bwl_netdev_hop_find(struct bwl_fixed_hop *io);
/* Is it in the table, as required? */
int bwl_netdev_hop_check(const struct bwl_fixed_hop *f, struct bwl_err *e);
/* Enters it, and reads it back. An entry that is already right keeps its owner. */
int bwl_netdev_hop_fix(const struct bwl_fixed_hop *f, struct bwl_err *e);
/*
 * -EEXIST: two entries of the list have other MACs for one address, by routes, and those of old
 * (the policy before; NULL: none) did not have two there. A policy may be refused for what it
 * brings, not for where routes lead.
 */
int bwl_netdev_hops_agree(const struct bwl_fixed_hop *list, size_t n,
			  const struct bwl_fixed_hop *old, size_t nold, struct bwl_err *e);
/*
 * Puts all entries with an ifindex into the table; of two for one address one, and -EEXIST. 0, or
 * the first other error; the others are there nevertheless.
 */
int bwl_netdev_hops_fix(const struct bwl_fixed_hop *list, size_t n, struct bwl_err *e);
/* Removes our own entries of the device, except those that stay. 0 or -errno. */
int bwl_netdev_hops_sweep(uint32_t ifindex, bool (*stays)(const struct bwl_fixed_hop *f, void *arg),
			  void *arg);
/* The device through which the DPU's own packets to addr leave. */
int bwl_netdev_route_dev(uint8_t family, const uint8_t *addr, uint32_t *ret_ifindex,
			 struct bwl_err *e);

#endif
