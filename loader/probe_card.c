// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the card offers: read from devlink and ethtool's netlink; nothing is set. First everything
 * is read, then the questions judge it: there is no I/O below probe_card_read(), so that the unit
 * test can describe a card that does not exist. Why each answer matters: docs/scale.md.
 */
#include <linux/devlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "probe_card.h"

bool probe_card_same(const char *card, const char *other)
{
	size_t n = strcspn(card, ".");
	const char *function = strrchr(card, '.');

	if (function)
		n = (size_t)(function - card);
	return *card && !strncmp(card, other, n) && (!other[n] || other[n] == '.');
}

static const struct bwl_devlink_port *port_of(const struct bwl_devlink_port *all, size_t n,
					      uint32_t ifindex)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (all[i].ifindex == ifindex)
			return &all[i];
	return NULL;
}

/* What cannot be read counts as not offered: no question needs the difference. */
static void read_one(struct probe_port *p)
{
	struct bwl_offer f[] = { { .name = "hw-tc-offload" }, { .name = "esp-hw-offload" } };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	p->cpus = cpus > 0 ? (unsigned)cpus : 1;
	if (p->self) {
		bwl_eswitch(p->self->card, &p->eswitch);
		bwl_devlink_param(p->self->card, "flow_steering_mode", p->steering);
	}
	bwl_channels(p->dev->ifindex, &p->channels);
	bwl_features(p->dev->ifindex, f, 2);
	p->tc = f[0].is;
	p->esp = f[1].is;
}

int probe_card_read(struct probe_port *ports, unsigned n, struct bwl_err *e)
{
	struct bwl_devlink_port *all;
	size_t nall;
	unsigned i, k;
	int r = bwl_devlink_ports(&all, &nall, e);

	for (i = 0; !r && i < n; i++) {
		ports[i].all = all;
		ports[i].nall = nall;
		ports[i].self = port_of(all, nall, ports[i].dev->ifindex);
		ports[i].first_of_card = true;
		for (k = 0; k < i; k++)
			ports[i].first_of_card &= !ports[i].self || !ports[k].self ||
						  strcmp(ports[i].self->card, ports[k].self->card);
		read_one(&ports[i]);
	}
	return r;
}

static void not_offered(struct probe_answer *ret)
{
	snprintf(ret->answer, sizeof(ret->answer), "not offered");
}

static void not_told(struct probe_answer *ret)
{
	not_offered(ret);
	ret->without = "unknown: neither devlink nor the driver reports it";
}

static void mode(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	static const char *const names[] = { [DEVLINK_ESWITCH_MODE_LEGACY] = "legacy",
					     [DEVLINK_ESWITCH_MODE_SWITCHDEV] = "switchdev" };
	uint16_t m = p->eswitch.mode;

	(void)with;
	if (!p->eswitch.mode_told) {
		not_told(ret);
		return;
	}
	ret->works = m == DEVLINK_ESWITCH_MODE_SWITCHDEV;
	snprintf(ret->answer, sizeof(ret->answer), "%s",
		 m <= DEVLINK_ESWITCH_MODE_SWITCHDEV ? names[m] : "unknown");
	snprintf(ret->todo, sizeof(ret->todo), "devlink dev eswitch set %s mode switchdev",
		 p->self->card);
}

static void encap(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	(void)with;
	if (!p->eswitch.encap_told) {
		not_told(ret);
		return;
	}
	ret->works = p->eswitch.encap == DEVLINK_ESWITCH_ENCAP_MODE_NONE;
	snprintf(ret->answer, sizeof(ret->answer), "%s",
		 ret->works                                             ? "none"
		 : p->eswitch.encap == DEVLINK_ESWITCH_ENCAP_MODE_BASIC ? "basic"
									: "unknown");
	snprintf(ret->todo, sizeof(ret->todo),
		 "before the first SA is installed: devlink dev eswitch set %s encap-mode none",
		 p->self->card);
}

static void steering(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	(void)with;
	if (!*p->steering) {
		not_told(ret);
		return;
	}
	ret->works = !strcmp(p->steering, "dmfs");
	snprintf(ret->answer, sizeof(ret->answer), "%s", p->steering);
	snprintf(
		ret->todo, sizeof(ret->todo),
		"in legacy mode, before switchdev: devlink dev param set %s name flow_steering_mode value dmfs cmode runtime",
		p->self->card);
}

/* Looks at all functions of the card: one that has it is enough. */
static void functions(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct bwl_devlink_port *one;
	bool told = false;

	(void)with;
	ret->works = p->self;
	for (one = p->all; p->self && one < p->all + p->nall; one++) {
		if (!one->function || !one->ipsec_told ||
		    !probe_card_same(p->self->card, one->card))
			continue;
		told = true;
		if ((one->ipsec_packet || one->ipsec_crypto) && ret->works) {
			ret->works = false;
			snprintf(ret->todo, sizeof(ret->todo),
				 "devlink port function set %s %s disable", one->name,
				 one->ipsec_packet ? "ipsec_packet" : "ipsec_crypto");
		}
	}
	if (!told) {
		ret->works = false;
		not_told(ret);
		return;
	}
	snprintf(ret->answer, sizeof(ret->answer), "%s", ret->works ? "off" : "on");
}

static void queues(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct bwl_channels *c = &p->channels;
	uint32_t rx = c->rx + c->combined, tx = c->tx + c->combined;
	uint32_t has = p->kind == PROBE_UPLINK && tx < rx ? tx : rx;
	uint32_t most = c->max_combined         ? c->max_combined
			: c->max_tx < c->max_rx ? c->max_tx
						: c->max_rx;
	const char *dev = p->dev->name;

	(void)with;
	if (!c->told) {
		not_told(ret);
		return;
	}
	ret->works = has >= p->cpus;
	snprintf(ret->answer, sizeof(ret->answer), "%u of %u", has, p->cpus);
	if (p->kind == PROBE_UPLINK)
		ret->without =
			"on CPUs without a queue, what XDP sends through an mlx5 port is charged and lost";
	most = most < p->cpus ? most : p->cpus;
	if (most <= has)
		snprintf(
			ret->todo, sizeof(ret->todo),
			"the driver has no more: keep its interrupts on as many CPUs as it has queues");
	else if (c->max_combined)
		snprintf(ret->todo, sizeof(ret->todo), "ethtool -L %s combined %u", dev, most);
	else
		snprintf(ret->todo, sizeof(ret->todo), "ethtool -L %s rx %u tx %u", dev, most,
			 most);
}

static void feature(const struct probe_port *p, const char *name, enum bwl_offered is,
		    struct probe_answer *ret)
{
	ret->works = is == BWL_OFFERED_ON;
	if (is == BWL_NOT_OFFERED) {
		not_offered(ret);
		return;
	}
	snprintf(ret->answer, sizeof(ret->answer), "%s", ret->works ? "on" : "off");
	snprintf(ret->todo, sizeof(ret->todo), "ethtool -K %s %s on", p->dev->name, name);
}

static void tc_offload(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	(void)with;
	feature(p, "hw-tc-offload", p->tc, ret);
}

static void esp_offload(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	(void)with;
	feature(p, "esp-hw-offload", p->esp, ret);
}

#define NO_PACKET "no packet offload: TC and the kernel's IPsec carry peers with `path: offload`"
#define OTHER_PORT                                                                                 \
	"name a port that devlink port show lists (for a bond: a member), or do not use "          \
	"`path: offload`"

/* clang-format off */
const struct probe_question probe_card_questions[] = {
	{ "eswitch-mode", "the card's switch is in switchdev mode",
	  "no representors: a host's frames bypass the DPU", OTHER_PORT, mode, .of_card = true },
	{ "eswitch-encap", "the card's switch does not encapsulate, which leaves tunnel mode to IPsec",
	  NO_PACKET, OTHER_PORT, encap, .of_card = true },
	{ "flow-steering", "flows are steered by firmware (dmfs), which packet offload needs",
	  NO_PACKET, OTHER_PORT, steering, .of_card = true },
	{ "ipsec-functions", "no host function was given the card's IPsec",
	  "a function that has it prevents packet offload here",
	  "devlink port show reports it since Linux 6.6; before: --try-hardware", functions, .of_card = true },
	{ "queues", "one queue for each CPU", "each flow uses one queue: fewer cores carry this port",
	  "the driver does not report it: ethtool -l, and the driver's manual", .ask = queues },
	{ "tc-offload", "tc rules can be offloaded to the card",
	  "no second limit in hardware; bwlimit does not need one", "nothing to do", .ask = tc_offload },
	{ "esp-offload", "some kind of IPsec can be offloaded to the card (packet offload: --try-hardware)",
	  "the CPU cores encrypt", "install a driver and firmware with IPsec, or leave encryption to the cores", esp_offload,
	  .of = PROBE_UPLINK },
	{ 0 }
};
/* clang-format on */
