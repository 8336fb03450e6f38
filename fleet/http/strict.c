// SPDX-License-Identifier: GPL-2.0-or-later
/* See strict.h. */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "strict.h"

/* Both name it, and must mean the same one: RFC 9112, 3.2 and 6.3. */
static const char *const once[] = { MHD_HTTP_HEADER_HOST, MHD_HTTP_HEADER_CONTENT_LENGTH,
				    MHD_HTTP_HEADER_TRANSFER_ENCODING };
#define ONCE (sizeof(once) / sizeof(*once))

static unsigned digit(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
}

const char *bwl_strict_target(const char *target)
{
	for (const char *c = target; *c; c++) {
		unsigned byte;

		if (*c <= ' ' || *c > '~')
			return "the path and the query must be printable ASCII: write other bytes as %XX";
		if (*c != '%')
			continue;
		if (!isxdigit((unsigned char)c[1]) || !isxdigit((unsigned char)c[2]))
			return "a '%' in the path or the query must have two hexadecimal digits after it";
		byte = digit(c[1]) << 4 | digit(c[2]);
		if (byte < ' ' || byte == 0x7f)
			return "the path and the query must not have controls, such as %00";
		c += 2;
	}
	return NULL;
}

static bool is_token(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

const char *bwl_strict_field(const char *name, size_t name_len, const char *value, size_t value_len)
{
	for (size_t i = 0; i < name_len; i++)
		if (!is_token(name[i]))
			return "a header's name must have no white space, also not before its colon, and no controls";
	if (!name_len)
		return "a header has no name";
	for (size_t i = 0; i < value_len; i++)
		if ((value[i] >= 0 && value[i] < ' ' && value[i] != '\t') || value[i] == 0x7f)
			return "a header's value must not have controls, and no line break of it";
	return NULL;
}

void bwl_strict_note(struct bwl_strict *s, const char *target)
{
	*s = (struct bwl_strict){ bwl_strict_target(target), target + strlen(target) };
}

/*
 * libmicrohttpd before 0.9.77 parses in place, and writes a NUL over each byte of a line's end: so
 * two are between a value and the next name, and four before the end of the head. Otherwise there
 * was a bare LF, a value that goes on in the next line, a line without a name, or a NUL that hides
 * the rest of a line. Later ones refuse these themselves.
 */
static bool is_in_place(void)
{
	const char *is = MHD_get_version();

	return !strncmp(is, "0.9.", 4) && atoi(is + 4) < 77;
}

static const char lines[] =
	"each line of the head must end with CR and LF, and be a header of its own";

struct look {
	const char *wrong, *end; /* end: of what was looked at last */
	unsigned seen[ONCE];
};

static enum MHD_Result look_at(void *arg, enum MHD_ValueKind kind, const char *name,
			       size_t name_len, const char *value, size_t value_len)
{
	struct look *l = arg;

	(void)kind;
	value = value ? value : "";
	l->wrong = bwl_strict_field(name, name_len, value, value_len);
	if (!l->wrong && is_in_place() && name != l->end + 2)
		l->wrong = lines;
	l->end = value + value_len;
	for (size_t i = 0; i < ONCE; i++)
		if (name_len == strlen(once[i]) && !strncasecmp(name, once[i], name_len) &&
		    l->seen[i]++)
			l->wrong = "Host, Content-Length and Transfer-Encoding must be given once";
	return l->wrong ? MHD_NO : MHD_YES;
}

const char *bwl_strict_head(const struct bwl_strict *s, struct MHD_Connection *conn,
			    const char *method, const char *version)
{
	struct look l = { .wrong = s->wrong, .end = version + strlen(version) };
	const union MHD_ConnectionInfo *size;

	if (!l.wrong && is_in_place() && version != s->end + 1)
		l.wrong = "the request's line must be a method, a path and a version";
	if (!l.wrong)
		MHD_get_connection_values_n(conn, MHD_HEADER_KIND, look_at, &l);
	size = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	if (!l.wrong && is_in_place() && (!size || l.end + 4 != method + size->header_size))
		l.wrong = lines;
	return l.wrong;
}
