// SPDX-License-Identifier: GPL-2.0-or-later
/* See rows.h. */
#include <bwl/err.h>
#include <stdlib.h>
#include <string.h>
#include "interval.h"
#include "rows.h"

static void salt_of(const struct ev_rows *v, uint64_t index, uint8_t ret[static EV_SALT])
{
	uint8_t said[17] = { v->seconds };

	for (int i = 0; i < 8; i++) {
		said[1 + i] = (uint8_t)(v->hour >> (56 - 8 * i));
		said[9 + i] = (uint8_t)(index >> (56 - 8 * i));
	}
	ev_secret(v->key, EV_OF_ROW, said, sizeof(said), ret);
}

static struct bwl_hash *next(struct ev_rows *v)
{
	if (v->n == v->room)
		v->leaf = bwl_must(
			reallocarray(v->leaf, v->room = 2 * v->room + 64, sizeof(*v->leaf)));
	return &v->leaf[v->n++];
}

void ev_rows_add(struct ev_rows *v, const struct ev_row *row)
{
	uint8_t salt[EV_SALT];
	struct ev_hasher *h;

	salt_of(v, v->n, salt);
	h = ev_hash_begin(EV_ROW);
	ev_hash_bytes(h, salt, sizeof(salt));
	ev_hash_text(h, row->peer, strlen(row->peer));
	ev_hash_text(h, row->class_, strlen(row->class_));
	ev_hash_number(h, row->start_s);
	ev_hash_number(h, row->part);
	ev_hash_text(h, row->points, row->len);
	ev_hash_end(h, next(v));
}

bool ev_rows_root(struct ev_rows *v, struct bwl_hash *ret, uint32_t *ret_slots)
{
	uint32_t slots = ev_slots(v->n, EV_SLOTS_MIN);
	uint8_t salt[EV_SALT];

	while (slots && v->n < slots) {
		uint64_t index = v->n;

		salt_of(v, index, salt);
		ev_pad_commit(salt, index, next(v));
	}
	if (slots) {
		ev_root(EV_ROW_NODE, v->leaf, slots);
		*ret = v->leaf[0];
	}
	*ret_slots = slots;
	free(v->leaf);
	v->leaf = NULL;
	v->n = v->room = 0;
	return slots;
}
