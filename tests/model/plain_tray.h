/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tray in this process: maps in plain memory, host ports h0 and h1, uplinks p0 and p1, and the
 * programs at the host ports. One at a time.
 */
#ifndef BWL_TEST_PLAIN_TRAY_H
#define BWL_TEST_PLAIN_TRAY_H

#include <bwl/publish.h>

#define TRAY_H0 0 /* port ids */
#define TRAY_H1 1
#define TRAY_P0 2
#define TRAY_P1 3
#define TRAY_IFINDEX(port) (10U + (port))

/* First of all, once. */
void tray_load(void);
/* Memory for frames: the programs' context has 32 bits for an address. */
uint8_t *tray_memory(size_t n);

/* New maps, without a policy. fresh: volumes that nothing is known of are unspent. */
struct bwl_pins *tray_new(const struct bwl_schema *s, bool fresh);
/* Pins of the same maps; the caller closes them. */
struct bwl_pins *tray_pins(void);
/* As another process would: the tray's pins are closed, and opened again. */
struct bwl_pins *tray_again(void);

uint64_t tray_now(void);
void tray_set_clock(uint64_t ns);
/* A frame through XDP and TC of a host port: its reason. Ends the test if they disagree. */
unsigned tray_send(unsigned port, uint8_t *frame, size_t len);

/* Ends the test with this text. */
_Noreturn void tray_fail(const char *text);

#endif
