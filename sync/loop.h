/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What bwlimit-sync does and when: one server at a time, a watch as a hint, a full read every
 * minute as the truth, documents to bwlimitd in a fixed order, and its status back. The store,
 * bwlimitd, the clock and randomness are arguments: tests/unit/sync replaces them.
 */
#ifndef BWL_SYNC_LOOP_H
#define BWL_SYNC_LOOP_H

#include <sys/types.h>
#include "docs.h"

#define SYNC_S 1000000000ULL
#define SYNC_READ_NS (60 * SYNC_S)   /* give or take a tenth, so that trays do not come at once */
#define SYNC_ALIVE_NS (10 * SYNC_S)  /* for a lease of 30 s */
#define SYNC_STATUS_NS (30 * SYNC_S) /* between two */
#define SYNC_NEWS_NS (SYNC_S / 4)    /* but after a document was taken or refused: this long */
#define SYNC_NO_STATUS_NS (10 * SYNC_S)
#define SYNC_REFUSED_NS (5 * SYNC_S) /* after a full store has refused one */
/*
 * An unreachable server is given up after 3 s: so a tray is back within 10 s once one of three
 * servers can be reached again.
 */
#define SYNC_RETRY_NS (SYNC_S / 4)
#define SYNC_RETRY_MAX_NS (2 * SYNC_S)
#define SYNC_WELL_NS (10 * SYNC_S)
#define SYNC_AGENT_NS SYNC_S /* until the next look for bwlimitd */
/*
 * All trays hear of a document at the same moment. A document in parts, which has megabytes, is
 * fetched by each tray at a random moment within this time: a thousand at once would keep the
 * store's members from hearing each other, and they would lose their leader. Closing documents are
 * not delayed.
 */
#define SYNC_SPREAD_NS (10 * SYNC_S)
#define SYNC_STATUS_MAX 8192 /* bytes */

/* Errors: -ESTALE of hear(): the watch must start anew, after a read. */
struct sync_store {
	/* Connects to the server, and checks it. */
	int (*open)(void *arg, const char *server, struct bwl_err *e);
	void (*close)(void *arg);
	int (*read)(void *arg, struct sync_docs *d, int64_t *ret_revision, struct bwl_err *e);
	int (*watch)(void *arg, int64_t from, uint64_t now_ns, struct bwl_err *e);
	int (*hear)(void *arg, struct sync_docs *d, uint64_t now_ns, struct bwl_err *e);
	int (*fetch)(void *arg, const char *key, bool big, uint8_t **ret, size_t *ret_len,
		     int64_t *ret_mod, struct bwl_err *e);
	int (*alive)(void *arg, struct bwl_err *e);
	int (*status)(void *arg, const void *at, size_t len, struct bwl_err *e);
};

enum given { GIVEN_WAIT, GIVEN_TAKEN, GIVEN_REFUSED, GIVEN_EARLY, GIVEN_AWAY };
struct sync_agent {
	/* A different number means another bwlimitd. 0: there is none. */
	long (*who)(void *arg);
	int (*give)(void *arg, enum doc_lane lane, const struct bwl_doc_at *at, const void *bytes,
		    size_t len, struct bwl_err *e);
	enum given (*look)(void *arg, enum doc_lane lane, struct bwl_err *why);
	/*
	 * Writes at most `most` bytes and returns their number; 0: there is none; -EAGAIN: it was
	 * requested. cosigned: as in docs.h.
	 */
	ssize_t (*status)(void *arg, uint64_t cosigned, void *to, size_t most);
};

enum sync_word { SYNC_CONNECTED, SYNC_LOST, SYNC_TAKEN, SYNC_REFUSED, SYNC_AWAY, SYNC_TROUBLE };
struct sync_says {
	enum sync_word word;
	const char *server;           /* NULL: none */
	const struct bwl_doc_at *doc; /* NULL: none */
	const struct bwl_err *err;    /* NULL: no error */
};

struct sync_way {                   /* of a document, to bwlimitd */
	char key[BWL_ETCD_KEY_MAX]; /* empty: no document is on its way */
	int64_t mod;
	struct bwl_doc_at at;
};

enum sync_told { OF_STORE, OF_ALIVE, OF_STATUS, OF_AGENT, SYNC_TOLD };

struct sync {
	const char *const *servers;
	unsigned nservers, server; /* the current or next server */
	const struct sync_store *store;
	const struct sync_agent *agent;
	void *store_arg, *agent_arg;
	uint64_t (*now_ns)(void);
	uint32_t (*chance)(void);
	void (*say)(void *arg, const struct sync_says *s);
	void *say_arg;

	struct sync_docs docs;
	bool connected, watching;
	bool is_well;    /* and that was reported */
	unsigned failed; /* consecutive servers, without SYNC_WELL_NS in between */
	uint64_t retry_ns, read_ns, alive_ns, status_ns, agent_ns, who_ns, well_ns;
	uint64_t told_ns; /* when the last status was put */
	bool asked, news; /* bwlimitd, for its status; since then something happened */
	long agent_who;
	struct sync_way way[LANE_COUNT];
	struct bwl_err told_of[BWL_ETCD_SERVERS_MAX]; /* each server's error is reported once */
	char told[SYNC_TOLD][768];                    /* the last of its kind, to report it once */
};

/* Does what is due. Returns when to call it again, if nothing arrives before. */
uint64_t sync_step(struct sync *s);
void sync_done(struct sync *s);

#endif
