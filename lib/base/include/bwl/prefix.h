/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address prefixes and MAC addresses, and as text. */
#ifndef BWL_PREFIX_H
#define BWL_PREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <bwl/err.h>

struct bwl_pfx {
	uint8_t family;   /* 4 or 6 */
	uint8_t len;      /* prefix length; 32 or 128: one address */
	uint8_t addr[16]; /* IPv4 in the first four; host bits are zero */
};

/* "10.0.0.0/24", "fd00::1"; set host bits are an error, which names the correct prefix. */
int bwl_pfx_parse(const char *s, struct bwl_pfx *ret, struct bwl_err *e);
char *bwl_pfx_format(const struct bwl_pfx *p, char *buf, size_t size); /* "10.0.0.1" for /32 */
/* Does a contain every address of b? */
bool bwl_pfx_holds(const struct bwl_pfx *a, const struct bwl_pfx *b);

enum bwl_range {
	BWL_USABLE,
	BWL_MULTICAST,
	BWL_BROADCAST,
	BWL_LOOPBACK,
	BWL_LINK_LOCAL,
	BWL_UNSPECIFIED
};
extern const char *const bwl_range_text[];
/* A prefix wholly inside a range that no packet may go to; one that covers it is fine. */
enum bwl_range bwl_pfx_range(const struct bwl_pfx *x);

#define BWL_MAC_BUF 18
int bwl_mac_parse(const char *s, uint8_t ret[static 6], struct bwl_err *e);
char *bwl_mac_format(const uint8_t mac[static 6], char buf[static BWL_MAC_BUF]);
bool bwl_mac_is_one(const uint8_t mac[static 6]); /* of one station: unicast, not zero */

#endif
