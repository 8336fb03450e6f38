/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ledger's anchor: the count of a TPM's counter is in the ledger (its epoch), and a ledger of
 * another epoch is an old copy, or another machine's. The counter is raised once a boot, before
 * anything is released, and rarely after (a TPM's memory wears out): see docs/ledger.md.
 *
 *   1  the ledger says epoch n + 1, on disk
 *   2  the counter goes from n to n + 1
 *
 * After a kill in between the ledger is one ahead: the raise is completed. It is never behind.
 */
#ifndef BWL_AGENT_ANCHOR_H
#define BWL_AGENT_ANCHOR_H

#include <stdbool.h>
#include <stdint.h>
#include "ledger.h"

enum anchor_mode { ANCHOR_AUTO, ANCHOR_REQUIRED, ANCHOR_NONE };

struct anchor;
int anchor_new(enum anchor_mode mode, const char *tcti, uint64_t every_ns, struct anchor **ret,
	       struct bwl_err *e);
void anchor_free(struct anchor *a); /* NULL-safe */
/* The ledger was replaced. is_new: it was just created, so it proves nothing. */
void anchor_forget(struct anchor *a, bool is_new);
/*
 * Never waits for the TPM. 0: continue; -EINPROGRESS: nothing may be released (the reason was
 * reported); -EUCLEAN: the ledger cannot be trusted; other errors: the ledger could not be written.
 * era: the maps, see agent_era(). much: a good part of a volume was spent since the last raise.
 */
int anchor_run(struct anchor *a, struct ledger *l, const char *era, bool much, struct bwl_err *e);
/* The ledger's epoch is the TPM's count: an old copy of it will be detected. */
bool anchor_holds(const struct anchor *a);
/*
 * While it holds: the TPM's count, and the epoch on disk, which may be one ahead, with the index's
 * tag.
 */
uint64_t anchor_count(const struct anchor *a);
uint64_t anchor_epoch(const struct anchor *a, uint8_t tag[32]);
/* A counter existed, and the ledger was just created: nothing is known of the past. */
bool anchor_took_over(const struct anchor *a);
/* ANCHOR_NONE */
bool anchor_is_off(const struct anchor *a);
/* Called for each epoch before the counter, which is at count, is raised to it. */
void anchor_follow(struct anchor *a,
		   void (*fn)(const uint8_t tag[32], uint64_t count, uint64_t epoch, void *arg),
		   void *arg);
/* How often it was raised since anchor_new(). */
uint64_t anchor_raises(const struct anchor *a);

#endif
