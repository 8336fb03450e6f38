/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pcapng (draft-ietf-opsawg-pcapng): a section, its interfaces, packets, statistics. */
#ifndef BWL_TAP_PCAPNG_H
#define BWL_TAP_PCAPNG_H

#include <stdint.h>
#include <stdio.h>

enum pcapng_way { PCAPNG_IN = 1, PCAPNG_OUT = 2 }; /* as epb_flags has them */

/*
 * Each is one fwrite(), so a concurrent reader sees it whole or not at all; errors stay with the
 * FILE.
 */
void pcapng_section(FILE *f, const char *program, const char *comment);
void pcapng_interface(FILE *f, const char *name, const char *filter, uint32_t snap);
/* when: ns of the epoch */
void pcapng_packet(FILE *f, uint32_t interface, uint64_t when_ns, enum pcapng_way way,
		   const uint8_t *at, uint32_t taken, uint32_t whole);
void pcapng_statistics(FILE *f, uint32_t interface, uint64_t when_ns, uint64_t seen, uint64_t lost);

#endif
