/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may be asked of this node or of this fleet, and how often it is made anew. */
#ifndef BWL_WEB_DOCUMENTS_H
#define BWL_WEB_DOCUMENTS_H

#include <stdint.h>
#include "asking/words.h"

struct web_document {
	uint16_t every_ms; /* younger ones are given again */
	uint8_t asker;     /* which of the two asks: 0 that of what goes on */
	bool goes_on;      /* a line a second, for as long as somebody asks again */
	bool is_hidden;    /* not a path of the API */
	bool is_big;       /* it may have ASKER_BIG bytes */
	/* No command: a file that root leaves for readers, by the ending of its name, and who does.
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
