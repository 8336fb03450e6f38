/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bwlimit-ipsecd: its command line, and the two things that it does, each in a process of its own.
 */
#ifndef BWL_IPSECD_H
#define BWL_IPSECD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include "bwl/err.h"

struct ipsecd {
	const char *pin_dir, *vici; /* NULL: the usual ones */
	const char *dir;            /* swanctl's */
	const char *file;           /* the policy; NULL: what bwlimitd accepted */
	uint64_t timeout_ns;        /* for each answer of charon */
	bool json;
	const volatile sig_atomic_t *stopped; /* by a signal */
};

/* Both return when they are told to stop, or cannot go on. */
int ipsecd_track(const struct ipsecd *d, struct bwl_err *e);
int ipsecd_charon(const struct ipsecd *d, struct bwl_err *e);

#endif
