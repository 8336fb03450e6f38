/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * line_porter.c: a pool (line_pool.h) on a thread of its own, with a table of descriptors of its
 * own. A client may send any descriptor along (SCM_RIGHTS), and closing one may take as long as who
 * made it likes: a TCP socket with SO_LINGER whose peer reads nothing 18 hours, a file of a file
 * system in user space for ever. It need not even be received: who closes the connection in whose
 * queue it is waits as well, and so does a new process, before it is another program. So nobody
 * else ever has such a descriptor, and the porter of one right keeps out only its own clients.
 *
 * What is handed on is a connection that carries nothing more, a line, and a sealed memfd or none.
 */
#ifndef BWL_AGENT_LINE_PORTER_H
#define BWL_AGENT_LINE_PORTER_H

#include "line_pool.h"

struct line_porter;
/* who is taken over when this returns 0, and freed when nobody needs it. */
int line_porter_start(const struct line_pool_conf *c, struct line_who *who,
		      struct line_porter **ret, struct bwl_err *e);
int line_porter_fd(const struct line_porter *t); /* for poll(2): something is handed on */
/* Takes what was handed on. */
void line_porter_run(struct line_porter *t, line_said said, void *arg);
struct line_who *line_porter_who(struct line_porter *t);
/*
 * Takes a connection back that may carry something: the porter closes it. false: not now, because a
 * process is being started.
 */
bool line_porter_take_back(struct line_porter *t, int fd);
/* Does not wait: a porter that hangs ends when it can. NULL-safe. */
void line_porter_stop(struct line_porter *t);

/*
 * A new process has a copy of every descriptor until it is another program: none is started while
 * a connection that may carry something is given back.
 */
void line_spawn_begin(void);
void line_spawn_end(void);

#endif
