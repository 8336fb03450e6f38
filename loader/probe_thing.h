/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What probe --try-hardware puts into a card for a moment: an SA, a policy, a meter, a rule. Their
 * addresses are for documentation (RFC 5737) and no frame of anybody matches them. Each has names
 * of its own in the kernel (SPI, index, priority), so that whoever removes it need not have made
 * it.
 */
#ifndef BWL_LOADER_PROBE_THING_H
#define BWL_LOADER_PROBE_THING_H

#include "probe_question.h"

#define PROBE_ID 0x62776c01U     /* "bwl", 1 */
#define PROBE_FROM "203.0.113.2" /* TEST-NET-3 */
#define PROBE_TO "203.0.113.1"

struct probe_thing {
	const char *name;   /* for people */
	enum probe_kind on; /* of which port's device; 0: of none */
	/* 0 or a negative errno; said: what the kernel adds to that. ifindex 0 where it is on none.
	 */
	int (*add)(uint32_t ifindex, char said[static BWL_NL_SAID]);
	/* Read back: is it in the card? */
	bool (*held)(uint32_t ifindex);
	/* 0, also where there is none, or a negative errno. */
	int (*del)(uint32_t ifindex);
};

extern const struct probe_thing probe_sa, probe_block;   /* probe_sa.c */
extern const struct probe_thing probe_meter, probe_rule; /* probe_rule.c */

#endif
