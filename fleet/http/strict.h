/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A request whose head does not have the form of RFC 9112 is refused, whatever it asks for:
 * libmicrohttpd reads leniently what a proxy in front of it may read in another way. So is a path
 * or a query that has a control when it is decoded, or is cut within an escape.
 */
#ifndef BWL_HTTP_STRICT_H
#define BWL_HTTP_STRICT_H

#include <microhttpd.h>
#include <stddef.h>

/* For MHD_start_daemon(): what it can refuse by itself. */
#if MHD_VERSION >= 0x00097701
#define BWL_STRICT_OPTION MHD_OPTION_CLIENT_DISCIPLINE_LVL
#else
#define BWL_STRICT_OPTION MHD_OPTION_STRICT_FOR_CLIENT
#endif

/* A path and a query, as they were sent. NULL: well formed; otherwise what is wrong. Pure. */
const char *bwl_strict_target(const char *target);
/* The same of a field. Pure. */
const char *bwl_strict_field(const char *name, size_t name_len, const char *value,
			     size_t value_len);

/* What is noted of a request's target before libmicrohttpd decodes it: a connection has one. */
struct bwl_strict {
	const char *wrong, *end;
};
/* From MHD_OPTION_URI_LOG_CALLBACK's function. */
void bwl_strict_note(struct bwl_strict *s, const char *target);
/*
 * The whole head; method and version are libmicrohttpd's pointers. What is wrong has to end the
 * connection: where the next request begins is not known.
 */
const char *bwl_strict_head(const struct bwl_strict *s, struct MHD_Connection *conn,
			    const char *method, const char *version);

#endif
