// SPDX-License-Identifier: GPL-2.0-or-later
/* Repeated closures of what is already closed: see journal.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "journal.h"

/*
 * Lists the records to be written. Nothing about what was opened meanwhile: a new closure is
 * recorded by whoever makes it.
 */
static size_t older(const struct bwl_closed *c, enum bwl_journal_kind kind, const char *name,
		    uint64_t said_s, struct bwl_journal_rec *ret)
{
	const struct bwl_journal_rec rec = { .kind = kind, .wall_s = said_s };
	size_t n = 0;

	if ((kind == BWL_J_STOP && c->stop && c->stop_s < said_s) ||
	    (kind == BWL_J_CLAMP && c->clamp && c->clamp_s < said_s))
		ret[n++] = rec;
	for (size_t i = 0; kind == BWL_J_CLOSE && i < c->nnames; i++) {
		if (c->name[i].wall_s >= said_s ||
		    (name && strncmp(c->name[i].name, name, BWL_NAME_LEN)))
			continue;
		ret[n] = rec;
		memcpy(ret[n++].name, c->name[i].name, BWL_NAME_LEN);
	}
	return n;
}

static int again(const char *dir, enum bwl_journal_kind kind, const char *name, uint64_t said_s,
		 struct bwl_err *e)
{
	struct bwl_journal_rec *rec;
	struct bwl_journal j;
	size_t n;
	int r = 0;

	bwl_journal_look(dir, &j);
	rec = bwl_must(calloc(j.closed.nnames + 1, sizeof(*rec)));
	n = j.state == BWL_JOURNAL_OK ? older(&j.closed, kind, name, said_s, rec) : 0;
	if (n)
		r = bwl_journal_append(dir, rec, n, j.seq, e);
	free(rec);
	bwl_journal_free(&j);
	return r;
}

int bwl_journal_again(const char *dir, enum bwl_journal_kind kind, const char *name,
		      uint64_t said_s, struct bwl_err *e)
{
	int tries = 5, r;

	do
		r = again(dir, kind, name, said_s, e);
	while (r == -EAGAIN && tries--);
	return r;
}
