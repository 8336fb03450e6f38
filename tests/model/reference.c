// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reference. It knows the promises only, not how they are kept, and looks at destinations,
 * whatever name they have:
 *
 *   rate     in every interval of length T at most rate * T + burst
 *   volume   when a byte passes under a window (of the policy that has the destination), that
 *            window's length of the past holds at most the volume; in total, where there never was
 * a window closed   nothing after a revocation by any name that has the destination, in the policy
 * in force or in the one that a trial returns to, until a grant; nothing after a trial's end
 */
#include <stdio.h>
#include <string.h>
#include "model.h"

#define FRAMES_MAX 8000 /* frames that pass to a destination in a sequence */

static struct dest {
	bool closed;
	uint64_t window; /* in force there; 0: in total */
	/* The longest window that it has had, and since when what passed is known: before, a
	 * shorter one forgot it. */
	uint64_t longest, known;
	bool windowed;      /* ever */
	uint64_t forgotten; /* nothing is asked about what passed until then */
	bool anew;          /* of the rate */
	/*
	 * Of the rate: in units of 1/(8 * 10^9) bytes, in which a rate in bit/s times nanoseconds
	 * is a whole number, what has passed less what the rate allows since the beginning, and the
	 * least of that before any frame.
	 */
	__int128 over, least;
	uint64_t rate_ns;
	unsigned n;
	uint64_t at[FRAMES_MAX];
} dests[MODEL_DESTS];
static uint64_t trial_ns;

#define UNIT 8000000000LL

void ref_begin(void)
{
	for (unsigned d = 0; d < MODEL_DESTS; d++)
		memset(&dests[d], 0, offsetof(struct dest, at));
	trial_ns = 0;
}

static void set_closed(int dest, bool closed)
{
	for (int d = 0; d < MODEL_DESTS; d++)
		if (dest < 0 || dest == d)
			dests[d].closed = closed;
}

void ref_close(int dest)
{
	set_closed(dest, true);
}

void ref_open(int dest)
{
	set_closed(dest, false);
}

bool ref_is_closed(int dest)
{
	return dests[dest].closed;
}

void ref_window(int dest, uint64_t ns)
{
	dests[dest].window = ns;
}

uint64_t ref_window_now(int dest)
{
	return dests[dest].window;
}

void ref_has_window(int dest, uint64_t ns)
{
	struct dest *d = &dests[dest];

	d->windowed |= ns != 0;
	if (ns <= d->longest)
		return;
	if (d->known < level_now() - d->longest)
		d->known = level_now() - d->longest;
	d->longest = ns;
}

void ref_forget(int dest)
{
	dests[dest].forgotten = level_now();
	dests[dest].anew = true;
}

void ref_trial(uint64_t at_ns)
{
	trial_ns = at_ns;
}

uint64_t ref_trial_ns(void)
{
	return trial_ns;
}

/* Every interval that ends with this frame. */
static bool is_over_rate(struct dest *d, uint64_t now)
{
	if (!d->n || d->anew)
		d->over = d->least = 0;
	else
		d->over -= (__int128)MODEL_RATE * (now - d->rate_ns);
	d->anew = false;
	d->rate_ns = now;
	if (d->over < d->least)
		d->least = d->over;
	d->over += (__int128)MODEL_FRAME * UNIT;
	return d->over - d->least > (__int128)MODEL_BURST * UNIT;
}

static unsigned first_after(const struct dest *d, uint64_t ns)
{
	unsigned lo = 0, hi = d->n;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (d->at[mid] > ns)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static bool is_over_volume(const struct dest *d, uint64_t now)
{
	uint64_t known = d->known, window_ns = d->window;

	if (!window_ns && d->windowed)
		return false;
	if (!window_ns || known < d->forgotten)
		known = d->forgotten;
	if (!window_ns)
		return (uint64_t)(d->n - first_after(d, known)) * MODEL_FRAME > MODEL_VOLUME;
	if (now > window_ns && now - window_ns > known)
		known = now - window_ns;
	return (uint64_t)(d->n - first_after(d, known)) * MODEL_FRAME > MODEL_VOLUME;
}

const char *ref_passed(unsigned dest, uint64_t now)
{
	struct dest *d = &dests[dest];
	static char text[160];
	bool over_rate;

	if (d->n == FRAMES_MAX)
		return "more frames than the model has room for";
	over_rate = is_over_rate(d, now);
	d->at[d->n++] = now;
	if (d->closed)
		return "it was revoked";
	if (trial_ns && now >= trial_ns)
		return "it passes after the trial's end";
	if (over_rate) {
		snprintf(text, sizeof(text), "%lld bytes above the rate and the burst",
			 (long long)((d->over - d->least) / UNIT) - MODEL_BURST);
		return text;
	}
	if (is_over_volume(d, now)) {
		snprintf(text, sizeof(text), "more than the volume in the last %llu s (0: ever)",
			 (unsigned long long)(d->window / MODEL_SECOND));
		return text;
	}
	return NULL;
}

unsigned ref_bytes(void)
{
	unsigned n = 0;

	for (unsigned d = 0; d < MODEL_DESTS; d++)
		n += dests[d].n * MODEL_FRAME;
	return n;
}
