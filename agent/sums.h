/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides which events become lines of the log. The first of a kind, port, peer and reason does at
 * once; later ones become one sum per interval; no kind or port uses another's budget. No I/O, and
 * time is an argument.
 *
 * For each kind at each port there are at most SUMS_BURST lines at once, one more every
 * SUMS_REFILL_NS, and one sum every SUMS_INTERVAL_NS of all events without a line. For what a host
 * makes at will (junk): one line, and one sum every SUMS_JUNK_NS. Refusals by a rate are not logged
 * at all: they are counted as reasons.
 */
#ifndef BWL_AGENT_SUMS_H
#define BWL_AGENT_SUMS_H

#include <stdbool.h>
#include <stdint.h>
#include "maps/event.h"

#define SUMS_SECOND_NS 1000000000ULL
#define SUMS_BURST 32U
#define SUMS_REFILL_NS (300 * SUMS_SECOND_NS)
#define SUMS_INTERVAL_NS (600 * SUMS_SECOND_NS)
#define SUMS_JUNK_NS (1800 * SUMS_SECOND_NS)

struct sums_line {
	struct bwl_event example; /* the first of them */
	uint64_t events, bytes;   /* events that were sent: the data plane has its own limit */
	uint64_t since_ns;        /* for a sum: since the previous line */
	bool sum;                 /* otherwise a single event, reported at once */
	bool mixed;               /* from several peers or reasons; the example has one of them */
};
typedef void (*sums_fn)(const struct sums_line *l, void *arg);

struct sums;
struct sums *sums_new(sums_fn fn, void *arg); /* NULL: no memory */
void sums_free(struct sums *s);               /* NULL-safe */
void sums_add(struct sums *s, const struct bwl_event *e, uint64_t now_ns);
/* Every second or so: reports what is due. */
void sums_tick(struct sums *s, uint64_t now_ns);
/* Reports what is left, one line per kind and port. */
void sums_end(struct sums *s, uint64_t now_ns);

/* What a host makes at will, with addresses of its choice. */
bool sums_is_junk(uint32_t kind);
/* false: it never becomes a line. */
bool sums_is_told(const struct bwl_event *e);

#endif
