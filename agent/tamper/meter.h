/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares one counter of a device with what was let out through it, once a second. Whatever was
 * let out METER_WAY looks ago is no longer on its way: fq keeps a packet for at most 10 s, and the
 * device counts it up to a second later. So
 *
 *	sent - out now  <=  gone past - lost  <=  sent - out METER_WAY looks ago
 *
 * The lowest right side so far is the measure: a left side above it means that more has gone past
 * since. Lost packets leave room for as many others, until little has been let out for METER_WAY
 * looks; so do packets that are on their way at the start. Nothing is known before METER_WAY looks.
 */
#ifndef BWL_AGENT_TAMPER_METER_H
#define BWL_AGENT_TAMPER_METER_H

#include <stdint.h>

#define METER_WAY 12
#define METER_PERSIST 2

struct tamper_meter {
	uint64_t sent, out[METER_WAY]; /* out: at the last looks, a ring */
	int64_t top;                   /* the measure */
	unsigned looks, above;
};

/*
 * sent is read before out, so that what leaves in between is never an excess. Returns how much more
 * has bypassed than ever before, at the second consecutive reading that shows it, otherwise 0.
 */
uint64_t tamper_meter_look(struct tamper_meter *m, uint64_t sent, uint64_t out);

#endif
