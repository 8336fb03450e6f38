/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of one gRPC server over libcurl's HTTP/2: TLS 1.3, both sides with certificates, all calls
 * on one connection. Not for several threads.
 *
 * Errors: EACCES the server refuses, ETIMEDOUT, EHOSTUNREACH no connection or the server is
 * leaving, EMSGSIZE and EBADMSG it said what no server of ours says, and those of
 * bwl_grpc_errno().
 */
#ifndef BWL_FLEET_GRPC_H
#define BWL_FLEET_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <curl/curl.h>
#include "bwl/err.h"

/* Files, PEM. They are read for each connection, so that new ones are found. */
struct bwl_grpc_tls {
	const char *ca; /* the only authorities that are believed: not those of the system */
	const char *cert, *key;
};

/* Bytes of one message. etcd takes requests of 1.5 MiB, and answers of a page may be more. */
#define BWL_GRPC_MESSAGE_MOST (4U << 20)

struct bwl_grpc;
/* server: "https://host:port". Nothing is connected yet. Its strings must outlive it. */
int bwl_grpc_open(const char *server, const struct bwl_grpc_tls *tls, struct bwl_grpc **ret,
		  struct bwl_err *e);
void bwl_grpc_close(struct bwl_grpc *g); /* NULL-safe; its streams are closed before */
const char *bwl_grpc_server(const struct bwl_grpc *g);

/*
 * One request, one answer: a message, which the caller frees. Streams go on meanwhile. A call whose
 * answers are a stream ends with its first.
 */
int bwl_grpc_call(struct bwl_grpc *g, const char *method, const void *ask, size_t len,
		  unsigned timeout_ms, uint8_t **ret, size_t *ret_len, struct bwl_err *e);

struct bwl_grpc_stream;
/*
 * Both sides speak until one has enough. said(): a message; from bwl_grpc_call() and
 * bwl_grpc_wait() alone; negative ends the stream.
 */
int bwl_grpc_stream_open(struct bwl_grpc *g, const char *method,
			 int (*said)(void *arg, const uint8_t *msg, size_t len), void *arg,
			 struct bwl_grpc_stream **ret, struct bwl_err *e);
/* Waits until the last one was sent; -EAGAIN (e is not filled): that is still on its way. */
int bwl_grpc_stream_say(struct bwl_grpc_stream *s, const void *ask, size_t len);
/* 0, or why it has ended; also after the server ended it without an error. */
int bwl_grpc_stream_state(const struct bwl_grpc_stream *s, struct bwl_err *e);
void bwl_grpc_stream_close(struct bwl_grpc_stream *s); /* NULL-safe */

/* Does what is to be done, and waits for more of it, for these descriptors, or that long. */
int bwl_grpc_wait(struct bwl_grpc *g, unsigned timeout_ms, struct curl_waitfd *fds, unsigned n,
		  struct bwl_err *e);

#endif
