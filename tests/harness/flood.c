// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bwl-flood DEV SECONDS GATEWAY-MAC "frame words": the kernel itself sends copies of one frame
 * (frame.h) out of DEV as fast as one core can (BPF_PROG_TEST_RUN with live frames, kernel
 * 5.18). DEV's peer must receive redirected frames: GRO on, or an XDP program.
 * Prints "sent N seconds S".
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "flood.skel.h"
#include "frame.h"
#include "marker.h"

#define BATCH 256
#define REPEAT 50000

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static struct frame f;
	struct frame_env env = { .own = { 2, 0, 0, 0, 0, 1 } };
	static struct marker marker;
	struct xdp_md ctx = {};
	struct flood *skel;
	unsigned long long sent = 0;
	double start, seconds;
	char why[160];
	int r = 0;

	if (argc != 5 || frame_parse_mac(argv[3], env.gateway)) {
		fprintf(stderr, "usage: bwl-flood DEV SECONDS GATEWAY-MAC \"frame words\"\n");
		return 2;
	}
	if (marker_from_env(&marker)) {
		fprintf(stderr, "bwl-flood: BWL_MARKER: %d bytes in hex\n", FRAME_MARKER);
		return 2;
	}
	env.marker = marker.on ? marker.byte : NULL;
	if (frame_build(argv[4], &env, &f, why)) {
		fprintf(stderr, "bwl-flood: %s\n", why);
		return 2;
	}
	seconds = atof(argv[2]);
	skel = flood__open();
	if (!skel)
		return 1;
	skel->rodata->flood_ifindex = if_nametoindex(argv[1]);
	ctx.data_end = f.len;
	ctx.ingress_ifindex = skel->rodata->flood_ifindex;
	if (!ctx.ingress_ifindex || flood__load(skel)) {
		fprintf(stderr, "bwl-flood: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	start = now();
	while (!r && now() - start < seconds) {
		LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = f.data, .data_size_in = f.len,
			    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx), .repeat = REPEAT,
			    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = BATCH);

		r = bpf_prog_test_run_opts(bpf_program__fd(skel->progs.flood), &o);
		sent += r ? 0 : REPEAT;
	}
	if (r)
		fprintf(stderr, "bwl-flood: live frames: %s\n", strerror(errno));
	else
		printf("sent %llu seconds %.3f\n", sent, now() - start);
	flood__destroy(skel);
	return r ? 1 : 0;
}
