/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When this tray's own IKE keys are to be destroyed, and when that is tried again: a disk may
 * refuse to let go of one. Who enrols a tray again that was expelled gives it new keys, so what was
 * ordered for its expulsion is over with that, also what waits for its next try. Pure; of one lock.
 */
#ifndef BWL_AGENT_KEY_ORDER_H
#define BWL_AGENT_KEY_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#define KEY_ORDER_AGAIN_NS 60000000000ULL

enum key_order_why {
	KEYS_EXPELLED = 1, /* enough people expelled this tray */
	KEYS_TAMPER = 2,   /* its policy says so of a sign; no enrolment takes that back */
};
struct key_order {
	unsigned why;      /* a bit each: what is not done yet; 0: nothing is */
	bool now;          /* it is new: it waits for nothing */
	uint64_t again_ns; /* otherwise the next try is due then */
};

void key_order_give(struct key_order *k, enum key_order_why why);
void key_order_take_back(struct key_order *k, enum key_order_why why);
bool key_order_is_due(const struct key_order *k, uint64_t now_ns);
/* It is tried now, without the lock: what is ordered meanwhile is another order. */
void key_order_begin(struct key_order *k);
/* left: some key is still there. What was taken back meanwhile is not tried again. */
void key_order_end(struct key_order *k, bool left, uint64_t now_ns);

#endif
