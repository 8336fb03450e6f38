// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packets that an uplink's hardware has decrypted, in their second pass, with the peer's id in the
 * mark (bpf/lib/inbound.h). The first pass needs a driver: tests/vm/27_offload_in.sh.
 */
#include "prog.h"

#define POLICY                                                                                     \
	"version: 1\nnode: rig\nuplinks: [p0]\n"                                                   \
	"host_ports:\n"                                                                            \
	"  - { dev: h0, sources: [10.0.7.0/24, fd00:7::/64] }\n"                                   \
	"  - { dev: h1, sources: [10.0.8.0/24] }\n"                                                \
	"heartbeat: none\npeers:\n"                                                                \
	"  - { name: sealed, addresses: [10.3.0.1, 'fd00:3::1'], ipsec: { remote: 192.0.2.9 },"    \
	" from: [h0], grant: { rate: 1gbit }, accept: { rate: 8mbit, burst: 3000b } }\n"           \
	"  - { name: other, addresses: [10.4.0.1], ipsec: { remote: 192.0.2.10 },"                 \
	" grant: { rate: 1gbit } }\n"                                                              \
	"  - { name: open, addresses: [10.1.0.1], path: clear, via: 192.0.2.1,"                    \
	" grant: { rate: 1gbit } }\n"
#define BOTH (BWL_TUN_SA_IN | BWL_TUN_DEV_IN)
#define FROM_SEALED "eth ip4 src=10.3.0.1 dst=10.0.7.2 udp "

static void decrypting(void)
{
	apply(POLICY);
	rig_advance(RIG_SECOND);
	rig->pins->tunnel[id_of("sealed")].flags = BOTH;
}

static const char *again(const char *peer, const char *spec)
{
	uint32_t mark = (rig->pins->ctl->tag & ~BWL_MARK_ID) | (peer ? id_of(peer) : 0);

	return judge(&(struct rig_packet){ .prog = RIG_UPIN,
					   .port = RIG_P0,
					   .spec = spec,
					   .mark = mark },
		     NULL);
}

static const char *again_sealed(const char *spec)
{
	return again("sealed", spec);
}

static void what_a_device_decrypted_is_taken_for_the_peer_whose_sa_it_was(void **state)
{
	(void)state;
	decrypting();
	EXPECT(again_sealed, { FROM_SEALED, "pass-accept" },
	       { "eth ip6 src=fd00:3::1 dst=fd00:7::2 udp", "pass-accept" },
	       { "eth ip4 src=10.4.0.1 dst=10.0.7.2 udp", "tunnel-source" },
	       { "eth ip4 src=10.1.0.1 dst=10.0.7.2 udp", "tunnel-source" },
	       { "eth ip4 src=10.9.9.9 dst=10.0.7.2 udp", "tunnel-source" },
	       { "eth ip4 src=10.3.0.1 dst=192.0.2.2 udp", "uplink-in" },
	       { "eth ip4 src=10.3.0.1 dst=10.0.8.2 udp", "from" },
	       { "eth ip4 src=10.3.0.1 dst=10.0.7.2 len=9999 udp", "malformed" },
	       /*
		* Inside a tunnel there is no neighbour discovery, no ESP to the DPU and no key
		* exchange.
		*/
	       { "eth arp op=1", "tunnel-source" },
	       { "eth ip4 src=192.0.2.9 dst=192.0.2.2 type=50 fill=60", "tunnel-source" },
	       { "eth ip4 src=192.0.2.9 dst=192.0.2.2 udp sport=500 dport=500 fill=60",
		 "tunnel-source" });
}

static void it_is_charged_to_accept(void **state)
{
	(void)state;
	decrypting();
	assert_string_equal(again_sealed(FROM_SEALED "fill=1400"), "pass-accept");
	assert_string_equal(again_sealed(FROM_SEALED "fill=1400"), "pass-accept");
	assert_string_equal(again_sealed(FROM_SEALED "fill=1400"), "accept-rate");
}

static void without_an_inbound_sa_in_a_device_no_mark_opens(void **state)
{
	static const uint8_t flags[] = { 0, BWL_TUN_SA_IN, BWL_TUN_DEV_IN, (uint8_t)~BOTH };
	size_t i;

	(void)state;
	decrypting();
	for (i = 0; i < sizeof(flags); i++) {
		rig->pins->tunnel[id_of("sealed")].flags = flags[i];
		assert_string_equal(again_sealed(FROM_SEALED), "no-sa");
	}
	rig->pins->tunnel[id_of("sealed")].flags = BOTH;
	assert_string_equal(again_sealed(FROM_SEALED), "pass-accept");
	assert_string_equal(again("other", "eth ip4 src=10.4.0.1 dst=10.0.7.2 udp"), "no-sa");
	assert_string_equal(again(NULL, FROM_SEALED), "no-sa");
	rig->pins->tunnel[id_of("open")].flags = BOTH; /* a clear peer has no SA that counts */
	assert_string_equal(again("open", "eth ip4 src=10.1.0.1 dst=10.0.7.2 udp"), "no-sa");
	/* Without the mark, anybody on the wire can send it. */
	assert_string_equal(uplink(FROM_SEALED), "no-sa");
}

static void a_mark_that_is_not_this_boots_opens_nothing(void **state)
{
	struct rig_packet k = { .prog = RIG_UPIN, .port = RIG_P0, .spec = FROM_SEALED };
	unsigned bit;

	(void)state;
	decrypting();
	for (bit = 22; bit < 32; bit++) {
		k.mark = ((rig->pins->ctl->tag ^ 1U << bit) & ~BWL_MARK_ID) | id_of("sealed");
		assert_string_equal(judge(&k, NULL), "no-sa");
	}
}

static void a_revoked_peers_is_refused(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	decrypting();
	assert_int_equal(bwl_revoke(rig->pins, "sealed", &e), 0);
	rig->pins->tunnel[id_of("sealed")].flags = BOTH;
	assert_string_equal(again_sealed(FROM_SEALED), "revoked");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(what_a_device_decrypted_is_taken_for_the_peer_whose_sa_it_was),
		RIG_TEST(it_is_charged_to_accept),
		RIG_TEST(without_an_inbound_sa_in_a_device_no_mark_opens),
		RIG_TEST(a_mark_that_is_not_this_boots_opens_nothing),
		RIG_TEST(a_revoked_peers_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
