/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tshark reads in a frame's outermost headers, and what bwlimit should do accordingly. */
#ifndef BWL_CORPUS_ORACLE_H
#define BWL_CORPUS_ORACLE_H

#include <stdbool.h>
#include <stdint.h>
#include <bwl/policy.h>

/*
 * In the order of the columns that corpus_test.sh requests from tshark; all occurrences, separated
 * by commas.
 */
/* clang-format off */
#define ORACLE_FIELDS(X) \
	X(PROTOCOLS) \
	X(ETH_DST) X(ETH_TYPE) X(VLAN_ID) X(AD_ID) X(IP_HDR_LEN) X(IP_LEN) X(IP_MF) X(IP_OFFSET) \
		X(IP_PROTO) X(IP_DST) X(IP_OPT) X(IP6_PLEN) X(IP6_SRC) X(IP6_DST) X(IP6_NXT) \
			X(ICMP6_TYPE) X(TCP_SPORT) X(TCP_DPORT) X(TCP_HDR_LEN) X(UDP_SPORT) \
				X(UDP_DPORT) X(UDP_LEN) X(BTH_OPCODE) X(MALFORMED)
/* clang-format on */

enum oracle_field {
#define X(n) F_##n,
	ORACLE_FIELDS(X)
#undef X
		_F_MAX
};

struct oracle {
	char *field[_F_MAX];
	unsigned tags;
	uint16_t vid[BWL_MAX_VLANS];
	unsigned nvids;
	char l3[24], l4[24]; /* tshark's names of what follows Ethernet and IP */
	unsigned exts;       /* IPv6 extension headers that the parser follows */
	bool routed;         /* a source route or a routing header */
	bool readable;       /* IPv4 or IPv6, with a destination */
	uint8_t family;
	uint8_t dst[16];
	bool fragment;
	int proto; /* -1: not given by tshark */
	bool ports;
	uint16_t sport, dport;
	bool cnp;
	bool lies;        /* a length contradicts the frame or another length */
	bool group, here; /* to a group MAC; to an address that ends at the DPU */
	bool nobodys;     /* from an address of ::/32 other than :: */
};

/* line: tshark's columns, separated by tabs; modified. len: of the frame. */
int oracle_read(char *line, uint32_t len, struct oracle *ret);
/* The class table applied to tshark's reading. */
uint8_t oracle_class(const struct oracle *o, const uint8_t proto_class[256],
		     const uint8_t port_class[2][65536]);
/* Does tshark's reading explain that bwlimit refuses the frame for this reason? */
bool oracle_explains(const struct oracle *o, unsigned reason);

#endif
