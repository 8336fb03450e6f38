/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * line_socket.c: a stream socket at a path, whose clients send one line. Never waits: a client that
 * sends nothing or half a line is dropped after LINE_NS, or sooner when its user has too many (the
 * oldest goes). So the thread, which must react to other things, is not delayed.
 *
 * Whoever has less right takes nothing from who has more: each right has its own places
 * (line_pool.h), and where several may connect its own door (bwl/door.h), whose clients are heard
 * on a thread of their own (line_porter.h).
 */
#ifndef BWL_AGENT_LINE_SOCKET_H
#define BWL_AGENT_LINE_SOCKET_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "bwl/agent.h"
#include "line_pool.h"

struct line_rule {
	unsigned mode;  /* of the socket's file */
	bool alone;     /* no doors and no threads: for a socket of root alone, and for tests */
	bool documents; /* a file descriptor may come with a line (SCM_RIGHTS) */
	bool stays;     /* the client is heard after its line, too: see line_hang_up() */
	line_said said; /* passes on the connection, and doc */
};

struct line_socket;
/* At a path, whose folder exists; an old socket is replaced. rule and arg must outlive it. */
int line_socket_open(const char *path, const struct line_rule *rule, const struct line_who *who,
		     void *arg, struct line_socket **ret, struct bwl_err *e);
int line_socket_fd(const struct line_socket *s);         /* for poll(2); NULL: -1 */
void line_socket_sync(struct line_socket *s, uid_t uid); /* who LINE_SYNC is, if a user */
/* Receives and passes on what has arrived, and drops slow clients. NULL-safe. */
void line_socket_run(struct line_socket *s, uint64_t now_ns);
void line_socket_close(struct line_socket *s); /* NULL-safe */
/* Closes the connection of a client that `stays`: it may have sent something since. */
void line_hang_up(struct line_socket *s, enum line_right right, int fd);

/*
 * The path of bwlimitd's socket for a pin directory, in a folder that is created: an ending of
 * bwl/agent.h.
 */
int line_socket_address(const char *pin_dir, const char *ending, struct sockaddr_un *ret,
			struct bwl_err *e);
/* Sends one line, without waiting. A socket that was never written to has room for it. */
void line_say(int fd, json_t *o);      /* takes the reference */
void line_say_long(int fd, json_t *o); /* the same of BWL_AGENT_STATUS bytes */
void line_refuse(int fd, const char *why, const char *todo); /* todo NULL: nothing */
bool line_has_gone(int fd);                                  /* the other side has gone */

#endif
