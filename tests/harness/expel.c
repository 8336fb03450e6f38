// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Causes the effects of an expulsion by hand (ipsec/expel.h):
 *
 *	bwl-expel VICI SWANCTL MS --us | NAME…
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ipsec/expel.h"

int main(int argc, char **argv)
{
	struct bwl_expelled did = { 0 };
	struct bwl_pins *pins = NULL;
	struct bwl_err e = { 0 };
	struct bwl_expulsion x;
	int r;

	if (argc < 5) {
		fputs("usage: bwl-expel VICI SWANCTL MS --us | NAME…\n", stderr);
		return 2;
	}
	x = (struct bwl_expulsion){ .vici = argv[1],
				    .swanctl = argv[2],
				    .timeout_ns = strtoull(argv[3], NULL, 10) * 1000000,
				    .peer = (const char *const *)&argv[4],
				    .npeers = (size_t)argc - 4,
				    .is_us = !strcmp(argv[4], "--us") };
	r = bwl_pins_open(NULL, true, &pins, &e);
	if (!r)
		r = bwl_expel(pins, &x, &did, &e);
	printf("%u keys, %u of charon, %u connections; %s\n", did.keys, did.unloaded,
	       did.charon.conns, did.charon_why);
	if (r)
		bwl_err_print(&e, "bwl-expel", false);
	bwl_pins_close(pins);
	return r ? 1 : 0;
}
