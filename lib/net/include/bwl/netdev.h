/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Network devices of this namespace, by rtnetlink. A card's own words: bwl/card.h. */
#ifndef BWL_NETDEV_H
#define BWL_NETDEV_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <bwl/err.h>

struct bwl_netdev {
	uint32_t ifindex, mtu, master; /* master: ifindex of a bridge or bond, 0 none */
	bool up, loopback, carrier;    /* carrier: as the device says itself */
	uint8_t mac[6];
	char name[IFNAMSIZ];
	char kind[16]; /* "veth", "bridge", …; empty for a physical device */
};

/* All of them; free with free(). */
int bwl_netdev_list(struct bwl_netdev **ret, size_t *ret_n, struct bwl_err *e);
int bwl_netdev_get(const char *name, struct bwl_netdev *ret, struct bwl_err *e);
/*
 * An xfrm interface in collect-metadata mode (kernel 6.1), else, or when *plain, one whose if_id is
 * BWL_TUN_IF_ID; made unless one of them is there already. *plain says which it is. A device of
 * that name and another kind is an error.
 */
int bwl_netdev_add_xfrm(const char *name, bool *plain, struct bwl_err *e);
bool bwl_netdev_is_plain_xfrm(uint32_t ifindex);
int bwl_netdev_del(uint32_t ifindex, struct bwl_err *e);
/*
 * A default route through the device, IPv4 and IPv6, in `table`: bwl/iif_rules.h leads what is
 * bound to it there.
 */
int bwl_netdev_route_all(const struct bwl_netdev *d, uint32_t table, struct bwl_err *e);
/*
 * Rules that versions before bwl/iif_rules.h set go: the tunnel device's, and what the kernel
 * answers.
 */
void bwl_netdev_no_old_rules(const char *name, uint32_t table);
void bwl_netdev_loud(void);
/* What the device counts as sent (IFLA_STATS64). */
struct bwl_netdev_sent {
	uint64_t frames, bytes;
};
int bwl_netdev_sent(uint32_t ifindex, struct bwl_netdev_sent *ret);
/* A counter of the driver's own, by its name in `ethtool -S`. */
struct bwl_counter {
	const char *name;
	uint64_t value;
	bool found;
};
/* 0, also where the device has none of them; or a negative errno. */
int bwl_netdev_counters(const char *name, struct bwl_counter *c, size_t n);
int bwl_netdev_set_up(uint32_t ifindex, bool up, struct bwl_err *e);

/*
 * Calls fn for every device that is there, appears or changes, until it returns non-zero. Nothing
 * is missed: after an overrun of the socket every device is looked at again.
 */
int bwl_netdev_watch(int (*fn)(const struct bwl_netdev *d, void *arg), void *arg,
		     struct bwl_err *e);

/* The filter that a packet meets first at a clsact hook. */
struct bwl_filter {
	uint32_t handle, priority, prog_id; /* prog_id 0: not a BPF filter */
	unsigned count;                     /* filters at the hook; 0: the rest is empty */
	char kind[16];                      /* "bpf", "flower", … */
};
int bwl_netdev_first_filter(uint32_t ifindex, bool ingress, struct bwl_filter *ret,
			    struct bwl_err *e);

/* Is the root qdisc fq, or mq with fq in all its bands: does it keep departure times? */
int bwl_netdev_is_paced(uint32_t ifindex, bool *ret, struct bwl_err *e);
/*
 * fq as root qdisc, beneath mq where the device has several transmit queues. Flow limits as wide
 * as the qdisc: all packets of one SA are one flow.
 */
int bwl_netdev_pace(uint32_t ifindex, struct bwl_err *e);

/* Of XDP on one device, now. */
struct bwl_netdev_xdp {
	bool native; /* a program is attached in driver mode */
	bool told;   /* the kernel says the next two (6.3); else `runs` goes by the driver's name */
	bool runs;   /* a native program sees packets */
	bool sends;  /* it sends what others redirect to it */
	bool strips; /* takes VLAN tags off before XDP sees the frame (ethtool -k: rx-vlan-offload)
		      */
	bool merges; /* frames into larger ones before TC sees them (GRO, LRO) */
	char driver[32];
};
int bwl_netdev_xdp(const char *name, uint32_t ifindex, struct bwl_netdev_xdp *ret,
		   struct bwl_err *e);

/*
 * The MAC of the next hop to addr (AF_INET or AF_INET6) by this device: 6 bytes as they lie in a
 * frame, then 2 of zero; 0 while it is not known, and then it is asked for. -ENETUNREACH: no route
 * by this device.
 */
int bwl_netdev_next_hop(uint32_t ifindex, uint8_t family, const uint8_t *addr, uint64_t *ret_mac,
			struct bwl_err *e);
/*
 * The entry of the next hop to addr, by this device or (0) by any, cannot be pushed out of the
 * neighbour table by others. only_gateway: not where addr is on the link. 0 or -errno.
 */
int bwl_netdev_keep_next_hop(uint32_t ifindex, uint8_t family, const uint8_t *addr,
			     bool only_gateway);
/* By which device the DPU's own packets to addr leave. */
int bwl_netdev_route_dev(uint8_t family, const uint8_t *addr, uint32_t *ret_ifindex,
			 struct bwl_err *e);

#endif
