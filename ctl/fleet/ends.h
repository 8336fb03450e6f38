/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a silent tray may keep its grants, at most. According to what people signed: until
 * not_after of its policies and grants; and until offline_for after the store's newest signed time,
 * if no newer one reaches it.
 */
#ifndef BWL_CTL_FLEET_ENDS_H
#define BWL_CTL_FLEET_ENDS_H

#include "fleet.h"

void fleet_ends_of(struct fleet *f, const struct fleet_tray *t, struct fleet_ends *ret);
void fleet_ends_worse(struct fleet_ends *worst, const struct fleet_ends *one);
void fleet_ends_json(json_t *o, const struct fleet_ends *ends); /* ends NULL: the tray has it */
void fleet_ends_text(const struct fleet_ends *ends);

#endif
