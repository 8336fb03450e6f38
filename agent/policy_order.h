/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy_order.c: the verb policy of bwl/agent.h. A document may take seconds, and the disk: it has
 * a thread of its own, one at a time, and who asked is answered by it.
 */
#ifndef BWL_AGENT_POLICY_ORDER_H
#define BWL_AGENT_POLICY_ORDER_H

#include <jansson.h>
#include <stdbool.h>
#include "bwl/err.h"
#include "bwl/publish.h"

struct policy_order;
int policy_order_new(const char *pin_dir, struct policy_order **ret, struct bwl_err *e);
/* As struct order_verb has it. */
json_t *policy_order_take(struct policy_order *w, const json_t *ask, int doc, int conn);
/* NULL-safe. Waits for the one that is being done, but not for ever. */
void policy_order_end(struct policy_order *w);

/* What is asked for. false: it is not understood. */
struct policy_ask {
	char name[256];
	char by[64]; /* who it is for, of a command that we run ourselves; empty: who asks */
	size_t size;
	bool trust_clock;
	struct bwl_publish_opts opts;
};
bool policy_ask_parse(const json_t *ask, struct policy_ask *ret);
/*
 * The bytes of a document that nobody can change any more, mapped; the caller unmaps them. size:
 * what was said of it.
 */
int policy_ask_map(int doc, size_t size, const char **ret, struct bwl_err *e);

#endif
