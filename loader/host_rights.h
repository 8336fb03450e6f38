/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a host may still do with the card of a DPU: who can write its image has no limits. The
 * vendor's tool is asked, mlxprivhost or its free sibling.
 */
#ifndef BWL_LOADER_HOST_RIGHTS_H
#define BWL_LOADER_HOST_RIGHTS_H

#include <bwl/pci.h>
#include "check.h"
#include "tool.h"
#include "tool_words.h"

/* A tool's answer takes room: it is the caller's, and free after. */
enum tool_end host_rights_ask(const char *address, struct tool_answer *room,
			      struct host_rights *ret);
/* A DPU's first function: those that are asked, for its others share what they say. */
bool host_rights_of(const struct bwl_pci_nic *nic);
/* verify: one line for each DPU; none where there is none. */
void bwl_verify_host(struct bwl_report *r);

#endif
