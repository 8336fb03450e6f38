// SPDX-License-Identifier: GPL-2.0-or-later
/* Roles of ports by devlink's flavours (loader/role.h). */
#include <linux/devlink.h>
#include <string.h>
#include "../test.h"
#include "maps/policy.h"
#include "loader/role.h"

enum { P0 = 3, PF0 = 4, VF0 = 5, SF0 = 6, BOND = 7, MEMBER = 8, OTHER = 9 };

static const struct bwl_netdev dev[] = {
	{ .ifindex = P0, .name = "p0" },
	{ .ifindex = PF0, .name = "pf0hpf" },
	{ .ifindex = VF0, .name = "pf0vf0", .master = BOND },
	{ .ifindex = SF0, .name = "en3f0pf0sf0" },
	{ .ifindex = BOND, .name = "bond0", .kind = "bond" },
	{ .ifindex = MEMBER, .name = "p1", .master = BOND },
	{ .ifindex = OTHER, .name = "oob_net0" },
};
static const struct bwl_devlink_port port[] = {
	{ .name = "pci/0000:03:00.0/0", .ifindex = P0, .flavour = DEVLINK_PORT_FLAVOUR_PHYSICAL },
	{ .name = "pci/0000:03:00.0/1",
	  .ifindex = PF0,
	  .flavour = DEVLINK_PORT_FLAVOUR_PCI_PF,
	  .function = true },
	{ .name = "pci/0000:03:00.0/2",
	  .ifindex = VF0,
	  .flavour = DEVLINK_PORT_FLAVOUR_PCI_VF,
	  .function = true },
	{ .name = "pci/0000:03:00.0/3",
	  .ifindex = SF0,
	  .flavour = DEVLINK_PORT_FLAVOUR_PCI_SF,
	  .function = true },
	{ .name = "pci/0000:03:00.0/4",
	  .ifindex = MEMBER,
	  .flavour = DEVLINK_PORT_FLAVOUR_PHYSICAL },
	{ .name = "pci/0000:03:00.0/5",
	  .ifindex = 0,
	  .flavour = DEVLINK_PORT_FLAVOUR_PCI_VF,
	  .function = true },
};

static int may(uint32_t ifindex, unsigned kind, struct bwl_err *e)
{
	*e = (struct bwl_err){ 0 };
	for (size_t i = 0; i < sizeof(dev) / sizeof(*dev); i++)
		if (dev[i].ifindex == ifindex)
			return bwl_role_check(port, sizeof(port) / sizeof(*port), dev,
					      sizeof(dev) / sizeof(*dev), &dev[i], kind, e);
	fail_msg("no such device");
	return -1;
}

static void uplinks_are_physical_ports(void **state)
{
	struct bwl_err e;

	(void)state;
	assert_int_equal(may(P0, BWL_PORT_UPLINK, &e), 0);
	assert_int_equal(may(PF0, BWL_PORT_UPLINK, &e), -EINVAL);
	assert_non_null(
		strstr(e.text, "pf0hpf cannot be an uplink: it is the port of a host's PF"));
	assert_non_null(strstr(e.text, "pci/0000:03:00.0/1"));
	assert_int_equal(may(VF0, BWL_PORT_UPLINK, &e), -EINVAL);
	assert_int_equal(may(SF0, BWL_PORT_UPLINK, &e), -EINVAL);
}

static void host_ports_represent_functions(void **state)
{
	struct bwl_err e;

	(void)state;
	assert_int_equal(may(PF0, BWL_PORT_HOST, &e), 0);
	assert_int_equal(may(VF0, BWL_PORT_HOST, &e), 0);
	assert_int_equal(may(SF0, BWL_PORT_HOST, &e), 0);
	assert_int_equal(may(P0, BWL_PORT_HOST, &e), -EINVAL);
	assert_non_null(strstr(e.text, "p0 cannot be a host port: it is the card's physical port"));
}

static void a_bond_is_judged_by_its_members(void **state)
{
	struct bwl_err e;

	(void)state;
	assert_int_equal(may(BOND, BWL_PORT_UPLINK, &e), -EINVAL);
	assert_non_null(strstr(e.text, "pf0vf0 cannot be an uplink"));
}

static void a_function_is_no_management_device(void **state)
{
	struct bwl_err e;

	(void)state;
	assert_int_equal(may(VF0, BWL_PORT_MANAGEMENT, &e), -EINVAL);
	assert_int_equal(may(P0, BWL_PORT_MANAGEMENT, &e), 0);
}

static void what_devlink_does_not_know_is_not_refused(void **state)
{
	struct bwl_err e;

	(void)state;
	assert_int_equal(may(OTHER, BWL_PORT_UPLINK, &e), 0);
	assert_int_equal(may(OTHER, BWL_PORT_HOST, &e), 0);
	assert_int_equal(may(OTHER, BWL_PORT_MANAGEMENT, &e), 0);
	assert_int_equal(bwl_role_check(NULL, 0, dev, 7, &dev[0], BWL_PORT_HOST, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uplinks_are_physical_ports),
		cmocka_unit_test(host_ports_represent_functions),
		cmocka_unit_test(a_bond_is_judged_by_its_members),
		cmocka_unit_test(a_function_is_no_management_device),
		cmocka_unit_test(what_devlink_does_not_know_is_not_refused),
	};

	return cmocka_run_group_tests_name("roles by devlink's flavours", tests, NULL, NULL);
}
