// SPDX-License-Identifier: GPL-2.0-or-later
/* See pb.h. The format: protobuf.dev/programming-guides/encoding. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/err.h"
#include "pb.h"

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
#define VARINT_MAX 10 /* for 64 bits, seven in each byte */

static uint8_t *grow(struct bwl_pb_out *o, size_t n)
{
	if (o->len + n > o->room) {
		o->room = (o->len + n) * 2;
		o->at = bwl_must(realloc(o->at, o->room));
	}
	o->len += n;
	return o->at + o->len - n;
}

static unsigned varint(uint8_t buf[static VARINT_MAX], uint64_t v)
{
	unsigned n = 0;

	for (; v >= 0x80; v >>= 7)
		buf[n++] = (uint8_t)(v | 0x80);
	buf[n++] = (uint8_t)v;
	return n;
}

static void put_varint(struct bwl_pb_out *o, uint64_t v)
{
	uint8_t buf[VARINT_MAX];
	unsigned n = varint(buf, v);

	memcpy(grow(o, n), buf, n);
}

static void put_tag(struct bwl_pb_out *o, unsigned field, enum wire wire)
{
	put_varint(o, (uint64_t)field << 3 | wire);
}

void bwl_pb_put_int(struct bwl_pb_out *o, unsigned field, int64_t v)
{
	if (v)
		bwl_pb_put_oneof(o, field, v);
}

void bwl_pb_put_oneof(struct bwl_pb_out *o, unsigned field, int64_t v)
{
	put_tag(o, field, WIRE_VARINT);
	put_varint(o, (uint64_t)v);
}

void bwl_pb_put_bytes(struct bwl_pb_out *o, unsigned field, const void *at, size_t len)
{
	if (!len)
		return;
	put_tag(o, field, WIRE_BYTES);
	put_varint(o, len);
	memcpy(grow(o, len), at, len);
}

void bwl_pb_put_text(struct bwl_pb_out *o, unsigned field, const char *text)
{
	bwl_pb_put_bytes(o, field, text, strlen(text));
}

size_t bwl_pb_begin(struct bwl_pb_out *o, unsigned field)
{
	put_tag(o, field, WIRE_BYTES);
	return o->len;
}

void bwl_pb_end(struct bwl_pb_out *o, size_t begun)
{
	uint8_t buf[VARINT_MAX];
	size_t len = o->len - begun;
	unsigned n = varint(buf, len);

	grow(o, n);
	memmove(o->at + begun + n, o->at + begun, len);
	memcpy(o->at + begun, buf, n);
}

static int take_varint(struct bwl_pb_in *in, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned n = 0; n < VARINT_MAX && in->at < in->end; n++) {
		uint8_t byte = *in->at++;

		if (n == VARINT_MAX - 1 && byte > 1)
			return -EBADMSG; /* more than 64 bits */
		v |= (uint64_t)(byte & 0x7f) << (7 * n);
		if (!(byte & 0x80)) {
			*ret = v;
			return 0;
		}
	}
	return -EBADMSG;
}

static int take_bytes(struct bwl_pb_in *in, uint64_t len, struct bwl_pb_in *ret)
{
	if (len > bwl_pb_len(*in))
		return -EBADMSG;
	*ret = bwl_pb_in(in->at, len);
	in->at += len;
	return 0;
}

int bwl_pb_next(struct bwl_pb_in *in, struct bwl_pb_field *ret)
{
	while (in->at < in->end) {
		struct bwl_pb_in passed;
		uint64_t tag;

		*ret = (struct bwl_pb_field){ 0 };
		if (take_varint(in, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
			return -EBADMSG;
		ret->number = (unsigned)(tag >> 3);
		switch (tag & 7) {
		case WIRE_VARINT:
			return take_varint(in, &ret->v) ? -EBADMSG : 1;
		case WIRE_BYTES:
			ret->is_bytes = true;
			return take_varint(in, &ret->v) || take_bytes(in, ret->v, &ret->bytes)
				       ? -EBADMSG
				       : 1;
		case WIRE_64:
		case WIRE_32:
			if (take_bytes(in, (tag & 7) == WIRE_64 ? 8 : 4, &passed))
				return -EBADMSG;
			break;
		default:
			return -EBADMSG;
		}
	}
	return 0;
}
