// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Closing documents that the newest signed time names and that have not arrived here: see docs.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "docs.h"
#include "signed/closing.h"
#include "signed/envelope.h"
#include "signed/payload.h"

/*
 * NULL if an earlier bwlimitd did not keep its bytes: nothing is known then until the next minute.
 */
static const struct docs_one *newest_time(const struct docs *s)
{
	const struct bwl_memory_item *item;
	size_t n;

	item = bwl_memory_items(s->m, &n);
	for (size_t i = 0; i < n; i++)
		if (item[i].type == BWL_SIGNED_TIMESTAMP)
			return docs_find(s, item[i].digest.b);
	return NULL;
}

static bool is_digest(const struct bwl_digest *d, const uint8_t digest[32])
{
	return !memcmp(d->b, digest, sizeof(d->b));
}

/*
 * A document of a past epoch is no longer taken, and closes nothing. Another document of the same
 * name does not count for it: it may close something else. But if the memory does not say what the
 * item closes (it was written by an earlier version), a newer one counts.
 */
static bool is_here(const struct bwl_memory *m, const struct bwl_closing *c)
{
	static const uint8_t unknown[32];
	const struct bwl_memory_item *item;
	size_t n;

	if (c->epoch < bwl_memory_epoch(m))
		return true;
	item = bwl_memory_items(m, &n);
	for (size_t i = 0; i < n; i++)
		if (item[i].type == c->type && !strcmp(item[i].name, c->name) &&
		    (is_digest(&item[i].digest, c->digest) ||
		     is_digest(&item[i].before, c->digest) ||
		     (is_digest(&item[i].what, unknown) &&
		      (item[i].epoch > c->epoch ||
		       (item[i].epoch == c->epoch && item[i].version > c->version)))))
			return true;
	return false;
}

/*
 * A document for a label went to the trays that had the label then. A tray that got it later was
 * not among them. A tray that had it then, and was enrolled again with it since, still needs it.
 */
static bool is_for(const struct bwl_memory *m, const struct bwl_closing *c)
{
	const struct bwl_tray *us = bwl_memory_tray(m);
	struct bwl_tray as = *us;

	as.nlabels = 0;
	if (bwl_audience_has(c->audience, &as))
		return true;
	as.nlabels = 1;
	for (size_t i = 0; i < us->nlabels; i++) {
		as.labels = &us->labels[i];
		if (c->issued_s >= bwl_memory_label_since(m, i) &&
		    bwl_audience_has(c->audience, &as))
			return true;
	}
	return false;
}

size_t docs_missing(const struct docs *s, char (*ret)[DOCS_KEY], size_t most)
{
	const struct docs_one *time = newest_time(s);
	uint64_t ours = bwl_root_terms(bwl_memory_root(s->m))->version, theirs;
	struct bwl_closing c;
	const json_t *o;
	size_t i, n = 0;

	if (!time)
		return 0;
	theirs = bwl_payload_number(time->d.body, "root");
	if (theirs > ours && n++ < most)
		snprintf(ret[n - 1], DOCS_KEY, "root, version %" PRIu64, theirs);
	/*
	 * A controller that still has an earlier root may name documents that this root's people
	 * did not sign.
	 */
	if (theirs && theirs < ours)
		return 0;
	json_array_foreach(json_object_get(time->d.body, "closing"), i, o)
	{
		if (!bwl_closing_read(o, &c) || !is_for(s->m, &c) || is_here(s->m, &c))
			continue;
		if (n++ < most)
			snprintf(ret[n - 1], DOCS_KEY, "%s/%s", bwl_signed_word(c.type), c.name);
	}
	return n;
}

void docs_mind_whole(struct docs *s)
{
	const struct docs_one *time = newest_time(s);
	uint64_t theirs = time ? bwl_payload_number(time->d.body, "root") : 0;

	/*
	 * If the controller does not have this root yet, its time says nothing about closing
	 * documents: it does not count as complete.
	 */
	if (theirs && theirs < bwl_root_terms(bwl_memory_root(s->m))->version)
		return;
	if (time && !docs_missing(s, NULL, 0))
		bwl_memory_set_whole(s->m);
}
