// SPDX-License-Identifier: GPL-2.0-or-later
/* Widening (widening.h) on maps in plain memory. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>
#include "plain.h"
#include "plain_tray.h"
#include "tests/harness/frame.h"
#include "widening.h"

static uint8_t *memory; /* of the frame */
static struct frame frame;

uint64_t bwl_now_ns(void)
{
	return tray_now();
}

void tray_fail(const char *text)
{
	fail_msg("MODEL_SEED=%llu: %s", (unsigned long long)widening_seed(), text);
	abort();
}

void level_fail(const char *text)
{
	tray_fail(text);
}

uint64_t level_pairs(void)
{
	return 5000;
}

struct bwl_pins *level_new(uint64_t now_ns)
{
	const struct bwl_schema shape = bwl_schema_new(WIDENING_PEERS, WIDENING_EXTRAS,
						       WIDENING_WINDOWS);

	tray_set_clock(now_ns);
	return tray_new(&shape, true);
}

void level_advance(uint64_t ns)
{
	tray_set_clock(tray_now() + ns);
}

void level_frame(const char *spec)
{
	const struct frame_env env = { .gateway = { 2, 0, 0, 0, 0, 0xfe },
				       .own = { 2, 0, 0, 0xaa, 0xbb, 0xcc } };
	char why[160];

	if (frame_build(spec, &env, &frame, why))
		tray_fail(why);
	memcpy(memory + 2, frame.data, frame.len);
}

size_t level_send(unsigned port, struct level_sent *sent)
{
	if (!bwl_reason_is_pass(tray_send(port, memory + 2, frame.len)))
		return 0;
	sent->ifindex = plain_sent.ifindex;
	sent->family = plain_sent.family;
	memcpy(sent->via, plain_sent.via, sizeof(sent->via));
	return frame.len;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_widens_nothing_opens_nothing) };

	tray_load();
	memory = tray_memory(FRAME_MAX);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
