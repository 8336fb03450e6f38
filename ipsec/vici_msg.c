// SPDX-License-Identifier: GPL-2.0-or-later
/* VICI packets from and to trees. No I/O: foreign input is decoded here, and fuzzed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ipsec/vici.h"

/* Elements of a message. Lengths of values have two bytes, most significant first. */
enum element { SECTION = 1, SECTION_END, VALUE, LIST, ITEM, LIST_END };

#define MAX_DEPTH 16 /* charon's messages have up to five levels */

static bool is_named(enum bwl_vici_op op)
{
	return op == BWL_VICI_REQUEST || op == BWL_VICI_REGISTER || op == BWL_VICI_UNREGISTER ||
	       op == BWL_VICI_EVENT;
}

struct out {
	uint8_t *data;
	size_t len, room;
	const char *trouble; /* the first thing that VICI cannot express */
};

static void put(struct out *o, const void *data, size_t n)
{
	if (o->trouble)
		return;
	if (o->len + n > BWL_VICI_MAX + 4) {
		o->trouble = "longer than 512 KiB";
		return;
	}
	if (o->len + n > o->room) {
		size_t room = 2 * (o->len + n);
		uint8_t *grown = realloc(o->data, room);

		if (!grown) {
			o->trouble = "out of memory";
			return;
		}
		o->data = grown;
		o->room = room;
	}
	memcpy(o->data + o->len, data, n);
	o->len += n;
}

static void put_byte(struct out *o, unsigned v)
{
	put(o, &(uint8_t){ v }, 1);
}

static void put_name(struct out *o, const char *name)
{
	size_t n = strlen(name);

	if (n > 255)
		o->trouble = "a name is longer than 255 bytes";
	put_byte(o, (unsigned)n);
	put(o, name, n);
}

static void put_text(struct out *o, json_t *v)
{
	size_t n = json_string_length(v);

	if (!json_is_string(v))
		o->trouble = "neither a string, a list of strings nor a section";
	if (n > UINT16_MAX)
		o->trouble = "a value is longer than 65535 bytes";
	put_byte(o, (unsigned)(n >> 8));
	put_byte(o, n & 0xff);
	put(o, json_string_value(v), n);
}

static void put_section(struct out *o, json_t *section, unsigned depth)
{
	const char *key;
	json_t *v, *item;
	size_t i;

	if (depth > MAX_DEPTH)
		o->trouble = "too deep";
	json_object_foreach(section, key, v)
	{
		if (o->trouble)
			return;
		if (json_is_object(v)) {
			put_byte(o, SECTION);
			put_name(o, key);
			put_section(o, v, depth + 1);
			put_byte(o, SECTION_END);
		} else if (json_is_array(v)) {
			put_byte(o, LIST);
			put_name(o, key);
			json_array_foreach(v, i, item)
			{
				put_byte(o, ITEM);
				put_text(o, item);
			}
			put_byte(o, LIST_END);
		} else {
			put_byte(o, VALUE);
			put_name(o, key);
			put_text(o, v);
		}
	}
}

int bwl_vici_encode(enum bwl_vici_op op, const char *name, json_t *msg, uint8_t **ret,
		    size_t *ret_len, struct bwl_err *e)
{
	struct out o = { 0 };
	size_t n;

	put(&o, "\0\0\0\0", 4);
	put_byte(&o, op);
	if (is_named(op))
		put_name(&o, name ? name : "");
	if (msg)
		put_section(&o, msg, 1);
	if (o.trouble) {
		free(o.data);
		return bwl_fail(e, EMSGSIZE, "cannot encode this message for charon: %s",
				o.trouble);
	}
	n = o.len - 4;
	for (unsigned i = 0; i < 4; i++)
		o.data[i] = (uint8_t)(n >> (24 - 8 * i));
	*ret = o.data;
	*ret_len = o.len;
	return 0;
}

struct in {
	const uint8_t *at, *end;
};

/* The next n bytes; NULL if there are fewer. */
static const uint8_t *take(struct in *in, size_t n)
{
	const uint8_t *p = in->at;

	if ((size_t)(in->end - in->at) < n)
		return NULL;
	in->at += n;
	return p;
}

static const uint8_t *take_sized(struct in *in, unsigned bytes_of_size, size_t *ret_len)
{
	const uint8_t *p = take(in, bytes_of_size);

	if (!p)
		return NULL;
	*ret_len = bytes_of_size == 1 ? p[0] : (size_t)(p[0] << 8 | p[1]);
	return take(in, *ret_len);
}

/* Text unchanged, anything else as hexadecimal. NULL: out of memory. */
static json_t *text_of(const uint8_t *data, size_t len)
{
	json_t *s = memchr(data, 0, len) ? NULL : json_stringn((const char *)data, len);
	char *hex;

	if (s)
		return s;
	hex = malloc(2 * len + 3);
	if (!hex)
		return NULL;
	strcpy(hex, "0x");
	for (size_t i = 0; i < len; i++)
		sprintf(hex + 2 + 2 * i, "%02x", data[i]);
	s = json_string(hex);
	free(hex);
	return s;
}

/* Adds v under the name, and takes it over. A second value of that name is left out. */
static bool add(json_t *section, const uint8_t *name, size_t len, json_t *v)
{
	json_t *key = v ? text_of(name, len) : NULL;
	int r = -1;

	if (key && json_object_get(section, json_string_value(key)))
		r = 0;
	else if (key)
		r = json_object_set(section, json_string_value(key), v);
	json_decref(key);
	json_decref(v);
	return !r;
}

static const char *decode_list(struct in *in, json_t *list)
{
	const uint8_t *type, *p;
	size_t n;

	while ((type = take(in, 1))) {
		if (*type == LIST_END)
			return NULL;
		if (*type != ITEM)
			return "a list contains something that is not an item";
		p = take_sized(in, 2, &n);
		if (!p)
			break;
		if (json_array_append_new(list, text_of(p, n)))
			return "out of memory";
	}
	return "a list has no end";
}

/* Decodes one element of a section. Returns NULL, or what is wrong. */
static const char *decode_element(struct in *in, uint8_t type, json_t *stack[], unsigned *depth)
{
	json_t *section = stack[*depth], *v;
	const uint8_t *name, *p;
	const char *wrong;
	size_t nlen, n;

	if (type == SECTION_END) {
		if (!*depth)
			return "the end of a section that was never started";
		json_decref(stack[(*depth)--]);
		return NULL;
	}
	if (type != SECTION && type != VALUE && type != LIST)
		return type == ITEM || type == LIST_END ? "an item outside of a list"
							: "an unknown kind of element";
	name = take_sized(in, 1, &nlen);
	if (!name)
		return "a name is cut off";
	if (type == VALUE) {
		p = take_sized(in, 2, &n);
		if (!p)
			return "a value is cut off";
		return add(section, name, nlen, text_of(p, n)) ? NULL : "out of memory";
	}
	if (type == LIST) {
		v = json_array();
		wrong = decode_list(in, v);
		if (!wrong)
			return add(section, name, nlen, v) ? NULL : "out of memory";
		json_decref(v);
		return wrong;
	}
	if (*depth + 1 == MAX_DEPTH)
		return "sections nested deeper than charon allows";
	v = json_object();
	stack[++*depth] = json_incref(v);
	return add(section, name, nlen, v) ? NULL : "out of memory";
}

static const char *decode_message(struct in *in, json_t *root)
{
	json_t *stack[MAX_DEPTH] = { json_incref(root) };
	const char *wrong = NULL;
	unsigned depth = 0;

	while (!wrong && in->at < in->end)
		wrong = decode_element(in, *take(in, 1), stack, &depth);
	if (!wrong && depth)
		wrong = "a section has no end";
	do
		json_decref(stack[depth]);
	while (depth--);
	return wrong;
}

int bwl_vici_decode(const uint8_t *data, size_t len, struct bwl_vici_packet *ret, struct bwl_err *e)
{
	struct in in = { data, data + len };
	const char *wrong = NULL;
	const uint8_t *p;
	size_t n;

	memset(ret, 0, sizeof(*ret));
	if (len > BWL_VICI_MAX)
		return bwl_fail(e, EBADMSG, "a packet of %zu bytes: charon sends at most 512 KiB",
				len);
	p = take(&in, 1);
	if (!p || *p >= _BWL_VICI_OP_MAX)
		return bwl_fail(e, EBADMSG, "not a packet of charon: unknown kind");
	ret->op = *p;
	if (is_named(ret->op)) {
		p = take_sized(&in, 1, &n);
		if (!p || memchr(p, 0, n))
			return bwl_fail(e, EBADMSG, "not a packet of charon: no name");
		memcpy(ret->name, p, n);
	}
	ret->msg = json_object();
	wrong = decode_message(&in, ret->msg);
	if (!wrong)
		return 0;
	json_decref(ret->msg);
	ret->msg = NULL;
	return bwl_fail(e, EBADMSG, "not a message of charon: %s", wrong);
}

const char *bwl_vici_text(const json_t *section, const char *key)
{
	const char *s = json_string_value(json_object_get(section, key));

	return s ? s : "";
}

uint64_t bwl_vici_number(const json_t *section, const char *key)
{
	return strtoull(bwl_vici_text(section, key), NULL, 10);
}
