/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Peers 10.1.0.N of a policy without a heartbeat, packets to them, and how many pass. */
#ifndef BWL_TEST_DESTS_H
#define BWL_TEST_DESTS_H

#include "prog.h"

#define DEST(name, n)                                                                              \
	"  - { name: " name ", addresses: [10.1.0." #n "], path: clear, via: 192.0.2.1, "
#define TO(n) "eth ip4 src=10.0.7.2 dst=10.1.0." #n " "
#define HEAD PORTS "heartbeat: none\n"

static inline unsigned drain(const char *spec)
{
	unsigned n = 0;

	while (!strncmp(host(spec), "pass", 4))
		n++;
	return n;
}

#endif
