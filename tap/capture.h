/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Captures headers of packets that pass some devices and match a filter, as pcapng, for a limited
 * time.
 */
#ifndef BWL_TAP_CAPTURE_H
#define BWL_TAP_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <bwl/err.h>

#define TAP_DEVICES_MAX 64

struct tap {
	const char *const *device;
	size_t ndevices;
	const char *filter; /* pcap-filter(7) */
	const char *comment;
	const char *program;
	uint64_t end_ns;     /* CLOCK_BOOTTIME */
	uint64_t most_bytes; /* of the file */
	volatile int *stopped;
	/* results */
	uint64_t frames, bytes, lost;
	bool is_full;
};

/* Runs until it ends. began() is called once all devices are open. */
int tap_run(struct tap *t, FILE *f, void (*began)(void *arg), void *arg, struct bwl_err *e);

#endif
