/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BWL_TEST_SETTLE_H
#define BWL_TEST_SETTLE_H

/* Waits until the frames that were sent before have arrived wherever they go. Returns the exit
 * code. */
int settle(void);

#endif
