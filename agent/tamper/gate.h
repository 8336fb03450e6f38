/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gate.c: cleartext that the last gate of an uplink stopped, and its peer. */
#ifndef BWL_AGENT_TAMPER_GATE_H
#define BWL_AGENT_TAMPER_GATE_H

#include "bwl/pins.h"

struct tamper_gate;
/* What was stopped before is no sign. */
int tamper_gate_new(struct bwl_pins *p, struct tamper_gate **ret, struct bwl_err *e);
void tamper_gate_look(struct tamper_gate *g);
void tamper_gate_free(struct tamper_gate *g); /* NULL-safe */

#endif
