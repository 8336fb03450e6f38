/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BWL_SILENCE_H
#define BWL_SILENCE_H

#include <bwl/pins.h>

/* Shortens deadlines that were set under a longer heartbeat or lease; 0: there is none. */
void bwl_silence_within(struct bwl_pins *p, uint64_t every_ns, uint64_t lease_ns);

#endif
