// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which ARP and ND packets go up to the kernel, how many neighbours a port may have there, and what
 * the kernel may not send in answer: promises 1 and 5.
 */
#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include "prog.h"

#define SECOND RIG_SECOND
#define POLICY                                                                                     \
	"version: 1\nnode: rig\nuplinks: [p0]\nuplink_control: [bgp]\n"                            \
	"host_ports:\n"                                                                            \
	"  - { dev: h0, sources: [10.0.0.0/16, fd00:7::/64] }\n"                                   \
	"  - { dev: h1, sources: [10.1.0.0/16, fd00:8::/64] }\n"                                   \
	"heartbeat: none\npeers:\n"                                                                \
	"  - { name: one, addresses: [10.9.0.1, 'fd00:1::1'], path: clear, via: 192.0.2.1,"        \
	" via6: '2001:db8::1', grant: { rate: 10gbit, burst: 100mb },"                             \
	" accept: { rate: 10gbit, burst: 100mb } }\n"                                              \
	"  - { name: self, addresses: [198.51.100.0/24], grant: { rate: 1mbit, burst: 3000b } }\n"
#define SHARE (BWL_NEIGHBOURS / 3) /* of three ports */

static void policy(void)
{
	apply(POLICY);
	rig_advance(SECOND);
}

/* The limit on its rate is not tested here. */
static const char *on(enum rig_port port, const char *spec)
{
	rig_advance(SECOND / 100);
	return judge(&(struct rig_packet){ .prog = port < RIG_P0 ? RIG_HOST : RIG_UPIN,
					   .port = port,
					   .spec = spec },
		     NULL);
}

static void is(const char *got, const char *want, const char *spec)
{
	if (strcmp(got, want))
		fail_msg("'%s': %s, expected %s", spec, got, want);
}

/* The port's n-th host asks for the DPU's address. */
static const char *asks(enum rig_port port, int family, unsigned n)
{
	char spec[200];

	if (family == 4)
		snprintf(spec, sizeof(spec),
			 "eth dst=ff:ff:ff:ff:ff:ff arp sip=10.%u.%u.%u tip=10.0.0.1",
			 (unsigned)port, n >> 8 & 255, n & 255);
	else
		snprintf(
			spec, sizeof(spec),
			"eth ip6 src=fd00:%u::1:%x dst=ff02::1:ff00:1 hop=255 nd kind=135 target=fe80::1",
			7 + (unsigned)port, n);
	return on(port, spec);
}

static unsigned taken(enum rig_port port, int family, unsigned from, unsigned n)
{
	unsigned i, sum = 0;

	for (i = 0; i < n; i++)
		sum += !strcmp(asks(port, family, from + i), "pass-neighbour");
	return sum;
}

static void a_solicitation_to_whom_it_may_concern_goes_up_and_no_other(void **state)
{
	(void)state;
	policy();
	EXPECT(host,
	       /* the host's own address: is it free? */
	       { "eth ip6 src=:: dst=ff02::1:ff00:2 hop=255 nd target=fd00:7::2",
		 "pass-neighbour" },
	       { "eth ip6 src=fe80::2 dst=ff02::1:ff00:1 hop=255 nd target=fe80::1",
		 "pass-neighbour" },
	       { "eth ip6 src=fd00:7::2 dst=ff02::1:ff00:1 hop=255 nd target=fd00:7::1",
		 "pass-neighbour" },
	       { "eth ip6 src=fe80::2 dst=fe80::1 hop=255 nd target=fe80::1", "pass-neighbour" },
	       { "eth ip6 src=fd00:7::2 dst=fe80::1 hop=255 nd kind=136 target=fd00:7::2",
		 "pass-neighbour" },
	       { "eth ip6 src=fd00:7::2 dst=ff02::1 hop=255 nd kind=136 target=fd00:7::2",
		 "pass-neighbour" },
	       /* too long, or with data after it */
	       { "eth ip6 src=fd00:7::2 dst=fd00:9::9 hop=255 nd target=fd00:9::9 fill=1180",
		 "no-peer" },
	       { "eth ip6 src=fe80::2 dst=fe80::1 hop=255 nd target=fe80::1 fill=41",
		 "local-protocol" },
	       { "eth ip6 src=fe80::2 dst=fe80::1 hop=255 len=24 nd target=fe80::1 fill=8",
		 "local-protocol" },
	       { "eth arp sip=10.0.0.2 tip=10.0.0.1 fill=100", "malformed" },
	       /* to another target */
	       { "eth ip6 src=fd00:7::2 dst=fd00:9::9 hop=255 nd target=fd00:9::8", "no-peer" },
	       { "eth ip6 src=fd00:7::2 dst=ff02::1:ff00:3 hop=255 nd target=fd00:7::1",
		 "local-protocol" },
	       { "eth ip6 src=fd00:7::2 dst=ff05::2 hop=255 nd kind=136 target=fd00:7::2",
		 "local-protocol" });
	EXPECT(uplink,
	       { "eth ip6 src=fe80::9 dst=ff02::1:ff00:1 hop=255 nd target=fe80::1",
		 "pass-neighbour" },
	       { "eth ip6 src=fe80::9 dst=fe80::1 hop=255 nd target=fe80::1 fill=40",
		 "pass-neighbour" },
	       { "eth ip6 src=fe80::9 dst=fe80::1 hop=255 nd target=fe80::1 fill=41", "uplink-in" },
	       { "eth ip6 src=fe80::9 dst=fd00:9::9 hop=255 nd target=fd00:9::9 fill=1180",
		 "uplink-in" },
	       { "eth ip6 src=fe80::9 dst=ff02::1:ff00:2 hop=255 nd target=fe80::1", "uplink-in" },
	       { "eth arp sip=192.0.2.7 tip=192.0.2.1 fill=23", "malformed" });
	/* for another MAC */
	is(on(RIG_H0, "eth dst=02:00:00:00:00:77 arp sip=10.0.0.2 tip=10.0.0.1"), "local-protocol",
	   "arp");
	is(on(RIG_P0,
	      "eth dst=02:00:00:00:00:77 ip6 src=fe80::9 dst=fe80::1 hop=255 nd target=fe80::1"),
	   "local-protocol", "nd");
}

static void what_every_host_says_to_its_link_is_no_forgery(void **state)
{
	(void)state;
	policy();
	EXPECT(host,
	       /* MLDv2, before and after there is an address; router solicitation; DHCP; IGMP */
	       { "eth dst=33:33:00:00:00:16 ip6 src=fe80::2 dst=ff02::16 hop=1 ext kind=0 size=8 icmp kind=143",
		 "local-protocol" },
	       { "eth dst=33:33:00:00:00:16 ip6 src=:: dst=ff02::16 hop=1 ext kind=0 size=8 icmp kind=143",
		 "local-protocol" },
	       { "eth dst=33:33:00:00:00:02 ip6 src=fe80::2 dst=ff02::2 hop=255 icmp kind=133",
		 "local-protocol" },
	       { "eth dst=33:33:00:00:00:02 ip6 src=:: dst=ff02::2 hop=255 icmp kind=133",
		 "local-protocol" },
	       { "eth dst=ff:ff:ff:ff:ff:ff ip4 src=0.0.0.0 dst=255.255.255.255 udp sport=68 dport=67",
		 "local-protocol" },
	       { "eth dst=01:00:5e:00:00:16 ip4 src=0.0.0.0 dst=224.0.0.22 type=2 fill=16",
		 "local-protocol" },
	       /* beyond the link it is one */
	       { "eth ip6 src=fe80::2 dst=fd00:1::1 udp", "source-address" },
	       { "eth ip6 src=:: dst=fd00:1::1 udp", "source-address" },
	       { "eth ip4 src=0.0.0.0 dst=10.9.0.1 udp", "source-address" },
	       { "eth ip4 src=169.254.1.1 dst=10.9.0.1 udp", "source-address" },
	       { "eth dst=33:33:00:00:00:16 ip6 src=fd00:66::2 dst=ff02::16 hop=1 icmp",
		 "source-address" },
	       { "eth dst=01:00:5e:00:00:16 ip4 src=10.66.0.2 dst=224.0.0.22 type=2 fill=16",
		 "source-address" });
}

static void a_port_has_a_bounded_number_of_neighbours(void **state)
{
	static const int families[] = { 4, 6 };

	(void)state;
	policy();
	for (unsigned i = 0; i < 2; i++) {
		int f = families[i];

		for (enum rig_port port = RIG_H0; port <= RIG_H1; port++) {
			assert_int_equal(taken(port, f, 1, 400), SHARE);
			is(asks(port, f, 401), "neighbour-sources", "one more");
			/* a known one may continue */
			is(asks(port, f, 1), "pass-neighbour", "known");
		}
	}
	/*
	 * One that was silent for as long as the kernel may keep it makes room; one that was heard
	 * stays.
	 */
	rig_advance(35 * SECOND);
	for (unsigned i = 0; i < 2; i++) {
		is(asks(RIG_H0, families[i], 5), "pass-neighbour", "heard again");
		is(asks(RIG_H0, families[i], 500), "neighbour-sources", "too early");
	}
	rig_advance(50 * SECOND);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(taken(RIG_H0, families[i], 500, 400), SHARE - 1);
		is(asks(RIG_H0, families[i], 5), "pass-neighbour", "was heard");
	}
}

static void a_question_from_nobody_makes_no_neighbour(void **state)
{
	(void)state;
	policy();
	taken(RIG_H0, 4, 1, 400);
	taken(RIG_H0, 6, 1, 400);
	is(on(RIG_H0, "eth ip6 src=:: dst=ff02::1:ff00:2 hop=255 nd target=fd00:7::2"),
	   "pass-neighbour", "DAD");
	is(on(RIG_H0, "eth dst=ff:ff:ff:ff:ff:ff arp sip=0.0.0.0 tip=10.0.0.2"), "pass-neighbour",
	   "probe");
	/* An advertisement is about its target, whoever sends it; a reply is about its sender. */
	is(on(RIG_H0, "eth ip6 src=fd00:7::1:1 dst=fe80::1 hop=255 nd kind=136 target=fd00:7::1:1"),
	   "pass-neighbour", "NA");
	is(on(RIG_H0, "eth ip6 src=fd00:7::1:1 dst=fe80::1 hop=255 nd kind=136 target=fd00:7::9:9"),
	   "neighbour-sources", "NA");
	is(on(RIG_H0, "eth arp op=2 sip=10.0.9.9 tip=10.0.0.1"), "neighbour-sources", "reply");
}

static void the_wire_has_a_bound_and_next_hops_none(void **state)
{
	char spec[200];
	unsigned n[2] = { 0 };

	(void)state;
	policy();
	for (unsigned i = 0; i < 400; i++) {
		snprintf(spec, sizeof(spec),
			 "eth dst=ff:ff:ff:ff:ff:ff arp sip=192.0.%u.%u tip=192.0.2.2",
			 3 + (i >> 8), i & 255);
		n[0] += !strcmp(on(RIG_P0, spec), "pass-neighbour");
		snprintf(spec, sizeof(spec),
			 "eth ip6 src=fe80::1:%x dst=ff02::1:ff00:2 hop=255 nd target=fe80::2", i);
		n[1] += !strcmp(on(RIG_P0, spec), "pass-neighbour");
	}
	assert_int_equal(n[0], SHARE);
	assert_int_equal(n[1], SHARE);
	is(on(RIG_P0, "eth dst=ff:ff:ff:ff:ff:ff arp sip=192.0.9.9 tip=192.0.2.2"),
	   "neighbour-sources", "wire");
	is(on(RIG_P0, "eth dst=ff:ff:ff:ff:ff:ff arp sip=192.0.2.1 tip=192.0.2.2"),
	   "pass-neighbour", "via");
	is(on(RIG_P0, "eth ip6 src=2001:db8::1 dst=ff02::1:ff00:2 hop=255 nd target=fe80::2"),
	   "pass-neighbour", "via6");
	/* Answers to the DPU's own requests make no entry. */
	is(on(RIG_P0, "eth arp op=2 sip=192.0.9.9 tip=192.0.2.2"), "pass-neighbour", "reply");
	is(on(RIG_P0, "eth ip6 src=fe80::9:9 dst=fe80::2 hop=255 nd kind=136 target=fe80::9:9"),
	   "pass-neighbour", "NA");
}

static const char *arrives(int family, unsigned n)
{
	char spec[200];

	if (family == 4)
		snprintf(spec, sizeof(spec), "eth ip4 src=10.9.0.1 dst=10.0.%u.%u udp",
			 n >> 8 & 255, n & 255);
	else
		snprintf(spec, sizeof(spec), "eth ip6 src=fd00:1::1 dst=fd00:7::1:%x udp", n);
	return judge(&(struct rig_packet){ .prog = RIG_UPIN, .port = RIG_P0, .spec = spec }, NULL);
}

/*
 * Packets to addresses that do not exist must not fill the table either: the DPU would ask for
 * each.
 */
static void destinations_that_nobody_announced_are_few_at_a_time(void **state)
{
	static const int families[] = { 4, 6 };

	(void)state;
	policy();
	for (unsigned i = 0; i < 2; i++) {
		int f = families[i];
		unsigned n = 0;

		is(asks(RIG_H0, f, 7), "pass-neighbour", "announced");
		for (unsigned k = 1000; k < 1400; k++)
			n += !strcmp(arrives(f, k), "pass-accept");
		assert_int_equal(n, 32);
		is(arrives(f, 2000), "neighbour-sources", "one more");
		is(arrives(f, 1000), "pass-accept", "is being asked for");
		is(arrives(f, 7), "pass-accept", "announced");
	}
	/* By now the kernel has given up. */
	rig_advance(5 * SECOND);
	for (unsigned i = 0; i < 2; i++) {
		is(arrives(families[i], 2000), "pass-accept", "others' turn");
		/* It answers: from now on it is known, whatever fills the rest. */
		is(on(RIG_H0,
		      families[i] == 4
			      ? "eth arp op=2 sip=10.0.7.208 tip=10.0.0.1"
			      : "eth ip6 src=fd00:7::1:7d0 dst=fe80::1 hop=255 nd kind=136 target=fd00:7::1:7d0"),
		   "pass-neighbour", "answer");
		rig_advance(5 * SECOND);
		for (unsigned k = 1000; k < 1400; k++)
			arrives(families[i], k);
		is(arrives(families[i], 2000), "pass-accept", "answered");
	}
}

/*
 * As it goes up: with a mark that does not permit it to leave, and without a MAC chosen by the
 * sender where it would be logged. That the kernel sends no errors about it:
 * tests/netns/neighbour_test.sh.
 */
static void what_goes_up_has_a_mark_that_is_no_right_to_leave(void **state)
{
	static const struct {
		enum rig_prog prog;
		enum rig_port port;
	} hooks[] = {
		{ RIG_HOST, RIG_H0 },
		{ RIG_UPIN, RIG_P0 },
	};
	static const uint8_t none[6];
	struct rig_result r;

	(void)state;
	policy();
	for (unsigned i = 0; i < 2; i++) {
		struct rig_packet k = {
			.prog = hooks[i].prog,
			.port = hooks[i].port,
			.spec = "eth ip6 src=fd00:7::2 dst=fd00:99::9 hop=255 nd target=fd00:99::9"
		};

		is(judge(&k, &r), "pass-neighbour", k.spec);
		assert_int_equal(r.mark, bwl_mark_up(rig->pins->ctl->tag));
		assert_memory_equal(r.data + 6, none, 6);
		k.spec = "eth arp sip=10.0.0.2 tip=10.0.0.1";
		is(judge(&k, &r), "pass-neighbour", k.spec);
		assert_int_equal(r.mark, bwl_mark_up(rig->pins->ctl->tag));
	}
	/* Control of the underlay, and packets to `self`. */
	judge(&(struct rig_packet){ .prog = RIG_UPIN,
				    .port = RIG_P0,
				    .spec = "eth ip4 src=192.0.2.1 dst=192.0.2.2 tcp dport=179" },
	      &r);
	assert_int_equal(r.reason, BWL_R_PASS_CONTROL);
	assert_int_equal(r.mark, bwl_mark_up(rig->pins->ctl->tag));
	/* From then on a host's packets are not the DPU's either. */
	judge(&(struct rig_packet){ .prog = RIG_UPIN,
				    .port = RIG_P0,
				    .spec = "eth ip4 src=10.9.0.1 dst=10.0.0.2 udp" },
	      &r);
	assert_int_equal(r.reason, BWL_R_PASS_ACCEPT);
	assert_int_equal(r.mark, bwl_mark_up(rig->pins->ctl->tag));
}

static uint64_t gate_frames(void)
{
	return rig_frames(rig, BWL_MAX_PORTS + RIG_P0, BWL_R_GATE);
}

static const char *leaves(const char *spec, uint32_t mark, enum rig_port ingress)
{
	return judge(&(struct rig_packet){ .prog = RIG_GATE,
					   .port = RIG_P0,
					   .spec = spec,
					   .mark = mark,
					   .ingress = ingress },
		     NULL);
}

static void what_the_kernel_says_of_a_packet_stays_and_is_no_sign_of_cleartext(void **state)
{
	static const char *const said[] = {
		"eth ip4 src=192.0.2.2 dst=203.0.113.9 icmp kind=3 fill=40",
		"eth ip6 src=2001:db8::2 dst=2001:db8:9::9 icmp kind=1 fill=40",
		"eth ip4 src=192.0.2.2 dst=10.9.0.1 icmp kind=0 fill=40", /* a peer's address */
		"eth ip6 src=2001:db8::2 dst=fd00:1::1 icmp kind=129 fill=40",
		"eth ip4 src=192.0.2.2 dst=203.0.113.9 tcp flags=4",
	};
	uint32_t tag, up;

	(void)state;
	policy();
	tag = rig->pins->ctl->tag;
	up = bwl_mark_up(tag);
	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
		is(leaves(said[i], up, RIG_NOWHERE), "reflected", said[i]);
		is(leaves(said[i], up | 5, RIG_NOWHERE), "reflected", said[i]);
		is(leaves(said[i], up, RIG_H0), "reflected", said[i]);
		/* about a charged packet */
		is(leaves(said[i], tag, RIG_NOWHERE), "reflected", said[i]);
	}
	assert_int_equal(gate_frames(), 0);
	/* The control: of unknown origin, it is a sign. */
	is(leaves(said[0], 0, RIG_H0), "gate", said[0]);
	assert_int_equal(gate_frames(), 1);
	/* Named control, and packets charged to `self`, leave. */
	is(leaves("eth ip4 src=192.0.2.2 dst=192.0.2.1 tcp sport=179 flags=4", up, RIG_NOWHERE),
	   "pass-control", "a reset");
	is(leaves("eth ip4 src=192.0.2.2 dst=198.51.100.1 icmp kind=0 fill=958", up, RIG_NOWHERE),
	   "pass-self", "an echo");
	is(leaves("eth ip4 src=192.0.2.2 dst=198.51.100.1 icmp kind=0 fill=958", up, RIG_P0),
	   "reflected", "forwarded");
	is(leaves("eth ip4 src=10.0.0.2 dst=10.9.0.1 udp", tag, RIG_H0), "pass-gate", "charged");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(a_solicitation_to_whom_it_may_concern_goes_up_and_no_other),
		RIG_TEST(what_every_host_says_to_its_link_is_no_forgery),
		RIG_TEST(a_port_has_a_bounded_number_of_neighbours),
		RIG_TEST(a_question_from_nobody_makes_no_neighbour),
		RIG_TEST(the_wire_has_a_bound_and_next_hops_none),
		RIG_TEST(destinations_that_nobody_announced_are_few_at_a_time),
		RIG_TEST(what_goes_up_has_a_mark_that_is_no_right_to_leave),
		RIG_TEST(what_the_kernel_says_of_a_packet_stays_and_is_no_sign_of_cleartext),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
