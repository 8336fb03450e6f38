/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the server share. Everything runs on one thread. */
#ifndef BWL_WEB_H
#define BWL_WEB_H

#include <microhttpd.h>
#include "asker.h"
#include "cache.h"
#include "fleet/http/tls.h"
#include "guests.h"
#include "page.h"

#define WEB_ASKERS 2
#define WEB_STREAMS 32
#define WEB_NAMES 8
#define WEB_API "/api/v1/"
#define JSON_TYPE "application/json"

struct web_conf {
	const struct web_documents *documents;
	const char *name; /* of the node, or of the fleet */
	struct sockaddr_storage at;
	const char *hosts[WEB_NAMES];        /* accepted in a Host field; NULL ends them */
	const char *tls[_BWL_TLS_FILES];     /* names of the files; NULL: no TLS, or no CRL */
	const char *client_names[WEB_NAMES]; /* CommonNames that are admitted; NULL ends them */
	struct page page;
};

struct request; /* of answer.c */
struct stream;  /* of stream.c */
struct stream_place {
	struct bwl_place place;
	struct stream *stream; /* NULL: none */
};

struct web {
	const struct web_conf *conf;
	struct MHD_Daemon *daemon;
	struct bwl_tls *tls;  /* NULL: none */
	char *metrics;        /* our own, after those of bwlimit-ctl; NULL: none */
	struct asker *keeper; /* reloads the certificate; NULL: there is none */
	bool again;           /* another reload was requested meanwhile */
	struct asker asker[WEB_ASKERS];
	struct entry *asks[WEB_ASKERS]; /* the entries that are being made, held */
	struct cache cache;
	struct guests guests;
	struct request *waiting; /* requests that wait for a document */
	bool stops;              /* no request may wait any more */
	struct stream_place stream[WEB_STREAMS];
};

/* server.c */
int web_open(struct web *w, const struct web_conf *c, struct bwl_err *e);
/*
 * Runs until an asker has gone, or a signal that can be read there: SIGHUP reloads the certificate.
 */
int web_run(struct web *w, int signal_fd, struct bwl_err *e);
void web_close(struct web *w);

/* tls.c: admission, and reloading the certificate */
int tls_open(struct web *w, struct bwl_err *e);
void tls_close(struct web *w);
/* A new connection. x NULL: there was no room for it. */
void tls_begin(struct web *w, struct MHD_Connection *conn, struct guest *x);
void tls_anew(struct web *w);
/* Reports the result on standard error. */
void tls_step(struct web *w);

/* reply.c: what answers and streams share */
struct guest *reply_guest(struct MHD_Connection *conn);
const struct bwl_client *reply_client(struct MHD_Connection *conn);
/* For a suspended connection, which libmicrohttpd does not watch. */
bool reply_has_gone(struct MHD_Connection *conn);
enum MHD_Result reply_send(struct web *w, struct MHD_Connection *conn, unsigned status,
			   struct MHD_Response *r);
/* The document of a request; NULL: it was refused, with *ret. */
struct entry *reply_entry(struct web *w, struct MHD_Connection *conn, const char *name,
			  bool has_query, struct bwl_err *e, unsigned *ret_status);
enum MHD_Result reply_refuse(struct web *w, struct MHD_Connection *conn, unsigned status,
			     const struct bwl_err *e);
/* The same, and the connection ends: where the next request begins is not known. */
enum MHD_Result reply_hang_up(struct web *w, struct MHD_Connection *conn, unsigned status,
			      const struct bwl_err *e);

/* answer.c: one request */
enum MHD_Result answer_ask(struct web *w, struct MHD_Connection *conn, const char *path,
			   const char *method, const char *version, bool has_body, void **ctx);
void answer_end(void **ctx);
/* Continues requests that wait for this document, or for too long. */
void answer_wake(struct web *w, uint64_t now_ns);

/* stream.c: server-sent events */
enum MHD_Result stream_open(struct web *w, struct MHD_Connection *conn);
/* Requests documents that subscribers need again, and sends them updates. */
void stream_step(struct web *w, uint64_t now_ns);
/* Ends all streams in the next run. */
void stream_stop(struct web *w);

#endif
