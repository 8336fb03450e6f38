/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal: what memory.c judges by and memory_file.c reads and writes. */
#ifndef BWL_SIGNED_MEMORY_PARTS_H
#define BWL_SIGNED_MEMORY_PARTS_H

#include "signed/memory.h"

#define MEMORY_MAX 4096 /* documents, and revoked ones */

struct memory_expelled {
	char tray[BWL_NAME_LEN];
	uint64_t epoch;
	int64_t issued_s; /* of the newest expulsion */
	bool enough;      /* one of them was signed by as many people as a widening needs */
};

struct bwl_memory {
	struct bwl_root *root;
	char *root_text; /* its envelope */
	struct bwl_tray tray;
	json_t *tray_labels; /* owns what tray.labels points to */
	const char **labels;
	int64_t *label_since_s; /* for each: when the enrolment was signed that gave it */
	char *log_key;          /* from its enrolment; NULL: it names none */
	uint64_t epoch, seq;
	int64_t newest_s, whole_s, closed_s;
	struct bwl_memory_item *item;
	size_t nitems, items_room; /* room: of the allocation */
	struct bwl_digest *revoked;
	size_t nrevoked;
	struct memory_expelled *expelled;
	size_t nexpelled;
	struct bwl_digest held[BWL_MEMORY_HELD];
	uint64_t held_seq[BWL_MEMORY_HELD]; /* seq when each was accepted */
	size_t nheld;
	struct bwl_digest done[BWL_MEMORY_HELD]; /* of these */
	size_t ndone;
	json_t *due; /* an object */
};

/* memory_file.c; copies the list, NULL: none. Labels that it had before keep their time. */
void memory_take_labels(struct bwl_memory *m, const json_t *labels, int64_t since_s);
void memory_take_log_key(struct bwl_memory *m, const char *key); /* NULL: none */

/* memory_expelled.c: an expulsion, an enrolment that was accepted */
int memory_expel(struct bwl_memory *m, const struct bwl_signed *d, struct bwl_err *e);
void memory_readmit(struct bwl_memory *m, const struct bwl_signed *d);

/* memory_room.c */
struct bwl_memory_item *memory_find(const struct bwl_memory *m, enum bwl_signed_type type,
				    const char *name);
/* The one that it replaces, if it is newer; NULL: none. */
struct bwl_memory_item *memory_find_same(const struct bwl_memory *m, const struct bwl_signed *d);
/* The entry for it; NULL, with an error: nothing of its kind can be forgotten for it. */
struct bwl_memory_item *memory_item_for(struct bwl_memory *m, const struct bwl_signed *d,
					struct bwl_err *e);
/* The newest of them; NULL: there is none. */
const struct bwl_memory_item *memory_enrolment(const struct bwl_memory *m);

#endif
