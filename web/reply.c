// SPDX-License-Identifier: GPL-2.0-or-later
/* What answers and streams share: whose they are, what is requested, the headers. See web.h. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/clock.h"
#include "bwl/doc.h"
#include "web.h"

struct guest *reply_guest(struct MHD_Connection *conn)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return i ? i->socket_context : NULL;
}

const struct bwl_client *reply_client(struct MHD_Connection *conn)
{
	static const struct bwl_client nobody;
	const struct guest *g = reply_guest(conn);

	return g ? &g->place.client : &nobody;
}

bool reply_has_gone(struct MHD_Connection *conn)
{
	const struct guest *g = reply_guest(conn);
	struct pollfd p = { .fd = g ? g->fd : -1, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLRDHUP));
}

/*
 * Headers of every answer, for browsers: they may load only this page's parts, and only from here.
 */
static const char *const always[][2] = {
	{ "Content-Security-Policy",
	  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
};

enum MHD_Result reply_send(struct web *w, struct MHD_Connection *conn, unsigned status,
			   struct MHD_Response *r)
{
	enum MHD_Result done;

	if (!r)
		return MHD_NO;
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		MHD_add_response_header(r, always[i][0], always[i][1]);
	if (w->tls)
		MHD_add_response_header(r, "Strict-Transport-Security", "max-age=31536000");
	done = MHD_queue_response(conn, status, r);
	MHD_destroy_response(r);
	guests_does(reply_guest(conn), GUEST_IS_ANSWERED, GUESTS_ANSWER_S, bwl_now_ns());
	return done;
}

static enum MHD_Result refuse(struct web *w, struct MHD_Connection *conn, unsigned status,
			      const struct bwl_err *e, bool ends)
{
	json_t *o = bwl_doc_err(e, "bwlimit-web");
	char *text = bwl_must(json_dumps(o, JSON_COMPACT));
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), text,
								 MHD_RESPMEM_MUST_FREE);

	json_decref(o);
	if (r) {
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, JSON_TYPE);
		MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
		if (ends)
			MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
		if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
			MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
		if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
			MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "5");
	}
	return reply_send(w, conn, status, r);
}

enum MHD_Result reply_refuse(struct web *w, struct MHD_Connection *conn, unsigned status,
			     const struct bwl_err *e)
{
	return refuse(w, conn, status, e, false);
}

enum MHD_Result reply_hang_up(struct web *w, struct MHD_Connection *conn, unsigned status,
			      const struct bwl_err *e)
{
	return refuse(w, conn, status, e, true);
}

static const char *query(const void *conn, const char *key)
{
	return MHD_lookup_connection_value((struct MHD_Connection *)(uintptr_t)conn,
					   MHD_GET_ARGUMENT_KIND, key);
}

struct entry *reply_entry(struct web *w, struct MHD_Connection *conn, const char *name,
			  bool has_query, struct bwl_err *e, unsigned *ret_status)
{
	const struct web_documents *docs = w->conf->documents;
	const struct asking_document *d = asking_find(docs->asking, name);
	char question[ASKING_QUESTION];
	struct entry *x;

	if (!d) {
		*ret_status = MHD_HTTP_NOT_FOUND;
		bwl_fail(e, ENOENT, "there is no such document");
		bwl_hint(e, WEB_API " lists them");
		return NULL;
	}
	if (!has_query)
		snprintf(question, sizeof(question), "%s", name);
	else if (asking_question(d, query, conn, question, e)) {
		*ret_status = MHD_HTTP_BAD_REQUEST;
		return NULL;
	}
	x = cache_entry(&w->cache, docs, d, question, reply_client(conn), bwl_now_ns());
	if (!x) {
		*ret_status = MHD_HTTP_SERVICE_UNAVAILABLE;
		bwl_fail(e, EBUSY, "too many different questions at once");
	}
	return x;
}
