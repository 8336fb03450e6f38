// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tunnel device's programs on a kernel without the kfuncs of xfrm interfaces (before 6.2): a
 * plain interface, and marks that identify the SA's peer. With if_ids: tests/vm.
 */
#include "gate.h"

#define POLICY                                                                                     \
	PORTS                                                                                      \
	"heartbeat: none\npeers:\n"                                                                \
	"  - { name: a, addresses: [10.3.0.0/24, 'fd00:3::/64'], ipsec: { remote: 192.0.2.9 },"    \
	" grant: { rate: 1gbit }, accept: { rate: 1mbit, burst: 3kb } }\n"                         \
	"  - { name: b, addresses: [10.4.0.0/24], ipsec: { remote: 192.0.2.10 },"                  \
	" grant: { rate: 1gbit } }\n"                                                              \
	"  - { name: open, addresses: [10.1.0.1], path: clear, via: 192.0.2.1,"                    \
	" grant: { rate: 1gbit } }\n"
#define FROM_A "eth ip4 src=10.3.0.1 dst=10.0.7.2 udp fill=100"
#define ESP_TO_A "eth ip4 src=192.0.2.2 dst=192.0.2.9 type=50 fill=60"

static int plain_setup(void **state)
{
	static const struct rig_opts plain = { .plain_tunnel = true };
	uint32_t i;

	(void)state;
	rig = rig_open(&plain);
	runs = 0;
	apply(POLICY);
	rig_advance(RIG_SECOND);
	for (i = 1; i < 4; i++)
		rig->pins->tunnel[i].flags = BWL_TUN_SA | BWL_TUN_SA_IN;
	return 0;
}
#define PLAIN_TEST(f) cmocka_unit_test_setup_teardown(f, plain_setup, rig_teardown)

static const char *in(uint32_t mark, const char *spec)
{
	return judge(&(struct rig_packet){ .prog = RIG_TUNIN,
					   .port = RIG_P1,
					   .spec = spec,
					   .mark = mark },
		     NULL);
}

static const char *out(uint32_t mark, uint32_t id, struct rig_result *r)
{
	return judge(&(struct rig_packet){ .prog = RIG_TUNOUT,
					   .port = RIG_P1,
					   .spec = "eth ip4 src=10.0.7.2 dst=10.3.0.1 udp",
					   .ingress = RIG_H0,
					   .mark = mark,
					   .priority = id },
		     r);
}

static void what_is_decrypted_is_its_peers_whose_sa_marked_it(void **state)
{
	(void)state;
	assert_string_equal(in(id_of("a"), FROM_A), "pass-accept");
	assert_string_equal(in(id_of("b"), FROM_A), "tunnel-source");
	assert_string_equal(in(0, FROM_A), "no-sa"); /* an SA that sets no mark */
	assert_string_equal(in(id_of("open"), "eth ip4 src=10.1.0.1 dst=10.0.7.2 udp"), "no-sa");
	assert_string_equal(in(id_of("a"), "eth ip6 src=::ffff:10.3.0.1 dst=fd00:7::2 udp"),
			    "source-address");
	assert_string_equal(in(id_of("a"), "eth ip6 src=fd00:3::1 dst=::ffff:10.0.7.2 udp"),
			    "local-protocol");
	assert_string_equal(in(200, FROM_A), "no-sa"); /* no peer has this id */
	assert_string_equal(in(BWL_MARK_ID, FROM_A), "no-sa");
	assert_string_equal(in(id_of("a"), "eth ip4 src=10.3.0.1 dst=10.9.9.9 udp"), "uplink-in");
}

static void what_came_by_an_sa_that_is_not_the_peers_any_more_is_dropped(void **state)
{
	(void)state;
	rig->pins->tunnel[id_of("a")].flags = BWL_TUN_SA;
	assert_string_equal(in(id_of("a"), FROM_A), "no-sa");
	rig->pins->tunnel[id_of("a")].flags = BWL_TUN_SA_IN;
	assert_string_equal(in(id_of("a"), FROM_A), "pass-accept");
}

/*
 * A tunnel device does not show where a packet came in: the mark shows that the DPU did not make
 * it.
 */
static void what_has_a_mark_of_ours_is_not_the_dpus_own(void **state)
{
	static const char natt[] =
		"eth ip4 src=192.0.2.2 dst=192.0.2.9 udp sport=4500 dport=4500 fill=60";

	(void)state;
	assert_string_equal(gate(natt), "pass-ike");
	assert_string_equal(at_gate(natt, RIG_NOWHERE, esp_mark("a")), "pass-esp");
	assert_string_equal(at_gate(natt, RIG_NOWHERE, esp_mark("b")), "gate");
}

static void what_is_decrypted_is_charged_to_accept(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 40 && !strcmp(in(id_of("a"), FROM_A), "pass-accept"); i++)
		;
	assert_in_range(i, 3000 / (14 + 28 + 100), 3000 / (14 + 28 + 100) + 1);
	assert_string_equal(in(id_of("a"), FROM_A), "accept-rate");
}

static void what_was_charged_gets_the_mark_of_its_peers_sa(void **state)
{
	static struct rig_result r;
	uint32_t tag = rig->pins->ctl->tag;

	(void)state;
	assert_string_equal(out(tag, id_of("a"), &r), "pass-gate");
	assert_int_equal(r.mark, esp_mark("a"));
	assert_int_equal(r.priority, 0); /* fq would read it */
	assert_string_equal(out(tag, id_of("b"), &r), "pass-gate");
	assert_int_equal(r.mark, esp_mark("b"));
	assert_string_equal(out(tag, 0, NULL), "gate"); /* no peer was charged */
	assert_string_equal(out(0, id_of("a"), NULL), "gate");
	assert_string_equal(out(esp_mark("a"), id_of("a"), NULL), "gate");
	rig->pins->ctl->stop = BWL_STOPPED;
	assert_string_equal(out(tag, id_of("a"), NULL), "stop");
	rig->pins->ctl->stop = BWL_RUN;
}

/* A mark that the host or another program could have set is not enough, nor is another peer's. */
static void the_last_gate_lets_out_esp_with_the_mark_of_its_own_peer_only(void **state)
{
	(void)state;
	assert_string_equal(at_gate(ESP_TO_A, RIG_H0, esp_mark("a")), "pass-esp");
	assert_string_equal(at_gate(ESP_TO_A, RIG_H0, esp_mark("b")), "gate");
	assert_string_equal(at_gate(ESP_TO_A, RIG_H0, id_of("a")), "gate");
	assert_string_equal(at_gate(ESP_TO_A, RIG_H0, 0), "gate");
	/* in the clear: neither by this mark nor by the tag */
	assert_string_equal(at_gate("eth ip4 src=10.0.7.2 dst=10.3.0.1 udp", RIG_H0, esp_mark("a")),
			    "gate");
	assert_string_equal(at_gate("eth ip4 src=10.0.7.2 dst=10.3.0.1 udp", RIG_H0,
				    rig->pins->ctl->tag),
			    "gate");
	assert_string_equal(at_gate("eth ip4 src=10.0.7.2 dst=10.1.0.1 udp", RIG_H0,
				    rig->pins->ctl->tag),
			    "pass-gate");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAIN_TEST(what_is_decrypted_is_its_peers_whose_sa_marked_it),
		PLAIN_TEST(what_came_by_an_sa_that_is_not_the_peers_any_more_is_dropped),
		PLAIN_TEST(what_has_a_mark_of_ours_is_not_the_dpus_own),
		PLAIN_TEST(what_is_decrypted_is_charged_to_accept),
		PLAIN_TEST(what_was_charged_gets_the_mark_of_its_peers_sa),
		PLAIN_TEST(the_last_gate_lets_out_esp_with_the_mark_of_its_own_peer_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
