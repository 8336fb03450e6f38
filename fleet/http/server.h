/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small HTTPS server for programs: TLS 1.3, certificates on both sides, only GET. A client whose
 * certificate is not from our authority, or whose CommonName is not allowed, does not get through
 * the handshake: none of its HTTP is read.
 *
 * A client never keeps others out (places.h), and a head that is not well formed is refused
 * (strict.h).
 *
 * libmicrohttpd (GnuTLS) runs on one thread of ours, so answers are never computed concurrently.
 * Bounded: connections, bytes of a request's head, its time, and total output (budget.h).
 */
#ifndef BWL_FLEET_HTTPS_H
#define BWL_FLEET_HTTPS_H

#include <stddef.h>
#include <stdint.h>
#include "budget.h"
#include "places.h"
#include "tls.h"
#include "bwl/err.h"

#define BWL_HTTPS_NAMES 8
#define BWL_HTTPS_HEAD_BYTES 16384 /* per connection: the request's head and the answer's */
#define BWL_HTTPS_HEAD_S 10        /* from an allowed certificate to the end of the request */
#define BWL_HTTPS_ANSWER_S 60      /* until the client has taken an answer */
#define BWL_HTTPS_IDLE_S 120       /* between two requests of one connection */

struct bwl_https_ask {
	const char *path;
	const char *who; /* the CommonName of the client's certificate */
	void *conn;
};
/* The value of ?KEY=…; NULL: absent. */
const char *bwl_https_query(const struct bwl_https_ask *ask, const char *key);

struct bwl_https_answer {
	unsigned status;
	const char *type;
	char *text; /* allocated with malloc(); the server frees it */
	size_t len;
	unsigned wait_s; /* Retry-After; 0: none */
};
/* {"version": 1, "kind": "error", …} as the answer. */
void bwl_https_refuse(struct bwl_https_answer *a, unsigned status, const struct bwl_err *e);

struct bwl_https_conf {
	const char *at;                     /* "10.9.0.7:7443", "[fd00::7]:7443" */
	const char *tls[_BWL_TLS_FILES];    /* PEM files, read now; the CRL may be NULL */
	const char *names[BWL_HTTPS_NAMES]; /* CommonNames that are allowed; NULL ends them */
	unsigned connections;               /* of clients with certificates */
	struct bwl_budget asks, bytes;
	void (*answer)(void *arg, const struct bwl_https_ask *ask, struct bwl_https_answer *ret);
	void *arg;
};
struct bwl_https;
int bwl_https_open(const struct bwl_https_conf *c, struct bwl_https **ret, struct bwl_err *e);
void bwl_https_close(struct bwl_https *s); /* NULL-safe */
/*
 * Reloads the files: later clients are judged by them, and clients that would now be refused are
 * disconnected. On failure the previous ones stay valid.
 */
int bwl_https_anew(struct bwl_https *s, struct bwl_err *e);

/* Facts about the files that were last read. */
struct bwl_tls_facts bwl_https_facts(struct bwl_https *s);

/* "NAME[,NAME…]" into names, split in place. */
int bwl_https_names(char *list, const char **names, struct bwl_err *e);

#endif
