// SPDX-License-Identifier: GPL-2.0-or-later
/* See line_budget.h. */
#include "line_budget.h"

bool tamper_say(struct tamper_say *s, uint64_t now_ns, unsigned long long *ret_silent)
{
	bool yes = bucket_take(&s->lines, TAMPER_SAY_BURST, TAMPER_SAY_NS, now_ns);

	*ret_silent = s->silent;
	s->silent = yes ? 0 : s->silent + 1;
	return yes;
}
