// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ports of a NIC's switch, whether or not a network device of this namespace represents them:
 * an active function without one could bypass every program. And the mode of that switch.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/card.h>
#include <bwl/nl.h>
#include "devlink_ask.h"

/* From linux/devlink.h (6.2, 6.6); Debian 12's headers lack them. */
#define PORT_FN_ATTR_CAPS 4
#define PORT_FN_CAP_IPSEC_CRYPTO (1U << 2)
#define PORT_FN_CAP_IPSEC_PACKET (1U << 3)

struct list {
	struct bwl_devlink_port *port;
	size_t n;
};

static bool is(const struct nlattr *a, enum mnl_attr_data_type type)
{
	return mnl_attr_validate(a, type) >= 0;
}

static void read_function(const struct nlattr *a, struct bwl_devlink_port *p)
{
	struct nla_bitfield32 caps;
	const struct nlattr *n;

	mnl_attr_for_each_nested(n, a)
	{
		if (mnl_attr_get_type(n) == DEVLINK_PORT_FN_ATTR_STATE && is(n, MNL_TYPE_U8)) {
			p->inactive = mnl_attr_get_u8(n) == DEVLINK_PORT_FN_STATE_INACTIVE;
		} else if (mnl_attr_get_type(n) == PORT_FN_ATTR_CAPS &&
			   mnl_attr_get_payload_len(n) >= sizeof(caps)) {
			/*
			 * The selector marks what the driver reports; the other bits are 0 and mean
			 * nothing.
			 */
			memcpy(&caps, mnl_attr_get_payload(n), sizeof(caps));
			caps.value &= caps.selector;
			p->ipsec_told = caps.selector &
					(PORT_FN_CAP_IPSEC_CRYPTO | PORT_FN_CAP_IPSEC_PACKET);
			p->ipsec_crypto = caps.value & PORT_FN_CAP_IPSEC_CRYPTO;
			p->ipsec_packet = caps.value & PORT_FN_CAP_IPSEC_PACKET;
		}
	}
}

static bool of_function(uint16_t flavour)
{
	return flavour == DEVLINK_PORT_FLAVOUR_PCI_PF || flavour == DEVLINK_PORT_FLAVOUR_PCI_VF ||
	       flavour == DEVLINK_PORT_FLAVOUR_PCI_SF;
}

void bwl_devlink_port_read(const struct nlmsghdr *h, struct bwl_devlink_port *ret)
{
	const char *bus = "", *dev = "";
	const struct nlattr *a;
	uint32_t index = 0;

	*ret = (struct bwl_devlink_port){ 0 };
	mnl_attr_for_each(a, h, sizeof(struct genlmsghdr))
	{
		uint16_t type = mnl_attr_get_type(a);

		if (type == DEVLINK_ATTR_BUS_NAME && is(a, MNL_TYPE_NUL_STRING))
			bus = mnl_attr_get_str(a);
		else if (type == DEVLINK_ATTR_DEV_NAME && is(a, MNL_TYPE_NUL_STRING))
			dev = mnl_attr_get_str(a);
		else if (type == DEVLINK_ATTR_PORT_INDEX && is(a, MNL_TYPE_U32))
			index = mnl_attr_get_u32(a);
		else if (type == DEVLINK_ATTR_PORT_FLAVOUR && is(a, MNL_TYPE_U16))
			ret->flavour = mnl_attr_get_u16(a);
		else if (type == DEVLINK_ATTR_PORT_NETDEV_IFINDEX && is(a, MNL_TYPE_U32))
			ret->ifindex = mnl_attr_get_u32(a);
		else if (type == DEVLINK_ATTR_PORT_FUNCTION)
			read_function(a, ret);
	}
	ret->function = of_function(ret->flavour);
	snprintf(ret->card, sizeof(ret->card), "%.15s/%.31s", bus, dev);
	snprintf(ret->name, sizeof(ret->name), "%s/%u", ret->card, index);
}

static int list_port(const struct nlmsghdr *h, void *arg)
{
	struct bwl_devlink_port *more;
	struct list *l = arg;

	more = reallocarray(l->port, l->n + 1, sizeof(*more));
	if (!more)
		return MNL_CB_ERROR;
	l->port = more;
	bwl_devlink_port_read(h, &l->port[l->n++]);
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

int bwl_devlink_ask(const char *card, uint8_t cmd, const char *param, mnl_cb_t fn, void *arg)
{
	const char *dev = strchr(card, '/');
	char buf[256], bus[BWL_CARD_NAME];
	struct nlmsghdr *h;
	uint16_t id;
	int r = dev ? bwl_genl_family(DEVLINK_GENL_NAME, &id) : -ENOENT;

	if (r)
		return r;
	snprintf(bus, sizeof(bus), "%.*s", (int)(dev - card), card);
	h = bwl_genl_request(buf, id, cmd, NLM_F_ACK);
	mnl_attr_put_strz(h, DEVLINK_ATTR_BUS_NAME, bus);
	mnl_attr_put_strz(h, DEVLINK_ATTR_DEV_NAME, dev + 1);
	if (param)
		mnl_attr_put_strz(h, DEVLINK_ATTR_PARAM_NAME, param);
	r = bwl_nl_talk(NETLINK_GENERIC, h, fn, arg);
	return r == -EOPNOTSUPP || r == -EINVAL ? 0 : r == -ENODEV ? -ENOENT : r;
}

void bwl_eswitch_read(const struct nlmsghdr *h, struct bwl_eswitch *ret)
{
	const struct nlattr *a;

	*ret = (struct bwl_eswitch){ 0 };
	mnl_attr_for_each(a, h, sizeof(struct genlmsghdr))
	{
		if (mnl_attr_get_type(a) == DEVLINK_ATTR_ESWITCH_MODE && is(a, MNL_TYPE_U16)) {
			ret->mode_told = true;
			ret->mode = mnl_attr_get_u16(a);
		} else if (mnl_attr_get_type(a) == DEVLINK_ATTR_ESWITCH_ENCAP_MODE &&
			   is(a, MNL_TYPE_U8)) {
			ret->encap_told = true;
			ret->encap = mnl_attr_get_u8(a);
		}
	}
}

static int eswitch(const struct nlmsghdr *h, void *arg)
{
	bwl_eswitch_read(h, arg);
	return MNL_CB_OK;
}

int bwl_eswitch(const char *card, struct bwl_eswitch *ret)
{
	*ret = (struct bwl_eswitch){ 0 };
	return bwl_devlink_ask(card, DEVLINK_CMD_ESWITCH_GET, NULL, eswitch, ret);
}

/* There is a value for each cmode. If its type is not a string it is ignored. */
static void read_value(const struct nlattr *value, char ret[static BWL_CARD_WORD])
{
	const char *word = NULL;
	const struct nlattr *n;
	bool now = false;

	mnl_attr_for_each_nested(n, value)
	{
		if (mnl_attr_get_type(n) == DEVLINK_ATTR_PARAM_VALUE_DATA &&
		    is(n, MNL_TYPE_NUL_STRING))
			word = mnl_attr_get_str(n);
		else if (mnl_attr_get_type(n) == DEVLINK_ATTR_PARAM_VALUE_CMODE &&
			 is(n, MNL_TYPE_U8))
			now = mnl_attr_get_u8(n) == DEVLINK_PARAM_CMODE_RUNTIME;
	}
	if (word && (now || !*ret))
		snprintf(ret, BWL_CARD_WORD, "%s", word);
}

void bwl_devlink_param_read(const struct nlmsghdr *h, char ret[static BWL_CARD_WORD])
{
	const struct nlattr *a, *n, *v;
	bool text = false;

	*ret = '\0';
	mnl_attr_for_each(a, h, sizeof(struct genlmsghdr))
	{
		if (mnl_attr_get_type(a) != DEVLINK_ATTR_PARAM)
			continue;
		mnl_attr_for_each_nested(n, a)
		{
			if (mnl_attr_get_type(n) == DEVLINK_ATTR_PARAM_TYPE && is(n, MNL_TYPE_U8))
				text = mnl_attr_get_u8(n) == MNL_TYPE_STRING;
			else if (mnl_attr_get_type(n) == DEVLINK_ATTR_PARAM_VALUES_LIST && text)
				mnl_attr_for_each_nested(v, n) read_value(v, ret);
		}
	}
}

static int param(const struct nlmsghdr *h, void *arg)
{
	bwl_devlink_param_read(h, arg);
	return MNL_CB_OK;
}

int bwl_devlink_param(const char *card, const char *name, char ret[static BWL_CARD_WORD])
{
	*ret = '\0';
	return bwl_devlink_ask(card, DEVLINK_CMD_PARAM_GET, name, param, ret);
}
