/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every line is the outcome of a real attempt: a map is made, a program of two instructions is
 * loaded and attached, and taken away again. Nothing is concluded from version numbers. Only what a
 * driver does with XDP is asked of the kernel, which says it since 6.3 (lib/net/netdev_xdp.c).
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/doc.h>
#include "probe.h"
#include "../maps/event.h"

#define TCX_INGRESS 46

struct probe {
	json_t *all;
	bool json;
};

/* port NULL: of the kernel. The id stays what it is: docs/json.md. */
static void say(struct probe *p, const char *id, const char *port, const char *what, int err,
		const char *without)
{
	if (p->json)
		json_array_append_new(p->all, json_pack("{s:s, s:s?, s:s, s:b, s:s?, s:s?}", "id",
							id, "port", port, "text", what, "works",
							!err, "error", err ? strerror(err) : NULL,
							"without", err ? without : NULL));
	else if (!err)
		printf("yes  %s%s%s\n", port ? port : "", port ? ": " : "", what);
	else
		printf("no   %s%s%s (%s): %s\n", port ? port : "", port ? ": " : "", what,
		       strerror(err), without);
}

static int try_map(enum bpf_map_type type, uint32_t key, uint32_t value, uint32_t n, uint32_t flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = flags);
	int fd = bpf_map_create(type, "bwl_probe", key, value, n, &o), err = errno;

	if (fd < 0)
		return err;
	close(fd);
	return 0;
}

static int trivial(enum bpf_prog_type type, uint32_t flags)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 2 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o, .prog_flags = flags);

	return bpf_prog_load(type, "bwl_probe", "GPL", insns, 2, &o);
}

/* mov r0,0; stack word = 0; r0 = cmpxchg(word, r0, r0); exit */
static int try_cmpxchg(void)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 10, .src_reg = 0, .off = -8 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW,
		  .dst_reg = 10,
		  .src_reg = 0,
		  .off = -8,
		  .imm = BPF_CMPXCHG },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "bwl_probe", "GPL", insns, 5, NULL),
	    err = errno;

	if (fd < 0)
		return err;
	close(fd);
	return 0;
}

static int try_tc_helper(enum bpf_func_id id)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_SCHED_CLS, id, NULL) == 1 ? 0 : ENOTSUP;
}

bool bwl_kernel_keeps_times(void)
{
	return !try_tc_helper(BPF_FUNC_skb_set_tstamp);
}

static void probe_kernel(struct probe *p)
{
	say(p, "map-mmap", NULL, "arrays mapped into user space",
	    try_map(BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE), "bwlimit does not run");
	say(p, "map-inner-size", NULL, "inner arrays of different size",
	    try_map(BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE | BPF_F_INNER_MAP),
	    "bwlimit does not run");
	say(p, "map-lpm", NULL, "longest-prefix match",
	    try_map(BPF_MAP_TYPE_LPM_TRIE, 8, 4, 1, BPF_F_NO_PREALLOC), "bwlimit does not run");
	/*
	 * As large as the one that is made: a size must be a multiple of the page, which may be 64
	 * KiB.
	 */
	say(p, "map-ringbuf", NULL, "ring buffer",
	    try_map(BPF_MAP_TYPE_RINGBUF, 0, 0, BWL_EVENT_RING_BYTES, 0), "bwlimit does not run");
	say(p, "cmpxchg", NULL, "atomic compare-and-exchange", try_cmpxchg(),
	    "bwlimit does not run");
	say(p, "redirect-neigh", NULL, "bpf_redirect_neigh", try_tc_helper(BPF_FUNC_redirect_neigh),
	    "bwlimit does not run");
	say(p, "ecn-set-ce", NULL, "bpf_skb_ecn_set_ce", try_tc_helper(BPF_FUNC_skb_ecn_set_ce),
	    "bwlimit does not run");
	say(p, "ktime-boot", NULL, "bpf_ktime_get_boot_ns",
	    try_tc_helper(BPF_FUNC_ktime_get_boot_ns), "bwlimit does not run");
	say(p, "departure-times", NULL, "bpf_skb_set_tstamp",
	    try_tc_helper(BPF_FUNC_skb_set_tstamp), "mode shape polices, mode mark drops sooner");
	say(p, "btf", NULL, "BTF of the kernel",
	    access("/sys/kernel/btf/vmlinux", R_OK) ? errno : 0, "bwlimit does not run");
}

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

static int try_clsact(uint32_t ifindex)
{
	struct bpf_tc_hook h = { .sz = sizeof(h),
				 .ifindex = (int)ifindex,
				 .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS };
	int r = bpf_tc_hook_create(&h);

	if (!r)
		bpf_tc_hook_destroy(&h); /* only what was just made */
	return r && r != -EEXIST ? -r : 0;
}

/*
 * A link is not enough: there are drivers that take a program and run none (netdevsim). ENOEXEC
 * then. No packet is sent to find out: on a device in use somebody would receive it. What a driver
 * sends it may say only while a program is attached (veth, mlx5): so it is asked then.
 */
static int try_native(const struct bwl_netdev *d, int prog, int *ret_sends)
{
	LIBBPF_OPTS(bpf_link_create_opts, o, .flags = XDP_FLAGS_DRV_MODE);
	struct bwl_netdev_xdp x = { .runs = true };
	int fd = bpf_link_create(prog, (int)d->ifindex, BPF_XDP, &o), err = fd < 0 ? errno : 0;

	if (bwl_netdev_xdp(d->name, d->ifindex, &x, NULL))
		x.told = false;
	if (fd >= 0)
		close(fd);
	*ret_sends = x.told && x.sends ? 0 : EOPNOTSUPP;
	return !x.runs ? ENOEXEC : err;
}

static void probe_dev(struct probe *p, const struct bwl_netdev *d)
{
	/*
	 * The program returns 2: XDP_PASS, and for TC a drop. A packet that meets it in the moment
	 * that the link lives is lost, not let through.
	 */
	int tc = trivial(BPF_PROG_TYPE_SCHED_CLS, 0), xdp = trivial(BPF_PROG_TYPE_XDP, 0);
	int frags = trivial(BPF_PROG_TYPE_XDP, BPF_F_XDP_HAS_FRAGS), native, sends;
	static const char never[] =
		"its driver takes native programs and never runs them: TC alone enforces";

	say(p, "tcx", d->name, "tcx with a bpf_link", try_link(tc, d->ifindex, TCX_INGRESS, 0),
	    "clsact filters are used");
	say(p, "clsact", d->name, "clsact", try_clsact(d->ifindex), "tcx is used");
	native = try_native(d, xdp, &sends);
	say(p, "xdp-native", d->name, "XDP native", native,
	    native == ENOEXEC ? never : "generic XDP is used");
	say(p, "xdp-sends", d->name, "XDP sends what is redirected to it", native ? native : sends,
	    "TC carries path offload; as the kernel says it (6.3)");
	say(p, "xdp-multi-buffer", d->name, "XDP native, multi-buffer",
	    native == ENOEXEC ? native : try_link(frags, d->ifindex, BPF_XDP, XDP_FLAGS_DRV_MODE),
	    "jumbo frames or GSO may exclude native XDP");
	say(p, "xdp-generic", d->name, "XDP generic",
	    try_link(xdp, d->ifindex, BPF_XDP, XDP_FLAGS_SKB_MODE), "TC alone enforces");
	if (tc >= 0)
		close(tc);
	if (xdp >= 0)
		close(xdp);
	if (frags >= 0)
		close(frags);
}

/* A veth pair in a namespace that ends with this process. */
static int scratch_dev(struct bwl_netdev *ret, struct bwl_err *e)
{
	pid_t pid;
	int status;

	if (unshare(CLONE_NEWNET))
		return bwl_fail(e, errno, "cannot make a namespace to try things in: %s",
				strerror(errno));
	pid = fork();
	if (!pid) {
		execlp("ip", "ip", "link", "add", "bwl-probe0", "type", "veth", "peer", "name",
		       "bwl-probe1", (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		return bwl_fail(
			e, EIO,
			"cannot make a veth pair to try things on (is iproute2 installed?)");
	return bwl_netdev_get("bwl-probe0", ret, e);
}

int bwl_probe(struct bwl_attach *a, struct bwl_err *e)
{
	struct probe p = { .json = a->json, .all = json_array() };
	struct bwl_netdev d;
	json_t *doc;
	unsigned i;
	int r = 0;

	if (!a->nhost && !a->nuplink) {
		r = scratch_dev(&d, e);
		if (!r) {
			probe_kernel(&p);
			probe_dev(&p, &d);
		}
	} else {
		probe_kernel(&p);
	}
	for (i = 0; !r && i < a->nhost + a->nuplink; i++) {
		r = bwl_netdev_get(i < a->nhost ? a->host[i] : a->uplink[i - a->nhost], &d, e);
		if (!r)
			probe_dev(&p, &d);
	}
	if (!r && a->json) {
		doc = bwl_doc("probe");
		json_object_set(doc, "features", p.all);
		bwl_doc_print(doc);
	}
	json_decref(p.all);
	return r;
}
