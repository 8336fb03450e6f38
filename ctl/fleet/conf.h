/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a person's desk reaches the fleet: /etc/bwlimit/fleet.conf, overridden by options. */
#ifndef BWL_CTL_FLEET_CONF_H
#define BWL_CTL_FLEET_CONF_H

#include "../ctl.h"
#include "fleet/store/etcd.h"

#define FLEET_CONF "/etc/bwlimit/fleet.conf"

struct fleet_conf {
	const char *file; /* --conf */
	/* KEY = VALUE, one per line; options win. NULL: absent. */
	const char *servers, *ca, *cert, *cert_key, *prefix, *root, *fleet, *controller;
	bool accept_holes; /* "accept-etcd-holes = yes" */
	char *text;        /* what the values point into */
	char *list;
	const char *server[BWL_ETCD_SERVERS_MAX];
	unsigned nservers;
	struct bwl_grpc_tls tls;
};
/* The options of every command that uses the store. */
#define FLEET_CONF_OPTS(x)                                                                         \
	{ "--conf", NULL, &(x)->file }, { "--servers", NULL, &(x)->servers },                      \
		{ "--ca", NULL, &(x)->ca }, { "--cert", NULL, &(x)->cert },                        \
		{ "--cert-key", NULL, &(x)->cert_key }, { "--prefix", NULL, &(x)->prefix },        \
		{ "--root", NULL, &(x)->root },                                                    \
	{                                                                                          \
		"--accept-etcd-holes", &(x)->accept_holes, NULL                                    \
	}
/* After the options. If no file is named and there is none, the options must give everything. */
int fleet_conf_settle(struct ctl *c, struct fleet_conf *x);
void fleet_conf_done(struct fleet_conf *x);

#endif
