// SPDX-License-Identifier: GPL-2.0-or-later
/* One request: permission, document, and the answer with its headers. See web.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/clock.h"
#include "bwl/doc.h"
#include "head.h"
#include "web.h"

#define SECOND 1000000000ULL
#define MS 1000000ULL
#define PATIENCE_NS (20 * SECOND) /* how long to wait for a document */
#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct request {
	struct MHD_Connection *conn;
	struct entry *entry; /* held while the request waits, until its answer; else NULL */
	bool waits;          /* it is in w->waiting and its connection is suspended: always both */
	struct request *next;
	bool openmetrics, gone; /* gone: the client hung up */
	bool displaced;         /* from a place that the document had among those waited for */
	uint64_t since_ns;      /* when it began to wait */
};

static const char *header(struct MHD_Connection *conn, const char *key)
{
	return MHD_lookup_connection_value(conn, MHD_HEADER_KIND, key);
}

static enum MHD_Result refuse(struct web *w, struct MHD_Connection *conn, unsigned status, int code,
			      const char *text)
{
	struct bwl_err e = { 0 };

	bwl_fail(&e, code, "%s", text);
	return reply_refuse(w, conn, status, &e);
}

static void drop(void *text)
{
	text_drop(text);
}

static struct MHD_Response *response(const struct request *q, struct entry *e)
{
	struct text *t = q->openmetrics && e->status == MHD_HTTP_OK ? cache_openmetrics(e)
								    : text_share(e->text);
	struct MHD_Response *r =
		MHD_create_response_from_buffer_with_free_callback_cls(t->len, t->at, drop, t);

	if (!r)
		text_drop(t);
	return r;
}

static const char *type_of(const struct request *q, const struct entry *e)
{
	return e->status != MHD_HTTP_OK || !e->document->text ? JSON_TYPE
	       : q->openmetrics                               ? OPENMETRICS_TYPE
							      : PROMETHEUS_TYPE;
}

static enum MHD_Result send_entry(struct web *w, const struct request *q, struct entry *e)
{
	struct MHD_Response *r = response(q, e);
	char age[24];

	if (r) {
		snprintf(age, sizeof(age), "%llu",
			 (unsigned long long)cache_age_ms(e, bwl_now_ns()) / 1000);
		MHD_add_response_header(r, "Age", age);
		MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type_of(q, e));
	}
	return reply_send(w, q->conn, e->status, r);
}

static void wait_for(struct web *w, struct request *q, struct entry *e, uint64_t now_ns)
{
	cache_hold(e);
	cache_give_back(&q->entry);
	q->entry = e;
	q->since_ns = q->since_ns ? q->since_ns : now_ns;
	e->wanted_ns = e->wanted_ns ? e->wanted_ns : now_ns;
	q->waits = true;
	q->next = w->waiting;
	w->waiting = q;
	guests_does(reply_guest(q->conn), GUEST_IS_ANSWERED, GUESTS_ANSWER_S, now_ns);
	MHD_suspend_connection(q->conn);
}

/* If it must be made first the request waits. */
static enum MHD_Result give_entry(struct web *w, struct request *q, struct entry *e)
{
	uint64_t now_ns = bwl_now_ns();

	if (cache_is_fresh(e, now_ns) || (q->since_ns && e->text && e->made_ns > q->since_ns))
		return send_entry(w, q, e);
	if (w->stops)
		return refuse(w, q->conn, MHD_HTTP_SERVICE_UNAVAILABLE, ESHUTDOWN,
			      "bwlimit-web is being stopped");
	if (q->since_ns && now_ns - q->since_ns > PATIENCE_NS)
		return refuse(w, q->conn, MHD_HTTP_SERVICE_UNAVAILABLE, ETIMEDOUT,
			      "bwlimitd has not answered in time");
	wait_for(w, q, e, now_ns);
	return MHD_YES;
}

static void wake(struct request **at)
{
	struct request *q = *at;

	*at = q->next;
	q->waits = false;
	MHD_resume_connection(q->conn);
}

/*
 * Gives up a question of the client that has most, and refuses the requests that wait for it.
 * false: none can be.
 */
static bool displace(struct web *w)
{
	const struct entry *e = cache_crowds(&w->cache);
	struct request **at = &w->waiting, *q;

	while (e && (q = *at)) {
		if (q->entry != e) {
			at = &q->next;
			continue;
		}
		q->displaced = true;
		cache_give_back(&q->entry);
		wake(at);
	}
	return e;
}

void answer_wake(struct web *w, uint64_t now_ns)
{
	struct request **at = &w->waiting, *q;

	while ((q = *at)) {
		q->gone = reply_has_gone(q->conn);
		if (!q->gone && q->entry->made_ns <= q->since_ns &&
		    now_ns - q->since_ns <= PATIENCE_NS) {
			at = &q->next;
			continue;
		}
		wake(at);
	}
}

static enum MHD_Result document(struct web *w, struct request *q, const char *name)
{
	struct bwl_err e = { 0 };
	unsigned status = 0;
	struct entry *x = reply_entry(w, q->conn, name, true, &e, &status);

	if (!x && status == MHD_HTTP_SERVICE_UNAVAILABLE && displace(w)) {
		e = (struct bwl_err){ 0 };
		x = reply_entry(w, q->conn, name, true, &e, &status);
	}
	return x ? give_entry(w, q, x) : reply_refuse(w, q->conn, status, &e);
}

static enum MHD_Result send_json(struct web *w, struct MHD_Connection *conn, json_t *o)
{
	char *text = bwl_must(json_dumps(o, JSON_COMPACT));
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), text,
								 MHD_RESPMEM_MUST_FREE);

	json_decref(o);
	if (r) {
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, JSON_TYPE);
		MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	}
	return reply_send(w, conn, MHD_HTTP_OK, r);
}

static enum MHD_Result about(struct web *w, struct MHD_Connection *conn)
{
	const struct web_documents *d = w->conf->documents;
	json_t *o = bwl_doc("api"), *names = json_array();
	char now[BWL_TIME_BUF];

	for (unsigned i = 0; d->asking[i].name; i++)
		if (!d->how[i].is_hidden)
			json_array_append_new(names, json_string(d->asking[i].name));
	json_object_set_new(o, "scope", json_string(d->scope));
	json_object_set_new(o, "name", json_string(w->conf->name));
	json_object_set_new(o, "documents", names);
	json_object_set_new(o, "bwlimit", json_string(BWL_VERSION));
	json_object_set_new(o, "now", json_string(bwl_utc_now(now)));
	return send_json(w, conn, o);
}

static enum MHD_Result file(struct web *w, struct MHD_Connection *conn, const char *path)
{
	const struct page_file *f = page_find(&w->conf->page, path);
	struct MHD_Response *r;

	if (!f)
		return refuse(w, conn, MHD_HTTP_NOT_FOUND, ENOENT, "there is nothing here");
	r = MHD_create_response_from_buffer(f->len, f->bytes, MHD_RESPMEM_PERSISTENT);
	if (r) {
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, f->type);
		MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL,
					strncmp(f->path, "/assets/", 8)
						? "no-cache"
						: "public, max-age=31536000, immutable");
	}
	return reply_send(w, conn, MHD_HTTP_OK, r);
}

static enum MHD_Result metrics(struct web *w, struct request *q)
{
	const char *accept = header(q->conn, MHD_HTTP_HEADER_ACCEPT);

	q->openmetrics = accept && head_wants_openmetrics(accept);
	return document(w, q, WEB_METRICS);
}

/* A page from elsewhere may not load it, not even to measure how long that takes. */
static bool is_from_elsewhere(struct MHD_Connection *conn)
{
	const char *site = header(conn, "Sec-Fetch-Site"), *mode = header(conn, "Sec-Fetch-Mode");

	return site && strcmp(site, "same-origin") && strcmp(site, "none") &&
	       !(mode && !strcmp(mode, "navigate"));
}

static enum MHD_Result route(struct web *w, struct request *q, const char *path)
{
	const char *name = path + strlen(WEB_API);
	struct bwl_err e = { 0 };
	const struct asking_document *d;

	if (!strcmp(path, "/metrics"))
		return metrics(w, q);
	if (strncmp(path, WEB_API, strlen(WEB_API)))
		return file(w, q->conn, path);
	if (!*name)
		return about(w, q->conn);
	if (!strcmp(name, "stream"))
		return stream_open(w, q->conn);
	d = asking_find(w->conf->documents->asking, name);
	if (d && !w->conf->documents->how[d - w->conf->documents->asking].is_hidden)
		return document(w, q, name);
	bwl_fail(&e, ENOENT, "there is no such document");
	bwl_hint(&e, WEB_API " lists them");
	return reply_refuse(w, q->conn, MHD_HTTP_NOT_FOUND, &e);
}

enum MHD_Result answer_ask(struct web *w, struct MHD_Connection *conn, const char *path,
			   const char *method, const char *version, bool has_body, void **ctx)
{
	bool is_get = !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
	const char *host = header(conn, MHD_HTTP_HEADER_HOST);
	const struct guest *g = reply_guest(conn);
	struct request *q = *ctx;
	struct bwl_err e = { 0 };
	const char *wrong = q || !g ? NULL : bwl_strict_head(&g->strict, conn, method, version);
	enum MHD_Result r;

	if (wrong) {
		bwl_fail(&e, EINVAL, "%s", wrong);
		return reply_hang_up(w, conn, MHD_HTTP_BAD_REQUEST, &e);
	}
	has_body |= header(conn, MHD_HTTP_HEADER_TRANSFER_ENCODING) ||
		    header(conn, MHD_HTTP_HEADER_CONTENT_LENGTH);

	/*
	 * A client that gets its answer on the first call, before its body has arrived, is
	 * disconnected afterwards.
	 */
	if (!q && is_get && !has_body) {
		q = bwl_must(calloc(1, sizeof(*q)));
		q->conn = conn;
		*ctx = q;
		return MHD_YES;
	}
	if (q && q->gone)
		return MHD_NO;
	if (q && q->displaced) {
		bwl_fail(&e, EBUSY,
			 "%u different questions wait, and this one's client has most of them",
			 CACHE_QUERIES);
		bwl_hint(&e, "ask them one after the other");
		return reply_refuse(w, conn, MHD_HTTP_SERVICE_UNAVAILABLE, &e);
	}
	if (!is_get)
		return refuse(w, conn, MHD_HTTP_METHOD_NOT_ALLOWED, EPERM,
			      "only GET and HEAD are allowed: nothing can be changed here");
	if (has_body)
		return refuse(w, conn, MHD_HTTP_CONTENT_TOO_LARGE, EINVAL,
			      "a request must not have a body");
	if (!host || !head_is_our_host(host, (const struct sockaddr *)&w->conf->at, w->conf->hosts))
		return refuse(w, conn, 421, EACCES,
			      "this host name is not allowed: name it with --host");
	if (is_from_elsewhere(conn))
		return refuse(w, conn, MHD_HTTP_FORBIDDEN, EACCES,
			      "pages of other origins may not ask here");
	r = route(w, q, path);
	if (!q->waits)
		cache_give_back(&q->entry);
	return r;
}

/* Only called when it does not wait: a suspended connection does not end. */
void answer_end(void **ctx)
{
	struct request *q = *ctx;

	if (!q)
		return;
	cache_give_back(&q->entry);
	free(q);
	*ctx = NULL;
}
