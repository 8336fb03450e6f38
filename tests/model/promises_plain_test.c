// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The model's sequences on maps in plain memory: the publishing code, and the programs compiled for
 * this process. MODEL_SEED=N: one sequence; MODEL_ROUNDS=N: so many, from
 * MODEL_FIRST=N on; MODEL_TELL=1: what is done.
 * With two arguments, the first and the last seed: prints the digest of each.
 */
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bwl/inner.h>
#include "model.h"
#include "plain.h"
#include "tests/harness/frame.h"
#include "writers.h"

#define H0 0 /* port ids, and interfaces */
#define H1 1
#define P0 2
#define P1 3
#define IFINDEX(port) (10U + (port))

static struct bwl_pins *pins;
static char dir[64];
static uint64_t clock_ns;

/* Below 4 GiB, as the programs' context has 32 bits for it. */
static struct wire {
	uint8_t data[MODEL_FRAME + 100];
} * wire;

uint64_t bwl_now_ns(void)
{
	writers_clock();
	return clock_ns;
}

uint64_t level_now(void)
{
	return clock_ns;
}

static void set_clock(uint64_t ns)
{
	*plain_clock = clock_ns = ns;
}

void level_advance(uint64_t ns)
{
	set_clock(clock_ns + ns);
}

struct bwl_pins *level_pins(void)
{
	return pins;
}

static struct bwl_pins *open_pins(void)
{
	struct bwl_pins *p = NULL;
	struct bwl_err e = { 0 };

	if (bwl_pins_open(dir, true, &p, &e))
		level_fail(e.text);
	return p;
}

void level_reopen(void)
{
	bwl_pins_close(pins);
	pins = open_pins();
}

void level_upgrade(void)
{
	plain_new_own();
}

static void fill_port(unsigned port, const char *name, uint32_t kind)
{
	struct bwl_dev *d = &pins->dev[port];

	d->ifindex = IFINDEX(port);
	d->mtu = 1500;
	d->kind = kind;
	snprintf(d->name, sizeof(d->name), "%s", name);
	pins->ifport[d->ifindex].v = port + 1;
}

void level_open(bool reboot)
{
	const struct bwl_schema s = bwl_schema_new(MODEL_PEERS, MODEL_EXTRAS, MODEL_WINDOWS);

	if (!reboot)
		set_clock(1000000 * MODEL_SECOND);
	plain_on_grace = model_on_grace;
	bwl_pins_close(pins);
	plain_new(&s);
	pins = open_pins();
	pins->ctl->sched[0] = (struct bwl_sched){ BWL_NO_SLOT, BWL_NO_SLOT, BWL_NEVER_NS };
	pins->ctl->tag = 0x5a17c0deU;
	pins->ctl->attached_ns = clock_ns;
	pins->ctl->fresh_volume = !reboot;
	/* All that the other level has: looking for a port takes as many blocks (writers.h). */
	fill_port(H0, "h0", BWL_PORT_HOST);
	fill_port(H1, "h1", BWL_PORT_HOST);
	fill_port(P0, "p0", BWL_PORT_UPLINK);
	fill_port(P1, "p1", BWL_PORT_UPLINK);
}

/* Which reason has been counted since: of one frame. */
static unsigned counted(const struct bwl_reason_count *was)
{
	const struct bwl_reason_count *now = plain_value(BWL_PIN_reason, H0 * BWL_REASON_COLUMNS);
	unsigned found = BWL_R_NONE;

	for (unsigned i = 0; i < _BWL_REASON_MAX; i++) {
		if (now[i].frames == was[i].frames)
			continue;
		if (found != BWL_R_NONE || now[i].frames != was[i].frames + 1)
			level_fail("a frame was counted twice");
		found = i;
	}
	return found;
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
	struct bwl_reason_count was[BWL_REASON_COLUMNS];
	struct wire *w = &wire[2 * dest + six];
	uint32_t at = (uint32_t)(uintptr_t)(w->data + 2);
	struct xdp_md xdp = { .data = at,
			      .data_end = at + MODEL_FRAME,
			      .data_meta = at,
			      .ingress_ifindex = IFINDEX(H0) };
	struct __sk_buff skb = { .data = at,
				 .data_end = at + MODEL_FRAME,
				 .data_meta = at,
				 .len = MODEL_FRAME,
				 .ifindex = IFINDEX(H0),
				 .ingress_ifindex = IFINDEX(H0) };
	unsigned early, reason;
	int act;

	memcpy(was, plain_value(BWL_PIN_reason, H0 * BWL_REASON_COLUMNS), sizeof(was));
	act = bwl_xdp_host(&xdp);
	early = counted(was);
	memcpy(was, plain_value(BWL_PIN_reason, H0 * BWL_REASON_COLUMNS), sizeof(was));
	if ((act == XDP_DROP) != (early != BWL_R_NONE))
		level_fail("XDP counts what it passes, or drops what it does not count");
	act = bwl_tc_host(&skb);
	reason = counted(was);
	if ((act == TC_ACT_REDIRECT) != bwl_reason_is_pass(reason) || reason == BWL_R_NONE ||
	    (early != BWL_R_NONE && early != reason))
		level_fail("an action that is not its reason's");
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
	own = open_pins();
	plain_process_begins();
	if (!setjmp(death)) {
		writers_die(clocks, blocks, die);
		*ret_r = fn(own, arg);
		killed = false;
	}
	writers_live();
	if (killed)
		plain_process_ends();
	else
		plain_process_returns();
	bwl_pins_close(own);
	return killed;
}

void level_fail(const char *text)
{
	fail_msg("%s", text);
	abort();
}

static void unprotect(const volatile void *p, size_t n)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)p / page * page;

	if (mprotect((void *)from, (uintptr_t)p + n - from, PROT_READ | PROT_WRITE))
		level_fail("cannot write what the loader writes before loading");
}

static void remove_dir(void)
{
	bwl_pins_close(pins);
	bwl_inner_forget(dir);
	rmdir(dir);
}

static void load(void)
{
	const struct plain_rodata *r = &plain_rodata;

	snprintf(dir, sizeof(dir), "/tmp/bwl-model-XXXXXX");
	wire = mmap((void *)0x10000000, 2 * MODEL_DESTS * sizeof(*wire), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (wire == MAP_FAILED || (uintptr_t)wire >> 31 || !mkdtemp(dir)) {
		fputs("no memory below 4 GiB, or no directory\n", stderr);
		exit(1);
	}
	atexit(remove_dir);
	for (unsigned d = 0; d < MODEL_DESTS; d++) {
		build(d, false, &wire[2 * d]);
		build(d, true, &wire[2 * d + 1]);
	}
	unprotect(r->late_most_ns, sizeof(*r->late_most_ns));
	unprotect(r->cpu_bits, sizeof(*r->cpu_bits));
	*(volatile unsigned long long *)(uintptr_t)r->late_most_ns = 2000000;
	*(volatile unsigned int *)(uintptr_t)r->cpu_bits = bwl_cpu_bits();
}

/* Allocations are many and short-lived; a sequence that fails leaves its own. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=1:malloc_context_size=1:detect_leaks=0:"
	       "allocator_release_to_os_interval_ms=-1";
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
