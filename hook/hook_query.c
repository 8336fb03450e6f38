// SPDX-License-Identifier: GPL-2.0-or-later
/* What is attached at a hook, in which order, and whether it is ours. */
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

#define MAX_PROGS 64 /* the kernel's own maximum for one tcx hook */

static uint32_t pinned_link(const struct bwl_hook_at *at)
{
	struct bpf_link_info info;

	return bwl_hook_link_info(at, &info) ? info.id : 0;
}

bool bwl_clsact_ours(const struct bwl_hook_at *at, struct bwl_hook_state *ret)
{
	LIBBPF_OPTS(bpf_tc_opts, o, .handle = BWL_CLSACT_HANDLE, .priority = BWL_CLSACT_PRIORITY);
	struct bpf_tc_hook h = bwl_clsact_of(at);

	if (bpf_tc_query(&h, &o) || !bwl_hook_is_ours(at, o.prog_id, ret ? ret->tag : NULL))
		return false;
	if (ret)
		ret->prog_id = o.prog_id;
	return true;
}

static int query_tc(const struct bwl_hook_at *at, struct bwl_hook_state *ret, struct bwl_err *e)
{
	int type = at->hook == BWL_HOOK_INGRESS ? BWL_TCX_INGRESS : BWL_TCX_EGRESS;
	uint32_t ids[MAX_PROGS] = { 0 }, flags = 0, n = MAX_PROGS, i;
	struct bwl_filter f;
	int r;

	/* Refused if the kernel has no tcx: then nothing runs before the filters. */
	if (bpf_prog_query((int)at->dev->ifindex, (enum bpf_attach_type)type, 0, &flags, ids, &n))
		n = 0;
	for (i = 0; i < n; i++) {
		if (!bwl_hook_is_ours(at, ids[i], ret->tag)) {
			ret->foreign_id = ret->foreign_id ? ret->foreign_id : ids[i];
			continue;
		}
		ret->attached = true;
		ret->how = "tcx";
		ret->first = i == 0;
		ret->prog_id = ids[i];
		ret->link_id = pinned_link(at);
		return 0;
	}
	r = bwl_netdev_first_filter(at->dev->ifindex, at->hook == BWL_HOOK_INGRESS, &f, e);
	if (r)
		return r;
	ret->attached = bwl_clsact_ours(at, ret);
	if (!ret->attached)
		return 0;
	ret->how = "clsact";
	/* Among filters of the same priority the newest runs first, whatever their handles are. */
	ret->first = n == 0 && f.prog_id == ret->prog_id;
	if (!ret->foreign_id && !ret->first)
		ret->foreign_id = f.prog_id;
	return 0;
}

static int query_xdp(const struct bwl_hook_at *at, struct bwl_hook_state *ret, struct bwl_err *e)
{
	static const char *const how[] = { "xdp native", BWL_HOW_GENERIC, "xdp in hardware" };
	LIBBPF_OPTS(bpf_xdp_query_opts, o);
	uint32_t ids[3];
	int r, i;

	r = bpf_xdp_query((int)at->dev->ifindex, 0, &o);
	if (r)
		return bwl_fail(e, -r, "%s: cannot query XDP: %s", at->dev->name, strerror(-r));
	ids[0] = o.drv_prog_id;
	ids[1] = o.skb_prog_id;
	ids[2] = o.hw_prog_id;
	for (i = 0; i < 3; i++) {
		if (!ids[i])
			continue;
		if (!bwl_hook_is_ours(at, ids[i], ret->tag)) {
			ret->foreign_id = ids[i];
			continue;
		}
		ret->attached = true;
		ret->how = how[i];
		ret->prog_id = ids[i];
		ret->link_id = pinned_link(at);
	}
	if (!ret->attached && ret->foreign_id)
		return bwl_libxdp_query(at, ret, e);
	ret->first = ret->attached && !ret->foreign_id;
	return 0;
}

int bwl_hook_query(const struct bwl_hook_at *at, struct bwl_hook_state *ret, struct bwl_err *e)
{
	char progs[BWL_LINK_PATH];

	*ret = (struct bwl_hook_state){ .how = "none" };
	snprintf(progs, sizeof(progs), "%s/progs", at->pin_dir);
	if (access(progs, X_OK) && errno == EACCES) /* ours cannot be told from foreign programs */
		return bwl_fail(e, EACCES, "only root can see what is attached");
	return at->hook == BWL_HOOK_XDP ? query_xdp(at, ret, e) : query_tc(at, ret, e);
}
