// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promise 1 at the host port: what the parser, the source check and the destination table let
 * through, and the reason under which everything else is counted. No limit applies here.
 */
#include "prog.h"

#define OPEN "grant: { rate: 100gbit }"

static void policy(void)
{
	apply(PORTS
	      "heartbeat: none\n"
	      "peers:\n"
	      "  - { name: one, addresses: [10.1.0.1, 'fd00:1::1'], path: clear, via: 192.0.2.1, via6: 'fe80::1', " OPEN
	      " }\n"
	      "  - { name: net, addresses: [10.1.0.0/16, 'fd00:1::/64'], path: clear, via: 192.0.2.1, via6: 'fe80::1', from: [h1], " OPEN
	      " }\n"
	      "  - { name: none, addresses: [10.2.0.1], path: clear, via: 192.0.2.1 }\n"
	      "  - { name: secret, addresses: [10.3.0.1], ipsec: { remote: 192.0.2.9 }, " OPEN
	      " }\n");
	rig_advance(RIG_SECOND);
}

static void without_a_policy_everything_is_dropped(void **state)
{
	struct rig_packet k = { .prog = RIG_GATE, .port = RIG_P0, .spec = "eth " P1 "udp" };

	(void)state;
	assert_string_equal(host("eth " P1 "udp"), "no-policy");
	assert_string_equal(host("eth arp sip=10.0.7.2 tip=10.0.7.1"), "no-policy");
	assert_string_equal(uplink("eth " P1 "udp"), "no-policy");
	assert_string_equal(judge(&k, NULL), "no-policy");
	k.ingress = RIG_NOWHERE;
	assert_string_equal(judge(&k, NULL), "no-policy");
}

static void an_interface_that_is_no_port_is_closed(void **state)
{
	struct rig_packet k = {
		.prog = RIG_GATE, .port = RIG_ALIEN, .spec = "eth " P1 "udp", .ingress = RIG_NOWHERE
	};

	(void)state;
	policy();
	assert_string_equal(from(RIG_ALIEN, "eth " P1 "udp"), "no-port");
	assert_string_equal(judge(&k, NULL), "no-port");
	k.prog = RIG_UPIN;
	assert_string_equal(judge(&k, NULL), "no-port");
	/* Attached, but not in the policy. */
	k.port = RIG_P1;
	assert_string_equal(judge(&k, NULL), "no-port");
}

static void the_stop_switch_comes_before_everything(void **state)
{
	struct rig_packet k = { .prog = RIG_GATE,
				.port = RIG_P0,
				.spec = "eth " P1 "udp",
				.mark = rig->pins->ctl->tag };

	(void)state;
	policy();
	assert_string_equal(host("eth " P1 "udp"), "pass");
	assert_string_equal(judge(&k, NULL), "pass-gate");
	rig->pins->ctl->stop = BWL_STOPPED;
	assert_string_equal(host("eth " P1 "udp"), "stop");
	assert_string_equal(host("eth arp sip=10.0.7.2 tip=10.0.7.1"), "stop");
	assert_string_equal(host("eth type=0x88cc"), "stop");
	assert_string_equal(uplink("eth arp sip=10.0.7.2 tip=10.0.7.1"), "stop");
	assert_string_equal(judge(&k, NULL), "stop");
	rig->pins->ctl->stop = BWL_UPGRADING;
	assert_string_equal(host("eth " P1 "udp"), "upgrade");
	assert_string_equal(judge(&k, NULL), "upgrade");
	rig->pins->ctl->stop = BWL_RUN;
	assert_string_equal(host("eth " P1 "udp"), "pass");
}

static void only_the_host_ports_own_sources_pass(void **state)
{
	(void)state;
	policy();
	EXPECT(host, { "eth " P1 "udp fill=100", "pass" },
	       { "eth ip4 src=10.0.7.255 dst=10.1.0.1 udp", "pass" },
	       { "eth ip4 src=10.0.8.2 dst=10.1.0.1 udp", "source-address" },
	       { "eth ip4 src=0.0.0.0 dst=10.1.0.1 udp", "source-address" },
	       { "eth ip4 src=127.0.0.1 dst=10.1.0.1 udp", "source-address" },
	       { "eth ip4 src=10.1.0.1 dst=10.1.0.1 udp", "source-address" },
	       { "eth src=02:00:00:00:00:02 " P1 "udp", "source-mac" },
	       { "eth ip6 src=fd00:7::9 dst=fd00:1::1 udp", "pass" },
	       { "eth ip6 src=fd00:7:0:1::9 dst=fd00:1::1 udp", "source-address" },
	       { "eth ip6 src=fe80::9 dst=fd00:1::1 udp", "source-address" },
	       { "eth ip6 src=:: dst=fd00:1::1 udp", "source-address" },
	       { "eth ip6 src=::ffff:10.0.7.2 dst=fd00:1::1 udp", "source-address" });
	/* The second host port: no MAC is required, other sources, no IPv6. */
	assert_string_equal(from(RIG_H1,
				 "eth src=02:00:00:00:00:77 ip4 src=10.0.8.2 dst=10.1.0.1 udp"),
			    "pass");
	assert_string_equal(from(RIG_H1, "eth " P1 "udp"), "source-address");
	assert_string_equal(from(RIG_H1, "eth ip6 src=fd00:7::9 dst=fd00:1::1 udp"),
			    "source-address");
}

static void only_listed_vlan_tags_pass_two_at_most(void **state)
{
	struct rig_result r;

	(void)state;
	policy();
	EXPECT(host, { "eth vlan id=5 " P1 "udp", "pass" },
	       { "eth vlan id=6 vlan id=5 " P1 "udp", "pass" },
	       { "eth vlan id=5 tpid=0x88a8 vlan id=5 " P1 "udp", "pass" },
	       { "eth vlan id=0 " P1 "udp", "vlan" }, { "eth vlan id=7 " P1 "udp", "vlan" },
	       { "eth vlan id=5 vlan id=7 " P1 "udp", "vlan" },
	       { "eth vlan id=7 vlan id=5 " P1 "udp", "vlan" },
	       { "eth vlan id=4095 " P1 "udp", "vlan" },
	       { "eth vlan id=5 vlan id=5 vlan id=5 " P1 "udp", "vlan" },
	       { "eth vlan id=5 vlan id=5 tpid=0x88a8 vlan id=5 " P1 "udp", "vlan" },
	       /* The priority bits are not the tag's number. */
	       { "eth vlan id=0xe005 " P1 "udp", "pass" },
	       { "eth vlan id=5 arp sip=10.0.7.2 tip=10.0.7.1", "pass-neighbour" },
	       { "eth vlan id=7 arp sip=10.0.7.2 tip=10.0.7.1", "vlan" });
	assert_string_equal(from(RIG_H1, "eth vlan id=5 ip4 src=10.0.8.2 dst=10.1.0.1 udp"),
			    "vlan");
	/* The uplink's network sees none of the tags. */
	judge(&(struct rig_packet){ .spec = "eth vlan id=6 vlan id=5 " P1 "udp fill=60" }, &r);
	assert_int_equal(r.len, 14 + 20 + 8 + 60);
	assert_int_equal(r.bytes, r.len + 8);
	assert_int_equal(r.data[12] << 8 | r.data[13], 0x0800);
	assert_int_equal(r.data[14], 0x45);
}

static void arp_and_nd_end_at_the_dpu_and_nothing_else_does(void **state)
{
	(void)state;
	policy();
	EXPECT(host,
	       { "eth dst=ff:ff:ff:ff:ff:ff arp sip=10.0.7.2 tip=10.0.7.1", "pass-neighbour" },
	       { "eth dst=ff:ff:ff:ff:ff:ff arp sip=0.0.0.0 tip=10.0.7.2", "pass-neighbour" },
	       { "eth arp sip=10.1.0.1 tip=10.0.7.1", "source-address" },
	       { "eth arp smac=02:00:00:00:00:09 sip=10.0.7.2 tip=10.0.7.1", "source-mac" },
	       { "eth src=02:00:00:00:00:09 arp smac=02:00:00:00:00:09 sip=10.0.7.2 tip=10.0.7.1",
		 "source-mac" },
	       { "eth type=0x0806 fill=60", "malformed" },
	       { "eth ip6 src=fe80::2 dst=ff02::1:ff00:1 hop=255 nd kind=135 target=fe80::1",
		 "pass-neighbour" },
	       { "eth ip6 src=:: dst=ff02::1:ff00:1 hop=255 nd kind=135 target=fd00:7::1",
		 "pass-neighbour" },
	       { "eth ip6 src=fd00:7::2 dst=fe80::1 hop=255 nd kind=136 target=fd00:7::2",
		 "pass-neighbour" },
	       { "eth ip6 src=fd00:9::2 dst=fe80::1 hop=255 nd kind=136 target=fd00:7::2",
		 "source-address" },
	       { "eth ip6 src=fd00:7::2 dst=fe80::1 hop=254 nd kind=136 target=fd00:7::2",
		 "local-protocol" },
	       { "eth ip6 src=fe80::2 dst=ff02::1 hop=254 nd kind=135", "local-protocol" },
	       { "eth ip6 src=fe80::2 dst=fd00:1::1 hop=254 nd kind=135", "source-address" },
	       /* Router solicitation, advertisement, redirect */
	       { "eth ip6 src=fd00:7::2 dst=ff02::2 hop=255 nd kind=133", "local-protocol" },
	       { "eth ip6 src=fd00:7::2 dst=ff02::1 hop=255 nd kind=134", "local-protocol" },
	       { "eth ip6 src=fd00:7::2 dst=fe80::1 hop=255 nd kind=137", "local-protocol" },
	       { "eth ip6 src=fd00:7::2 dst=fe80::1 hop=255 ext kind=0 nd kind=135",
		 "local-protocol" });
}

static void destinations_that_no_peer_can_have_end_here(void **state)
{
	(void)state;
	policy();
	EXPECT(host,
	       { "eth dst=01:00:5e:00:00:01 ip4 src=10.0.7.2 dst=224.0.0.1 udp", "local-protocol" },
	       { "eth dst=ff:ff:ff:ff:ff:ff " P1 "udp", "local-protocol" },
	       { "eth dst=01:00:5e:00:00:01 " P1 "udp", "local-protocol" },
	       { "eth ip4 src=10.0.7.2 dst=224.0.0.251 udp dport=5353", "local-protocol" },
	       { "eth ip4 src=10.0.7.2 dst=255.255.255.255 udp sport=68 dport=67",
		 "local-protocol" },
	       { "eth ip4 src=10.0.7.2 dst=127.0.0.1 udp", "local-protocol" },
	       { "eth ip4 src=10.0.7.2 dst=0.0.0.0 udp", "local-protocol" },
	       { "eth ip4 src=10.0.7.2 dst=169.254.169.254 tcp dport=80", "local-protocol" },
	       { "eth ip4 src=10.0.7.2 dst=240.0.0.1 udp", "local-protocol" },
	       { "eth ip6 src=fd00:7::2 dst=ff02::16 icmp kind=143", "local-protocol" },
	       { "eth ip6 src=fd00:7::2 dst=ff0e::1 udp", "local-protocol" },
	       { "eth ip6 src=fd00:7::2 dst=fe80::1 udp", "local-protocol" },
	       { "eth ip6 src=fd00:7::2 dst=:: udp", "local-protocol" },
	       { "eth ip6 src=fd00:7::2 dst=::1 udp", "local-protocol" },
	       { "eth dst=01:80:c2:00:00:0e type=0x88cc fill=60", "local-protocol" },
	       { "eth dst=01:80:c2:00:00:00 type=0x0069 fill=60", "local-protocol" },
	       { "eth type=0x88cc fill=60", "ethertype" },
	       { "eth type=0x88b5 fill=60", "ethertype" },
	       { "eth type=0x8847 fill=60", "ethertype" },
	       { "eth type=0x8864 fill=60", "ethertype" });
}

static void the_exact_destination_comes_before_the_prefix(void **state)
{
	(void)state;
	policy();
	EXPECT(host, { "eth " P1 "udp", "pass" },
	       { "eth " P2 "udp", "from" }, /* the prefix's peer is for h1 only */
	       { "eth ip6 src=fd00:7::2 dst=fd00:1::1 udp", "pass" },
	       { "eth ip6 src=fd00:7::2 dst=fd00:1::2 udp", "from" },
	       { "eth ip4 src=10.0.7.2 dst=10.4.0.1 udp", "no-peer" },
	       { "eth ip6 src=fd00:7::2 dst=fd00:2::1 udp", "no-peer" },
	       { "eth ip6 src=fd00:7::2 dst=::ffff:10.1.0.1 udp", "local-protocol" },
	       { "eth ip4 src=10.0.7.2 dst=10.0.8.2 udp", "no-peer" }, /* the other host port */
	       { "eth ip4 src=10.0.7.2 dst=10.2.0.1 udp", "no-grant" },
	       { "eth ip4 src=10.0.7.2 dst=10.3.0.1 udp", "no-sa" });
	assert_string_equal(from(RIG_H1, "eth ip4 src=10.0.8.2 dst=10.1.0.2 udp"), "pass");
	assert_string_equal(from(RIG_H1, "eth ip4 src=10.0.8.2 dst=10.1.0.1 udp"), "pass");
}

/* CPUs cache destinations (bpf/lib/dest.h): for one policy, not for the next. */
static void a_destination_that_moves_to_another_peer_is_his_at_once(void **state)
{
	static const bool granted[] = { true, false, false, true, true, false, true };
	size_t i;
	int k;

	(void)state;
	for (i = 0; i < sizeof(granted) / sizeof(granted[0]); i++) {
		apply(PORTS
		      "heartbeat: none\npeers:\n"
		      "  - { name: a, addresses: [%s, 10.1.0.8], path: clear, via: 192.0.2.1, via6: 'fd00:ff::1', grant: { rate: 10gbit } }\n"
		      "  - { name: b, addresses: [%s, 10.1.0.9], path: clear, via: 192.0.2.1, via6: 'fd00:ff::1' }\n",
		      granted[i] ? "10.1.0.1, 'fd00:1::1'" : "10.1.0.2",
		      granted[i] ? "10.1.0.2" : "10.1.0.1, 'fd00:1::1'");
		rig_advance(RIG_SECOND);
		for (k = 0; k < 3; k++) {
			assert_string_equal(host("eth " P1 "udp"),
					    granted[i] ? "pass" : "no-grant");
			assert_string_equal(host("eth ip6 src=fd00:7::2 dst=fd00:1::1 udp"),
					    granted[i] ? "pass" : "no-grant");
		}
	}
}

static void a_packet_leaves_with_the_tag_and_no_mark_of_the_host(void **state)
{
	struct rig_result r;

	(void)state;
	policy();
	judge(&(struct rig_packet){ .spec = "eth " P1 "udp", .mark = 77 }, &r);
	assert_int_equal(r.mark, rig->pins->ctl->tag);
	/* A host that knows the tag gains nothing: packets that are not sent lose it. */
	judge(&(struct rig_packet){ .spec = "eth " P2 "udp", .mark = rig->pins->ctl->tag }, &r);
	assert_int_equal(r.mark, 0);
	judge(&(struct rig_packet){ .spec = "eth arp sip=10.0.7.2 tip=10.0.7.1",
				    .mark = rig->pins->ctl->tag },
	      &r);
	assert_int_equal(r.reason, BWL_R_PASS_NEIGHBOUR);
	/* Packets that go up to the kernel have a mark that does not permit them to leave. */
	assert_int_equal(r.mark, bwl_mark_up(rig->pins->ctl->tag));
	assert_int_not_equal((r.mark ^ rig->pins->ctl->tag) & ~BWL_MARK_ID, 0);
}

/*
 * fq would keep a packet for as long as its host wants: beyond the end of its grant, or out of
 * order.
 */
static void a_packet_departs_when_we_say_and_not_when_its_host_does(void **state)
{
	struct rig_result r;

	(void)state;
	policy();
	judge(&(struct rig_packet){ .spec = "eth " P1 "udp",
				    .departs_ns = rig_now() + 9 * RIG_SECOND },
	      &r);
	assert_int_equal(r.reason, BWL_R_PASS);
	assert_int_equal(r.departs_ns, 0);
}

static void ipv4_options_are_walked_and_source_routes_refused(void **state)
{
	(void)state;
	policy();
	EXPECT(host,
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 opt=94040000 udp", "pass" }, /* router alert */
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 opt=0101010101010101 udp", "pass" },
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 opt=0083030400000000 udp",
		 "pass" }, /* after the end */
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 opt=83070400000000 udp", "source-route" },
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 opt=01890704000000 udp", "source-route" },
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 opt=94000000 udp", "malformed" },
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 opt=94010000 udp", "malformed" },
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 opt=01010101010101010101010183070400000000 udp",
		 "ext-headers" },
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 ihl=4 udp", "malformed" },
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 ihl=15 udp", "malformed" },
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 len=19 udp", "malformed" },
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 len=1000 udp", "malformed" },
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 len=27 udp", "malformed" },
	       { "eth type=0x86dd " P1 "udp fill=40", "malformed" });
}

static void ipv6_extension_headers_are_followed_to_the_transport(void **state)
{
#define S6 "eth ip6 src=fd00:7::2 dst=fd00:1::1 "
	(void)state;
	policy();
	EXPECT(host, { S6 "ext kind=0 ext kind=60 udp", "pass" },
	       { S6 "ext kind=60 size=64 tcp dport=22", "pass" },
	       { S6 "ext kind=43 udp", "source-route" },
	       { S6 "ext kind=0 ext kind=43 udp", "source-route" },
	       { S6
		 "ext kind=60 ext kind=60 ext kind=60 ext kind=60 ext kind=60 ext kind=60 ext kind=60 ext kind=60 udp",
		 "pass" },
	       { S6
		 "ext kind=60 ext kind=60 ext kind=60 ext kind=60 ext kind=60 ext kind=60 ext kind=60 ext kind=60 ext kind=60 udp",
		 "ext-headers" },
	       { "eth ip6 src=fd00:7::2 dst=fd00:1::1 len=4 ext kind=0 udp", "malformed" },
	       { "eth ip6 src=fd00:7::2 dst=fd00:1::1 len=500 udp", "malformed" },
	       { S6 "frag6 off=0 mf=1 udp fill=64", "pass" }, { S6 "frag6 off=8 fill=64", "pass" },
	       { S6 "ext kind=51 size=16 udp", "pass" },
	       { S6 "ext kind=51 size=16 ext kind=43 udp", "source-route" },
	       { S6 "ext kind=135 ext kind=43 udp", "source-route" },
	       { S6 "frag6 off=0 mf=1 ext kind=43 udp fill=64", "source-route" },
	       { S6 "frag6 off=8 type=43 fill=64", "source-route" },
	       { S6 "ext kind=0 frag6 off=0 mf=0 ext kind=60 ext kind=43 udp", "source-route" },
	       { S6 "frag6 off=0 mf=1 type=60 hex=2b02000000000000", "malformed" },
	       { S6 "frag6 off=0 mf=1 type=44 fill=64", "malformed" },
	       { "eth ip6 src=fd00:7::2 dst=fd00:1::1 type=59", "pass" }, /* no next header */
	       { "eth ip6 src=fd00:7::2 dst=fd00:1::1 type=50 fill=40", "pass" });
#undef S6
}

static void lying_lengths_are_malformed(void **state)
{
	(void)state;
	policy();
	EXPECT(host, { "eth " P1 "udp len=7 fill=40", "malformed" },
	       { "eth " P1 "udp len=100 fill=40", "malformed" },
	       { "eth " P1 "udp len=8 fill=40", "pass" },
	       { "eth " P1 "tcp doff=4 fill=40", "malformed" },
	       { "eth " P1 "tcp doff=15 fill=4", "malformed" },
	       { "eth " P1 "tcp doff=15 fill=40", "pass" }, { "eth " P1 "icmp", "pass" },
	       { "eth " P1 "udp dport=53 fill=40", "pass" }, /* refused or charged, never free */
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 mf=1 udp", "pass" },
	       { "eth ip4 src=10.0.7.2 dst=10.1.0.1 off=8 fill=8", "pass" },
	       { "eth " P1 "udp fill=2000", "too-big" });
}

static void a_frame_cut_anywhere_never_passes(void **state)
{
	static const char *const frames[] = {
		"eth " P1 "udp fill=30",
		"eth " P1 "tcp doff=8 fill=40",
		"eth vlan id=5 vlan id=6 " P1 "udp fill=30",
		"eth ip4 src=10.0.7.2 dst=10.1.0.1 opt=9404000001010101 tcp fill=20",
		"eth ip6 src=fd00:7::2 dst=fd00:1::1 ext kind=0 ext kind=60 size=24 tcp fill=20",
		"eth ip6 src=fd00:7::2 dst=fd00:1::1 frag6 off=8 fill=40",
		"eth arp sip=10.0.7.2 tip=10.0.7.1",
		"eth ip6 src=fe80::2 dst=ff02::1:ff00:1 hop=255 nd kind=135 target=fe80::1",
	};
	static const size_t full[] = { 72, 94, 80, 82, 126, 102, 42, 78 };
	/* The kernel accepts no shorter ones for a test run. */
	static const size_t least[] = { 34, 34, 15, 34, 54, 54, 15, 54 };
	size_t i, cut;
	char spec[200];

	(void)state;
	policy();
	for (i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		for (cut = least[i]; cut <= full[i]; cut++) {
			bool passes;

			snprintf(spec, sizeof(spec), "%s cut=%zu", frames[i], cut);
			passes = !strncmp(host(spec), "pass", 4);
			if (passes != (cut == full[i]))
				fail_msg("'%s': %s", spec, host(spec));
		}
	}
}

static void a_tag_beside_the_frame_is_judged_stripped_and_charged(void **state)
{
	struct rig_packet k = { .spec = "eth " P1 "udp fill=60", .tagged = true, .tci = 5 };
	struct rig_result r;

	(void)state;
	policy();
	assert_string_equal(judge(&k, &r), "pass");
	assert_int_equal(r.bytes, 102); /* as the hook saw it */
	assert_int_equal(r.charged, 106);
	assert_int_equal(r.len, 102);
	k.spec = "eth vlan id=6 " P1 "udp fill=60";
	assert_string_equal(judge(&k, &r), "pass");
	assert_int_equal(r.charged, 110);
	assert_int_equal(r.len, 102);
	k.spec = "eth vlan id=7 " P1 "udp";
	assert_string_equal(judge(&k, &r), "vlan");
	k.spec = "eth vlan id=5 vlan id=5 " P1 "udp";
	assert_string_equal(judge(&k, &r), "vlan"); /* a third tag */
	k.spec = "eth " P1 "udp";
	k.tci = 7;
	assert_string_equal(judge(&k, &r), "vlan");
	k.tci = 0; /* a priority tag */
	assert_string_equal(judge(&k, &r), "vlan");
	k = (struct rig_packet){ .prog = RIG_UPIN,
				 .port = RIG_P0,
				 .tagged = true,
				 .tci = 5,
				 .spec = "eth ip4 src=10.1.0.1 dst=10.0.7.2 udp" };
	assert_string_equal(judge(&k, &r), "vlan");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_policy_everything_is_dropped),
		cmocka_unit_test(an_interface_that_is_no_port_is_closed),
		cmocka_unit_test(the_stop_switch_comes_before_everything),
		cmocka_unit_test(only_the_host_ports_own_sources_pass),
		cmocka_unit_test(only_listed_vlan_tags_pass_two_at_most),
		cmocka_unit_test(a_tag_beside_the_frame_is_judged_stripped_and_charged),
		cmocka_unit_test(arp_and_nd_end_at_the_dpu_and_nothing_else_does),
		cmocka_unit_test(destinations_that_no_peer_can_have_end_here),
		cmocka_unit_test(the_exact_destination_comes_before_the_prefix),
		cmocka_unit_test(a_destination_that_moves_to_another_peer_is_his_at_once),
		cmocka_unit_test(a_packet_departs_when_we_say_and_not_when_its_host_does),
		cmocka_unit_test(a_packet_leaves_with_the_tag_and_no_mark_of_the_host),
		cmocka_unit_test(ipv4_options_are_walked_and_source_routes_refused),
		cmocka_unit_test(ipv6_extension_headers_are_followed_to_the_transport),
		cmocka_unit_test(lying_lengths_are_malformed),
		cmocka_unit_test(a_frame_cut_anywhere_never_passes),
	};

	return cmocka_run_group_tests_name("pipeline", tests, rig_setup, rig_teardown);
}
