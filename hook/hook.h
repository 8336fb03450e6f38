/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One program on one hook of one device, pinned as a bpf_link if the kernel has links for the hook
 * (XDP 5.9, tcx 6.6); otherwise a clsact filter. Decided by trying, and read back.
 */
#ifndef BWL_HOOK_HOOK_H
#define BWL_HOOK_HOOK_H

#include <bwl/err.h>
#include <bwl/netdev.h>

enum bwl_hook { BWL_HOOK_XDP, BWL_HOOK_INGRESS, BWL_HOOK_EGRESS };
enum bwl_tc_way { BWL_TC_AUTO, BWL_TC_TCX, BWL_TC_CLSACT };
enum bwl_xdp_way {
	BWL_XDP_AUTO,
	BWL_XDP_NATIVE,
	BWL_XDP_GENERIC,
	BWL_XDP_LIBXDP,
	BWL_XDP_NONE,
	BWL_XDP_KEEP, /* as it is, with the new program: for upgrade */
};

struct bwl_hook_at {
	const char *pin_dir;
	const struct bwl_netdev *dev;
	enum bwl_hook hook;
	const char *prog; /* its name: "bwl_tc_host" */
	/*
	 * Id of bwl_ctl_v1: a program that does not use this map is not ours. 0: the name decides.
	 */
	uint32_t ctl_id;
};

struct bwl_hook_want {
	enum bwl_tc_way tc;
	enum bwl_xdp_way xdp;
	int prog_fd;
	/* The XDP program for generic mode; a descriptor that stays open, or negative. */
	int (*generic)(void *arg, const char *prog, struct bwl_err *e);
	/* Attaches the XDP program through libxdp, which loads its own copy. */
	int (*libxdp)(const struct bwl_hook_at *at, void *arg, char *why, size_t size,
		      struct bwl_err *e);
	void *arg;
};

struct bwl_hook_state {
	bool attached;
	const char *how; /* "tcx", "clsact", "xdp native", "xdp generic", "libxdp dispatcher" */
	uint32_t prog_id, link_id; /* link_id 0: no bpf_link, the weaker form */
	bool first;                /* nothing foreign runs before it */
	/* a foreign program at this hook, before ours or instead of it; 0: none */
	uint32_t foreign_id;
	char tag[17];
};

#define BWL_WHY_LEN 128

/*
 * Attaches, or replaces in place. If ours is attached but something foreign runs before it, ours is
 * moved to the front. Returns 1 if it was replaced in its existing form; 0 if it has a new one, and
 * then why (BWL_WHY_LEN) tells why that is a weaker one, or is empty.
 */
int bwl_hook_attach(const struct bwl_hook_at *at, const struct bwl_hook_want *w, char *why,
		    struct bwl_err *e);
/* Ours is gone when this returns; what others attached stays. */
int bwl_hook_detach(const struct bwl_hook_at *at, struct bwl_err *e);
/* Reads the present state from the kernel. */
int bwl_hook_query(const struct bwl_hook_at *at, struct bwl_hook_state *ret, struct bwl_err *e);

/*
 * Is the program with this id ours? Fills tag if so. hook_prog.c searches the pins, one for each
 * device, because opening a program by its id takes CAP_SYS_ADMIN (kernel 6.18).
 */
bool bwl_hook_is_ours(const struct bwl_hook_at *at, uint32_t prog_id, char tag[17]);
bool bwl_hook_is_ours_fd(const struct bwl_hook_at *at, int prog_fd, char tag[17]);
void bwl_hook_tag(int prog_fd, char tag[17]);
/* Does the program use the map with this id? */
bool bwl_hook_uses_map(int prog_fd, uint32_t map_id);

#endif
