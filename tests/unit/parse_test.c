// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The programs' parser, compiled for the host: frames truncated at every byte, false lengths, and
 * the headers that give destination and class. Each frame ends where its memory ends, so that a
 * sanitizer sees any read beyond it.
 */
#include "test.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bpf/lib/parse.h"
#include "bwl/pins.h"
#include "bwl/policy.h"
#include "tests/harness/frame.h"

#define V4 "ip4 src=10.7.0.2 dst=10.1.0.1 "
#define V6 "ip6 src=fd00:7::2 dst=fd00:1::1 "

static uint8_t proto_class[256], port_class[2][65536];

static void build(const char *spec, struct frame *f)
{
	const struct frame_env env = { .gateway = { 2, 0, 0, 0, 0, 2 },
				       .own = { 2, 0, 0, 0, 0, 1 } };
	char why[160];

	if (frame_build(spec, &env, f, why))
		fail_msg("%s: %s", spec, why);
}

static bool gso;       /* the kernel says that the next frame is a GSO packet */
static bool was_plain; /* the parser of plain frames accepted the last frame */

/* linear: bytes that can be read; frame_len: bytes of the whole frame. Both parsers must agree. */
static unsigned parse(const struct frame *f, size_t linear, size_t frame_len, struct bwl_pkt *k)
{
	uint8_t *exact = malloc(linear + 2); /* 2 bytes in front align the IP header */
	struct bwl_pkt plain;
	unsigned r;

	assert_non_null(exact);
	memcpy(exact + 2, f->data, linear);
	memset(k, 0, sizeof(*k));
	r = (unsigned)bwl_parse(k, exact + 2, exact + 2 + linear, (uint32_t)frame_len, gso);
	memset(&plain, 0xaa, sizeof(plain));
	was_plain = bwl_parse_plain(&plain, exact + 2, exact + 2 + linear, (uint32_t)frame_len);
	if (was_plain) {
		assert_int_equal(r, BWL_R_NONE);
		assert_memory_equal(&plain, k, sizeof(plain));
	}
	free(exact);
	return r;
}

static void expect(const char *spec, unsigned want)
{
	static struct frame f;
	struct bwl_pkt k;
	unsigned got;

	build(spec, &f);
	got = parse(&f, f.len, f.len, &k);
	if (got != want)
		fail_msg("%s: %s instead of %s", spec, bwl_reason_name(got), bwl_reason_name(want));
}

static void expect_class(const char *spec, unsigned want)
{
	static struct frame f;
	struct bwl_pkt k;
	unsigned got;

	build(spec, &f);
	assert_int_equal(parse(&f, f.len, f.len, &k), BWL_R_NONE);
	got = bwl_classify(&k, proto_class, port_class[0], port_class[1]);
	if (got != want)
		fail_msg("%s: class %s instead of %s", spec, bwl_class_name(got),
			 bwl_class_name(want));
}

static const char *const whole[] = {
	"eth " V4 "udp dport=53 fill=40",
	"eth " V4 "tcp dport=443 doff=10 fill=60",
	"eth " V4 "icmp kind=8 fill=20",
	"eth ip4 src=10.7.0.2 dst=10.1.0.1 opt=0101940400000000 tcp fill=40",
	"eth " V4 "mf=1 fill=64",
	"eth vlan id=5 " V4 "udp fill=40",
	"eth vlan id=5 tpid=0x88a8 vlan id=6 " V6 "udp fill=40",
	"eth " V6 "tcp fill=40",
	"eth " V6 "ext kind=0 size=8 ext kind=60 size=32 tcp fill=40",
	"eth " V6 "frag6 off=0 mf=1 fill=40",
	"eth ip6 src=fd00:7::2 dst=fd00:1::1 hop=255 nd kind=135 target=fd00:1::1",
	"eth arp sip=10.7.0.2 tip=10.7.0.1",
};

#define EACH_FRAME(spec)                                                                           \
	for (const char *const *at = whole, *spec = *at;                                           \
	     at < whole + sizeof(whole) / sizeof(*whole) && (spec = *at); at++)

static void a_frame_cut_at_any_byte_never_passes(void **state)
{
	static struct frame f;
	struct bwl_pkt k;
	size_t n;

	(void)state;
	EACH_FRAME(spec)
	{
		build(spec, &f);
		assert_int_equal(parse(&f, f.len, f.len, &k), BWL_R_NONE);
		for (n = 0; n < f.len; n++) {
			unsigned r = parse(&f, n, n, &k);

			if (r != BWL_R_TRUNCATED && r != BWL_R_MALFORMED)
				fail_msg("%s: cut to %zu of %zu bytes: %s", spec, n, f.len,
					 bwl_reason_name(r));
		}
	}
}

/*
 * A frame may extend beyond what can be read. Then it counts as truncated until the headers can be
 * read.
 */
static void where_only_the_start_can_be_read_headers_decide(void **state)
{
	static struct frame f;
	struct bwl_pkt k, all;
	size_t n;

	(void)state;
	EACH_FRAME(spec)
	{
		bool told = false;

		build(spec, &f);
		parse(&f, f.len, f.len, &all);
		for (n = 0; n < f.len; n++) {
			unsigned r = parse(&f, n, f.len, &k);

			if (r == BWL_R_NONE) {
				told = true;
				k.nd = all.nd;
				if (!all.nvid) /* after the header, as above */
					k.qpn = all.qpn;
				assert_memory_equal(&k, &all, sizeof(k));
			} else if (r != BWL_R_TRUNCATED || told) {
				fail_msg("%s: %zu of %zu bytes can be read: %s", spec, n, f.len,
					 bwl_reason_name(r));
			}
		}
	}
}

static void bytes_behind_the_ip_packet_change_nothing(void **state)
{
	static struct frame f;
	struct bwl_pkt k, padded;

	(void)state;
	EACH_FRAME(spec)
	{
		build(spec, &f);
		assert_int_equal(parse(&f, f.len, f.len, &k), BWL_R_NONE);
		memset(f.data + f.len, 0x81, 64);
		if (k.arp) { /* ARP may have padding, but not more */
			assert_int_equal(parse(&f, f.len + 64, f.len + 64, &padded),
					 BWL_R_MALFORMED);
			continue;
		}
		assert_int_equal(parse(&f, f.len + 64, f.len + 64, &padded), BWL_R_NONE);
		if (k.nd) /* with padding it is not for us */
			assert_int_equal(padded.nd, 0);
		padded.nd = k.nd;
		assert_memory_equal(&k, &padded, sizeof(k));
	}
}

static void lengths_that_lie_are_malformed(void **state)
{
	(void)state;
	expect("eth " V4 "len=2000 udp fill=40", BWL_R_MALFORMED);
	expect("eth " V4 "len=19 udp fill=40", BWL_R_MALFORMED);
	expect("eth " V4 "len=0 udp fill=40", BWL_R_MALFORMED);
	expect("eth " V4 "len=27 udp fill=40", BWL_R_MALFORMED);
	expect("eth " V4 "len=27 udp len=0 fill=40", BWL_R_MALFORMED);
	expect("eth " V4 "len=39 tcp fill=40", BWL_R_MALFORMED);
	expect("eth " V4 "ihl=4 udp fill=40", BWL_R_MALFORMED);
	expect("eth " V4 "ihl=0 udp fill=40", BWL_R_MALFORMED);
	expect("eth " V4 "ihl=15 len=40 udp fill=12", BWL_R_MALFORMED);
	expect("eth " V4 "udp len=100 fill=40", BWL_R_MALFORMED);
	expect("eth " V4 "udp len=7 fill=40", BWL_R_MALFORMED);
	expect("eth " V4 "tcp doff=4 fill=40", BWL_R_MALFORMED);
	expect("eth " V4 "tcp doff=0 fill=40", BWL_R_MALFORMED);
	expect("eth " V4 "tcp doff=15 fill=39", BWL_R_MALFORMED);
	expect("eth " V6 "len=2000 udp fill=40", BWL_R_MALFORMED);
	expect("eth " V6 "len=7 udp fill=40", BWL_R_MALFORMED);
	expect("eth " V6 "len=0 tcp fill=40", BWL_R_MALFORMED);
	expect("eth " V6 "type=0 hex=11ff010400000000 fill=40", BWL_R_MALFORMED);
	expect("eth " V6 "len=4 frag6 off=0 mf=1 fill=40", BWL_R_MALFORMED);
	expect("eth ip4 src=10.7.0.2 dst=10.1.0.1 opt=94010000 udp", BWL_R_MALFORMED);
	expect("eth ip4 src=10.7.0.2 dst=10.1.0.1 opt=94000000 udp", BWL_R_MALFORMED);
	/* a length that does not fit or is missing */
	expect("eth ip4 src=10.7.0.2 dst=10.1.0.1 opt=820b0000 udp", BWL_R_MALFORMED);
	expect("eth ip4 src=10.7.0.2 dst=10.1.0.1 opt=82050000 udp", BWL_R_MALFORMED);
	expect("eth ip4 src=10.7.0.2 dst=10.1.0.1 opt=01010182 udp", BWL_R_MALFORMED);
	expect("eth ip4 src=10.7.0.2 dst=10.1.0.1 opt=820b00000000000000000000 udp", BWL_R_NONE);
	expect("eth ip4 src=10.7.0.2 dst=10.1.0.1 opt=01010082 udp", BWL_R_NONE);
	expect("eth type=0x0800 hex=65000014 fill=40", BWL_R_MALFORMED);
	expect("eth type=0x86dd hex=45000014 fill=60", BWL_R_MALFORMED);
}

static void a_way_that_the_host_chose_is_refused(void **state)
{
	(void)state;
	expect("eth ip4 src=10.7.0.2 dst=10.1.0.1 opt=8307040a01010100 udp", BWL_R_SOURCE_ROUTE);
	expect("eth ip4 src=10.7.0.2 dst=10.1.0.1 opt=018907040a010101 udp", BWL_R_SOURCE_ROUTE);
	expect("eth " V6 "ext kind=43 size=8 udp", BWL_R_SOURCE_ROUTE);
	expect("eth " V6 "ext kind=60 size=8 ext kind=43 size=24 udp", BWL_R_SOURCE_ROUTE);
}

static void what_cannot_be_followed_is_refused(void **state)
{
	(void)state;
	expect("eth vlan id=1 vlan id=2 vlan id=3 " V4 "udp", BWL_R_VLAN);
	expect("eth type=0x88cc fill=40", BWL_R_ETHERTYPE);
	expect("eth type=0x8847 fill=40", BWL_R_ETHERTYPE);
	expect("eth " V6
	       "ext kind=0 size=8 ext kind=60 size=8 ext kind=60 size=8 ext kind=60 size=8 ext kind=60 size=8 ext kind=60 size=8 ext kind=60 size=8 ext kind=60 size=8 ext kind=60 size=8 udp",
	       BWL_R_EXT_HEADERS);
	expect("eth vlan id=1 vlan id=2 type=0x88a8 hex=00030800 fill=40", BWL_R_VLAN);
	expect("eth ip4 src=10.7.0.2 dst=10.1.0.1 opt=010101010101010101010101 udp",
	       BWL_R_EXT_HEADERS);
	/* ten options, and nothing after them */
	expect("eth ip4 src=10.7.0.2 dst=10.1.0.1 opt=010101010101010101820300 udp", BWL_R_NONE);
}

static void no_header_is_read_where_none_may_begin(void **state)
{
	static uint8_t frame[BWL_MAX_OFF + 100];

	(void)state;
	assert_ptr_equal(bwl_at(frame, frame + sizeof(frame), BWL_MAX_OFF, 60),
			 frame + BWL_MAX_OFF);
	assert_null(bwl_at(frame, frame + sizeof(frame), BWL_MAX_OFF + 1, 60));
}

static void an_ipv6_address_in_which_an_ipv4_one_hides_is_nobodys(void **state)
{
	static const char *const nobodys[] = {
		"::ffff:10.7.0.2",
		"::ffff:0.0.0.0",
		"::ffff:255.255.255.255", /* mapped */
		"::10.7.0.2",
		"::1",
		"::2",            /* compatible: RFC 4291, 2.5.5.1 */
		"::ffff:0:a07:2", /* translated: RFC 2765 */
		"0:0:ffff:ffff:ffff:ffff:ffff:ffff",
	};
	static const char *const others[] = {
		/* controls, as source and as destination */
		"64:ff9b::10.7.0.2", /* translated: RFC 6052; on a wire, whoever the policy says */
		"64:ff9b:1::a07:2",    "2002:a07:2::1", "0:1::ffff:a07:2",
		"fd00::ffff:10.7.0.2", "100::1",
	};
	static const char *const what[] = {
		"udp sport=500 dport=500 fill=40",
		"tcp dport=179 fill=20",
		"ext kind=0 size=8 udp fill=40",
		"frag6 off=0 mf=1 udp fill=40",
		"frag6 off=8 fill=40",
		"type=50 fill=40",
		"hop=255 nd kind=136 target=fd00:7::2",
		"", /* no more than the header */
	};
	char spec[160];

	(void)state;
	for (size_t w = 0; w < sizeof(what) / sizeof(*what); w++) {
		for (size_t i = 0; i < sizeof(nobodys) / sizeof(*nobodys); i++) {
			snprintf(spec, sizeof(spec), "eth ip6 src=%s dst=fd00:1::1 %s", nobodys[i],
				 what[w]);
			expect(spec, BWL_R_SRC_ADDR);
			snprintf(spec, sizeof(spec), "eth ip6 src=fd00:7::2 dst=%s %s", nobodys[i],
				 what[w]);
			expect(spec, BWL_R_LOCAL_PROTO);
		}
		for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
			snprintf(spec, sizeof(spec), "eth ip6 src=%s dst=%s %s", others[i],
				 others[i], what[w]);
			expect(spec, BWL_R_NONE);
		}
		snprintf(spec, sizeof(spec), "eth ip6 src=:: dst=fd00:1::1 %s", what[w]);
		expect(spec, BWL_R_NONE); /* a sender that has none yet */
		snprintf(spec, sizeof(spec), "eth ip6 src=fd00:7::2 dst=:: %s", what[w]);
		expect(spec, BWL_R_LOCAL_PROTO);
	}
	/* A length that lies is told first; no later stage sees a family. */
	expect("eth ip6 src=::ffff:10.7.0.2 dst=fd00:1::1 len=1000 udp", BWL_R_MALFORMED);
}

static void a_class_is_that_of_the_outermost_ports(void **state)
{
	(void)state;
	expect_class("eth " V4 "udp dport=4791 hex=0400000000000000", BWL_C_ROCEV2);
	expect_class("eth " V4 "udp dport=4791 hex=8100000000000000", BWL_C_CNP);
	expect_class("eth " V4 "udp dport=4791 hex=81000000000000", BWL_C_ROCEV2); /* too short */
	expect_class("eth " V4 "udp sport=4791 dport=9 hex=81000000", BWL_C_ROCEV2);
	expect_class("eth " V4 "tcp dport=4420", BWL_C_NVME_TCP);
	expect_class("eth " V4 "tcp sport=4420 dport=50000", BWL_C_NVME_TCP);
	expect_class("eth " V4 "tcp sport=4420 dport=22", BWL_C_SSH);
	expect_class("eth " V4 "udp dport=22", BWL_C_OTHER);
	expect_class("eth " V6 "ext kind=60 size=16 tcp dport=443", BWL_C_HTTPS);
	expect_class("eth vlan id=9 " V6 "udp dport=53", BWL_C_DNS);
	expect_class("eth " V4 "icmp kind=8", BWL_C_ICMP);
	/* a CNP is one for RoCE's port, not from it */
	expect_class("eth " V4 "udp dport=4791 hex=81000000 fill=60", BWL_C_CNP);
	expect_class("eth " V4 "udp sport=4791 dport=50000 hex=81000000 fill=60", BWL_C_ROCEV2);
	expect_class("eth " V4 "type=4 " V4 "udp dport=53", BWL_C_OTHER);
}

static void a_queue_pair_is_read_where_roce_has_it(void **state)
{
	static const struct {
		const char *spec;
		uint32_t qpn;
	} cases[] = {
		{ "eth " V4 "udp dport=4791 hex=0a40ffff00a1b2c3", 0xa1b2c3 },
		{ "eth " V4 "udp dport=4791 hex=0a40ffff00a1b2c3 fill=60", 0xa1b2c3 },
		{ "eth " V6 "udp dport=4791 hex=0a40ffff00a1b2c3", 0xa1b2c3 },
		{ "eth " V4 "udp dport=4791 hex=0a40ffff00a1b2", 0 },
		{ "eth " V4 "tcp dport=4791 fill=60", 0 },
	};
	static struct frame f;
	struct bwl_pkt k;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		build(cases[i].spec, &f);
		assert_int_equal(parse(&f, f.len, f.len, &k), BWL_R_NONE);
		assert_int_equal(bwl_ntohl(k.qpn), cases[i].qpn);
	}
}

static void a_fragment_is_of_class_other(void **state)
{
	(void)state;
	expect_class("eth ip4 src=10.7.0.2 dst=10.1.0.1 mf=1 udp dport=53 fill=40", BWL_C_OTHER);
	expect_class("eth ip4 src=10.7.0.2 dst=10.1.0.1 off=8 udp dport=53 fill=40", BWL_C_OTHER);
	expect_class("eth " V6 "frag6 off=0 mf=0 udp dport=53 fill=40", BWL_C_OTHER);
}

#define SOL "eth ip6 src=fe80::2 dst=ff02::1:ff01:2 hop=255 nd kind=135 target="

static void arp_and_nd_are_themselves_only_in_good_form(void **state)
{
	static const struct {
		const char *spec;
		unsigned reason;
		uint8_t arp, nd; /* enum bwl_arp_kind, enum bwl_nd_kind */
	} cases[] = {
		{ "eth arp sip=10.7.0.2 tip=10.7.0.1", BWL_R_NONE, BWL_ARP_REQUEST, 0 },
		{ "eth arp smac=02:00:00:00:00:09 sip=10.7.0.2 tip=10.7.0.1", BWL_R_SRC_MAC, 0, 0 },
		{ "eth type=0x0806 hex=0001080006050001 fill=20", BWL_R_MALFORMED, 0, 0 },
		{ "eth arp op=2 sip=10.7.0.2 tip=10.7.0.1", BWL_R_NONE, BWL_ARP_REPLY, 0 },
		{ "eth arp op=3 sip=10.7.0.2 tip=10.7.0.1", BWL_R_MALFORMED, 0, 0 },
		{ "eth arp op=257 sip=10.7.0.2 tip=10.7.0.1", BWL_R_MALFORMED, 0, 0 },
		{ "eth arp sip=10.7.0.2 tip=10.7.0.1 fill=22", BWL_R_NONE, BWL_ARP_REQUEST, 0 },
		{ "eth arp sip=10.7.0.2 tip=10.7.0.1 fill=23", BWL_R_MALFORMED, 0, 0 },
		{ "eth " V6 "hop=255 nd kind=135 target=fd00:1::1", BWL_R_NONE, 0, BWL_ND_NS },
		{ "eth " V6 "hop=255 nd kind=135 target=fd00:1::2", BWL_R_NONE, 0, 0 },
		{ "eth dst=33:33:ff:00:00:01 " V6 "hop=255 nd kind=135 target=fd00:1::1",
		  BWL_R_NONE, 0, 0 },
		{ "eth " V6 "hop=255 nd kind=136 target=fd00:7::2", BWL_R_NONE, 0, BWL_ND_NA },
		{ "eth " V6 "hop=255 nd kind=136 target=ff02::1", BWL_R_NONE, 0, 0 },
		{ SOL "fe80::1:2", BWL_R_NONE, 0, BWL_ND_NS },
		{ SOL "fd00:9:9:9:9:9:77:2", BWL_R_NONE, 0, 0 },
		{ SOL "fe80::1:3", BWL_R_NONE, 0, 0 },
		{ SOL "ff02::1:2", BWL_R_NONE, 0, 0 },
		{ SOL "::ffff:10.1.0.2", BWL_R_NONE, 0, 0 }, /* no address of IPv4's neighbours */
		{ SOL "::10.1.0.2", BWL_R_NONE, 0, 0 },
		{ SOL "64:ff9b::10.1.0.2", BWL_R_NONE, 0, BWL_ND_NS },
		{ "eth " V6 "hop=255 nd kind=136 target=::ffff:10.1.0.2", BWL_R_NONE, 0, 0 },
		{ "eth ip6 src=fe80::2 dst=ff02::1 hop=255 nd kind=136 target=fe80::2", BWL_R_NONE,
		  0, BWL_ND_NA },
		{ "eth ip6 src=fe80::2 dst=ff02::2 hop=255 nd kind=136 target=fe80::2", BWL_R_NONE,
		  0, 0 },
		{ "eth ip6 src=fe80::2 dst=ff05::1 hop=255 nd kind=136 target=fe80::2", BWL_R_NONE,
		  0, 0 },
		{ "eth ip6 src=fe80::2 dst=ff02::1 hop=255 nd kind=135 target=fe80::2", BWL_R_NONE,
		  0, 0 },
		/* an address, a nonce and some room, but no more, and nothing after it */
		{ SOL "fe80::1:2 fill=40", BWL_R_NONE, 0, BWL_ND_NS },
		{ SOL "fe80::1:2 fill=41", BWL_R_NONE, 0, 0 },
		{ "eth ip6 src=fe80::2 dst=ff02::1:ff01:2 hop=255 len=24 nd kind=135 target=fe80::1:2 fill=8",
		  BWL_R_NONE, 0, 0 },
		{ "eth " V6 "hop=254 nd kind=135 target=fd00:1::1", BWL_R_NONE, 0, 0 },
		{ "eth " V6 "hop=255 nd kind=133", BWL_R_NONE, 0, 0 },
		{ "eth " V6 "hop=255 ext kind=60 size=8 nd kind=135 target=fd00:1::1", BWL_R_NONE,
		  0, 0 },
	};
	static struct frame f;
	struct bwl_pkt k;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		build(cases[i].spec, &f);
		if (parse(&f, f.len, f.len, &k) != cases[i].reason || k.arp != cases[i].arp ||
		    k.nd != cases[i].nd)
			fail_msg("%s: arp %d nd %d", cases[i].spec, k.arp, k.nd);
	}
	build(SOL "fe80::1:2", &f);
	f.data[14 + 40 + 1] = 1; /* its code */
	assert_int_equal(parse(&f, f.len, f.len, &k), BWL_R_NONE);
	assert_int_equal(k.nd, 0);
}

/* For all other frames parse() checks that both parsers agree. */
static void the_parser_of_plain_frames_takes_those_and_no_other(void **state)
{
	static const struct {
		const char *spec;
		bool plain;
	} cases[] = {
		{ "eth " V4 "udp dport=53 fill=12", true },
		{ "eth " V4 "udp dport=53 fill=11",
		  false }, /* too short: it reads as far as TCP's header */
		{ "eth " V4 "udp dport=4791 hex=81000000 fill=60", true },
		{ "eth " V4 "df=1 tcp dport=443 doff=10 fill=60", true },
		{ "eth " V4 "tcp flags=2", true },
		{ "eth " V4 "icmp kind=8 fill=60", false },
		{ "eth " V4 "mf=1 udp fill=60", false },
		{ "eth " V4 "off=8 udp fill=60", false },
		{ "eth " V4 "udp len=0 fill=60", false },
		{ "eth ip4 src=10.7.0.2 dst=10.1.0.1 opt=01010101 udp fill=60", false },
		{ "eth vlan id=5 " V4 "udp fill=60", false },
		{ "eth " V6 "udp fill=60", false },
		{ "eth arp sip=10.7.0.2 tip=10.7.0.1 fill=8", false },
	};
	static struct frame f;
	struct bwl_pkt k;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		build(cases[i].spec, &f);
		assert_int_equal(parse(&f, f.len, f.len, &k), BWL_R_NONE);
		if (was_plain != cases[i].plain)
			fail_msg("%s: plain %d", cases[i].spec, was_plain);
	}
}

static uint8_t jumbo_header[] = { IPPROTO_TCP, 0, 0xc2, 4 };

/* Parses a frame of frame_len bytes, with the jumbo option if spec has room for it. */
static unsigned big(const char *spec, size_t frame_len, bool is_gso, uint32_t jumbo,
		    struct bwl_pkt *k)
{
	static struct frame f;
	unsigned r;

	build(spec, &f);
	jumbo = htonl(jumbo);
	if (strstr(spec, "kind=0")) {
		memcpy(f.data + 54, jumbo_header, sizeof(jumbo_header));
		memcpy(f.data + 58, &jumbo, sizeof(jumbo));
	}
	gso = is_gso;
	r = parse(&f, f.len, frame_len, k);
	gso = false;
	return r;
}

#define BIG4 "eth " V4 "len=0 tcp dport=443 doff=8 fill=60"
#define BIG6 "eth " V6 "len=0 tcp dport=443 doff=8 fill=60"
#define JUMBO "eth " V6 "len=0 ext kind=0 size=8 tcp dport=443 doff=8 fill=60"

static void a_gso_packet_of_tcp_may_be_longer_than_ip_can_say(void **state)
{
	struct bwl_pkt k;

	(void)state;
	assert_int_equal(big(BIG4, 14 + 65536, true, 0, &k), BWL_R_NONE);
	assert_true(k.plain && k.hdr_len == 14 + 20 + 32 && !bwl_jumbo(&k));
	/* one that its length field can say is judged by that */
	assert_int_equal(big("eth " V4 "tcp dport=443 doff=8 fill=60", 14 + 112, true, 0, &k),
			 BWL_R_NONE);
	assert_int_equal(big(BIG6, 54 + 65536, true, 0, &k), BWL_R_NONE);
	assert_true(k.plain && k.hdr_len == 54 + 32 && !bwl_jumbo(&k));
	assert_int_equal(big(JUMBO, 54 + 180000, true, 180000, &k), BWL_R_NONE);
	assert_true(k.plain && k.hdr_len == 62 + 32 && k.proto == IPPROTO_TCP);
	assert_int_equal(bwl_jumbo(&k), 8); /* not sent on the wire */
	/* An extension header in a frame with a normal length field is charged as usual. */
	assert_int_equal(big("eth " V6 "ext kind=60 size=8 tcp fill=60", 150000, true, 0, &k),
			 BWL_R_NONE);
	assert_true(!k.plain && !bwl_jumbo(&k));
}

static void who_only_claims_to_be_longer_is_malformed(void **state)
{
	static const struct {
		const char *spec;
		size_t len;
		bool gso;
		uint32_t jumbo;
	} lies[] = {
		{ BIG4, 14 + 65535, true, 0 },
		{ BIG4, 14 + 65536, false, 0 },
		{ BIG4, 126, true, 0 },
		{ "eth " V4 "len=0 udp fill=60", 14 + 65536, true, 0 },
		{ "eth " V4 "len=0 mf=1 tcp fill=60", 14 + 65536, true, 0 },
		{ BIG6, 54 + 65535, true, 0 },
		{ BIG6, 54 + 65536, false, 0 },
		{ BIG6, 146, true, 0 },
		{ "eth " V6 "len=0 udp fill=60", 54 + 65536, true, 0 },
		{ JUMBO, 54 + 180000, false, 180000 },
		{ JUMBO, 54 + 180000, true, 179999 },
		{ JUMBO, 54 + 180000, true, 180001 },
		{ JUMBO, 54 + 180000, true, 100 },
		{ JUMBO, 54 + 65535, true, 65535 },
		{ JUMBO, 154, true, 100 },
		{ JUMBO, 154, true, 180000 },
		{ "eth " V6 "len=0 ext kind=60 size=8 tcp fill=60", 54 + 180000, true, 180000 },
	};
	struct bwl_pkt k;

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		unsigned r = big(lies[i].spec, lies[i].len, lies[i].gso, lies[i].jumbo, &k);

		if (r != BWL_R_MALFORMED)
			fail_msg("%zu: %s of %zu bytes: %s", i, lies[i].spec, lies[i].len,
				 bwl_reason_name(r));
	}
	/* another header, longer, with another option, or of another length */
	for (size_t i = 0; i < sizeof(jumbo_header); i++) {
		jumbo_header[i] ^= 1;
		assert_int_equal(big(JUMBO, 54 + 180000, true, 180000, &k), BWL_R_MALFORMED);
		jumbo_header[i] ^= 1;
	}
	assert_int_equal(big("eth " V6 "len=0 type=0", 54 + 180000, true, 0, &k), BWL_R_MALFORMED);
	/* shorter than its IP header, which is there */
	assert_int_equal(big("eth " V6 "udp fill=60", 53, false, 0, &k), BWL_R_MALFORMED);
}

static int tables(void **state)
{
	struct bwl_policy *p = bwl_policy_new();

	(void)state;
	bwl_class_table(p, proto_class, port_class);
	bwl_policy_free(p);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_cut_at_any_byte_never_passes),
		cmocka_unit_test(where_only_the_start_can_be_read_headers_decide),
		cmocka_unit_test(bytes_behind_the_ip_packet_change_nothing),
		cmocka_unit_test(lengths_that_lie_are_malformed),
		cmocka_unit_test(a_way_that_the_host_chose_is_refused),
		cmocka_unit_test(what_cannot_be_followed_is_refused),
		cmocka_unit_test(no_header_is_read_where_none_may_begin),
		cmocka_unit_test(an_ipv6_address_in_which_an_ipv4_one_hides_is_nobodys),
		cmocka_unit_test(a_class_is_that_of_the_outermost_ports),
		cmocka_unit_test(a_queue_pair_is_read_where_roce_has_it),
		cmocka_unit_test(a_fragment_is_of_class_other),
		cmocka_unit_test(arp_and_nd_are_themselves_only_in_good_form),
		cmocka_unit_test(the_parser_of_plain_frames_takes_those_and_no_other),
		cmocka_unit_test(a_gso_packet_of_tcp_may_be_longer_than_ip_can_say),
		cmocka_unit_test(who_only_claims_to_be_longer_is_malformed),
	};

	return cmocka_run_group_tests_name("parse", tests, tables, NULL);
}
