// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chains of IPv6 headers, whole and in fragments: whatever is cut where, a datagram that has a
 * routing header somewhere does not arrive, and one that has none does, unless its first fragment
 * lacks a part of the chain. The reference reads the datagram as its receiver would.
 */
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bpf/lib/parse.h"
#include "bwl/pins.h"
#include "tests/harness/chain.h"

#define CHAIN_MAX 4096
#define START (sizeof(struct ethhdr) + sizeof(struct ipv6hdr))

static uint64_t state = 1;
static unsigned below(unsigned n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(state >> 33) % n;
}

struct datagram {
	uint8_t data[CHAIN_MAX]; /* behind the IPv6 header */
	size_t len;
	size_t chain; /* where its last header ends, as far as a first fragment needs it */
	size_t begins[CHAIN_HEADERS]; /* of its headers */
	unsigned header[CHAIN_HEADERS + 1], n;
	bool routed;
};

static void put_ext(struct datagram *d, unsigned header, unsigned next)
{
	/* AH of 16 bytes and more, always whole units of 8 (RFC 4302, 2.2) */
	unsigned units = header == 51 ? 2 + 2 * below(4) : below(4);
	size_t n = chain_header_len(header, units);
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
	d->chain += chain_last_least(d->header[n]);
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

	return at + chain_header_len(d->header[d->n - 1], d->data[at + 1]);
}

/*
 * Sends the datagram in fragments. The fragment header stands before its header number at; what is
 * before that is in each of them.
 */
static void in_fragments(const struct datagram *d, unsigned at, unsigned *ret_refused,
			 size_t *ret_first)
{
	const struct chain_place p = {
		.at = at == d->n ? end_of(d) : d->begins[at], /* or behind all of them */
		.named_by = at ? (ptrdiff_t)d->begins[at - 1] : -1,
		.header = (uint8_t)d->header[at],
	};
	uint8_t f[CHAIN_MAX + 64], next;
	size_t from, n, len;

	*ret_refused = 0;
	*ret_first = 0;
	for (from = p.at; from < d->len; from += n) {
		bool more;

		n = below(4) ? 8 * (1 + below(8)) : 8 * (1 + below(100));
		more = n < d->len - from;
		if (!more)
			n = d->len - from;
		len = chain_fragment(f, d->data, (uint8_t)d->header[0], &p, from, n, more, &next);
		if (verdict(f, len, next) != BWL_R_NONE)
			*ret_refused += 1;
		else
			assert_true(behind >= START + 8 + (from == p.at ? end_of(d) : p.at));
		if (from == p.at)
			*ret_first = n + p.at;
	}
}

/* Headers from the first that is not options on, with a fragment header before number at. */
static unsigned counted(const struct datagram *d, unsigned at)
{
	unsigned i;

	for (i = 0; i < at && (d->header[i] == 0 || d->header[i] == 60); i++)
		;
	return d->n - i + 1;
}

/* The fragment header is one of the chain: behind or before eight others that count it is a ninth.
 */
static void a_datagram_in_fragments_is_judged_like_its_whole(void **unused)
{
	unsigned i, at, refused, routed = 0, cut = 0, ninth = 0, passed = 0;
	struct datagram d;
	size_t first;

	(void)unused;
	for (i = 0; i < 200000; i++) {
		unsigned whole;

		make(&d, 1 + below(CHAIN_HEADERS));
		whole = verdict(d.data, d.len, d.header[0]);
		assert_int_equal(whole, d.routed ? BWL_R_SOURCE_ROUTE : BWL_R_NONE);
		if (!d.routed)
			assert_true(behind >= START + end_of(&d));
		at = below(d.n + 1);
		in_fragments(&d, at, &refused, &first);
		if (d.routed) {
			if (!refused)
				fail_msg("sequence %u: a routing header arrives in fragments", i);
			routed++;
		} else if (first < d.chain) {
			assert_int_not_equal(refused, 0);
			cut++;
		} else if (counted(&d, at) > CHAIN_HEADERS) {
			assert_int_not_equal(refused, 0);
			ninth++;
		} else {
			assert_int_equal(refused, 0);
			passed++;
		}
	}
	assert_true(routed > 10000 && cut > 10000 && ninth > 1000 && passed > 10000);
}

static void eight_headers_are_followed_and_a_ninth_is_refused(void **unused)
{
	unsigned header, n, i;
	struct datagram d;

	(void)unused;
	for (header = 0; header < 256; header++) {
		if (chain_fate_of(header) != CHAIN_FOLLOWED || header == 44)
			continue;
		for (n = 1; n <= CHAIN_HEADERS + 1; n++) {
			d.len = 0;
			for (i = 0; i < n; i++)
				put_ext(&d, header, i + 1 < n ? header : IPPROTO_NONE);
			assert_int_equal(verdict(d.data, d.len, header),
					 n <= CHAIN_HEADERS ? BWL_R_NONE : BWL_R_EXT_HEADERS);
		}
	}
}

/* --- the table of docs/closed.md */

static enum chain_fate said[256]; /* by the page */

static enum chain_fate fate_word(const char *cell)
{
	static const char *const words[] = {
		[CHAIN_FINAL] = " final:",
		[CHAIN_FOLLOWED] = " followed",
		[CHAIN_REFUSED] = " refused",
	};

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(cell, words[i], strlen(words[i])))
			return (enum chain_fate)i;
	fail_msg("neither followed, final nor refused: %s", cell);
	return CHAIN_FINAL;
}

/* Its rows: "| 51 AH, 135 mobility | followed; …"; "all others" come last. */
static void read_page(void)
{
	bool known[256] = { false }, others = false;
	FILE *f = fopen(BWL_SOURCE "/docs/closed.md", "re");
	char line[2048], *cell;
	bool here = false;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "## ", 3))
			here = !strcmp(line, "## What follows an IPv6 header\n");
		cell = here && line[0] == '|' ? strchr(line + 1, '|') : NULL;
		if (!cell || line[1] == '-' || !strncmp(line, "| next header", 13) ||
		    !strncmp(line, "| a ninth", 9))
			continue;
		*cell++ = '\0';
		others |= !strncmp(line, "| all others", 12);
		for (char *s = line; *s; s++) {
			unsigned long header;

			if (!strchr(" (", *s) || s[1] < '0' || s[1] > '9')
				continue;
			header = strtoul(s + 1, NULL, 10);
			assert_true(header < 256 && !known[header]);
			known[header] = true;
			said[header] = fate_word(cell);
		}
		for (unsigned i = 0; others && i < 256; i++)
			if (!known[i])
				said[i] = fate_word(cell);
	}
	fclose(f);
	assert_true(others);
}

/* Puts a header of the least length that names the next one; returns that length. */
static size_t put_least(uint8_t *x, unsigned header, unsigned next)
{
	unsigned units = header == 51 ? 2 : 0;

	x[0] = (uint8_t)next;
	x[1] = (uint8_t)units;
	if (header == IPPROTO_TCP)
		x[12] = 5 << 4;
	if (header == IPPROTO_UDP)
		x[5] = 8;
	return chain_header_len(header, units);
}

/*
 * What the parser makes of this header behind those `before` bytes: is a routing header seen behind
 * it, and does it pass without one?
 */
static enum chain_fate fate_seen(uint8_t *payload, size_t before, unsigned first, unsigned header)
{
	unsigned with, without;

	memset(payload + before, 0, 64);
	put_least(payload + before, header, 43);
	with = verdict(payload, before + 64, first);
	put_least(payload + before, header, IPPROTO_NONE);
	without = verdict(payload, before + 64, first);
	if (with == BWL_R_SOURCE_ROUTE)
		return without == BWL_R_NONE ? CHAIN_FOLLOWED : CHAIN_REFUSED;
	if (with != BWL_R_NONE || without != BWL_R_NONE)
		fail_msg("%u: %s, and %s", header, bwl_reason_name(with), bwl_reason_name(without));
	return CHAIN_FINAL;
}

static void every_next_header_has_the_fate_that_the_page_says(void **unused)
{
	uint8_t payload[96] = { 0 };
	unsigned header, before, n = 0;

	(void)unused;
	read_page();
	for (header = 0; header < 256; header++) {
		if (said[header] != chain_fate_of(header))
			fail_msg("docs/closed.md says something else of %u", header);
		if (fate_seen(payload, 0, header, header) != said[header])
			fail_msg("%u, the first: not what docs/closed.md says", header);
		for (before = 0; before < 256; before++) {
			if (said[before] != CHAIN_FOLLOWED || (before == 44 && header == 44))
				continue;
			memset(payload, 0, sizeof(payload));
			n++;
			if (fate_seen(payload, put_least(payload, before, header), before,
				      header) != said[header])
				fail_msg("%u, then %u: not what docs/closed.md says", before,
					 header);
		}
	}
	assert_int_equal(n, 7 * 256 - 1);
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
		cmocka_unit_test(eight_headers_are_followed_and_a_ninth_is_refused),
		cmocka_unit_test(every_next_header_has_the_fate_that_the_page_says),
		cmocka_unit_test(a_packet_has_one_fragment_header),
	};

	return cmocka_run_group_tests_name("parse_chain", tests, NULL, NULL);
}
