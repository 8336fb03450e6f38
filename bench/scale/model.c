// SPDX-License-Identifier: GPL-2.0-or-later
/* See model.h. */
#include "bench/scale/model.h"

#define LINES_MAX 1024
#define HALVINGS 60

double model_ns(double alone, double transfer, double lines, unsigned cpus)
{
	double stations = lines > 1 ? lines : 1, demand, waiting = 0, each, all = alone;
	unsigned k;

	if (cpus < 2)
		return alone;
	demand = transfer * (cpus - 1) / cpus * lines / stations;
	for (k = 1; k <= cpus; k++) {
		/* after the packets that a CPU finds waiting there */
		each = demand * (1 + waiting);
		all = alone + stations * each;
		waiting = k / all * each;
	}
	return all;
}

double model_lines(double alone, double two, double transfer)
{
	double low = 0, high = LINES_MAX, mid;
	int i;

	if (two <= alone || transfer <= 0)
		return 0;
	for (i = 0; i < HALVINGS; i++) {
		mid = (low + high) / 2;
		if (model_ns(alone, transfer, mid, 2) < two)
			low = mid;
		else
			high = mid;
	}
	return low;
}
