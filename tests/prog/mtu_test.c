// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packets that do not fit into the tunnel are refused before they are charged, and their host is
 * told what would fit; the MSS of a SYN is lowered accordingly. Real flows are in tests/vm.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include "prog.h"

#define POLICY                                                                                     \
	"version: 1\nnode: rig\nuplinks: [p0]\n"                                                   \
	"host_ports:\n"                                                                            \
	"  - { dev: h0, sources: [10.0.7.0/24, fd00:7::/64] }\n"                                   \
	"heartbeat: none\npeers:\n"                                                                \
	"  - { name: sealed, addresses: [10.3.0.1, 'fd00:3::1'], ipsec: { remote: 192.0.2.9 },"    \
	" grant: { rate: 1gbit } }\n"                                                              \
	"  - { name: open, addresses: [10.1.0.1, 'fd00:1::1'], path: clear, via: 192.0.2.1,"       \
	" via6: '2001:db8::1', grant: { rate: 1gbit } }\n"
#define OVERHEAD 57U /* AES-GCM over IPv4 */
#define INNER (RIG_MTU - OVERHEAD)
#define UNKNOWN 85U /* BWL_ESP_MAX */
#define V4 "eth ip4 src=10.0.7.2 dst=10.3.0.1 df=1 "
#define V4_CUTTABLE "eth ip4 src=10.0.7.2 dst=10.3.0.1 "
#define V6 "eth ip6 src=fd00:7::2 dst=fd00:3::1 "
#define QUOTED 64U

static void policy(uint16_t overhead)
{
	uint32_t id;

	apply(POLICY);
	rig_advance(RIG_SECOND);
	id = id_of("sealed");
	rig->pins->ctl->tunnel = 4242;
	rig->pins->tunnel[id].overhead = overhead;
	rig->pins->tunnel[id].flags = BWL_TUN_SA;
}

static struct rig_result res;

static const char *gso(uint32_t size, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static const char *gso(uint32_t size, const char *fmt, ...)
{
	char spec[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(spec, sizeof(spec), fmt, args);
	va_end(args);
	return judge(&(struct rig_packet){ .prog = RIG_HOST,
					   .port = RIG_H0,
					   .spec = spec,
					   .gso_size = size,
					   .gso_segs = size ? 2 : 0 },
		     &res);
}

/* One's complement sum, as in a checksum. */
static uint32_t sum(const uint8_t *p, size_t n, uint32_t from)
{
	uint64_t s = from;
	size_t i;

	for (i = 0; i < n; i++)
		s += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint32_t)s;
}

static bool answered(void)
{
	return res.act == TC_ACT_REDIRECT;
}

/* Made from the frame's own words: reversed, checksums right, for this MTU. */
static void is_too_big4(uint32_t mtu)
{
	const uint8_t *ip = res.data + ETH_HLEN, *icmp = ip + 20, *quote = icmp + 8;

	assert_true(answered());
	assert_int_equal(res.len, ETH_HLEN + 20 + 8 + QUOTED);
	assert_int_equal(ip[9], IPPROTO_ICMP);
	assert_int_equal(sum(ip, 20, 0), 0xffff);
	assert_int_equal(sum(icmp, 8 + QUOTED, 0), 0xffff);
	assert_int_equal(icmp[0] << 8 | icmp[1], 3 << 8 | 4);
	assert_int_equal(icmp[6] << 8 | icmp[7], mtu);
	assert_memory_equal(ip + 16, quote + 12, 4); /* to its sender */
	assert_memory_equal(ip + 12, quote + 16, 4);
	assert_int_equal(quote[0], 0x45);
	assert_int_equal(res.mark, 0);
}

static void is_too_big6(uint32_t mtu)
{
	const uint8_t *ip = res.data + ETH_HLEN, *icmp = ip + 40, *quote = icmp + 8;

	assert_true(answered());
	assert_int_equal(res.len, ETH_HLEN + 40 + 8 + QUOTED);
	assert_int_equal(ip[6], IPPROTO_ICMPV6);
	assert_int_equal(sum(ip + 8, 32 + 8 + QUOTED, IPPROTO_ICMPV6 + 8 + QUOTED), 0xffff);
	assert_int_equal(icmp[0] << 8 | icmp[1], 2 << 8);
	assert_int_equal(icmp[6] << 8 | icmp[7], mtu);
	assert_memory_equal(ip + 24, quote + 8, 16);
	assert_memory_equal(ip + 8, quote + 24, 16);
}

static void what_does_not_fit_into_the_tunnel_is_refused_uncharged_and_its_host_told(void **state)
{
	(void)state;
	policy(OVERHEAD);
	assert_string_equal(gso(0, V4 "udp fill=%u", INNER - 28), "pass");
	assert_string_equal(gso(0, V4 "udp fill=%u", INNER - 27), "too-big");
	is_too_big4(INNER);
	assert_int_equal(rig_charged(rig, RIG_H0, BWL_R_TOO_BIG), 0);
	assert_string_equal(gso(0, V6 "udp fill=%u", INNER - 48), "pass");
	assert_string_equal(gso(0, V6 "udp fill=%u", INNER - 47), "too-big");
	is_too_big6(INNER);
	assert_string_equal(gso(0, V4 "tcp flags=0x10 fill=%u", INNER - 39), "too-big");
	is_too_big4(INNER);
	assert_string_equal(gso(0, V6 "tcp flags=0x10 fill=%u", INNER - 59), "too-big");
	is_too_big6(INNER);
	assert_string_equal(gso(0, V6 "frag6 off=0 mf=1 type=17 fill=%u", INNER - 40), "too-big");
	is_too_big6(INNER);
	/* Without DF the kernel fragments the ESP packet. */
	assert_string_equal(gso(0, V4_CUTTABLE "udp fill=%u", RIG_MTU - 28), "pass");
	assert_string_equal(gso(0, V4_CUTTABLE "udp fill=%u", RIG_MTU - 27), "too-big");
	is_too_big4(INNER);
}

static void of_gso_packets_every_segment_has_to_fit(void **state)
{
	(void)state;
	policy(OVERHEAD);
	assert_string_equal(gso(INNER - 40, V4 "tcp flags=0x10 fill=3000"), "pass");
	assert_string_equal(gso(INNER - 39, V4 "tcp flags=0x10 fill=3000"), "too-big");
	is_too_big4(INNER);
	assert_string_equal(gso(INNER - 60, V6 "tcp flags=0x10 fill=3000"), "pass");
	assert_string_equal(gso(INNER - 59, V6 "tcp flags=0x10 fill=3000"), "too-big");
	is_too_big6(INNER);
}

static void while_the_overhead_is_unknown_the_most_is_taken(void **state)
{
	(void)state;
	policy(0);
	assert_string_equal(gso(0, V4 "udp fill=%u", RIG_MTU - UNKNOWN - 28), "pass");
	assert_string_equal(gso(0, V4 "udp fill=%u", RIG_MTU - UNKNOWN - 27), "too-big");
	is_too_big4(RIG_MTU - UNKNOWN);
	policy(400);
	assert_string_equal(gso(0, V6 "udp fill=1200"), "pass"); /* 1248: every link carries 1280 */
	assert_string_equal(gso(0, V6 "udp fill=1233"), "too-big");
	is_too_big6(1280);
}

/* A checksum that is still to be filled in must not change any byte that was summed. */
static void the_quoted_checksum_stays_as_it_is_when_it_is_filled_in(void **state)
{
	const uint8_t *tcp = res.data + ETH_HLEN + 28 + 20, *udp = res.data + ETH_HLEN + 48 + 40;
	uint32_t field;

	(void)state;
	policy(OVERHEAD);
	assert_string_equal(gso(0, V4 "tcp flags=0x10 seq=305419897 fill=%u", INNER - 39),
			    "too-big");
	field = (uint32_t)tcp[16] << 8 | tcp[17];
	assert_int_equal(~sum(tcp, QUOTED - 20, 0) & 0xffff, field);
	assert_string_equal(gso(0, V6 "udp sport=40001 dport=77 fill=%u", INNER - 47), "too-big");
	field = (uint32_t)udp[6] << 8 | udp[7];
	assert_int_equal(~sum(udp, QUOTED - 40, 0) & 0xffff, field);
}

static void no_error_is_sent_about_an_error_and_not_for_everyone_without_end(void **state)
{
	unsigned i, n = 0;

	(void)state;
	policy(OVERHEAD);
	assert_string_equal(gso(0, V4 "icmp kind=3 code=4 fill=%u", INNER), "too-big");
	assert_false(answered());
	assert_string_equal(gso(0, V4 "icmp kind=8 fill=%u", INNER), "too-big");
	assert_true(answered());
	for (i = 0; i < 4000; i++) {
		assert_string_equal(gso(0, V4 "udp fill=%u", INNER), "too-big");
		n += answered();
	}
	assert_in_range(n, 1, 3999);
}

/*
 * The MSS of a leaving or arriving SYN; the rest of the packet is unchanged, and its checksum
 * right.
 */
static unsigned mss_of(enum rig_prog prog, enum rig_port port, const char *spec, const char *reason,
		       size_t at)
{
	static struct rig_result plain;
	struct rig_packet k = { .prog = prog, .port = port, .spec = spec };
	size_t ip = strstr(spec, "ip6") ? 40 : 20, end;
	uint32_t before, after;

	k.prog = RIG_GATE; /* changes nothing: the frame as it was built */
	rig_run(rig, &k, &plain);
	runs++;
	k.prog = prog;
	assert_string_equal(judge(&k, &res), reason);
	end = plain.len;
	assert_int_equal(res.len, end);
	before = sum(plain.data + ETH_HLEN + ip, end - ETH_HLEN - ip, 0);
	after = sum(res.data + ETH_HLEN + ip, end - ETH_HLEN - ip, 0);
	assert_int_equal(before, after);
	return (unsigned)res.data[ETH_HLEN + ip + at] << 8 | res.data[ETH_HLEN + ip + at + 1];
}

#define HOST_MSS(spec, at) mss_of(RIG_HOST, RIG_H0, spec, "pass", at)

static void the_mss_of_a_syn_is_lowered_to_what_fits(void **state)
{
	(void)state;
	policy(OVERHEAD);
	assert_int_equal(HOST_MSS(V4 "tcp flags=2 doff=6 hex=020405b4", 22), INNER - 40);
	assert_int_equal(HOST_MSS(V4 "tcp flags=0x12 doff=6 hex=020405b4", 22), INNER - 40);
	assert_int_equal(HOST_MSS(V6 "tcp flags=2 doff=6 hex=020405b4", 22), INNER - 60);
	/*
	 * after other options: window scale, selective acknowledgements, padding; at an odd offset
	 */
	assert_int_equal(HOST_MSS(V4 "tcp flags=2 doff=8 hex=030308040201020423280000", 28),
			 INNER - 40);
	assert_int_equal(HOST_MSS(V4 "tcp flags=2 doff=8 hex=0303080402020423280000ff", 27),
			 INNER - 40);
	/* a small one stays, and so do packets that are not SYNs, and a clear peer's */
	assert_int_equal(HOST_MSS(V4 "tcp flags=2 doff=6 hex=02040218", 22), 0x218);
	assert_int_equal(HOST_MSS(V4 "tcp flags=0x10 doff=6 hex=020405b4", 22), 1460);
	assert_int_equal(
		HOST_MSS("eth ip4 src=10.0.7.2 dst=10.1.0.1 tcp flags=2 doff=6 hex=020405b4", 22),
		1460);
	/* a malformed one stays malformed */
	assert_int_equal(HOST_MSS(V4 "tcp flags=2 doff=6 hex=fe002328", 22), 9000);
	assert_int_equal(HOST_MSS(V4 "tcp flags=2 doff=5 hex=02042328", 22), 9000);
	/* also in arriving packets */
	assert_int_equal(
		mss_of(RIG_UPIN, RIG_P0,
		       "eth ip4 src=10.1.0.1 dst=10.0.7.2 tcp flags=0x12 doff=6 hex=02042328",
		       "pass-accept", 22),
		RIG_MTU - 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(what_does_not_fit_into_the_tunnel_is_refused_uncharged_and_its_host_told),
		RIG_TEST(of_gso_packets_every_segment_has_to_fit),
		RIG_TEST(while_the_overhead_is_unknown_the_most_is_taken),
		RIG_TEST(the_quoted_checksum_stays_as_it_is_when_it_is_filled_in),
		RIG_TEST(no_error_is_sent_about_an_error_and_not_for_everyone_without_end),
		RIG_TEST(the_mss_of_a_syn_is_lowered_to_what_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
