/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs for trying the hooks of one port. */
#ifndef BWL_LOADER_PROBE_PORT_H
#define BWL_LOADER_PROBE_PORT_H

#include "probe_question.h"

struct probe_hooks {
	int tc, xdp, frags; /* programs of two instructions; negative: the kernel accepts none */
	int native; /* 0 or an errno. Attached only once: a driver may stop its queues for it */
	bool sends;
};
void probe_hooks_begin(const struct bwl_netdev *d, struct probe_hooks *ret);
void probe_hooks_end(struct probe_hooks *h);

#endif
