/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside lib: what stands on the account of a limit that is about to count for the first time, or
 * in another kind of volume. Bytes pass until the very switch, so no copy made before it is exact.
 * Hence: such an account is held (spent) before the switch and set to what is really on it after
 * the grace period. Killed in between it stays spent until the next writer, or bwlimitd, settles it
 * (carryover_record.h).
 *
 * An account is a state's used_bytes (total volumes) and its window (windowed ones), whichever is
 * more. What a limit takes over is the largest of: its own account, the accounts of those whose
 * place it takes (a renamed peer, the zone its members were in). Where nothing is known of the
 * past, it stays spent: the maps may be new because of a reboot.
 */
#ifndef BWL_LIB_CARRYOVER_H
#define BWL_LIB_CARRYOVER_H

#include "ids.h"

struct bwl_carryover_item {
	struct bwl_volume v;  /* as the new policy has it */
	uint64_t own;         /* its counter before it was held */
	__u64 put;            /* what it was set to */
	uint32_t from, nfrom; /* in bwl_carryover.from */
	uint32_t slice;       /* window: where put stands */
	uint8_t unknown, in_force;
};

struct bwl_carryover {
	struct bwl_ids *ids;
	bool fresh;  /* an unknown past counts as none */
	bool ledger; /* volumes wait for a ledger */
	struct bwl_carryover_item *item;
	uint32_t *from;                  /* states */
	uint32_t nitems, nfrom, pending; /* from[pending ...]: for the next item */
	uint32_t *volume, nvolumes;      /* states with a volume in the new policy */
	uint32_t held;                   /* first entry of bwl_held_v1; 0: none is written */
	uint32_t unknown, heirs, kinds;  /* items: that start spent; with from; of another kind */
};

void bwl_carryover_done(struct bwl_carryover *c);
/* The next limit takes the place of this one. */
int bwl_carryover_from(struct bwl_carryover *c, uint32_t state, struct bwl_err *e);
/* None does after all. */
void bwl_carryover_drop(struct bwl_carryover *c);
/*
 * A limit of the new policy. before: as it is in force, NULL: it is not. seen: its past is known
 * although nothing may be on its account.
 */
int bwl_carryover_add(struct bwl_carryover *c, const struct bwl_volume *v,
		      const struct bwl_volume *before, bool seen, struct bwl_err *e);
/* Before the switch; nobody counts on these accounts yet. */
void bwl_carryover_hold(struct bwl_carryover *c, uint64_t now_ns);
/* After the switch and the grace period: nobody counts on the old ones any more. */
void bwl_carryover_settle(struct bwl_carryover *c);
/* What is on a state's account. */
uint64_t bwl_carryover_account(const struct bwl_ids *ids, uint32_t state);

#endif
