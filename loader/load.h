/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The object: maps made or reused and pinned, programs loaded. */
#ifndef BWL_LOADER_LOAD_H
#define BWL_LOADER_LOAD_H

#include <bwl/pins.h>

struct bwlimit; /* the skeleton */

struct bwl_dims {
	uint32_t max_peers, max_extras, max_windows;
};
#define BWL_DEFAULT_DIMS { .max_peers = 65536, .max_extras = 16384, .max_windows = 16384 }

struct bwl_load {
	char dir[200];
	int dir_fd;		/* flock held */
	bool reused;		/* the maps were there already, state and all */
	struct bwlimit *skel;
	struct bwl_pins *pins;
};

/* Make the pin directory (on a bpffs) and take the lock. */
int bwl_load_begin(const char *dir, struct bwl_load *ret, struct bwl_err *e);
/*
 * Load the programs against the pinned maps; make and pin the maps when there are none, or when
 * an interrupted attach left an incomplete set. frags: load the XDP program for multi-buffer
 * frames (kernel 5.18); retried without when the kernel refuses.
 */
int bwl_load_object(struct bwl_load *l, const struct bwl_dims *dims, bool fresh_volume, bool drill,
		    struct bwl_err *e);
/* File descriptor of a program by its name, e.g. "bwl_tc_host". */
int bwl_load_prog(const struct bwl_load *l, const char *name);
void bwl_load_end(struct bwl_load *l);

/* Remove every pin below dir and dir itself. */
int bwl_load_wipe(const char *dir, struct bwl_err *e);

#endif
