// SPDX-License-Identifier: GPL-2.0-or-later
/* devlink dev info: a card's driver, its firmware, and the firmware that a reset would activate. */
#include <libmnl/libmnl.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <string.h>
#include <bwl/card.h>
#include <bwl/nl.h>
#include "devlink_ask.h"

static bool is(const struct nlattr *a, enum mnl_attr_data_type type)
{
	return mnl_attr_validate(a, type) >= 0;
}

static const char *version_of(const struct nlattr *nest, const char *name)
{
	const char *is_name = "", *value = NULL;
	const struct nlattr *n;

	mnl_attr_for_each_nested(n, nest)
	{
		if (!is(n, MNL_TYPE_NUL_STRING))
			continue;
		if (mnl_attr_get_type(n) == DEVLINK_ATTR_INFO_VERSION_NAME)
			is_name = mnl_attr_get_str(n);
		else if (mnl_attr_get_type(n) == DEVLINK_ATTR_INFO_VERSION_VALUE)
			value = mnl_attr_get_str(n);
	}
	return value && !strcmp(is_name, name) ? value : NULL;
}

void bwl_devlink_info_read(const struct nlmsghdr *h, struct bwl_devlink_info *ret)
{
	const struct nlattr *a;
	const char *v;

	*ret = (struct bwl_devlink_info){ 0 };
	mnl_attr_for_each(a, h, sizeof(struct genlmsghdr))
	{
		uint16_t type = mnl_attr_get_type(a);

		if (type == DEVLINK_ATTR_INFO_DRIVER_NAME && is(a, MNL_TYPE_NUL_STRING))
			snprintf(ret->driver, sizeof(ret->driver), "%s", mnl_attr_get_str(a));
		else if (type == DEVLINK_ATTR_INFO_VERSION_FIXED && (v = version_of(a, "fw.psid")))
			snprintf(ret->psid, sizeof(ret->psid), "%s", v);
		else if (type == DEVLINK_ATTR_INFO_VERSION_RUNNING &&
			 (v = version_of(a, "fw.version")))
			snprintf(ret->running, sizeof(ret->running), "%s", v);
		else if (type == DEVLINK_ATTR_INFO_VERSION_STORED &&
			 (v = version_of(a, "fw.version")))
			snprintf(ret->stored, sizeof(ret->stored), "%s", v);
	}
}

static int info(const struct nlmsghdr *h, void *arg)
{
	bwl_devlink_info_read(h, arg);
	return MNL_CB_OK;
}

int bwl_devlink_info(const char *card, struct bwl_devlink_info *ret)
{
	*ret = (struct bwl_devlink_info){ 0 };
	return bwl_devlink_ask(card, DEVLINK_CMD_INFO_GET, NULL, info, ret);
}
