// SPDX-License-Identifier: GPL-2.0-or-later
/* Questions about a DPU: is it the trusted side of a host, and what of it does the host own? */
#include <linux/devlink.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "probe_card.h"
#include "probe_dpu.h"

static void not_told(struct probe_answer *ret, enum tool_end end)
{
	static const char *const why[] = { [TOOL_SAID] = "not told",
					   [TOOL_ABSENT] = "no tool",
					   [TOOL_FAILED] = "no answer",
					   [TOOL_LATE] = "no answer in time" };

	snprintf(ret->answer, sizeof(ret->answer), "%s", why[end]);
}

static void sku(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct card_config *c = &p->dpu->config;

	(void)with;
	ret->works = *c->description || *c->type;
	if (!ret->works)
		not_told(ret, p->dpu->config_end);
	else
		snprintf(ret->answer, sizeof(ret->answer), "%.39s",
			 *c->description && strcmp(c->description, "N/A") ? c->description
									  : c->type);
}

static const char *mode_of(const struct card_config *c, unsigned when)
{
	if (!strncmp(c->engine[when], "DISABLED", 8))
		return "NIC";
	if (!strncmp(c->model[when], "SEPARATED_HOST", 14))
		return "separated host";
	if (strncmp(c->engine[when], "ENABLED", 7) && strncmp(c->model[when], "EMBEDDED_CPU", 12))
		return NULL;
	return strcasestr(c->description, "self-hosted") ? "self-hosted" : "DPU";
}

static void mode(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const char *now = mode_of(&p->dpu->config, 0), *next = mode_of(&p->dpu->config, 1);
	bool stays = now && next && !strcmp(now, next);

	(void)with;
	if (!now) {
		not_told(ret, p->dpu->config_end);
		return;
	}
	ret->works = stays && (!strcmp(now, "DPU") || !strcmp(now, "self-hosted"));
	snprintf(ret->answer, sizeof(ret->answer), stays ? "%s" : "%s, next boot %s", now,
		 next ? next : "unknown");
	snprintf(
		ret->todo, sizeof(ret->todo),
		"mlxconfig -d %s s INTERNAL_CPU_MODEL=1 INTERNAL_CPU_OFFLOAD_ENGINE=0, then a power cycle of the server",
		p->dpu->nic->address);
}

static void firmware(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct bwl_devlink_info *i = &p->dpu->info;

	(void)with;
	if (!*i->running) {
		snprintf(ret->answer, sizeof(ret->answer), "not told");
		return;
	}
	ret->works = !*i->stored || !strcmp(i->stored, i->running);
	snprintf(ret->answer, sizeof(ret->answer), "%.14s%s%.15s", i->running,
		 !ret->works ? ", stored "
		 : *i->psid  ? ", "
			     : "",
		 ret->works ? i->psid : i->stored);
	if (!ret->works) {
		ret->without =
			"the next reset of the card starts firmware that has not run here yet";
		snprintf(ret->todo, sizeof(ret->todo),
			 "mlxfwreset -d %s reset, and probe again before traffic",
			 p->dpu->nic->address);
	}
}

static void driver(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	(void)with;
	ret->works = *p->dpu->info.driver;
	if (ret->works)
		snprintf(ret->answer, sizeof(ret->answer), "%.12s, %.25s", p->dpu->info.driver,
			 p->machine->kernel);
	else
		snprintf(ret->answer, sizeof(ret->answer), "not told");
}

/* Of its switch's ports that stand for host functions: which have a device here? */
static void representors(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct bwl_devlink_port *one = p->dpu->ports;
	unsigned functions = 0, devices = 0;
	char card[BWL_CARD_NAME];

	(void)with;
	snprintf(card, sizeof(card), "pci/%s", p->dpu->nic->address);
	for (; one < p->dpu->ports + p->dpu->nports; one++) {
		if ((one->flavour != DEVLINK_PORT_FLAVOUR_PCI_PF &&
		     one->flavour != DEVLINK_PORT_FLAVOUR_PCI_VF) ||
		    !probe_card_same(card, one->card))
			continue;
		functions++;
		devices += one->ifindex != 0;
	}
	ret->works = functions && functions == devices;
	snprintf(ret->answer, sizeof(ret->answer), "%u of %u", devices, functions);
}

static void scalable(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct bwl_devlink_port *one = p->dpu->ports, *first = NULL;
	char card[BWL_CARD_NAME];
	unsigned n = 0;

	(void)with;
	snprintf(card, sizeof(card), "pci/%s", p->dpu->nic->address);
	for (; one < p->dpu->ports + p->dpu->nports; one++) {
		if (one->flavour != DEVLINK_PORT_FLAVOUR_PCI_SF ||
		    !probe_card_same(card, one->card))
			continue;
		first = first ? first : one;
		n++;
	}
	ret->works = !n;
	snprintf(ret->answer, sizeof(ret->answer), n ? "%u" : "none", n);
	if (first)
		snprintf(
			ret->todo, sizeof(ret->todo),
			"devlink port del %s (and the others: devlink port show); empty /etc/mellanox/mlnx-sf.conf",
			first->name);
}

/* with: the offset in struct host_rights. */
static void right(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const size_t *where = with;
	enum host_right r;

	memcpy(&r, (const char *)&p->dpu->rights + *where, sizeof(r));
	ret->works = r == RIGHT_TAKEN;
	if (r == RIGHT_UNTOLD) {
		not_told(ret, p->dpu->rights_end);
		ret->without = "unknown; by default the host has it";
		snprintf(ret->todo, sizeof(ret->todo),
			 "as root, with MFT or mstflint: mlxprivhost -d %s query --full",
			 p->dpu->nic->address);
		return;
	}
	snprintf(ret->answer, sizeof(ret->answer), "%s", ret->works ? "taken" : "held");
	snprintf(
		ret->todo, sizeof(ret->todo),
		"mlxprivhost -d %s r --disable_rshim --disable_tracer --disable_counter_rd --disable_port_owner, then a power cycle",
		p->dpu->nic->address);
}

/* clang-format off */
#define RIGHT(member) .ask = right, .with = &(const size_t){ offsetof(struct host_rights, member) }
#define ASK_TOOL "as root, with MFT or mstflint installed: mlxconfig -d ADDRESS query"

const struct probe_question probe_dpu_questions[] = {
	{ "dpu-sku", "the card's product name", "a SuperNIC is delivered in NIC mode: its cores are idle",
	  ASK_TOOL, .ask = sku },
	{ "dpu-mode", "the DPU's own cores own the data path",
	  "the host's frames bypass the programs", ASK_TOOL, .ask = mode },
	{ "firmware", "firmware version; none pending until a reset", "its offloads are unknown",
	  "devlink dev info; flint -d ADDRESS query", .ask = firmware },
	{ "driver", "driver, and the kernel it belongs to", "no representors", "modprobe mlx5_core; dmesg", .ask = driver },
	{ "representors", "every host function has a device here",
	  "frames of a function without one bypass every program",
	  "switchdev mode (eswitch-mode above), in this network namespace; devlink port show", .ask = representors },
	{ "scalable-functions", "no scalable functions",
	  "each is another way out: verify fails while one is up; guard sets it down",
	  "devlink port show", .ask = scalable },
	{ "host-level", "the host may not configure the card",
	  "verify fails: whoever can write the DPU's image has no limits", "", RIGHT(level) },
	{ "host-rshim", "the host has no rshim",
	  "verify fails: over rshim the host can boot the DPU with its own image", "", RIGHT(rshim) },
	{ "host-port-owner", "the host cannot own the port",
	  "verify fails: the owner sets the link and port up and down, and writes the port's registers", "", RIGHT(port_owner) },
	{ "host-counters", "the host cannot read the port's counters",
	  "otherwise it sees how much other tenants and the DPU itself send", "", RIGHT(counters) },
	{ "host-tracer", "the host cannot use the firmware's tracer",
	  "otherwise it sees what the firmware does for the DPU", "", RIGHT(tracer) },
	{ 0 }
};
/* clang-format on */
