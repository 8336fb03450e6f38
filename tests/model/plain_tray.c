// SPDX-License-Identifier: GPL-2.0-or-later
/* See plain_tray.h. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bwl/inner.h>
#include "plain.h"
#include "plain_tray.h"
#include "tests/harness/trace.h"

static struct bwl_pins *pins;
static char dir[64];
static uint64_t clock_ns;

uint64_t tray_now(void)
{
	return clock_ns;
}

void tray_set_clock(uint64_t ns)
{
	*plain_clock = clock_ns = ns;
}

struct bwl_pins *tray_pins(void)
{
	struct bwl_pins *p = NULL;
	struct bwl_err e = { 0 };

	if (bwl_pins_open(dir, true, &p, &e))
		tray_fail(e.text);
	return p;
}

struct bwl_pins *tray_again(void)
{
	bwl_pins_close(pins);
	return pins = tray_pins();
}

static void fill_port(unsigned port, const char *name, uint32_t kind)
{
	struct bwl_dev *d = &pins->dev[port];

	d->ifindex = TRAY_IFINDEX(port);
	d->mtu = 1500;
	d->kind = kind;
	snprintf(d->name, sizeof(d->name), "%s", name);
	pins->ifport[d->ifindex].v = port + 1;
}

struct bwl_pins *tray_new(const struct bwl_schema *s, bool fresh)
{
	bwl_pins_close(pins);
	plain_new(s);
	pins = tray_pins();
	pins->ctl->sched[0] = (struct bwl_sched){ BWL_NO_SLOT, BWL_NO_SLOT, BWL_NEVER_NS };
	pins->ctl->tag = 0x5a17c0deU;
	pins->ctl->attached_ns = clock_ns;
	pins->ctl->fresh_volume = fresh;
	fill_port(TRAY_H0, "h0", BWL_PORT_HOST);
	fill_port(TRAY_H1, "h1", BWL_PORT_HOST);
	fill_port(TRAY_P0, "p0", BWL_PORT_UPLINK);
	fill_port(TRAY_P1, "p1", BWL_PORT_UPLINK);
	trace_new(pins, true);
	return pins;
}

/* Which reason has been counted since: of one frame. */
static unsigned counted(unsigned port, const struct bwl_reason_count *was)
{
	const struct bwl_reason_count *now = plain_value(BWL_PIN_reason, port * BWL_REASON_COLUMNS);
	unsigned found = BWL_R_NONE;

	for (unsigned i = 0; i < _BWL_REASON_MAX; i++) {
		if (now[i].frames == was[i].frames)
			continue;
		if (found != BWL_R_NONE || now[i].frames != was[i].frames + 1)
			tray_fail("a frame was counted twice");
		found = i;
	}
	return found;
}

unsigned tray_send(unsigned port, uint8_t *frame, size_t len)
{
	struct bwl_reason_count was[BWL_REASON_COLUMNS];
	uint32_t at = (uint32_t)(uintptr_t)frame;
	struct xdp_md xdp = { .data = at,
			      .data_end = at + (uint32_t)len,
			      .data_meta = at,
			      .ingress_ifindex = TRAY_IFINDEX(port) };
	struct __sk_buff skb = { .data = at,
				 .data_end = at + (uint32_t)len,
				 .data_meta = at,
				 .len = (uint32_t)len,
				 .ifindex = TRAY_IFINDEX(port),
				 .ingress_ifindex = TRAY_IFINDEX(port) };
	struct trace_packet t = {
		.prog = "xdp-host", .port = port, .row = port, .frame = frame, .len = len, .tag = -1
	};
	unsigned early, reason;
	int act;

	trace_before(pins, &t, tray_now(), 0);
	memcpy(was, plain_value(BWL_PIN_reason, port * BWL_REASON_COLUMNS), sizeof(was));
	act = bwl_xdp_host(&xdp);
	early = counted(port, was);
	trace_after(pins, &t, 0);
	t.prog = "tc-host";
	trace_before(pins, &t, tray_now(), 0);
	memcpy(was, plain_value(BWL_PIN_reason, port * BWL_REASON_COLUMNS), sizeof(was));
	if ((act == XDP_DROP) != (early != BWL_R_NONE))
		tray_fail("XDP counts what it passes, or drops what it does not count");
	act = bwl_tc_host(&skb);
	reason = counted(port, was);
	trace_after(pins, &t, 0);
	if ((act == TC_ACT_REDIRECT) != bwl_reason_is_pass(reason) || reason == BWL_R_NONE ||
	    (early != BWL_R_NONE && early != reason))
		tray_fail("an action that is not its reason's");
	return reason;
}

static void unprotect(const volatile void *p, size_t n)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)p / page * page;

	if (mprotect((void *)from, (uintptr_t)p + n - from, PROT_READ | PROT_WRITE))
		tray_fail("cannot write what the loader writes before loading");
}

static void remove_dir(void)
{
	bwl_pins_close(pins);
	bwl_inner_forget(dir);
	rmdir(dir);
}

uint8_t *tray_memory(size_t n)
{
	void *p = mmap((void *)0x10000000, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED || (uintptr_t)p >> 31) {
		fputs("no memory below 4 GiB\n", stderr);
		exit(1);
	}
	return p;
}

void tray_load(void)
{
	const struct plain_rodata *r = &plain_rodata;

	snprintf(dir, sizeof(dir), "/tmp/bwl-model-XXXXXX");
	if (!mkdtemp(dir)) {
		fputs("no directory\n", stderr);
		exit(1);
	}
	atexit(remove_dir);
	unprotect(r->late_most_ns, sizeof(*r->late_most_ns));
	unprotect(r->cpu_bits, sizeof(*r->cpu_bits));
	*(volatile unsigned long long *)(uintptr_t)r->late_most_ns = 2000000;
	*(volatile unsigned int *)(uintptr_t)r->cpu_bits = bwl_cpu_bits();
}

/* Allocations are many and short-lived; a sequence that fails leaves its own. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=1:malloc_context_size=1:detect_leaks=0:allocator_release_to_os_interval_ms=-1";
}
