/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a host may still do with the card of a DPU: a host that can write its image has no limits.
 * Runs the vendor's tool, mlxprivhost or its free sibling.
 */
#ifndef BWL_LOADER_HOST_RIGHTS_H
#define BWL_LOADER_HOST_RIGHTS_H

#include <bwl/pci.h>
#include "check.h"
#include "tool.h"
#include "tool_words.h"

/* The caller provides room for the tool's answer, which is free afterwards. */
enum tool_end host_rights_ask(const char *address, struct tool_answer *room,
			      struct host_rights *ret);
/* Is it a DPU's first function? Only those are asked; the others share the answer. */
bool host_rights_of(const struct bwl_pci_nic *nic);
/* verify: one line for each DPU; none without a DPU. */
void bwl_verify_host(struct bwl_report *r);

#endif
