// SPDX-License-Identifier: GPL-2.0-or-later
/* probe's report on a DPU by devlink's answers: recordings (tests/harness/recordings.h). */
#include <stdio.h>
#include <string.h>
#include "../test.h"
#include "tests/harness/recordings.h"
#include "loader/probe_dpu.h"

static const struct bwl_pci_nic nic = { .address = "0000:06:00.0", .dpu = "BlueField-3" };

struct rig {
	char buf[RECORDING_BYTES];
	struct bwl_devlink_port ports[4];
	struct probe_machine machine;
	struct probe_dpu dpu;
};

/* A physical port, a PF's port and a VF's port. A test adds the fourth. */
static void set_up(struct rig *r)
{
	*r = (struct rig){ .machine = { .kernel = "6.8.0-1008-bluefield-64k" },
			   .dpu = { .nic = &nic, .nports = 3 } };
	r->dpu.ports = r->ports;
	bwl_devlink_port_read(recorded_port(r->buf, 0, DEVLINK_PORT_FLAVOUR_PHYSICAL, 3, 0, 0),
			      &r->ports[0]);
	bwl_devlink_port_read(recorded_port(r->buf, 1, DEVLINK_PORT_FLAVOUR_PCI_PF, 4, 0, 0),
			      &r->ports[1]);
	bwl_devlink_port_read(recorded_port(r->buf, 2, DEVLINK_PORT_FLAVOUR_PCI_VF, 5, 0, 0),
			      &r->ports[2]);
	bwl_devlink_info_read(recorded_info(r->buf, "16.26.0100", "16.26.0100"), &r->dpu.info);
}

static struct probe_answer ask(const struct rig *r, const char *id)
{
	const struct probe_port p = { .dpu = &r->dpu, .machine = &r->machine };
	const struct probe_question *q = probe_dpu_questions;
	struct probe_answer a = { 0 };

	while (q->id && strcmp(q->id, id))
		q++;
	assert_non_null(q->id);
	q->ask(&p, q->with, &a);
	assert_true(a.works || *a.todo || *q->todo);
	return a;
}

static void expect(const struct rig *r, const char *id, bool works, const char *answer)
{
	struct probe_answer a = ask(r, id);

	assert_string_equal(a.answer, answer);
	assert_int_equal(a.works, works);
}

static void firmware_and_driver_are_told(void **state)
{
	struct rig r;

	(void)state;
	set_up(&r);
	expect(&r, "firmware", true, "16.26.0100, MT_0000000009");
	expect(&r, "driver", true, "mlx5_core, 6.8.0-1008-bluefield-64k");
}

static void firmware_that_waits_for_a_reset_is_told(void **state)
{
	struct rig r;

	(void)state;
	set_up(&r);
	bwl_devlink_info_read(recorded_info(r.buf, "32.41.1000", "32.43.2026"), &r.dpu.info);
	expect(&r, "firmware", false, "32.41.1000, stored 32.43.2026");
}

static void what_is_not_told_does_not_work(void **state)
{
	struct rig r;

	(void)state;
	set_up(&r);
	bwl_devlink_info_read(recorded_eswitch(r.buf, DEVLINK_ESWITCH_MODE_LEGACY,
					       DEVLINK_ESWITCH_ENCAP_MODE_NONE),
			      &r.dpu.info);
	expect(&r, "firmware", false, "not told");
	expect(&r, "driver", false, "not told");
	expect(&r, "dpu-mode", false, "not told");
	expect(&r, "dpu-sku", false, "not told");
	r.dpu.rights_end = r.dpu.config_end = TOOL_LATE;
	expect(&r, "dpu-mode", false, "no answer in time");
	expect(&r, "host-rshim", false, "no answer in time");
}

static void a_function_without_a_device_is_missed(void **state)
{
	struct rig r;

	(void)state;
	set_up(&r);
	expect(&r, "representors", true, "2 of 2");
	r.ports[2].ifindex = 0;
	expect(&r, "representors", false, "1 of 2");
	r.dpu.nports = 1;
	expect(&r, "representors", false, "0 of 0");
}

static void another_cards_functions_are_not_counted(void **state)
{
	struct rig r;

	(void)state;
	set_up(&r);
	snprintf(r.ports[2].card, sizeof(r.ports[2].card), "pci/0000:81:00.0");
	r.ports[2].ifindex = 0;
	expect(&r, "representors", true, "1 of 1");
}

static void a_scalable_function_is_another_way_out(void **state)
{
	struct rig r;

	(void)state;
	set_up(&r);
	expect(&r, "scalable-functions", true, "none");
	bwl_devlink_port_read(recorded_port(r.buf, 229377, DEVLINK_PORT_FLAVOUR_PCI_SF, 9, 0, 0),
			      &r.ports[3]);
	r.dpu.nports = 4;
	expect(&r, "scalable-functions", false, "1");
	assert_non_null(strstr(ask(&r, "scalable-functions").todo,
			       "devlink port del pci/0000:06:00.0/229377"));
}

static void modes_by_their_parameters(void **state)
{
	static const struct {
		const char *model, *engine, *description, *mode;
		bool works;
	} all[] = {
		{ "EMBEDDED_CPU(1)", "ENABLED(0)", "", "DPU", true },
		{ "", "ENABLED(0)", "", "DPU", true },
		{ "EMBEDDED_CPU(1)", "", "", "DPU", true },
		{ "EMBEDDED_CPU(1)", "DISABLED(1)", "", "NIC", false },
		{ "SEPARATED_HOST(0)", "ENABLED(0)", "", "separated host", false },
		{ "EMBEDDED_CPU(1)", "ENABLED(0)", "BlueField-3 Self-Hosted DPU", "self-hosted",
		  true },
		{ "SOMETHING(7)", "", "", "not told", false },
	};
	struct rig r;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
		set_up(&r);
		for (unsigned when = 0; when < 2; when++) {
			snprintf(r.dpu.config.model[when], 24, "%s", all[i].model);
			snprintf(r.dpu.config.engine[when], 24, "%s", all[i].engine);
		}
		snprintf(r.dpu.config.description, sizeof(r.dpu.config.description), "%s",
			 all[i].description);
		expect(&r, "dpu-mode", all[i].works, all[i].mode);
	}
}

static void a_mode_that_ends_with_the_next_boot_is_told(void **state)
{
	struct rig r;

	(void)state;
	set_up(&r);
	snprintf(r.dpu.config.engine[0], 24, "ENABLED(0)");
	snprintf(r.dpu.config.engine[1], 24, "DISABLED(1)");
	expect(&r, "dpu-mode", false, "DPU, next boot NIC");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(firmware_and_driver_are_told),
		cmocka_unit_test(firmware_that_waits_for_a_reset_is_told),
		cmocka_unit_test(what_is_not_told_does_not_work),
		cmocka_unit_test(a_function_without_a_device_is_missed),
		cmocka_unit_test(another_cards_functions_are_not_counted),
		cmocka_unit_test(a_scalable_function_is_another_way_out),
		cmocka_unit_test(modes_by_their_parameters),
		cmocka_unit_test(a_mode_that_ends_with_the_next_boot_is_told),
	};

	return cmocka_run_group_tests_name("probe of a DPU", tests, NULL, NULL);
}
