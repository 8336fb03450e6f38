/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside lib: who owns which id, extra limit and window. Ownership is in the maps (bwl_name_v1,
 * bwl_extra_v1, bwl_winown_v1); this is an index over the latter two for the duration of one
 * publish; the index over names is in bwl_nameid_v1. Names are state: an id belongs to its name for
 * as long as its account is not empty.
 */
#ifndef BWL_LIB_IDS_H
#define BWL_LIB_IDS_H

#include <bwl/pins.h>

struct bwl_ids {
	struct bwl_pins *p;
	uint32_t *extra_hash; /* open addressing; 0 empty, else index + 1 */
	uint32_t extra_mask;
	uint32_t *extra_of;     /* by peer id: its last extra + 1; 0 none */
	uint32_t *extra_before; /* by extra of a peer: the one before, likewise */
	uint32_t *window_of;    /* by state index: window + 1, 0 none */
	uint32_t nstates;
	uint32_t next_id, next_extra, next_window; /* where the next search for a free one begins */
	uint8_t *fresh;                            /* by state index: 1 created by this publish */
};

/* A volume's release at its creation: closed if a ledger is to write it. */
static inline uint64_t bwl_release_first(const struct bwl_pins *p)
{
	return p->ctl->ledger ? BWL_RELEASE_AWAITED : BWL_RELEASE_NONE;
}

int bwl_ids_open(struct bwl_pins *p, struct bwl_ids *ret, struct bwl_err *e);
void bwl_ids_close(struct bwl_ids *x);

/* A free id for the name. The name is written before any packet can reach the id. */
int bwl_ids_new(struct bwl_ids *x, const char *name, uint32_t *ret, struct bwl_err *e);
/*
 * State index of an extra limit; created if missing. name: of the port or zone; peer, class: for
 * the other kinds (a tenant has both name and peer).
 */
int bwl_ids_extra(struct bwl_ids *x, enum bwl_extra_kind kind, const char *name, uint32_t peer,
		  uint8_t class_, uint32_t *ret_state, struct bwl_err *e);
/* Its state index if it exists, otherwise 0. */
uint32_t bwl_ids_find_extra(const struct bwl_ids *x, enum bwl_extra_kind kind, const char *name,
			    uint32_t peer, uint8_t class_);
/* Window of a state; created if missing. *ret_new: it was created. */
int bwl_ids_window(struct bwl_ids *x, uint32_t state, uint32_t *ret, bool *ret_new,
		   struct bwl_err *e);
/* Does it belong to a peer (x->peer)? */
bool bwl_extra_of_peer(const struct bwl_extra *x);
/* Has this state's account any bytes? */
bool bwl_ids_spent(const struct bwl_ids *x, uint32_t state);
/*
 * Has any account of the peer (its own, or those of its classes, tenants, floor or accept) any
 * bytes?
 */
bool bwl_ids_owes(const struct bwl_ids *x, uint32_t id);

#endif
