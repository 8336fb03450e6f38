/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model: a reference that knows only promises 2, 3, 4 and 9, and random sequences of what an
 * operator, or an incident, can do. The same seed gives the same sequence at two levels: on real
 * maps through BPF_PROG_TEST_RUN (tests/prog/promises_test.c), and in this process, on maps in
 * plain memory (promises_plain_test.c). A level provides the level_ functions.
 */
#ifndef BWL_TEST_MODEL_H
#define BWL_TEST_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <bwl/publish.h>

#define MODEL_SECOND 1000000000ULL
#define MODEL_DESTS 4 /* 10.1.0.2 to .5, and fd00:1::2 to ::5 */
#define MODEL_FRAME 1000U
#define MODEL_RATE 10000000ULL /* bit/s */
#define MODEL_BURST 30000U
#define MODEL_VOLUME 60000U

/* Small maps: whatever walks them takes less time. */
#define MODEL_PEERS 32
#define MODEL_EXTRAS 64
#define MODEL_WINDOWS 64

/* --- reference.c: what passed, and what may pass */
void ref_begin(void);
/* What was asked for at a destination; dest < 0: at all. */
void ref_close(int dest);
void ref_open(int dest);
bool ref_is_closed(int dest);
/* Of the policy in force that has the destination; 0: in total. */
void ref_window(int dest, uint64_t ns);
uint64_t ref_window_now(int dest);
/* A destination has this window from now on; only up to its longest one is anything promised. */
void ref_has_window(int dest, uint64_t ns);
/* Nothing is asked about what has passed there until now. */
void ref_forget(int dest);
/* The trial's end; 0: no trial. */
void ref_trial(uint64_t at_ns);
uint64_t ref_trial_ns(void);
/* A frame passed: NULL, or the promise that it breaks. */
const char *ref_passed(unsigned dest, uint64_t now_ns);
/* What has passed to all destinations: no volume can have spent more. */
unsigned ref_bytes(void);

/* --- sequence.c */
/* Random steps; a broken promise ends it, with a text that repeats it. */
void model_sequence(uint64_t seed);
/* Of the last sequence: every frame's reason and moment. */
uint64_t model_digest(void);
/* The words of a frame (harness/frame.h). */
void model_frame(unsigned dest, bool six, char *spec, size_t bytes);
/* Called while a writer waits for packets in flight. */
void model_on_grace(void);

/* --- what a level provides */
/*
 * New maps, without a policy, and what the programs keep for themselves. After a reboot no volume
 * is known; else the clock starts at a fixed time.
 */
void level_open(bool reboot);
struct bwl_pins *level_pins(void);
/* As another process would: its lock is gone. */
void level_reopen(void);
/* Other programs of this layout take over the maps. */
void level_upgrade(void);
uint64_t level_now(void);
void level_advance(uint64_t ns);
/* A frame of MODEL_FRAME bytes: its reason, of XDP and TC. */
unsigned level_send(unsigned dest, bool six);
/*
 * Runs it with pins of its own, as another process, which is killed once the clock has been read
 * `clocks` times and then `blocks` more basic blocks of lib/publish and lib/tables have begun.
 * True: it was killed. Otherwise *ret_r is what it returned.
 */
bool level_kill(int (*fn)(struct bwl_pins *, void *), void *arg, unsigned clocks, unsigned blocks,
		int *ret_r);
/*
 * Runs it on a copy of maps, clock and reference, which is thrown away. A level that has no copy of
 * its maps does nothing.
 */
void level_aside(void (*fn)(void));
/* Ends the test with this text. */
_Noreturn void level_fail(const char *text);

#endif
