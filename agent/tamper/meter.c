// SPDX-License-Identifier: GPL-2.0-or-later
#include "meter.h"

#define OUT(m, look) ((m)->out[(look) % METER_WAY])

uint64_t tamper_meter_look(struct tamper_meter *m, uint64_t sent, uint64_t out)
{
	int64_t over, most;

	/* The counters restarted. */
	if (m->looks && (sent < m->sent || out < OUT(m, m->looks - 1)))
		m->looks = m->above = 0;
	most = (int64_t)(sent - OUT(m, m->looks)); /* OUT() is the oldest look */
	if (m->looks == METER_WAY || (m->looks > METER_WAY && most < m->top))
		m->top = most;
	over = (int64_t)(sent - out) - m->top;
	m->above = m->looks > METER_WAY && over > 0 ? m->above + 1 : 0;
	m->sent = sent;
	OUT(m, m->looks) = out;
	/* Bounded, and still at the same place in the ring. */
	m->looks = m->looks + 1 < 3 * METER_WAY ? m->looks + 1 : 2 * METER_WAY;
	if (m->above < METER_PERSIST)
		return 0;
	m->top += over;
	m->above = 0;
	return (uint64_t)over;
}
