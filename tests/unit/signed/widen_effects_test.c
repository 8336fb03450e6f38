// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an item does to others widens, too, and so does what had no value before. Each row is a
 * change by one policy, and its first widening; NULL: there is none.
 */
#include "widen_rig.h"

#define NODE "version: 1\nnode: t\nuplinks: [p0]\n"
#define PORTS "host_ports: [{ dev: h0, sources: [10.0.7.0/24] }]\n"
#define PLAIN NODE PORTS "heartbeat: 60s\n"
#define PEER(name, n, more) "  - { name: " name ", addresses: [10.1.0." #n "/32], " more " }\n"
#define VIA "path: clear, via: 192.0.2.1"
#define BESIDE "path: clear, via: 192.0.2.9"
#define OPEN ", grant: { rate: 1mbit }"
#define MAC(n) ", next_hop_mac: 02:00:5e:00:00:0" #n
#define FAR(n) "ipsec: { remote: 203.0.113." #n " }"
#define ID(id) "ipsec: { remote: 203.0.113.3, id: '" id "' }"
#define PEERS "peers:\n"
#define SELF "  - { name: self, addresses: [198.51.100.9], path: clear, grant: { rate: 1mbit } }\n"

struct row {
	const char *from, *to, *words;
};

static struct bwl_policy *of(const char *text)
{
	struct bwl_policy *p = read_text(text), *q = clone(p);

	bwl_policy_free(p);
	return q;
}

static void each(const struct row *row, size_t n)
{
	char text[BWL_WIDENING_TEXT];

	for (size_t i = 0; i < n; i++) {
		struct bwl_policy *a = of(row[i].from), *b = of(row[i].to);
		struct bwl_holding x = bwl_holding_of(a), y = bwl_holding_of(b);
		struct bwl_widened w;

		if (bwl_widens(&x, &y, &w))
			bwl_widening_text(w.item, text);
		else
			strcpy(text, "nothing");
		if (strcmp(text, row[i].words ? row[i].words : "nothing"))
			fail_msg("row %zu: %s", i, text);
		bwl_widened_free(&w);
		assert_false(widens(a, a));
		bwl_policy_free(a);
		bwl_policy_free(b);
	}
}

/* A thief's MAC for the next hop of an open peer, by a peer that has no grant. */
static void a_closed_peer_moves_nobodys_next_hop(void **state)
{
	static const struct row row[] = {
		{ PLAIN PEERS PEER("open", 2, VIA OPEN),
		  PLAIN PEERS PEER("open", 2, VIA OPEN) PEER("shut", 3, VIA MAC(6)),
		  "next hop 192.0.2.1 at p0: next_hop_mac: asked for -> 02:00:5e:00:00:06" },
		/* the same without another peer at that next hop: an SA may lead there */
		{ PLAIN PEERS PEER("open", 2, FAR(1) OPEN),
		  PLAIN PEERS PEER("open", 2, FAR(1) OPEN) PEER("shut", 3, VIA MAC(6)),
		  "next hop 192.0.2.1 at p0: next_hop_mac: asked for -> 02:00:5e:00:00:06" },
		{ PLAIN PEERS PEER("open", 2, VIA MAC(1) OPEN) PEER("shut", 3, FAR(1)),
		  PLAIN PEERS PEER("open", 2, VIA MAC(1) OPEN) PEER("shut", 3, FAR(1) MAC(6)),
		  "next hop 203.0.113.1 at p0: next_hop_mac: asked for -> 02:00:5e:00:00:06" },
		/* what was fixed by a closed peer is asked for again */
		{ PLAIN PEERS PEER("open", 2, VIA OPEN) PEER("shut", 3, VIA MAC(6)),
		  PLAIN PEERS PEER("open", 2, VIA OPEN),
		  "next hop 192.0.2.1 at p0: next_hop_mac: 02:00:5e:00:00:06 -> asked for" },
		{ PLAIN PEERS PEER("open", 2, FAR(1) OPEN) PEER("shut", 3, FAR(2) MAC(6)),
		  PLAIN PEERS PEER("open", 2, FAR(1) OPEN) PEER("shut", 3, FAR(2)),
		  "next hop 203.0.113.2 at p0: next_hop_mac: 02:00:5e:00:00:06 -> asked for" },
		/* what leads to a far DPU may be any address there, also a clear peer's, and self's
		 */
		{ PLAIN PEERS PEER("open", 2, VIA OPEN) PEER("shut", 3, FAR(2) MAC(6)),
		  PLAIN PEERS PEER("open", 2, VIA OPEN),
		  "next hop 203.0.113.2 at p0: next_hop_mac: 02:00:5e:00:00:06 -> asked for" },
		{ PLAIN PEERS SELF PEER("shut", 3, VIA MAC(6)), PLAIN PEERS SELF,
		  "next hop 192.0.2.1 at p0: next_hop_mac: 02:00:5e:00:00:06 -> asked for" },
		{ PLAIN PEERS SELF PEER("open", 2, BESIDE OPEN) PEER("shut", 3, VIA MAC(6)),
		  PLAIN PEERS SELF PEER("open", 2, BESIDE OPEN),
		  "next hop 192.0.2.1 at p0: next_hop_mac: 02:00:5e:00:00:06 -> asked for" },
		/* beside another next hop */
		{ PLAIN PEERS PEER("open", 2, VIA OPEN) PEER("more", 4, BESIDE OPEN),
		  PLAIN PEERS PEER("open", 2, VIA OPEN) PEER("more", 4, BESIDE OPEN)
			  PEER("shut", 3, VIA MAC(6)),
		  "next hop 192.0.2.1 at p0: next_hop_mac: asked for -> 02:00:5e:00:00:06" },
		{ PLAIN PEERS PEER("open", 2, VIA MAC(1) OPEN) PEER("shut", 3, FAR(2) MAC(6)),
		  PLAIN PEERS PEER("open", 2, VIA MAC(1) OPEN), NULL },
		/* controls: nothing of it is another's */
		{ PLAIN PEERS PEER("open", 2, BESIDE OPEN) PEER("shut", 3, VIA MAC(6)),
		  PLAIN PEERS PEER("open", 2, BESIDE OPEN) PEER("shut", 3, VIA), NULL },
		{ PLAIN PEERS PEER("open", 2, VIA MAC(6) OPEN) PEER("shut", 3, VIA MAC(6)),
		  PLAIN PEERS PEER("open", 2, VIA OPEN) PEER("shut", 3, VIA MAC(6)), NULL },
		{ PLAIN PEERS PEER("open", 2, VIA MAC(6) OPEN),
		  PLAIN PEERS PEER("open", 2, VIA MAC(6) OPEN) PEER("shut", 3, VIA MAC(6)), NULL },
		{ PLAIN PEERS PEER("open", 2, VIA OPEN) PEER("shut", 3, BESIDE MAC(6)),
		  PLAIN PEERS PEER("open", 2, VIA OPEN), NULL },
		{ PLAIN PEERS PEER("open", 2, VIA OPEN),
		  PLAIN PEERS PEER("open", 2, VIA OPEN) PEER("shut", 3, VIA), NULL },
	};

	(void)state;
	each(row, N(row));
}

static void a_closed_peer_lets_nobody_speak_to_this_dpu(void **state)
{
	static const struct row row[] = {
		{ PLAIN PEERS PEER("open", 2, VIA OPEN),
		  PLAIN PEERS PEER("open", 2, VIA OPEN) PEER("shut", 3, FAR(3)),
		  "DPU 203.0.113.3: IKE from there: not heard -> fqdn:shut" },
		{ PLAIN PEERS PEER("shut", 3, FAR(3)),
		  PLAIN PEERS PEER("shut", 3, "ipsec: { remote: 203.0.113.3, id: thief }"),
		  "DPU 203.0.113.3: IKE from there: as another identity -> fqdn:thief" },
		{ PLAIN PEERS PEER("shut", 3, FAR(3)), PLAIN PEERS PEER("shut", 3, VIA), NULL },
	};

	(void)state;
	each(row, N(row));
}

/* No policy that is read has two at one place. If one had, whoever of them was there stays. */
static void of_two_at_one_place_either_is_heard(void **state)
{
	struct bwl_policy *a = of(PLAIN PEERS PEER("a", 2, FAR(3)) PEER("b", 3, FAR(4))), *b;

	(void)state;
	strcpy(a->peers[1].ipsec_remote, a->peers[0].ipsec_remote);
	b = clone(a);
	assert_false(widens(a, b));
	strcpy(b->peers[0].name, "c");
	assert_true(widens(a, b));
	bwl_policy_free(a);
	bwl_policy_free(b);
}

/* Identities are compared as charon compares them, however they are spelt. */
static void a_respelt_identity_is_the_same(void **state)
{
	static const struct row row[] = {
		{ PLAIN PEERS PEER("far", 3, FAR(3) OPEN),
		  PLAIN PEERS PEER("far", 3, ID("fqdn:far") OPEN), NULL },
		{ PLAIN PEERS PEER("far", 3, ID("@far") OPEN),
		  PLAIN PEERS PEER("far", 3, ID("FAR") OPEN), NULL },
		{ PLAIN PEERS PEER("far", 3, ID("dns:Far") OPEN),
		  PLAIN PEERS PEER("far", 3, FAR(3) OPEN), NULL },
		{ PLAIN PEERS PEER("far", 3, ID("A@b") OPEN),
		  PLAIN PEERS PEER("far", 3, ID("email:a@B") OPEN), NULL },
		{ PLAIN PEERS PEER("far", 3, ID("/C=CH/CN=far") OPEN),
		  PLAIN PEERS PEER("far", 3, ID("c=CH,cn=far") OPEN), NULL },
		{ PLAIN PEERS PEER("far", 3, ID("192.0.2.3") OPEN),
		  PLAIN PEERS PEER("far", 3, ID("fqdn:192.0.2.3") OPEN),
		  "peer far: ipsec id: 192.0.2.3 -> fqdn:192.0.2.3" },
		{ PLAIN PEERS PEER("far", 3, FAR(3) OPEN),
		  PLAIN PEERS PEER("far", 3, ID("far.") OPEN),
		  "peer far: ipsec id: fqdn:far -> fqdn:far." },
		{ PLAIN PEERS PEER("far", 3, FAR(3) OPEN),
		  PLAIN PEERS PEER("far", 3, ID("CN=far") OPEN),
		  "peer far: ipsec id: fqdn:far -> CN=far" },
		/* to certificates with UTF8String these are two */
		{ PLAIN PEERS PEER("far", 3, ID("CN=far") OPEN),
		  PLAIN PEERS PEER("far", 3, ID("CN=Far") OPEN),
		  "peer far: ipsec id: CN=far -> CN=Far" },
		{ PLAIN PEERS PEER("shut", 3, FAR(3)), PLAIN PEERS PEER("shut", 3, ID("SHUT")),
		  NULL },
		{ PLAIN, PLAIN "ipsec: { id: '@T' }\n", NULL },
		{ PLAIN, PLAIN "ipsec: { id: u }\n", "ipsec: id: fqdn:t -> fqdn:u" },
	};

	(void)state;
	each(row, N(row));
}

static void what_had_no_value_before_is_compared(void **state)
{
	static const struct row row[] = {
		{ PLAIN PEERS PEER("open", 2, VIA OPEN), PLAIN PEERS PEER("open", 2, FAR(9) OPEN),
		  "peer open: ipsec remote: none -> 203.0.113.9" },
		{ PLAIN "ipsec: { start: trap }\n", PLAIN "ipsec: { start: start }\n",
		  "ipsec: start: trap -> start" },
		{ PLAIN "ipsec: { start: start }\n", PLAIN "ipsec: { start: trap }\n", NULL },
		{ PLAIN "ipsec: { dpd: 10s }\n", PLAIN "ipsec: { dpd: 11s }\n",
		  "ipsec: dpd: 10s -> 11s" },
		{ PLAIN "ipsec: { dpd: 10s }\n", PLAIN "ipsec: { dpd: 9s }\n", NULL },
		/* fewer bytes wait, but for longer */
		{ PLAIN "horizon: 10ms\n" PEERS PEER("open", 2,
						     VIA ", grant: { rate: 8mbit, mode: shape }"),
		  PLAIN "horizon: 20ms\n" PEERS PEER("open", 2,
						     VIA ", grant: { rate: 2mbit, mode: shape }"),
		  "peer open, grant: horizon: 10ms -> 20ms" },
		{ PLAIN "horizon: 20ms\n" PEERS PEER("open", 2,
						     VIA ", grant: { rate: 8mbit, mode: shape }"),
		  PLAIN "horizon: 10ms\n" PEERS PEER("open", 2,
						     VIA ", grant: { rate: 8mbit, mode: shape }"),
		  NULL },
		{ PLAIN PEERS PEER("open", 2, VIA ", grant: { rate: 8mbit, mode: shape }"),
		  PLAIN PEERS PEER("open", 2,
				   VIA ", grant: { rate: 2mbit, burst: 16kb, mode: shape }"),
		  NULL },
	};

	(void)state;
	each(row, N(row));
}

#define IPSEC(key, value) PLAIN "ipsec: { " key ": " value " }\n"
#define PPK(name) PEERS PEER("far", 3, "ipsec: { remote: 203.0.113.3, ppk: " name " }" OPEN)

static void ipsec_is_compared_by_how_strict_it_is(void **state)
{
	static const struct row row[] = {
		{ IPSEC("revocation", "strict"), IPSEC("revocation", "ifuri"),
		  "ipsec: revocation: strict -> ifuri" },
		{ IPSEC("revocation", "ifuri"), IPSEC("revocation", "relaxed"),
		  "ipsec: revocation: ifuri -> relaxed" },
		{ IPSEC("revocation", "relaxed"), IPSEC("revocation", "ifuri"), NULL },
		{ IPSEC("hw_offload", "crypto"), IPSEC("hw_offload", "no"), NULL },
		{ IPSEC("hw_offload", "no"), IPSEC("hw_offload", "crypto"),
		  "ipsec: hw_offload: no -> crypto" },
		{ IPSEC("ppk", "all") PPK("both"), IPSEC("ppk", "all") PPK("none"),
		  "peer far: ipsec ppk: both -> none" },
		{ IPSEC("ppk", "all") PPK("none"), IPSEC("ppk", "all") PPK("both"), NULL },
		{ IPSEC("ppk", "all") PPK("both"), IPSEC("ppk", "all") PPK("all"),
		  "peer far: ipsec ppk: both -> all" },
	};

	(void)state;
	each(row, N(row));
}

/* Who goes live from `monitor` paces what zones, ports and the node held to the byte. */
static void pacing_is_wider_than_monitor(void **state)
{
	static const struct row row[] = {
		{ PLAIN PEERS PEER("open", 2, VIA ", grant: { rate: 1mbit, mode: monitor }"),
		  PLAIN PEERS PEER("open", 2, VIA ", grant: { rate: 1mbit, mode: shape }"),
		  "peer open, grant: mode: monitor -> shape" },
		{ PLAIN PEERS PEER("open", 2, VIA ", grant: { rate: 1mbit, mode: monitor }"),
		  PLAIN PEERS PEER("open", 2, VIA OPEN), NULL },
	};

	(void)state;
	each(row, N(row));
}

#define H0 "{ dev: h0, sources: [10.0.7.0/24] }"
#define H1 "{ dev: h1, sources: [10.0.8.0/24] }"
#define TWO NODE "host_ports: [" H0 ", " H1 "]\nheartbeat: 60s\n"
/* A host port that goes takes its limit with it, and an address is the same however it is spelt. */
static void what_only_takes_away_is_one_persons(void **state)
{
	static const struct row row[] = {
		{ TWO PEERS PEER("open", 2, VIA OPEN ", ports: { h1: { rate: 500kbit } }"),
		  PLAIN PEERS PEER("open", 2, VIA OPEN), NULL },
		{ TWO PEERS PEER("open", 2, VIA OPEN ", ports: { h1: { rate: 500kbit } }"),
		  TWO PEERS PEER("open", 2, VIA OPEN ", from: [h0]"), NULL },
		{ TWO PEERS PEER("open", 2, VIA OPEN ", ports: { h1: { rate: 500kbit } }"),
		  TWO PEERS PEER("open", 2, VIA OPEN),
		  "peer open, port h1: limit: there is one -> none" },
		{ PLAIN PEERS PEER("open", 2, "ipsec: { remote: '2001:db8::a' }" OPEN),
		  PLAIN PEERS PEER("open", 2, "ipsec: { remote: '2001:DB8:0::A' }" OPEN), NULL },
	};

	(void)state;
	each(row, N(row));
}

/* One key renews leases as seldom as `lease_most` allows; where a lease's end destroys keys, that
 * is two people's. */
static void a_shorter_lease_destroys_nothing_by_one_person(void **state)
{
	static const char *const text[] = { PLAIN "lease: 3d\ntamper: { lease: destroy }\n",
					    PLAIN "lease: 3d\ntamper: { lease: revoke }\n" };
	struct bwl_widened w;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct bwl_policy *p = of(text[i]);
		struct bwl_holding is = bwl_holding_of(p), to = is;

		is.lease_most_ns = 86400000000000ULL;
		to.lease_most_ns = 3000000000ULL;
		assert_int_equal(bwl_widens(&is, &to, &w), !i);
		bwl_widened_free(&w);
		bwl_policy_free(p);
	}
}

/* Whoever opens a peer is shown what it was made meanwhile, by one person. */
static void who_opens_a_peer_sees_all_of_it(void **state)
{
	static const char *const words[] = {
		"peer p: addresses: closed -> 10.1.0.2, fd00::/64",
		"peer p: way: closed -> xfrm to 203.0.113.4 by p0",
		"peer p: zone: closed -> none",
		"peer p: contained: closed -> no exit is counted",
		"peer p, grant: grant: none -> there is one",
	};
#define SHUT "  - { name: p, addresses: [10.1.0.2/32, 'fd00::/64'], contained: true, " FAR(4)
	struct bwl_policy *a = of(PLAIN PEERS SHUT " }\n"), *b = of(PLAIN PEERS SHUT OPEN " }\n");
	struct bwl_holding x = bwl_holding_of(a), y = bwl_holding_of(b);
	char text[BWL_WIDENING_TEXT];
	struct bwl_widened w;

	(void)state;
	assert_true(bwl_widens(&x, &y, &w));
	for (unsigned i = 0; i < N(words); i++) {
		bool said = false;

		for (size_t k = 0; k < w.n; k++)
			said = said || !strcmp(bwl_widening_text(&w.item[k], text), words[i]);
		if (!said)
			fail_msg("not said: %s", words[i]);
	}
	bwl_widened_free(&w);
	bwl_policy_free(a);
	bwl_policy_free(b);
}

/* So many addresses that the last are only counted. */
static void many_addresses_are_counted(void **state)
{
#define MANY                                                                                       \
	"  - { name: p, addresses: ['fd00:1111:2222:3333:4444:5555:6666:1/128', 10.1.0.2, "        \
	"10.1.0.3, 10.1.0.4], "
	static const struct row row[] = {
		{ PLAIN PEERS MANY FAR(4) " }\n", PLAIN PEERS MANY FAR(4) OPEN " }\n",
		  "peer p, grant: grant: none -> there is one" },
	};
	struct bwl_policy *a = of(row[0].from), *b = of(row[0].to);
	struct bwl_holding x = bwl_holding_of(a), y = bwl_holding_of(b);
	struct bwl_widened w;
	bool said = false;

	(void)state;
	each(row, N(row));
	assert_true(bwl_widens(&x, &y, &w));
	for (size_t i = 0; i < w.n; i++)
		said = said ||
		       !strcmp(w.item[i].to, "fd00:1111:2222:3333:4444:5555:6666:1, and 3 more");
	assert_true(said);
	bwl_widened_free(&w);
	bwl_policy_free(a);
	bwl_policy_free(b);
}

/* A policy of a document is read with clocks of its own: an end in 2027 was said to be in 2083. */
static void an_end_is_said_by_the_clocks_that_it_was_read_with(void **state)
{
	struct bwl_policy *a = of(PLAIN PEERS PEER(
				  "p", 2,
				  VIA ", grant: { rate: 1mbit, until: 2027-01-15T09:00:00Z }")),
			  *b = of(PLAIN PEERS PEER(
				  "p", 2,
				  VIA ", grant: { rate: 1mbit, until: 2027-01-15T10:00:00Z }"));
	struct bwl_holding x = bwl_holding_of(a), y = bwl_holding_of(b);
	char text[BWL_WIDENING_TEXT];
	struct bwl_widened w;

	(void)state;
	for (int at_boot = 0; at_boot < 2; at_boot++) {
		y.boot_ns = at_boot ? 0 : NOW_BOOT;
		y.wall_s = NOW_WALL - (at_boot ? (int64_t)(NOW_BOOT / 1000000000) : 0);
		assert_true(bwl_widens(&x, &y, &w));
		assert_string_equal(
			bwl_widening_text(w.item, text),
			"peer p, grant: until: 2027-01-15T09:00:00Z -> 2027-01-15T10:00:00Z");
		bwl_widened_free(&w);
	}
	bwl_policy_free(a);
	bwl_policy_free(b);
}

/* Without a heartbeat nothing can be clamped: it is a revocation, which a heartbeat softens. */
static void a_clamp_that_was_a_revocation_stays_one(void **state)
{
#define NEVER NODE PORTS "heartbeat: none\ntamper: { carrier: clamp }\n"
	static const struct row row[] = {
		{ NEVER, PLAIN "tamper: { carrier: clamp }\n", "tamper: carrier: revoke -> clamp" },
		{ NEVER, PLAIN "tamper: { carrier: revoke }\n", NULL },
	};

	(void)state;
	each(row, N(row));
}

/*
 * The host itself fires the clamp, by dropping its link. But a floor passes nothing that the grant
 * has no room for (prog.grant_test), so when it holds is one person's to change; not what it is.
 */
static void a_floor_that_holds_sooner_opens_nothing(void **state)
{
#define FAST                                                                                       \
	", grant: { rate: 1mbit, burst: 10kb, volume: 1mb }, floor: { rate: 100kbit, burst: 20kb }"
#define NEW ", grant: { rate: 1mbit, burst: 10kb, volume: 1mb }"
#define BEAT(t) NODE PORTS "heartbeat: " t "\n"
#define SIGN(act) PLAIN "tamper: { carrier: " act " }\n"
	static const struct row row[] = {
		{ SIGN("log") PEERS PEER("open", 2, VIA FAST),
		  SIGN("clamp") PEERS PEER("open", 2, VIA FAST), NULL },
		{ BEAT("60s") PEERS PEER("open", 2, VIA FAST),
		  BEAT("50s") PEERS PEER("open", 2, VIA FAST), NULL },
		{ BEAT("60s") PEERS PEER("open", 2, VIA FAST),
		  BEAT("60s") "lease: 3d\n" PEERS PEER("open", 2, VIA FAST), NULL },
		{ BEAT("60s") PEERS PEER("open", 2, VIA NEW),
		  BEAT("60s") PEERS PEER("open", 2, VIA FAST),
		  "peer open, floor: floor: none -> there is one" },
	};

	(void)state;
	each(row, N(row));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_closed_peer_moves_nobodys_next_hop),
		cmocka_unit_test(a_closed_peer_lets_nobody_speak_to_this_dpu),
		cmocka_unit_test(of_two_at_one_place_either_is_heard),
		cmocka_unit_test(a_respelt_identity_is_the_same),
		cmocka_unit_test(what_had_no_value_before_is_compared),
		cmocka_unit_test(ipsec_is_compared_by_how_strict_it_is),
		cmocka_unit_test(pacing_is_wider_than_monitor),
		cmocka_unit_test(what_only_takes_away_is_one_persons),
		cmocka_unit_test(a_shorter_lease_destroys_nothing_by_one_person),
		cmocka_unit_test(who_opens_a_peer_sees_all_of_it),
		cmocka_unit_test(many_addresses_are_counted),
		cmocka_unit_test(an_end_is_said_by_the_clocks_that_it_was_read_with),
		cmocka_unit_test(a_clamp_that_was_a_revocation_stays_one),
		cmocka_unit_test(a_floor_that_holds_sooner_opens_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
