/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs and their maps without a device: loaded, pinned in a separate directory, and opened
 * as the tools open them. Used by benchmarks and tests with BPF_PROG_TEST_RUN: the frames of a test
 * run come from the loopback device, so that is the host port.
 */
#ifndef BWL_BENCH_RIG_H
#define BWL_BENCH_RIG_H

#include <bpf/libbpf.h>
#include <bwl/publish.h>

#define RIG_HOST_PORT 0 /* port ids */
#define RIG_UPLINK_PORT 1
#define RIG_TIGHT_PORT 2 /* for hosts; no device has it unless ifport is set */
#define RIG_HOST_DEV "lo"
#define RIG_TIGHT_DEV "tight0"
#define RIG_UPLINK_DEV "up0" /* in the maps only: a test run sends nothing */

struct rig {
	struct bpf_object *obj;
	struct bwl_pins *pins;
	char dir[96];
};

/* The programs to load, because each takes the verifier a while; all maps are created. */
enum rig_programs { RIG_TC_HOST = 1 << 0, RIG_XDP_HOST = 1 << 1, RIG_TC_GATE = 1 << 2 };
struct rig_size {
	__u32 peers, extras, windows;
	unsigned programs;
	bool records;  /* flows are recorded, in one interval that does not end */
	bool measures; /* latency is measured, for all peers together */
};

/* elf: a BPF object of bpf/. The directory belongs to this process alone; rig_down() removes it. */
int rig_up(struct rig *r, const void *elf, size_t elf_size, const struct rig_size *n,
	   struct bwl_err *e);
void rig_down(struct rig *r);
int rig_prog(const struct rig *r, const char *name);
/* Frames in a row of bwl_reason_v1 with this reason, of all CPUs. */
unsigned long long rig_frames(const struct rig *r, unsigned row, unsigned reason);
/*
 * As if the tracker of SAs said that a device holds every peer's SA and policy, so that XDP carries
 * packets to peers of RIG_OFFLOAD. Valid for a day. The rig's XDP programs are those for native
 * XDP.
 */
void rig_offload(struct rig *r);

/*
 * Ports lo, up0, and one for hosts with a tight limit; every source, no heartbeat; two zones, one
 * of them tight. A limit that is not tight is never reached; a tight one is 8 kbit/s and one full
 * frame, so that nearly all of a flood is over it.
 */
struct bwl_policy *rig_policy(void);
struct bwl_lim rig_tight(void);
enum rig_peer_kind {
	RIG_CLASS = 1 << 0,      /* also a limit for RoCEv2 */
	RIG_VOLUME = 1 << 1,     /* in a window of one day */
	RIG_TIGHT = 1 << 2,      /* the peer's own limit */
	RIG_TIGHT_ZONE = 1 << 3, /* the zone's */
	RIG_PREFIX4 = 1 << 4,    /* a /24, not one address */
	RIG_PREFIX6 = 1 << 5,    /* a /64 of IPv6 */
	/* its own limit is 1 Gbit/s: a peer that sends all the time is over it */
	RIG_BUSY = 1 << 6,
	/* path offload, not clear: its peers share the addresses of RIG_TUNNELS DPUs */
	RIG_OFFLOAD = 1 << 7,
};
/* One peer per destination, except with path offload. */
struct rig_peers {
	unsigned first, n; /* destinations first to first + n - 1, as numbered by rig_frame() */
	unsigned kind;     /* enum rig_peer_kind */
	__u8 mode;         /* enum bwl_mode */
};
#define RIG_TUNNELS 1000 /* a policy has at most 1023 next hops, and each DPU is one */
void rig_add_peers(struct bwl_policy *p, const struct rig_peers *some);

#define RIG_FRAME_BYTES 128
/* The four bytes of a destination's address that contain its number, as an integer. */
#define RIG_DEST(kind, n)                                                                          \
	((kind)&RIG_PREFIX4   ? 0x0a000001U + ((n) << 8)                                           \
	 : (kind)&RIG_PREFIX6 ? (n)                                                                \
			      : 0x0a000000U + (n))
/* RoCEv2 to that destination; IPv6 if the peer's prefix is IPv6. */
void rig_frame(__u8 f[RIG_FRAME_BYTES], unsigned kind, unsigned dest);
void rig_die(const struct bwl_err *e) __attribute__((noreturn));

#endif
