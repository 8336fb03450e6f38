/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of bwlimit-export. */
#ifndef BWL_EXPORT_FLOWS_OPTIONS_H
#define BWL_EXPORT_FLOWS_OPTIONS_H

#include "outlet.h"

#define PROGRAM "bwlimit-export"

struct options {
	struct outlet_conf outlet;
	bool once;
};

/* An exit code, or -1: continue. */
int options_read(int argc, char **argv, struct options *o);

#endif
