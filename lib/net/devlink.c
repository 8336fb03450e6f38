/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ports that a NIC's switch has, whether or not a network device of this namespace stands
 * for them: a function that is switched on and has none could send past every program.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/netdev.h>
#include <bwl/nl.h>

struct list {
	struct bwl_devlink_port *port;
	size_t n;
};

static void read_function(const struct nlattr *a, struct bwl_devlink_port *p)
{
	const struct nlattr *n;

	mnl_attr_for_each_nested(n, a) if (mnl_attr_get_type(n) == DEVLINK_PORT_FN_ATTR_STATE)
		p->inactive = mnl_attr_get_u8(n) == DEVLINK_PORT_FN_STATE_INACTIVE;
}

static int list_port(const struct nlmsghdr *h, void *arg)
{
	struct list *l = arg;
	struct bwl_devlink_port p = { 0 }, *more;
	const char *bus = "", *dev = "";
	const struct nlattr *a;
	uint32_t index = 0;

	mnl_attr_for_each(a, h, sizeof(struct genlmsghdr))
	{
		switch (mnl_attr_get_type(a)) {
		case DEVLINK_ATTR_BUS_NAME:
			bus = mnl_attr_get_str(a);
			break;
		case DEVLINK_ATTR_DEV_NAME:
			dev = mnl_attr_get_str(a);
			break;
		case DEVLINK_ATTR_PORT_INDEX:
			index = mnl_attr_get_u32(a);
			break;
		case DEVLINK_ATTR_PORT_FLAVOUR:
			p.flavour = mnl_attr_get_u16(a);
			break;
		case DEVLINK_ATTR_PORT_NETDEV_IFINDEX:
			p.ifindex = mnl_attr_get_u32(a);
			break;
		case DEVLINK_ATTR_PORT_FUNCTION:
			read_function(a, &p);
			break;
		}
	}
	snprintf(p.name, sizeof(p.name), "%.15s/%.31s/%u", bus, dev, index);
	more = reallocarray(l->port, l->n + 1, sizeof(*more));
	if (!more)
		return MNL_CB_ERROR;
	l->port = more;
	l->port[l->n++] = p;
	return MNL_CB_OK;
}

int bwl_devlink_ports(struct bwl_devlink_port **ret, size_t *ret_n, struct bwl_err *e)
{
	struct list l = { 0 };
	struct nlmsghdr *h;
	uint16_t id = 0;
	char buf[256];
	int r;

	*ret = NULL;
	*ret_n = 0;
	r = bwl_genl_family(DEVLINK_GENL_NAME, &id);
	if (r == -ENOENT)
		return 0;
	if (!r) {
		h = bwl_genl_request(buf, id, DEVLINK_CMD_PORT_GET, NLM_F_DUMP);
		r = bwl_nl_talk(NETLINK_GENERIC, h, list_port, &l);
	}
	if (r) {
		free(l.port);
		return bwl_fail(e, -r, "cannot list devlink ports: %s", strerror(-r));
	}
	*ret = l.port;
	*ret_n = l.n;
	return 0;
}
