/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last gate: what leaves the uplink, by where it came in and by its mark. */
#ifndef BWL_TEST_GATE_H
#define BWL_TEST_GATE_H

#include "prog.h"

static inline const char *at_gate(const char *spec, enum rig_port ingress, uint32_t mark)
{
	return judge(&(struct rig_packet){ .prog = RIG_GATE,
					   .port = RIG_P0,
					   .spec = spec,
					   .ingress = ingress,
					   .mark = mark },
		     NULL);
}

/* The DPU's own. */
static inline const char *gate(const char *spec)
{
	return at_gate(spec, RIG_NOWHERE, 0);
}

/* Something in the DPU other than our program forwarded it. */
static inline const char *forwarded_gate(const char *spec)
{
	return at_gate(spec, RIG_H0, 0);
}

/* Our program forwarded it, and charged it. */
static inline const char *tagged_gate(const char *spec)
{
	return at_gate(spec, RIG_H0, rig->pins->ctl->tag);
}

/* As the tunnel device's egress leaves it: the mark identifies the peer of the ESP packet. */
static inline uint32_t esp_mark(const char *peer)
{
	return (rig->pins->ctl->tag & ~BWL_MARK_ID) | id_of(peer);
}

/* Frames for that peer that the gate stopped. */
static inline uint64_t stopped(const char *peer)
{
	return rig->pins->state[bwl_accept_state(id_of(peer))].stopped;
}

#endif
