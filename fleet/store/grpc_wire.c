// SPDX-License-Identifier: GPL-2.0-or-later
/* See grpc_wire.h. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "grpc_wire.h"

void bwl_grpc_head(uint8_t head[static BWL_GRPC_HEAD], uint32_t len)
{
	head[0] = 0;
	for (unsigned i = 0; i < 4; i++)
		head[1 + i] = (uint8_t)(len >> (24 - 8 * i));
}

static int begin(struct bwl_grpc_frames *f)
{
	uint32_t len = (uint32_t)f->head[1] << 24 | (uint32_t)f->head[2] << 16 |
		       (uint32_t)f->head[3] << 8 | f->head[4];

	if (f->head[0])
		return -EBADMSG;
	if (len > f->most)
		return -EMSGSIZE;
	f->msg = bwl_must(malloc(len ? len : 1));
	f->len = len;
	f->got = 0;
	return 0;
}

int bwl_grpc_feed(struct bwl_grpc_frames *f, const void *data, size_t len,
		  int (*said)(void *arg, const uint8_t *msg, size_t len), void *arg)
{
	const uint8_t *at = data, *end = at + len;

	while (at < end || (f->msg && f->got == f->len)) {
		size_t n = (size_t)(end - at);
		int r;

		if (!f->msg) {
			f->head[f->have++] = *at++;
			if (f->have < BWL_GRPC_HEAD)
				continue;
			r = begin(f);
			if (r)
				return r;
			continue;
		}
		if (n > f->len - f->got)
			n = f->len - f->got;
		memcpy(f->msg + f->got, at, n);
		f->got += n;
		at += n;
		if (f->got < f->len)
			continue;
		r = said(arg, f->msg, f->len);
		bwl_grpc_frames_done(f);
		if (r)
			return r;
	}
	return 0;
}

bool bwl_grpc_is_within(const struct bwl_grpc_frames *f)
{
	return f->have;
}

void bwl_grpc_frames_done(struct bwl_grpc_frames *f)
{
	free(f->msg);
	f->msg = NULL;
	f->have = 0;
}

static int hex(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					    : -1;
}

/* Percent-encoded. Whatever would disturb a terminal or a log line becomes '?'. */
static void take_text(char out[static BWL_GRPC_TEXT], const char *v, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < BWL_GRPC_TEXT - 1; i++) {
		int c = (unsigned char)v[i];

		if (c == '%' && i + 2 < len && hex(v[i + 1]) >= 0 && hex(v[i + 2]) >= 0) {
			c = hex(v[i + 1]) << 4 | hex(v[i + 2]);
			i += 2;
		}
		out[n++] = c < ' ' || c >= 0x7f ? '?' : (char)c;
	}
	out[n] = '\0';
}

/* -1: not a number below 1000. */
static int take_number(const char *v, size_t len)
{
	int n = 0;

	if (!len || len > 3)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)v[i]))
			return -1;
		n = n * 10 + v[i] - '0';
	}
	return n;
}

static bool is_name(const char *line, size_t len, const char *name)
{
	return len == strlen(name) && !strncasecmp(line, name, len);
}

static void status_line(struct bwl_grpc_end *end, const char *line, size_t len)
{
	const char *at = memchr(line, ' ', len);
	int n;

	if (!at || (size_t)(line + len - at) < 4)
		return;
	n = take_number(at + 1, 3);
	*end = (struct bwl_grpc_end){ .http = n > 0 ? (unsigned)n : 0,
				      .http_ok = n == 200,
				      .is_h2 = line[5] == '2',
				      .code = -1 };
}

void bwl_grpc_header(struct bwl_grpc_end *end, const char *line, size_t len)
{
	const char *colon, *v;
	size_t n;

	while (len && isspace((unsigned char)line[len - 1]))
		len--;
	if (len > 5 && !strncmp(line, "HTTP/", 5)) {
		status_line(end, line, len);
		return;
	}
	colon = len ? memchr(line, ':', len) : NULL;
	if (!colon)
		return;
	for (v = colon + 1; v < line + len && *v == ' '; v++)
		;
	n = (size_t)(line + len - v);
	if (is_name(line, (size_t)(colon - line), "content-type")) {
		end->is_grpc = n >= 16 && !strncasecmp(v, "application/grpc", 16) &&
			       (n == 16 || v[16] == '+' || v[16] == ';');
	} else if (is_name(line, (size_t)(colon - line), "grpc-status")) {
		int code = take_number(v, n);

		end->code = code < 0 || code > BWL_GRPC_CODE_MAX ? BWL_GRPC_UNKNOWN : code;
	} else if (is_name(line, (size_t)(colon - line), "grpc-message")) {
		take_text(end->text, v, n);
	}
}

/* See grpc's doc/http-grpc-status-mapping.md. */
static int code_of_http(unsigned http)
{
	switch (http) {
	case 401:
		return BWL_GRPC_UNAUTHENTICATED;
	case 403:
		return BWL_GRPC_DENIED;
	case 404:
		return BWL_GRPC_UNIMPLEMENTED;
	case 429:
	case 502:
	case 503:
	case 504:
		return BWL_GRPC_UNAVAILABLE;
	default:
		return BWL_GRPC_UNKNOWN;
	}
}

int bwl_grpc_code(const struct bwl_grpc_end *end)
{
	if (!end->http_ok)
		return code_of_http(end->http);
	if (!end->is_grpc || end->code < 0)
		return BWL_GRPC_INTERNAL;
	return end->code;
}

int bwl_grpc_errno(int code)
{
	switch (code) {
	case BWL_GRPC_OK:
		return 0;
	case BWL_GRPC_DEADLINE:
		return ETIMEDOUT;
	case BWL_GRPC_NOT_FOUND:
		return ENOENT;
	case BWL_GRPC_EXISTS:
		return EEXIST;
	case BWL_GRPC_DENIED:
	case BWL_GRPC_UNAUTHENTICATED:
		return EACCES;
	case BWL_GRPC_EXHAUSTED:
		return ENOSPC;
	case BWL_GRPC_PRECONDITION:
		return EBUSY;
	case BWL_GRPC_OUT_OF_RANGE:
		return ERANGE;
	case BWL_GRPC_UNIMPLEMENTED:
		return EOPNOTSUPP;
	case BWL_GRPC_UNAVAILABLE:
		return EHOSTUNREACH;
	default:
		return EPROTO;
	}
}
