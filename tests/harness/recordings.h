/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of cards that no machine of these tests has: taken from public documentation, as
 * `devlink` and `ethtool` print them, and made into the netlink messages behind that output. The
 * text is above each; what it does not show (numbers of attributes) is from the kernel's headers.
 */
#ifndef BWL_TESTS_RECORDINGS_H
#define BWL_TESTS_RECORDINGS_H

#include <libmnl/libmnl.h>
#include <linux/devlink.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <string.h>

#define RECORDING_BYTES 8192
#define RECORDING_PORT_FN_CAPS 4 /* linux/devlink.h, 6.2 */

static inline struct nlmsghdr *recording(char *buf, uint8_t cmd)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *g;

	h->nlmsg_type = 0x20;
	g = mnl_nlmsg_put_extra_header(h, sizeof(*g));
	g->cmd = cmd;
	return h;
}

static inline struct nlmsghdr *recorded_card(char *buf, uint8_t cmd, const char *dev)
{
	struct nlmsghdr *h = recording(buf, cmd);

	mnl_attr_put_strz(h, DEVLINK_ATTR_BUS_NAME, "pci");
	mnl_attr_put_strz(h, DEVLINK_ATTR_DEV_NAME, dev);
	return h;
}

/*
 * devlink-dev(8): "pci/0000:03:00.0: mode switchdev inline-mode none encap-mode basic"; each word
 * by its number.
 */
static inline const struct nlmsghdr *recorded_eswitch(char *buf, uint16_t mode, uint8_t encap)
{
	struct nlmsghdr *h = recorded_card(buf, DEVLINK_CMD_ESWITCH_GET, "0000:03:00.0");

	mnl_attr_put_u16(h, DEVLINK_ATTR_ESWITCH_MODE, mode);
	mnl_attr_put_u8(h, DEVLINK_ATTR_ESWITCH_INLINE_MODE, 0);
	mnl_attr_put_u8(h, DEVLINK_ATTR_ESWITCH_ENCAP_MODE, encap);
	return h;
}

/*
 * Linux e890acd5ff18: "pci/0000:06:00.0: name flow_steering_mode type driver-specific values: cmode
 * runtime value smfs". With `next`, the value after a reload (cmode driverinit) comes first.
 */
static inline const struct nlmsghdr *recorded_steering(char *buf, const char *now, const char *next)
{
	struct nlmsghdr *h = recorded_card(buf, DEVLINK_CMD_PARAM_GET, "0000:06:00.0");
	struct nlattr *param = mnl_attr_nest_start(h, DEVLINK_ATTR_PARAM), *list, *value;

	mnl_attr_put_strz(h, DEVLINK_ATTR_PARAM_NAME, "flow_steering_mode");
	mnl_attr_put_u8(h, DEVLINK_ATTR_PARAM_TYPE, 5); /* NLA_STRING */
	list = mnl_attr_nest_start(h, DEVLINK_ATTR_PARAM_VALUES_LIST);
	if (next) {
		value = mnl_attr_nest_start(h, DEVLINK_ATTR_PARAM_VALUE);
		mnl_attr_put_u8(h, DEVLINK_ATTR_PARAM_VALUE_CMODE, DEVLINK_PARAM_CMODE_DRIVERINIT);
		mnl_attr_put_strz(h, DEVLINK_ATTR_PARAM_VALUE_DATA, next);
		mnl_attr_nest_end(h, value);
	}
	value = mnl_attr_nest_start(h, DEVLINK_ATTR_PARAM_VALUE);
	mnl_attr_put_u8(h, DEVLINK_ATTR_PARAM_VALUE_CMODE, DEVLINK_PARAM_CMODE_RUNTIME);
	mnl_attr_put_strz(h, DEVLINK_ATTR_PARAM_VALUE_DATA, now);
	mnl_attr_nest_end(h, value);
	mnl_attr_nest_end(h, list);
	mnl_attr_nest_end(h, param);
	return h;
}

/*
 * Linux 390a24cbc396: "pci/0000:06:00.0/1: type eth netdev enp6s0pf0vf0 flavour pcivf pfnum 0 vfnum
 * 0 function: hw_addr 00:00:00:00:00:00 roce enable ipsec_packet disable". caps: bits roce 1,
 * migratable 2, ipsec_crypto 4, ipsec_packet 8; told: those that are printed.
 */
static inline const struct nlmsghdr *recorded_port(char *buf, uint32_t index, uint16_t flavour,
						   uint32_t ifindex, uint32_t caps, uint32_t told)
{
	struct nlmsghdr *h = recorded_card(buf, DEVLINK_CMD_PORT_GET, "0000:06:00.0");
	struct nla_bitfield32 bits = { caps, told };
	static const uint8_t mac[6];
	struct nlattr *function;

	mnl_attr_put_u32(h, DEVLINK_ATTR_PORT_INDEX, index);
	mnl_attr_put_u16(h, DEVLINK_ATTR_PORT_TYPE, 2);
	mnl_attr_put_u32(h, DEVLINK_ATTR_PORT_NETDEV_IFINDEX, ifindex);
	mnl_attr_put_u16(h, DEVLINK_ATTR_PORT_FLAVOUR, flavour);
	if (flavour == DEVLINK_PORT_FLAVOUR_PHYSICAL)
		return h;
	function = mnl_attr_nest_start(h, DEVLINK_ATTR_PORT_FUNCTION);
	mnl_attr_put(h, DEVLINK_PORT_FUNCTION_ATTR_HW_ADDR, sizeof(mac), mac);
	if (told)
		mnl_attr_put(h, RECORDING_PORT_FN_CAPS, sizeof(bits), &bits);
	mnl_attr_nest_end(h, function);
	return h;
}

static inline void recorded_version(struct nlmsghdr *h, uint16_t kind, const char *name,
				    const char *value)
{
	struct nlattr *nest = mnl_attr_nest_start(h, kind);

	mnl_attr_put_strz(h, DEVLINK_ATTR_INFO_VERSION_NAME, name);
	mnl_attr_put_strz(h, DEVLINK_ATTR_INFO_VERSION_VALUE, value);
	mnl_attr_nest_end(h, nest);
}

/*
 * netdev, msg305655 (mlx5: devlink info): "pci/0000:00:06.0: driver mlx5_core versions: fixed:
 * fw.psid MT_0000000009 running: fw.version 16.26.0100 stored: fw.version 16.26.0100"; since
 * 2754125ebd33 each of these as `fw`, too.
 */
static inline const struct nlmsghdr *recorded_info(char *buf, const char *running,
						   const char *stored)
{
	struct nlmsghdr *h = recorded_card(buf, DEVLINK_CMD_INFO_GET, "0000:00:06.0");

	mnl_attr_put_strz(h, DEVLINK_ATTR_INFO_DRIVER_NAME, "mlx5_core");
	recorded_version(h, DEVLINK_ATTR_INFO_VERSION_FIXED, "fw.psid", "MT_0000000009");
	recorded_version(h, DEVLINK_ATTR_INFO_VERSION_RUNNING, "fw.version", running);
	recorded_version(h, DEVLINK_ATTR_INFO_VERSION_RUNNING, "fw", running);
	recorded_version(h, DEVLINK_ATTR_INFO_VERSION_STORED, "fw.version", stored);
	recorded_version(h, DEVLINK_ATTR_INFO_VERSION_STORED, "fw", stored);
	return h;
}

/* ethtool(8), -l: "Combined: 1" of "Pre-set maximums: Combined: 16"; the other numbers are n/a. */
static inline const struct nlmsghdr *recorded_channels(char *buf, uint32_t combined, uint32_t most)
{
	struct nlmsghdr *h = recording(buf, ETHTOOL_MSG_CHANNELS_GET_REPLY);

	mnl_attr_put_u32(h, ETHTOOL_A_CHANNELS_COMBINED_MAX, most);
	mnl_attr_put_u32(h, ETHTOOL_A_CHANNELS_COMBINED_COUNT, combined);
	return h;
}

static inline void recorded_bits(struct nlmsghdr *h, uint16_t type, const char *const *names,
				 bool mask)
{
	struct nlattr *set = mnl_attr_nest_start(h, type), *bits, *bit;

	if (!mask)
		mnl_attr_put(h, ETHTOOL_A_BITSET_NOMASK, 0, NULL);
	mnl_attr_put_u32(h, ETHTOOL_A_BITSET_SIZE, 64);
	bits = mnl_attr_nest_start(h, ETHTOOL_A_BITSET_BITS);
	for (; *names; names++) {
		bit = mnl_attr_nest_start(h, ETHTOOL_A_BITSET_BITS_BIT);
		mnl_attr_put_u32(h, ETHTOOL_A_BITSET_BIT_INDEX, 1);
		mnl_attr_put_strz(h, ETHTOOL_A_BITSET_BIT_NAME, *names);
		mnl_attr_nest_end(h, bit);
	}
	mnl_attr_nest_end(h, bits);
	mnl_attr_nest_end(h, set);
}

/*
 * ethtool(8), -k: "hw-tc-offload: off", "esp-hw-offload: on [fixed]": `can`: may be switched; `on`:
 * is on (a fixed one is in `on` only).
 */
static inline const struct nlmsghdr *recorded_features(char *buf, const char *const *can,
						       const char *const *on)
{
	struct nlmsghdr *h = recording(buf, ETHTOOL_MSG_FEATURES_GET_REPLY);

	recorded_bits(h, ETHTOOL_A_FEATURES_HW, can, false);
	recorded_bits(h, ETHTOOL_A_FEATURES_ACTIVE, on, false);
	return h;
}

/*
 * NETLINK_EXT_ACK: an error with a text; the request (8 bytes of it after its header) is returned.
 */
static inline const struct nlmsghdr *recorded_error(char *buf, const char *words, bool capped)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct nlmsgerr *err = mnl_nlmsg_put_extra_header(h, sizeof(*err) + (capped ? 0 : 8));

	h->nlmsg_type = NLMSG_ERROR;
	h->nlmsg_flags = NLM_F_ACK_TLVS | (capped ? NLM_F_CAPPED : 0);
	err->error = -16; /* EBUSY */
	err->msg.nlmsg_len = sizeof(err->msg) + 8;
	mnl_attr_put_strz(h, NLMSGERR_ATTR_MSG, words);
	return h;
}

#endif
