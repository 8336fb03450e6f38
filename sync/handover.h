/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Documents to bwlimitd, and its status back, by a socket of its own (BWL_AGENT_DOCUMENTS): a
 * request and its answer a connection, each a line of JSON, as with orders (bwl/agent.h).
 *
 * {"verb": "document", "type": KIND, "name": NAME, "size": N}, with the document as a memfd with
 * BWL_AGENT_SEALS: answered by {"by": "bwlimitd"}: taken; or by {"error": TEXT, "todo": TEXT}.
 * {"verb": "status", "cosigned": N}: answered by {"by": "bwlimitd", "status": {…}}.
 *
 * bwlimitd believes signatures, not who hands a document over, nor what is said beside it.
 */
#ifndef BWL_SYNC_HANDOVER_H
#define BWL_SYNC_HANDOVER_H

#include "loop.h"

struct handover;
struct handover *handover_new(const char *socket_path);
void handover_free(struct handover *h); /* NULL-safe */
extern const struct sync_agent handover_ops;
/* The descriptors of connections that wait for an answer, at most HANDOVER_FDS. */
#define HANDOVER_FDS (LANE_COUNT + 1)
unsigned handover_fds(const struct handover *h, struct curl_waitfd fds[static HANDOVER_FDS]);

#endif
