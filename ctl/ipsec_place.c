// SPDX-License-Identifier: GPL-2.0-or-later
/* The default location of charon and its files. */
#include "ipsec.h"

#define TIMEOUT_NS 10000000000ULL

int ctl_ipsec_place(struct ctl *c, struct ipsec_place *p)
{
	p->timeout_ns = TIMEOUT_NS;
	if (!p->dir)
		p->dir = BWL_IPSEC_DIR;
	if (p->timeout && bwl_parse_time(p->timeout, &p->timeout_ns, &c->err))
		return CTL_USAGE;
	return 0;
}
