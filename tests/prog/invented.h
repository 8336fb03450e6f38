/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two layouts that never were, before all that are: so the conversion of maps is tested whether or
 * not an earlier layout is in maps/list.h. In the first bwl_evcnt_v1 had one counter and
 * bwl_lease_v1 half of its fields; the second has today's shapes, and lacks a few maps.
 */
#ifndef BWL_TEST_INVENTED_H
#define BWL_TEST_INVENTED_H

#define LAYOUT_1 0xba4c6acfe9838463ULL
#define LAYOUT_2 0x135fe249ca7d5a39ULL
#define LAYOUT_1_LEASE_BYTES 16
#define LAYOUT_3_MAPS                                                                              \
	{                                                                                          \
		BWL_PIN_nameid, BWL_PIN_cpu, BWL_PIN_share, BWL_PIN_latof, BWL_PIN_latency         \
	}

#endif
