/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What probe finds out about the DPU itself and the machine around it, for whoever sets one up.
 * First everything is read (probe_facts.c), then the questions judge it, without I/O.
 */
#ifndef BWL_LOADER_PROBE_DPU_H
#define BWL_LOADER_PROBE_DPU_H

#include <bwl/clock.h>
#include <bwl/pci.h>
#include "attach.h"
#include "host_rights.h"
#include "probe_question.h"

/* One DPU, identified by its first PCI function. */
struct probe_dpu {
	const struct bwl_pci_nic *nic;
	enum tool_end rights_end, config_end;
	struct host_rights rights;
	struct card_config config;
	struct bwl_devlink_info info;
	const struct bwl_devlink_port *ports; /* of every card */
	size_t nports;
};

struct probe_machine {
	struct bwl_pci_nic *nics;
	size_t nnics, unseen; /* unseen: not a DPU's, and not named on the command line */
	const char *first_unseen;
	enum tool_end ovs_end, flows_end, units_end;
	size_t bridges, flows;
	char bridge[40];
	bool flows_cut; /* there are more than were counted */
	bool limited;   /* a unit that makes the maps has a memory limit */
	char unit[40];
	enum bwl_wall wall;
	bool tpm, rshim_net_up;
	char kernel[65];
	struct probe_dpu *dpu;
	size_t ndpu;
	struct bwl_devlink_port *ports;
};

int probe_facts_read(const struct bwl_attach *a, struct probe_machine *ret, struct bwl_err *e);
void probe_facts_free(struct probe_machine *m);

#endif
