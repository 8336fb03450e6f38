/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What signed/widen.h calls no widening opens nothing: random pairs of policies, published by the
 * code that publishes them, and the programs as judges, by the test clock. One flow at a time, from
 * the same start: under the second policy it never has passed more bytes, at any step, nor to
 * another next hop, MAC or far DPU; and nobody more may speak to this DPU.
 *
 * One flow, because limits that peers share give to one what another does not take. MODEL_SEED=N:
 * one pair; MODEL_ROUNDS=N: so many, from MODEL_FIRST=N on.
 *
 * On maps in plain memory (widening_plain_test.c) and on the kernel's (tests/prog/widening_test.c):
 * a level provides the level_ functions.
 */
#ifndef BWL_TEST_WIDENING_H
#define BWL_TEST_WIDENING_H

#include <stdint.h>
#include <bwl/publish.h>

#define WIDENING_PEERS 32
#define WIDENING_EXTRAS 256
#define WIDENING_WINDOWS 128

void what_widens_nothing_opens_nothing(void **state);
uint64_t widening_seed(void); /* of the present pair */

/* Where the last packet that was passed to a next hop went; zeroes: this level cannot see it. */
struct level_sent {
	uint32_t ifindex;
	uint8_t family; /* AF_* */
	uint8_t via[16];
};

/*
 * A tray with host ports h0 and h1, uplinks p0 and p1, no policy, and volumes that are unspent; its
 * clock is at now_ns.
 */
struct bwl_pins *level_new(uint64_t now_ns);
void level_advance(uint64_t ns);
/* The frame that level_send() sends, in the words of harness/frame.h. */
void level_frame(const char *spec);
/* Through XDP and TC of host port 0 or 1: its bytes, if it passes. */
size_t level_send(unsigned port, struct level_sent *sent);
/* How many pairs, if nobody says. */
uint64_t level_pairs(void);
/* Ends the test with this text. */
_Noreturn void level_fail(const char *text);

#endif
