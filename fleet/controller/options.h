/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of bwlimit-controller. */
#ifndef BWL_CONTROLLER_OPTIONS_H
#define BWL_CONTROLLER_OPTIONS_H

#include "fleet/http/server.h"
#include "fleet/store/etcd.h"
#include "rollout.h"

#define PROGRAM "bwlimit-controller"

struct options {
	struct bwl_grpc_tls tls;
	const char *servers[BWL_ETCD_SERVERS_MAX];
	unsigned nservers;
	const char *prefix, *name;
	const char *root, *online_key;
	const char *witness_key; /* NULL: nothing is cosigned */
	const char *witness_name;
	bool accept_holes, trust_clock, json;
	struct rollout_rules rules;
	const char *dev;            /* a folder; NULL: no --dev */
	const char *trays, *listen; /* of --dev */
	const char *crl;            /* of serve; NULL: none */
	const char *serve;          /* ADDR:PORT; NULL: nothing is served */
	const char *serve_to[BWL_HTTPS_NAMES];
};
/* -1: continue; otherwise the exit code, with the reason printed. */
int options_read(int argc, char **argv, struct options *o);

#endif
