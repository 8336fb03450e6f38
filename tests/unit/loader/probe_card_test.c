// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * probe's report on a BlueField-3, from netlink messages to text. It uses recordings
 * (tests/harness/recordings.h), because no such card is available.
 */
#include <stdio.h>
#include "../test.h"
#include "tests/harness/recordings.h"
#include "loader/probe_card.h"

#define UPLINK 3U
#define HOST 4U

static struct bwl_netdev p0 = { .ifindex = UPLINK, .name = "p0" };
static struct bwl_netdev pf0hpf = { .ifindex = HOST, .name = "pf0hpf" };

/* A good card: everything works. */
struct card {
	char buf[RECORDING_BYTES];
	struct bwl_devlink_port all[3];
	struct probe_port p;
};

static void add_port(struct card *c, unsigned i, uint16_t flavour, uint32_t ifindex, uint32_t caps,
		     uint32_t told)
{
	bwl_devlink_port_read(recorded_port(c->buf, i, flavour, ifindex, caps, told), &c->all[i]);
}

static void good_card(struct card *c, enum probe_kind kind)
{
	*c = (struct card){ 0 };
	add_port(c, 0, DEVLINK_PORT_FLAVOUR_PHYSICAL, UPLINK, 0, 0);
	add_port(c, 1, DEVLINK_PORT_FLAVOUR_PCI_PF, HOST, 1, 1 | 4 | 8);
	add_port(c, 2, DEVLINK_PORT_FLAVOUR_PCI_VF, 0, 1, 1 | 4 | 8);
	c->p = (struct probe_port){ .dev = kind == PROBE_UPLINK ? &p0 : &pf0hpf,
				    .kind = kind,
				    .self = &c->all[kind == PROBE_UPLINK ? 0 : 1],
				    .all = c->all,
				    .nall = 3,
				    .tc = BWL_OFFERED_ON,
				    .esp = BWL_OFFERED_ON,
				    .cpus = 16,
				    .first_of_card = true };
	bwl_eswitch_read(recorded_eswitch(c->buf, DEVLINK_ESWITCH_MODE_SWITCHDEV,
					  DEVLINK_ESWITCH_ENCAP_MODE_NONE),
			 &c->p.eswitch);
	bwl_devlink_param_read(recorded_steering(c->buf, "dmfs", NULL), c->p.steering);
	bwl_channels_read(recorded_channels(c->buf, 16, 16), &c->p.channels);
}

static struct probe_answer ask(const struct card *c, const char *id)
{
	const struct probe_question *q = probe_card_questions;
	struct probe_answer a = { 0 };

	while (q->id && strcmp(q->id, id))
		q++;
	assert_non_null(q->id);
	assert_true(*q->text && *q->without && *q->todo);
	q->ask(&c->p, q->with, &a);
	return a;
}

static void expect(const struct card *c, const char *id, bool works, const char *answer,
		   const char *todo)
{
	struct probe_answer a = ask(c, id);

	assert_int_equal(a.works, works);
	assert_string_equal(a.answer, answer);
	if (!works)
		assert_string_equal(a.todo, todo);
}

static void a_card_as_it_should_be_has_everything(void **state)
{
	const struct probe_question *q;
	struct probe_answer a;
	struct card c;

	(void)state;
	good_card(&c, PROBE_UPLINK);
	for (q = probe_card_questions; q->id; q++) {
		a = ask(&c, q->id);
		if (!a.works)
			fail_msg("%s: %s", q->id, a.answer);
	}
	expect(&c, "eswitch-mode", true, "switchdev", "");
	expect(&c, "flow-steering", true, "dmfs", "");
	expect(&c, "ipsec-functions", true, "off", "");
	expect(&c, "queues", true, "16 of 16", "");
}

static void a_card_in_legacy_mode_says_the_step_to_switchdev(void **state)
{
	struct card c;

	(void)state;
	good_card(&c, PROBE_UPLINK);
	bwl_eswitch_read(recorded_eswitch(c.buf, DEVLINK_ESWITCH_MODE_LEGACY,
					  DEVLINK_ESWITCH_ENCAP_MODE_BASIC),
			 &c.p.eswitch);
	expect(&c, "eswitch-mode", false, "legacy",
	       "devlink dev eswitch set pci/0000:06:00.0 mode switchdev");
	expect(&c, "eswitch-encap", false, "basic",
	       "before the first SA is installed: devlink dev eswitch set pci/0000:06:00.0 encap-mode none");
	bwl_eswitch_read(recorded_eswitch(c.buf, 77, 77), &c.p.eswitch);
	expect(&c, "eswitch-mode", false, "unknown",
	       "devlink dev eswitch set pci/0000:06:00.0 mode switchdev");
}

static void steering_is_what_holds_now_not_after_a_reload(void **state)
{
	struct card c;

	(void)state;
	good_card(&c, PROBE_UPLINK);
	bwl_devlink_param_read(recorded_steering(c.buf, "smfs", "dmfs"), c.p.steering);
	expect(&c, "flow-steering", false, "smfs",
	       "in legacy mode, before switchdev: devlink dev param set pci/0000:06:00.0 name flow_steering_mode value dmfs cmode runtime");
}

static void one_function_with_ipsec_is_enough_to_bar_it(void **state)
{
	struct card c;

	(void)state;
	good_card(&c, PROBE_UPLINK);
	add_port(&c, 2, DEVLINK_PORT_FLAVOUR_PCI_VF, 0, 1 | 8, 1 | 4 | 8);
	expect(&c, "ipsec-functions", false, "on",
	       "devlink port function set pci/0000:06:00.0/2 ipsec_packet disable");
	add_port(&c, 2, DEVLINK_PORT_FLAVOUR_PCI_VF, 0, 1 | 4, 1 | 4 | 8);
	expect(&c, "ipsec-functions", false, "on",
	       "devlink port function set pci/0000:06:00.0/2 ipsec_crypto disable");
	/* a port of the card's other PCI function, and a port of another card */
	snprintf(c.all[2].card, sizeof(c.all[2].card), "pci/0000:06:00.1");
	assert_string_equal(ask(&c, "ipsec-functions").answer, "on");
	snprintf(c.all[2].card, sizeof(c.all[2].card), "pci/0000:07:00.0");
	assert_string_equal(ask(&c, "ipsec-functions").answer, "off");
}

static void a_bit_that_the_driver_does_not_tell_of_is_not_off(void **state)
{
	struct card c;

	(void)state;
	good_card(&c, PROBE_UPLINK);
	add_port(&c, 1, DEVLINK_PORT_FLAVOUR_PCI_PF, HOST, 1, 1); /* only roce, before 6.6 */
	add_port(&c, 2, DEVLINK_PORT_FLAVOUR_PCI_VF, 0, 0, 0);
	expect(&c, "ipsec-functions", false, "not offered", "");
}

static void one_queue_for_sixteen_cpus_says_what_to_type(void **state)
{
	struct card c;

	(void)state;
	good_card(&c, PROBE_HOST);
	bwl_channels_read(recorded_channels(c.buf, 1, 16), &c.p.channels);
	expect(&c, "queues", false, "1 of 16", "ethtool -L pf0hpf combined 16");
	bwl_channels_read(recorded_channels(c.buf, 1, 8), &c.p.channels);
	expect(&c, "queues", false, "1 of 16", "ethtool -L pf0hpf combined 8");
	bwl_channels_read(recorded_channels(c.buf, 8, 8), &c.p.channels);
	expect(&c, "queues", false, "8 of 16",
	       "the driver has no more: keep its interrupts on as many CPUs as it has queues");
	c.p.channels = (struct bwl_channels){ 0 };
	expect(&c, "queues", false, "not offered", "");
}

static void a_feature_is_on_off_or_not_offered(void **state)
{
	struct bwl_offer f[] = { { .name = "hw-tc-offload" }, { .name = "esp-hw-offload" } };
	static const char *const can[] = { "hw-tc-offload", "rx-checksum", NULL };
	static const char *const on[] = { "esp-hw-offload", NULL };
	static const char *const none[] = { NULL };
	struct nlmsghdr *h;
	struct card c;

	(void)state;
	good_card(&c, PROBE_UPLINK);
	bwl_features_read(recorded_features(c.buf, can, on), f, 2);
	assert_int_equal(f[0].is, BWL_OFFERED_OFF);
	assert_int_equal(f[1].is, BWL_OFFERED_ON); /* fixed */
	c.p.tc = f[0].is;
	expect(&c, "tc-offload", false, "off", "ethtool -K p0 hw-tc-offload on");
	bwl_features_read(recorded_features(c.buf, none, none), f, 2);
	assert_int_equal(f[0].is, BWL_NOT_OFFERED);
	c.p.esp = f[1].is;
	expect(&c, "esp-offload", false, "not offered", "");
	/* with a mask, a listed bit may be 0 */
	h = recording(c.buf, ETHTOOL_MSG_FEATURES_GET_REPLY);
	recorded_bits(h, ETHTOOL_A_FEATURES_ACTIVE, on, true);
	bwl_features_read(h, f, 2);
	assert_int_equal(f[1].is, BWL_NOT_OFFERED);
}

static void a_port_that_devlink_does_not_know_is_not_told_of(void **state)
{
	static const char *const ids[] = { "eswitch-mode", "eswitch-encap", "flow-steering",
					   "ipsec-functions" };
	struct probe_answer a;
	struct card c;
	size_t i;

	(void)state;
	good_card(&c, PROBE_UPLINK);
	c.p.self = NULL;
	c.p.eswitch = (struct bwl_eswitch){ 0 };
	*c.p.steering = '\0';
	for (i = 0; i < 4; i++) {
		a = ask(&c, ids[i]);
		assert_false(a.works);
		assert_string_equal(a.answer, "not offered");
		assert_non_null(a.without);
	}
}

static void functions_of_one_device_are_one_card(void **state)
{
	(void)state;
	assert_true(probe_card_same("pci/0000:03:00.0", "pci/0000:03:00.1"));
	assert_false(probe_card_same("pci/0000:03:00.0", "pci/0000:04:00.0"));
	assert_false(probe_card_same("pci/0000:03:00.0", "pci/0000:03:001.0"));
	assert_true(probe_card_same("netdevsim/netdevsim1", "netdevsim/netdevsim1"));
	assert_false(probe_card_same("netdevsim/netdevsim1", "netdevsim/netdevsim10"));
	assert_false(probe_card_same("", ""));
}

static void the_kernels_words_are_one_plain_line(void **state)
{
	char buf[RECORDING_BYTES] = { 0 }, said[BWL_NL_SAID] = "", words[400];

	(void)state;
	bwl_nl_said_read(recorded_error(buf, "mlx5_core: in use\n\033[2J", false), said);
	assert_string_equal(said, "mlx5_core: in use??[2J");
	bwl_nl_said_read(recorded_error(buf, "short", true), said);
	assert_string_equal(said, "short");
	memset(words, 'x', sizeof(words));
	words[sizeof(words) - 1] = '\0';
	bwl_nl_said_read(recorded_error(buf, words, true), said);
	assert_int_equal(strlen(said), BWL_NL_SAID - 1);
	/* not an error: the earlier text stays */
	bwl_nl_said_read(recorded_eswitch(buf, 1, 1), said);
	assert_int_equal(said[0], 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_card_as_it_should_be_has_everything),
		cmocka_unit_test(a_card_in_legacy_mode_says_the_step_to_switchdev),
		cmocka_unit_test(steering_is_what_holds_now_not_after_a_reload),
		cmocka_unit_test(one_function_with_ipsec_is_enough_to_bar_it),
		cmocka_unit_test(a_bit_that_the_driver_does_not_tell_of_is_not_off),
		cmocka_unit_test(one_queue_for_sixteen_cpus_says_what_to_type),
		cmocka_unit_test(a_feature_is_on_off_or_not_offered),
		cmocka_unit_test(a_port_that_devlink_does_not_know_is_not_told_of),
		cmocka_unit_test(functions_of_one_device_are_one_card),
		cmocka_unit_test(the_kernels_words_are_one_plain_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
