/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ledger and the maps: what is recorded on disk as spent may be spent. Every volume in force
 * has a row and a release; the release is raised when less than half of its lead is left, after the
 * row on disk allows it.
 *
 * At every moment release >= what passed, and row on disk >= release: so the row is never less than
 * what passed.
 */
#ifndef BWL_AGENT_RELEASE_H
#define BWL_AGENT_RELEASE_H

#include "bwl/tables.h"
#include "ledger.h"

struct releases;
int releases_new(struct bwl_pins *pins, const char *era, struct releases **ret, struct bwl_err *e);
void releases_free(struct releases *m); /* NULL-safe */
/*
 * Checks every volume once, and writes and releases what is due. *ret_ns: check again after that.
 * 0; -EUCLEAN: this ledger cannot be trusted (the caller sets it aside, and starts a new one);
 * other errors: nothing more was released, retry.
 */
int releases_run(struct releases *m, struct ledger *l, uint64_t *ret_ns, struct bwl_err *e);
/* The ledger was replaced since the last run. */
void releases_forget(struct releases *m);

/* Was a tenth of some volume released since? */
bool releases_spent_much(const struct releases *m);
void releases_forget_spent(struct releases *m);

struct releases_count {
	uint32_t volumes;    /* in force */
	uint32_t waiting;    /* spent up to their release, with volume left: the disk is too slow */
	uint32_t unknown;    /* with a past unknown to maps and ledger: they count as spent */
	uint32_t restored;   /* restored from the ledger since releases_new() */
	uint32_t rows, most; /* of the ledger, and how many it may have */
	uint32_t full;       /* volumes in force that have no row, because it is full */
	char full_key[BWL_LIMIT_KEY]; /* the first of them */
};
struct releases_count releases_count(const struct releases *m);

/*
 * Names are invented by whoever writes policies. A window's row ends when no policy in force has
 * named it for longer than its window: it counts nothing any more. A total's row never ends. So
 * many rows there may be; what is new beyond that gets no row, and stays closed (BWL_R_LEDGER).
 */
uint32_t releases_most_rows(const struct bwl_schema *s);

/*
 * How far ahead of its account a volume is released: what two seconds at its rate and a burst need,
 * at most 1 % of the volume (a power cut may cost that much), at least one GSO packet of maximum
 * size (otherwise such a packet would never pass).
 */
uint64_t releases_lead(uint64_t volume, uint64_t bytes_per_s, uint64_t burst);

#endif
