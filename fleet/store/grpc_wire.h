/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gRPC above HTTP/2, only as bytes: messages preceded by their length, which arrive in any pieces,
 * and how a call ended (doc/PROTOCOL-HTTP2.md of github.com/grpc/grpc).
 */
#ifndef BWL_FLEET_GRPC_WIRE_H
#define BWL_FLEET_GRPC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bwl/err.h"

/* bytes before a message: 0 (not compressed), and its length, big-endian */
#define BWL_GRPC_HEAD 5

void bwl_grpc_head(uint8_t head[static BWL_GRPC_HEAD], uint32_t len);

struct bwl_grpc_frames {
	size_t most; /* bytes of a message */
	uint8_t head[BWL_GRPC_HEAD];
	unsigned have; /* bytes of head */
	uint8_t *msg;
	size_t len, got; /* of msg */
};

/*
 * Calls said() with each complete message. 0; -EMSGSIZE: larger than `most`, and no memory was used
 * for it; -EBADMSG: compressed, although not requested; or the negative result of said().
 */
int bwl_grpc_feed(struct bwl_grpc_frames *f, const void *data, size_t len,
		  int (*said)(void *arg, const uint8_t *msg, size_t len), void *arg);
bool bwl_grpc_is_within(const struct bwl_grpc_frames *f); /* in the middle of a message */
void bwl_grpc_frames_done(struct bwl_grpc_frames *f);

enum bwl_grpc_code {
	BWL_GRPC_OK = 0,
	BWL_GRPC_UNKNOWN = 2,
	BWL_GRPC_DEADLINE = 4,
	BWL_GRPC_NOT_FOUND = 5,
	BWL_GRPC_EXISTS = 6,
	BWL_GRPC_DENIED = 7,
	BWL_GRPC_EXHAUSTED = 8,
	BWL_GRPC_PRECONDITION = 9,
	BWL_GRPC_OUT_OF_RANGE = 11,
	BWL_GRPC_UNIMPLEMENTED = 12,
	BWL_GRPC_INTERNAL = 13,
	BWL_GRPC_UNAVAILABLE = 14,
	BWL_GRPC_UNAUTHENTICATED = 16,
	BWL_GRPC_CODE_MAX = 16,
};

#define BWL_GRPC_TEXT 200
struct bwl_grpc_end {
	bool is_h2, http_ok, is_grpc; /* HTTP/2, :status 200, content-type application/grpc */
	unsigned http;                /* :status */
	int code;                     /* -1: absent */
	char text[BWL_GRPC_TEXT];
};

/* A header or trailer, "name: value" with or without its line end; unknown ones are ignored. */
void bwl_grpc_header(struct bwl_grpc_end *end, const char *line, size_t len);
/* The code of a call with that response, if nothing else went wrong. */
int bwl_grpc_code(const struct bwl_grpc_end *end);
/* The errno for a code; 0 for BWL_GRPC_OK */
int bwl_grpc_errno(int code);

#endif
