/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps of a pin directory as text, and pins from such a text: what an earlier version left
 * behind, without its tools (tests/recordings/maps-*). Shapes and contents are the kernel's words;
 * nothing here knows a layout.
 *
 *	time NS                                   CLOCK_BOOTTIME when it was recorded
 *	map NAME TYPE FLAGS KEY VALUE ENTRIES     then its entries
 *	inner SLOT TYPE FLAGS KEY VALUE ENTRIES   of an array of maps, then its entries
 *	e KEY [cCPU] OFFSET:BYTES…                in hex; what is not written is zero
 */
#ifndef BWL_TESTS_RECORDED_H
#define BWL_TESTS_RECORDED_H

#include <stdint.h>
#include <stdio.h>

/* 0 or a negative errno, which is also said on stderr. */
int recorded_write(const char *dir, FILE *to);
/*
 * Makes the maps and their pins below dir, in which maps/ must exist. A CPU that this machine lacks
 * loses its values: they are counters, and shares that were charged before.
 */
int recorded_read(const char *dir, FILE *from, uint64_t *ret_ns);

#endif
