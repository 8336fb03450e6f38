/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy_order.c: the verb policy of bwl/agent.h. Applying a document may take seconds, and wait
 * for the disk: it has its own thread, one at a time, which answers the client.
 */
#ifndef BWL_AGENT_POLICY_ORDER_H
#define BWL_AGENT_POLICY_ORDER_H

#include <jansson.h>
#include <stdbool.h>
#include "bwl/err.h"
#include "bwl/publish.h"

struct policy_order;
int policy_order_new(const char *pin_dir, struct policy_order **ret, struct bwl_err *e);
/* As in struct order_verb. */
json_t *policy_order_take(struct policy_order *w, const json_t *ask, int doc, int conn);
/* NULL-safe. Waits for the running one, but not for ever. */
void policy_order_end(struct policy_order *w);

/* The request. false: it is not understood. */
struct policy_ask {
	char name[256];
	char by[64]; /* the user on whose behalf we run the command; empty: the client itself */
	size_t size;
	bool trust_clock;
	struct bwl_publish_opts opts;
};
bool policy_ask_parse(const json_t *ask, struct policy_ask *ret);
/*
 * Maps the bytes of a document that nobody can change any more; the caller unmaps them. size: its
 * claimed size.
 */
int policy_ask_map(int doc, size_t size, const char **ret, struct bwl_err *e);

#endif
