// SPDX-License-Identifier: GPL-2.0-or-later
/* Queues and features of a device, by ethtool's netlink (kernel 5.7). */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <string.h>
#include <bwl/card.h>
#include <bwl/nl.h>

/*
 * If the kernel has no such family, or the driver no answer, nothing is filled in, and the result
 * is 0.
 */
static int ask(uint32_t ifindex, uint8_t cmd, uint16_t header, mnl_cb_t fn, void *arg)
{
	struct nlmsghdr *h;
	struct nlattr *n;
	char buf[256];
	uint16_t id;
	int r = bwl_genl_family(ETHTOOL_GENL_NAME, &id);

	if (r)
		return r == -ENOENT ? 0 : r;
	h = bwl_genl_request(buf, id, cmd, NLM_F_ACK);
	n = mnl_attr_nest_start(h, header);
	mnl_attr_put_u32(h, ETHTOOL_A_HEADER_DEV_INDEX, ifindex);
	mnl_attr_nest_end(h, n);
	r = bwl_nl_talk(NETLINK_GENERIC, h, fn, arg);
	return r == -EOPNOTSUPP ? 0 : r;
}

void bwl_channels_read(const struct nlmsghdr *h, struct bwl_channels *ret)
{
	const struct nlattr *a;

	*ret = (struct bwl_channels){ 0 };
	mnl_attr_for_each(a, h, sizeof(struct genlmsghdr))
	{
		uint32_t *to = NULL;

		switch (mnl_attr_get_type(a)) {
		case ETHTOOL_A_CHANNELS_RX_MAX:
			to = &ret->max_rx;
			break;
		case ETHTOOL_A_CHANNELS_TX_MAX:
			to = &ret->max_tx;
			break;
		case ETHTOOL_A_CHANNELS_COMBINED_MAX:
			to = &ret->max_combined;
			break;
		case ETHTOOL_A_CHANNELS_RX_COUNT:
			to = &ret->rx;
			break;
		case ETHTOOL_A_CHANNELS_TX_COUNT:
			to = &ret->tx;
			break;
		case ETHTOOL_A_CHANNELS_COMBINED_COUNT:
			to = &ret->combined;
			break;
		}
		if (!to || mnl_attr_validate(a, MNL_TYPE_U32) < 0)
			continue;
		*to = mnl_attr_get_u32(a);
		ret->told = true;
	}
}

static int channels(const struct nlmsghdr *h, void *arg)
{
	bwl_channels_read(h, arg);
	return MNL_CB_OK;
}

int bwl_channels(uint32_t ifindex, struct bwl_channels *ret)
{
	*ret = (struct bwl_channels){ 0 };
	return ask(ifindex, ETHTOOL_MSG_CHANNELS_GET, ETHTOOL_A_CHANNELS_HEADER, channels, ret);
}

/*
 * A list of bits. Without a mask it has the bits that are set; with a mask it has those it reports
 * on.
 */
static void read_bit(const struct nlattr *bit, bool has_mask, enum bwl_offered is,
		     struct bwl_offer *f, size_t n)
{
	bool set = !has_mask;
	const char *name = NULL;
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, bit)
	{
		if (mnl_attr_get_type(a) == ETHTOOL_A_BITSET_BIT_NAME &&
		    mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
			name = mnl_attr_get_str(a);
		set |= mnl_attr_get_type(a) == ETHTOOL_A_BITSET_BIT_VALUE;
	}
	for (; name && set && n; f++, n--)
		if (!strcmp(f->name, name) && f->is < is)
			f->is = is;
}

static void read_set(const struct nlattr *set, enum bwl_offered is, struct bwl_offer *f, size_t n)
{
	const struct nlattr *a, *bit;
	bool has_mask = true;

	mnl_attr_for_each_nested(a, set) if (mnl_attr_get_type(a) == ETHTOOL_A_BITSET_NOMASK)
		has_mask = false;
	mnl_attr_for_each_nested(a, set) if (mnl_attr_get_type(a) == ETHTOOL_A_BITSET_BITS)
		mnl_attr_for_each_nested(bit, a) read_bit(bit, has_mask, is, f, n);
}

void bwl_features_read(const struct nlmsghdr *h, struct bwl_offer *f, size_t n)
{
	const struct nlattr *a;
	size_t i;

	for (i = 0; i < n; i++)
		f[i].is = BWL_NOT_OFFERED;
	mnl_attr_for_each(a, h, sizeof(struct genlmsghdr))
	{
		if (mnl_attr_get_type(a) == ETHTOOL_A_FEATURES_HW)
			read_set(a, BWL_OFFERED_OFF, f, n);
		else if (mnl_attr_get_type(a) == ETHTOOL_A_FEATURES_ACTIVE)
			read_set(a, BWL_OFFERED_ON, f, n);
	}
}

struct offers {
	struct bwl_offer *f;
	size_t n;
};

static int features(const struct nlmsghdr *h, void *arg)
{
	struct offers *o = arg;

	bwl_features_read(h, o->f, o->n);
	return MNL_CB_OK;
}

int bwl_features(uint32_t ifindex, struct bwl_offer *f, size_t n)
{
	struct offers o = { f, n };
	size_t i;

	for (i = 0; i < n; i++)
		f[i].is = BWL_NOT_OFFERED;
	return ask(ifindex, ETHTOOL_MSG_FEATURES_GET, ETHTOOL_A_FEATURES_HEADER, features, &o);
}
