// SPDX-License-Identifier: GPL-2.0-or-later
/* What bwlimit needs of any kernel. Each item is tested by using it. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/esp.h>
#include "probe.h"
#include "probe_question.h"
#include "../maps/event.h"

void probe_errno(struct probe_answer *ret, int err)
{
	ret->works = !err;
	if (err)
		snprintf(ret->error, sizeof(ret->error), "%s", strerror(err));
}

int probe_trivial(unsigned type, unsigned flags)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 2 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o, .prog_flags = flags);

	return bpf_prog_load((enum bpf_prog_type)type, "bwl_probe", "GPL", insns, 2, &o);
}

struct map {
	enum bpf_map_type type;
	uint32_t key, value, n, flags;
};

static void try_map(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct map *m = with;
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = m->flags);
	int fd = bpf_map_create(m->type, "bwl_probe", m->key, m->value, m->n, &o);

	(void)p;
	probe_errno(ret, fd < 0 ? errno : 0);
	if (fd >= 0)
		close(fd);
}

/* mov r0,0; stack word = 0; r0 = cmpxchg(word, r0, r0); exit */
static void try_cmpxchg(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 10, .src_reg = 0, .off = -8 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW,
		  .dst_reg = 10,
		  .src_reg = 0,
		  .off = -8,
		  .imm = BPF_CMPXCHG },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "bwl_probe", "GPL", insns, 5, NULL);

	(void)p, (void)with;
	probe_errno(ret, fd < 0 ? errno : 0);
	if (fd >= 0)
		close(fd);
}

static bool has_helper(enum bpf_func_id id)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_SCHED_CLS, id, NULL) == 1;
}

bool bwl_kernel_keeps_times(void)
{
	return has_helper(BPF_FUNC_skb_set_tstamp);
}

static void try_helper(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const enum bpf_func_id *id = with;

	(void)p;
	probe_errno(ret, has_helper(*id) ? 0 : ENOTSUP);
}

static void try_btf(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	(void)p, (void)with;
	probe_errno(ret, access("/sys/kernel/btf/vmlinux", R_OK) ? errno : 0);
}

static void try_esp(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	struct bwl_esp x;

	(void)p;
	bwl_esp_ask(*(const int *)with, &x);
	ret->works = x.state == BWL_ESP_THERE;
	snprintf(ret->answer, sizeof(ret->answer), "%s", bwl_esp_word(x.state));
	snprintf(ret->error, sizeof(ret->error), "%.159s", x.why);
	snprintf(ret->todo, sizeof(ret->todo), "%s", x.todo);
}

static void ask_mended(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	struct bwl_esp x4, x6;
	struct utsname u;

	(void)p, (void)with;
	bwl_esp_ask(AF_INET, &x4);
	bwl_esp_ask(AF_INET6, &x6);
	ret->works = !uname(&u) && bwl_esp_is_mended(u.release, u.version);
	snprintf(ret->answer, sizeof(ret->answer), "%s", ret->works ? "yes" : "cannot be told");
	if (ret->works || x4.state == BWL_ESP_THERE || x6.state == BWL_ESP_THERE)
		return;
	ret->works = true;
	snprintf(ret->answer, sizeof(ret->answer), "no ESP");
}

#define NEEDS "bwlimit does not run"
#define NEWER "boot Linux 6.1 or newer, and be root (CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON)"

#define NO_ESP "encrypted peers"
#define NO_SA "stay closed (no-sa)"

/* clang-format off */
#define MAP(...) .ask = try_map, .with = &(const struct map){ __VA_ARGS__ }
#define HELPER(name) .ask = try_helper, .with = &(const enum bpf_func_id){ BPF_FUNC_##name }

const struct probe_question probe_kernel_questions[] = {
	{ "map-mmap", "arrays mapped into user space", NEEDS, NEWER,
	  MAP(BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE) },
	{ "map-inner-size", "inner arrays of different size", NEEDS, NEWER,
	  MAP(BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE | BPF_F_INNER_MAP) },
	{ "map-lpm", "longest-prefix match", NEEDS, NEWER,
	  MAP(BPF_MAP_TYPE_LPM_TRIE, 8, 4, 1, BPF_F_NO_PREALLOC) },
	/* As large as the real one: a size must be a multiple of the page, which may be 64 KiB. */
	{ "map-ringbuf", "ring buffer", NEEDS, NEWER,
	  MAP(BPF_MAP_TYPE_RINGBUF, 0, 0, BWL_EVENT_RING_BYTES, 0) },
	{ "cmpxchg", "atomic compare-and-exchange", NEEDS, NEWER, .ask = try_cmpxchg },
	{ "redirect-neigh", "bpf_redirect_neigh", NEEDS, NEWER, HELPER(redirect_neigh) },
	{ "ecn-set-ce", "bpf_skb_ecn_set_ce", NEEDS, NEWER, HELPER(skb_ecn_set_ce) },
	{ "ktime-boot", "bpf_ktime_get_boot_ns", NEEDS, NEWER, HELPER(ktime_get_boot_ns) },
	{ "jiffies", "bpf_jiffies64", NEEDS, NEWER, HELPER(jiffies64) },
	{ "departure-times", "bpf_skb_set_tstamp", "mode shape polices, mode mark drops sooner",
	  "a kernel of 5.18 or later", HELPER(skb_set_tstamp) },
	{ "esp4", "ESP for IPv4", NO_ESP " whose DPU has an IPv4 address " NO_SA, "as root: " NEWER,
	  .ask = try_esp, .with = &(const int){ AF_INET } },
	{ "esp6", "ESP for IPv6", NO_ESP " whose DPU has an IPv6 address " NO_SA, "as root: " NEWER,
	  .ask = try_esp, .with = &(const int){ AF_INET6 } },
	{ "esp-mended", "the mending of CVE-2026-43284 (ESP)",
	  "the kernel's number does not tell; without it a process on the DPU can become root",
	  "ask the kernel's vendor; kernel.org has it in " BWL_ESP_MENDED, .ask = ask_mended },
	{ "btf", "BTF of the kernel", NEEDS, "boot a kernel built with CONFIG_DEBUG_INFO_BTF", .ask = try_btf },
	{ 0 }
};
/* clang-format on */
