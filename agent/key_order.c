// SPDX-License-Identifier: GPL-2.0-or-later
/* See key_order.h. */
#include "key_order.h"

void key_order_give(struct key_order *k, enum key_order_why why)
{
	k->why |= why;
	k->now = true;
}

void key_order_take_back(struct key_order *k, enum key_order_why why)
{
	k->why &= ~(unsigned)why;
	if (!k->why)
		*k = (struct key_order){ 0 };
}

bool key_order_is_due(const struct key_order *k, uint64_t now_ns)
{
	return k->why && (k->now || now_ns >= k->again_ns);
}

void key_order_begin(struct key_order *k)
{
	k->now = false;
	k->again_ns = UINT64_MAX;
}

void key_order_end(struct key_order *k, bool left, uint64_t now_ns)
{
	if (!left && !k->now)
		*k = (struct key_order){ 0 };
	else if (k->why)
		k->again_ns = now_ns + KEY_ORDER_AGAIN_NS;
}
