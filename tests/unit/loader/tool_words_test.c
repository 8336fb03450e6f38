// SPDX-License-Identifier: GPL-2.0-or-later
/* How recordings of the vendor's tools are read: tests/recordings/README.md. */
#include <stdio.h>
#include <stdlib.h>
#include "../test.h"
#include "loader/tool_words.h"

static char *recording(const char *name)
{
	static char text[16384];
	char path[512];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), RECORDINGS "/%s", name);
	f = fopen(path, "re");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	return text;
}

static void rights(const char *text, enum host_right level, enum host_right rshim,
		   enum host_right tracer, enum host_right owner, enum host_right counters)
{
	struct host_rights h;

	host_rights_read(text, &h);
	assert_int_equal(h.level, level);
	assert_int_equal(h.rshim, rshim);
	assert_int_equal(h.tracer, tracer);
	assert_int_equal(h.port_owner, owner);
	assert_int_equal(h.counters, counters);
}

static void a_host_as_it_comes_holds_everything(void **state)
{
	(void)state;
	rights(recording("mlxprivhost-privileged"), RIGHT_HELD, RIGHT_HELD, RIGHT_HELD, RIGHT_HELD,
	       RIGHT_HELD);
}

static void zero_trust_takes_everything(void **state)
{
	(void)state;
	rights(recording("mlxprivhost-restricted"), RIGHT_TAKEN, RIGHT_TAKEN, RIGHT_TAKEN,
	       RIGHT_TAKEN, RIGHT_TAKEN);
}

static void the_level_alone_leaves_rshim(void **state)
{
	(void)state;
	rights(recording("mlxprivhost-level-alone"), RIGHT_TAKEN, RIGHT_HELD, RIGHT_HELD,
	       RIGHT_HELD, RIGHT_HELD);
}

static void one_host_of_two_that_holds_a_right_decides(void **state)
{
	(void)state;
	rights(recording("mlxprivhost-full-two-hosts"), RIGHT_HELD, RIGHT_TAKEN, RIGHT_HELD,
	       RIGHT_HELD, RIGHT_HELD);
}

static void what_is_not_known_is_not_taken(void **state)
{
	(void)state;
	rights("", 0, 0, 0, 0, 0);
	rights(recording("mlxconfig-error"), 0, 0, 0, 0, 0);
	rights("level : RESTRICTED LIMITED\n", 0, 0, 0, 0, 0);
	rights("level : \ndisable_rshim TRUE\n", 0, 0, 0, 0, 0);
	rights("disable_rshim : TRUE\ndisable_rshim : FALSE\n", 0, RIGHT_HELD, 0, 0, 0);
}

static void config(const char *name, const char *type, const char *engine, const char *next)
{
	struct card_config c = { 0 };

	card_config_read(recording(name), &c);
	assert_string_equal(c.type, type);
	assert_string_equal(c.engine[0], engine);
	assert_string_equal(c.engine[1], next);
}

static void the_mode_now_and_after_the_next_boot(void **state)
{
	struct card_config c = { 0 };

	(void)state;
	config("mlxconfig-dpu", "BlueField3", "ENABLED(0)", "ENABLED(0)");
	config("mlxconfig-nic-after-boot", "BlueField3", "ENABLED(0)", "DISABLED(1)");
	config("mlxconfig-error", "", "", "");
	card_config_read(recording("mlxconfig-next-boot"), &c);
	assert_string_equal(c.description, "BlueField-3 P-Series DPU");
	assert_string_equal(c.model[0], "EMBEDDED_CPU(1)");
	card_config_read(recording("mlxconfig-dpu"), &c);
	assert_string_equal(c.model[1], "EMBEDDED_CPU(1)"); /* appended */
	assert_string_equal(c.engine[1], "ENABLED(0)");
}

static void bridges_with_quotes_and_without(void **state)
{
	char first[40];

	(void)state;
	assert_int_equal(ovs_bridges(recording("ovs-vsctl-show"), first, sizeof(first)), 2);
	assert_string_equal(first, "ovsbr2");
	assert_int_equal(ovs_bridges(recording("ovs-vsctl-show-quoted"), first, sizeof(first)), 3);
	assert_string_equal(first, "br1");
	assert_int_equal(ovs_bridges("6cd4\n    ovs_version: \"2.15.1\"\n", first, sizeof(first)),
			 0);
	assert_string_equal(first, "");
}

static void a_flow_is_a_line(void **state)
{
	(void)state;
	assert_int_equal(ovs_flows(recording("ovs-flows-offloaded")), 3);
	assert_int_equal(ovs_flows(""), 0);
}

static void the_unit_with_a_limit(void **state)
{
	char unit[40] = "";

	(void)state;
	assert_true(unit_limit(recording("systemctl-show-limited"), unit, sizeof(unit)));
	assert_string_equal(unit, "bwlimitd.service");
	assert_false(unit_limit("Id=a\nMemoryMax=infinity\n\nId=b\nMemoryMax=\n", unit, 40));
	assert_true(unit_limit("Id=a\nMemoryMax=1", unit, sizeof(unit)));
}

static void what_is_shown_on_a_terminal_is_printable(void **state)
{
	struct card_config c = { 0 };
	char first[40];

	(void)state;
	card_config_read("Description: a\033[2Jb\n", &c);
	assert_string_equal(c.description, "a?[2Jb");
	ovs_bridges("Bridge x\a\n", first, sizeof(first));
	assert_string_equal(first, "x?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_as_it_comes_holds_everything),
		cmocka_unit_test(zero_trust_takes_everything),
		cmocka_unit_test(the_level_alone_leaves_rshim),
		cmocka_unit_test(one_host_of_two_that_holds_a_right_decides),
		cmocka_unit_test(what_is_not_known_is_not_taken),
		cmocka_unit_test(the_mode_now_and_after_the_next_boot),
		cmocka_unit_test(bridges_with_quotes_and_without),
		cmocka_unit_test(a_flow_is_a_line),
		cmocka_unit_test(the_unit_with_a_limit),
		cmocka_unit_test(what_is_shown_on_a_terminal_is_printable),
	};

	return cmocka_run_group_tests_name("tool words", tests, NULL, NULL);
}
