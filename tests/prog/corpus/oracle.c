// SPDX-License-Identifier: GPL-2.0-or-later
/* See oracle.h. Nothing here reads the frame's bytes, only tshark's output. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "maps/reason.h"
#include "oracle.h"

#define MAX_EXTS 8 /* as many as bpf/lib/parse.h follows */
#define MAX_OPTIONS 10

static bool has(const struct oracle *o, enum oracle_field f)
{
	return o->field[f][0] != '\0';
}

/* The first occurrence is the outermost. */
static long first(const struct oracle *o, enum oracle_field f)
{
	return has(o, f) ? strtol(o->field[f], NULL, 0) : -1;
}

static bool is_any(const char *s, const char *const *of)
{
	for (; *of; of++)
		if (!strcmp(s, *of))
			return true;
	return false;
}

/* "eth:ethertype:vlan:ethertype:ipv6:ipv6.hopopts:udp:dns" */
static void read_protocols(struct oracle *o)
{
	static const char *const shims[] = { "ethertype", NULL };
	static const char *const tags[] = { "vlan", "ieee8021ad", NULL };
	static const char *const exts[] = { "ipv6.hopopts", "ipv6.dstopts", NULL };
	char text[512], *at = text, *word;

	snprintf(text, sizeof(text), "%s", o->field[F_PROTOCOLS]);
	word = strsep(&at, ":");
	if (!word || strcmp(word, "eth"))
		return;
	while ((word = strsep(&at, ":"))) {
		if (is_any(word, tags))
			o->tags++;
		else if (!is_any(word, shims))
			break;
	}
	if (!word)
		return;
	snprintf(o->l3, sizeof(o->l3), "%s", word);
	while ((word = strsep(&at, ":"))) {
		if (!strcmp(word, "ipv6.routing"))
			o->routed = true;
		else if (!strcmp(word, "ipv6.fraghdr"))
			o->fragment = true;
		else if (!is_any(word, exts))
			break;
		o->exts++;
	}
	if (word)
		snprintf(o->l4, sizeof(o->l4), "%s", word);
}

static void add_vids(struct oracle *o, const char *list)
{
	char text[128], *at = text, *word;

	snprintf(text, sizeof(text), "%s", list);
	while ((word = strsep(&at, ",")))
		if (*word && o->nvids < BWL_MAX_VLANS)
			o->vid[o->nvids++] = (uint16_t)strtoul(word, NULL, 0);
}

static unsigned options(const struct oracle *o, bool *routed)
{
	char text[256], *at = text, *word;
	unsigned n = 0;
	long type;

	snprintf(text, sizeof(text), "%s", o->field[F_IP_OPT]);
	while ((word = strsep(&at, ","))) {
		if (!*word)
			continue;
		type = strtol(word, NULL, 0);
		*routed |= type == 131 || type == 137;
		n++;
	}
	return n;
}

static bool read_address(struct oracle *o, enum oracle_field f, int family)
{
	char text[64];

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(o->field[f], ","), o->field[f]);
	return inet_pton(family, text, o->dst) == 1;
}

/* Do the transport's lengths fit into what IP leaves for it? */
static bool transport_lies(const struct oracle *o, long left)
{
	long len;

	if (o->fragment)
		return false;
	if (o->proto == IPPROTO_TCP) {
		len = first(o, F_TCP_HDR_LEN);
		return !o->ports || left < 20 || len < 20 || len > left;
	}
	if (o->proto == IPPROTO_UDP) {
		len = first(o, F_UDP_LEN);
		return !o->ports || left < 8 || len > left || (len && len < 8);
	}
	return false;
}

static void read_ports(struct oracle *o)
{
	bool tcp = o->proto == IPPROTO_TCP;

	if (o->fragment || (o->proto != IPPROTO_TCP && o->proto != IPPROTO_UDP))
		return;
	/* The fields must belong to the outermost transport, not to a packet inside. */
	if (strcmp(o->l4, tcp ? "tcp" : "udp"))
		return;
	o->ports = has(o, tcp ? F_TCP_DPORT : F_UDP_DPORT);
	o->sport = (uint16_t)first(o, tcp ? F_TCP_SPORT : F_UDP_SPORT);
	o->dport = (uint16_t)first(o, tcp ? F_TCP_DPORT : F_UDP_DPORT);
	o->cnp = o->proto == IPPROTO_UDP && first(o, F_BTH_OPCODE) == 0x81;
}

static void read_ip4(struct oracle *o, long left)
{
	long hdr = first(o, F_IP_HDR_LEN), len = first(o, F_IP_LEN);

	o->family = 4;
	o->readable = read_address(o, F_IP_DST, AF_INET);
	o->proto = (int)first(o, F_IP_PROTO);
	o->fragment = first(o, F_IP_MF) > 0 || first(o, F_IP_OFFSET) > 0;
	read_ports(o);
	o->lies = hdr < 20 || len < hdr || len > left || transport_lies(o, len - hdr);
	o->here = o->dst[0] == 0 || o->dst[0] == 127 || (o->dst[0] == 169 && o->dst[1] == 254) ||
		  o->dst[0] >= 224;
}

/* The protocol at the end of the chain of extension headers. */
static int ip6_proto(const struct oracle *o)
{
	if (!o->exts)
		return (int)first(o, F_IP6_NXT);
	if (!strcmp(o->l4, "tcp"))
		return IPPROTO_TCP;
	if (!strcmp(o->l4, "udp"))
		return IPPROTO_UDP;
	return !strcmp(o->l4, "icmpv6") ? IPPROTO_ICMPV6 : -1;
}

static void read_ip6(struct oracle *o, long left)
{
	long plen = first(o, F_IP6_PLEN);

	o->family = 6;
	o->readable = read_address(o, F_IP6_SRC, AF_INET6);
	o->nobodys = o->readable && !memcmp(o->dst, &in6addr_any, 4) &&
		     memcmp(o->dst, &in6addr_any, 16);
	o->readable = read_address(o, F_IP6_DST, AF_INET6);
	o->proto = ip6_proto(o);
	read_ports(o);
	o->lies = plen < 0 || plen > left - 40 || (!o->exts && transport_lies(o, plen));
	o->here = o->dst[0] == 0xff || (o->dst[0] == 0xfe && (o->dst[1] & 0xc0) == 0x80) ||
		  !memcmp(o->dst, &in6addr_any, 4);
}

int oracle_read(char *line, uint32_t len, struct oracle *ret)
{
	struct oracle *o = ret;
	long left;
	int i;

	memset(o, 0, sizeof(*o));
	o->proto = -1;
	line[strcspn(line, "\n")] = '\0';
	for (i = 0; i < _F_MAX; i++) {
		o->field[i] = strsep(&line, "\t");
		if (!o->field[i])
			return -1;
	}
	read_protocols(o);
	add_vids(o, o->field[F_VLAN_ID]);
	add_vids(o, o->field[F_AD_ID]);
	o->group = strtoul(o->field[F_ETH_DST], NULL, 16) & 1;
	options(o, &o->routed);
	left = (long)len - 14 - 4 * (long)o->tags;
	if (!strcmp(o->l3, "ip"))
		read_ip4(o, left);
	else if (!strcmp(o->l3, "ipv6"))
		read_ip6(o, left);
	return 0;
}

uint8_t oracle_class(const struct oracle *o, const uint8_t proto_class[256],
		     const uint8_t port_class[2][65536])
{
	const uint8_t *ports = port_class[o->proto == IPPROTO_UDP];
	uint8_t c;

	if (o->fragment || o->proto < 0)
		return BWL_C_OTHER;
	if (o->proto != IPPROTO_TCP && o->proto != IPPROTO_UDP)
		return proto_class[o->proto];
	c = ports[o->dport];
	if (c == BWL_C_OTHER)
		c = ports[o->sport];
	return c == BWL_C_ROCEV2 && o->cnp ? BWL_C_CNP : c;
}

bool oracle_explains(const struct oracle *o, unsigned reason)
{
	/* tshark calls RARP arp as well */
	bool arp = !strcmp(o->l3, "arp") && !strstr(o->field[F_ETH_TYPE], "0x8035");
	bool ip = o->family, routed = false;
	long nd = first(o, F_ICMP6_TYPE);

	switch (reason) {
	case BWL_R_TRUNCATED:
	case BWL_R_MALFORMED:
		return o->lies || has(o, F_MALFORMED) || arp || (ip && !o->readable) || !*o->l3 ||
		       (o->family == 6 && o->exts);
	case BWL_R_ETHERTYPE:
		return !ip && !arp;
	case BWL_R_LOCAL_PROTO:
		/* ARP and ND to a MAC other than the port's: all in the corpus. */
		return o->group || (ip && o->here) || arp || nd == 135 || nd == 136;
	case BWL_R_VLAN:
		return o->tags > 2;
	case BWL_R_SRC_MAC:
		return arp;
	case BWL_R_SRC_ADDR:
		return o->nobodys;
	case BWL_R_SOURCE_ROUTE:
		return o->routed;
	case BWL_R_EXT_HEADERS:
		return o->exts > MAX_EXTS || options(o, &routed) > MAX_OPTIONS;
	case BWL_R_PASS_NEIGHBOUR:
	case BWL_R_NEIGHBOUR_RATE:
		return arp || nd == 135 || nd == 136;
	default:
		return false;
	}
}
