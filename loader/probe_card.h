/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a port's card says of itself. */
#ifndef BWL_LOADER_PROBE_CARD_H
#define BWL_LOADER_PROBE_CARD_H

#include "probe_question.h"

/* Devlink's list of ports to `ports`, then the rest of each. free(ports[0].all). */
int probe_card_read(struct probe_port *ports, unsigned n, struct bwl_err *e);
/* Are they one card's: the functions of one PCI device, or ports of one of them? */
bool probe_card_same(const char *card, const char *other);

#endif
