/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of bwlimit-load, and their --help. */
#ifndef BWL_LOADER_HELP_H
#define BWL_LOADER_HELP_H

#include <stdbool.h>
#include <bwl/err.h>
#include "attach.h"

struct load_command {
	const char *name, *about;
	int (*run)(struct bwl_attach *a, struct bwl_err *e);
	bool needs_pins; /* works on what an attach has pinned */
};

/* Of one command; NULL: of all, of which the last has no name. Prints on standard output. */
void load_help(const struct load_command *all, const struct load_command *command);

#endif
