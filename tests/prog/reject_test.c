// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `default: reject`: a host is told, at its own port and within that port's small limit, that its
 * packet may not go to its destination. Real programs of hosts are in netns.reject.
 */
#include <linux/if_ether.h>
#include <netinet/in.h>
#define RIG_HOST_ONLY
#include "prog.h"

#define POLICY(DEFAULT)                                                                            \
	"version: 1\nnode: rig\nuplinks: [p0]\ndefault: " DEFAULT "\n"                             \
	"host_ports:\n"                                                                            \
	"  - { dev: h0, sources: [10.0.7.0/24, fd00:7::/64], vlans: [5] }\n"                       \
	"  - { dev: h1, sources: [10.0.8.0/24] }\n"                                                \
	"heartbeat: none\npeers:\n"                                                                \
	"  - { name: open, addresses: [10.1.0.1, 'fd00:1::1'], path: clear, via: 192.0.2.1,"       \
	" via6: '2001:db8::1', grant: { rate: 8kbit, burst: 2kb } }\n"                             \
	"  - { name: mute, addresses: [10.1.0.2], path: clear, via: 192.0.2.1 }\n"                 \
	"  - { name: theirs, addresses: [10.1.0.3], path: clear, via: 192.0.2.1, from: [h1],"      \
	" grant: { rate: 1gbit } }\n"
#define V4(host) "eth ip4 src=10.0.7.2 dst=10.1.0." #host " "
#define V6 "eth ip6 src=fd00:7::2 dst=fd00:9::9 "
#define ARP "eth dst=ff:ff:ff:ff:ff:ff arp op=1 sip=10.0.7.2 tip=10.0.7.1"
#define QUOTED 64U

static struct rig_result res;

static void policy(const char *text)
{
	apply("%s", text);
	rig_advance(RIG_SECOND);
}

/* Through XDP, which leaves it to TC or drops it, then TC. Returns its reason. */
static const char *sent(enum rig_port port, const char *spec)
{
	struct rig_packet k = { .prog = RIG_XDP, .port = port, .spec = spec };

	rig_run(rig, &k, &res);
	runs += res.counted;
	if (res.act == XDP_DROP_ACT)
		return bwl_reason_name(res.reason);
	assert_int_equal(res.counted, 0);
	k.prog = RIG_HOST;
	rig_run(rig, &k, &res);
	runs++;
	assert_int_equal(res.counted, 1);
	return bwl_reason_name(res.reason);
}

static bool told(void)
{
	return res.act == TC_ACT_REDIRECT;
}

/* One's complement sum, as in a checksum. */
static uint32_t sum(const uint8_t *p, size_t n, uint32_t from)
{
	uint64_t s = from;

	for (size_t i = 0; i < n; i++)
		s += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint32_t)s;
}

static void is_prohibited4(void)
{
	const uint8_t *ip = res.data + ETH_HLEN, *icmp = ip + 20, *quote = icmp + 8;

	assert_true(told());
	assert_int_equal(res.len, ETH_HLEN + 20 + 8 + QUOTED);
	assert_int_equal(ip[9], IPPROTO_ICMP);
	assert_int_equal(sum(ip, 20, 0), 0xffff);
	assert_int_equal(sum(icmp, 8 + QUOTED, 0), 0xffff);
	assert_int_equal(icmp[0] << 8 | icmp[1], 3 << 8 | 13);
	assert_memory_equal(icmp + 4, "\0\0\0\0", 4);
	assert_memory_equal(ip + 16, quote + 12, 4); /* to its sender */
	assert_memory_equal(ip + 12, quote + 16, 4);
	assert_int_equal(res.mark, 0);
}

static void is_prohibited6(void)
{
	const uint8_t *ip = res.data + ETH_HLEN, *icmp = ip + 40, *quote = icmp + 8;

	assert_true(told());
	assert_int_equal(res.len, ETH_HLEN + 40 + 8 + QUOTED);
	assert_int_equal(ip[6], IPPROTO_ICMPV6);
	assert_int_equal(sum(ip + 8, 32 + 8 + QUOTED, IPPROTO_ICMPV6 + 8 + QUOTED), 0xffff);
	assert_int_equal(icmp[0] << 8 | icmp[1], 1 << 8 | 1);
	assert_memory_equal(icmp + 4, "\0\0\0\0", 4);
	assert_memory_equal(ip + 24, quote + 8, 16);
	assert_memory_equal(ip + 8, quote + 24, 16);
}

static void the_host_is_told_of_what_no_grant_lets_out(void **state)
{
	struct bwl_err e;

	(void)state;
	policy(POLICY("reject"));
	assert_string_equal(sent(RIG_H0, V4(9) "udp fill=100"), "no-peer");
	is_prohibited4();
	assert_string_equal(sent(RIG_H0, V4(9) "tcp flags=2 doff=6 hex=020405b4"), "no-peer");
	is_prohibited4(); /* shorter than what is quoted */
	assert_string_equal(sent(RIG_H0, V6 "tcp flags=2 fill=0"), "no-peer");
	is_prohibited6();
	assert_string_equal(sent(RIG_H0, V4(2) "udp fill=10"), "no-grant");
	is_prohibited4();
	assert_string_equal(sent(RIG_H0, V4(3) "icmp kind=8 fill=56"), "from");
	is_prohibited4();
	assert_int_equal(bwl_revoke(rig->pins, "open", &e), 0);
	assert_string_equal(sent(RIG_H0, V4(1) "udp fill=10"), "revoked");
	is_prohibited4();
}

static void nothing_is_said_by_deny_nor_of_what_a_limit_refuses(void **state)
{
	(void)state;
	policy(POLICY("deny"));
	assert_string_equal(sent(RIG_H0, V4(9) "udp fill=100"), "no-peer");
	assert_false(told());
	policy(POLICY("reject"));
	assert_string_equal(sent(RIG_H0, V4(1) "udp fill=1200"), "pass");
	assert_string_equal(sent(RIG_H0, V4(1) "udp fill=1200"), "peer-rate");
	assert_false(told());
}

static void nothing_is_said_to_a_spoofer_of_an_error_a_later_fragment_or_to_many(void **state)
{
	static const struct expected silent[] = {
		{ "eth ip4 src=10.9.9.9 dst=10.1.0.9 udp", "source-address" },
		{ V4(9) "icmp kind=3 code=1 fill=64", "no-peer" },
		{ V6 "icmp kind=1 code=0 fill=64", "no-peer" },
		{ "eth ip4 src=10.0.7.2 dst=10.1.0.9 off=185 fill=64", "no-peer" },
		{ "eth dst=ff:ff:ff:ff:ff:ff ip4 src=10.0.7.2 dst=10.1.0.9 udp fill=64",
		  "local-protocol" },
		{ "eth ip4 src=10.0.7.2 dst=224.0.0.5 udp fill=64", "local-protocol" },
		{ "eth vlan id=5 ip4 src=10.0.7.2 dst=10.1.0.9 udp fill=64", "no-peer" },
	};

	(void)state;
	policy(POLICY("reject"));
	for (size_t i = 0; i < sizeof(silent) / sizeof(*silent); i++) {
		const char *got = sent(RIG_H0, silent[i].spec);

		if (strcmp(got, silent[i].reason) || told())
			fail_msg("'%s': %s, %s", silent[i].spec, got, told() ? "told" : "silent");
	}
	assert_string_equal(sent(RIG_H0, V4(9) "udp fill=64"), "no-peer"); /* the same, plain */
	assert_true(told());
}

static void who_asks_without_end_is_told_seldom_and_still_resolves_addresses(void **state)
{
	unsigned n = 0, i;

	(void)state;
	policy(POLICY("reject"));
	for (i = 0; i < 4000; i++) {
		assert_string_equal(sent(RIG_H0, V4(9) "udp fill=64"), "no-peer");
		n += told();
	}
	assert_in_range(n, 1, 3999);
	for (i = 0; i < 20; i++)
		assert_string_equal(sent(RIG_H0, ARP), "pass-neighbour");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(the_host_is_told_of_what_no_grant_lets_out),
		RIG_TEST(nothing_is_said_by_deny_nor_of_what_a_limit_refuses),
		RIG_TEST(nothing_is_said_to_a_spoofer_of_an_error_a_later_fragment_or_to_many),
		RIG_TEST(who_asks_without_end_is_told_seldom_and_still_resolves_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
