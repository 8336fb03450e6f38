/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The read model of a fleet, as a part of a program: one thread lists trays in the store and asks
 * each for its numbers, another one answers (fleet/http/server.h). Readers block nobody.
 */
#ifndef BWL_FLEET_MODEL_H
#define BWL_FLEET_MODEL_H

#include "fleet/http/server.h"
#include "fleet/status/signer.h"
#include "fleet/store/grpc.h"

struct bwl_model_conf {
	const char *fleet; /* its name */
	const char *const *servers;
	unsigned nservers;
	struct bwl_grpc_tls tls; /* for the store, for trays, and for clients */
	const char *prefix;
	bool accept_holes;
	const char *serve; /* ADDR:PORT */
	const char *crl;   /* NULL: none */
	const char *names[BWL_HTTPS_NAMES];
	struct status_signers
		*signers; /* keys with which trays sign their statuses; NULL: unknown */
	/* Called by the first thread: a problem with the store, reported once. */
	void (*say)(void *arg, const char *event, const char *what, const struct bwl_err *why);
	void *arg;
};
struct bwl_model;
/* What conf points to must outlive it. */
int bwl_model_start(const struct bwl_model_conf *c, struct bwl_model **ret, struct bwl_err *e);
int bwl_model_anew(struct bwl_model *m, struct bwl_err *e); /* bwl_https_anew() */
struct bwl_tls_facts bwl_model_tls(struct bwl_model *m);    /* bwl_https_facts() */
void bwl_model_stop(struct bwl_model *m);                   /* NULL-safe */

#endif
