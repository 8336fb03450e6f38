/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * line_socket.c: a stream socket at a path, where whoever connects says one line. Never waits: who
 * says nothing or half is dropped after LINE_NS, or sooner when more connect than there is room for
 * (the oldest goes), and the thread that must react to other things is not held up.
 */
#ifndef BWL_AGENT_LINE_SOCKET_H
#define BWL_AGENT_LINE_SOCKET_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "bwl/agent.h"

#define LINE_CONNS 32 /* that have said nothing, or half a line */
#define LINE_NS 2000000000ULL

struct line_rule {
	unsigned mode;                  /* of the socket's file */
	bool documents;                 /* a file descriptor may come with a line (SCM_RIGHTS) */
	bool (*may)(void *arg, int fd); /* is the process behind it one of those that may? */
	/*
	 * The connection is the callee's from here on, and doc, a descriptor that came with the
	 * line; -1: none. line: without its newline; NULL: wrong says why there is none.
	 */
	void (*said)(void *arg, int fd, int doc, const char *line, size_t len, const char *wrong);
};

struct line_socket;
/* At a path, whose folder exists; what was there is replaced. rule and arg outlive it. */
int line_socket_open(const char *path, const struct line_rule *rule, void *arg,
		     struct line_socket **ret, struct bwl_err *e);
int line_socket_fd(const struct line_socket *s); /* for poll(2); NULL: -1 */
/* Takes and hands on what has come, and drops who was too slow. NULL-safe. */
void line_socket_run(struct line_socket *s, uint64_t now_ns);
void line_socket_close(struct line_socket *s); /* NULL-safe */

/*
 * The socket of the bwlimitd of a pin directory, in a folder that is made: an ending of
 * bwl/agent.h.
 */
int line_socket_address(const char *pin_dir, const char *ending, struct sockaddr_un *ret,
			struct bwl_err *e);
/* One line, without waiting. What was never written to before has room for it. */
void line_say(int fd, json_t *o);      /* takes the reference */
void line_say_long(int fd, json_t *o); /* the same of BWL_AGENT_STATUS bytes */
void line_refuse(int fd, const char *why, const char *todo); /* todo NULL: nothing */
bool line_has_gone(int fd); /* the other side, or it says nothing any more */

#endif
