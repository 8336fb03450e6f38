// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Both sides of the uplink: what may come in and to whom (accept), and the last gate for what goes
 * out. Promises 1, 5 and 8 for clear traffic; together with the other tests every reason is
 * reached.
 */
#include <bpf/libbpf.h>
#include "gate.h"

#define POLICY                                                                                     \
	PORTS                                                                                      \
	"uplink_control: [%s]\nheartbeat: none\npeers:\n"                                          \
	"  - { name: one, addresses: [10.1.0.1, 'fd00:1::1'], path: clear, via: 192.0.2.1,"        \
	" via6: 'fe80::1', grant: { rate: 1gbit }, accept: { rate: 1mbit, burst: 3000b } }\n"      \
	"  - { name: mute, addresses: [10.1.0.2], path: clear, via: 192.0.2.1,"                    \
	" grant: { rate: 1gbit }, accept: none }\n"                                                \
	"  - { name: same, addresses: [10.1.0.3], path: clear, via: 192.0.2.1,"                    \
	" grant: { rate: 1mbit } }\n"                                                              \
	"  - { name: sealed, addresses: [10.3.0.1], ipsec: { remote: 192.0.2.9 },"                 \
	" grant: { rate: 1gbit } }\n"                                                              \
	"  - { name: bare, addresses: [10.4.0.1], path: clear, via: 192.0.2.1 }\n"
#define SELF "  - { name: self, addresses: [192.0.2.0/24], grant: { rate: 1mbit, burst: 3000b } }\n"

static void policy(const char *control)
{
	apply(POLICY SELF, control);
	rig_advance(RIG_SECOND);
}

static void only_peers_reach_a_host_and_only_its_own_addresses(void **state)
{
	(void)state;
	policy("");
	EXPECT(uplink, { "eth ip4 src=10.1.0.1 dst=10.0.7.2 udp", "pass-accept" },
	       { "eth ip4 src=10.1.0.1 dst=10.0.8.2 udp", "pass-accept" },
	       { "eth ip6 src=fd00:1::1 dst=fd00:7::2 udp", "pass-accept" },
	       { "eth ip4 src=10.9.0.1 dst=10.0.7.2 udp", "uplink-in" },
	       { "eth ip6 src=fd00:9::1 dst=fd00:7::2 udp", "uplink-in" },
	       { "eth ip4 src=10.1.0.1 dst=10.0.9.2 udp", "uplink-in" },
	       { "eth ip4 src=10.1.0.1 dst=192.0.2.2 udp", "uplink-in" }, /* the DPU itself */
	       { "eth ip4 src=10.0.7.2 dst=10.0.8.2 udp", "uplink-in" },
	       { "eth ip4 src=10.3.0.1 dst=10.0.7.2 udp", "no-sa" },
	       { "eth ip4 src=10.4.0.1 dst=10.0.7.2 udp", "no-grant" },
	       { "eth ip4 src=10.1.0.2 dst=10.0.7.2 udp", "accept-rate" }, /* accept: none */
	       { "eth vlan id=5 ip4 src=10.1.0.1 dst=10.0.7.2 udp", "vlan" },
	       { "eth ip4 src=10.1.0.1 dst=10.0.7.2 len=1000 udp", "malformed" },
	       { "eth ip4 src=10.1.0.1 dst=10.0.7.2 opt=83070400000000 udp", "source-route" },
	       { "eth ip6 src=fd00:1::1 dst=fd00:7::2 ext kind=43 udp", "source-route" },
	       { "eth ip6 src=fd00:1::1 dst=fd00:7::2 frag6 mf=1 ext kind=43 udp fill=64",
		 "source-route" },
	       { "eth ip6 src=fd00:1::1 dst=fd00:7::2 frag6 off=8 type=43 fill=64",
		 "source-route" },
	       { "eth ip6 src=fd00:1::1 dst=fd00:7::2 ext kind=51 size=16 ext kind=43 udp",
		 "source-route" },
	       { "eth type=0x88b5 fill=60", "ethertype" },
	       { "eth type=0x88cc fill=60", "ethertype" },
	       { "eth ip4 src=10.1.0.1 dst=10.0.7.2 udp fill=1200 cut=36", "malformed" });
}

/*
 * IPv4 is spelled ::ffff:a.b.c.d in our tables: no frame of IPv6 may be taken for what it spells,
 * neither where a peer's prefix covers those addresses nor where a host's does.
 */
#define WIDE(sources, addresses)                                                                   \
	"version: 1\nnode: rig\nuplinks: [p0]\nuplink_control: [bgp, bfd, dhcp, ptp]\n"            \
	"heartbeat: none\nhost_ports:\n"                                                           \
	"  - { dev: h0, sources: [10.0.7.0/24, '" sources "'] }\n"                                 \
	"peers:\n"                                                                                 \
	"  - { name: four, addresses: [10.1.0.1], path: clear, via: 192.0.2.1,"                    \
	" grant: { rate: 1gbit }, accept: { rate: 1gbit } }\n"                                     \
	"  - { name: six, addresses: ['" addresses "'], path: clear, via6: 'fe80::1',"             \
	" grant: { rate: 1gbit }, accept: { rate: 1gbit } }\n"                                     \
	"  - { name: sealed, addresses: [10.3.0.1], ipsec: { remote: 192.0.2.9 },"                 \
	" grant: { rate: 1gbit } }\n"                                                              \
	"  - { name: self, addresses: [192.0.2.0/24], grant: { rate: 1mbit } }\n"
#define IKE "udp sport=500 dport=500 fill=40"
#define IKE_NAT "udp sport=4500 dport=4500 hex=00000000 fill=40"

static void nobody_is_an_ipv4_host_by_a_header_of_ipv6(void **state)
{
	(void)state;
	apply(WIDE("fd00:7::/64", "::/1"));
	rig_advance(RIG_SECOND);
	EXPECT(host, { "eth ip6 src=fd00:7::2 dst=::ffff:10.1.0.1 udp", "local-protocol" },
	       { "eth ip6 src=fd00:7::2 dst=::ffff:8.8.8.8 udp", "local-protocol" },
	       { "eth ip6 src=fd00:7::2 dst=::10.1.0.1 udp", "local-protocol" },
	       { "eth ip6 src=fd00:7::2 dst=::ffff:0:a01:1 tcp", "local-protocol" },
	       { "eth ip6 src=fe80::2 dst=ff02::1 hop=255 nd kind=136 target=::ffff:10.0.7.2",
		 "local-protocol" },
	       { "eth ip6 src=fe80::2 dst=ff02::1 hop=255 nd kind=136 target=fe80::2",
		 "pass-neighbour" },
	       { "eth ip6 src=fd00:7::2 dst=64:ff9b::10.1.0.1 udp", "pass" },
	       { "eth ip6 src=fd00:7::2 dst=2001:db8:1::1 udp", "pass" },
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 udp", "pass" });
	EXPECT(uplink, { "eth ip6 src=::ffff:10.1.0.1 dst=fd00:7::2 udp", "source-address" },
	       { "eth ip6 src=::10.1.0.1 dst=fd00:7::2 udp", "source-address" },
	       { "eth ip6 src=::ffff:10.1.0.1 dst=::ffff:10.0.7.2 udp", "source-address" },
	       { "eth ip6 src=2001:db8:1::1 dst=::ffff:10.0.7.2 udp", "local-protocol" },
	       { "eth ip6 src=64:ff9b::1 dst=fd00:7::2 udp", "pass-accept" },
	       { "eth ip6 src=2001:db8:1::1 dst=fd00:7::2 udp", "pass-accept" },
	       { "eth ip4 src=10.1.0.1 dst=10.0.7.2 udp", "pass-accept" });
	EXPECT(uplink, { "eth ip6 src=::ffff:192.0.2.9 dst=2001:db8::1 " IKE, "source-address" },
	       { "eth ip6 src=::ffff:192.0.2.9 dst=2001:db8::1 " IKE_NAT, "source-address" },
	       { "eth ip6 src=::ffff:192.0.2.9 dst=2001:db8::1 type=50 fill=40", "source-address" },
	       { "eth ip6 src=::ffff:192.0.2.9 dst=::ffff:192.0.2.2 " IKE, "source-address" },
	       { "eth ip6 src=::ffff:192.0.2.7 dst=2001:db8::1 udp", "source-address" },
	       { "eth ip6 src=::ffff:192.0.2.1 dst=2001:db8::1 udp dport=3784", "source-address" },
	       { "eth ip6 src=2001:db8::2 dst=::ffff:192.0.2.2 udp dport=3784", "local-protocol" },
	       { "eth ip6 src=::ffff:192.0.2.1 dst=2001:db8::1 tcp dport=179", "source-address" },
	       { "eth ip6 src=fe80::1 dst=ff02::1 hop=255 nd kind=136 target=::ffff:192.0.2.1",
		 "uplink-in" },
	       { "eth ip4 src=192.0.2.9 dst=192.0.2.2 " IKE, "pass-ike" },
	       { "eth ip6 src=2001:db8::2 dst=2001:db8::1 udp dport=3784", "pass-control" },
	       { "eth ip4 src=192.0.2.1 dst=192.0.2.2 udp dport=3784", "pass-control" });
	EXPECT(gate, { "eth ip6 src=2001:db8::1 dst=::ffff:192.0.2.9 " IKE, "local-protocol" },
	       { "eth ip6 src=::ffff:192.0.2.2 dst=2001:db8::9 udp", "source-address" },
	       { "eth ip6 src=2001:db8::1 dst=::ffff:192.0.2.7 udp dport=3784", "local-protocol" },
	       { "eth ip4 src=192.0.2.2 dst=192.0.2.9 " IKE, "pass-ike" });
	EXPECT(tagged_gate, { "eth ip6 src=fd00:7::2 dst=::ffff:10.1.0.1 udp", "local-protocol" },
	       { "eth ip6 src=fd00:7::2 dst=2001:db8:1::1 udp", "pass-gate" });
}

static void a_source_of_all_ipv6_owns_nothing_of_ipv4(void **state)
{
	(void)state;
	apply(WIDE("::/1", "fd00:1::/64"));
	rig_advance(RIG_SECOND);
	EXPECT(host, { "eth ip6 src=::ffff:10.0.7.2 dst=fd00:1::1 udp", "source-address" },
	       { "eth ip6 src=::10.0.7.2 dst=fd00:1::1 udp", "source-address" },
	       { "eth ip6 src=::ffff:0:a00:702 dst=fd00:1::1 udp", "source-address" },
	       { "eth vlan id=5 ip6 src=::ffff:10.0.7.2 dst=fd00:1::1 udp", "source-address" },
	       { "eth ip6 src=64:ff9b::10.0.7.2 dst=fd00:1::1 udp", "pass" },
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 udp", "pass" });
	/* The DPU's own addresses and strangers' stay theirs. */
	EXPECT(uplink, { "eth ip4 src=192.0.2.9 dst=192.0.2.2 " IKE, "pass-ike" },
	       { "eth ip4 src=192.0.2.9 dst=192.0.2.2 type=50 fill=40", "pass-esp" },
	       { "eth ip4 src=192.0.2.7 dst=192.0.2.2 udp", "pass-self" },
	       { "eth ip4 src=10.1.0.1 dst=10.0.9.9 udp", "uplink-in" },
	       { "eth ip6 src=fd00:1::1 dst=::ffff:10.0.7.2 udp", "local-protocol" },
	       { "eth ip6 src=fd00:1::1 dst=2001:db8:7::2 udp", "pass-accept" },
	       { "eth ip4 src=10.1.0.1 dst=10.0.7.2 udp", "pass-accept" });
}

static void arrivals_are_charged_to_accept(void **state)
{
	struct bwl_err e = { 0 };
	unsigned n = 0;

	(void)state;
	policy("");
	while (!strcmp(uplink("eth ip4 src=10.1.0.1 dst=10.0.7.2 udp fill=958"), "pass-accept"))
		n++;
	assert_int_equal(n, 2); /* 3000 less the byte lost to rounding */
	assert_string_equal(uplink("eth ip4 src=10.1.0.1 dst=10.0.7.2 udp fill=958"),
			    "accept-rate");
	/* Sending is separate, and the host may answer. */
	assert_string_equal(host("eth " P1 "udp"), "pass");
	/* A peer without `accept` may send as much as may be sent to it, plus 5 ms of jitter. */
	for (n = 0; n < 1000; n++)
		if (strcmp(uplink("eth ip4 src=10.1.0.3 dst=10.0.7.2 udp fill=958"), "pass-accept"))
			break;
	assert_true(n >= 73 && n <= 75);
	assert_int_equal(bwl_revoke(rig->pins, "same", &e), 0);
	assert_string_equal(uplink("eth ip4 src=10.1.0.3 dst=10.0.7.2 udp"), "revoked");
}

static void neighbours_and_named_control_reach_the_dpu(void **state)
{
	(void)state;
	policy("lldp, bgp, bfd, dhcp, ptp, lacp");
	EXPECT(uplink, { "eth arp sip=192.0.2.1 tip=192.0.2.2", "pass-neighbour" },
	       { "eth ip6 src=fe80::1 dst=ff02::1:ff00:2 hop=255 nd kind=135 target=fe80::2",
		 "pass-neighbour" },
	       { "eth ip6 src=fe80::1 dst=ff02::1:ff00:2 hop=255 nd kind=135 target=fe80::3",
		 "uplink-in" },
	       { "eth ip6 src=fe80::1 dst=ff02::1:ff00:2 hop=254 nd kind=135", "uplink-in" },
	       { "eth dst=01:80:c2:00:00:0e type=0x88cc fill=60", "pass-control" },
	       { "eth dst=01:80:c2:00:00:02 type=0x8809 fill=60", "pass-control" },
	       { "eth type=0x88f7 fill=60", "pass-control" },
	       { "eth ip4 src=192.0.2.1 dst=192.0.2.2 tcp dport=179", "pass-control" },
	       { "eth ip4 src=192.0.2.1 dst=192.0.2.2 tcp sport=179", "pass-control" },
	       { "eth ip4 src=192.0.2.1 dst=192.0.2.2 udp dport=3784", "pass-control" },
	       { "eth ip4 src=192.0.2.1 dst=255.255.255.255 udp dport=68", "pass-control" },
	       { "eth ip4 src=192.0.2.1 dst=224.0.1.129 udp dport=319", "pass-control" },
	       { "eth ip4 src=198.51.100.1 dst=192.0.2.2 tcp dport=22", "uplink-in" });
	EXPECT(gate, { "eth arp sip=192.0.2.2 tip=192.0.2.1", "pass-neighbour" },
	       { "eth dst=01:80:c2:00:00:0e type=0x88cc fill=60", "pass-control" },
	       { "eth ip4 src=192.0.2.2 dst=198.51.100.1 tcp dport=179", "pass-control" },
	       { "eth type=0x88b5 fill=60", "gate" });
	/* Never for a packet that came in through another port. */
	EXPECT(forwarded_gate, { "eth arp sip=192.0.2.2 tip=192.0.2.1", "gate" },
	       { "eth dst=01:80:c2:00:00:0e type=0x88cc fill=60", "gate" },
	       { "eth ip4 src=192.0.2.2 dst=192.0.2.7 udp", "gate" });
	policy("");
	EXPECT(gate, { "eth arp sip=192.0.2.2 tip=192.0.2.1", "pass-neighbour" },
	       { "eth dst=01:80:c2:00:00:0e type=0x88cc fill=60", "gate" },
	       { "eth ip4 src=192.0.2.2 dst=198.51.100.1 tcp dport=179", "gate" });
}

static void arp_and_nd_of_a_host_have_a_small_limit(void **state)
{
	unsigned n = 0;

	(void)state;
	policy("");
	while (!strcmp(host("eth arp sip=10.0.7.2 tip=10.0.7.1"), "pass-neighbour"))
		n++;
	assert_int_equal(n, 16383 / 42);
	assert_string_equal(host("eth arp sip=10.0.7.2 tip=10.0.7.1"), "neighbour-rate");
	assert_string_equal(host("eth " P1 "udp"), "pass");
	/* The other host port has its own. */
	assert_string_equal(from(RIG_H1, "eth arp sip=10.0.8.2 tip=10.0.8.1"), "pass-neighbour");
}

static void the_last_gate_lets_out_only_what_was_charged(void **state)
{
	struct rig_packet k = {
		.prog = RIG_GATE, .port = RIG_P0, .spec = "eth " P1 "udp", .ingress = RIG_H0
	};
	struct bwl_err e = { 0 };
	struct rig_result r;

	(void)state;
	policy("");
	EXPECT(tagged_gate, { "eth " P1 "udp", "pass-gate" },
	       { "eth ip6 src=fd00:7::2 dst=fd00:1::1 udp", "pass-gate" },
	       { "eth ip4 src=10.0.7.2 dst=10.3.0.1 udp", "gate" }, /* must be encrypted */
	       { "eth ip4 src=10.0.7.2 dst=10.9.0.1 udp", "gate" },
	       { "eth ip4 src=10.0.7.2 dst=10.4.0.1 udp", "no-grant" },
	       { "eth type=0x88b5 fill=60", "gate" },
	       { "eth arp sip=10.0.7.2 tip=10.0.7.1", "gate" });
	assert_string_equal(judge(&k, NULL), "gate"); /* came from a host, has no tag */
	k.mark = rig->pins->ctl->tag + 1;
	assert_string_equal(judge(&k, NULL), "gate");
	k.mark = rig->pins->ctl->tag;
	k.ingress = RIG_P0;
	assert_string_equal(judge(&k, &r), "pass-gate");
	assert_int_equal(r.mark, 0); /* the tag stays inside */
	/* Revoked between the two hooks: not reported as cleartext. */
	assert_int_equal(bwl_revoke(rig->pins, "one", &e), 0);
	assert_string_equal(judge(&k, NULL), "revoked");
	/*
	 * Counted in the gate's own row: what a port received can still be compared with its
	 * device.
	 */
	assert_int_equal(rig_frames(rig, RIG_P0, BWL_R_GATE), 0);
	assert_int_equal(rig_frames(rig, BWL_MAX_PORTS + RIG_P0, BWL_R_PASS_GATE), 3);
}

static void what_the_last_gate_stops_is_counted_to_whom_it_was_for(void **state)
{
	uint64_t one, sealed;

	(void)state;
	policy("");
	one = stopped("one");
	sealed = stopped("sealed");
	assert_string_equal(tagged_gate("eth ip4 src=10.0.7.2 dst=10.3.0.1 udp"), "gate");
	assert_string_equal(forwarded_gate("eth ip4 src=10.0.7.2 dst=10.3.0.1 udp"), "gate");
	assert_string_equal(gate("eth ip4 src=192.0.2.2 dst=10.3.0.1 udp"), "gate");
	assert_int_equal(stopped("sealed"), sealed + 3);
	assert_string_equal(forwarded_gate("eth ip6 src=fd00:7::2 dst=fd00:1::1 udp"), "gate");
	assert_int_equal(stopped("one"), one + 1);
	assert_string_equal(tagged_gate("eth " P1 "udp"), "pass-gate");
	assert_string_equal(forwarded_gate("eth ip4 src=10.0.7.2 dst=10.9.0.1 udp"), "gate");
	assert_string_equal(forwarded_gate("eth type=0x88b5 fill=60"), "gate");
	assert_int_equal(stopped("sealed"), sealed + 3);
	assert_int_equal(stopped("one"), one + 1);
}

/* Inbound by destination port only, except answers to a BGP session that the DPU opened. */
static void control_from_the_network_reaches_no_other_socket(void **state)
{
	(void)state;
	policy("bgp, bfd, dhcp, ptp");
#define IN "eth ip4 src=192.0.2.1 dst=192.0.2.2 "
	EXPECT(uplink, { IN "tcp sport=40000 dport=179 flags=2", "pass-control" },
	       { IN "tcp sport=179 dport=40000 flags=0x12", "pass-control" },
	       /* opens one: needs the grant */
	       { IN "tcp sport=179 dport=22 flags=2", "pass-self" },
	       { IN "udp sport=3784 dport=22", "pass-self" },
	       { IN "udp sport=67 dport=22", "pass-self" },
	       { IN "udp sport=319 dport=22", "pass-self" });
	apply(POLICY, "bgp, bfd, dhcp, ptp"); /* no grant `self` */
	rig_advance(RIG_SECOND);
	EXPECT(uplink, { IN "tcp sport=179 dport=22 flags=2", "uplink-in" },
	       { IN "udp sport=3784 dport=22", "uplink-in" },
	       { IN "udp sport=67 dport=22", "uplink-in" },
	       { IN "udp sport=319 dport=22", "uplink-in" },
	       { IN "tcp sport=179 dport=22 flags=0x10", "pass-control" });
}

/* Encryption was required: the DPU's own packets do not leave in the clear instead. */
static void a_self_that_is_to_be_encrypted_is_refused_at_the_gate(void **state)
{
	(void)state;
	apply(POLICY
	      "  - { name: self, addresses: [192.0.2.0/25], ipsec: { remote: 198.51.100.1 }, grant: { rate: 1gbit } }\n",
	      "");
	rig_advance(RIG_SECOND);
	assert_string_equal(gate("eth ip4 src=192.0.2.2 dst=192.0.2.7 udp"), "no-sa");
	assert_string_equal(uplink("eth ip4 src=192.0.2.7 dst=192.0.2.2 udp"), "no-sa");
}

/* The policy before must still come from the controller, and IKE must go on. */
static void the_end_of_a_trial_ends_grants_but_not_self(void **state)
{
	const struct bwl_publish_opts o = { .confirm_ns = RIG_SECOND };
	struct bwl_err e = { 0 };
	char text[2000];

	(void)state;
	policy("bgp");
	snprintf(text, sizeof(text), POLICY SELF, "bgp");
	assert_int_equal(rig_try_policy(rig, text, &o, NULL, &e), 0);
	rig_advance(RIG_SECOND - 1);
	assert_string_equal(gate("eth ip4 src=192.0.2.2 dst=192.0.2.7 udp"), "pass-self");
	assert_string_equal(host("eth ip4 src=10.0.7.2 dst=10.1.0.1 udp"), "pass");
	rig_advance(1);
	assert_string_equal(host("eth ip4 src=10.0.7.2 dst=10.1.0.1 udp"), "expired");
	assert_string_equal(gate("eth ip4 src=192.0.2.2 dst=192.0.2.7 udp"), "pass-self");
	assert_string_equal(uplink("eth ip4 src=192.0.2.7 dst=192.0.2.2 udp"), "pass-self");
	assert_string_equal(
		uplink("eth ip4 src=192.0.2.1 dst=192.0.2.2 tcp sport=40000 dport=179 flags=2"),
		"pass-control");
}

static void the_dpus_own_traffic_needs_the_grant_self(void **state)
{
	unsigned n = 0;

	(void)state;
	apply(POLICY, "");
	rig_advance(RIG_SECOND);
	assert_string_equal(gate("eth ip4 src=192.0.2.2 dst=192.0.2.7 udp"), "gate");
	assert_string_equal(uplink("eth ip4 src=192.0.2.7 dst=192.0.2.2 udp"), "uplink-in");
	policy("");
	assert_string_equal(gate("eth ip4 src=192.0.2.2 dst=192.0.2.7 udp"), "pass-self");
	assert_string_equal(gate("eth ip4 src=192.0.2.2 dst=10.1.0.1 udp"),
			    "gate"); /* a host's peer */
	assert_string_equal(gate("eth ip4 src=192.0.2.2 dst=8.8.8.8 udp"), "gate");
	assert_string_equal(uplink("eth ip4 src=192.0.2.7 dst=192.0.2.2 udp"), "pass-self");
	assert_string_equal(uplink("eth ip4 src=192.0.2.7 dst=10.0.7.2 udp"), "uplink-in");
	assert_string_equal(host("eth ip4 src=10.0.7.2 dst=192.0.2.7 udp"), "from");
	while (!strcmp(gate("eth ip4 src=192.0.2.2 dst=192.0.2.7 udp fill=958"), "pass-self"))
		n++;
	assert_int_equal(n, 2);
	assert_string_equal(gate("eth ip4 src=192.0.2.2 dst=192.0.2.7 udp fill=958"), "peer-rate");
}

static void frames_and_bytes_are_counted_as_seen_and_as_charged(void **state)
{
	struct bwl_peer_count *n = calloc(rig->pins->schema.max_peers, sizeof(*n));
	struct bwl_err e = { 0 };
	uint32_t id;

	(void)state;
	policy("");
	assert_string_equal(host("eth " P1 "udp fill=10"), "pass");
	assert_string_equal(host("eth " P1 "udp fill=2000"), "too-big");
	for (id = 1; strcmp(rig->pins->name[id].name, "one"); id++)
		;
	assert_int_equal(bwl_peercnt_read(rig->pins, n, &e), 0);
	assert_int_equal(n[id].frames, 1);
	assert_int_equal(n[id].bytes, 64); /* charged: min_charge */
	assert_int_equal(n[id].drop_frames, 1);
	assert_int_equal(n[id].drop_bytes, 2042);
	assert_int_equal(rig_bytes(rig, RIG_H0, BWL_R_PASS), 52);
	assert_int_equal(rig_charged(rig, RIG_H0, BWL_R_PASS), 64);
	assert_int_equal(rig_bytes(rig, RIG_H0, BWL_R_TOO_BIG), 2042);
	assert_int_equal(rig_charged(rig, RIG_H0, BWL_R_TOO_BIG), 0);
	free(n);
}

static int one_event(void *ctx, void *data, size_t size)
{
	struct bwl_event *ret = ctx;

	assert_int_equal(size, sizeof(*ret));
	memcpy(ret, data, size);
	return 0;
}

static void events_say_what_happened(void **state)
{
	static const struct {
		const char *spec;
		unsigned kind, reason;
	} x[] = {
		{ "eth " P1 "udp dport=2049", BWL_E_FIRST, BWL_R_PASS },
		{ "eth ip4 src=10.0.7.2 dst=10.9.0.1 udp", BWL_E_NEW_DEST, BWL_R_NO_PEER },
		{ "eth ip4 src=10.0.9.2 dst=10.1.0.1 udp", BWL_E_SPOOF, BWL_R_SRC_ADDR },
		{ "eth ip4 src=10.0.7.2 dst=10.3.0.1 udp", BWL_E_DROP, BWL_R_NO_SA },
		{ "eth ip4 src=10.0.7.2 dst=10.4.0.1 udp", BWL_E_DROP, BWL_R_NO_GRANT },
	};
	char text[BWL_EVENT_ADDRESS];
	struct bwl_event got;
	struct ring_buffer *rb;
	size_t i;

	(void)state;
	policy("");
	rb = ring_buffer__new(rig->pins->fd[BWL_PIN_event], one_event, &got, NULL);
	assert_non_null(rb);
	for (i = 0; i < sizeof(x) / sizeof(x[0]); i++) {
		rig_send(rig, x[i].spec);
		runs++;
		memset(&got, 0, sizeof(got));
		assert_int_equal(ring_buffer__consume(rb), 1);
		assert_int_equal(got.kind, x[i].kind);
		assert_int_equal(got.reason, x[i].reason);
		assert_true(got.time_ns == rig_now());
	}
	/* An address is printed as the frame has it: what only spells an IPv4 one is none. */
	rig_advance(2 * RIG_SECOND);
	rig_send(rig, "eth ip4 src=10.0.9.2 dst=10.1.0.1 udp");
	runs++;
	assert_int_equal(ring_buffer__consume(rb), 1);
	assert_string_equal(bwl_event_address(&got, got.saddr, text), "10.0.9.2");
	rig_send(rig, "eth ip6 src=::ffff:10.0.9.2 dst=fd00:1::1 udp");
	runs++;
	assert_int_equal(ring_buffer__consume(rb), 1);
	assert_string_equal(bwl_event_address(&got, got.saddr, text), "::ffff:10.0.9.2");
	/* One per second and peer, and only kinds that have a name. */
	rig_advance(2 * RIG_SECOND);
	for (i = 0; i < 20; i++)
		host("eth " P1 "udp fill=2000");
	assert_true(ring_buffer__consume(rb) <= 1);
	assert_true(got.kind < _BWL_EVENT_MAX);
	ring_buffer__free(rb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(only_peers_reach_a_host_and_only_its_own_addresses),
		RIG_TEST(nobody_is_an_ipv4_host_by_a_header_of_ipv6),
		RIG_TEST(a_source_of_all_ipv6_owns_nothing_of_ipv4),
		RIG_TEST(arrivals_are_charged_to_accept),
		RIG_TEST(neighbours_and_named_control_reach_the_dpu),
		RIG_TEST(arp_and_nd_of_a_host_have_a_small_limit),
		RIG_TEST(the_last_gate_lets_out_only_what_was_charged),
		RIG_TEST(what_the_last_gate_stops_is_counted_to_whom_it_was_for),
		RIG_TEST(control_from_the_network_reaches_no_other_socket),
		RIG_TEST(a_self_that_is_to_be_encrypted_is_refused_at_the_gate),
		RIG_TEST(the_end_of_a_trial_ends_grants_but_not_self),
		RIG_TEST(the_dpus_own_traffic_needs_the_grant_self),
		RIG_TEST(frames_and_bytes_are_counted_as_seen_and_as_charged),
		RIG_TEST(events_say_what_happened),
	};

	return cmocka_run_group_tests_name("uplink", tests, NULL, NULL);
}
