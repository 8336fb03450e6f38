/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a tool that may be installed (mlxconfig, ovs-vsctl) prints: asked, bounded, no shell. */
#ifndef BWL_LOADER_TOOL_H
#define BWL_LOADER_TOOL_H

#include <stdbool.h>
#include <stdint.h>

#define TOOL_BYTES 65536
#define TOOL_PATIENCE_NS 10000000000ULL /* mlxprivhost is a script that starts others */

enum tool_end {
	TOOL_SAID,   /* it ended with 0 */
	TOOL_ABSENT, /* not installed */
	TOOL_FAILED, /* it ended otherwise; text is what it said nevertheless */
	TOOL_LATE,   /* killed, with what it started */
};
struct tool_answer {
	enum tool_end end;
	bool cut; /* it said more than fits, and was killed; text is the beginning */
	char text[TOOL_BYTES];
};
/* argv[0] is looked for in PATH; standard error is dropped. */
void tool_ask(const char *const argv[], uint64_t patience_ns, struct tool_answer *ret);

#endif
