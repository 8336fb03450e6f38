/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A network namespace of this process, with veth pairs and one or two devices that drop everything:
 * frames go in at s-NAME, the program under test is at r-NAME and forwards to a sink.
 */
#ifndef BWL_BENCH_VETH_H
#define BWL_BENCH_VETH_H

#include <linux/bpf.h>
#include "bench/cpu.h"

#define BENCH_SINK "sink"
#define BENCH_XDP_SINK "xsink" /* s-xsink takes frames from XDP, r-xsink drops them */
#define BENCH_TCX_INGRESS ((enum bpf_attach_type)46) /* kernel 6.6; older headers lack it */
#define BENCH_LIVE_BATCH 64                          /* frames sent at once: one poll of NAPI */

const char *bench_sink_kind(void);
/* Only a namespace; bench_net_up() also makes one. */
int bench_own_net(void);
/*
 * Attaches an XDP program to a device without frames, in a separate namespace. A test run of a
 * program that is attached nowhere updates the kernel's dispatcher of XDP programs before and after
 * (bpf_prog_change_xdp(): code is patched, with a wait for RCU), which costs as much as thousands
 * of packets, and threads do not start at the same time.
 */
int bench_hold_xdp(int prog);
/* Makes namespace and sink; threads created later are in it, too. 0 or negative errno. */
int bench_net_up(void);
/* A pair s-NAME, r-NAME with this many queues; GRO on: NAPI receives what is redirected to it. */
int bench_veth_add(const char *name, unsigned queues);
unsigned bench_ifindex(char end, const char *name); /* end: 's' or 'r' */
unsigned bench_sink_ifindex(void);
/* A sink for XDP_REDIRECT: a veth whose far end counts and drops in native XDP. */
int bench_xdp_sink_add(unsigned queues);
unsigned bench_xdp_sink_ifindex(void);
/* By tcx or XDP, until the process ends. flags: XDP_FLAGS_*. 0 or negative errno. */
int bench_attach(const char *name, int prog, enum bpf_attach_type type, unsigned flags);

/* Frames that r-NAME's NAPI took from its rings; frames that the sinks dropped. */
unsigned long long bench_received(const char *name);
unsigned long long bench_swallowed(void);
/* NULL: frames that the sinks dropped; otherwise what r-NAME received, if frames end there. */
unsigned long long bench_arrived(const char *name);
/* Waits for that many frames, as long as more arrive: a receiver may be slightly behind. */
unsigned long long bench_wait_arrived(const char *name, unsigned long long want);

/*
 * Sends live frames (BPF_F_TEST_XDP_LIVE_FRAMES) from this thread. ret_ns: its CPU time for all
 * packets, including the receiver's NAPI. Add what ksoftirqd took over.
 */
int bench_live_frames(int prog, void *frame, unsigned size, unsigned packets, double *ret_ns);

#endif
