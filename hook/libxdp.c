// SPDX-License-Identifier: GPL-2.0-or-later
/* See libxdp.h. The result is read back: libxdp falls back silently. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <xdp/libxdp.h>
#include "hook_tc.h"
#include "libxdp.h"

static char xdp_log[1024];

static int keep_log(enum libxdp_print_level level, const char *fmt, va_list args)
{
	size_t n = strlen(xdp_log);

	if (level != LIBXDP_WARN || n + 1 >= sizeof(xdp_log))
		return 0;
	return vsnprintf(xdp_log + n, sizeof(xdp_log) - n, fmt, args);
}

static void quiet(void)
{
	xdp_log[0] = '\0';
	libxdp_set_print(keep_log);
}

#define FIRST 0 /* run_prio: other programs have 50 unless they set it */

int bwl_libxdp_attach(const struct bwl_hook_at *at, struct bpf_object *obj, bool native, char *why,
		      size_t size, struct bwl_err *e)
{
	DECLARE_LIBXDP_OPTS(xdp_program_opts, o, .obj = obj, .prog_name = at->prog);
	struct xdp_multiprog *mp;
	struct xdp_program *p;
	bool alone;
	int r;

	quiet();
	p = xdp_program__create(&o);
	r = (int)libxdp_get_error(p);
	if (r)
		return bwl_fail(e, -r, "libxdp cannot use the program: %s", strerror(-r));
	xdp_program__set_run_prio(p, FIRST);
	r = xdp_program__attach(p, (int)at->dev->ifindex, native ? XDP_MODE_NATIVE : XDP_MODE_SKB,
				0);
	if (!r && bwl_hook_offer(at, xdp_program__fd(p), e)) { /* libxdp has loaded it only now */
		xdp_program__close(p);
		return -EIO;
	}
	xdp_program__close(p);
	if (r) {
		bwl_fail(e, -r, "%s: libxdp cannot attach: %s\n%s", at->dev->name, strerror(-r),
			 xdp_log);
		return bwl_hint(
			e,
			"bwlimit-load attach --xdp auto, with no other XDP program on the port; or libxdp 1.5.5 and later, where the kernel refuses the dispatcher of this one");
	}
	mp = xdp_multiprog__get_from_ifindex((int)at->dev->ifindex);
	alone = !libxdp_get_error(mp) && xdp_multiprog__is_legacy(mp);
	if (!libxdp_get_error(mp))
		xdp_multiprog__close(mp);
	snprintf(why, size, "--xdp libxdp was given; %s",
		 alone ? "its dispatcher was refused, so no other program can share the port"
		       : "others may share the port");
	return 0;
}

#define DISPATCHER_PROGS 10 /* MAX_DISPATCHER_ACTIONS of xdp-tools */

/*
 * For use without CAP_SYS_ADMIN, which libxdp needs to open programs: reads where libxdp pins what
 * its dispatcher calls, in calling order, in a folder named after the dispatcher's id.
 */
static void query_pins(const struct bwl_hook_at *at, struct bwl_hook_state *ret)
{
	uint32_t dispatcher = ret->foreign_id;
	char path[100];
	unsigned i;
	int fd;

	for (i = 0; !ret->attached && i < DISPATCHER_PROGS; i++) {
		snprintf(path, sizeof(path), "/sys/fs/bpf/xdp/dispatch-%u-%u/prog%u-prog",
			 at->dev->ifindex, dispatcher, i);
		fd = bpf_obj_get(path);
		if (fd < 0)
			return;
		if (bwl_hook_is_ours_fd(at, fd, ret->tag)) {
			ret->attached = true;
			ret->how = BWL_HOW_LIBXDP;
			ret->prog_id = bwl_hook_prog_id(fd);
			ret->first = i == 0;
			if (ret->first)
				ret->foreign_id = 0;
		} else if (i == 0) {
			ret->foreign_id = bwl_hook_prog_id(fd);
		}
		close(fd);
	}
}

int bwl_libxdp_query(const struct bwl_hook_at *at, struct bwl_hook_state *ret, struct bwl_err *e)
{
	struct xdp_multiprog *mp;
	struct xdp_program *p;
	bool first = true;

	(void)e;
	quiet();
	mp = xdp_multiprog__get_from_ifindex((int)at->dev->ifindex);
	if (libxdp_get_error(mp)) { /* only a foreign program: it is already in ret */
		query_pins(at, ret);
		return 0;
	}
	for (p = xdp_multiprog__next_prog(NULL, mp); p; p = xdp_multiprog__next_prog(p, mp)) {
		if (bwl_hook_is_ours_fd(at, xdp_program__fd(p), ret->tag)) {
			ret->attached = true;
			ret->how = BWL_HOW_LIBXDP;
			ret->prog_id = xdp_program__id(p);
			ret->first = first;
			if (first)
				ret->foreign_id = 0;
			break;
		}
		if (first)
			ret->foreign_id = xdp_program__id(p);
		first = false;
	}
	xdp_multiprog__close(mp);
	return 0;
}

static int no_list(const struct bwl_hook_at *at, int err, struct bwl_err *e)
{
	bwl_fail(e, err, "%s: libxdp cannot list programs: %s", at->dev->name, strerror(err));
	return err == EPERM
		       ? bwl_hint(
				 e,
				 "libxdp opens them by id, which needs CAP_SYS_ADMIN: use a root shell")
		       : -err;
}

int bwl_libxdp_detach(const struct bwl_hook_at *at, struct bwl_err *e)
{
	struct xdp_multiprog *mp;
	struct xdp_program *p, *ours = NULL;
	int r;

	quiet();
	mp = xdp_multiprog__get_from_ifindex((int)at->dev->ifindex);
	r = (int)libxdp_get_error(mp);
	if (r)
		return no_list(at, -r, e);
	for (p = xdp_multiprog__next_prog(NULL, mp); p && !ours;
	     p = xdp_multiprog__next_prog(p, mp))
		if (bwl_hook_is_ours_fd(at, xdp_program__fd(p), NULL))
			ours = p;
	r = ours ? xdp_program__detach(ours, (int)at->dev->ifindex, xdp_multiprog__attach_mode(mp),
				       0)
		 : 0;
	xdp_multiprog__close(mp);
	return r ? bwl_fail(e, -r, "%s: libxdp cannot detach: %s", at->dev->name, strerror(-r)) : 0;
}
