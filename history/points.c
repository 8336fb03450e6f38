// SPDX-License-Identifier: GPL-2.0-or-later
/* See points.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "points.h"

#define VARINT 10 /* bytes of the longest one */
#define POINT (VARINT * (1 + HIST_COLS))

bool hist_is_zero(const struct hist_values *x)
{
	unsigned i;

	for (i = 0; i < HIST_COLS; i++)
		if (x->v[i])
			return false;
	return true;
}

void hist_sum(struct hist_values *to, const struct hist_values *x)
{
	unsigned i;

	for (i = 0; i < HIST_COLS; i++)
		to->v[i] += x->v[i];
}

static uint8_t *put(uint8_t *at, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = (uint8_t)v;
	return at;
}

static int grow(struct hist_block *b)
{
	size_t room = b->room ? 2 * b->room : 128;
	uint8_t *data;

	if (b->room - b->len >= POINT)
		return 0;
	data = realloc(b->data, room);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->room = room;
	return 0;
}

int hist_block_add(struct hist_block *b, uint32_t unit, const struct hist_values *x)
{
	unsigned i, mask = 0;
	uint8_t *at;

	for (i = 0; i < HIST_COLS; i++)
		mask |= x->v[i] ? 1U << i : 0;
	if (!mask)
		return 0;
	if (unit > HIST_MAX_UNITS || (b->len && unit <= b->last))
		return -ERANGE;
	if (grow(b))
		return -ENOMEM;
	at = put(b->data + b->len, (uint64_t)(unit - b->last) << HIST_COLS | mask);
	for (i = 0; i < HIST_COLS; i++)
		if (x->v[i])
			at = put(at, x->v[i]);
	b->len = (size_t)(at - b->data);
	b->last = unit;
	return 0;
}

void hist_block_free(struct hist_block *b)
{
	free(b->data);
	*b = (struct hist_block){ 0 };
}

struct hist_cursor hist_cursor(const void *data, size_t len)
{
	const uint8_t *d = data;

	return (struct hist_cursor){ .at = d, .end = len ? d + len : d };
}

static int get(struct hist_cursor *c, uint64_t *ret)
{
	unsigned shift = 0;
	uint64_t v = 0;
	uint8_t b;

	do {
		if (c->at == c->end || shift > 63)
			return -EUCLEAN;
		b = *c->at++;
		if (shift == 63 && b > 1)
			return -EUCLEAN;
		v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	if (!b && shift > 7) /* longer than necessary */
		return -EUCLEAN;
	*ret = v;
	return 0;
}

int hist_next(struct hist_cursor *c, uint32_t *ret_unit, struct hist_values *ret)
{
	uint64_t head, step;
	unsigned i;

	if (c->at == c->end)
		return 0;
	if (get(c, &head))
		return -EUCLEAN;
	step = head >> HIST_COLS;
	if (!(head & ((1U << HIST_COLS) - 1)) || (c->begun && !step) ||
	    step > HIST_MAX_UNITS - c->unit)
		return -EUCLEAN;
	*ret = (struct hist_values){ 0 };
	for (i = 0; i < HIST_COLS; i++)
		if (head >> i & 1 && (get(c, &ret->v[i]) || !ret->v[i]))
			return -EUCLEAN;
	c->unit += (uint32_t)step;
	c->begun = true;
	*ret_unit = c->unit;
	return 1;
}
