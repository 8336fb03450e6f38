// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes the place of lib/tables/layouts.c: the same code, with the layouts of invented.h first. */
#include <bwl/maps.h>
#include "invented.h"

#define BWL_LAYOUTS_INVENTED(X)                                                                    \
	X(1, LAYOUT_1, "invented")                                                                 \
	X(2, LAYOUT_2, "invented")
#define BWL_MAPS_BEFORE_INVENTED(X)                                                                \
	X(evcnt, 1, 32, 1)                                                                         \
	X(lease, 1, LAYOUT_1_LEASE_BYTES, 1)
/* Maps of the rig have today's shape; where a listed layout had another one is not asked here. */
#undef BWL_MAPS_BEFORE
#define BWL_MAPS_BEFORE(X)
#define bwl_pin_since listed_since

unsigned listed_since(enum bwl_pin pin);
#include "lib/tables/layouts.c"
#undef bwl_pin_since

/* Of the maps that the list has from its first layout on, all but a few were in the first. */
unsigned bwl_pin_since(enum bwl_pin pin)
{
	static const enum bwl_pin later[] = LAYOUT_3_MAPS;
	unsigned i;

	for (i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		if (later[i] == pin)
			return listed_since(pin);
	return listed_since(pin) > 7 ? listed_since(pin) : 1;
}
