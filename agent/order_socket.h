/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * order_socket.c: a socket for orders to this process. Each connection is one request and one
 * answer, each a line of JSON. Never waits: line_socket.h.
 */
#ifndef BWL_AGENT_ORDER_SOCKET_H
#define BWL_AGENT_ORDER_SOCKET_H

#include "line_socket.h"

struct order_verb {
	const char *name; /* NULL ends a table */
	bool closes;      /* performed even if the client hangs up before the answer */
	/* The answer, an object whose reference goes to the caller. */
	json_t *(*run)(void *arg, const json_t *ask);
	/*
	 * Alternative for an order that comes with a document, and takes its time. NULL: it has
	 * taken doc and conn, and answers by line_say(). Otherwise an answer, as above.
	 */
	json_t *(*take)(void *arg, const json_t *ask, int doc, int conn);
};

/*
 * Parses a line. NULL: *ret_why says what is wrong. *ret: the request, whose reference goes to the
 * caller.
 */
const struct order_verb *order_parse(const struct order_verb *verbs, const char *line, size_t len,
				     json_t **ret, const char **ret_why);

struct orders;
/* At a path, whose folder exists; an old socket is replaced. verbs and arg must outlive it. */
int orders_open(const char *path, const struct order_verb *verbs, void *arg, struct orders **ret,
		struct bwl_err *e);
int orders_fd(const struct orders *o); /* for poll(2); NULL: -1 */
/* Performs and answers what has arrived, and drops slow clients. NULL-safe. */
void orders_run(struct orders *o, uint64_t now_ns);
void orders_close(struct orders *o); /* NULL-safe */

#endif
