// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a frame, through the parser of the programs compiled for the host. The first two
 * bytes give the length of the frame beyond what can be read, as in a paged skb. The parser never
 * reads beyond the end; what it parses is within the frame and does not depend on the payload; the
 * parser of plain frames agrees; and with a shorter linear part it may know less, but nothing
 * different.
 */
#include "bpf/lib/parse.h"
#include "bwl/policy.h"
#include "fuzz.h"

/*
 * A copy of exactly that length, so that a sanitizer sees a read beyond the end, and placed as in a
 * kernel: two bytes on, so that the IP header is aligned.
 */
static unsigned parse(const uint8_t *data, size_t size, uint32_t frame_len, struct bwl_pkt *k)
{
	uint8_t *exact = malloc(size + 2);
	struct bwl_pkt plain;
	unsigned r;

	must(exact != NULL, "memory");
	memcpy(exact + 2, data, size);
	memset(k, 0, sizeof(*k));
	r = (unsigned)bwl_parse(k, exact + 2, exact + 2 + size, frame_len, frame_len > BWL_IP_MOST);
	memset(&plain, 0xaa, sizeof(plain));
	if (bwl_parse_plain(&plain, exact + 2, exact + 2 + size, frame_len))
		must(r == BWL_R_NONE && !memcmp(&plain, k, sizeof(plain)),
		     "both parsers say the same");
	free(exact);
	return r;
}

static void sane(const struct bwl_pkt *k, unsigned r, size_t size, uint32_t frame_len)
{
	static uint8_t proto[256], port[2][65536];
	static struct bwl_policy *p;

	if (!p) {
		p = bwl_policy_new();
		bwl_class_table(p, proto, port);
	}
	must(r == BWL_R_NONE || r == BWL_R_TRUNCATED || r == BWL_R_MALFORMED ||
		     r == BWL_R_ETHERTYPE || r == BWL_R_VLAN || r == BWL_R_SRC_MAC ||
		     r == BWL_R_SOURCE_ROUTE || r == BWL_R_EXT_HEADERS || r == BWL_R_SRC_ADDR ||
		     r == BWL_R_LOCAL_PROTO,
	     "a reason of the parser's");
	must(k->nvid <= BWL_MAX_TAGS && (!k->nvid || (k->vid[0] < 4096 && k->vid[1] < 4096)),
	     "tags");
	if (r != BWL_R_NONE)
		return;
	must(k->arp || k->family == 4 || k->family == 6, "a family or ARP");
	must(k->l3_off == 14 + 4 * k->nvid && k->l3_off < size, "layer 3 can be read");
	must(k->family != 6 || (k->daddr[0] && (k->saddr[0] || bwl_is_unspecified(k->saddr))),
	     "no address of IPv6 spells one of IPv4");
	must(k->hdr_len >= k->l3_off && k->hdr_len <= frame_len, "headers lie in the frame");
	must(bwl_classify(k, proto, port[0], port[1]) < _BWL_CLASS_MAX, "a class");
}

/* Compares all except what may need more bytes than the headers. */
static int same(struct bwl_pkt a, struct bwl_pkt b)
{
	a.cnp = b.cnp = a.nd = b.nd = 0;
	return !memcmp(&a, &b, sizeof(a));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bwl_pkt k, other;
	uint32_t frame_len;
	uint8_t *changed;
	unsigned r, s;
	size_t i, cut;

	if (size < 2)
		return 0;
	frame_len = data[0] | (uint32_t)data[1] << 8;
	data += 2;
	size -= 2;
	frame_len += (uint32_t)size;
	r = parse(data, size, frame_len, &k);
	sane(&k, r, size, frame_len);

	changed = malloc(size + 1);
	must(changed != NULL, "memory");
	memcpy(changed, data, size);
	for (i = k.hdr_len + 2U; r == BWL_R_NONE && !k.arp && i < size; i++)
		changed[i] = (uint8_t)~changed[i];
	s = parse(changed, size, frame_len, &other);
	must(s == r && !memcmp(&k, &other, sizeof(k)), "the payload changes nothing");
	free(changed);

	for (cut = 0; cut < size && cut < 256; cut++) {
		s = parse(data, cut, frame_len, &other);
		must(s == BWL_R_TRUNCATED || (s == r && (r != BWL_R_NONE || same(k, other))),
		     "a shorter linear part says something else");
	}
	return 0;
}
