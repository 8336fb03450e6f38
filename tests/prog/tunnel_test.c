// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Encrypted peers at the host port and at both sides of the uplink: promise 5 as far as it can be
 * shown without SAs. The tunnel device's own programs: tunnel_mark_test.c and tests/vm.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include "gate.h"

#define POLICY                                                                                     \
	PORTS                                                                                      \
	"heartbeat: none\npeers:\n"                                                                \
	"  - { name: sealed, addresses: [10.3.0.1, 'fd00:3::1'], ipsec: { remote: 192.0.2.9 },"    \
	" grant: { rate: 1gbit } }\n"                                                              \
	"  - { name: six, addresses: [10.6.0.1], ipsec: { remote: '2001:db8::6' },"                \
	" grant: { rate: 1gbit } }\n"                                                              \
	"  - { name: open, addresses: [10.1.0.1], path: clear, via: 192.0.2.1,"                    \
	" grant: { rate: 1gbit } }\n"
#define TUNNEL_IFINDEX 4242U

/* What the tracker of SAs and the loader would write. */
static void policy_with_sa(void)
{
	apply(POLICY);
	rig_advance(RIG_SECOND);
	rig->pins->ctl->tunnel = TUNNEL_IFINDEX;
	rig->pins->tunnel[id_of("sealed")].flags = BWL_TUN_SA;
}

static const char *sealed_gate(const char *spec)
{
	return at_gate(spec, RIG_NOWHERE, esp_mark("sealed"));
}
static const char *six_gate(const char *spec)
{
	return at_gate(spec, RIG_NOWHERE, esp_mark("six"));
}
static const char *open_gate(const char *spec)
{
	return at_gate(spec, RIG_NOWHERE, esp_mark("open"));
}

#define TO_SEALED "ip4 src=10.0.7.2 dst=10.3.0.1 udp"

static void without_an_sa_no_packet_of_an_encrypted_peer_passes(void **state)
{
	(void)state;
	apply(POLICY);
	rig_advance(RIG_SECOND);
	assert_string_equal(host("eth " TO_SEALED), "no-sa");
	rig->pins->tunnel[id_of("sealed")].flags = BWL_TUN_SA;
	assert_string_equal(host("eth " TO_SEALED), "no-sa"); /* no tunnel device */
	rig->pins->ctl->tunnel = TUNNEL_IFINDEX;
	assert_string_equal(host("eth " TO_SEALED), "pass");
	assert_string_equal(host("eth ip4 src=10.0.7.2 dst=10.6.0.1 udp"), "no-sa");
	rig->pins->tunnel[id_of("sealed")].flags = BWL_TUN_SA_IN;
	assert_string_equal(host("eth " TO_SEALED), "no-sa");
}

static void what_is_to_be_encrypted_is_charged_and_tagged(void **state)
{
	struct rig_packet k = { .prog = RIG_HOST,
				.port = RIG_H0,
				.spec = "eth " TO_SEALED " fill=100" };
	static struct rig_result r;

	(void)state;
	policy_with_sa();
	assert_string_equal(judge(&k, &r), "pass");
	assert_int_equal(r.mark, rig->pins->ctl->tag);
	assert_int_equal(r.priority, id_of("sealed")); /* the tunnel device reads it */
	assert_int_equal(r.charged, 14 + 20 + 8 + 100);
}

/* The outer header would carry 20 bits chosen by the host. */
static void the_flow_label_of_the_host_does_not_reach_the_wire(void **state)
{
	uint8_t frame[ETH_HLEN + 48] = { 2,    0,    0, 0, 0,           9,    2,    0,
					 0,    0,    0, 1, 0x86,        0xdd, 0x6a, 0xbc,
					 0xde, 0xf1, 0, 8, IPPROTO_UDP, 64 };
	struct rig_packet k = {
		.prog = RIG_HOST, .port = RIG_H0, .data = frame, .len = sizeof(frame)
	};
	static struct rig_result r;

	(void)state;
	policy_with_sa();
	inet_pton(AF_INET6, "fd00:7::2", frame + ETH_HLEN + 8);
	inet_pton(AF_INET6, "fd00:3::1", frame + ETH_HLEN + 24);
	frame[ETH_HLEN + 40 + 5] = 8; /* UDP length */
	assert_string_equal(judge(&k, &r), "pass");
	assert_memory_equal(r.data + ETH_HLEN, "\x6a\xb0\x00\x00", 4); /* class kept, label gone */
}

static void esp_and_ike_come_only_from_the_dpu_of_a_peer(void **state)
{
	(void)state;
	policy_with_sa();
	EXPECT(uplink, { "eth ip4 src=192.0.2.9 dst=192.0.2.2 type=50 fill=60", "pass-esp" },
	       { "eth ip6 src=2001:db8::6 dst=2001:db8::2 type=50 fill=60", "pass-esp" },
	       { "eth ip4 src=192.0.2.9 dst=192.0.2.2 type=50 mf=1 fill=64", "pass-esp" },
	       { "eth ip4 src=192.0.2.9 dst=192.0.2.2 udp sport=500 dport=500 fill=60",
		 "pass-ike" },
	       { "eth ip4 src=192.0.2.9 dst=192.0.2.2 udp sport=4500 dport=4500 fill=60",
		 "pass-ike" },
	       { "eth ip4 src=192.0.2.8 dst=192.0.2.2 type=50 fill=60", "uplink-in" },
	       { "eth ip4 src=192.0.2.8 dst=192.0.2.2 udp sport=500 dport=500", "uplink-in" },
	       { "eth ip4 src=192.0.2.9 dst=192.0.2.2 udp sport=500 dport=53", "uplink-in" },
	       { "eth ip4 src=192.0.2.9 dst=192.0.2.2 mf=1 udp sport=500 dport=500 fill=8",
		 "uplink-in" },
	       { "eth ip4 src=192.0.2.9 dst=192.0.2.2 tcp dport=22", "uplink-in" },
	       { "eth ip4 src=192.0.2.9 dst=192.0.2.2 icmp kind=8", "uplink-in" },
	       /* To a host, in the clear. */
	       { "eth ip4 src=192.0.2.9 dst=10.0.7.2 type=50 fill=60", "uplink-in" },
	       { "eth ip4 src=192.0.2.9 dst=10.0.7.2 udp sport=500 dport=500", "uplink-in" },
	       /* An encrypted peer's own address, in the clear. */
	       { "eth ip4 src=10.3.0.1 dst=10.0.7.2 udp", "no-sa" });
}

#define IKE4 "eth ip4 src=192.0.2.9 dst=192.0.2.2 udp sport=500 dport=500 fill=60"
#define IKE6 "eth ip6 src=2001:db8::6 dst=2001:db8::2 udp sport=500 dport=500 fill=60"
#define NATT "eth ip4 src=192.0.2.9 dst=192.0.2.2 udp sport=4500 dport=4500 "

static void a_flood_of_ike_in_the_name_of_a_peer_ends_at_that_peers_limit(void **state)
{
	unsigned i, passed = 0;

	(void)state;
	policy_with_sa();
	for (i = 0; i < 64; i++)
		assert_string_equal(uplink(i & 1 ? NATT "hex=00000000 fill=60" : IKE4), "pass-ike");
	assert_string_equal(uplink(IKE4), "ike-rate");
	assert_string_equal(uplink(NATT "hex=00000000 fill=60"), "ike-rate");
	/* Other peers keep their limit, and a packet with an SPI is ESP. */
	assert_string_equal(uplink(IKE6), "pass-ike");
	assert_string_equal(uplink(NATT "hex=00001001 fill=60"), "pass-ike");
	assert_string_equal(uplink("eth ip4 src=192.0.2.9 dst=192.0.2.2 type=50 fill=60"),
			    "pass-esp");
	/* 64 per second, however many arrive. */
	for (i = 0; i < 10 * 256; i++) {
		rig_advance(RIG_SECOND / 256);
		passed += !strcmp(uplink(IKE4), "pass-ike");
	}
	assert_in_range(passed, 639, 641);
	rig_advance(3600 * RIG_SECOND);
	for (passed = i = 0; i < 200; i++)
		passed += !strcmp(uplink(IKE4), "pass-ike");
	assert_int_equal(passed, 64); /* an idle hour adds nothing to the burst */
}

/* IKE: both SPIs, next payload, version, exchange, flags; the rest does not matter. */
#define FROM(port) "eth ip4 src=192.0.2.9 dst=192.0.2.2 udp sport=" #port " dport=" #port " hex="
#define TO(port) "eth ip4 src=192.0.2.2 dst=192.0.2.9 udp sport=" #port " dport=" #port " hex="
#define SPIS                                                                                       \
	"1111111111111111"                                                                         \
	"2222222222222222"
#define CREATE_CHILD                                                                               \
	SPIS "2e202400"                                                                            \
	     " fill=40"
#define AUTH                                                                                       \
	SPIS "2e202300"                                                                            \
	     " fill=40"

static void flooded(void)
{
	unsigned i;

	for (i = 0; i < 100; i++)
		uplink(IKE4);
	assert_string_equal(uplink(IKE4), "ike-rate");
}

static void a_flood_of_ike_does_not_keep_out_an_ike_sa_by_which_charon_has_sent(void **state)
{
	unsigned i;

	(void)state;
	policy_with_sa();
	flooded();
	assert_string_equal(uplink(FROM(500) CREATE_CHILD), "ike-rate"); /* not yet */
	assert_string_equal(gate(TO(500) CREATE_CHILD), "pass-ike");
	assert_string_equal(uplink(FROM(500) CREATE_CHILD), "pass-ike");
	assert_string_equal(uplink(FROM(4500) "00000000" CREATE_CHILD), "pass-ike");
	assert_string_equal(uplink(FROM(500) AUTH), "pass-ike"); /* its SPIs are enough */
	/* Too short for ESP, so the kernel passes it to charon: it is counted. */
	assert_string_equal(uplink(FROM(4500) "0102030405060708"), "ike-rate");
	assert_string_equal(uplink(FROM(4500) "010203040506070809"), "pass-ike");
	/* Other SPIs, either of them, and a frame that ends before them. */
	assert_string_equal(uplink(FROM(500) "111111111111111222222222222222222e202400 fill=40"),
			    "ike-rate");
	assert_string_equal(uplink(FROM(500) "111111111111111122222222222222232e202400 fill=40"),
			    "ike-rate");
	assert_string_equal(uplink(FROM(500) "1111111111111111"), "ike-rate");
	assert_string_equal(uplink(FROM(4500) CREATE_CHILD), "pass-ike"); /* no marker: ESP */
	/* It has a limit, too, and does not touch the other one. */
	for (i = 0; i < 64; i++)
		uplink(FROM(500) CREATE_CHILD);
	assert_string_equal(uplink(FROM(500) CREATE_CHILD), "ike-rate");
	rig_advance(RIG_SECOND);
	assert_string_equal(uplink(IKE4), "pass-ike");
	/* charon sends with another one: now that one counts. */
	flooded();
	assert_string_equal(
		gate(TO(4500) "000000003333333333333333444444444444444435202508 fill=40"),
		"pass-ike");
	assert_string_equal(uplink(FROM(500) "333333333333333344444444444444442e202520 fill=40"),
			    "pass-ike");
	assert_string_equal(uplink(FROM(500) CREATE_CHILD), "ike-rate");
}

/* charon's answers to unauthenticated senders make no SA known. */
static void nobody_makes_an_ike_sa_known_by_what_charon_answers_him(void **state)
{
	static const char *const answers[] = {
		TO(500) SPIS "21202220 fill=40", /* IKE_SA_INIT */
		TO(500) AUTH,                    /* authentication failed */
		TO(500) SPIS "29202520 fill=40", /* INFORMATIONAL in the clear: a notification */
		TO(500) SPIS "2e102500 fill=40", /* of another version */
		TO(500) "111111111111111100000000000000002e202400 fill=40",
		TO(500) "1111111111111111",
	};

	(void)state;
	policy_with_sa();
	flooded();
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		assert_string_equal(gate(answers[i]), "pass-ike");
		if (strcmp(uplink(FROM(500) CREATE_CHILD), "ike-rate"))
			fail_msg("known by '%s'", answers[i]);
	}
	assert_string_equal(uplink(FROM(500) "111111111111111100000000000000002e202400 fill=40"),
			    "ike-rate");
	/* Nor does what a host sends, which is stopped. */
	assert_string_equal(tagged_gate(TO(500) CREATE_CHILD), "gate");
	assert_string_equal(uplink(FROM(500) CREATE_CHILD), "ike-rate");
	assert_string_equal(gate(TO(500) CREATE_CHILD), "pass-ike");
	assert_string_equal(uplink(FROM(500) CREATE_CHILD), "pass-ike");
}

static void the_last_gate_lets_out_esp_that_was_charged_and_ike_of_the_dpu(void **state)
{
	(void)state;
	policy_with_sa();
	EXPECT(sealed_gate, { "eth ip4 src=192.0.2.2 dst=192.0.2.9 type=50 fill=60", "pass-esp" },
	       { "eth ip4 src=192.0.2.2 dst=192.0.2.9 udp sport=4500 dport=4500 fill=60",
		 "pass-esp" },
	       { "eth ip6 src=2001:db8::2 dst=2001:db8::6 type=50 fill=60",
		 "gate" },                                                        /* another's */
	       { "eth ip4 src=192.0.2.2 dst=192.0.2.8 type=50 fill=60", "gate" }, /* no peer's */
	       { "eth ip4 src=192.0.2.2 dst=192.0.2.9 udp dport=9 fill=60", "gate" },
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 udp", "gate" });
	EXPECT(six_gate, { "eth ip6 src=2001:db8::2 dst=2001:db8::6 type=50 fill=60", "pass-esp" },
	       { "eth ip6 src=2001:db8::2 dst=2001:db8::7 type=50 fill=60", "gate" },
	       { "eth ip4 src=192.0.2.2 dst=192.0.2.9 type=50 fill=60", "gate" });
	/* A clear peer's next hop is not a peer's DPU. */
	EXPECT(open_gate, { "eth ip4 src=192.0.2.2 dst=192.0.2.1 type=50 fill=60", "gate" });
	EXPECT(tagged_gate, { "eth ip4 src=192.0.2.2 dst=192.0.2.9 type=50 fill=60", "gate" },
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 udp", "pass-gate" },
	       { "eth ip4 src=192.0.2.2 dst=192.0.2.8 type=50 fill=60", "gate" },
	       { "eth ip4 src=192.0.2.2 dst=192.0.2.9 udp sport=500 dport=500", "gate" },
	       /* The SA was removed between the charge and here: never in the clear. */
	       { "eth " TO_SEALED, "gate" },
	       { "eth ip4 src=10.0.7.2 dst=10.3.0.1 type=50 fill=60", "gate" });
	EXPECT(gate,
	       { "eth ip4 src=192.0.2.2 dst=192.0.2.9 udp sport=500 dport=500 fill=60",
		 "pass-ike" },
	       { "eth ip4 src=192.0.2.2 dst=192.0.2.9 udp sport=4500 dport=4500 fill=60",
		 "pass-ike" },
	       { "eth ip4 src=192.0.2.2 dst=192.0.2.8 udp sport=500 dport=500 fill=60", "gate" },
	       { "eth ip4 src=192.0.2.2 dst=192.0.2.9 type=50 fill=60", "gate" }, /* not charged */
	       { "eth ip4 src=192.0.2.2 dst=192.0.2.9 tcp dport=22", "gate" });
	EXPECT(forwarded_gate,
	       { "eth ip4 src=192.0.2.2 dst=192.0.2.9 udp sport=500 dport=500 fill=60", "gate" },
	       { "eth ip4 src=192.0.2.2 dst=192.0.2.9 type=50 fill=60", "gate" });
}

/*
 * In both families: to the routers of the link, after a router alert; and what is different from
 * that.
 */
#define MLD "eth dst=33:33:00:00:00:16 ip6 src=fe80::1 dst=ff02::16 hop=1"
#define ALERT6 " ext kind=0 size=8 icmp kind=143"
#define IGMP "eth dst=01:00:5e:00:00:16 ip4 src=192.0.2.2 dst=224.0.0.22 ttl=1"
#define ALERT4 " opt=94040000 igmp kind=34"

static void a_report_of_groups_stops_at_the_gate_and_is_no_sign_of_cleartext(void **state)
{
	(void)state;
	policy_with_sa();
	EXPECT(gate, { MLD ALERT6, "local-protocol" },
	       { "eth dst=33:33:00:00:00:16 ip6 src=:: dst=ff02::16 hop=1" ALERT6,
		 "local-protocol" },
	       { IGMP ALERT4, "local-protocol" },
	       /* of another protocol, without the alert, to or from another address */
	       { MLD " ext kind=0 size=8 udp", "gate" }, { MLD " icmp kind=143", "gate" },
	       { IGMP " opt=94040000 udp", "gate" }, { IGMP " igmp kind=34", "gate" },
	       { "eth dst=33:33:00:00:00:16 ip6 src=fd00:7::2 dst=ff02::16 hop=1" ALERT6, "gate" },
	       { "eth dst=33:33:00:00:00:16 ip6 src=fe80::1 dst=ff02::17 hop=1" ALERT6, "gate" },
	       { "eth dst=33:33:00:00:00:16 ip6 src=fe80::1 dst=ff05::16 hop=1" ALERT6, "gate" },
	       { "eth ip6 src=fe80::1 dst=ff02::16 hop=1" ALERT6, "gate" },
	       { "eth dst=01:00:5e:00:00:16 ip4 src=192.0.2.2 dst=10.3.0.1 ttl=1" ALERT4, "gate" },
	       { "eth ip4 src=192.0.2.2 dst=224.0.0.22 ttl=1" ALERT4, "gate" });
	assert_int_equal(stopped("sealed"), 1);
	/* A host's, whether charged or not. */
	EXPECT(forwarded_gate, { MLD ALERT6, "gate" }, { IGMP ALERT4, "gate" });
	EXPECT(tagged_gate, { MLD ALERT6, "gate" }, { IGMP ALERT4, "gate" });
}

static void revoking_closes_the_host_port_the_gate_and_the_way_in(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	policy_with_sa();
	assert_int_equal(bwl_revoke(rig->pins, "sealed", &e), 0);
	assert_string_equal(host("eth " TO_SEALED), "revoked");
	assert_string_equal(sealed_gate("eth ip4 src=192.0.2.2 dst=192.0.2.9 type=50 fill=60"),
			    "revoked");
	assert_string_equal(uplink("eth ip4 src=192.0.2.9 dst=192.0.2.2 type=50 fill=60"),
			    "revoked");
	/* The other side is told, and a new grant needs no restart. */
	assert_string_equal(gate("eth ip4 src=192.0.2.2 dst=192.0.2.9 udp sport=500 dport=500"),
			    "pass-ike");
}

/* A crypto engine may hold a packet: nothing departs after expiry nevertheless. */
static void esp_of_a_grant_that_has_ended_stops_at_the_last_gate(void **state)
{
	struct bwl_change c = { .set = BWL_SET_EXPIRY };
	struct bwl_err e = { 0 };

	(void)state;
	policy_with_sa();
	c.expiry_ns = rig_now() + RIG_SECOND;
	assert_int_equal(bwl_peer_change(rig->pins, "sealed", &c, &e), 0);
	rig_set_clock(c.expiry_ns - 1);
	assert_string_equal(sealed_gate("eth ip4 src=192.0.2.2 dst=192.0.2.9 type=50 fill=60"),
			    "pass-esp");
	rig_set_clock(c.expiry_ns);
	assert_string_equal(sealed_gate("eth ip4 src=192.0.2.2 dst=192.0.2.9 type=50 fill=60"),
			    "expired");
}

static void a_policy_whose_remotes_a_host_could_reach_is_refused(void **state)
{
	static const char *const bad[] = {
		"  - { name: wide, addresses: [192.0.2.0/24], path: clear, via: 192.0.2.1, grant: { rate: 1mbit } }\n",
		"  - { name: twice, addresses: [10.5.0.1], ipsec: { remote: 192.0.2.9 }, grant: { rate: 1mbit } }\n",
		"  - { name: host, addresses: [10.5.0.1], ipsec: { remote: 10.0.7.9 }, grant: { rate: 1mbit } }\n",
	};
	char text[4096];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct bwl_err e = { 0 };

		snprintf(text, sizeof(text), "%s%s", POLICY, bad[i]);
		assert_int_not_equal(rig_try_policy(rig, text, NULL, NULL, &e), 0);
		assert_non_null(strstr(e.text, "remote"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(without_an_sa_no_packet_of_an_encrypted_peer_passes),
		RIG_TEST(what_is_to_be_encrypted_is_charged_and_tagged),
		RIG_TEST(the_flow_label_of_the_host_does_not_reach_the_wire),
		RIG_TEST(esp_and_ike_come_only_from_the_dpu_of_a_peer),
		RIG_TEST(a_flood_of_ike_in_the_name_of_a_peer_ends_at_that_peers_limit),
		RIG_TEST(a_flood_of_ike_does_not_keep_out_an_ike_sa_by_which_charon_has_sent),
		RIG_TEST(nobody_makes_an_ike_sa_known_by_what_charon_answers_him),
		RIG_TEST(the_last_gate_lets_out_esp_that_was_charged_and_ike_of_the_dpu),
		RIG_TEST(a_report_of_groups_stops_at_the_gate_and_is_no_sign_of_cleartext),
		RIG_TEST(esp_of_a_grant_that_has_ended_stops_at_the_last_gate),
		RIG_TEST(revoking_closes_the_host_port_the_gate_and_the_way_in),
		RIG_TEST(a_policy_whose_remotes_a_host_could_reach_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
