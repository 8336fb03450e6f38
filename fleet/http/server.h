/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small HTTPS server for programs: TLS 1.3, certificates on both sides, GET alone. Whose
 * certificate is not of our authority, or has another CommonName than those that are let in, does
 * not get through the handshake: nothing of HTTP that he says is read.
 *
 * libmicrohttpd (GnuTLS) on one thread of ours, so that answers never come at once. Bounded:
 * connections, bytes of a request's head, its time, and what is said in all (budget.h).
 */
#ifndef BWL_FLEET_HTTPS_H
#define BWL_FLEET_HTTPS_H

#include <stddef.h>
#include <stdint.h>
#include "budget.h"
#include "tls.h"
#include "bwl/err.h"

#define BWL_HTTPS_NAMES 8
#define BWL_HTTPS_HEAD_BYTES 16384 /* of a connection: the request's head and the answer's */
#define BWL_HTTPS_HEAD_S 10        /* from the first byte of TLS to the end of the first request */
#define BWL_HTTPS_ANSWER_S 60      /* until an answer is taken */
#define BWL_HTTPS_IDLE_S 120       /* between two requests of one connection */

struct bwl_https_ask {
	const char *path;
	const char *who; /* the CommonName of his certificate */
	void *conn;
};
/* The value of ?KEY=…; NULL: it is not there. */
const char *bwl_https_query(const struct bwl_https_ask *ask, const char *key);

struct bwl_https_answer {
	unsigned status;
	const char *type;
	char *text; /* made by malloc(); the server frees it */
	size_t len;
	unsigned wait_s; /* Retry-After; 0: none */
};
/* {"version": 1, "kind": "error", …} as the answer. */
void bwl_https_refuse(struct bwl_https_answer *a, unsigned status, const struct bwl_err *e);

struct bwl_https_conf {
	const char *at;                     /* "10.9.0.7:7443", "[fd00::7]:7443" */
	const char *tls[_BWL_TLS_FILES];    /* PEM files, read now; the CRL may be NULL */
	const char *names[BWL_HTTPS_NAMES]; /* who is let in; NULL ends them */
	unsigned connections;
	struct bwl_budget asks, bytes;
	void (*answer)(void *arg, const struct bwl_https_ask *ask, struct bwl_https_answer *ret);
	void *arg;
};
struct bwl_https;
int bwl_https_open(const struct bwl_https_conf *c, struct bwl_https **ret, struct bwl_err *e);
void bwl_https_close(struct bwl_https *s); /* NULL-safe */
/*
 * Reads the files again: who comes from then on sees them, and who is there and would not be let in
 * now is hung up on. Where that fails what was read before holds.
 */
int bwl_https_anew(struct bwl_https *s, struct bwl_err *e);

/* Of what was read last. */
struct bwl_tls_facts bwl_https_facts(struct bwl_https *s);

/* "NAME[,NAME…]" into names, taken apart in place. */
int bwl_https_names(char *list, const char **names, struct bwl_err *e);

#endif
