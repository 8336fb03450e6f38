// SPDX-License-Identifier: GPL-2.0-or-later
/* See fold.h. */
#include <stdlib.h>
#include <string.h>
#include "fold.h"

static int most_bytes_first(const void *a, const void *b)
{
	const struct bwl_flow *x = a, *y = b;

	return x->bytes != y->bytes ? x->bytes < y->bytes ? 1 : -1
				    : memcmp(&x->key, &y->key, sizeof(x->key));
}

static int flows_first(const void *a, const void *b)
{
	int order = (int)bwl_flow_kind(a) - (int)bwl_flow_kind(b);

	return order ? order : most_bytes_first(a, b);
}

static void make_remainder(struct bwl_flow *f)
{
	struct bwl_rec_key key = { .who = f->key.who };

	key.what = bwl_rec_what(BWL_REC_REST, bwl_flow_port(f), bwl_flow_class(f),
				bwl_flow_reason(f));
	f->key = key;
	f->tcp_flags = 0;
}

/* n rows of one peer, under any policy. */
static size_t fold_peer(struct bwl_flow *f, size_t n, size_t most)
{
	size_t i, folded = 0;

	if (n <= most)
		return 0;
	qsort(f, n, sizeof(*f), flows_first);
	for (i = most; i < n && bwl_flow_kind(&f[i]) == BWL_REC_FLOW; i++, folded++)
		make_remainder(&f[i]);
	return folded;
}

size_t flows_fold(struct bwl_book *b, size_t most)
{
	size_t i, n, folded = 0;

	for (i = 0; i < b->nflows; i += n) {
		for (n = 1; i + n < b->nflows &&
			    bwl_flow_peer(&b->flow[i + n]) == bwl_flow_peer(&b->flow[i]);)
			n++;
		folded += fold_peer(&b->flow[i], n, most);
	}
	if (folded)
		bwl_book_merge(b);
	return folded;
}
