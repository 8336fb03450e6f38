/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What bwlimit-controller does, in parts that need nothing of each other but what is here: one
 * thread, one loop (main.c), which calls each part when something is due or has come. A new part is
 * a `const struct ctrl_module` of its own and a line in the table of main.c.
 *
 * Parts do not wait: a step that asks somebody far away starts that, says its descriptor and goes
 * on when it is called again. The store alone is asked by calls that wait, 3 s at most.
 */
#ifndef BWL_CONTROLLER_MODULE_H
#define BWL_CONTROLLER_MODULE_H

#include <stdbool.h>
#include <stdint.h>
#include "fleet/status/signer.h"
#include "options.h"

#define CTRL_S 1000000000ULL

/* What parts share. */
struct ctrl {
	const struct options *o;
	struct status_signers *signers; /* by which keys trays sign what they say */
	bool leads; /* this one is the leader; whoever writes is fenced all the same (lead.h) */
	/* One line for people or programs: what happened, to what, why (NULL: no error). */
	void (*say)(const struct ctrl *c, const char *event, const char *what,
		    const struct bwl_err *why);
};

struct ctrl_module {
	const char *name;
	/* 0, or why the program does not start. *ret_self: handed to the others. */
	int (*start)(struct ctrl *c, void **ret_self, struct bwl_err *e);
	/* What is due. When to be called again, in CLOCK_BOOTTIME; earlier when fd is readable. */
	uint64_t (*step)(void *self, uint64_t now_ns);
	/*
	 * Readable when something has come: an epoll of its own where that is many. -1: nothing
	 * now. NULL: never.
	 */
	int (*fd)(void *self);
	void (*anew)(void *self); /* SIGHUP: reads its certificates again. NULL: it has none */
	void (*stop)(void *self);
};

#endif
