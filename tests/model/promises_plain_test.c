// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The model's sequences on maps in plain memory: the publishing code, and the programs compiled for
 * this process. MODEL_SEED=N: one sequence; MODEL_ROUNDS=N: so many, from
 * MODEL_FIRST=N on; MODEL_TELL=1: what is done; MODEL_LIVE=1: live.c looks aside in each.
 * With two arguments, the first and the last seed: prints the digest of each.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "model.h"
#include "plain.h"
#include "plain_tray.h"
#include "tests/harness/frame.h"
#include "tests/harness/trace.h"
#include "writers.h"

static struct bwl_pins *pins;

static struct wire {
	uint8_t data[MODEL_FRAME + 100];
} * wire;

uint64_t bwl_now_ns(void)
{
	writers_clock();
	return tray_now();
}

uint64_t level_now(void)
{
	return tray_now();
}

void level_advance(uint64_t ns)
{
	tray_set_clock(tray_now() + ns);
}

struct bwl_pins *level_pins(void)
{
	return pins;
}

void level_reopen(void)
{
	pins = tray_again();
}

void level_upgrade(void)
{
	plain_new_own();
	trace_programs();
}

void level_open(bool reboot)
{
	const struct bwl_schema s = bwl_schema_new(MODEL_PEERS, MODEL_EXTRAS, MODEL_WINDOWS);

	if (!reboot)
		tray_set_clock(1000000 * MODEL_SECOND);
	plain_on_grace = model_on_grace;
	pins = tray_new(&s, !reboot);
}

static void build(unsigned dest, bool six, struct wire *w)
{
	const struct frame_env env = { .gateway = { 2, 0, 0, 0, 0, 0xfe },
				       .own = { 2, 0, 0, 0, 0, 1 } };
	static struct frame f;
	char spec[100], why[160];

	model_frame(dest, six, spec, sizeof(spec));
	if (frame_build(spec, &env, &f, why))
		level_fail(why);
	if (f.len != MODEL_FRAME)
		level_fail("a frame of another length");
	memcpy(w->data + 2, f.data, f.len); /* the IP header is aligned */
}

unsigned level_send(unsigned dest, bool six)
{
	unsigned reason;

	writers_wait(true); /* a trace reads maps as they do */
	reason = tray_send(TRAY_H0, wire[2 * dest + six].data + 2, MODEL_FRAME);
	writers_wait(false);
	return reason;
}

static jmp_buf death;

static void die(void)
{
	longjmp(death, 1);
}

bool level_kill(int (*fn)(struct bwl_pins *, void *), void *arg, unsigned clocks, unsigned blocks,
		int *ret_r)
{
	struct bwl_pins *own;
	volatile bool killed = true;

	level_reopen();
	own = tray_pins();
	trace_forget();
	plain_process_begins();
	if (!setjmp(death)) {
		writers_die(clocks, blocks, die);
		*ret_r = fn(own, arg);
		killed = false;
	}
	writers_live();
	trace_forget();
	if (killed)
		plain_process_ends();
	else
		plain_process_returns();
	bwl_pins_close(own);
	return killed;
}

static struct aside {
	char text[400];
} * aside; /* shared with the process of whoever looks aside */
static bool is_aside;

void level_aside(void (*fn)(void))
{
	int status = 0;
	pid_t child;

	if (getenv("BWL_TRACE")) /* which is one process's */
		return;
	aside->text[0] = '\0';
	level_reopen(); /* without the writers' lock, which both processes would have */
	child = fork();
	if (!child) {
		is_aside = true;
		level_reopen();
		fn();
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		level_fail("no process to look aside");
	if (status)
		level_fail(aside->text[0] ? aside->text : "who looked aside ended");
}

void level_fail(const char *text)
{
	if (is_aside) {
		snprintf(aside->text, sizeof(aside->text), "%s", text);
		_exit(1);
	}
	fail_msg("%s", text);
	abort();
}

void tray_fail(const char *text)
{
	level_fail(text);
}

static void load(void)
{
	tray_load();
	aside = mmap(NULL, sizeof(*aside), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (aside == MAP_FAILED)
		exit(1);
	wire = (struct wire *)tray_memory(2 * MODEL_DESTS * sizeof(*wire));
	for (unsigned d = 0; d < MODEL_DESTS; d++) {
		build(d, false, &wire[2 * d]);
		build(d, true, &wire[2 * d + 1]);
	}
}

static void whatever_is_done_the_promises_hold(void **state)
{
	const char *one = getenv("MODEL_SEED"), *many = getenv("MODEL_ROUNDS");
	const char *from = getenv("MODEL_FIRST");
	uint64_t i, n = many ? strtoull(many, NULL, 10) : 5000;
	uint64_t first = from ? strtoull(from, NULL, 10) : 1;

	(void)state;
	if (one) {
		model_sequence(strtoull(one, NULL, 10));
		return;
	}
	for (i = first; i < first + n; i++)
		model_sequence(i);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(whatever_is_done_the_promises_hold) };

	load();
	for (uint64_t i = argc == 3 ? strtoull(argv[1], NULL, 10) : 1;
	     argc == 3 && i <= strtoull(argv[2], NULL, 10); i++) {
		model_sequence(i);
		printf("%" PRIx64 "\n", model_digest());
		fflush(stdout);
	}
	return argc == 3 ? 0 : cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
