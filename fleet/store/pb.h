/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protobuf's wire format, as far as etcd's messages need it: varints and bytes are read and
 * written, fields of fixed width are passed over, groups (which proto3 has not) are refused.
 * What is read is never copied: a field points into the message that it is of.
 */
#ifndef BWL_FLEET_PB_H
#define BWL_FLEET_PB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bwl_pb_out {
	uint8_t *at; /* free() it */
	size_t len, room;
};

/* A field whose value is 0 or empty is left out, which is how proto3 says so. */
void bwl_pb_put_int(struct bwl_pb_out *o, unsigned field, int64_t v);
void bwl_pb_put_oneof(struct bwl_pb_out *o, unsigned field, int64_t v); /* said even when it is 0 */
void bwl_pb_put_bytes(struct bwl_pb_out *o, unsigned field, const void *at, size_t len);
void bwl_pb_put_text(struct bwl_pb_out *o, unsigned field, const char *text);
/*
 * A message in a message: what is put between the two is its. It is there even if that is nothing.
 */
size_t bwl_pb_begin(struct bwl_pb_out *o, unsigned field);
void bwl_pb_end(struct bwl_pb_out *o, size_t begun);

struct bwl_pb_in {
	const uint8_t *at, *end;
};

struct bwl_pb_field {
	unsigned number;
	bool is_bytes; /* else a number */
	uint64_t v;
	struct bwl_pb_in bytes; /* within the message */
};

static inline struct bwl_pb_in bwl_pb_in(const void *at, size_t len)
{
	const uint8_t *from = at;

	return (struct bwl_pb_in){ from, from + len };
}

static inline size_t bwl_pb_len(struct bwl_pb_in in)
{
	return (size_t)(in.end - in.at);
}

/* The next number or bytes: 1; 0 at the end; -EBADMSG where it is none. */
int bwl_pb_next(struct bwl_pb_in *in, struct bwl_pb_field *ret);

#endif
