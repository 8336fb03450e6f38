/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Peers by their prefixes of both families, and frames of 64 charged bytes to them. */
#ifndef BWL_TEST_PREFIXES_H
#define BWL_TEST_PREFIXES_H

#include "prog.h"

#define HEAD PORTS "heartbeat: none\n"
#define PEER(name, addresses)                                                                      \
	"  - { name: " name ", addresses: [" addresses "], path: clear,"                           \
	" via: 192.0.2.1, via6: 'fe80::1', "
#define TO(addr) "eth ip4 src=10.0.7.2 dst=" addr " udp" /* charged 64 bytes */
#define TO6(addr) "eth ip6 src=fd00:7::2 dst=" addr " udp"
#define THERE "10.1.0.0/24, 'fd00:1::/64'"
#define HOME "10.5.0.0/24"

static inline unsigned drain(const char *spec)
{
	unsigned n = 0;

	while (!strncmp(host(spec), "pass", 4) && n < 1000)
		n++;
	return n;
}

static inline void send(const char *spec, unsigned n)
{
	while (n--)
		assert_string_equal(host(spec), "pass");
}

#endif
