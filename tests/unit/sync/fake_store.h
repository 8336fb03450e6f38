/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The test's own store, bwlimitd, clock and random numbers, for bwlimit-sync's loop. */
#ifndef BWL_TEST_SYNC_FAKE_STORE_H
#define BWL_TEST_SYNC_FAKE_STORE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "loop.h"
#include "../test.h"

#define RANGE "/b/all/"
#define ENTRIES_MAX 3000

static struct {
	uint64_t now_ns;
	uint32_t chance;
	unsigned opens, reads, watches, alives, statuses, fetches, closes;
	char server[100];
	int open_fails, read_fails, alive_fails, status_fails, hear_says, fetch_fails;
	struct bwl_etcd_kv kv[ENTRIES_MAX]; /* what is in the store */
	char key[ENTRIES_MAX][BWL_ETCD_KEY_MAX];
	unsigned n;
	struct bwl_etcd_kv news; /* what the watch delivers */
	bool has_news;
	/* bwlimitd */
	long pid;
	enum given answer;
	char given[ENTRIES_MAX][100];
	unsigned ngiven;
	bool has_status, status_waits;
	/* messages, by kind */
	unsigned said[SYNC_TROUBLE + 1];
} t;

static inline uint64_t now(void)
{
	return t.now_ns;
}

static inline uint32_t chance(void)
{
	return t.chance;
}

static inline int fails(int r, struct bwl_err *e)
{
	return r ? bwl_fail(e, -r, "fails %d", -r) : 0;
}

static inline int do_open(void *arg, const char *server, struct bwl_err *e)
{
	(void)arg;
	t.opens++;
	snprintf(t.server, sizeof(t.server), "%s", server);
	return fails(t.open_fails, e);
}

static inline void do_close(void *arg)
{
	(void)arg;
	t.closes++;
}

static inline int do_read(void *arg, struct sync_docs *d, int64_t *ret_revision, struct bwl_err *e)
{
	(void)arg;
	t.reads++;
	for (unsigned i = 0; i < t.n && !t.read_fails; i++)
		sync_docs_put(d, RANGE, &t.kv[i], DOCS_READ);
	*ret_revision = 100;
	return fails(t.read_fails, e);
}

static inline int do_watch(void *arg, int64_t from, uint64_t now_ns, struct bwl_err *e)
{
	(void)arg;
	(void)now_ns;
	(void)e;
	assert_int_equal(from, 101);
	t.watches++;
	return 0;
}

static inline int do_hear(void *arg, struct sync_docs *d, uint64_t now_ns, struct bwl_err *e)
{
	int r = t.hear_says;

	(void)arg;
	(void)now_ns;
	if (t.has_news)
		sync_docs_put(d, RANGE, &t.news, DOCS_WATCH);
	t.has_news = false;
	t.hear_says = 0;
	return r == -ESTALE ? r : fails(r, e);
}

static inline int do_fetch(void *arg, const char *key, bool big, uint8_t **ret, size_t *ret_len,
			   int64_t *ret_mod, struct bwl_err *e)
{
	(void)arg;
	(void)big;
	t.fetches++;
	*ret = NULL;
	for (unsigned i = 0; i < t.n && !t.fetch_fails; i++) {
		if (strcmp(t.key[i], key))
			continue;
		*ret = bwl_must(malloc(1));
		*ret_len = 1;
		*ret_mod = t.kv[i].mod;
		return 0;
	}
	return fails(t.fetch_fails ? t.fetch_fails : -ENOENT, e);
}

static inline int do_alive(void *arg, struct bwl_err *e)
{
	(void)arg;
	t.alives++;
	return fails(t.alive_fails, e);
}

static inline int do_status(void *arg, const void *at, size_t len, struct bwl_err *e)
{
	(void)arg;
	assert_memory_equal(at, "signed", len);
	t.statuses++;
	return fails(t.status_fails, e);
}

static const struct sync_store store = { .open = do_open,
					 .close = do_close,
					 .read = do_read,
					 .watch = do_watch,
					 .hear = do_hear,
					 .fetch = do_fetch,
					 .alive = do_alive,
					 .status = do_status };

static inline long do_who(void *arg)
{
	(void)arg;
	return t.pid;
}

static inline int do_give(void *arg, enum doc_lane lane, const struct bwl_doc_at *at,
			  const void *bytes, size_t len, struct bwl_err *e)
{
	(void)arg;
	(void)lane;
	assert_true(bytes && len);
	if (!t.pid)
		return fails(-ENOENT, e);
	snprintf(t.given[t.ngiven++], 100, "%s/%s", bwl_doc_kind_name(at->kind), at->name);
	return 0;
}

static inline enum given do_look(void *arg, enum doc_lane lane, struct bwl_err *why)
{
	(void)arg;
	(void)lane;
	bwl_fail(why, EPERM, "no");
	return t.answer;
}

static inline ssize_t do_agent_status(void *arg, uint64_t cosigned, void *to, size_t most)
{
	(void)cosigned;
	(void)arg;
	assert_true(most >= 6);
	memcpy(to, "signed", 6);
	return t.status_waits ? -EAGAIN : t.has_status ? 6 : 0;
}

static const struct sync_agent agent = {
	.who = do_who, .give = do_give, .look = do_look, .status = do_agent_status
};

static inline void do_say(void *arg, const struct sync_says *s)
{
	(void)arg;
	t.said[s->word]++;
}

static const char *const servers[] = { "a", "b", "c" };

static inline struct sync begin(void)
{
	memset(&t, 0, sizeof(t));
	t.now_ns = 1000 * SYNC_S;
	t.pid = 1;
	t.answer = GIVEN_TAKEN;
	return (struct sync){ .servers = servers,
			      .nservers = 3,
			      .store = &store,
			      .agent = &agent,
			      .now_ns = now,
			      .chance = chance,
			      .say = do_say };
}

static inline void has(const char *kind_and_name, int64_t mod)
{
	snprintf(t.key[t.n], BWL_ETCD_KEY_MAX, RANGE "doc/%s", kind_and_name);
	t.kv[t.n] = (struct bwl_etcd_kv){ .key = bwl_pb_in(t.key[t.n], strlen(t.key[t.n])),
					  .mod = mod };
	t.n++;
}

static inline void steps(struct sync *s, unsigned n)
{
	while (n--)
		sync_step(s);
}

/* Runs the loop as main() does, until that much time has passed. */
static inline void runs(struct sync *s, uint64_t ns)
{
	uint64_t end_ns = t.now_ns + ns;

	while (t.now_ns < end_ns) {
		uint64_t next_ns = sync_step(s);

		assert_true(next_ns >= t.now_ns);
		t.now_ns = next_ns > t.now_ns ? next_ns : t.now_ns + 1;
	}
}

#endif
