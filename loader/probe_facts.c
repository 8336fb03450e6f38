// SPDX-License-Identifier: GPL-2.0-or-later
/* See probe_dpu.h: reads everything from sysfs, devlink and tools that may be installed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "probe_dpu.h"

static void read_ovs(struct probe_machine *m, struct tool_answer *room)
{
	static const char *const show[] = { "ovs-vsctl", "--timeout=5", "show", NULL };
	static const char *const flows[] = { "ovs-appctl", "--timeout=5", "dpctl/dump-flows",
					     "type=offloaded", NULL };

	tool_ask(show, TOOL_PATIENCE_NS, room);
	m->ovs_end = room->end;
	m->bridges = ovs_bridges(room->text, m->bridge, sizeof(m->bridge));
	tool_ask(flows, TOOL_PATIENCE_NS, room);
	m->flows_end = room->end;
	m->flows = ovs_flows(room->text);
	m->flows_cut = room->cut;
}

/* The units that create maps: maps count towards the unit's memory. */
static void read_units(struct probe_machine *m, struct tool_answer *room)
{
	static const char *const show[] = { "systemctl",
					    "show",
					    "-p",
					    "Id",
					    "-p",
					    "MemoryMax",
					    "bwlimit.service",
					    "bwlimitd.service",
					    "system.slice",
					    NULL };

	tool_ask(show, TOOL_PATIENCE_NS, room);
	m->units_end = room->end;
	m->limited = unit_limit(room->text, m->unit, sizeof(m->unit));
}

/* One parameter at a time: one that the firmware does not know makes the whole query fail. */
static enum tool_end read_config(struct probe_dpu *d, const char *name, struct tool_answer *room)
{
	const char *argv[] = { "mlxconfig", "-d", d->nic->address, "-e", "query", name, NULL };

	tool_ask(argv, TOOL_PATIENCE_NS, room);
	if (room->end == TOOL_ABSENT) {
		argv[0] = "mstconfig";
		tool_ask(argv, TOOL_PATIENCE_NS, room);
	}
	card_config_read(room->text, &d->config);
	return room->end;
}

static void read_dpu(struct probe_dpu *d, struct tool_answer *room)
{
	char card[BWL_CARD_NAME];

	snprintf(card, sizeof(card), "pci/%s", d->nic->address);
	bwl_devlink_info(card, &d->info);
	d->rights_end = host_rights_ask(d->nic->address, room, &d->rights);
	d->config_end = read_config(d, "INTERNAL_CPU_OFFLOAD_ENGINE", room);
	if (d->config_end != TOOL_ABSENT)
		read_config(d, "INTERNAL_CPU_MODEL", room);
}

/* Is the network over rshim up? */
static bool is_up(const char *name)
{
	struct bwl_netdev d;

	return !bwl_netdev_get(name, &d, NULL) && d.up;
}

static int read_dpus(struct probe_machine *m, struct tool_answer *room, struct bwl_err *e)
{
	size_t i, nports;
	int r = bwl_devlink_ports(&m->ports, &nports, e);

	if (r)
		return r;
	m->dpu = calloc(m->nnics + 1, sizeof(*m->dpu));
	if (!m->dpu)
		return bwl_fail(e, ENOMEM, "out of memory");
	for (i = 0; i < m->nnics; i++) {
		struct probe_dpu *d = &m->dpu[m->ndpu];

		if (!host_rights_of(&m->nics[i]))
			continue;
		*d = (struct probe_dpu){ .nic = &m->nics[i], .ports = m->ports, .nports = nports };
		read_dpu(d, room);
		m->ndpu++;
	}
	return 0;
}

int probe_facts_read(const struct bwl_attach *a, struct probe_machine *ret, struct bwl_err *e)
{
	const struct bwl_pci_named named[] = { { a->host, a->nhost },
					       { a->uplink, a->nuplink },
					       { a->management, a->nmanagement } };
	struct tool_answer *room = malloc(sizeof(*room));
	struct utsname u;
	int r;

	*ret = (struct probe_machine){ .wall = bwl_wall_state(),
				       .tpm = !access("/dev/tpmrm0", F_OK),
				       .rshim_net_up = is_up("tmfifo_net0") };
	if (!uname(&u))
		snprintf(ret->kernel, sizeof(ret->kernel), "%s", u.release);
	r = room ? bwl_pci_nics(&ret->nics, &ret->nnics, e) : bwl_fail(e, ENOMEM, "out of memory");
	if (!r) {
		ret->unseen = bwl_pci_unseen(ret->nics, ret->nnics, named, 3, &ret->first_unseen);
		r = read_dpus(ret, room, e);
	}
	if (!r) {
		read_ovs(ret, room);
		read_units(ret, room);
	}
	free(room);
	return r;
}

void probe_facts_free(struct probe_machine *m)
{
	free(m->dpu);
	free(m->ports);
	free(m->nics);
}
