// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a file of an audit log, and as a checkpoint and a key: either items that cover the
 * bytes in order, or a refusal. Canonical input is written again as the same bytes.
 */
#include "audit/item.h"
#include "fuzz.h"

struct at {
	uint64_t next;
	size_t size;
};

static int item(const struct bwl_audit_item *i, void *arg)
{
	static const struct bwl_note_key nobody = { .name = "nobody" };
	struct bwl_checkpoint c = { .size = 5 };
	struct bwl_frontier f;
	struct at *at = arg;

	must(i->offset == at->next, "items follow each other");
	must(i->offset + i->len <= at->size, "and end within the file");
	at->next = i->offset + i->len + (i->kind != BWL_AUDIT_TORN && i->len < BWL_AUDIT_LINE);
	must(i->kind != BWL_AUDIT_LEAF, "hashes are in other files");
	must((i->kind == BWL_AUDIT_RECORD) <= (i->json && i->n < 1ULL << 63),
	     "a record has a number");
	if (i->kind != BWL_AUDIT_CHECKPOINT)
		return 0;
	must(bwl_checkpoint_open(&nobody, i->note, i->note_len, &c, NULL), "nobody signs nothing");
	c.size = i->nodes == 64 ? ~0ULL : (1ULL << i->nodes) - 1;
	if (bwl_audit_frontier(i, &c, &f))
		must(i->nodes == 0 || f.n == c.size, "a frontier of that size");
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct bwl_note_key nobody = { .name = "nobody" };
	struct bwl_checkpoint c;
	struct bwl_note_key k;
	struct at at = { .size = size };
	char *text = malloc(size + 1);
	FILE *f;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	f = size ? fmemopen(text, size, "r") : NULL;
	if (f) {
		must(!bwl_audit_scan_file(f, "fuzz", item, &at, NULL), "all of it is read");
		must(at.next >= size, "to its end");
		fclose(f);
	}
	must(bwl_checkpoint_open(&nobody, text, size, &c, NULL) < 0, "nobody signs nothing");
	if (!bwl_note_key_parse(text, &k, NULL)) {
		char again[BWL_NOTE_KEY_TEXT];

		bwl_note_key_format(&k, k.can_sign, again);
		must(!strncmp(text, again, strlen(again)), "a key has one spelling");
	}
	free(text);
	return 0;
}
