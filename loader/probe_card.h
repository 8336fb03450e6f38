/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a port's card reports about itself. */
#ifndef BWL_LOADER_PROBE_CARD_H
#define BWL_LOADER_PROBE_CARD_H

#include "probe_question.h"

/*
 * Gives devlink's list of ports to `ports`, and reads the rest of each. Afterwards
 * free(ports[0].all).
 */
int probe_card_read(struct probe_port *ports, unsigned n, struct bwl_err *e);
/* Do both belong to one card: functions of one PCI device, or their ports? */
bool probe_card_same(const char *card, const char *other);

#endif
