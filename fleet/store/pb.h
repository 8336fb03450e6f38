/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protobuf's wire format, as far as etcd's messages need it: varints and bytes are read and
 * written, fixed-width fields are skipped, groups (which proto3 lacks) are refused. Parsed data is
 * never copied: a field points into its message.
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

/* A field whose value is 0 or empty is omitted, as in proto3. */
void bwl_pb_put_int(struct bwl_pb_out *o, unsigned field, int64_t v);
void bwl_pb_put_oneof(struct bwl_pb_out *o, unsigned field, int64_t v); /* said even when it is 0 */
void bwl_pb_put_bytes(struct bwl_pb_out *o, unsigned field, const void *at, size_t len);
void bwl_pb_put_text(struct bwl_pb_out *o, unsigned field, const char *text);
/*
 * A message within a message: what is put between the two belongs to it. It is present even if
 * empty.
 */
size_t bwl_pb_begin(struct bwl_pb_out *o, unsigned field);
void bwl_pb_end(struct bwl_pb_out *o, size_t begun);

struct bwl_pb_in {
	const uint8_t *at, *end;
};

struct bwl_pb_field {
	unsigned number;
	bool is_bytes; /* otherwise a number */
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

/* The next number or bytes: 1; 0 at the end; -EBADMSG if invalid. */
int bwl_pb_next(struct bwl_pb_in *in, struct bwl_pb_field *ret);

#endif
