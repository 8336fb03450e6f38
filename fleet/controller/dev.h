/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --dev DIR: a fleet for a trial. Its own etcd, an authority and certificates, keys of two people
 * and of the controller, a root and enrolments: created in DIR if missing. All keys are in one
 * place, so a reader of it can act as anybody.
 */
#ifndef BWL_CONTROLLER_DEV_H
#define BWL_CONTROLLER_DEV_H

#include <stdio.h>
#include "options.h"

#define DEV_PATH 512
#define DEV_TRAYS_MAX 64

struct dev {
	const char *dir, *listen; /* ADDRESS:PORT */
	char host[64];
	unsigned port;
	char tray[DEV_TRAYS_MAX][BWL_DOC_NAME_MAX];
	unsigned ntrays;
	int etcd; /* process; 0: none */
	char server[96];
	char path[7][DEV_PATH]; /* paths that options point to */
};

/* Starts everything; o is made to point there. */
int dev_start(struct dev *d, struct options *o, struct bwl_err *e);
/* Prints the next commands, for people. */
void dev_say(const struct dev *d, const struct options *o);
/* Ends etcd. */
void dev_stop(struct dev *d);

/* "DIR/A/B" in ret; false: too long. */
static inline bool dev_path(const struct dev *d, char ret[static DEV_PATH], const char *a,
			    const char *b)
{
	return snprintf(ret, DEV_PATH, "%s/%s%s%s", d->dir, a, *b ? "/" : "", b) < DEV_PATH;
}

/* dev_pki.c: certificates; existing ones are kept. */
int dev_pki(const struct dev *d, struct bwl_err *e);
/* dev_people.c: keys and documents, likewise. */
int dev_people(const struct dev *d, struct bwl_err *e);
/* dev_etcd.c: etcd as a child, and the permissions in it. */
int dev_etcd(struct dev *d, const struct options *o, struct bwl_err *e);

#endif
