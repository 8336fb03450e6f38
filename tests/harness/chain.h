/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chains of IPv6 headers as their receiver reads them, for tests of the parser: what becomes of
 * each next header (the table of docs/closed.md), how long each is, and a datagram in fragments.
 */
#ifndef BWL_TEST_CHAIN_H
#define BWL_TEST_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CHAIN_HEADERS 8 /* that are followed, with the fragment's */

enum chain_fate { CHAIN_FINAL, CHAIN_FOLLOWED, CHAIN_REFUSED };

static inline enum chain_fate chain_fate_of(unsigned header)
{
	switch (header) {
	case 0:   /* hop-by-hop options: RFC 8200 */
	case 44:  /* fragment */
	case 51:  /* AH: RFC 4302 */
	case 60:  /* destination options */
	case 135: /* mobility: RFC 6275 */
	case 139: /* HIP: RFC 7401 */
	case 140: /* shim6: RFC 5533 */
		return CHAIN_FOLLOWED;
	case 43: /* routing */
		return CHAIN_REFUSED;
	}
	return CHAIN_FINAL;
}

/* units: its length field. */
static inline size_t chain_header_len(unsigned header, unsigned units)
{
	return header == 44 ? 8 : header == 51 ? 8 + 4 * units : 8 + 8 * units;
}

/* What of the last header a first fragment has to have: RFC 7112. */
static inline size_t chain_last_least(unsigned header)
{
	return header == 6 ? 20 : header == 17 ? 8 : header == 59 ? 0 : 1;
}

/* A place in a datagram where a fragment header can stand: before the header that begins there. */
struct chain_place {
	size_t at;
	ptrdiff_t named_by; /* the byte that names that header; -1: in IPv6's own */
	uint8_t header;
};

/*
 * The fragment with the bytes from..from+n of a datagram whose IPv6 header names `first`; what is
 * before the place is in each. Returns its length, and what its own IPv6 header names.
 */
static inline size_t chain_fragment(uint8_t *f, const uint8_t *data, uint8_t first,
				    const struct chain_place *p, size_t from, size_t n, bool more,
				    uint8_t *ret_first)
{
	size_t offset = from - p->at;
	uint8_t *x = f + p->at;

	memcpy(f, data, p->at);
	if (p->named_by >= 0)
		f[p->named_by] = 44;
	*ret_first = p->named_by >= 0 ? first : 44;
	x[0] = p->header;
	x[1] = 0;
	x[2] = (uint8_t)(offset >> 8);
	x[3] = (uint8_t)((offset & 0xf8) | more);
	memcpy(x + 4, "same", 4);
	memcpy(x + 8, data + from, n);
	return p->at + 8 + n;
}

#endif
