/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of bwlimit-web. */
#ifndef BWL_WEB_OPTIONS_H
#define BWL_WEB_OPTIONS_H

#include "asker.h"
#include "web.h"

#define PROGRAM "bwlimit-web"

struct options {
	struct web_conf web;
	struct asker_conf asker;
	const char *listen, *page;
	bool json, of_management; /* of_management: the address must be a management device's */
};
/* -1: continue; otherwise the exit code. */
int options_read(int argc, char **argv, struct options *o);

#endif
