/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BWL_TEST_COUNT_H
#define BWL_TEST_COUNT_H

#include <signal.h>
#include <stdbool.h>
#include "marker.h"

#define NSEC 1000000000LL

extern volatile sig_atomic_t frames_stopped; /* by a signal */

int frames_die(const char *what); /* prints an error and returns 1 */
long long frames_now_ns(void);
void frames_sleep_until(long long ns);
int frames_packet_socket(const char *dev, int protocol); /* -1: the error was printed */

/*
 * Counts until a signal, or for this many seconds (0: no end). Returns 0, or 1 with the error
 * printed.
 */
int count_frames(const char *dev, double seconds, const struct marker *m);
/*
 * The receive counters over a time that is never shorter than what they count. from_first: begins
 * at the last look that had seen nothing yet.
 */
int count_sample(const char *dev, double seconds, bool from_first);

#endif
