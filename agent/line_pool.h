/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * line_pool.c: a listening socket, and the clients that have connected there and not finished their
 * line. Each right has places of its own: whoever comes when they are taken displaces one of the
 * same right, the oldest of the user who has most. Never waits.
 */
#ifndef BWL_AGENT_LINE_POOL_H
#define BWL_AGENT_LINE_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "bwl/err.h"

/* The highest first. */
enum line_right { LINE_ROOT, LINE_OPERATE, LINE_READ, LINE_SYNC, LINE_NOBODY };
#define LINE_RIGHTS LINE_NOBODY

#define LINE_CONNS 16 /* of a right, that have sent nothing, or half a line */
#define LINE_NS 2000000000ULL

/* Who has which right at a socket. */
struct line_who {
	unsigned may; /* 1 << right */
	bool has[LINE_RIGHTS];
	gid_t gid[LINE_RIGHTS]; /* of the groups that exist */
	bool by_user;           /* LINE_SYNC is not the group's, but a user's: */
	uid_t sync;             /* (uid_t)-1: there is none; it may change while it is used */
};
/* Looks the groups up. */
void line_who_find(struct line_who *w, unsigned may);
enum line_right line_right_of(const struct line_who *w, int fd);

/*
 * A whole line, without its newline, and the descriptor that came with it, if it is sealed; -1:
 * none. line NULL: wrong says why.
 */
typedef void (*line_said)(void *arg, enum line_right right, int fd, int doc, const char *line,
			  size_t len, const char *wrong);

struct line_pool;
struct line_pool_conf {
	const char *path;
	unsigned mode;
	gid_t gid;      /* of the file; (gid_t)-1: as it is */
	bool documents; /* a descriptor may come with a line */
	/*
	 * Nothing can be sent any more when a line is handed on, and nothing unread is left:
	 * closing such a connection never takes long.
	 */
	bool one_line;
	const struct line_who *who;
	line_said said;
	void *arg;
};
/* An old socket at the path is replaced. */
int line_pool_open(const struct line_pool_conf *c, struct line_pool **ret, struct bwl_err *e);
int line_pool_listener(const struct line_pool *p);
int line_pool_fd(const struct line_pool *p); /* for poll(2) */
bool line_pool_is_empty(const struct line_pool *p);
void line_pool_run(struct line_pool *p, uint64_t now_ns);
void line_pool_unlink(const struct line_pool *p); /* if the file is still ours */
void line_pool_close(struct line_pool *p);        /* NULL-safe; leaves the file */
/* Closes the descriptors in this thread's table: they are in another's, who goes on. */
void line_pool_leave(const struct line_pool *p);

#endif
