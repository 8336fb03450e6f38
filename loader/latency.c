// SPDX-License-Identifier: GPL-2.0-or-later
/* See latency.h. */
#include <stdio.h>
#include <bpf/bpf.h>
#include <bwl/cleanup.h>
#include <bwl/latency.h>
#include "latency.h"

/* Before all maps are opened: they may have an earlier layout. */
bool bwl_latency_wanted(const char *dir, enum bwl_latency_want want)
{
	uint32_t zero = 0, on = 0;
	char path[300];

	if (want != BWL_LATENCY_AS_IT_IS)
		return want == BWL_LATENCY_ON;
	snprintf(path, sizeof(path), "%s/maps/%s", dir, bwl_pin_name(BWL_PIN_latof));
	BWL_AUTO_CLOSE int fd = bpf_obj_get(path);

	return fd >= 0 && !bpf_map_lookup_elem(fd, &zero, &on) && on;
}

int bwl_latency_settle(const struct bwl_load *l, struct bwl_err *e)
{
	return bwl_lat_set_on(l->pins, l->measures, e);
}
