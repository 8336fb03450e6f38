/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ports by name. */
#include <string.h>
#include <bwl/pins.h>

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

uint16_t bwl_neighbour_share(size_t ports)
{
	size_t share = BWL_NEIGHBOURS / (ports ? ports : 1);

	return (uint16_t)(share < BWL_NEIGHBOURS_LEAST ? BWL_NEIGHBOURS_LEAST : share);
}
