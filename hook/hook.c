// SPDX-License-Identifier: GPL-2.0-or-later
/* Attaches and replaces programs. hook_query.c asks the kernel what is attached. */
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "hook.h"
#include "hook_tc.h"
#include "libxdp.h"

static void pin_path(const struct bwl_hook_at *at, char path[BWL_LINK_PATH])
{
	snprintf(path, BWL_LINK_PATH, "%s/links/%s_%s", at->pin_dir, at->prog, at->dev->name);
}

/* Returns our link on this very device, or -1. The link of a device that is gone gets unpinned. */
static int open_link(const struct bwl_hook_at *at, const char *path)
{
	struct bpf_link_info info = {};
	__u32 len = sizeof(info);
	int fd = bpf_obj_get(path);

	if (fd < 0)
		return -1;
	/* xdp.ifindex and tcx.ifindex are the first word of the union both. */
	if (!bpf_obj_get_info_by_fd(fd, &info, &len) && info.xdp.ifindex == at->dev->ifindex)
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

static void fresh_path(const struct bwl_hook_at *at, char path[BWL_LINK_PATH])
{
	snprintf(path, BWL_LINK_PATH, "%s/links/new_%s_%s", at->pin_dir, at->prog, at->dev->name);
}

/* Over an existing pin: both links stay attached until the rename. */
static int pin_link(const struct bwl_hook_at *at, int fd, const char *path, struct bwl_err *e)
{
	char fresh[BWL_LINK_PATH];
	int r, err;

	fresh_path(at, fresh);
	r = bpf_obj_pin(fd, fresh);
	if (!r)
		r = rename(fresh, path);
	err = errno;
	close(fd);
	return r ? bwl_fail(e, err, "cannot pin %s: %s", path, strerror(err)) : 0;
}

/* After a kill between the pin and its rename, the newer link is the valid one. */
static int settle_link(const struct bwl_hook_at *at, const char *path, struct bwl_err *e)
{
	char fresh[BWL_LINK_PATH];

	fresh_path(at, fresh);
	if (!rename(fresh, path) || errno == ENOENT)
		return 0;
	return bwl_fail(e, errno, "cannot rename %s: %s", fresh, strerror(errno));
}

static int update_link(const struct bwl_hook_at *at, int fd, int prog_fd, struct bwl_err *e)
{
	int r = bwl_hook_offer(at, prog_fd, e);

	if (r)
		return r;
	/* No packet passes between the old program and the new one. */
	if (!bpf_link_update(fd, prog_fd, NULL))
		return 0;
	return bwl_fail(e, errno, "%s: cannot replace %s: %s", at->dev->name, at->prog,
			strerror(errno));
}

/* Attaches in front of all other programs. */
static int tcx_attach(const struct bwl_hook_at *at, int prog_fd)
{
	int type = at->hook == BWL_HOOK_INGRESS ? BWL_TCX_INGRESS : BWL_TCX_EGRESS;

	return link_create(prog_fd, at->dev->ifindex, type, BWL_F_BEFORE);
}

static int clsact_attach(const struct bwl_hook_at *at, int prog_fd, struct bwl_err *e)
{
	LIBBPF_OPTS(bpf_tc_opts, o, .handle = BWL_CLSACT_HANDLE, .priority = BWL_CLSACT_PRIORITY,
		    .prog_fd = prog_fd, .flags = BPF_TC_F_REPLACE);
	struct bpf_tc_hook h = bwl_clsact_of(at);
	int r = bpf_tc_hook_create(&h);

	if (!r || r == -EEXIST)
		r = bpf_tc_attach(&h, &o);
	if (!r)
		return 0;
	bwl_fail(e, -r, "%s: cannot attach a clsact filter: %s", at->dev->name, strerror(-r));
	return bwl_hint(e, "remove the foreign filter of priority %d: tc filter show dev %s %s",
			BWL_CLSACT_PRIORITY, at->dev->name,
			at->hook == BWL_HOOK_INGRESS ? "ingress" : "egress");
}

static int clsact_detach(const struct bwl_hook_at *at, struct bwl_err *e)
{
	LIBBPF_OPTS(bpf_tc_opts, o, .handle = BWL_CLSACT_HANDLE, .priority = BWL_CLSACT_PRIORITY);
	struct bpf_tc_hook h = bwl_clsact_of(at);
	int r;

	if (!bwl_clsact_ours(at, NULL))
		return 0;
	r = bpf_tc_detach(&h, &o);
	return r ? bwl_fail(e, -r, "%s: cannot detach the filter: %s", at->dev->name, strerror(-r))
		 : 0;
}

/* Detaches at once: dropping the last reference alone would take some time. */
static int drop_link(const char *path, struct bwl_err *e)
{
	int fd = bpf_obj_get(path);

	if (fd >= 0) {
		bpf_link_detach(fd); /* refused if the device is gone: nothing to do then */
		close(fd);
	}
	if (unlink(path) && errno != ENOENT)
		return bwl_fail(e, errno, "cannot remove %s: %s", path, strerror(errno));
	return 0;
}

static bool is_first(const struct bwl_hook_at *at, int link_fd)
{
	int type = at->hook == BWL_HOOK_INGRESS ? BWL_TCX_INGRESS : BWL_TCX_EGRESS;
	uint32_t ids[64] = { 0 }, flags = 0, n = 64;
	struct bpf_link_info info = {};
	__u32 len = sizeof(info);

	return !bpf_obj_get_info_by_fd(link_fd, &info, &len) &&
	       !bpf_prog_query((int)at->dev->ifindex, (enum bpf_attach_type)type, 0, &flags, ids,
			       &n) &&
	       n > 0 && ids[0] == info.prog_id;
}

static int tc_attach(const struct bwl_hook_at *at, const struct bwl_hook_want *w, char *why,
		     struct bwl_err *e)
{
	struct bwl_hook_at by_name = *at;
	char path[BWL_LINK_PATH];
	bool filter;
	int fd, r;

	by_name.ctl_id = 0; /* a filter of an older set of maps is ours, too, and is replaced */
	filter = bwl_clsact_ours(&by_name, NULL);
	pin_path(at, path);
	r = settle_link(at, path, e);
	if (r)
		return r;
	fd = open_link(at, path);
	if (fd >= 0 && w->tc != BWL_TC_CLSACT) {
		r = is_first(at, fd) ? update_link(at, fd, w->prog_fd, e) : 2;
		close(fd);
		if (r != 2)
			return r ? r : 1;
		r = bwl_hook_offer(at, w->prog_fd, e);
		if (r)
			return r;
		fd = tcx_attach(at, w->prog_fd);
		if (fd < 0)
			return bwl_fail(e, errno, "%s: cannot move %s to the front: %s",
					at->dev->name, at->prog, strerror(errno));
		return pin_link(at, fd, path, e);
	}
	if (fd >= 0)
		close(fd);
	r = bwl_hook_offer(at, w->prog_fd, e);
	if (r)
		return r;
	if (w->tc == BWL_TC_TCX || (w->tc == BWL_TC_AUTO && !filter)) {
		fd = tcx_attach(at, w->prog_fd);
		if (fd >= 0) {
			r = pin_link(at, fd, path, e);
			return r ? r : clsact_detach(&by_name, e);
		}
		if (w->tc == BWL_TC_TCX)
			return bwl_fail(e, errno, "%s: the kernel refuses tcx: %s", at->dev->name,
					strerror(errno));
		snprintf(why, BWL_WHY_LEN, "tcx was refused: %s", strerror(errno));
	} else if (w->tc == BWL_TC_CLSACT) {
		snprintf(why, BWL_WHY_LEN, "--tc clsact was given");
	}
	r = clsact_attach(at, w->prog_fd, e);
	if (!r)
		r = drop_link(path, e);
	return r ? r : !*why;
}

static int xdp_generic(const struct bwl_hook_at *at, const struct bwl_hook_want *w, int *ret_fd,
		       struct bwl_err *e)
{
	int prog = w->generic(w->arg, at->prog, e), r;

	if (prog < 0)
		return prog;
	r = bwl_hook_offer(at, prog, e);
	if (r)
		return r;
	*ret_fd = link_create(prog, at->dev->ifindex, BPF_XDP, XDP_FLAGS_SKB_MODE);
	return 0;
}

static int xdp_create(const struct bwl_hook_at *at, const struct bwl_hook_want *w, const char *path,
		      char *why, struct bwl_err *e)
{
	int fd = -1, err = 0, r;

	if (w->xdp == BWL_XDP_GENERIC) {
		snprintf(why, BWL_WHY_LEN, "--xdp generic was given");
	} else {
		r = bwl_hook_offer(at, w->prog_fd, e);
		if (r)
			return r;
		fd = link_create(w->prog_fd, at->dev->ifindex, BPF_XDP, XDP_FLAGS_DRV_MODE);
		err = errno;
		if (fd < 0)
			snprintf(why, BWL_WHY_LEN, "native XDP was refused: %s", strerror(err));
	}
	if (fd < 0 && w->xdp != BWL_XDP_NATIVE) {
		r = xdp_generic(at, w, &fd, e);
		err = errno;
		if (r)
			return r;
	}
	if (fd >= 0)
		return pin_link(at, fd, path, e);
	bwl_fail(e, err, "%s: cannot attach XDP: %s", at->dev->name, strerror(err));
	return bwl_hint(
		e,
		"another XDP program may be attached: ip link show %s; with --xdp none TC still enforces everything",
		at->dev->name);
}

static bool is_generic(const struct bwl_hook_at *at)
{
	struct bwl_hook_state s;

	return !bwl_hook_query(at, &s, NULL) && s.attached && !strcmp(s.how, BWL_HOW_GENERIC);
}

/*
 * Replacing its program keeps a link's mode; another mode needs another link. Returns 1 in that
 * case.
 */
static int xdp_update(const struct bwl_hook_at *at, const struct bwl_hook_want *w, int link_fd,
		      struct bwl_err *e)
{
	struct bwl_hook_at by_name = *at;
	int prog = w->prog_fd;
	bool generic;

	by_name.ctl_id = 0;
	generic = is_generic(&by_name);
	if (w->xdp == BWL_XDP_NONE || w->xdp == BWL_XDP_LIBXDP ||
	    (w->xdp == BWL_XDP_NATIVE && generic) || (w->xdp == BWL_XDP_GENERIC && !generic))
		return 1;
	if (generic)
		prog = w->generic(w->arg, at->prog, e);
	return prog < 0 ? prog : update_link(at, link_fd, prog, e);
}

static int xdp_attach(const struct bwl_hook_at *at, const struct bwl_hook_want *w, char *why,
		      struct bwl_err *e)
{
	struct bwl_hook_at by_name = *at;
	enum bwl_xdp_way way = w->xdp;
	struct bwl_hook_state s;
	char path[BWL_LINK_PATH];
	int fd, r;

	by_name.ctl_id = 0;
	pin_path(at, path);
	r = settle_link(at, path, e);
	if (r)
		return r;
	fd = open_link(at, path);
	if (fd >= 0) {
		r = xdp_update(at, w, fd, e);
		close(fd);
		if (r <= 0)
			return r ? r : 1;
	}
	r = bwl_hook_query(way == BWL_XDP_NONE ? at : &by_name, &s, e);
	if (r)
		return r;
	if (way == BWL_XDP_KEEP && !s.attached)
		return 1;
	if (s.attached && !s.link_id && (way == BWL_XDP_AUTO || way == BWL_XDP_KEEP))
		way = BWL_XDP_LIBXDP; /* it has no link, so libxdp attached it */
	/* XDP only drops early: without it TC enforces alone. */
	r = bwl_hook_detach(way == BWL_XDP_NONE ? at : &by_name, e);
	if (r || way == BWL_XDP_NONE)
		return r;
	if (way == BWL_XDP_LIBXDP)
		return w->libxdp(at, w->arg, why, BWL_WHY_LEN, e);
	return xdp_create(at, w, path, why, e);
}

/*
 * While nothing else changes the hook: of the two pins for its program, keeps the one that is
 * attached.
 */
static int settle_prog(const struct bwl_hook_at *at, struct bwl_err *e)
{
	char fresh[BWL_LINK_PATH], path[BWL_LINK_PATH];
	struct bwl_hook_at by_name = *at;
	struct bwl_hook_state s;
	uint32_t id;
	int fd, r;

	bwl_hook_prog_path(at, "", path);
	bwl_hook_prog_path(at, BWL_HOOK_NEW, fresh);
	fd = bpf_obj_get(fresh);
	if (fd < 0)
		return 0;
	id = bwl_hook_prog_id(fd);
	close(fd);
	by_name.ctl_id = 0;
	r = bwl_hook_query(&by_name, &s, e);
	if (r)
		return r;
	if (s.prog_id == id ? !rename(fresh, path) : !unlink(fresh))
		return 0;
	return bwl_fail(e, errno, "cannot rename %s: %s", fresh, strerror(errno));
}

int bwl_hook_attach(const struct bwl_hook_at *at, const struct bwl_hook_want *w, char *why,
		    struct bwl_err *e)
{
	int r = settle_prog(at, e), settled;

	why[0] = '\0';
	if (r)
		return r;
	r = at->hook == BWL_HOOK_XDP ? xdp_attach(at, w, why, e) : tc_attach(at, w, why, e);
	settled = settle_prog(at, r < 0 ? NULL : e);
	return settled && r >= 0 ? settled : r;
}

/* By netlink: libxdp left the program alone there, without its dispatcher and without a link. */
static int xdp_detach(const struct bwl_hook_at *at, const struct bwl_hook_state *s,
		      struct bwl_err *e)
{
	int fd = bwl_hook_open_prog(at, s->prog_id), r;
	LIBBPF_OPTS(bpf_xdp_attach_opts, o, .old_prog_fd = fd);

	r = bpf_xdp_detach((int)at->dev->ifindex,
			   !strcmp(s->how, BWL_HOW_GENERIC) ? XDP_FLAGS_SKB_MODE
							    : XDP_FLAGS_DRV_MODE,
			   fd < 0 ? NULL : &o);
	if (fd >= 0)
		close(fd);
	return r ? bwl_fail(e, -r, "%s: cannot detach XDP: %s", at->dev->name, strerror(-r)) : 0;
}

int bwl_hook_detach(const struct bwl_hook_at *at, struct bwl_err *e)
{
	char path[BWL_LINK_PATH];
	struct bwl_hook_state s;
	int r;

	pin_path(at, path);
	r = settle_link(at, path, e);
	if (!r)
		r = drop_link(path, e);
	if (r)
		return r;
	if (at->hook != BWL_HOOK_XDP) {
		r = clsact_detach(at, e);
	} else {
		r = bwl_hook_query(at, &s, e);
		if (!r && s.attached)
			r = strcmp(s.how, BWL_HOW_LIBXDP) ? xdp_detach(at, &s, e)
							  : bwl_libxdp_detach(at, e);
	}
	return r ? r : bwl_hook_drop_progs(at, e);
}
