/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bwlimit-sync: documents from the fleet's store to bwlimitd. */
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include "bwl/clock.h"
#include "bwl/doc.h"
#include "handover.h"
#include "options.h"

#define NS_PER_MS 1000000ULL

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

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
	char document[BWL_DOC_NAME_MOST + 20] = "", text[1024];

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
		puts(text);
		if (s->err && *s->err->hint)
			printf("  %s\n", s->err->hint);
	}
	fflush(stdout);
}

static void run(struct sync *s, struct store_etcd *store, struct handover *agent)
{
	struct curl_waitfd fds[HANDOVER_FDS];

	while (!stopped) {
		uint64_t next_ns = sync_step(s), now_ns = bwl_now_ns();
		unsigned ms = next_ns > now_ns ? (unsigned)((next_ns - now_ns) / NS_PER_MS) : 0;

		store_etcd_wait(store, ms, fds, handover_fds(agent, fds));
	}
}

int main(int argc, char **argv)
{
	struct sigaction a = { .sa_handler = on_signal };
	struct store_etcd *store;
	struct handover *agent;
	struct serve *serve = NULL;
	struct bwl_err e = { 0 };
	struct options o;
	struct sync s;
	int r = options_read(argc, argv, &o);

	if (r >= 0)
		return r;
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (o.serve.at && serve_open(&o.serve, &serve, &e)) {
		bwl_err_print(&e, PROGRAM, o.json);
		return 1;
	}
	store = store_etcd_new(&o.conf);
	agent = handover_new(o.agent);
	s = (struct sync){
		.servers = o.servers,
		.nservers = o.nservers,
		.server = chance() % o.nservers, /* a fleet spreads over them */
		.store = &store_etcd_ops,
		.store_arg = store,
		.agent = &handover_ops,
		.agent_arg = agent,
		.now_ns = bwl_now_ns,
		.chance = chance,
		.say = say,
		.say_arg = &o,
	};
	run(&s, store, agent);
	serve_close(serve);
	sync_done(&s);
	store_etcd_free(store);
	handover_free(agent);
	return 0;
}
