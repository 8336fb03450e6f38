// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Maps ports and IP protocols to classes. Well-known ports only: the sender chooses the port, so a
 * longer list would not make the class more reliable.
 */
#include <netinet/in.h>
#include <string.h>
#include "bwl/policy.h"

/* clang-format off */
static const struct bwl_pol_service builtin[] = {
	/* Congestion notifications share the port; the data plane tells them by BTH opcode. */
	{ BWL_C_ROCEV2, IPPROTO_UDP, 4791 },
	{ BWL_C_NVME_TCP, IPPROTO_TCP, 4420 },
	{ BWL_C_NVME_TCP, IPPROTO_TCP, 8009 }, /* discovery */
	{ BWL_C_NFS, IPPROTO_TCP, 2049 },
	{ BWL_C_NFS, IPPROTO_UDP, 2049 },
	{ BWL_C_NFS, IPPROTO_TCP, 20049 }, /* over RDMA: iWARP */
	{ BWL_C_NFS, IPPROTO_UDP, 20049 },
	{ BWL_C_ISCSI, IPPROTO_TCP, 3260 },
	{ BWL_C_ISCSI, IPPROTO_TCP, 860 },
	{ BWL_C_HTTPS, IPPROTO_TCP, 443 },
	{ BWL_C_HTTPS, IPPROTO_UDP, 443 }, /* HTTP/3 */
	{ BWL_C_SSH, IPPROTO_TCP, 22 },
	{ BWL_C_DNS, IPPROTO_TCP, 53 },
	{ BWL_C_DNS, IPPROTO_UDP, 53 },
	{ BWL_C_DNS, IPPROTO_TCP, 853 }, /* over TLS */
	{ BWL_C_ICMP, IPPROTO_ICMP, 0 },
	{ BWL_C_ICMP, IPPROTO_ICMPV6, 0 },
};
/* clang-format on */

static void set_service(const struct bwl_pol_service *s, uint8_t proto_class[256],
			uint8_t port_class[2][65536])
{
	if (s->proto == IPPROTO_TCP)
		port_class[0][s->port] = s->class_;
	else if (s->proto == IPPROTO_UDP)
		port_class[1][s->port] = s->class_;
	else
		proto_class[s->proto] = s->class_;
}

void bwl_class_table(const struct bwl_policy *p, uint8_t proto_class[256],
		     uint8_t port_class[2][65536])
{
	memset(proto_class, BWL_C_OTHER, 256);
	memset(port_class, BWL_C_OTHER, 2 * 65536);
	for (size_t i = 0; i < sizeof(builtin) / sizeof(*builtin); i++)
		set_service(&builtin[i], proto_class, port_class);
	for (size_t i = 0; i < p->nservices; i++)
		set_service(&p->services[i], proto_class, port_class);
}
