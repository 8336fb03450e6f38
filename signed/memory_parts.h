/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside: what memory.c judges by and memory_file.c reads and writes. */
#ifndef BWL_SIGNED_MEMORY_PARTS_H
#define BWL_SIGNED_MEMORY_PARTS_H

#include "signed/memory.h"

#define MEMORY_MOST 4096 /* documents, and revoked ones */

struct memory_item {
	enum bwl_signed_type type;
	char name[BWL_NAME_LEN];
	uint64_t epoch, version;
	int64_t not_after_s;
	uint8_t digest[32];
};

struct memory_digest {
	uint8_t b[32];
};

struct bwl_memory {
	struct bwl_root *root;
	char *root_text; /* its envelope */
	struct bwl_tray tray;
	json_t *tray_labels; /* owns what tray.labels points to */
	const char **labels;
	uint64_t epoch, seq;
	int64_t newest_s;
	struct memory_item *item;
	size_t nitems;
	struct memory_digest *revoked;
	size_t nrevoked;
};

/* memory_file.c; a copy of the list, NULL: none */
void memory_take_labels(struct bwl_memory *m, const json_t *labels);

#endif
