/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gate.c: cleartext that the last gate of an uplink stopped, and whose it was.
 * ../lease.c: the end of the lease.
 * counters.c: what left by an uplink, or its port, and nobody let out.
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
/* A thread of its own, that looks once a second. */
int tamper_counters_start(const char *pin_dir, struct tamper_counters **ret, struct bwl_err *e);
void tamper_counters_stop(struct tamper_counters *t);	/* NULL-safe */

/* Cheap; *look_ns: its own, 0 at first. */
void lease_look(struct bwl_pins *p, uint64_t *look_ns);

#endif
