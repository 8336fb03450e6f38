// SPDX-License-Identifier: GPL-2.0-or-later
/* See draw.h. */
#include <stdlib.h>
#include <string.h>
#include "draw.h"

static int by_key(const void *a, const void *b)
{
	const struct bwl_note_key *const *x = a, *const *y = b;

	return memcmp((*x)->pub, (*y)->pub, sizeof((*x)->pub));
}

int ev_seed(const struct bwl_witnesses *w, const char *note, size_t len, const char *nonce,
	    struct bwl_hash *ret, struct bwl_err *e)
{
	const struct bwl_note_key *key[BWL_WITNESSES_MAX];
	uint8_t sig[BWL_NOTE_SIGNATURE];
	size_t text = bwl_note_text(note, len);
	struct ev_hasher *h;
	int r = 0;

	if (!text)
		return bwl_fail(e, EBADMSG, "it is not a checkpoint");
	for (size_t i = 0; i < w->n; i++)
		key[i] = &w->key[i];
	if (w->n)
		qsort(key, w->n, sizeof(*key), by_key);
	h = ev_hash_begin(EV_SEED);
	ev_hash_text(h, note, text);
	for (size_t i = 0; !r && i < w->n; i++) {
		r = bwl_note_signature(key[i], note, len, sig, e);
		if (!r) {
			ev_hash_bytes(h, key[i]->pub, sizeof(key[i]->pub));
			ev_hash_bytes(h, sig, sizeof(sig));
		}
		r = r == -ENOKEY ? 0 : r; /* not every witness has signed */
	}
	ev_hash_text(h, nonce ? nonce : "", nonce ? strlen(nonce) : 0);
	ev_hash_end(h, ret);
	return r;
}

uint64_t ev_draw(const struct bwl_hash *seed, uint64_t i, uint64_t total)
{
	/* Numbers above the last multiple of total would favour the first bytes. */
	uint64_t over = (UINT64_MAX % total + 1) % total, n, again = 0;

	do {
		struct ev_hasher *h = ev_hash_begin(EV_DRAW);
		struct bwl_hash x;

		ev_hash_bytes(h, seed->b, sizeof(seed->b));
		ev_hash_number(h, i);
		ev_hash_number(h, again++);
		ev_hash_end(h, &x);
		n = 0;
		for (int k = 0; k < 8; k++)
			n = n << 8 | x.b[k];
	} while (n > UINT64_MAX - over);
	return n % total;
}
