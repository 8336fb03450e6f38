/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When this tray's own IKE keys are to be destroyed, and when to retry, because a disk may refuse.
 * A tray that is enrolled again after an expulsion gets new keys, so the enrolment cancels what its
 * expulsion ordered, including a pending retry. Pure; under one lock.
 */
#ifndef BWL_AGENT_KEY_ORDER_H
#define BWL_AGENT_KEY_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#define KEY_ORDER_AGAIN_NS 60000000000ULL

enum key_order_why {
	KEYS_EXPELLED = 1, /* enough people expelled this tray */
	KEYS_TAMPER = 2,   /* its policy orders it for a sign; no enrolment cancels that */
};
struct key_order {
	unsigned why;      /* a bit each: what is still pending; 0: nothing */
	bool now;          /* new: do it at once */
	uint64_t again_ns; /* otherwise when the next try is due */
};

void key_order_give(struct key_order *k, enum key_order_why why);
void key_order_take_back(struct key_order *k, enum key_order_why why);
bool key_order_is_due(const struct key_order *k, uint64_t now_ns);
/* An attempt begins, without the lock: orders meanwhile are separate. */
void key_order_begin(struct key_order *k);
/* left: some key is still there. What was cancelled meanwhile is not retried. */
void key_order_end(struct key_order *k, bool left, uint64_t now_ns);

#endif
