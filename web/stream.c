// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Server-sent events: changed documents. A stream has no queue: when the client has read what was
 * sent, it gets the newest version of what it lacks. So a slow reader gets fewer, and one that does
 * not read is disconnected (guests.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/clock.h"
#include "bwl/doc.h"
#include "head.h"
#include "web.h"

#define SECOND 1000000000ULL
#define MS 1000000ULL
#define BEAT_NS (15 * SECOND)
#define SUBSCRIPTIONS 16
#define BLOCK 65536
#define OK 200

static const char tail[] = "}\n\n";
#define TAIL (sizeof(tail) - 1)

struct subscription {
	struct entry *entry; /* held */
	uint64_t version;    /* the version that was sent */
	uint64_t sent_ns;
};

struct stream {
	struct web *web;
	struct MHD_Connection *conn;
	bool waits, gone; /* waits: suspended; gone: the client hung up */
	uint64_t every_ns, said_ns;
	unsigned n;
	struct subscription subscription[SUBSCRIPTIONS];
	/* What is being sent: lead, text and tail. */
	char lead[128];
	size_t lead_len, at, len; /* len 0: nothing */
	struct text *text;
};

static bool is_due(const struct stream *s, const struct subscription *x, uint64_t now_ns)
{
	return x->entry->text && x->entry->version != x->version &&
	       (!x->sent_ns || now_ns - x->sent_ns >= s->every_ns - 100 * MS);
}

static struct subscription *due(struct stream *s, uint64_t now_ns)
{
	for (unsigned i = 0; i < s->n; i++)
		if (is_due(s, &s->subscription[i], now_ns))
			return &s->subscription[i];
	return NULL;
}

static void begin_document(struct stream *s, struct subscription *x, uint64_t now_ns)
{
	const struct entry *e = x->entry;
	unsigned long long age_ms = cache_age_ms(e, now_ns);
	int n = e->status == OK ? snprintf(s->lead, sizeof(s->lead),
					   "event: %s\ndata: {\"age_ms\":%llu,\"document\":",
					   e->document->name, age_ms)
				: snprintf(s->lead, sizeof(s->lead),
					   "event: error\ndata: {\"name\":\"%s\",\"document\":",
					   e->document->name);

	s->lead_len = (size_t)n;
	s->text = text_share(e->text);
	s->len = s->lead_len + s->text->len + TAIL;
	s->at = 0;
	x->version = e->version;
	x->sent_ns = s->said_ns = now_ns;
}

static void begin_beat(struct stream *s, uint64_t now_ns)
{
	char now[BWL_TIME_BUF];

	s->lead_len = (size_t)snprintf(s->lead, sizeof(s->lead),
				       "event: beat\ndata: {\"now\":\"%s\"", bwl_utc_now(now));
	s->text = NULL;
	s->len = s->lead_len + TAIL;
	s->at = 0;
	s->said_ns = now_ns;
}

/* Copies as much as fits of the piece that begins at `from`. */
static void piece(const struct stream *s, size_t from, const char *bytes, size_t len, char *buf,
		  size_t max, size_t *n)
{
	size_t at = s->at + *n, part;

	if (at < from || at >= from + len)
		return;
	part = from + len - at;
	part = part < max - *n ? part : max - *n;
	memcpy(buf + *n, bytes + (at - from), part);
	*n += part;
}

static size_t give(struct stream *s, char *buf, size_t max)
{
	size_t n = 0, text = s->text ? s->text->len : 0;

	piece(s, 0, s->lead, s->lead_len, buf, max, &n);
	if (s->text)
		piece(s, s->lead_len, s->text->at, text, buf, max, &n);
	piece(s, s->lead_len + text, tail, TAIL, buf, max, &n);
	s->at += n;
	if (s->at == s->len) {
		text_drop(s->text);
		s->text = NULL;
		s->len = 0;
	}
	return n;
}

/* libmicrohttpd calls this when the previous bytes are taken and there is room for more. */
static ssize_t more(void *arg, uint64_t pos, char *buf, size_t max)
{
	struct stream *s = arg;
	uint64_t now_ns = bwl_now_ns();
	struct subscription *x;

	(void)pos;
	if (s->gone)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	x = s->len ? NULL : due(s, now_ns);
	if (x)
		begin_document(s, x, now_ns);
	else if (!s->len && now_ns - s->said_ns >= BEAT_NS)
		begin_beat(s, now_ns);
	if (!s->len) {
		s->waits = true;
		guests_does(reply_guest(s->conn), GUEST_STREAMS, 0, now_ns);
		MHD_suspend_connection(s->conn);
		return 0;
	}
	guests_does(reply_guest(s->conn), GUEST_STREAMS, GUESTS_STREAM_S, now_ns);
	return (ssize_t)give(s, buf, max);
}

static void end(void *arg)
{
	struct stream *s = arg;

	for (unsigned i = 0; i < WEB_STREAMS; i++)
		if (s->web->stream[i].stream == s)
			s->web->stream[i] = (struct stream_place){ .stream = NULL };
	for (unsigned i = 0; i < s->n; i++)
		cache_give_back(&s->subscription[i].entry);
	text_drop(s->text);
	free(s);
}

struct subscribing {
	struct stream *s;
	struct bwl_err *e;
	unsigned status;
};

static bool subscribe(void *arg, const char *name)
{
	struct subscribing *a = arg;
	struct stream *s = a->s;
	const struct web_documents *d = s->web->conf->documents;
	const struct asking_document *x = asking_find(d->asking, name);
	struct entry *e;

	if (s->n == SUBSCRIPTIONS || (x && d->how[x - d->asking].is_hidden)) {
		bwl_fail(a->e, EINVAL, "at most %u documents, of those that %s lists",
			 SUBSCRIPTIONS, WEB_API);
		a->status = MHD_HTTP_BAD_REQUEST;
		return false;
	}
	e = reply_entry(s->web, s->conn, name, false, a->e, &a->status);
	if (!e)
		return false;
	s->subscription[s->n++] = (struct subscription){ .entry = cache_hold(e) };
	return true;
}

/* In the next run. */
static void end_soon(struct stream *s)
{
	s->gone = true;
	if (s->waits)
		MHD_resume_connection(s->conn);
	s->waits = false;
}

/* A free place; if there is none, that of the client's oldest that has most. */
static struct stream_place *place_for(struct web *w)
{
	struct stream_place *p;

	for (unsigned i = 0; i < WEB_STREAMS; i++)
		if (!w->stream[i].stream)
			return &w->stream[i];
	p = bwl_place_to_go(w->stream, sizeof(*p), WEB_STREAMS, BWL_PLACE_KNOWN);
	guests_shut(reply_guest(p->stream->conn));
	end_soon(p->stream);
	return p;
}

static enum MHD_Result refuse(struct web *w, struct stream *s, unsigned status,
			      const struct bwl_err *e)
{
	struct MHD_Connection *conn = s->conn;

	end(s);
	return reply_refuse(w, conn, status, e);
}

enum MHD_Result stream_open(struct web *w, struct MHD_Connection *conn)
{
	const char *list = MHD_lookup_connection_value(conn, MHD_GET_ARGUMENT_KIND, "documents"),
		   *every = MHD_lookup_connection_value(conn, MHD_GET_ARGUMENT_KIND, "every");
	struct stream *s = bwl_must(calloc(1, sizeof(*s)));
	struct bwl_err e = { 0 };
	struct subscribing a = { s, &e, MHD_HTTP_BAD_REQUEST };
	struct MHD_Response *r;

	*s = (struct stream){ .web = w, .conn = conn, .said_ns = bwl_now_ns() };
	s->every_ns = head_every_ns(every ? every : "1s");
	if (w->stops) {
		bwl_fail(&e, ESHUTDOWN, "bwlimit-web is being stopped");
		return refuse(w, s, MHD_HTTP_SERVICE_UNAVAILABLE, &e);
	}
	if (!s->every_ns) {
		bwl_fail(&e, EINVAL, "every: must be a time from 1s to 1h");
		return refuse(w, s, MHD_HTTP_BAD_REQUEST, &e);
	}
	if (!list || !head_each_word(list, subscribe, &a)) {
		if (!e.code)
			bwl_fail(&e, EINVAL, "documents: must be names separated by commas");
		return refuse(w, s, a.status, &e);
	}
	r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, more, s, end);
	if (!r) {
		end(s);
		return MHD_NO;
	}
	*place_for(w) = (struct stream_place){
		.place = { BWL_PLACE_KNOWN, .client = *reply_client(conn), .since_ns = s->said_ns },
		.stream = s
	};
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
	MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	return reply_send(w, conn, MHD_HTTP_OK, r);
}

/* A command that keeps running is asked at once: its document comes when it is ready. */
static void want(const struct stream *s, struct entry *e, uint64_t now_ns)
{
	uint64_t every_ns = s->every_ns, least_ns = e->how->every_ms * MS;

	every_ns = every_ns > least_ns ? every_ns : least_ns;
	every_ns = e->how->goes_on && every_ns == least_ns ? 0 : every_ns;
	if (!e->wanted_ns && (!e->text || now_ns - e->made_ns >= every_ns))
		e->wanted_ns = now_ns;
}

void stream_step(struct web *w, uint64_t now_ns)
{
	for (unsigned i = 0; i < WEB_STREAMS; i++) {
		struct stream *s = w->stream[i].stream;

		if (!s)
			continue;
		for (unsigned k = 0; k < s->n; k++)
			want(s, s->subscription[k].entry, now_ns);
		s->gone = s->gone || reply_has_gone(s->conn);
		if (s->waits && (s->gone || due(s, now_ns) || now_ns - s->said_ns >= BEAT_NS)) {
			s->waits = false;
			MHD_resume_connection(s->conn);
		}
	}
}

void stream_stop(struct web *w)
{
	for (unsigned i = 0; i < WEB_STREAMS; i++)
		if (w->stream[i].stream)
			end_soon(w->stream[i].stream);
}
