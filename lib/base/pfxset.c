// SPDX-License-Identifier: GPL-2.0-or-later
/* Sets of prefixes: see pfxset.h. */
#include <stdlib.h>
#include <string.h>
#include <bwl/pfxset.h>

static size_t bytes_of(const struct bwl_pfx *p)
{
	return p->family == 4 ? 4 : 16;
}

static unsigned bits_of(const struct bwl_pfx *p)
{
	return p->family == 4 ? 32 : 128;
}

void bwl_pfxset_add(struct bwl_pfxset *s, const struct bwl_pfx *pfx, uint64_t value)
{
	struct bwl_pfxset_item *i;

	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 16;
		s->item = bwl_must(reallocarray(s->item, s->room, sizeof(*s->item)));
	}
	i = &s->item[s->n++];
	*i = (struct bwl_pfxset_item){ .pfx = { .family = pfx->family, .len = pfx->len },
				       .value = value };
	memcpy(i->pfx.addr, pfx->addr, bytes_of(pfx));
	s->lens[pfx->family == 6][pfx->len] = true;
	s->sorted = false;
}

static int by_place(const struct bwl_pfx *a, const struct bwl_pfx *b)
{
	int d = a->family - b->family;

	if (!d)
		d = memcmp(a->addr, b->addr, sizeof(a->addr));
	return d ? d : a->len - b->len;
}

static int by_item(const void *a, const void *b)
{
	const struct bwl_pfxset_item *x = a, *y = b;
	int d = by_place(&x->pfx, &y->pfx);

	return d ? d : (x->value > y->value) - (x->value < y->value);
}

void bwl_pfxset_sort(struct bwl_pfxset *s)
{
	size_t i, n = 0;

	if (s->sorted)
		return;
	if (s->n)
		qsort(s->item, s->n, sizeof(*s->item), by_item);
	for (i = 0; !s->twins && i < s->n; i++) {
		n += !n || by_place(&s->item[n - 1].pfx, &s->item[i].pfx);
		s->item[n - 1] = s->item[i];
	}
	s->n = s->twins ? s->n : n;
	s->sorted = true;
}

void bwl_pfxset_free(struct bwl_pfxset *s)
{
	free(s->item);
	memset(s, 0, sizeof(*s));
}

/* The first item that is not before key. */
static size_t lower(const struct bwl_pfxset *s, const struct bwl_pfx *key)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (by_place(&s->item[mid].pfx, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Sets every bit of addr, from len on, to bit. */
static void set_from(uint8_t *addr, unsigned len, unsigned bits, bool bit)
{
	for (; len < bits; len++) {
		if (bit)
			addr[len / 8] |= (uint8_t)(0x80U >> len % 8);
		else
			addr[len / 8] &= (uint8_t) ~(0x80U >> len % 8);
	}
}

static struct bwl_pfx cut(const struct bwl_pfx *q, unsigned len)
{
	struct bwl_pfx key = { .family = q->family, .len = (uint8_t)len };

	memcpy(key.addr, q->addr, bytes_of(q));
	set_from(key.addr, len, bits_of(q), false);
	return key;
}

const struct bwl_pfxset_item *bwl_pfxset_exact(const struct bwl_pfxset *s, const struct bwl_pfx *q)
{
	struct bwl_pfx key = cut(q, q->len);
	size_t at = lower(s, &key);

	return at < s->n && !by_place(&s->item[at].pfx, &key) ? &s->item[at] : NULL;
}

int bwl_pfxset_holders(const struct bwl_pfxset *s, const struct bwl_pfx *q, bwl_pfxset_fn fn,
		       void *arg)
{
	struct bwl_pfx key;
	unsigned len;
	size_t i;
	int r = 0;

	for (len = 0; !r && len <= q->len; len++) {
		if (!s->lens[q->family == 6][len])
			continue;
		key = cut(q, len);
		for (i = lower(s, &key); !r && i < s->n && !by_place(&s->item[i].pfx, &key); i++)
			r = fn(&s->item[i], arg);
	}
	return r;
}

int bwl_pfxset_overlaps(const struct bwl_pfxset *s, const struct bwl_pfx *q, bwl_pfxset_fn fn,
			void *arg)
{
	struct bwl_pfx key = cut(q, q->len), end = key;
	int r = bwl_pfxset_holders(s, q, fn, arg);
	size_t i;

	set_from(end.addr, q->len, bits_of(q), true);
	end.len = (uint8_t)bits_of(q);
	for (i = lower(s, &key); !r && i < s->n && by_place(&s->item[i].pfx, &end) <= 0; i++)
		if (s->item[i].pfx.len > q->len)
			r = fn(&s->item[i], arg);
	return r;
}

bool bwl_pfx_holds(const struct bwl_pfx *a, const struct bwl_pfx *b)
{
	struct bwl_pfx x, y;

	if (a->family != b->family || a->len > b->len)
		return false;
	x = cut(a, a->len);
	y = cut(b, a->len);
	return !by_place(&x, &y);
}
