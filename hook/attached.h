/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whoever removes pins by hand also removes the programs of links (tcx, XDP), and what is left
 * looks like a clean detach: there are no pins. A detach differs by what it leaves: it empties the
 * schema of the maps, which bwlimitd still has open, and removes the record of the attached host
 * ports, which bwlimitd keeps in /run for the time when it is not running itself.
 */
#ifndef BWL_HOOK_ATTACHED_H
#define BWL_HOOK_ATTACHED_H

#include <bwl/pins.h>

enum bwl_pins_end {
	BWL_PINS_THERE,
	BWL_PINS_DETACHED, /* by `bwlimit-load detach` */
	BWL_PINS_UPGRADED, /* other maps are there, made by `bwlimit-load upgrade` from these */
	BWL_PINS_OTHER,    /* other maps are there, and nobody has detached these */
	BWL_PINS_REMOVED,  /* at least one pin is gone, and nobody has detached */
};
/* e, which may be NULL: the sentence for OTHER and REMOVED. */
enum bwl_pins_end bwl_pins_end(const struct bwl_pins *p, struct bwl_err *e);

struct bwl_attached {
	struct {
		uint32_t ifindex;
		char name[16];
	} host[BWL_MAX_PORTS];
	unsigned n;
};
/* The host ports of these maps; and whether the two differ. */
void bwl_attached_of(const struct bwl_pins *p, struct bwl_attached *ret);
bool bwl_attached_differ(const struct bwl_attached *a, const struct bwl_attached *b);
/* dir: the pin directory. The record does not survive a reboot, and neither does an attach. */
int bwl_attached_keep(const char *dir, const struct bwl_attached *a, struct bwl_err *e);
/* -ENOENT: there is none. */
int bwl_attached_read(const char *dir, struct bwl_attached *ret);
void bwl_attached_forget(const char *dir);

#endif
