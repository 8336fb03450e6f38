/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bwlimit-controller in parts that need only what is here: one thread and one loop (main.c) call
 * each part when something is due or has arrived. A new part is a `const struct ctrl_module` and a
 * line in the table of main.c.
 *
 * Parts do not wait: a step with a remote request starts it, returns its descriptor and continues
 * when called again. Only the store is asked by calls that wait, 3 s at most.
 */
#ifndef BWL_CONTROLLER_MODULE_H
#define BWL_CONTROLLER_MODULE_H

#include <stdbool.h>
#include <stdint.h>
#include "fleet/status/signer.h"
#include "options.h"

#define CTRL_S 1000000000ULL

/* State that parts share. */
struct ctrl {
	const struct options *o;
	struct status_signers *signers; /* keys with which trays sign their statuses */
	bool leads; /* this one leads; writes are fenced nevertheless (lead.h) */
	/* Reports one line to people or programs: what happened, to what, why (NULL: no error). */
	void (*say)(const struct ctrl *c, const char *event, const char *what,
		    const struct bwl_err *why);
};

struct ctrl_module {
	const char *name;
	/* 0, or an error that keeps the program from starting. *ret_self: passed to the others. */
	int (*start)(struct ctrl *c, void **ret_self, struct bwl_err *e);
	/*
	 * Does what is due. Returns when to be called again, in CLOCK_BOOTTIME; earlier if fd is
	 * readable.
	 */
	uint64_t (*step)(void *self, uint64_t now_ns);
	/*
	 * Readable when something has arrived: an epoll of its own for several descriptors. -1:
	 * nothing now. NULL: never.
	 */
	int (*fd)(void *self);
	void (*anew)(void *self); /* SIGHUP: reloads its certificates. NULL: it has none */
	void (*stop)(void *self);
};

#endif
