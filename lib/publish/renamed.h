/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside lib: new names of peers that take over an id. An id has its old name until no packet uses
 * the policy before; until then the new one is noted in bwl_extra_v1 (BWL_X_RENAMED), and
 * bwl_held_v1[0] says with which policy the notes come into force. So `revoke` finds a peer by
 * either name, and whoever writes after a killed writer stores what that one did not.
 */
#ifndef BWL_LIB_RENAMED_H
#define BWL_LIB_RENAMED_H

#include <bwl/generation.h>
#include <bwl/policy.h>
#include <bwl/ids.h>

/*
 * Before the switch. If there is no room, only a revocation by the new name before it is stored
 * does not find it. id: by peer of pol.
 */
void bwl_renamed_note(struct bwl_ids *ids, const struct bwl_policy *pol, const uint32_t *id);
/* After the switch: the peer that has the id in force is called so. false: it was already. */
bool bwl_renamed_store(struct bwl_ids *ids, const struct bwl_gen *in_force, uint32_t id,
		       const char *name);
/* Once all names are stored. */
void bwl_renamed_forget(struct bwl_pins *p);
/*
 * With the lock, and all of the maps mapped: the names that a killed writer noted are stored if his
 * policy is in force, and otherwise forgotten.
 */
int bwl_renamed_settle(struct bwl_pins *p, struct bwl_err *e);

#endif
