/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A policy as the data plane reads it. User space writes, BPF reads.
 *
 * Each generation (slot 0 or 1) has its own inner maps, reached through arrays of maps:
 *   bwl_dst4_v1, bwl_dst6_v1   HASH  exact destination -> peer id
 *   bwl_lpm4_v1, bwl_lpm6_v1   LPM   destination prefix -> peer id, when the hash has none
 *   bwl_own_v1                 LPM   owner of an address: host source prefix -> host port (for
 *                                    return traffic), a peer's DPU -> BWL_OWN_REMOTE | peer id
 *   bwl_base_v1                ARRAY[1] of struct bwl_base
 *   bwl_peer_v1                ARRAY of struct bwl_peer, indexed by bwl_peer_ref.body
 *   bwl_sub_v1                 ARRAY of struct bwl_limit: tenants, classes, volumes of accept,
 *                                    portions, floors; 0 is unused
 * An edit of one peer writes a spare entry of bwl_peer_v1 and flips bwl_gate_v1[id].body[].
 */
#ifndef BWL_MAPS_POLICY_H
#define BWL_MAPS_POLICY_H

#include <linux/bpf.h>
#include "limit.h"

enum bwl_peer_flags {
	BWL_PEER_GRANT = 1 << 0,         /* has a grant (live, lapsed or revoked) */
	BWL_PEER_ACCEPT = 1 << 1,        /* may send to us, within accept */
	BWL_PEER_CONTAINED = 1 << 2,     /* not an exit; data for `exfil` only */
	BWL_PEER_ACCEPT_VOLUME = 1 << 3, /* what it sends to us has a volume: bwl_accept_sub() */
	/* its zone is shared by weight, and it has a portion of that: bwl_portion_sub() */
	BWL_PEER_PORTION = 1 << 4,
};

struct bwl_peer_meta {
	__u64 expiry_ns; /* grant ends; BWL_NEVER_NS */
	__u64 from;      /* bit per host port (port id) that may use the peer */
	__u32 grant_seq; /* of bwl_ctl.seq; see bwl_is_revoked_by() */
	__u32 sub_base;  /* first of this peer's class limits in bwl_sub_v1 */
	/* classes with a limit, in order from sub_base; BWL_HAS_TENANTS: tenants, before it */
	__u16 class_mask;
	__u16 nexthop; /* index into bwl_base.nexthop; 0 none */
	__u8 zone;     /* index into bwl_base.zone; 0 none */
	__u8 mode;     /* enum bwl_mode */
	__u8 path;     /* enum bwl_path */
	__u8 flags;    /* enum bwl_peer_flags */
};
BWL_ASSERT_SIZE(struct bwl_peer_meta, 32);

/*
 * Set if the peer has tenants: host ports with their own limit to it. In the word of the class
 * bits, so that one test covers a peer with neither.
 */
#define BWL_HAS_TENANTS (1U << 15)
_Static_assert(_BWL_CLASS_MAX <= 15, "a bit is left for the tenants");

/* bwl_sub_v1[sub_base - 1]: not a limit, so its `state` is 0. */
struct bwl_tenants {
	__u64 ports; /* bit per host port (port id) with a limit, in order from sub_base - 2 down */
	__u64 _pad[7];
};
BWL_ASSERT_SIZE(struct bwl_tenants, sizeof(struct bwl_limit));

/* The number of bits that are set. */
static inline __attribute__((always_inline)) __u32 bwl_bits(__u64 x)
{
	x -= x >> 1 & 0x5555555555555555ULL;
	x = (x & 0x3333333333333333ULL) + (x >> 2 & 0x3333333333333333ULL);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (x * 0x0101010101010101ULL) >> 56;
}

/* Index of the limit of a port that has one. */
static inline __attribute__((always_inline)) __u32 bwl_tenant_index(const struct bwl_tenants *t,
								    __u32 sub_base, __u32 port)
{
	return sub_base - 2 - bwl_bits(t->ports & ((1ULL << (port & (BWL_MAX_PORTS - 1))) - 1));
}

struct bwl_peer {
	struct bwl_peer_meta meta;
	struct bwl_limit grant; /* volume.floor: index of the floor's limit */
	struct bwl_rate accept; /* state: grant's + 1; its volume: bwl_accept_sub() */
};
BWL_ASSERT_SIZE(struct bwl_peer, 128);
BWL_ASSERT_OFFSET(struct bwl_peer, grant, 32);
BWL_ASSERT_OFFSET(struct bwl_peer, accept, 96);

/* Index into bwl_sub_v1 of the first entry after the peer's classes. */
static inline __attribute__((always_inline)) __u32 bwl_behind_classes(const struct bwl_peer_meta *m)
{
	return m->sub_base + bwl_bits(m->class_mask & ~BWL_HAS_TENANTS);
}

/* Accept's volume, if there is one, is that entry; its rate limits nothing. 0: none. */
static inline __attribute__((always_inline)) __u32 bwl_accept_sub(const struct bwl_peer_meta *m)
{
	return m->flags & BWL_PEER_ACCEPT_VOLUME ? bwl_behind_classes(m) : 0;
}

/* The peer's portion of its zone's rate is the next one. 0: none. */
static inline __attribute__((always_inline)) __u32 bwl_portion_sub(const struct bwl_peer_meta *m)
{
	if (!(m->flags & BWL_PEER_PORTION))
		return 0;
	return bwl_behind_classes(m) + !!(m->flags & BWL_PEER_ACCEPT_VOLUME);
}

struct bwl_prefix4 {
	__be32 addr, mask;
}; /* no bit of addr is outside mask */
struct bwl_prefix6 {
	__be32 addr[4], mask[4];
};

enum bwl_port_flags {
	BWL_PORT_HOST = 1 << 0,
	BWL_PORT_UPLINK = 1 << 1,
	BWL_PORT_MAC = 1 << 2,    /* mac[] is enforced */
	BWL_PORT_TUNNEL = 1 << 3, /* the xfrm interface of the encrypted peers */
	/* not a port: belongs to the DPU itself, and no policy has it */
	BWL_PORT_MANAGEMENT = 1 << 4,
};

struct bwl_port {
	struct bwl_limit limit;
	struct bwl_limit neighbour; /* ARP and ND from the host */
	char name[BWL_NAME_LEN];    /* of the device */
	__u8 flags;                 /* enum bwl_port_flags; 0: unused */
	__u8 nvlans, nsrc4, nsrc6;
	__u8 mac[6];
	/* maximum per family of announced neighbours; below BWL_NEIGHBOURS_MIN: that many */
	__u16 neighbours;
	__u16 vlan[BWL_MAX_VLANS];
	struct bwl_prefix4 src4[BWL_MAX_SOURCES];
	struct bwl_prefix6 src6[BWL_MAX_SOURCES];
	__u32 _pad2;
};
BWL_ASSERT_OFFSET(struct bwl_port, src4, 204);

struct bwl_zone {
	struct bwl_limit limit;
	char name[BWL_NAME_LEN]; /* empty: unused */
	__u8 weighted;           /* for user space: its rate is shared by weight */
	__u8 _pad[31];
};
BWL_ASSERT_SIZE(struct bwl_zone, 128);

struct bwl_nexthop {
	__u32 port; /* id of the uplink */
	__u8 has4, has6;
	__u8 mac_head[2]; /* of its MAC: for user space, which keeps it in the neighbour table */
	__be32 via4;
	__be32 via6[4];
	__u8 mac_tail[4]; /* the other four bytes; all six zero: the kernel resolves it */
};
BWL_ASSERT_SIZE(struct bwl_nexthop, 32);
BWL_ASSERT_OFFSET(struct bwl_nexthop, via4, 8);

/* Families without an exact destination: their hash need not be searched. */
enum bwl_only_lpm { BWL_ONLY_LPM4 = 1 << 0, BWL_ONLY_LPM6 = 1 << 1 };

enum bwl_base_flags {
	BWL_BASE_LEDGER = 1 << 0, /* volumes are closed until a ledger has written them */
	BWL_BASE_REJECT = 1 << 1, /* a host is told that its packet may not go (bpf/lib/mtu.h) */
	/*
	 * For user space: each class of each grant has a sub limit, so that it is counted; without
	 * a limit in the policy it limits nothing.
	 */
	BWL_BASE_COUNT_ALL = 1 << 2,
};

struct bwl_base {
	struct bwl_limit node;
	__u64 heartbeat_ns; /* 0: explicitly `none` */
	__u64 lease_ns;     /* the longest possible lease; 0: none is required */
	__u32 min_charge;   /* minimum charge for a frame, in bytes */
	__u32 self_id;      /* peer id of the grant `self`; 0 none */
	__u32 control;      /* bit per enum bwl_control_bit */
	__u32 mtu;          /* smallest uplink MTU: largest L3 packet that may be sent */
	/* mode shape: packets that cannot leave within it are dropped. 0: as below */
	__u32 horizon_ns;
	__u8 has_lpm4, has_lpm6;
	__u8 flags;      /* enum bwl_base_flags */
	__u8 only_lpm;   /* enum bwl_only_lpm */
	__u32 npeers;    /* live peers, for reports */
	__u8 digest[32]; /* SHA-256 of the normalised policy */
	char node_name[BWL_NAME_LEN];
	__u8 proto_class[256];     /* IP protocol -> enum bwl_class */
	__u8 port_class[2][65536]; /* [0] TCP, [1] UDP: port -> enum bwl_class */
	struct bwl_zone zone[BWL_MAX_ZONES];
	struct bwl_port port[BWL_MAX_PORTS];
	struct bwl_nexthop nexthop[BWL_MAX_NEXTHOPS];
};

#define BWL_BASE_FLAGS BPF_F_MMAPABLE /* flags of each generation's bwl_base_v1: see maps.bpf.h */

#define BWL_OWN_REMOTE (1U << 31)

struct bwl_key_lpm4 {
	__u32 prefixlen;
	__be32 addr;
};
struct bwl_key6 {
	__be32 addr[4];
};
struct bwl_key_lpm6 {
	__u32 prefixlen;
	__be32 addr[4];
};
BWL_ASSERT_SIZE(struct bwl_key_lpm4, 8);
BWL_ASSERT_SIZE(struct bwl_key6, 16);
BWL_ASSERT_SIZE(struct bwl_key_lpm6, 20);

/* bwl_gate_v1[id]: user space writes. The index of the peer's body, and whether it is revoked. */
struct bwl_peer_ref {
	__u32 body[BWL_GENERATIONS]; /* bwl_body_of() */
	__u32 revoked;               /* highest revocation number of this peer */
	__u32 _pad;
};
BWL_ASSERT_SIZE(struct bwl_peer_ref, 16);

/*
 * For a slot: the index into that generation's bwl_peer_v1; 0 none. A packet may read it at any
 * time.
 */
static inline __attribute__((always_inline)) __u32 *bwl_body_of(struct bwl_peer_ref *r, __u32 slot)
{
	return &r->body[slot & (BWL_GENERATIONS - 1)];
}
_Static_assert((BWL_GENERATIONS & (BWL_GENERATIONS - 1)) == 0, "a mask finds the slot");

/*
 * The rule of revocation. Grants and revocations take their numbers from one counter (bwl_ctl.seq):
 * a revocation covers every grant with a lower number. number: bwl_peer_ref.revoked, or
 * bwl_ctl.revoked_all; a grant lives while neither revokes it.
 */
static inline __attribute__((always_inline)) _Bool bwl_is_revoked_by(__u32 grant_seq, __u32 number)
{
	return grant_seq <= number;
}

/* bwl_name_v1[id]: user space writes. */
struct bwl_name {
	char name[BWL_NAME_LEN];
};

/*
 * bwl_nameid_v1: user space writes. Finds a name's id without searching all names: one table of 2 *
 * max_peers cells, open addressing, linear probing (lib/tables/nameid.c). A cell is only a hint:
 * bwl_name_v1 says whose the id is. So cells that a killed writer left, or did not write, cost time
 * and never lead to another peer.
 */
struct bwl_nameid {
	__u32 cell[2]; /* peer id; 0 empty */
};
BWL_ASSERT_SIZE(struct bwl_nameid, 8);

/* bwl_extra_v1[i]: user space writes. The owner of extra limit i and its window. */
enum bwl_extra_kind {
	BWL_X_FREE,
	BWL_X_NODE,
	BWL_X_PORT,
	BWL_X_NEIGHBOUR,
	BWL_X_ZONE,
	BWL_X_CLASS,
	BWL_X_FLOOR,
	BWL_X_ACCEPT,
	BWL_X_TENANT,
	BWL_X_PORTION,
	/*
	 * Not a limit: a peer's new name, from before its policy is in force until bwl_name_v1 has
	 * it, so that `revoke` finds it by that name, and the next writer stores it if this one
	 * is killed (bwl_held_v1[0]).
	 */
	BWL_X_RENAMED,
};
struct bwl_extra {
	__u8 kind;  /* enum bwl_extra_kind */
	__u8 class; /* BWL_X_CLASS */
	__u16 _pad;
	__u32 peer;              /* BWL_X_CLASS, _FLOOR, _ACCEPT, _TENANT, _PORTION, _RENAMED: id */
	char name[BWL_NAME_LEN]; /* port or zone; BWL_X_TENANT: port; _RENAMED: peer */
};
BWL_ASSERT_SIZE(struct bwl_extra, 40);

/*
 * bwl_retired_v1: prefix -> id. User space writes and reads. Peers that left the policy revoked, or
 * with a volume on their account: a new name for the same prefix takes over the id and what is
 * spent.
 * closed: a prefix that belonged to a revoked peer, and that nobody was granted since.
 */
struct bwl_key_retired {
	__u8 family, len;
	__u8 closed;
	__u8 _pad;
	__be32 addr[4];
};
BWL_ASSERT_SIZE(struct bwl_key_retired, 20);

/*
 * bwl_given_v1: prefix -> what is owed there. User space writes and reads. A peer that stays, and
 * no longer has the prefix, goes on with its account: what was on it when the prefix was given up
 * is noted here, until somebody has the prefix and counts it (by such a volume, or a zone), or it
 * is over. Who comes to count it there owes it. With a prefix of length 0: of prefixes for which
 * there was no room; every new name owes that. The key's `closed` is 0.
 */
struct bwl_owed {
	__u64 total_bytes;  /* against a total volume: for ever */
	__u64 window_bytes; /* against a windowed one, with what a shorter one has forgotten */
};
#define BWL_OWED_GRANT 0
#define BWL_OWED_ACCEPT 1
#define BWL_OWED_FLOOR 2
#define BWL_OWED_TENANT 3 /* the largest of all host ports */
#define BWL_OWED_CLASS 4  /* and one for each class from here on */
#define BWL_OWED_KINDS 16
_Static_assert(BWL_OWED_CLASS + _BWL_CLASS_MAX <= BWL_OWED_KINDS, "one for each class");
struct bwl_given {
	__u64 until_ns;   /* windowed ones end then */
	__u32 zone_state; /* whose account `zone` is; 0: of several */
	__u32 _pad;
	struct bwl_owed zone;
	struct bwl_owed of[BWL_OWED_KINDS];
};
BWL_ASSERT_SIZE(struct bwl_given, 288);

/* bwl_winown_v1[i]: user space writes. State index whose windowed volume is window i. */
#define BWL_WINDOW_FREE 0U

/* State index of extra limit i. */
#define BWL_EXTRA_STATE(max_peers, i) (2 * (max_peers) + 2 * (i))
/* State indices of a peer's grant and of its accept limit. */
static inline __attribute__((always_inline)) __u32 bwl_grant_state(__u32 id)
{
	return 2 * id;
}
static inline __attribute__((always_inline)) __u32 bwl_accept_state(__u32 id)
{
	return 2 * id + 1;
}
/* The total number of states. */
#define BWL_STATES(max_peers, max_extras) BWL_EXTRA_STATE(max_peers, max_extras)

#endif
