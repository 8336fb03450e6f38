/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Headers of what passes some devices and matches a filter, as pcapng, for a limited time. */
#ifndef BWL_TAP_CAPTURE_H
#define BWL_TAP_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <bwl/err.h>

#define TAP_MOST_DEVICES 64

struct tap {
	const char *const *device;
	size_t ndevices;
	const char *filter; /* pcap-filter(7) */
	const char *comment;
	const char *program;
	uint64_t end_ns;     /* CLOCK_BOOTTIME */
	uint64_t most_bytes; /* of the file */
	volatile int *stopped;
	/* what came of it */
	uint64_t frames, bytes, lost;
	bool is_full;
};

/* Until it ends. began() once all devices are open. */
int tap_run(struct tap *t, FILE *f, void (*began)(void *arg), void *arg, struct bwl_err *e);

#endif
