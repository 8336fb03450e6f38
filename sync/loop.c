// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See loop.h. No pointer to a document is kept over a call of the store: news from it may move
 * them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/cleanup.h"
#include "loop.h"

static void say(struct sync *s, enum sync_word word, const struct bwl_doc_at *doc,
		const struct bwl_err *err)
{
	s->say(s->say_arg,
	       &(struct sync_says){
		       .word = word, .server = s->servers[s->server], .doc = doc, .err = err });
}

/* An error is reported once, until a success comes in between. */
static void say_once(struct sync *s, enum sync_word word, enum sync_told of,
		     const struct bwl_err *err)
{
	if (!strcmp(s->told[of], err->text))
		return;
	snprintf(s->told[of], sizeof(s->told[of]), "%s", err->text);
	say(s, word, NULL, err);
}
/* A random time between two thirds and four thirds of it. */
static uint64_t about(const struct sync *s, uint64_t ns)
{
	return ns / 3 * 2 + ns / 3 * 2 / 1024 * (s->chance() % 1024);
}

static void lose(struct sync *s, uint64_t now_ns, const struct bwl_err *err)
{
	uint64_t wait_ns = 0;

	if (s->is_well)
		say(s, SYNC_LOST, NULL, err);
	else if (strcmp(s->told_of[s->server].text, err->text))
		say(s, SYNC_TROUBLE, NULL, err);
	s->told_of[s->server] = *err;
	s->store->close(s->store_arg);
	s->connected = s->watching = s->is_well = false;
	s->server = (s->server + 1) % s->nservers;
	s->failed++;
	/* First the other servers at once; then all of them again after a pause. */
	if (s->failed % s->nservers == 0) {
		unsigned round = s->failed / s->nservers - 1;

		wait_ns = round < 4 ? SYNC_RETRY_NS << round : SYNC_RETRY_MAX_NS;
		wait_ns = about(s, wait_ns < SYNC_RETRY_MAX_NS ? wait_ns : SYNC_RETRY_MAX_NS);
	}
	s->retry_ns = now_ns + wait_ns;
}

static void reach(struct sync *s, uint64_t now_ns)
{
	struct bwl_err e = { 0 };

	if (s->store->open(s->store_arg, s->servers[s->server], &e)) {
		lose(s, s->now_ns(), &e);
		return;
	}
	s->connected = true;
	s->read_ns = s->alive_ns = now_ns;
}

/*
 * The lease and what is written under it may fail while the rest works: with a full disk the server
 * refuses only writes.
 */
static bool is_server_lost(int r)
{
	return r == -ETIMEDOUT || r == -EHOSTUNREACH;
}

/* false: the server was lost */
static bool wrote(struct sync *s, enum sync_told of, int r, const struct bwl_err *e)
{
	if (is_server_lost(r)) {
		lose(s, s->now_ns(), e);
		return false;
	}
	if (r)
		say_once(s, SYNC_TROUBLE, of, e);
	else
		*s->told[of] = '\0';
	return true;
}

static bool read_all(struct sync *s, uint64_t now_ns)
{
	struct bwl_err e = { 0 };
	int64_t revision = 0;
	int r;

	sync_docs_read_begin(&s->docs);
	r = s->store->read(s->store_arg, &s->docs, &revision, &e);
	if (!r) {
		sync_docs_read_end(&s->docs);
		if (!s->watching)
			r = s->store->watch(s->store_arg, revision + 1, now_ns, &e);
	}
	if (r) {
		lose(s, s->now_ns(), &e);
		return false;
	}
	if (!s->is_well) {
		s->well_ns = now_ns;
		say(s, SYNC_CONNECTED, NULL, NULL);
	}
	s->watching = s->is_well = true;
	s->read_ns = now_ns + SYNC_READ_NS * 9 / 10 +
		     SYNC_READ_NS / 5 / 1024 * (s->chance() % 1024);
	if (s->docs.left_out) {
		bwl_fail(&e, E2BIG, "%u documents are left out: at most %u are kept",
			 s->docs.left_out, DOCS_MAX);
		bwl_hint(&e, "delete old ones from the store");
		say_once(s, SYNC_TROUBLE, OF_STORE, &e);
	}
	return true;
}

static void listen_to_store(struct sync *s, uint64_t now_ns)
{
	struct bwl_err e = { 0 };
	int r = s->watching ? s->store->hear(s->store_arg, &s->docs, now_ns, &e) : 0;

	if (r == -ESTALE) {
		s->watching = false;
		s->read_ns = now_ns;
	} else if (r) {
		lose(s, s->now_ns(), &e);
		return;
	}
	if (s->read_ns <= now_ns)
		read_all(s, now_ns);
}

static void speak_to_store(struct sync *s, uint64_t now_ns)
{
	char status[SYNC_STATUS_MAX];
	struct bwl_err e = { 0 };
	ssize_t len;
	int r;

	if (s->connected && s->alive_ns <= now_ns) {
		s->alive_ns = now_ns + SYNC_ALIVE_NS;
		if (!wrote(s, OF_ALIVE, s->store->alive(s->store_arg, &e), &e))
			return;
	}
	if (s->connected && s->status_ns <= now_ns) {
		len = s->agent->status(s->agent_arg, s->docs.cosigned, status, sizeof(status));
		s->asked = len == -EAGAIN;
		if (s->asked)
			return; /* the answer will wake us */
		s->status_ns = now_ns + (s->news   ? SYNC_NEWS_NS
					 : len > 0 ? SYNC_STATUS_NS
						   : SYNC_NO_STATUS_NS);
		s->news = false;
		s->told_ns = now_ns;
		if (len <= 0)
			return;
		r = s->store->status(s->store_arg, status, (size_t)len, &e);
		if (wrote(s, OF_STATUS, r, &e) && r)
			s->status_ns = now_ns + SYNC_REFUSED_NS;
	}
}

static void away(struct sync *s, uint64_t now_ns, const struct bwl_err *e)
{
	s->agent_ns = now_ns + SYNC_AGENT_NS;
	say_once(s, SYNC_AWAY, OF_AGENT, e);
}

/*
 * Whoever published it waits for the result. Not so for a signed time: every tray gets one in the
 * same second, every minute, and nobody waits.
 */
static void tell_soon(struct sync *s, const struct bwl_doc_at *at, uint64_t now_ns)
{
	uint64_t soon_ns = s->told_ns + SYNC_NEWS_NS;

	if (at->kind == BWL_DOC_timestamp)
		return;
	s->news |= s->asked;
	soon_ns = soon_ns > now_ns ? soon_ns : now_ns;
	if (s->status_ns > soon_ns)
		s->status_ns = soon_ns;
}

static void arrived(struct sync *s, enum doc_lane lane, uint64_t now_ns)
{
	struct sync_way *w = &s->way[lane];
	struct bwl_err e = { 0 };
	enum given given;
	struct doc *doc;

	if (!*w->key)
		return;
	given = s->agent->look(s->agent_arg, lane, &e);
	if (given == GIVEN_WAIT)
		return;
	doc = sync_docs_find(&s->docs, w->key);
	*w->key = '\0';
	if (given == GIVEN_AWAY)
		away(s, now_ns, &e);
	else
		say(s, given == GIVEN_TAKEN ? SYNC_TAKEN : SYNC_REFUSED, &w->at,
		    given == GIVEN_TAKEN ? NULL : &e);
	if (given != GIVEN_AWAY)
		tell_soon(s, &w->at, now_ns);
	/* It is gone, or was replaced meanwhile. */
	if (!doc || doc->mod != w->mod)
		return;
	if (given == GIVEN_TAKEN)
		sync_docs_taken(&s->docs, doc, now_ns);
	else if (given == GIVEN_REFUSED)
		sync_docs_refused(doc, now_ns, false);
	else if (given == GIVEN_EARLY)
		sync_docs_refused(doc, now_ns, true);
	else
		doc->state = DOC_TODO;
}

/* Gets the bytes of a document from the watch or the store. The caller frees *ret. */
static int bytes_of(struct sync *s, struct sync_way *w, struct doc *doc, uint8_t **ret,
		    size_t *ret_len, struct bwl_err *e)
{
	bool big = doc->at.big;
	int64_t mod;
	int r;

	w->mod = doc->mod;
	w->at = doc->at;
	strcpy(w->key, doc->key);
	if (doc->bytes) {
		s->docs.bytes -= doc->len;
		*ret_len = doc->len;
		doc->len = 0;
		*ret = bwl_take_ptr(&doc->bytes);
		return 0;
	}
	if (!s->connected)
		return -ENOTCONN;
	r = s->store->fetch(s->store_arg, w->key, big, ret, ret_len, &mod, e);
	if (!r) {
		doc = sync_docs_find(&s->docs, w->key);
		if (doc && doc->mod < mod)
			doc->mod = mod; /* it was replaced meanwhile: these are the new bytes */
		w->mod = mod;
	}
	return r;
}

/* When it may be fetched. Documents behind it in its lane wait, too. */
static uint64_t fetch_ns(struct sync *s, struct doc *doc, uint64_t now_ns)
{
	if (!doc->at.big || sync_docs_lane(doc) == LANE_CLOSES)
		return now_ns;
	if (!doc->fetch_ns)
		doc->fetch_ns = now_ns + SYNC_SPREAD_NS / 1024 * (s->chance() % 1024);
	return doc->fetch_ns;
}

static void send_off(struct sync *s, enum doc_lane lane, uint64_t now_ns)
{
	struct doc *doc = *s->way[lane].key ? NULL : sync_docs_next(&s->docs, lane, now_ns);
	struct sync_way w = { 0 };
	BWL_AUTO_FREE uint8_t *bytes = NULL;
	struct bwl_err e = { 0 };
	size_t len;
	int r;

	if (!doc || s->agent_ns > now_ns || fetch_ns(s, doc, now_ns) > now_ns)
		return;
	r = bytes_of(s, &w, doc, &bytes, &len, &e);
	doc = sync_docs_find(&s->docs, w.key);
	if (r == -ENOTCONN || (!r && !doc))
		return;
	/*
	 * These errors are about this document only. All others are the server's: nothing
	 * overtakes.
	 */
	if (r && r != -ENOENT && r != -EMSGSIZE && r != -EUCLEAN) {
		lose(s, s->now_ns(), &e);
		return;
	}
	if (r && doc) {
		say(s, SYNC_REFUSED, &w.at, &e);
		sync_docs_refused(doc, now_ns, false);
		return;
	}
	if (r)
		return;
	r = s->agent->give(s->agent_arg, lane, &w.at, bytes, len, &e);
	if (r) {
		away(s, now_ns, &e);
		return;
	}
	*s->told[OF_AGENT] = '\0';
	if (doc->mod == w.mod)
		doc->state = DOC_ON_ITS_WAY;
	s->way[lane] = w;
}

/* A new bwlimitd gets everything again: it may have lost what was only in its memory. */
static void look_for_agent(struct sync *s, uint64_t now_ns)
{
	long who;

	if (s->who_ns > now_ns)
		return;
	s->who_ns = now_ns + SYNC_AGENT_NS;
	who = s->agent->who(s->agent_arg);
	if (who && who != s->agent_who) {
		sync_docs_again(&s->docs);
		s->agent_who = who;
	}
}

uint64_t sync_step(struct sync *s)
{
	uint64_t now_ns = s->now_ns(), next_ns;

	for (unsigned i = 0; i < LANE_COUNT; i++)
		arrived(s, i, now_ns);
	if (!s->connected && s->retry_ns <= now_ns)
		reach(s, now_ns);
	if (s->is_well && now_ns - s->well_ns >= SYNC_WELL_NS) {
		s->failed = 0;
		memset(s->told_of, 0, sizeof(s->told_of));
	}
	if (s->connected)
		listen_to_store(s, now_ns);
	if (s->connected)
		speak_to_store(s, now_ns);
	look_for_agent(s, now_ns);
	for (unsigned i = 0; i < LANE_COUNT; i++)
		send_off(s, i, now_ns);

	next_ns = now_ns + SYNC_S;
	if (!s->connected && s->retry_ns < next_ns)
		next_ns = s->retry_ns;
	if (s->connected && !s->asked && s->status_ns < next_ns)
		next_ns = s->status_ns > now_ns ? s->status_ns : now_ns;
	/* One document after another, with the watch's messages in between. */
	for (unsigned i = 0; i < LANE_COUNT; i++) {
		struct doc *doc = *s->way[i].key || s->agent_ns > now_ns || !s->connected
					  ? NULL
					  : sync_docs_next(&s->docs, i, now_ns);
		uint64_t at_ns = doc ? fetch_ns(s, doc, now_ns) : next_ns;

		if (at_ns < next_ns)
			next_ns = at_ns > now_ns ? at_ns : now_ns;
	}
	return next_ns;
}

void sync_done(struct sync *s)
{
	s->store->close(s->store_arg);
	sync_docs_done(&s->docs);
}
