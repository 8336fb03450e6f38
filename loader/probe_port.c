// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which hooks of a port accept programs: each is tried by attaching a program of two instructions
 * and removing it again. Only the driver's XDP behaviour is queried from the kernel, which reports
 * it since 6.3 (lib/net/netdev_xdp.c).
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "probe_port.h"

#define TCX_INGRESS 46

static int try_link(int prog, uint32_t ifindex, int type, uint32_t flags)
{
	LIBBPF_OPTS(bpf_link_create_opts, o, .flags = flags);
	int fd, err;

	if (prog < 0)
		return errno;
	fd = bpf_link_create(prog, (int)ifindex, (enum bpf_attach_type)type, &o);
	err = errno;
	if (fd < 0)
		return err;
	close(fd);
	return 0;
}

/*
 * A successful link is not enough: some drivers accept a program and never run it (netdevsim); the
 * result is ENOEXEC then. No packet is sent to find out: on a device in use somebody would receive
 * it. Some drivers report what they can send only while a program is attached (veth, mlx5): so that
 * is queried during the link.
 */
static int try_native(const struct bwl_netdev *d, int prog, bool *ret_sends)
{
	LIBBPF_OPTS(bpf_link_create_opts, o, .flags = XDP_FLAGS_DRV_MODE);
	struct bwl_netdev_xdp x = { .runs = true };
	int fd = bpf_link_create(prog, (int)d->ifindex, BPF_XDP, &o), err = fd < 0 ? errno : 0;

	if (bwl_netdev_xdp(d->name, d->ifindex, &x, NULL))
		x.told = false;
	if (fd >= 0)
		close(fd);
	*ret_sends = x.told && x.sends;
	return !x.runs ? ENOEXEC : err;
}

void probe_hooks_begin(const struct bwl_netdev *d, struct probe_hooks *ret)
{
	/*
	 * The program returns 2: XDP_PASS, and for TC a drop. A packet that meets it while it is
	 * attached is lost, not let through.
	 */
	ret->tc = probe_trivial(BPF_PROG_TYPE_SCHED_CLS, 0);
	ret->xdp = probe_trivial(BPF_PROG_TYPE_XDP, 0);
	ret->frags = probe_trivial(BPF_PROG_TYPE_XDP, BPF_F_XDP_HAS_FRAGS);
	ret->native = try_native(d, ret->xdp, &ret->sends);
}

void probe_hooks_end(struct probe_hooks *h)
{
	if (h->tc >= 0)
		close(h->tc);
	if (h->xdp >= 0)
		close(h->xdp);
	if (h->frags >= 0)
		close(h->frags);
}

static void try_tcx(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	(void)with;
	probe_errno(ret, try_link(p->hooks->tc, p->dev->ifindex, TCX_INGRESS, 0));
}

static void try_clsact(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	struct bpf_tc_hook h = { .sz = sizeof(h),
				 .ifindex = (int)p->dev->ifindex,
				 .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS };
	int r = bpf_tc_hook_create(&h);

	(void)with;
	if (!r)
		bpf_tc_hook_destroy(&h); /* only if we made it */
	probe_errno(ret, r && r != -EEXIST ? -r : 0);
}

static void native(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	(void)with;
	probe_errno(ret, p->hooks->native);
	if (p->hooks->native == ENOEXEC)
		ret->without =
			"its driver accepts native programs but never runs them: only TC enforces";
}

static void sends(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	(void)with;
	probe_errno(ret, p->hooks->native ? p->hooks->native : p->hooks->sends ? 0 : EOPNOTSUPP);
}

static void try_frags(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct probe_hooks *h = p->hooks;

	(void)with;
	probe_errno(ret, h->native == ENOEXEC ? h->native
					      : try_link(h->frags, p->dev->ifindex, BPF_XDP,
							 XDP_FLAGS_DRV_MODE));
}

static void try_generic(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	(void)with;
	probe_errno(ret, try_link(p->hooks->xdp, p->dev->ifindex, BPF_XDP, XDP_FLAGS_SKB_MODE));
}

/* clang-format off */
const struct probe_question probe_port_questions[] = {
	{ "tcx", "tcx with a bpf_link", "clsact filters are used",
	  "boot Linux 6.6 or newer: root on the DPU can remove a filter unnoticed, but not a link", .ask = try_tcx },
	{ "clsact", "clsact", "tcx is used", "modprobe sch_ingress cls_bpf, if there is no tcx", .ask = try_clsact },
	{ "xdp-native", "XDP native", "generic XDP is used",
	  "nothing: TC enforces; for `path: offload`: a driver with native XDP", .ask = native },
	{ "xdp-sends", "XDP sends frames that are redirected to it", "TC carries peers with `path: offload`; as the kernel reports it since Linux 6.3",
	  "nothing; for `path: offload`: Linux 6.3 or newer and a driver that reports it", .ask = sends },
	{ "xdp-multi-buffer", "XDP native, multi-buffer", "jumbo frames or GSO may rule out native XDP",
	  "nothing at an MTU of 1500; with jumbo frames look at `how` in bwlimit-load status", .ask = try_frags },
	{ "xdp-generic", "XDP generic", "only TC enforces",
	  "nothing: XDP only drops early", .ask = try_generic },
	{ 0 }
};
/* clang-format on */
