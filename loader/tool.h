/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads what a tool that may be installed (mlxconfig, ovs-vsctl) prints: within bounds, without a
 * shell.
 */
#ifndef BWL_LOADER_TOOL_H
#define BWL_LOADER_TOOL_H

#include <stdbool.h>
#include <stdint.h>

#define TOOL_BYTES 65536
#define TOOL_PATIENCE_NS 10000000000ULL /* mlxprivhost is a script that starts others */

enum tool_end {
	TOOL_SAID,   /* it ended with 0 */
	TOOL_ABSENT, /* not installed */
	TOOL_FAILED, /* it ended with another code; text is what it printed nevertheless */
	TOOL_LATE,   /* killed, with everything it started */
};
struct tool_answer {
	enum tool_end end;
	bool cut; /* it printed more than fits, and was killed; text is the beginning */
	char text[TOOL_BYTES];
};
/* argv[0] is searched for in PATH; standard error is discarded. */
void tool_ask(const char *const argv[], uint64_t patience_ns, struct tool_answer *ret);

#endif
