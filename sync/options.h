/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of bwlimit-sync. */
#ifndef BWL_SYNC_OPTIONS_H
#define BWL_SYNC_OPTIONS_H

#include "serve/serve.h"
#include "store_etcd.h"

#define PROGRAM "bwlimit-sync"

struct options {
	struct store_etcd_conf conf;
	const char *servers[BWL_ETCD_SERVERS_MAX];
	unsigned nservers;
	const char *agent;
	struct serve_conf serve; /* at NULL: nothing is served */
	bool json;
};
/* -1: continue; otherwise the exit code, with the reason printed. */
int options_read(int argc, char **argv, struct options *o);

#endif
