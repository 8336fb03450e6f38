/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attaching, replacing and reading back. */
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "hook.h"

/* Not in the headers of Debian 12 (kernel 6.1); include/uapi/linux/bpf.h of 6.6. */
#define TCX_INGRESS 46
#define TCX_EGRESS 47
#define F_BEFORE (1U << 3) /* with no other program named: in front of all */

#define CLSACT_HANDLE 1
#define CLSACT_PRIORITY 1

static void pin_path(char *buf, size_t size, const char *dir, const char *prog, const char *dev)
{
	snprintf(buf, size, "%s/links/%s_%s", dir, prog, dev);
}

/* Our link on this very device, or -1. A link whose device went away is unpinned. */
static int open_link(const char *path, uint32_t ifindex)
{
	struct bpf_link_info info = {};
	__u32 len = sizeof(info);
	int fd = bpf_obj_get(path);

	if (fd < 0)
		return -1;
	/* xdp.ifindex and tcx.ifindex are the first word of the union both. */
	if (!bpf_obj_get_info_by_fd(fd, &info, &len) && info.xdp.ifindex == ifindex)
		return fd;
	close(fd);
	unlink(path);
	return -1;
}

static int link_create(int prog_fd, uint32_t ifindex, int type, uint32_t flags)
{
	LIBBPF_OPTS(bpf_link_create_opts, o, .flags = flags);

	return bpf_link_create(prog_fd, (int)ifindex, (enum bpf_attach_type)type, &o);
}

static int pin_link(int fd, const char *path, struct bwl_err *e)
{
	int r = bpf_obj_pin(fd, path), err = errno;

	close(fd);
	return r ? bwl_fail(e, err, "cannot pin %s: %s", path, strerror(err)) : 0;
}

static struct bpf_tc_hook clsact_of(uint32_t ifindex, enum bwl_hook hook)
{
	struct bpf_tc_hook h = { .sz = sizeof(h), .ifindex = (int)ifindex,
				 .attach_point = hook == BWL_HOOK_INGRESS ? BPF_TC_INGRESS : BPF_TC_EGRESS };
	return h;
}

static int clsact_attach(uint32_t ifindex, enum bwl_hook hook, int prog_fd)
{
	LIBBPF_OPTS(bpf_tc_opts, o, .handle = CLSACT_HANDLE, .priority = CLSACT_PRIORITY,
		    .prog_fd = prog_fd, .flags = BPF_TC_F_REPLACE);
	struct bpf_tc_hook h = clsact_of(ifindex, hook);
	int r = bpf_tc_hook_create(&h);

	if (r && r != -EEXIST)
		return r;
	return bpf_tc_attach(&h, &o);
}

static int tc_attach(const char *path, const struct bwl_netdev *d, enum bwl_hook hook, int prog_fd,
		     enum bwl_tc_way way, struct bwl_err *e)
{
	int fd = -1, r, err;

	if (way != BWL_TC_CLSACT) {
		fd = link_create(prog_fd, d->ifindex, hook == BWL_HOOK_INGRESS ? TCX_INGRESS : TCX_EGRESS,
				 F_BEFORE);
		if (fd >= 0)
			return pin_link(fd, path, e);
		err = errno;
		if (way == BWL_TC_TCX)
			return bwl_fail(e, err, "%s: the kernel refuses tcx: %s", d->name, strerror(err));
	}
	r = clsact_attach(d->ifindex, hook, prog_fd);
	if (!r)
		return 0;
	bwl_fail(e, -r, "%s: cannot attach a clsact filter: %s", d->name, strerror(-r));
	return bwl_hint(e, "remove the foreign filter of priority %d: tc filter show dev %s %s",
			CLSACT_PRIORITY, d->name, hook == BWL_HOOK_INGRESS ? "ingress" : "egress");
}

static int xdp_attach(const char *path, const struct bwl_netdev *d, int prog_fd,
		      enum bwl_xdp_way way, struct bwl_err *e)
{
	int fd = -1, err = 0;

	if (way != BWL_XDP_GENERIC) {
		fd = link_create(prog_fd, d->ifindex, BPF_XDP, XDP_FLAGS_DRV_MODE);
		err = errno;
	}
	if (fd < 0 && way != BWL_XDP_NATIVE) {
		if (way == BWL_XDP_AUTO)
			bwl_warn("%s: no native XDP (%s), trying generic", d->name, strerror(err));
		fd = link_create(prog_fd, d->ifindex, BPF_XDP, XDP_FLAGS_SKB_MODE);
		err = errno;
	}
	if (fd >= 0)
		return pin_link(fd, path, e);
	bwl_fail(e, err, "%s: cannot attach XDP: %s", d->name, strerror(err));
	return bwl_hint(e, "another XDP program may be there (ip link show %s); --xdp none goes without, TC still enforces everything",
			d->name);
}

int bwl_hook_attach(const char *pin_dir, const struct bwl_netdev *d, enum bwl_hook hook,
		    int prog_fd, const char *prog_name, enum bwl_tc_way tc, enum bwl_xdp_way xdp,
		    struct bwl_err *e)
{
	char path[300];
	int fd, r, err;

	pin_path(path, sizeof(path), pin_dir, prog_name, d->name);
	fd = open_link(path, d->ifindex);
	if (fd >= 0) {	/* in place: no packet passes between old and new */
		r = bpf_link_update(fd, prog_fd, NULL);
		err = errno;
		close(fd);
		return r ? bwl_fail(e, err, "%s: cannot replace %s: %s", d->name, prog_name, strerror(err)) : 0;
	}
	if (hook != BWL_HOOK_XDP)
		return tc_attach(path, d, hook, prog_fd, tc, e);
	return xdp == BWL_XDP_NONE ? 0 : xdp_attach(path, d, prog_fd, xdp, e);
}

static bool is_ours(uint32_t prog_id, const char *name, char tag[17])
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(prog_id), i;
	bool ok;

	if (fd < 0)
		return false;
	ok = !bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, name);
	close(fd);
	for (i = 0; tag && i < 8; i++)
		snprintf(tag + 2 * i, 3, "%02x", info.tag[i]);
	return ok;
}

static void query_link(const char *path, uint32_t ifindex, struct bwl_hook_state *ret)
{
	struct bpf_link_info info = {};
	__u32 len = sizeof(info);
	int fd = bpf_obj_get(path);

	if (fd < 0)
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len) && info.xdp.ifindex == ifindex) {
		ret->link_id = info.id;
		ret->prog_id = info.prog_id;
	}
	close(fd);
}

static void query_tc(const struct bwl_netdev *d, enum bwl_hook hook, const char *name,
		     struct bwl_hook_state *ret)
{
	LIBBPF_OPTS(bpf_tc_opts, o, .handle = CLSACT_HANDLE, .priority = CLSACT_PRIORITY);
	uint32_t ids[64] = { 0 }, flags = 0, n = 64, i;
	struct bpf_tc_hook h = clsact_of(d->ifindex, hook);
	int type = hook == BWL_HOOK_INGRESS ? TCX_INGRESS : TCX_EGRESS;
	bool tcx = !bpf_prog_query((int)d->ifindex, (enum bpf_attach_type)type, 0, &flags, ids, &n);

	for (i = 0; tcx && i < n; i++) {
		if (!is_ours(ids[i], name, ret->tag))
			continue;
		ret->attached = true;
		ret->how = "tcx";
		ret->first = i == 0;
		ret->prog_id = ids[i];
		return;
	}
	if (bpf_tc_query(&h, &o) || !is_ours(o.prog_id, name, ret->tag))
		return;
	ret->attached = true;
	ret->how = "clsact";
	ret->first = !tcx || n == 0;	/* tcx programs run before any filter */
	ret->prog_id = o.prog_id;
	ret->link_id = 0;
}

int bwl_hook_query(const char *pin_dir, const struct bwl_netdev *d, enum bwl_hook hook,
		   const char *prog_name, struct bwl_hook_state *ret, struct bwl_err *e)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, o);
	char path[300];
	int r;

	*ret = (struct bwl_hook_state){ .how = "none" };
	pin_path(path, sizeof(path), pin_dir, prog_name, d->name);
	query_link(path, d->ifindex, ret);
	if (hook != BWL_HOOK_XDP) {
		query_tc(d, hook, prog_name, ret);
		return 0;
	}
	r = bpf_xdp_query((int)d->ifindex, 0, &o);
	if (r)
		return bwl_fail(e, -r, "%s: cannot query XDP: %s", d->name, strerror(-r));
	ret->prog_id = o.prog_id ? o.prog_id : o.drv_prog_id ? o.drv_prog_id : o.skb_prog_id;
	ret->attached = ret->prog_id && is_ours(ret->prog_id, prog_name, ret->tag);
	ret->first = ret->attached;
	if (ret->attached)
		ret->how = o.attach_mode == XDP_ATTACHED_SKB ? "xdp generic"
			   : o.attach_mode == XDP_ATTACHED_MULTI ? "xdp native and generic" : "xdp native";
	return 0;
}

int bwl_hook_detach(const char *pin_dir, const struct bwl_netdev *d, enum bwl_hook hook,
		    const char *prog_name, struct bwl_err *e)
{
	LIBBPF_OPTS(bpf_tc_opts, o, .handle = CLSACT_HANDLE, .priority = CLSACT_PRIORITY);
	struct bpf_tc_hook h = clsact_of(d->ifindex, hook);
	struct bwl_hook_state s;
	char path[300];
	int r;

	pin_path(path, sizeof(path), pin_dir, prog_name, d->name);
	if (unlink(path) && errno != ENOENT)
		return bwl_fail(e, errno, "cannot remove %s: %s", path, strerror(errno));
	if (hook == BWL_HOOK_XDP)
		return 0;
	r = bwl_hook_query(pin_dir, d, hook, prog_name, &s, e);
	if (!r && s.attached && !strcmp(s.how, "clsact")) {
		r = bpf_tc_detach(&h, &o);
		if (r)
			r = bwl_fail(e, -r, "%s: cannot detach the filter: %s", d->name, strerror(-r));
	}
	return r;
}
