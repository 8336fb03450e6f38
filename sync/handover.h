/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passes documents to bwlimitd, and its status back, through a separate socket
 * (BWL_AGENT_DOCUMENTS): one request and its answer per connection, each a line of JSON, as with
 * orders (bwl/agent.h).
 *
 * {"verb": "document", "type": KIND, "name": NAME, "size": N}, with the document as a memfd with
 * BWL_AGENT_SEALS: answered by {"by": "bwlimitd"}: taken; or by {"error": TEXT, "todo": TEXT,
 * "id": WORD}.
 * {"verb": "status", "cosigned": N}: answered by {"by": "bwlimitd", "status": {…}}.
 *
 * bwlimitd trusts only signatures, neither whoever hands a document over, nor what comes with it.
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
