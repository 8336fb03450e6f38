// SPDX-License-Identifier: GPL-2.0-or-later
/* Policies, the floor, veth pairs with a queue per CPU, and the threads. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <string.h>
#include "bench/scale/scale.h"
#include "bwlimit.skel.h"
#include "e2e_source.skel.h"
#include "floor.skel.h"

/* The groups from first to last, and the destination of their packets. */
static int make_rig(struct scale *b, struct rig *rig, enum group first, enum group last,
		    struct bwl_err *e)
{
	unsigned n = scale_group_size(b), all = (last - first + 1) * n, g;
	struct rig_size size = { .peers = all + 1,
				 .extras = 1024,
				 .windows = all + 16,
				 .programs = RIG_TC_HOST | RIG_XDP_HOST,
				 .records = b->record };
	struct rig_peers some = { .n = n };
	struct bwl_policy *pol;
	size_t elf_size;
	const void *elf = bwlimit__elf_bytes(&elf_size);
	int r = rig_up(rig, elf, elf_size, &size, e);

	if (r)
		return r;
	/* otherwise mark and shape only police */
	rig->pins->dev[RIG_UPLINK_PORT].flags |= BWL_DEV_FQ;
	pol = rig_policy();
	for (g = first; g <= last; g++) {
		some.first = g * n;
		some.kind = scale_groups[g].kind;
		some.mode = scale_groups[g].mode;
		rig_add_peers(pol, &some);
	}
	r = bwl_publish(rig->pins, pol, NULL, NULL, e);
	bwl_policy_free(pol);
	return r;
}

static int load_floor(struct scale *b)
{
	__u64 tat = 0;
	unsigned n = scale_group_size(b), i;
	int fd;

	b->floor = floor__open();
	if (!b->floor)
		return -errno;
	bpf_map__set_max_entries(b->floor->maps.floor_map, n);
	if (floor__load(b->floor))
		return -errno;
	fd = bpf_map__fd(b->floor->maps.floor_map);
	for (i = 0; i < n; i++) {
		__be32 key = htonl(RIG_DEST(0, i));

		if (bpf_map_update_elem(fd, &key, &tat, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* One queue per CPU: veth takes the one with the CPU's number (veth_select_rxq()). */
static int make_devices(struct scale *b)
{
	static const char *const names[] = { "bare", "bwl", "xbare", "off" };
	unsigned queues = (unsigned)libbpf_num_possible_cpus(), i;
	int r = bench_xdp_sink_add(queues);

	for (i = 0; !r && i < sizeof(names) / sizeof(names[0]); i++)
		r = bench_veth_add(names[i], queues);
	for (i = 0; !r && i < b->ncpu; i++) {
		b->src[i] = e2e_source__open_and_load();
		if (!b->src[i])
			return -errno;
		b->src[i]->bss->sink_ifindex = bench_sink_ifindex();
		b->src[i]->bss->xdp_sink_ifindex = bench_xdp_sink_ifindex();
		bench_softirqd_find(&b->softirqd[i], b->cpu[i]);
	}
	return r;
}

static int attach_all(struct scale *b)
{
	int r = bench_attach("bare", bpf_program__fd(b->src[0]->progs.bare_forward),
			     BENCH_TCX_INGRESS, 0);

	b->rig.pins->dev[RIG_UPLINK_PORT].ifindex = bench_sink_ifindex();
	b->rig.pins->ifport[bench_ifindex('r', "bwl")].v = RIG_HOST_PORT + 1;
	b->offload.pins->dev[RIG_UPLINK_PORT].ifindex = bench_xdp_sink_ifindex();
	b->offload.pins->ifport[bench_ifindex('r', "off")].v = RIG_HOST_PORT + 1;
	if (!r)
		r = bench_attach("bwl", rig_prog(&b->rig, "bwl_tc_host"), BENCH_TCX_INGRESS, 0);
	if (!r)
		r = bench_attach("bwl", rig_prog(&b->rig, "bwl_xdp_host"), BPF_XDP,
				 XDP_FLAGS_DRV_MODE);
	if (!r)
		r = bench_attach("xbare", bpf_program__fd(b->src[0]->progs.bare_redirect), BPF_XDP,
				 XDP_FLAGS_DRV_MODE);
	return r ? r
		 : bench_attach("off", rig_prog(&b->offload, "bwl_xdp_host"), BPF_XDP,
				XDP_FLAGS_DRV_MODE);
}

static bool wants_veth(const struct scale *b)
{
	unsigned k;

	for (k = 0; k < KINDS; k++)
		if (b->wanted[k] && scale_is_veth(k))
			return true;
	return false;
}

/* net: a namespace exists already. */
static int hold_xdp(struct scale *b, bool net)
{
	int r = net ? 0 : bench_own_net();

	if (!r)
		r = bench_hold_xdp(bpf_program__fd(b->floor->progs.xdp_nothing));
	return r ? r : bench_hold_xdp(rig_prog(&b->offload, "bwl_xdp_host"));
}

static void without_veth(struct scale *b)
{
	unsigned k;

	for (k = 0; k < KINDS; k++)
		if (scale_is_veth(k))
			b->wanted[k] = false;
}

int scale_up(struct scale *b, struct bwl_err *e)
{
	bool veth = wants_veth(b);
	int net = veth ? bench_net_up() : 0, r; /* before the threads, which run in it */

	r = make_rig(b, &b->rig, POLICE, OFFLOAD - 1, e);
	if (!r)
		r = make_rig(b, &b->offload, OFFLOAD, _GROUP_MAX - 1, e);
	if (r)
		return r;
	r = load_floor(b);
	if (r)
		return bwl_fail(e, -r, "cannot load the floor: %s", strerror(-r));
	if (veth && !net)
		net = make_devices(b);
	if (veth && !net)
		net = attach_all(b);
	if (net) {
		without_veth(b);
		snprintf(b->veth_why, sizeof(b->veth_why),
			 "cannot make multi-queue veth pairs, or attach by tcx and native XDP: %s",
			 strerror(-net));
	}
	if (b->wanted[XDP_TEST_RUN] && (r = hold_xdp(b, veth)))
		return bwl_fail(e, -r, "cannot attach XDP to a veth, in a namespace of its own: %s",
				strerror(-r));
	rig_offload(&b->offload); /* through the uplink that it has now */
	b->crew = crew_up(b->cpu, b->ncpu);
	return b->crew ? 0
		       : bwl_fail(e, errno, "cannot pin a thread to each CPU: %s", strerror(errno));
}

void scale_down(struct scale *b)
{
	unsigned i;

	crew_down(b->crew);
	for (i = 0; i < b->ncpu; i++)
		e2e_source__destroy(b->src[i]);
	floor__destroy(b->floor);
	if (b->rig.obj)
		rig_down(&b->rig);
	if (b->offload.obj)
		rig_down(&b->offload);
}
