// SPDX-License-Identifier: GPL-2.0-or-later
/* See witness.h. */
#include <errno.h>
#include <string.h>
#include "witness.h"

static bool is_same(const struct bwl_note_key *a, const struct bwl_note_key *b)
{
	return !strcmp(a->name, b->name) || !memcmp(a->pub, b->pub, sizeof(a->pub));
}

int bwl_witnesses_add(struct bwl_witnesses *w, const struct bwl_note_key *key, struct bwl_err *e)
{
	for (size_t i = 0; i < w->n; i++)
		if (is_same(&w->key[i], key))
			return bwl_fail(e, EEXIST,
					"the witness %.64s is named twice, by its name or its key",
					key->name);
	if (w->n == BWL_WITNESSES_MAX)
		return bwl_fail(e, E2BIG, "at most %d witnesses", BWL_WITNESSES_MAX);
	w->key[w->n++] = *key;
	return 0;
}

int bwl_witnesses_hold(const struct bwl_witnesses *w, const struct bwl_note_key *log,
		       const char *note, size_t len, unsigned *ret_n, struct bwl_err *e)
{
	unsigned have = 0;
	size_t text;
	int r;

	for (size_t i = 0; i < w->n; i++) {
		if (log && !memcmp(w->key[i].pub, log->pub, sizeof(log->pub)))
			return bwl_fail(
				e, EINVAL,
				"the witness %.64s has the key of the log: a log cannot witness itself",
				w->key[i].name);
		r = bwl_note_open(&w->key[i], note, len, &text, e);
		if (r && r != -ENOKEY)
			return r;
		have += !r;
	}
	if (ret_n)
		*ret_n = have;
	return have >= w->k
		       ? 0
		       : bwl_fail(
				 e, ENOKEY,
				 "%u of the %zu known witnesses cosigned the checkpoint, but %u must have",
				 have, w->n, w->k);
}
