// SPDX-License-Identifier: GPL-2.0-or-later
/* bwlimit-sync: passes documents from the fleet's store to bwlimitd. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include "bwl/clock.h"
#include "bwl/doc.h"
#include "bwl/output.h"
#include "bwl/show.h"
#include "bwl/signals.h"
#include "handover.h"
#include "options.h"

#define NS_PER_MS 1000000ULL

static uint32_t chance(void)
{
	uint32_t n = 0;

	(void)!getrandom(&n, sizeof(n), 0);
	return n;
}

static const char *const words[] = {
	[SYNC_CONNECTED] = "connected", [SYNC_LOST] = "lost", [SYNC_TAKEN] = "taken",
	[SYNC_REFUSED] = "refused",     [SYNC_AWAY] = "away", [SYNC_TROUBLE] = "trouble",
};

static void say_json(const struct sync_says *s, const char *document, const char *text)
{
	json_t *o = bwl_doc("sync");
	char now[BWL_TIME_BUF];

	json_object_set_new(o, "time", json_string(bwl_utc_now(now)));
	json_object_set_new(o, "event", json_string(words[s->word]));
	json_object_set_new(o, "server", bwl_json_text(s->server));
	json_object_set_new(o, "document", bwl_json_text(s->doc ? document : NULL));
	json_object_set_new(o, "text", json_string(text));
	json_object_set_new(o, "todo",
			    bwl_json_text(s->err && *s->err->hint ? s->err->hint : NULL));
	bwl_doc_line(o);
}

static void say(void *arg, const struct sync_says *s)
{
	const struct options *o = arg;
	const char *why = s->err ? s->err->text : "";
	char document[BWL_DOC_NAME_MAX + 20] = "", text[1024];

	if (s->doc)
		snprintf(document, sizeof(document), "%s/%s", bwl_doc_kind_name(s->doc->kind),
			 s->doc->name);
	snprintf(text, sizeof(text), "%s%s%s%s%s", words[s->word], *document ? " " : "", document,
		 s->err                      ? ": "
		 : s->word == SYNC_CONNECTED ? " to "
					     : "",
		 s->word == SYNC_CONNECTED ? s->server : why);
	if (o->json) {
		say_json(s, document, text);
	} else {
		bwl_put(stdout, "%s\n", text);
		if (s->err && *s->err->hint)
			bwl_put(stdout, "  %s\n", s->err->hint);
	}
	fflush(stdout);
}

/* Reports on serving. err NULL: text is what was read. */
static void say_serves(const struct options *o, const char *event, const char *text,
		       const struct bwl_err *err)
{
	const char *todo = err && *err->hint ? err->hint : NULL;
	char now[BWL_TIME_BUF];
	json_t *line;

	text = err ? err->text : text;
	if (o->json) {
		line = bwl_doc("sync");
		json_object_set_new(line, "time", json_string(bwl_utc_now(now)));
		json_object_set_new(line, "event", json_string(event));
		json_object_set_new(line, "server", json_null());
		json_object_set_new(line, "document", json_null());
		json_object_set_new(line, "text", json_string(text));
		json_object_set_new(line, "todo", bwl_json_text(todo));
		bwl_doc_line(line);
	} else {
		bwl_put(stdout, "%s: %s\n", event, text);
		if (todo)
			bwl_put(stdout, "  %s\n", todo);
	}
	fflush(stdout);
}

static void say_read(const struct options *o, struct serve *serve)
{
	const struct bwl_tls_facts f = serve_tls(serve);
	const char *copied = bwl_tls_copied(o->serve.tls, getenv("CREDENTIALS_DIRECTORY"));
	struct bwl_err why = { 0 };
	char text[256];

	bwl_tls_facts_text(&f, text, sizeof(text));
	say_serves(o, "read", text, NULL);
	if (!copied)
		return;
	bwl_fail(&why, ESTALE, "%.300s is the copy that systemd made when this was started",
		 copied);
	bwl_hint(&why, "systemctl restart bwlimit-sync: then it copies what is there now");
	say_serves(o, "trouble", NULL, &why);
}

/* Reloads the server's certificates. */
static void read_anew(struct serve *serve, const struct options *o)
{
	struct bwl_err e = { 0 };

	if (!serve)
		return;
	if (!serve_anew(serve, &e)) {
		say_read(o, serve);
		return;
	}
	bwl_hint(&e, "what was read before stays in use");
	bwl_err_print(&e, PROGRAM, o->json);
}

static void mind_crl(const struct options *o, struct serve *serve, int64_t *told_s)
{
	struct bwl_tls_facts f;
	struct bwl_err why = { 0 };

	if (!serve)
		return;
	f = serve_tls(serve);
	if (bwl_tls_is_over(&f, time(NULL), told_s, &why))
		say_serves(o, "trouble", NULL, &why);
}

static void run(struct sync *s, struct store_etcd *store, struct handover *agent,
		struct serve *serve, const struct options *o)
{
	struct curl_waitfd fds[HANDOVER_FDS + 1];
	int64_t told_s = 0;

	while (!bwl_signals_stop()) {
		uint64_t next_ns = sync_step(s), now_ns = bwl_now_ns();
		unsigned ms = next_ns > now_ns ? (unsigned)((next_ns - now_ns) / NS_PER_MS) : 0;
		unsigned n = handover_fds(agent, fds);

		fds[n++] = (struct curl_waitfd){ .fd = bwl_signals_fd(),
						 .events = CURL_WAIT_POLLIN };
		store_etcd_wait(store, ms, fds, n);
		bwl_signals_woken();
		if (bwl_signals_again())
			read_anew(serve, o);
		mind_crl(o, serve, &told_s);
	}
}

static int start(int argc, char **argv)
{
	struct store_etcd *store;
	struct handover *agent;
	struct serve *serve = NULL;
	struct bwl_err e = { 0 };
	struct options o;
	struct sync s;
	int r = options_read(argc, argv, &o);

	if (r >= 0)
		return r;
	if (bwl_signals_begin(&e)) {
		bwl_err_print(&e, PROGRAM, o.json);
		return 1;
	}
	if (o.serve.at && serve_open(&o.serve, &serve, &e)) {
		bwl_err_print(&e, PROGRAM, o.json);
		return 1;
	}
	store = store_etcd_new(&o.conf);
	agent = handover_new(o.agent);
	s = (struct sync){
		.servers = o.servers,
		.nservers = o.nservers,
		.server = chance() % o.nservers, /* spreads a fleet over the servers */
		.store = &store_etcd_ops,
		.store_arg = store,
		.agent = &handover_ops,
		.agent_arg = agent,
		.now_ns = bwl_now_ns,
		.chance = chance,
		.say = say,
		.say_arg = &o,
	};
	run(&s, store, agent, serve, &o);
	serve_close(serve);
	sync_done(&s);
	store_etcd_free(store);
	handover_free(agent);
	return 0;
}

int main(int argc, char **argv)
{
	bwl_output_begin(PROGRAM);
	return bwl_output_end(start(argc, argv));
}
