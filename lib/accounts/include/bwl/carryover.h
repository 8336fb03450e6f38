/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside lib: the account of a limit that is about to count for the first time, or in another kind
 * of volume. Bytes pass until the very switch, so no copy made before it is exact. So such an
 * account is held (spent) before the switch and set to its real value after the grace period. If
 * the writer is killed in between, the account stays spent until the next writer, or bwlimitd,
 * settles it (carryover_record.h).
 *
 * An account is a state's used_bytes (total volumes) and its window (windowed ones), whichever is
 * larger. A limit takes over the largest of its own account and the accounts that it replaces (of a
 * renamed peer, or of the zone its members were in). A window that gets longer counts as spent now
 * what the shorter one has forgotten (bwl_past_v1), as far back as the longest window that the
 * limit has had. If nothing is known of the past, it stays spent: the maps may be new because of a
 * reboot.
 */
#ifndef BWL_LIB_CARRYOVER_H
#define BWL_LIB_CARRYOVER_H

#include <bwl/past.h>
#include <bwl/ids.h>

struct bwl_carryover_item {
	struct bwl_volume v;  /* as the new policy has it */
	uint64_t own;         /* its counter before it was held */
	__u64 put;            /* the value it was held at */
	uint32_t from, nfrom; /* in bwl_carryover.from */
	uint32_t slice;       /* window: the slice that holds put */
	uint8_t unknown, in_force;
	uint8_t longer; /* its window gets longer: own is what the shorter one has forgotten */
};

/* An account that is taken over, or so many bytes. */
struct bwl_carryover_from {
	uint64_t owed;
	uint32_t state; /* 0: none */
};

struct bwl_carryover {
	struct bwl_ids *ids;
	bool fresh;           /* an unknown past counts as none */
	bool ledger;          /* volumes wait for a ledger */
	const uint8_t *known; /* by state, or NULL: 1 its past is known, although not in force */
	struct bwl_carryover_item *item;
	struct bwl_carryover_from *from;
	uint32_t nitems, nfrom, pending; /* from[pending ...]: for the next item */
	uint32_t *item_of;               /* by state: 1 + its item; 0: none */
	uint32_t *volume, nvolumes;      /* states with a volume in the new policy */
	uint32_t held;                   /* first entry in bwl_held_v1; 0: not recorded */
	uint32_t unknown;                /* number of items that start spent */
};

void bwl_carryover_done(struct bwl_carryover *c);
/* The next limit takes over this account. */
int bwl_carryover_from(struct bwl_carryover *c, uint32_t state, struct bwl_err *e);
/* It owes at least so much (given_up.h). */
int bwl_carryover_owed(struct bwl_carryover *c, uint64_t bytes, struct bwl_err *e);
/* It takes over none of these after all. */
void bwl_carryover_drop(struct bwl_carryover *c);
/*
 * Adds a limit of the new policy. before: the same limit in force, or NULL. seen: its past is
 * known, even if its account is empty.
 */
int bwl_carryover_add(struct bwl_carryover *c, const struct bwl_volume *v,
		      const struct bwl_volume *before, bool seen, struct bwl_err *e);
/* Before the switch, while nothing counts on these accounts. */
void bwl_carryover_hold(struct bwl_carryover *c, uint64_t now_ns);
/* After the switch and the grace period, when nothing counts on the old accounts any more. */
void bwl_carryover_settle(struct bwl_carryover *c);
#endif
