/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs and their maps without a device: loaded, pinned in a folder of their own, and
 * opened as the tools open them. Benchmarks and tests by BPF_PROG_TEST_RUN stand on it: a test
 * run's frame comes from the loopback device, which is therefore the host port.
 */
#ifndef BWL_BENCH_RIG_H
#define BWL_BENCH_RIG_H

#include <bpf/libbpf.h>
#include <bwl/publish.h>

#define RIG_HOST_PORT 0 /* port ids */
#define RIG_UPLINK_PORT 1
#define RIG_HOST_DEV "lo"
#define RIG_UPLINK_DEV "up0" /* in the maps only: a test run sends nothing */

struct rig {
	struct bpf_object *obj;
	struct bwl_pins *pins;
	char dir[96];
};

/* The programs that are loaded, of which each takes the verifier a while; the maps all are. */
enum rig_programs { RIG_TC_HOST = 1 << 0, RIG_XDP_HOST = 1 << 1 };
struct rig_size {
	__u32 peers, extras, windows;
	unsigned programs;
};

/* elf: a BPF object of bpf/. The folder is unique to this process; rig_down() removes it. */
int rig_up(struct rig *r, const void *elf, size_t elf_size, const struct rig_size *n,
	   struct bwl_err *e);
void rig_down(struct rig *r);
int rig_prog(const struct rig *r, const char *name);
/* Ports lo and up0, every source, no heartbeat, unlimited node. */
struct bwl_policy *rig_policy(void);
#define RIG_FIRST_DEST 0x0a000000U /* peer i: 10.0.0.0 + i */
#define RIG_FRAME_BYTES 128
enum rig_peers { RIG_CLASS = 1 << 0, RIG_VOLUME = 1 << 1 };
/* So many peers in a zone; every limit exists and is far away. */
void rig_add_peers(struct bwl_policy *p, unsigned n, unsigned what);
/* RoCEv2 to peer number dest. */
void rig_frame(__u8 f[RIG_FRAME_BYTES], unsigned dest);
void rig_die(const struct bwl_err *e) __attribute__((noreturn));

#endif
