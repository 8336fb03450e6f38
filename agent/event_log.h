/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_log.c: writes events of the data plane as lines of the journal and records of the audit
 * log.
 */
#ifndef BWL_AGENT_EVENT_LOG_H
#define BWL_AGENT_EVENT_LOG_H

#include "bwl/pins.h"

/*
 * Never waits for a disk, or for readers of the journal. pins must outlive it. NULL: out of memory.
 */
struct event_log;
struct event_log *event_log_new(const struct bwl_pins *pins);
void event_log_add(struct event_log *v, const struct bwl_event *e, uint64_t now_ns);
void event_log_tick(struct event_log *v, uint64_t now_ns); /* every second or so */
void event_log_end(struct event_log *v); /* writes what is left, and frees it; NULL-safe */

#endif
