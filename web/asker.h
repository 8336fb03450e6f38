/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A separate process that asks bwlimitd, so that the process on the network cannot: it gets a
 * question (asking/words.h) through a socket pair, looks it up in the table, asks bwlimitd, and
 * returns the answer. One question at a time.
 */
#ifndef BWL_WEB_ASKER_H
#define BWL_WEB_ASKER_H

#include <stdint.h>
#include "documents.h"

#define ASKER_MAX (8U << 20)  /* bytes of a document */
#define ASKER_BIG (32U << 20) /* for those that grow most with the peers: web_document.is_big */

struct asker_conf {
	const struct web_documents *documents;
	const char *commands; /* bwlimitd's socket */
	const char *program;  /* for a fleet: bwlimit-ctl, which asks the controller; or NULL */
	const char *conf;     /* its --conf; NULL: its default */
};

struct asker_head {      /* before an answer's bytes */
	uint32_t status; /* of HTTP */
	uint32_t len;
	uint64_t age_ms; /* for a file: its age */
};

struct asker {
	int fd;
	bool busy;
	size_t have; /* bytes of the head, then of the text */
	struct asker_head head;
	char *text;
};

/* Forks; the child never returns from it. */
int asker_start(const struct asker_conf *c, struct asker *ret, struct bwl_err *e);
/* The same with another function: serve runs until our end of the pair is closed; fd is its end. */
int asker_fork(void (*serve)(const void *about, int fd), const void *about, struct asker *ret,
	       struct bwl_err *e);
/* For such a process: gives the answer. */
int asker_answer(int fd, unsigned status, const char *text, size_t len, uint64_t age_ms);
/* The asker must not be busy. */
int asker_ask(struct asker *a, const char *question);
/*
 * Reads what has arrived, without waiting. 1: an answer, whose text (from malloc()) the caller
 * owns; 0: not yet; negative: the process is gone.
 */
int asker_take(struct asker *a, struct asker_head *ret, char **ret_text);

#endif
