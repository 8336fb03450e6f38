// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Questions about the machine around the ports: what else could forward, and what bwlimit relies
 * on.
 */
#include <stdio.h>
#include <string.h>
#include "probe_dpu.h"

static void dpu(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct probe_machine *m = p->machine;

	(void)with;
	ret->works = m->ndpu;
	if (m->ndpu == 1)
		snprintf(ret->answer, sizeof(ret->answer), "%s", m->dpu[0].nic->dpu);
	else
		snprintf(ret->answer, sizeof(ret->answer), m->ndpu ? "%zu" : "none", m->ndpu);
}

/* A stopped OVS counts as absent: it neither forwards nor puts flows into the card. */
static bool has_ovs(enum tool_end end, struct probe_answer *ret)
{
	ret->works = end == TOOL_ABSENT || end == TOOL_FAILED;
	if (end == TOOL_SAID)
		return true;
	snprintf(ret->answer, sizeof(ret->answer), "%s",
		 end == TOOL_ABSENT   ? "not installed"
		 : end == TOOL_FAILED ? "not running"
				      : "no answer in time");
	return false;
}

static void bridges(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct probe_machine *m = p->machine;

	(void)with;
	if (!has_ovs(m->ovs_end, ret))
		return;
	ret->works = !m->bridges;
	if (ret->works)
		snprintf(ret->answer, sizeof(ret->answer), "none");
	else
		snprintf(ret->answer, sizeof(ret->answer), "%zu: %.30s%s", m->bridges, m->bridge,
			 m->bridges > 1 ? ", …" : "");
	snprintf(
		ret->todo, sizeof(ret->todo),
		"ovs-vsctl del-br %s; CREATE_OVS_BRIDGES=\"no\" in /etc/mellanox/mlnx-ovs.conf; systemctl disable --now openvswitch-switch",
		m->bridge);
}

static void flows(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct probe_machine *m = p->machine;

	(void)with;
	if (!has_ovs(m->flows_end, ret))
		return;
	ret->works = !m->flows;
	snprintf(ret->answer, sizeof(ret->answer), "%s%zu", m->flows_cut ? "more than " : "",
		 m->flows);
}

static void rshim_net(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	(void)with;
	ret->works = !p->machine->rshim_net_up;
	snprintf(ret->answer, sizeof(ret->answer), "%s", ret->works ? "down" : "up");
}

static void clock_is_right(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	static const char *const names[] = { [BWL_WALL_OK] = "synchronised",
					     [BWL_WALL_UNSYNC] = "not synchronised",
					     [BWL_WALL_OLD] = "older than this program" };

	(void)with;
	ret->works = p->machine->wall == BWL_WALL_OK;
	snprintf(ret->answer, sizeof(ret->answer), "%s", names[p->machine->wall]);
}

static void tpm(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	(void)with;
	ret->works = p->machine->tpm;
	snprintf(ret->answer, sizeof(ret->answer), "%s", ret->works ? "/dev/tpmrm0" : "none");
}

static void memory(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct probe_machine *m = p->machine;

	(void)with;
	ret->works = !m->limited;
	snprintf(ret->answer, sizeof(ret->answer), "%s",
		 m->limited                  ? m->unit
		 : m->units_end == TOOL_SAID ? "unlimited"
					     : "no systemd");
	if (m->limited)
		snprintf(ret->todo, sizeof(ret->todo), "systemctl edit %s: MemoryMax=infinity",
			 m->unit);
}

static void unseen(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct probe_machine *m = p->machine;

	(void)with;
	ret->works = !m->unseen;
	snprintf(ret->answer, sizeof(ret->answer), "%zu", m->unseen);
	if (m->unseen)
		snprintf(
			ret->todo, sizeof(ret->todo),
			"%s%s: remove the card, unplug it, or name its device (--host, --uplink, --management)",
			m->first_unseen, m->unseen > 1 ? " and others" : "");
}

/* clang-format off */
const struct probe_question probe_machine_questions[] = {
	{ "dpu", "a DPU that bwlimit knows (BlueField)", "the questions for one are left out below",
	  "run probe on the DPU; for another make, check the steps of docs/bluefield.md by hand", .ask = dpu },
	{ "ovs-bridges", "no bridge of Open vSwitch",
	  "it forwards frames that the programs should judge", "systemctl status openvswitch-switch", .ask = bridges },
	{ "ovs-flows", "no Open vSwitch flow in the card",
	  "such frames never reach the DPU's cores, so no program sees them",
	  "ovs-vsctl set Open_vSwitch . other_config:hw-offload=false; systemctl disable --now openvswitch-switch", .ask = flows },
	{ "rshim-network", "the network over rshim (tmfifo_net0) is down",
	  "whoever has rshim can reach the DPU's services over it", "ip link set tmfifo_net0 down; leave it out of --management", .ask = rshim_net },
	{ "clock", "the wall clock is synchronised",
	  "neither signed times nor `until:` are trusted", "chronyc tracking; timedatectl", .ask = clock_is_right },
	{ "tpm", "a TPM", "a rollback of the whole disk (ledger, journal of closures) is not detected",
	  "enable the firmware's TPM (fTPM): docs/journal.md; without one, accept this limit", .ask = tpm },
	{ "unit-memory", "units that make maps have no memory limit",
	  "attach, or applying a large policy, fails", "systemctl show -p MemoryMax bwlimit bwlimitd", .ask = memory },
	{ "unseen-nics", "every network card here is a DPU's or was named",
	  "this tray has ports that bwlimit does not see: what leaves through them has no limit",
	  "ls /sys/bus/pci/devices/*/net", .ask = unseen },
	{ 0 }
};
/* clang-format on */
