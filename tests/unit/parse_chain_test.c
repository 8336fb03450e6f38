// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chains of IPv6 headers, whole and in fragments: whatever is cut where, a datagram that has a
 * routing header somewhere does not arrive, and one that has none does, unless its first fragment
 * lacks a part of the chain. The reference reads the datagram as its receiver would.
 */
#include "test.h"
#include <stdlib.h>
#include <string.h>
#include "bpf/lib/parse.h"
#include "bwl/pins.h"

#define MOST 4096
#define HEADERS 8 /* in a chain, with the fragment's */
#define START (sizeof(struct ethhdr) + sizeof(struct ipv6hdr))

enum fate { FOLLOWED, FINAL, REFUSED };

/* Every protocol number; those that are not named are final. */
static enum fate fate_of(unsigned header)
{
	switch (header) {
	case 0:   /* hop-by-hop options: RFC 8200 */
	case 44:  /* fragment */
	case 51:  /* AH: RFC 4302 */
	case 60:  /* destination options */
	case 135: /* mobility: RFC 6275 */
	case 139: /* HIP: RFC 7401 */
	case 140: /* shim6: RFC 5533 */
		return FOLLOWED;
	case 43: /* routing */
		return REFUSED;
	}
	return FINAL;
}

static uint64_t state = 1;
static unsigned below(unsigned n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(state >> 33) % n;
}

struct datagram {
	uint8_t data[MOST]; /* behind the IPv6 header */
	size_t len;
	size_t chain; /* where its last header ends, as far as a first fragment needs it */
	size_t begins[HEADERS]; /* of its headers */
	unsigned header[HEADERS + 1], n;
	bool routed;
};

static size_t ext_len(unsigned header, unsigned units)
{
	return header == 51 ? 8 + 4 * units : 8 + 8 * units;
}

static void put_ext(struct datagram *d, unsigned header, unsigned next)
{
	/* AH of 16 bytes and more, always whole units of 8 (RFC 4302, 2.2) */
	unsigned units = header == 51 ? 2 + 2 * below(4) : below(4);
	size_t n = ext_len(header, units);
	uint8_t *x = d->data + d->len;

	memset(x, 0, n);
	x[0] = (uint8_t)next;
	x[1] = (uint8_t)units;
	d->len += n;
}

static const unsigned followed[] = { 0, 51, 60, 135, 139, 140 };
static const unsigned last[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_NONE, 50, 41, 4, 47, 58, 253 };

static void make(struct datagram *d, unsigned n)
{
	unsigned i, routing = below(2) ? below(n + 1) : n + 1;

	*d = (struct datagram){ .n = n, .routed = routing < n };
	for (i = 0; i < n; i++)
		d->header[i] = i == routing ? 43 : followed[below(6)];
	d->header[n] = last[below(9)];
	for (i = 0; i < n; i++) {
		d->begins[i] = d->len;
		put_ext(d, d->header[i], d->header[i + 1]);
	}
	d->chain = d->len;
	memset(d->data + d->len, 0, 64);
	if (d->header[n] == IPPROTO_TCP)
		d->data[d->len + 12] = 5 << 4;
	if (d->header[n] == IPPROTO_UDP)
		d->data[d->len + 5] = 8; /* a UDP header, then bytes that are none of its own */
	d->chain += d->header[n] == IPPROTO_TCP    ? 20
		    : d->header[n] == IPPROTO_UDP  ? 8
		    : d->header[n] == IPPROTO_NONE ? 0
						   : 1;
	d->len += 64 + 8 * below(40);
}

static unsigned behind; /* what the last verdict takes for payload begins there, in the frame */

static unsigned verdict(const void *payload, size_t len, unsigned next)
{
	uint8_t *room = calloc(1, 2 + START + len), *f = room + 2; /* IP is aligned */
	struct ipv6hdr *ip = (void *)(f + sizeof(struct ethhdr));
	struct bwl_pkt k = { 0 };
	unsigned r;

	assert_non_null(room);
	f[12] = 0x86;
	f[13] = 0xdd;
	ip->version = 6;
	ip->payload_len = bwl_htons((uint16_t)len);
	ip->nexthdr = (uint8_t)next;
	ip->hop_limit = 64;
	ip->saddr.s6_addr[0] = 0xfd; /* of somebody */
	ip->daddr.s6_addr[0] = 0xfd;
	memcpy(f + START, payload, len);
	r = (unsigned)bwl_parse(&k, f, f + START + len, (uint32_t)(START + len), false);
	free(room);
	behind = k.hdr_len;
	return r;
}

/* Where the datagram's last header begins: nothing before it is left for the kernel to write. */
static size_t end_of(const struct datagram *d)
{
	size_t at = d->begins[d->n - 1];

	return at + ext_len(d->header[d->n - 1], d->data[at + 1]);
}

/*
 * Sends the datagram in fragments. The fragment header stands before its header number at; what is
 * before that is in each of them.
 */
static void in_fragments(const struct datagram *d, unsigned at, unsigned *ret_refused,
			 size_t *ret_first)
{
	size_t before = at < d->n ? d->begins[at] : d->begins[d->n - 1], from, n;
	uint8_t f[MOST + 64];

	if (at == d->n) /* behind all of them */
		before += ext_len(d->header[d->n - 1], d->data[d->begins[d->n - 1] + 1]);
	*ret_refused = 0;
	*ret_first = 0;
	for (from = before; from < d->len; from += n) {
		bool more;

		n = below(4) ? 8 * (1 + below(8)) : 8 * (1 + below(100));
		more = n < d->len - from;
		if (!more)
			n = d->len - from;
		memcpy(f, d->data, before);
		if (at) /* the header before it names it */
			f[d->begins[at - 1]] = 44;
		f[before] = (uint8_t)d->header[at];
		f[before + 1] = 0;
		f[before + 2] = (uint8_t)((from - before) >> 8);
		f[before + 3] = (uint8_t)((from - before) & 0xf8) | more;
		memcpy(f + before + 4, "same", 4);
		memcpy(f + before + 8, d->data + from, n);
		if (verdict(f, before + 8 + n, at ? d->header[0] : 44) != BWL_R_NONE)
			*ret_refused += 1;
		else
			assert_true(behind >= START + 8 + (from == before ? end_of(d) : before));
		if (from == before)
			*ret_first = n + before;
	}
}

static void a_datagram_in_fragments_is_judged_like_its_whole(void **unused)
{
	unsigned i, refused, routed = 0, cut = 0, passed = 0;
	struct datagram d;
	size_t first;

	(void)unused;
	for (i = 0; i < 200000; i++) {
		unsigned whole;

		make(&d, 1 + below(HEADERS - 1));
		whole = verdict(d.data, d.len, d.header[0]);
		assert_int_equal(whole, d.routed ? BWL_R_SOURCE_ROUTE : BWL_R_NONE);
		if (!d.routed)
			assert_true(behind >= START + end_of(&d));
		in_fragments(&d, below(d.n + 1), &refused, &first);
		if (d.routed) {
			if (!refused)
				fail_msg("sequence %u: a routing header arrives in fragments", i);
			routed++;
		} else if (first < d.chain) {
			assert_int_not_equal(refused, 0);
			cut++;
		} else {
			assert_int_equal(refused, 0);
			passed++;
		}
	}
	assert_true(routed > 10000 && cut > 10000 && passed > 10000);
}

static void every_next_header_has_its_fate(void **unused)
{
	uint8_t payload[80];
	unsigned header, before;

	(void)unused;
	for (before = 0; before < 256; before++) {
		if (fate_of(before) != FOLLOWED)
			continue;
		for (header = 0; header < 256; header++) {
			static const uint8_t routes[] = { 43 }; /* behind it: is it seen? */
			unsigned want = fate_of(header) == FINAL ? BWL_R_NONE : BWL_R_SOURCE_ROUTE;

			memset(payload, 0, sizeof(payload));
			payload[0] = (uint8_t)header;
			payload[1] = before == 51 ? 2 : 0;
			payload[before == 51 ? 16 : 8] = routes[0];
			payload[before == 51 ? 17 : 9] = header == 51 ? 2 : 0;
			if (header == IPPROTO_TCP)
				payload[(before == 51 ? 16 : 8) + 12] = 5 << 4;
			if (header == IPPROTO_UDP)
				payload[(before == 51 ? 16 : 8) + 5] = 8;
			if (before == 44 && header == 44)
				want = BWL_R_MALFORMED; /* one in a packet */
			if (verdict(payload, sizeof(payload), before) != want)
				fail_msg("%u, then %u: not %s", before, header,
					 bwl_reason_name(want));
		}
	}
}

static void a_packet_has_one_fragment_header(void **unused)
{
	static const uint8_t two[24] = { 44, 0, 0, 1, 0, 0, 0, 1, 17, 0, 0,
					 1,  0, 0, 0, 2, 0, 9, 0, 9,  0, 8 };

	(void)unused;
	assert_int_equal(verdict(two, sizeof(two), 44), BWL_R_MALFORMED);
	assert_int_equal(verdict(two + 8, 16, 44), BWL_R_NONE); /* control */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_datagram_in_fragments_is_judged_like_its_whole),
		cmocka_unit_test(every_next_header_has_its_fate),
		cmocka_unit_test(a_packet_has_one_fragment_header),
	};

	return cmocka_run_group_tests_name("parse_chain", tests, NULL, NULL);
}
