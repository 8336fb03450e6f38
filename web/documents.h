/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The permitted questions about this node or this fleet, and how often each is made anew. */
#ifndef BWL_WEB_DOCUMENTS_H
#define BWL_WEB_DOCUMENTS_H

#include <stdint.h>
#include "asking/words.h"

struct web_document {
	uint16_t every_ms; /* younger answers are given again */
	uint8_t asker;     /* which of the two asks; 0: the one for the running command */
	bool goes_on;      /* a line each second, as long as somebody asks again */
	bool is_hidden;    /* not a path of the API */
	bool is_big;       /* it may have ASKER_BIG bytes */
	/*
	 * Instead of a command: a file that root writes for readers (the ending of its name), and
	 * its writer.
	 */
	const char *file, *left_by;
};

struct web_documents {
	const char *scope;                    /* "node", "fleet" */
	const struct asking_document *asking; /* ends with a name NULL */
	const struct web_document *how;       /* in the same order */
};
extern const struct web_documents web_node, web_fleet;

#define WEB_METRICS "metrics"

#endif
