// SPDX-License-Identifier: GPL-2.0-or-later
/* See past.h. BPF only counts it; how long ago it was is here. */
#include <unistd.h>
#include <bwl/clock.h>
#include <bwl/past.h>

static uint64_t left(const struct bwl_past *past)
{
	return __atomic_load_n(&past->bytes, __ATOMIC_SEQ_CST);
}

uint64_t bwl_past_sum(const struct bwl_past *past, uint64_t now_ns)
{
	/* The latest mark that is old enough. [1] is: it was [0] when that got as old. */
	unsigned i = now_ns - past->mark_ns[0] < past->keep_ns;

	return left(past) - past->mark_bytes[i];
}

void bwl_past_counted(struct bwl_past *past, uint64_t sum)
{
	uint64_t bytes = past->mark_bytes[bwl_now_ns() - past->mark_ns[0] < past->keep_ns] + sum;

	for (unsigned i = 0; i < 2; i++) {
		past->mark_bytes[i] = bytes;
		past->mark_ns[i] = 0; /* old enough at once */
	}
}

void bwl_past_follow(struct bwl_past *past, const struct bwl_past *from)
{
	uint64_t now = bwl_now_ns(), sum = bwl_past_sum(past, now), more = bwl_past_sum(from, now);

	if (past->keep_ns < from->keep_ns)
		past->keep_ns = from->keep_ns;
	if (more > sum)
		__atomic_add_fetch(&past->bytes, more - sum, __ATOMIC_SEQ_CST);
}

void bwl_past_mark(struct bwl_pins *p)
{
	int still = bwl_pins_still(p);
	uint64_t now = bwl_now_ns();
	struct bwl_past *past;
	uint32_t i;

	if (still < 0)
		return; /* the policy is being changed: the next minute does it */
	for (i = 0; i < p->schema.max_windows; i++) {
		past = &p->window[i].past;
		if (now - past->mark_ns[0] < past->keep_ns || !past->keep_ns)
			continue;
		past->mark_ns[1] = past->mark_ns[0];
		past->mark_bytes[1] = past->mark_bytes[0];
		past->mark_bytes[0] = left(past);
		past->mark_ns[0] = now;
	}
	close(still);
}
