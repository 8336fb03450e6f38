// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two CPUs take turns to make an even number odd and an odd one even, by compare-and-swap as in the
 * limiter: each success is one transfer of the line for writing. Rounds are short, so that a round
 * in which a CPU was taken away does not dominate.
 */
#include <stdatomic.h>
#include "bench/scale/pingpong.h"

#define TURNS 2000 /* of each side in a round: well below a timer tick */
#define LINE 128   /* some CPUs fetch lines in pairs */

struct side {
	_Alignas(LINE) atomic_uint *line;
	unsigned parity;
	double ns;
};

static int play(void *arg)
{
	struct side *s = arg;
	double begin = bench_wall_ns();
	unsigned i, want;

	for (i = 0; i < TURNS; i++) {
		want = 2 * i + s->parity;
		while (atomic_load_explicit(s->line, memory_order_relaxed) != want)
			;
		atomic_compare_exchange_strong(s->line, &want, want + 1);
	}
	s->ns = (bench_wall_ns() - begin) / (2.0 * TURNS);
	return 0;
}

int pingpong(struct crew *c, unsigned a, unsigned b, unsigned rounds, struct bench_spread *ret)
{
	static struct {
		_Alignas(LINE) atomic_uint line;
		char rest[LINE];
	} shared;
	struct side side[2] = { { &shared.line, 0, 0 }, { &shared.line, 1, 0 } };
	struct crew_task task[2] = {
		{ .work = play, .arg = &side[0], .urgent = true },
		{ .work = play, .arg = &side[1], .urgent = true },
	};
	unsigned who[2] = { a, b }, i;
	double ns[BENCH_MAX_ROUNDS];
	int r;

	for (i = 0; i < rounds; i++) {
		atomic_store(&shared.line, 0);
		r = crew_run(c, who, task, 2);
		if (r)
			return r;
		ns[i] = side[0].ns;
	}
	*ret = bench_spread_of(ns, rounds);
	return 0;
}
