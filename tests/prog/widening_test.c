// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Widening (tests/model/widening.h) on real maps, with the real programs. Where a packet goes is in
 * the maps alone: a test run does not show it.
 */
#define RIG_HOST_ONLY
#include "prog.h"
#include "widening.h"

static char spec_now[200];

void level_fail(const char *text)
{
	fail_msg("MODEL_SEED=%llu: %s", (unsigned long long)widening_seed(), text);
	abort();
}

uint64_t level_pairs(void)
{
	return bwl_long() ? 10000 : 300;
}

struct bwl_pins *level_new(uint64_t now_ns)
{
	static const struct rig_opts o = { .host_only = true,
					   .max_peers = WIDENING_PEERS,
					   .max_extras = WIDENING_EXTRAS,
					   .max_windows = WIDENING_WINDOWS };

	if (rig && rig_teardown(NULL))
		level_fail("frames that were not counted once");
	rig = rig_open(&o);
	runs = 0;
	rig_set_clock(now_ns);
	rig->pins->ctl->attached_ns = now_ns;
	return rig->pins;
}

void level_advance(uint64_t ns)
{
	rig_advance(ns);
}

void level_frame(const char *spec)
{
	snprintf(spec_now, sizeof(spec_now), "%s", spec);
}

size_t level_send(unsigned port, struct level_sent *sent)
{
	const struct rig_packet early = { .prog = RIG_XDP, .port = port, .spec = spec_now },
				tc = { .prog = RIG_HOST, .port = port, .spec = spec_now };
	static struct rig_result first, then;

	(void)sent;
	rig_run(rig, &early, &first);
	rig_run(rig, &tc, &then);
	runs += 1 + first.counted;
	if (then.counted != 1 || first.counted > 1 ||
	    (first.counted && first.reason != then.reason))
		level_fail("XDP and TC disagree");
	return bwl_reason_is_pass(then.reason) ? then.len : 0;
}

/* A pair that fails leaves its own. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_widens_nothing_opens_nothing) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
