/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is every promise in force right now? */
#ifndef BWL_LOADER_VERIFY_H
#define BWL_LOADER_VERIFY_H

#include "attach.h"
#include "check.h"

/* Checks the surroundings of the ports: other devices, devlink ports, forwarding by the kernel. */
void bwl_verify_around(struct bwl_report *r, struct bwl_pins *p, const struct bwl_attach *a,
		       const struct bwl_netdev *d, size_t n);

/* The tunnel device, its routes, who tracks SAs, and fq. */
void bwl_verify_tunnel(struct bwl_report *r, const struct bwl_pins *p, const struct bwl_gen *g,
		       uint64_t now);

/* The journal of closures, and whether the maps agree with it. */
void bwl_verify_journal(struct bwl_report *r, struct bwl_pins *p);

/* Keeps root's newest result for readers who are not root (export/verified.h). Best effort. */
void bwl_verify_keep(const char *pin_dir, const json_t *doc);

/* All checks, one line each. Returns the number of failed checks, or a negative errno. */
int bwl_verify(struct bwl_attach *a, struct bwl_err *e);
/* verify; if it is clean the host ports are set up. */
int bwl_up(struct bwl_attach *a, struct bwl_err *e);
int bwl_status(struct bwl_attach *a, struct bwl_err *e);

#endif
