/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A network namespace of this process's own, with veth pairs and a device that swallows all, or
 * two: frames go in at s-NAME, what is measured hangs at r-NAME and forwards to a sink.
 */
#ifndef BWL_BENCH_VETH_H
#define BWL_BENCH_VETH_H

#include <linux/bpf.h>
#include "bench/cpu.h"

#define BENCH_SINK "sink"
#define BENCH_XDP_SINK "xsink" /* s-xsink takes frames of XDP, r-xsink drops them */
#define BENCH_TCX_INGRESS ((enum bpf_attach_type)46) /* kernel 6.6; older headers lack it */
#define BENCH_LIVE_BATCH 64                          /* frames sent at once: one poll of NAPI */

const char *bench_sink_kind(void);
/* A namespace alone; bench_net_up() makes it too. */
int bench_own_net(void);
/*
 * Attaches an XDP program to a device without frames, in a namespace of its own. A test run of a
 * program that is attached nowhere writes the kernel's dispatcher of XDP programs before and after
 * (bpf_prog_change_xdp(): code is patched, and it waits for RCU), which costs what thousands of
 * packets do, and threads do not begin at the same time.
 */
int bench_hold_xdp(int prog);
/* Namespace and sink; threads made later are in it as well. 0 or negative errno. */
int bench_net_up(void);
/* A pair s-NAME, r-NAME with so many queues; GRO on: NAPI receives what is redirected to it. */
int bench_veth_add(const char *name, unsigned queues);
unsigned bench_ifindex(char end, const char *name); /* end: 's' or 'r' */
unsigned bench_sink_ifindex(void);
/* A sink for XDP_REDIRECT: a veth whose far end counts and drops in native XDP. */
int bench_xdp_sink_add(unsigned queues);
unsigned bench_xdp_sink_ifindex(void);
/* By tcx, or XDP; until the process ends. flags: XDP_FLAGS_*. 0 or negative errno. */
int bench_attach(const char *name, int prog, enum bpf_attach_type type, unsigned flags);

/* Frames that r-NAME's NAPI took out of its rings; that the sinks swallowed. */
unsigned long long bench_received(const char *name);
unsigned long long bench_swallowed(void);
/* NULL: that the sinks swallowed; else what r-NAME received, where it is to end there. */
unsigned long long bench_arrived(const char *name);
/* Until there are so many, as long as more come: a receiver may be a little behind. */
unsigned long long bench_wait_arrived(const char *name, unsigned long long want);

/*
 * Live frames (BPF_F_TEST_XDP_LIVE_FRAMES) from this thread; ret_ns: its CPU time, all packets
 * together, in which the receiver's NAPI runs as well. What ksoftirqd took over is to be added.
 */
int bench_live_frames(int prog, void *frame, unsigned size, unsigned packets, double *ret_ns);

#endif
