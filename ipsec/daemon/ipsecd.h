/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bwlimit-ipsecd: its command line, and its two functions, each in its own process. */
#ifndef BWL_IPSECD_H
#define BWL_IPSECD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include "bwl/err.h"

struct ipsecd {
	const char *pin_dir, *vici; /* NULL: the defaults */
	const char *dir;            /* swanctl's */
	const char *file;           /* the policy; NULL: the copy that bwlimitd accepted */
	uint64_t timeout_ns;        /* for each answer of charon */
	bool json;
	const volatile sig_atomic_t *stopped; /* by a signal */
};

/* Both return when they are told to stop, or cannot continue. */
int ipsecd_track(const struct ipsecd *d, struct bwl_err *e);
int ipsecd_charon(const struct ipsecd *d, struct bwl_err *e);

#endif
