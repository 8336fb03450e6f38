/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses what the vendor's tools print, tolerantly: unknown lines are skipped, and what is not
 * reported is distinguished from "no". Recordings: tests/recordings/.
 */
#ifndef BWL_LOADER_TOOL_WORDS_H
#define BWL_LOADER_TOOL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum host_right { RIGHT_UNTOLD, RIGHT_TAKEN, RIGHT_HELD };
/*
 * mlxprivhost query: what the host may do with the card. With several hosts (--full) a right is
 * held if one of them holds it.
 */
struct host_rights {
	enum host_right level; /* held: PRIVILEGED */
	enum host_right rshim, tracer, port_owner, counters;
};
void host_rights_read(const char *text, struct host_rights *ret);

/*
 * mlxconfig query, with or without the columns of -e. Empty: not reported. Each call adds what its
 * text reports.
 */
struct card_config {
	char type[24];        /* "BlueField3" */
	char description[96]; /* what it is sold as */
	char model[2][24];    /* INTERNAL_CPU_MODEL now, and after the next boot */
	char engine[2][24];   /* INTERNAL_CPU_OFFLOAD_ENGINE, likewise */
};
void card_config_read(const char *text, struct card_config *ret);

/* ovs-vsctl show: the number of bridges, and the name of the first. */
size_t ovs_bridges(const char *text, char *first, size_t room);
/* ovs-appctl dpctl/dump-flows: one flow per line. */
size_t ovs_flows(const char *text);
/* systemctl show -p Id -p MemoryMax UNIT…: the first unit that has a limit; false: none. */
bool unit_limit(const char *text, char *unit, size_t room);

#endif
