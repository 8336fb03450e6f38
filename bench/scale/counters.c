// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See counters.h. No generic event counts transfers; the raw ones are by name in the kernel's
 * tools/perf/pmu-events:
 *   Intel  MEM_LOAD_L3_HIT_RETIRED.XSNP_FWD (before Ice Lake XSNP_HITM), event 0xd2, umask 0x04:
 *          retired loads whose line another core of the socket had modified;
 *   AMD    ls_any_fills_from_sys, event 0x44 (family 0x19 on), umasks local_ccx 0x02, near_cache
 *          0x04, far_cache 0x10: lines that came from another cache, including L3 hits.
 * Others: cache misses, as the kernel defines them.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "bench/machine.h"
#include "bench/scale/counters.h"

#define INTEL_XSNP_FWD 0x04d2
#define AMD_FILLS_FROM_CACHES 0x1644
#define AMD_ZEN3 0x19

static int event(uint32_t type, uint64_t config)
{
	struct perf_event_attr a = {
		.type = type,
		.size = sizeof(a),
		.config = config,
		.disabled = 1,
		.exclude_hv = 1,
	};
	long fd = syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int event_transfers(const char **ret_name)
{
	unsigned family;
	enum bench_vendor vendor = bench_cpu_vendor(&family);
	int fd = -ENOENT;

	if (vendor == BENCH_CPU_INTEL) {
		*ret_name = "MEM_LOAD_L3_HIT_RETIRED.XSNP_FWD";
		fd = event(PERF_TYPE_RAW, INTEL_XSNP_FWD);
	} else if (vendor == BENCH_CPU_AMD && family >= AMD_ZEN3) {
		*ret_name = "ls_any_fills_from_sys, other caches and L3";
		fd = event(PERF_TYPE_RAW, AMD_FILLS_FROM_CACHES);
	}
	if (fd >= 0)
		return fd;
	*ret_name = "cache misses";
	return event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES);
}

void counters_open(struct counters *c)
{
	*c = (struct counters){ .cycles = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES) };
	c->transfers = event_transfers(&c->transfers_name);
	c->err = c->cycles < 0 ? -c->cycles : c->transfers < 0 ? -c->transfers : 0;
}

void counters_close(struct counters *c)
{
	if (c->cycles >= 0)
		close(c->cycles);
	if (c->transfers >= 0)
		close(c->transfers);
}

static void start(int fd)
{
	if (fd < 0)
		return;
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

static uint64_t stop(int fd)
{
	uint64_t n = 0;

	if (fd < 0)
		return 0;
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	return read(fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

void counters_start(const struct counters *c)
{
	start(c->transfers);
	start(c->cycles);
}

void counters_stop(const struct counters *c, uint64_t *ret_cycles, uint64_t *ret_transfers)
{
	*ret_cycles = stop(c->cycles);
	*ret_transfers = stop(c->transfers);
}
