// SPDX-License-Identifier: GPL-2.0-or-later
/* Ports by name and by interface index. */
#include <stdio.h>
#include <string.h>
#include <bwl/pins.h>
#include <bwl/tables.h>

static bool is_called(const struct bwl_dev *dev, const char *name)
{
	return !strncmp(dev->name, name, sizeof(dev->name));
}

int bwl_port_id(const struct bwl_pins *p, const char *name)
{
	int i;

	for (i = 0; i < BWL_MAX_PORTS; i++)
		if (p->dev[i].ifindex && is_called(&p->dev[i], name))
			return i;
	return -1;
}

/* Its name and kind are there, its device is not. */
static bool is_awaited(const struct bwl_dev *dev)
{
	return !dev->ifindex && dev->kind & (BWL_PORT_HOST | BWL_PORT_UPLINK);
}

int bwl_port_named(const struct bwl_pins *p, const char *name)
{
	int i;

	for (i = 0; i < BWL_MAX_PORTS; i++)
		if ((p->dev[i].ifindex || is_awaited(&p->dev[i])) && is_called(&p->dev[i], name))
			return i;
	return -1;
}

/* The programs send nothing to an entry without a device, and take nothing from one. */
void bwl_port_await(struct bwl_pins *p, unsigned id, const char *name, unsigned kind)
{
	struct bwl_dev *dev = &p->dev[id];

	if (dev->ifindex && p->ifport[dev->ifindex].v == id + 1)
		p->ifport[dev->ifindex].v = 0;
	dev->ifindex = 0;
	snprintf(dev->name, sizeof(dev->name), "%s", name);
	dev->kind = (__u8)kind;
	dev->mtu = 0;
	dev->flags = 0;
}

int bwl_ports_awaited(struct bwl_pins *p, uint64_t *ret)
{
	uint32_t slot = bwl_active_slot(p);
	bool some = false;
	struct bwl_gen g;
	int i, r;

	*ret = 0;
	for (i = 0; i < BWL_MAX_PORTS; i++)
		some |= is_awaited(&p->dev[i]);
	if (!some || slot == BWL_NO_SLOT)
		return 0;
	r = bwl_gen_open(p, slot, &g, NULL);
	if (r)
		return r;
	for (i = 0; i < BWL_MAX_PORTS; i++)
		if (is_awaited(&p->dev[i]) && g.base->port[i].flags & p->dev[i].kind)
			*ret |= 1ULL << i;
	bwl_gen_close(&g);
	return 0;
}

int bwl_port_id_for(const struct bwl_pins *p, const char *name)
{
	int i, found = -1;

	for (i = BWL_MAX_PORTS - 1; i >= 0; i--) {
		if (is_called(&p->dev[i], name))
			return i;
		if (!p->dev[i].name[0])
			found = i;
	}
	return found;
}

int bwl_port_at(const struct bwl_pins *p, uint32_t ifindex)
{
	int i;

	for (i = 0; ifindex && i < BWL_MAX_PORTS; i++)
		if (p->dev[i].ifindex == ifindex)
			return i;
	return -1;
}

static void turn(struct bwl_pins *p, unsigned id, bool shut)
{
	__u8 *word = &p->dev[id].flags, is = __atomic_load_n(word, __ATOMIC_SEQ_CST), next;

	do {
		if (bwl_is_port_shut(is) == shut)
			return;
		next = (__u8)((is & ~BWL_DEV_DOINGS) | ((is + BWL_DEV_SHUT) & BWL_DEV_DOINGS));
	} while (!__atomic_compare_exchange_n(word, &is, next, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
}

void bwl_port_shuts(struct bwl_pins *p, unsigned id)
{
	turn(p, id, true);
}

void bwl_port_opened(struct bwl_pins *p, unsigned id)
{
	turn(p, id, false);
}

uint8_t bwl_port_doings(const struct bwl_pins *p, unsigned id)
{
	return __atomic_load_n(&p->dev[id].flags, __ATOMIC_SEQ_CST) & BWL_DEV_DOINGS;
}

bool bwl_is_port_shut(uint8_t doings)
{
	return doings & BWL_DEV_SHUT;
}

uint16_t bwl_neighbour_share(size_t ports)
{
	size_t share = BWL_NEIGHBOURS / (ports ? ports : 1);

	return (uint16_t)(share < BWL_NEIGHBOURS_MIN ? BWL_NEIGHBOURS_MIN : share);
}
