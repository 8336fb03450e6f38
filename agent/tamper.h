/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tamper_gate.c: cleartext that the last gate of an uplink stopped, and whose it was.
 * tamper_counters.c: frames that left by an uplink and never passed its gate.
 */
#ifndef BWL_AGENT_TAMPER_H
#define BWL_AGENT_TAMPER_H

#include "bwl/pins.h"

struct tamper_gate;
/* What was stopped until now is no sign. */
int tamper_gate_new(struct bwl_pins *p, struct tamper_gate **ret, struct bwl_err *e);
void tamper_gate_look(struct tamper_gate *g);
void tamper_gate_free(struct tamper_gate *g);	/* NULL-safe */

struct tamper_counters;
struct tamper_counters *tamper_counters_new(struct bwl_pins *p);	/* NULL: no memory */
/* Once a second; before that nothing. */
void tamper_counters_look(struct tamper_counters *t);
void tamper_counters_free(struct tamper_counters *t);	/* NULL-safe */

#endif
