// SPDX-License-Identifier: GPL-2.0-or-later
/* See veth.h. */
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench/veth/veth.h"
#include "bench_sink.skel.h"

#define WAIT_US 500
#define WAITS 1000 /* without a new frame: ksoftirqd may have to wait long for the CPU */
#define TCX_EGRESS ((enum bpf_attach_type)47)

static struct bench_sink *counters; /* for frames that no device counts */
static bool is_dummy;

static int shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *fmt, ...)
{
	char cmd[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, args);
	va_end(args);
	return system(cmd) ? -EINVAL : 0;
}

/* Without neighbours, like a dummy device. */
static int make_own_sink(void)
{
	int fd;

	if (shell("ip link add " BENCH_SINK " type veth peer name " BENCH_SINK
		  "-end && ip link set " BENCH_SINK "-end up && ip link set " BENCH_SINK
		  " arp off up"))
		return -EINVAL;
	fd = bpf_link_create(bpf_program__fd(counters->progs.swallow), (int)bench_sink_ifindex(),
			     TCX_EGRESS, NULL);
	return fd < 0 ? -errno : 0; /* stays open until the process ends */
}

/* A dummy device does not accept frames from XDP; a veth does if its far end has a program. */
int bench_xdp_sink_add(unsigned queues)
{
	int r = bench_veth_add(BENCH_XDP_SINK, queues);

	return r ? r
		 : bench_attach(BENCH_XDP_SINK, bpf_program__fd(counters->progs.xdp_swallow),
				BPF_XDP, XDP_FLAGS_DRV_MODE);
}

unsigned bench_xdp_sink_ifindex(void)
{
	return bench_ifindex('s', BENCH_XDP_SINK);
}

static unsigned long long counted(void)
{
	int n = libbpf_num_possible_cpus(), i;
	__u64 each[n], sum = 0;
	__u32 zero = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(counters->maps.swallowed), &zero, each))
		return 0;
	for (i = 0; i < n; i++)
		sum += each[i];
	return sum;
}

int bench_own_net(void)
{
	if (unshare(CLONE_NEWNET))
		return -errno;
	return shell(/* no other frames */
		     "sysctl -q -w net.ipv6.conf.default.disable_ipv6=1 net.ipv6.conf.all.disable_ipv6=1");
}

int bench_net_up(void)
{
	int r = bench_own_net();

	if (r)
		return r;
	counters = bench_sink__open_and_load();
	if (!counters)
		return -errno;
	is_dummy = !shell("ip link add " BENCH_SINK
			  " type dummy 2>/dev/null && ip link set " BENCH_SINK " up");
	return is_dummy ? 0 : make_own_sink();
}

const char *bench_sink_kind(void)
{
	return is_dummy ? "a dummy device"
			: "a veth that drops at its egress (this kernel has no dummy device)";
}

int bench_veth_add(const char *name, unsigned queues)
{
	return shell(
		"ip link add s-%s numtxqueues %u numrxqueues %u type veth peer name r-%s numtxqueues %u numrxqueues %u && ethtool -K r-%s gro on && ip link set s-%s up && ip link set r-%s up",
		name, queues, queues, name, queues, queues, name, name, name);
}

unsigned bench_ifindex(char end, const char *name)
{
	char dev[IF_NAMESIZE];

	snprintf(dev, sizeof(dev), "%c-%s", end, name);
	return if_nametoindex(dev);
}

unsigned bench_sink_ifindex(void)
{
	return if_nametoindex(BENCH_SINK);
}

int bench_attach(const char *name, int prog, enum bpf_attach_type type, unsigned flags)
{
	LIBBPF_OPTS(bpf_link_create_opts, o, .flags = flags);
	int fd = bpf_link_create(prog, (int)bench_ifindex('r', name), type, flags ? &o : NULL);

	return fd < 0 ? -errno : 0;
}

int bench_hold_xdp(int prog)
{
	LIBBPF_OPTS(bpf_link_create_opts, o, .flags = XDP_FLAGS_DRV_MODE);
	static unsigned serial;
	char dev[IF_NAMESIZE];
	int fd;

	snprintf(dev, sizeof(dev), "hold-%u", serial++);
	if (shell("ip link add %s type veth peer name %s-end", dev, dev))
		return -EINVAL;
	fd = bpf_link_create(prog, (int)if_nametoindex(dev), BPF_XDP, &o);
	return fd < 0 ? -errno : 0;
}

/* Columns of /proc/net/dev: 0: bytes, 1: packets received; 8: bytes, 9: packets sent. */
static unsigned long long dev_column(const char *dev, int column)
{
	unsigned long long n = 0;
	char line[512], want[32], *at;
	FILE *f = fopen("/proc/net/dev", "re");

	snprintf(want, sizeof(want), "%s:", dev);
	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, want);
		if (!at)
			continue;
		for (at += strlen(want); column >= 0; column--)
			n = strtoull(at, &at, 10);
		break;
	}
	if (f)
		fclose(f);
	return n;
}

unsigned long long bench_received(const char *name)
{
	char dev[IF_NAMESIZE];

	snprintf(dev, sizeof(dev), "r-%s", name);
	return dev_column(dev, 1);
}

unsigned long long bench_swallowed(void)
{
	return counted() + (is_dummy ? dev_column(BENCH_SINK, 9) : 0);
}

unsigned long long bench_arrived(const char *name)
{
	return name ? bench_received(name) : bench_swallowed();
}

unsigned long long bench_wait_arrived(const char *name, unsigned long long want)
{
	unsigned long long now = bench_arrived(name), was = now;
	int i;

	for (i = 0; now < want && i < WAITS; i++) {
		usleep(WAIT_US);
		now = bench_arrived(name);
		if (now != was)
			i = 0;
		was = now;
	}
	return now;
}

int bench_live_frames(int prog, void *frame, unsigned size, unsigned packets, double *ret_ns)
{
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = frame, .data_size_in = size,
		    .repeat = (int)packets, .flags = BPF_F_TEST_XDP_LIVE_FRAMES,
		    .batch_size = BENCH_LIVE_BATCH);
	double begin = bench_thread_ns();

	if (bpf_prog_test_run_opts(prog, &o))
		return -errno;
	*ret_ns = bench_thread_ns() - begin;
	return 0;
}
