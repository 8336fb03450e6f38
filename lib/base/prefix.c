// SPDX-License-Identifier: GPL-2.0-or-later
/* Address prefixes as text. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <bwl/prefix.h>

#define PFX_DOMAIN "an IPv4 or IPv6 address, or address/length"

/* Clears the bits after len. true: some were set. */
static bool clear_host_bits(uint8_t *addr, unsigned bytes, unsigned len)
{
	bool any = false;

	for (unsigned i = 0; i < bytes; i++) {
		unsigned keep = len >= 8 * (i + 1) ? 8 : len > 8 * i ? len - 8 * i : 0;
		uint8_t host = 0xff >> keep;

		any |= addr[i] & host;
		addr[i] &= ~host;
	}
	return any;
}

/* 1 to 3 digits without a leading zero, at most max. */
static bool parse_len(const char *s, unsigned max, uint8_t *ret)
{
	unsigned v = 0, i;

	for (i = 0; s[i] >= '0' && s[i] <= '9' && i < 3; i++)
		v = v * 10 + (s[i] - '0');
	if (i == 0 || s[i] || (i > 1 && s[0] == '0') || v > max)
		return false;
	*ret = v;
	return true;
}

int bwl_pfx_parse(const char *s, struct bwl_pfx *ret, struct bwl_err *e)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	char text[INET6_ADDRSTRLEN + 4], *slash;
	size_t n = strlen(s);
	struct bwl_pfx p = { 0 };
	unsigned bits;

	if (n >= sizeof(text))
		return bwl_fail(e, EINVAL, "'%.64s' is not a prefix: " PFX_DOMAIN, s);
	memcpy(text, s, n + 1);
	slash = strchr(text, '/');
	if (slash)
		*slash++ = '\0';
	if (inet_pton(AF_INET, text, p.addr) == 1)
		p.family = 4;
	else if (inet_pton(AF_INET6, text, p.addr) == 1)
		p.family = 6;
	else
		return bwl_fail(e, EINVAL, "'%.64s' is not a prefix: " PFX_DOMAIN, s);
	bits = p.family == 4 ? 32 : 128;
	p.len = bits;
	if (slash && !parse_len(slash, bits, &p.len))
		return bwl_fail(e, EINVAL,
				"'%.64s': the prefix length of an IPv%u address is 0 to %u", s,
				p.family, bits);
	/* The data plane's tables hold IPv4 in this form: it would have two spellings as text. */
	if (p.family == 6 && p.len >= 96 && !memcmp(p.addr, mapped, sizeof(mapped)))
		return bwl_fail(e, EINVAL, "'%.64s' is an IPv4-mapped address: write it as IPv4",
				s);
	if (clear_host_bits(p.addr, bits / 8, p.len)) {
		char right[64];

		bwl_fail(e, EINVAL, "'%.64s' has bits set after the prefix length", s);
		return bwl_hint(e, "the prefix is %s", bwl_pfx_format(&p, right, sizeof(right)));
	}
	*ret = p;
	return 0;
}

char *bwl_pfx_format(const struct bwl_pfx *p, char *buf, size_t size)
{
	unsigned bits = p->family == 4 ? 32 : 128;
	char text[INET6_ADDRSTRLEN + 4];
	size_t n;

	if (!inet_ntop(p->family == 4 ? AF_INET : AF_INET6, p->addr, text, INET6_ADDRSTRLEN))
		text[0] = '\0';
	n = strlen(text);
	if (p->len != bits) {
		text[n++] = '/';
		if (p->len >= 100)
			text[n++] = '0' + p->len / 100;
		if (p->len >= 10)
			text[n++] = '0' + p->len / 10 % 10;
		text[n++] = '0' + p->len % 10;
	}
	if (size) {
		n = n < size ? n : size - 1;
		memcpy(buf, text, n);
		buf[n] = '\0';
	}
	return buf;
}

const char *const bwl_range_text[] = {
	"", "multicast", "broadcast", "loopback", "link-local", "not a host address",
};

enum bwl_range bwl_pfx_range(const struct bwl_pfx *x)
{
	const uint8_t *a = x->addr;

	if (x->family == 4) {
		if (x->len >= 4 && (a[0] & 0xf0) == 0xe0)
			return BWL_MULTICAST;
		if (x->len == 32 && !memcmp(a, "\xff\xff\xff\xff", 4))
			return BWL_BROADCAST;
		if (x->len >= 8 && a[0] == 127)
			return BWL_LOOPBACK;
		if (x->len >= 16 && a[0] == 169 && a[1] == 254)
			return BWL_LINK_LOCAL;
		if (x->len >= 8 && a[0] == 0)
			return BWL_UNSPECIFIED;
		return BWL_USABLE;
	}
	if (x->len >= 8 && a[0] == 0xff)
		return BWL_MULTICAST;
	if (x->len >= 10 && a[0] == 0xfe && (a[1] & 0xc0) == 0x80)
		return BWL_LINK_LOCAL;
	if (x->len == 128 && !memcmp(a, &in6addr_loopback, 16))
		return BWL_LOOPBACK;
	if (x->len >= 32 && !memcmp(a, &in6addr_any, 4)) /* bwl_is_nobodys() of the programs */
		return BWL_UNSPECIFIED;
	return BWL_USABLE;
}

int bwl_mac_parse(const char *s, uint8_t ret[static 6], struct bwl_err *e)
{
	unsigned v[6];
	int n = 0;

	if (strlen(s) != 17 || strspn(s, "0123456789abcdefABCDEF:") != 17 ||
	    sscanf(s, "%2x:%2x:%2x:%2x:%2x:%2x%n", v, v + 1, v + 2, v + 3, v + 4, v + 5, &n) != 6 ||
	    n != 17)
		return bwl_fail(e, EINVAL, "'%.64s' is not a MAC address: 02:00:5e:10:00:01", s);
	for (unsigned i = 0; i < 6; i++)
		ret[i] = v[i];
	return 0;
}

char *bwl_mac_format(const uint8_t mac[static 6], char buf[static BWL_MAC_BUF])
{
	snprintf(buf, BWL_MAC_BUF, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		 mac[4], mac[5]);
	return buf;
}

bool bwl_mac_is_one(const uint8_t mac[static 6])
{
	return !(mac[0] & 1) && memcmp(mac, "\0\0\0\0\0", 6);
}
