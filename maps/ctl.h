/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words that every packet reads first. User space writes them; they are mapped, so one store
 * suffices.
 */
#ifndef BWL_MAPS_CTL_H
#define BWL_MAPS_CTL_H

#include "abi.h"

/*
 * CLOSED: from the first attach of these maps until verify is clean; not set by hand. UNJUDGED:
 * until bwlimitd has compared the journal of closures with the TPM; CLOSED_UNJUDGED: until both;
 * STOPPED_UNJUDGED: the journal itself says stop, and may be an old copy.
 */
enum bwl_stop {
	BWL_RUN = 0,
	BWL_STOPPED = 1,
	BWL_UPGRADING = 2,
	BWL_CLOSED = 3,
	BWL_CLOSED_UNJUDGED = 4,
	BWL_UNJUDGED = 5,
	BWL_STOPPED_UNJUDGED = 6,
};

#define BWL_NO_SLOT 0xffffffffU
#define BWL_LOST_SLOT                                                                              \
	0xfffffffeU /* only in `before`: there was one, and its slot is no longer whole */

/*
 * The generation in force, and the only one that passes packets. On trial (policy apply --confirm)
 * its grants end at trial_ns, without any daemon. The other slot keeps the policy before as data,
 * which bwlimitd, or `policy rollback`, then applies again.
 */
struct bwl_sched {
	__u32 slot;     /* generation slot, or BWL_NO_SLOT: no policy */
	__u32 before;   /* on trial: the slot of the policy before; BWL_NO_SLOT: there was none */
	__u64 trial_ns; /* CLOCK_BOOTTIME, the trial's end; BWL_NEVER_NS: not on trial */
};
BWL_ASSERT_SIZE(struct bwl_sched, 16);
#define BWL_SCHEDS 4
#define BWL_CLAMPED_NS 1ULL /* a deadline long gone, which no heartbeat renews: see bwl_clamp() */

/* bwl_ctl_v1[0] */
struct bwl_ctl {
	__u32 stop;   /* enum bwl_stop; checked before anything else */
	__u32 active; /* index into sched[]; an entry is written before it is made active */
	struct bwl_sched sched[BWL_SCHEDS];
	__u64 heartbeat_ns; /* deadline; 0: never renewed. A policy may require none: bwl_base */
	__u32 revoked_all;  /* revocation number for every grant */
	__u32 seq;          /* last sequence number given to a grant or a revocation */
	__u32 tag;          /* this attachment's random skb mark, never 0 */
	__u32 fresh_volume; /* 1: volumes of the first policy start unspent */
	__u64 attached_ns;  /* when these maps were made */
	__u32 generation;   /* counts applied policies */
#define BWL_CTL_HALVES 2    /* halves of a word that held only `drill` up to layout 5 */
	__u16 drill;        /* 1: quickstart or a test made these maps; verify says so */
	/* BPF writes: changes whenever the machine suspends or resumes; wraps */
	__u16 resumes;
	__u32 tunnel; /* ifindex of the tunnel device; 0: none, encrypted peers are closed */
	__u32 edits;  /* counts changes to the policy in force since it was applied */
	__u32 ledger; /* enum bwl_ledger_flags; not 0: new volumes wait for the ledger */
	/*
	 * CLOCK_BOOTTIME: bwl_tunnel_v1 is tracked until then, and a device that carries a peer is
	 * trusted; 0: not tracked
	 */
	__u32 tracked_until_s;
};
BWL_ASSERT_SIZE(struct bwl_ctl, 128);

enum bwl_ledger_flags {
	BWL_LEDGER_CAME = 1 << 0, /* the ledger has written a volume of these maps */
	BWL_LEDGER_TPM = 1 << 1,  /* and is bound to a TPM's counter: an old copy is detected */
	BWL_LEDGER_FULL = 1 << 2, /* it has no room for new names: their volumes stay closed */
};

enum bwl_dev_flags {
	BWL_DEV_PLAIN = 1 << 1, /* the tunnel device: SAs are distinguished by marks (tunnel.h) */
	BWL_DEV_FQ = 1 << 0, /* every uplink keeps departure times: its root is fq, or mq over fq */
	/* a management device that was not named: up, with an address, at attach */
	BWL_DEV_FOUND = 1 << 2,
	BWL_DEV_LOCKED =
		1 << 3, /* the rules by input device (bwl/iif_rules.h) have been set with it */
	BWL_DEV_UNTIMED =
		1 << 4, /* an uplink whose kernel forgets departure times in a redirect (< 5.18) */
	/*
	 * A host port: counts what bwlimit itself does. SHUT, the lowest bit: from before it is set
	 * down until it is up again. So bwlimitd need not guess who set it down.
	 */
	BWL_DEV_SHUT = 1 << 5,
	BWL_DEV_DOINGS = 7 << 5,
};

/*
 * Whether these maps may be widened: docs/fleet.md. Written by load and agent; only new maps have
 * none.
 */
enum bwl_enrolled_flags {
	/* a root of signed documents is enrolled: local tools can only tighten */
	BWL_ENROLLED = 1 << 0,
	BWL_MEMORY_LOST = 1 << 1, /* the memory of accepted documents is gone, or an old copy */
	/* the policy on trial is an emergency's: it cannot be confirmed */
	BWL_GLASS_BROKEN = 1 << 2,
};

/*
 * bwl_lease_v1[0]: bwlimitd writes it and BPF does not read it. The heartbeat is never renewed
 * beyond its end, so it holds with every daemon dead. New maps have none.
 */
struct bwl_lease {
	__u64 until_ns; /* CLOCK_BOOTTIME; 0: never renewed */
	__u64 renewed_ns;
	__u64 acted_ns; /* the lease's end for which the policy's `tamper` was executed */
	__u64 enrolled; /* enum bwl_enrolled_flags */
};
BWL_ASSERT_SIZE(struct bwl_lease, 32);

/* bwl_dev_v1[port id]: the device attached under that port id. User space (loader) writes. */
struct bwl_dev {
	__u32 ifindex; /* 0: unused */
	__u32 mtu;
	__u8 kind; /* enum bwl_port_flags: HOST, UPLINK, TUNNEL or MANAGEMENT */
	__u8 mac[6];
	__u8 flags; /* enum bwl_dev_flags */
	char name[16];
};
BWL_ASSERT_SIZE(struct bwl_dev, 32);

/* bwl_ifport_v1[ifindex] = port id + 1; 0: not ours. User space (loader) writes. */

#endif
