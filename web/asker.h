/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process of its own that asks, so that the one on the network cannot: it gets a question
 * (asking/words.h) by a socket pair, looks it up in the table, asks bwlimitd, and gives back what
 * came. One question at a time.
 */
#ifndef BWL_WEB_ASKER_H
#define BWL_WEB_ASKER_H

#include <stdint.h>
#include "documents.h"

#define ASKER_MOST (8U << 20) /* bytes of a document */
#define ASKER_BIG (32U << 20) /* of those that grow with the peers most: web_document.is_big */

struct asker_conf {
	const struct web_documents *documents;
	const char *commands; /* bwlimitd's socket */
	const char *program;  /* of a fleet: bwlimit-ctl, which asks the controller; else NULL */
	const char *conf;     /* its --conf; NULL: as it finds it */
};

struct asker_head {      /* of an answer; its bytes follow */
	uint32_t status; /* of HTTP */
	uint32_t len;
	uint64_t age_ms; /* how old it was already: of a file */
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
/* The same of whatever else serves: until its end of the pair, fd, is closed. */
int asker_fork(void (*serve)(const void *about, int fd), const void *about, struct asker *ret,
	       struct bwl_err *e);
/* What such a process gives back. */
int asker_answer(int fd, unsigned status, const char *text, size_t len, uint64_t age_ms);
/* It must not be busy. */
int asker_ask(struct asker *a, const char *question);
/*
 * Reads what is there, without waiting. 1: an answer, whose text (made by malloc()) is the
 * caller's; 0: not yet; negative: the process has gone.
 */
int asker_take(struct asker *a, struct asker_head *ret, char **ret_text);

#endif
