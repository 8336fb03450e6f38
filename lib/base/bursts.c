// SPDX-License-Identifier: GPL-2.0-or-later
/* Bursts and waiting times that follow from a rate. */
#include "bwl/bursts.h"
#include "maps/words.h"

uint64_t bwl_default_burst(uint64_t rate_bps)
{
	uint64_t ms = (rate_bps + 7999) / 8000, tcp = rate_bps / 32; /* 1 ms; 250 ms */

	if (tcp > BWL_TCP_BURST_MAX)
		tcp = BWL_TCP_BURST_MAX;
	if (tcp < BWL_GSO_BURST)
		tcp = BWL_GSO_BURST;
	return ms > tcp ? ms : tcp;
}

uint64_t bwl_default_burst_shape(uint64_t rate_bps)
{
	uint64_t ms = (rate_bps + 7999) / 8000;

	return ms > BWL_GSO_BURST ? ms : BWL_GSO_BURST;
}

uint32_t bwl_horizon(uint32_t said_ns, uint64_t rate_bps)
{
	double ns;

	if (said_ns)
		return said_ns;
	if (rate_bps == BWL_NO_RATE)
		return BWL_HORIZON_MIN_NS;
	ns = BWL_HORIZON_BYTES * 8e9 / rate_bps + 1;
	return ns < BWL_HORIZON_MIN_NS   ? BWL_HORIZON_MIN_NS
	       : ns > BWL_HORIZON_MAX_NS ? BWL_HORIZON_MAX_NS
					 : (uint32_t)ns;
}
