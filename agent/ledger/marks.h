/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ledger and the maps: what is on disk as spent may be spent. Every volume in force has a row
 * and a mark; the mark is raised when less than half of its lead is left, after the row says so on
 * disk.
 *
 * mark >= what passed at every moment, row >= mark on disk: so the row is never less than what
 * passed.
 */
#ifndef BWL_AGENT_MARKS_H
#define BWL_AGENT_MARKS_H

#include "bwl/tables.h"
#include "ledger.h"

struct marks;
int marks_new(struct bwl_pins *pins, const char *era, struct marks **ret, struct bwl_err *e);
void marks_free(struct marks *m); /* NULL-safe */
/*
 * Looks once at every volume, writes and releases what is due. *ret_ns: look again after that.
 * 0; -EUCLEAN: this ledger is not to be believed (it is set aside by the caller, and begun anew);
 * anything else: nothing more was released, try again.
 */
int marks_run(struct marks *m, struct ledger *l, uint64_t *ret_ns, struct bwl_err *e);
/* Another ledger than at the last run. */
void marks_forget(struct marks *m);

/* Was a tenth of some volume released since? */
bool marks_spent_much(const struct marks *m);
void marks_forget_spent(struct marks *m);

struct marks_count {
	uint32_t volumes;  /* in force */
	uint32_t waiting;  /* spent up to their mark, with volume left: the disk is behind */
	uint32_t unknown;  /* of whose past neither maps nor ledger know: they count as spent */
	uint32_t restored; /* taken over from the ledger since marks_new() */
};
struct marks_count marks_count(const struct marks *m);

/*
 * How far ahead of what is spent a volume is released: what two seconds at its rate and a burst
 * need, at most 1 % of the volume (that much a power cut may cost), at least one GSO packet of
 * maximum size (less, and such a packet would never pass).
 */
uint64_t marks_lead(uint64_t volume, uint64_t bytes_per_s, uint64_t burst);

#endif
