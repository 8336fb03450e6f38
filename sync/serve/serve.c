// SPDX-License-Identifier: GPL-2.0-or-later
/* See serve.h. */
#include <stdlib.h>
#include <string.h>
#include "asking/ask.h"
#include "asking/words.h"
#include "bwl/cleanup.h"
#include "serve.h"

#define JSON "application/json"
#define AT "/v1/"
#define STATUS AT "status" /* not a command: what is put into the store */

static const struct asking_document documents[] = {
	{ .name = "top", .words = { "top", "--once" }, .options = { "most" } },
	{ .name = "stats", .words = { "stats" } },
	{ .name = "usage", .words = { "usage" }, .options = { "most" } },
	{ .name = "reasons", .words = { "reasons" } },
	{ .name = "history",
	  .words = { "history" },
	  .names = { "peer" },
	  .options = { "since", "until", "step" } },
	{ .name = "exfil", .words = { "exfil", "--curve" }, .options = { "size", "compression" } },
	{ .name = NULL },
};

enum { OK = 200, BAD_REQUEST = 400, NOT_FOUND = 404, BAD_GATEWAY = 502, UNAVAILABLE = 503 };

struct serve {
	struct serve_conf conf;
	struct bwl_https *https;
};

BWL_AUTO_DEFINE(json_decref, json_t *)

static const char *query(const void *arg, const char *key)
{
	return bwl_https_query(arg, key);
}

json_t *serve_words(const char *path, const char *(*value)(const void *arg, const char *key),
		    const void *arg, struct bwl_err *e)
{
	const struct asking_document *d = strncmp(path, AT, strlen(AT))
						  ? NULL
						  : asking_find(documents, path + strlen(AT));

	if (d)
		return asking_words(d, value, arg, e);
	bwl_fail(e, ENOENT, "there is no such document");
	bwl_hint(e, AT " and status, top, stats, usage, reasons, history or exfil");
	return NULL;
}

static void answer_status(const struct serve *s, struct bwl_https_answer *a)
{
	struct bwl_err e = { 0 };

	if (asking_status(s->conf.documents, &a->text, &a->len, &e))
		bwl_https_refuse(a, UNAVAILABLE, &e);
	else
		*a = (struct bwl_https_answer){ OK, JSON, a->text, a->len, 0 };
}

static void answer(void *arg, const struct bwl_https_ask *ask, struct bwl_https_answer *a)
{
	const struct serve *s = arg;
	BWL_AUTO(json_decref) json_t *words = NULL;
	struct bwl_err e = { 0 };
	int code;

	if (!strcmp(ask->path, STATUS)) {
		answer_status(s, a);
		return;
	}
	words = serve_words(ask->path, query, ask, &e);
	if (!words)
		bwl_https_refuse(a, e.code == ENOENT ? NOT_FOUND : BAD_REQUEST, &e);
	else if (asking_command(s->conf.commands, words, SERVE_DOCUMENT_MAX, &a->text, &a->len,
				&code, &e))
		bwl_https_refuse(a, UNAVAILABLE, &e);
	else /* a failed command prints the reason, as a document of kind error */
		*a = (struct bwl_https_answer){ code ? BAD_GATEWAY : OK, JSON, a->text, a->len, 0 };
}

int serve_open(const struct serve_conf *c, struct serve **ret, struct bwl_err *e)
{
	struct serve *s = bwl_must(calloc(1, sizeof(*s)));
	struct bwl_https_conf https = {
		.at = c->at,
		.connections = SERVE_CONNECTIONS,
		.asks = { .at_once = SERVE_ASKS_AT_ONCE, .a_second = 1 },
		.bytes = { .at_once = SERVE_BYTES_AT_ONCE, .a_second = SERVE_BYTES_A_SECOND },
		.answer = answer,
		.arg = s,
	};
	int r;

	s->conf = *c;
	memcpy(https.names, c->names, sizeof(https.names));
	memcpy(https.tls, c->tls, sizeof(https.tls));
	r = bwl_https_open(&https, &s->https, e);
	if (r)
		free(s);
	else
		*ret = s;
	return r;
}

int serve_anew(struct serve *s, struct bwl_err *e)
{
	return s ? bwl_https_anew(s->https, e) : 0;
}

struct bwl_tls_facts serve_tls(struct serve *s)
{
	return bwl_https_facts(s->https);
}

void serve_close(struct serve *s)
{
	if (!s)
		return;
	bwl_https_close(s->https);
	free(s);
}
