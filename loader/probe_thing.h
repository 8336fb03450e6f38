/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What probe --try-hardware puts into a card for a moment: an SA, a policy, a meter, a rule. Their
 * addresses are reserved for documentation (RFC 5737), so nobody's frames match them. Each is
 * recognisable in the kernel (by SPI, index or priority), so that a process can remove what another
 * one made.
 */
#ifndef BWL_LOADER_PROBE_THING_H
#define BWL_LOADER_PROBE_THING_H

#include "probe_question.h"

#define PROBE_ID 0x62776c01U     /* "bwl", 1 */
#define PROBE_FROM "203.0.113.2" /* TEST-NET-3 */
#define PROBE_TO "203.0.113.1"

struct probe_thing {
	const char *name;   /* for people */
	enum probe_kind on; /* the port whose device it is on; 0: none */
	/*
	 * 0 or a negative errno; said: the kernel's message about it. ifindex 0 if it is on no
	 * device.
	 */
	int (*add)(uint32_t ifindex, char said[static BWL_NL_SAID]);
	/* Reads it back: is it in the card? */
	bool (*held)(uint32_t ifindex);
	/* 0, also if there is none; or a negative errno. */
	int (*del)(uint32_t ifindex);
};

extern const struct probe_thing probe_sa, probe_block;   /* probe_sa.c */
extern const struct probe_thing probe_meter, probe_rule; /* probe_rule.c */

#endif
