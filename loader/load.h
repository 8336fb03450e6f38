/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The object: maps made or reused and pinned, programs loaded. */
#ifndef BWL_LOADER_LOAD_H
#define BWL_LOADER_LOAD_H

#include <bwl/pins.h>
#include "relayout.h"

struct bwlimit; /* the skeleton */

struct bwl_dims {
	uint32_t max_peers, max_extras, max_windows;
};
#define BWL_DEFAULT_DIMS                                                                           \
	{                                                                                          \
		.max_peers = 65536, .max_extras = 16384, .max_windows = 16384                      \
	}

/* Sizes for a new set of maps; no effect on existing maps. */
struct bwl_make {
	struct bwl_dims dims;
	bool fresh_volume, drill;
};

struct bwl_load {
	char dir[200];
	int dir_fd;               /* flock held */
	struct bwl_relayout maps; /* what was pinned */
	bool reused;              /* the maps existed already, with all state */
	bool tunnel;              /* the tunnel device's programs are wanted; cleared if refused */
	bool by_mark;  /* they are for a plain interface; set if the others are refused */
	bool records;  /* flows are recorded: record.h */
	bool measures; /* latency is measured: latency.h */
	struct bwlimit *skel, *generic;
	struct bwl_pins *pins;
	uint32_t ctl_id; /* id of bwl_ctl_v1: programs that use it are ours */
};

/* Call first. Libbpf's messages go into our errors if they matter, and nowhere else. */
void bwl_load_init(void);
/*
 * Takes the lock on the pin directory; make: creates it first (on a bpffs). -ENOENT if there is
 * none.
 */
int bwl_load_begin(const char *dir, bool make, struct bwl_load *ret, struct bwl_err *e);
/* Takes that lock if nobody has it, and nobody attaches until close(). -1: somebody has it. */
int bwl_lock_if_free(const char *dir);
/*
 * Loads the programs against the pinned maps. m: creates and pins the maps if there are none, or if
 * an interrupted attach or detach left an incomplete set. m NULL: they must exist. Maps of an
 * earlier layout are converted to this one, and traffic that was stopped for that stays stopped:
 * bwl_load_settle(). XDP is loaded for multi-buffer frames (kernel 5.18), or without if the kernel
 * refuses that.
 */
int bwl_load_object(struct bwl_load *l, const struct bwl_make *m, struct bwl_err *e);
/*
 * All programs are in place and checked: tools may trust the maps again. stop: BWL_RUN, or another
 * value that replaces BWL_UPGRADING.
 */
int bwl_load_settle(struct bwl_load *l, uint32_t stop, struct bwl_err *e);
/* Loads this binary's programs once more on the maps of p, for their tags. */
int bwl_load_again(struct bwl_pins *p, struct bwlimit **ret, struct bwl_err *e);
/*
 * Opened but not loaded, on the same maps; only prog, or with NULL all XDP programs. NULL and e on
 * failure.
 */
struct bwlimit *bwl_load_xdp_copy(const struct bwl_load *l, const char *prog, bool frags,
				  struct bwl_err *e);
/*
 * An XDP program for generic mode: a descriptor, or negative. Not for multi-buffer frames: for such
 * a program the kernel (6.18) copies the frame and loses the length of its MAC header, so TC then
 * sees it from the network header on.
 */
int bwl_load_generic(struct bwl_load *l, const char *prog, struct bwl_err *e);
/* File descriptor of a program by its name, e.g. "bwl_tc_host". */
int bwl_load_prog(const struct bwlimit *skel, const char *name);
void bwl_load_end(struct bwl_load *l);

/* From here on no tool trusts the maps, and the next attach makes new ones. */
int bwl_load_invalidate(struct bwl_load *l, struct bwl_err *e);
/* Removes every pin below dir, and dir itself; or only the content of one folder. */
int bwl_load_wipe(const char *dir, struct bwl_err *e);
int bwl_load_clear(const char *folder, struct bwl_err *e);

/*
 * Gives the maps to the groups bwlimit and bwlimit-read (bwl/reader.h), if they exist. Links and
 * programs stay root's.
 */
int bwl_load_share(const struct bwl_pins *p, struct bwl_err *e);

uint32_t bwl_map_id(int fd); /* 0 on failure */

#endif
