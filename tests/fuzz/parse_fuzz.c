// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a frame, through the parser of the programs compiled for the host. The first two
 * bytes give the length of the frame beyond what can be read, as in a paged skb. The parser never
 * reads beyond the end; what it parses is within the frame and does not depend on the payload; the
 * parser of plain frames agrees; with a shorter linear part it may know less, but nothing
 * different; and what follows an IPv6 header is judged in any fragments like in one.
 */
#include "bpf/lib/parse.h"
#include "tests/harness/chain.h"
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
	r = (unsigned)bwl_parse(k, exact + 2, exact + 2 + size, frame_len, frame_len > BWL_IP_MAX);
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
	if (!a.nvid && !b.nvid) /* in place of tags */
		a.qpn = b.qpn = 0;
	return !memcmp(&a, &b, sizeof(a));
}

#define IP6_AT sizeof(struct ethhdr)
#define CHAIN_AT (IP6_AT + sizeof(struct ipv6hdr))
#define DATAGRAM_MAX 640

/* Of an IPv6 packet with that payload. */
static unsigned verdict(const uint8_t *payload, size_t len, uint8_t first)
{
	uint8_t frame[CHAIN_AT + DATAGRAM_MAX + 8] = { [12] = 0x86, [13] = 0xdd };
	uint8_t *ip = frame + IP6_AT;
	struct bwl_pkt k;

	ip[0] = 0x60;
	ip[4] = (uint8_t)(len >> 8);
	ip[5] = (uint8_t)len;
	ip[6] = first;
	ip[7] = 64;
	ip[8] = ip[24] = 0xfd; /* of somebody */
	memcpy(frame + CHAIN_AT, payload, len);
	return parse(frame, CHAIN_AT + len, (uint32_t)(CHAIN_AT + len), &k);
}

/* The datagram cut there every n bytes: does each fragment pass? *ret_first: of the first. */
static int all_pass(const uint8_t *data, size_t len, uint8_t first, const struct chain_place *p,
		    size_t n, unsigned *ret_first)
{
	uint8_t f[DATAGRAM_MAX + 8], next;
	size_t from, size;
	int pass = 1;

	for (from = p->at; from < len; from += n) {
		int more = n < len - from;
		unsigned r;

		size = chain_fragment(f, data, first, p, from, more ? n : len - from, more, &next);
		r = verdict(f, size, next);
		if (from == p->at)
			*ret_first = r;
		pass &= r == BWL_R_NONE;
	}
	return pass;
}

/*
 * As in one fragment, so in many, unless the first lacks a part of the chain or of its last header;
 * and no way that is refused in the whole packet arrives in fragments. end: where the last header
 * begins.
 */
static void same_in_fragments(const uint8_t *data, size_t len, uint8_t first,
			      const struct chain_place *p, size_t n, size_t end, uint8_t last)
{
	unsigned whole = verdict(data, len, first), r_one = 0, r_first = 0;
	int one = all_pass(data, len, first, p, len, &r_one);
	int many = all_pass(data, len, first, p, n, &r_first);

	must(!one || whole != BWL_R_SOURCE_ROUTE, "a routing header arrives in one fragment");
	must(!many || one, "fragments pass, and the whole does not");
	must(!one || many || r_first == BWL_R_MALFORMED, "a later fragment does not pass");
	must(!one || many || (p->at + n < end + chain_last_least(last) && p->at + n < len),
	     "a first fragment with the whole chain does not pass");
}

/* Every place of the chain where its only fragment header can stand. */
static void in_fragments(const uint8_t *frame, size_t size, size_t n)
{
	struct chain_place place[CHAIN_HEADERS + 1];
	const uint8_t *data = frame + CHAIN_AT;
	size_t len, at = 0, i, places = 0;
	uint8_t header;

	if (size <= CHAIN_AT)
		return;
	len = size - CHAIN_AT < DATAGRAM_MAX ? size - CHAIN_AT : DATAGRAM_MAX;
	header = frame[IP6_AT + 6];
	place[places++] = (struct chain_place){ .named_by = -1, .header = header };
	while (chain_fate_of(header) == CHAIN_FOLLOWED && header != IPPROTO_FRAGMENT &&
	       len - at >= 8) {
		size_t named_by = at;

		if (chain_header_len(header, data[at + 1]) > len - at)
			break;
		at += chain_header_len(header, data[at + 1]);
		header = data[named_by];
		if (places <= CHAIN_HEADERS && at < len)
			place[places++] = (struct chain_place){ .at = at,
								.named_by = (ptrdiff_t)named_by,
								.header = header };
	}
	for (i = 0; i < places; i++)
		same_in_fragments(data, len, frame[IP6_AT + 6], &place[i], n, at, header);
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
	in_fragments(data + 2, size - 2, 8 * (1U + data[0] % 12));
	frame_len = data[0] | (uint32_t)data[1] << 8;
	data += 2;
	size -= 2;
	frame_len += (uint32_t)size;
	r = parse(data, size, frame_len, &k);
	sane(&k, r, size, frame_len);

	changed = malloc(size + 1);
	must(changed != NULL, "memory");
	memcpy(changed, data, size);
	for (i = k.hdr_len + (size_t)BWL_BTH_READ; r == BWL_R_NONE && !k.arp && i < size; i++)
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
