/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See say.h. */
#include "say.h"

bool tamper_say(struct tamper_say *s, uint64_t now_ns, unsigned long long *ret_silent)
{
	uint64_t n = (now_ns - s->since_ns) / TAMPER_SAY_NS;

	s->since_ns += n * TAMPER_SAY_NS;
	s->used = n < s->used ? s->used - (unsigned)n : 0;
	*ret_silent = s->silent;
	if (s->used >= TAMPER_SAY_BURST) {
		s->silent++;
		return false;
	}
	s->used++;
	s->silent = 0;
	return true;
}
