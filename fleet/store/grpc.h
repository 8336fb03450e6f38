/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls to one gRPC server over libcurl's HTTP/2: TLS 1.3, certificates on both sides, all calls on
 * one connection. Not thread-safe.
 *
 * Errors: EACCES: the server refuses; ETIMEDOUT; EHOSTUNREACH: no connection, or the server is
 * leaving; EMSGSIZE and EBADMSG: its answer is not one of our server; and those of
 * bwl_grpc_errno().
 */
#ifndef BWL_FLEET_GRPC_H
#define BWL_FLEET_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <curl/curl.h>
#include "bwl/err.h"

/* PEM files. They are read for each connection, so that new ones are used. */
struct bwl_grpc_tls {
	const char *ca; /* the only trusted authorities: not those of the system */
	const char *cert, *key;
};

/*
 * Maximum bytes of one message. etcd accepts requests of 1.5 MiB, and answers of a page may be
 * larger.
 */
#define BWL_GRPC_MESSAGE_MAX (4U << 20)

struct bwl_grpc;
/* server: "https://host:port". Nothing is connected yet. Its strings must outlive it. */
int bwl_grpc_open(const char *server, const struct bwl_grpc_tls *tls, struct bwl_grpc **ret,
		  struct bwl_err *e);
void bwl_grpc_close(struct bwl_grpc *g); /* NULL-safe; close its streams before */
const char *bwl_grpc_server(const struct bwl_grpc *g);

/*
 * One request, one answer: a message, which the caller frees. Streams continue meanwhile. A call
 * whose answers are a stream ends with its first.
 */
int bwl_grpc_call(struct bwl_grpc *g, const char *method, const void *ask, size_t len,
		  unsigned timeout_ms, uint8_t **ret, size_t *ret_len, struct bwl_err *e);

struct bwl_grpc_stream;
/*
 * A bidirectional stream, until one side ends it. said(): receives a message; called only from
 * bwl_grpc_call() and bwl_grpc_wait(); a negative result ends the stream.
 */
int bwl_grpc_stream_open(struct bwl_grpc *g, const char *method,
			 int (*said)(void *arg, const uint8_t *msg, size_t len), void *arg,
			 struct bwl_grpc_stream **ret, struct bwl_err *e);
/* Waits until the previous one was sent; -EAGAIN (e is not filled): it is still in transit. */
int bwl_grpc_stream_say(struct bwl_grpc_stream *s, const void *ask, size_t len);
/* 0, or why it has ended; also an error if the server ended it without one. */
int bwl_grpc_stream_state(const struct bwl_grpc_stream *s, struct bwl_err *e);
void bwl_grpc_stream_close(struct bwl_grpc_stream *s); /* NULL-safe */

/* Does pending work, and waits for more, for these descriptors, or that long. */
int bwl_grpc_wait(struct bwl_grpc *g, unsigned timeout_ms, struct curl_waitfd *fds, unsigned n,
		  struct bwl_err *e);

#endif
