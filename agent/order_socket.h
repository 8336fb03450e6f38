/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * order_socket.c: a socket by which this process takes orders. One request and one answer a
 * connection, each a line of JSON. Never waits: line_socket.h.
 */
#ifndef BWL_AGENT_ORDER_SOCKET_H
#define BWL_AGENT_ORDER_SOCKET_H

#include "line_socket.h"

struct order_verb {
	const char *name; /* NULL ends a table */
	bool closes;      /* done even for who has gone before the answer */
	/* The answer, an object whose reference is the caller's. */
	json_t *(*run)(void *arg, const json_t *ask);
	/*
	 * Instead: an order that comes with a document, and takes its time. NULL: doc and conn are
	 * its own now, and it answers by line_say(). Else an answer, as above.
	 */
	json_t *(*take)(void *arg, const json_t *ask, int doc, int conn);
};

/*
 * What a line asks for. NULL: *ret_why says what is wrong with it. *ret: the request, whose
 * reference is the caller's.
 */
const struct order_verb *order_parse(const struct order_verb *verbs, const char *line, size_t len,
				     json_t **ret, const char **ret_why);

struct orders;
/* At a path, whose folder exists; what was there is replaced. verbs and arg outlive it. */
int orders_open(const char *path, const struct order_verb *verbs, void *arg, struct orders **ret,
		struct bwl_err *e);
int orders_fd(const struct orders *o); /* for poll(2); NULL: -1 */
/* Does and answers what has come, and drops who was too slow. NULL-safe. */
void orders_run(struct orders *o, uint64_t now_ns);
void orders_close(struct orders *o); /* NULL-safe */

#endif
