// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every variant of the programs loads on this kernel, and none has grown by more than 5 %
 * against insns.txt: in instructions that the verifier walked (which limits a program) and in
 * instructions that remain after it (which a packet pays for). None is walked for more than the
 * maximum in insns.txt, on its kernel and newer ones; older kernels, which walk farther and give up
 * at a million, have a maximum of their own.
 *
 *   verifier_test INSNS.TXT CLANG-VERSION [--update]
 *
 * Strict alignment is not a variant: x86-64 and arm64 kernels read unaligned fields.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "bwlimit.skel.h"
#include "bwlimit_plain.skel.h"
#include "bwlimit_test.skel.h"
#include "../harness/frags.h"

#define GROWTH_PERCENT 5
#define MAX_ROWS 128
#define MAX_PROGRAMS 16
#define LOG_BYTES (1 << 16)
#define LOG_STATS 4 /* BPF_LOG_STATS of linux/bpf_verifier.h (kernel 5.2) */

struct row {
	char variant[32], program[32];
	unsigned verified, xlated;
};

struct rows {
	struct row row[MAX_ROWS];
	unsigned n;
	unsigned most;        /* the most instructions that the verifier may walk for a program */
	unsigned old_most;    /* the same on kernels before the one of `made_with` */
	unsigned record_most; /* the same as `most`, for a variant that records */
	char made_with[64];
};

struct variant {
	const char *name;
	bool test_clock; /* the object with the injected clock */
	bool no_frags;   /* XDP without BPF_F_XDP_HAS_FRAGS, as for drivers without it */
	bool by_mark;    /* also the tunnel device's programs, from the object without kfuncs */
	bool generic;    /* the copy for generic XDP, which sends nothing */
	bool old_kernel; /* relocated against a BTF without bpf_xdp_get_buff_len() */
	bool records;    /* flows are recorded */
	bool measures;   /* latency is measured */
	__u32 flags;     /* for all programs */
};

static const struct variant variants[] = {
	{ .name = "release" },
	{ .name = "release-nofrags", .no_frags = true },
	{ .name = "release-generic", .no_frags = true, .generic = true },
	{ .name = "release-old", .no_frags = true, .generic = true, .old_kernel = true },
	{ .name = "release-mark", .by_mark = true },
	{ .name = "release-record", .records = true },
	{ .name = "record-mark", .by_mark = true, .records = true },
	{ .name = "record-old",
	  .no_frags = true,
	  .generic = true,
	  .old_kernel = true,
	  .records = true },
	{ .name = "release-latency", .measures = true },
	{ .name = "record-latency", .by_mark = true, .records = true, .measures = true },
	{ .name = "release-hi32", .flags = BPF_F_TEST_RND_HI32 },
	{ .name = "clock", .test_clock = true },
	{ .name = "clock-nofrags", .test_clock = true, .no_frags = true },
};

static int cases, bad;
static bool frags;                            /* the kernel knows multi-buffer XDP (5.18) */
static char log_buf[MAX_PROGRAMS][LOG_BYTES]; /* one per program of an object */

static void tap(bool ok, const char *variant, const char *program, const char *what)
{
	bad += !ok;
	printf("%sok %d - %s%s%s: %s\n", ok ? "" : "not ", ++cases, variant, *program ? " " : "",
	       program, what);
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list args)
{
	(void)level;
	(void)fmt;
	(void)args;
	return 0;
}

/* The fields that deferred.h and segments.h read, anywhere: nothing runs here. */
static void add_skb(struct btf *btf)
{
	int byte = btf__add_int(btf, "unsigned char", 1, 0), half, word, pointer;

	half = btf__add_int(btf, "unsigned short", 2, 0);
	word = btf__add_int(btf, "unsigned int", 4, 0);
	pointer = btf__add_ptr(btf, byte);
	btf__add_struct(btf, "sk_buff", 40);
	btf__add_field(btf, "ip_summed", byte, 0, 2);
	btf__add_field(btf, "encapsulation", byte, 2, 1);
	btf__add_field(btf, "inner_protocol_type", byte, 3, 1);
	btf__add_field(btf, "csum_start", half, 16, 0);
	btf__add_field(btf, "csum_offset", half, 32, 0);
	btf__add_field(btf, "end", word, 64, 0);
	btf__add_field(btf, "head", pointer, 128, 0);
	btf__add_field(btf, "data", pointer, 192, 0);
	btf__add_field(btf, "inner_protocol", half, 256, 0);
	btf__add_field(btf, "inner_network_header", half, 272, 0);
	btf__add_field(btf, "inner_mac_header", half, 288, 0);
	btf__add_struct(btf, "skb_shared_info", 4);
	btf__add_field(btf, "gso_type", word, 0, 0);
}

/* A BTF as of a kernel before 5.18: the enum of helpers exists, the helper does not. */
static int old_btf(char path[32])
{
	struct btf *btf = btf__new_empty();
	const void *raw;
	__u32 size = 0;
	int fd, r = -1;

	if (!btf)
		return -1;
	add_skb(btf);
	btf__add_enum(btf, "bpf_func_id", 4);
	btf__add_enum_value(btf, "BPF_FUNC_unspec", 0);
	raw = btf__raw_data(btf, &size);
	fd = memfd_create("old-btf", 0);
	if (raw && fd >= 0)
		r = write(fd, raw, size) == (ssize_t)size ? 0 : -1;
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	btf__free(btf);
	return r;
}

/* The same constants in all objects. */
static int set_constants(struct bpf_object *obj, const struct variant *v)
{
	struct bpf_map *m = bpf_object__find_map_by_name(obj, ".rodata");
	struct bwlimit__rodata c = { .bwl_by_mark = v->by_mark,
				     .bwl_xdp_may_carry = !v->generic,
				     .bwl_sa_is_told = !v->old_kernel,
				     .bwl_cpu_bits = 4,
				     .bwl_late_most_ns = 8000000,
				     .bwl_records = v->records,
				     .bwl_measures = v->measures,
				     .bwl_rec_seed = 1 };

	size_t size = m ? bpf_map__value_size(m) : 0; /* without padding after the last one */

	return size && (size + 7) / 8 * 8 == sizeof(c) ? bpf_map__set_initial_value(m, &c, size)
						       : -1;
}

static struct bpf_object *open_variant(const struct variant *v, const char *btf_path)
{
	LIBBPF_OPTS(bpf_object_open_opts, o, .btf_custom_path = v->old_kernel ? btf_path : NULL);
	struct bpf_program *p;
	struct bpf_object *obj;
	const void *elf;
	unsigned i = 0;
	size_t size;

	elf = v->test_clock ? bwlimit_test__elf_bytes(&size)
	      : v->by_mark  ? bwlimit_plain__elf_bytes(&size)
			    : bwlimit__elf_bytes(&size);
	obj = bpf_object__open_mem(elf, size, &o);
	if (!obj)
		return NULL;
	frags_set(obj, frags && !v->no_frags);
	bpf_object__for_each_program(p, obj)
	{
		bpf_program__set_flags(p, bpf_program__flags(p) | v->flags);
		log_buf[i][0] = 0;
		bpf_program__set_log_buf(p, log_buf[i], LOG_BYTES);
		bpf_program__set_log_level(p, LOG_STATS);
		i += i < MAX_PROGRAMS - 1;
		/* By if_id they need a module's kfuncs: tests/vm covers that. */
		bpf_program__set_autoload(p, v->by_mark || strncmp(bpf_program__name(p),
								   "bwl_tc_tun", 10));
	}
	if (!set_constants(obj, v))
		return obj;
	bpf_object__close(obj);
	return NULL;
}

/* As printed by the verifier: bpf_prog_info has this number since kernel 5.16. */
static unsigned walked(const struct bpf_program *p)
{
	size_t size;
	const char *said = strstr(bpf_program__log_buf(p, &size), "processed ");
	unsigned n = 0;

	return said && sscanf(said, "processed %u", &n) == 1 ? n : 0;
}

/* bpf_jit_harden=2: the kernel hides constants in programs that consist of one function. */
static bool is_blinded(const struct bpf_prog_info *info)
{
	FILE *f = fopen("/proc/sys/net/core/bpf_jit_harden", "re");
	int c = f ? fgetc(f) : EOF;

	if (f)
		fclose(f);
	return c == '2' && info->nr_jited_func_lens <= 1;
}

/*
 * How many instructions were added to hide constants. A constant is moved to the register AX and
 * made what it was by XOR, which takes two more; one that is only moved takes one more; one of 64
 * bits is made of two halves, and one of these is shifted.
 */
static unsigned blinding(const struct bpf_insn *insn, unsigned n)
{
	const unsigned ax = 11; /* of the kernel alone: MAX_BPF_REG */
	unsigned more = 0;

	for (unsigned i = 0; i < n; i++) {
		__u8 class = BPF_CLASS(insn[i].code), op = BPF_OP(insn[i].code);

		if ((class != BPF_ALU && class != BPF_ALU64) || BPF_SRC(insn[i].code) != BPF_K)
			continue;
		if (op == BPF_XOR)
			more += insn[i].dst_reg == ax ? 2 : 1;
		more += op == BPF_LSH && insn[i].dst_reg == ax;
	}
	return more;
}

/*
 * Instructions that remain after the verifier, or -1. 0: constants are hidden, and so are the
 * instructions (kptr_restrict=2), so that nobody can tell.
 */
static int left(int fd)
{
	struct bpf_prog_info info = {}, with = {};
	__u32 len = sizeof(info);
	struct bpf_insn *insn;
	unsigned n;
	int r;

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -1;
	n = info.xlated_prog_len / sizeof(*insn);
	if (!is_blinded(&info))
		return (int)n;
	insn = calloc(n, sizeof(*insn));
	if (!insn)
		return -1;
	with.xlated_prog_len = info.xlated_prog_len;
	with.xlated_prog_insns = (uintptr_t)insn;
	len = sizeof(with);
	r = bpf_obj_get_info_by_fd(fd, &with, &len) ? -1
	    : with.xlated_prog_insns                ? (int)(n - blinding(insn, n))
						    : 0;
	free(insn);
	return r;
}

static void note_row(const struct variant *v, const struct bpf_program *p, struct rows *now)
{
	struct row *row = &now->row[now->n];
	int xlated = left(bpf_program__fd(p));

	if (now->n == MAX_ROWS || xlated < 0 || !walked(p)) {
		tap(false, v->name, bpf_program__name(p), "can be asked for its size");
		return;
	}
	snprintf(row->variant, sizeof(row->variant), "%s", v->name);
	snprintf(row->program, sizeof(row->program), "%s", bpf_program__name(p));
	row->verified = walked(p);
	row->xlated = (unsigned)xlated;
	now->n++;
}

static void load_variant(const struct variant *v, const char *btf_path, struct rows *now)
{
	struct bpf_object *obj = open_variant(v, btf_path);
	struct bpf_program *p;
	int r = obj ? bpf_object__load(obj) : -errno;
	const char *log;
	size_t n, size;

	tap(!r, v->name, "", "all programs load");
	if (r)
		printf("# %s\n", strerror(-r));
	bpf_object__for_each_program(p, obj)
	{
		if (!bpf_program__autoload(p))
			continue;
		if (!r) {
			note_row(v, p, now);
			continue;
		}
		log = bpf_program__log_buf(p, &size);
		n = strlen(log);
		printf("# %s: %.2000s\n", bpf_program__name(p), log + (n > 2000 ? n - 2000 : 0));
	}
	bpf_object__close(obj);
}

static int read_rows(const char *path, struct rows *ret)
{
	FILE *f = fopen(path, "r");
	char line[256];
	struct row *r;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		r = &ret->row[ret->n];
		if (!strncmp(line, "made-with ", 10))
			sscanf(line + 10, "%63[^\n]", ret->made_with);
		else if (!strncmp(line, "walked-at-most ", 15))
			sscanf(line + 15, "%u", &ret->most);
		else if (!strncmp(line, "recording-at-most ", 18))
			sscanf(line + 18, "%u", &ret->record_most);
		else if (!strncmp(line, "older-at-most ", 14))
			sscanf(line + 14, "%u", &ret->old_most);
		else if (ret->n < MAX_ROWS && sscanf(line, "%31s %31s %u %u", r->variant,
						     r->program, &r->verified, &r->xlated) == 4)
			ret->n++;
	}
	fclose(f);
	return 0;
}

static int write_rows(const char *path, const struct rows *rows)
{
	FILE *f = fopen(path, "w");
	unsigned i;

	if (!f)
		return -1;
	fprintf(f,
		"# variant, program, instructions the verifier walked, instructions left.\n"
		"# Written by: verifier_test insns.txt CLANG-VERSION --update, but the bounds.\n"
		"walked-at-most %u\nrecording-at-most %u\nolder-at-most %u\nmade-with %s\n",
		rows->most, rows->record_most, rows->old_most, rows->made_with);
	for (i = 0; i < rows->n; i++)
		fprintf(f, "%-16s %-14s %7u %6u\n", rows->row[i].variant, rows->row[i].program,
			rows->row[i].verified, rows->row[i].xlated);
	return fclose(f);
}

static const struct row *find(const struct rows *rows, const struct row *want)
{
	unsigned i;

	for (i = 0; i < rows->n; i++)
		if (!strcmp(rows->row[i].variant, want->variant) &&
		    !strcmp(rows->row[i].program, want->program))
			return &rows->row[i];
	return NULL;
}

static bool grown(unsigned now, unsigned then)
{
	return (unsigned long)now * 100 > (unsigned long)then * (100 + GROWTH_PERCENT);
}

static unsigned kernel_of(const struct rows *rows)
{
	unsigned major = 0, minor = 0;

	sscanf(rows->made_with, "kernel %u.%u", &major, &minor);
	return major << 16 | minor;
}

static void compare(const struct rows *now, const struct rows *then)
{
	bool same = !strcmp(now->made_with, then->made_with),
	     older = kernel_of(now) < kernel_of(then);
	int before = bad;
	const struct row *a, *b;
	unsigned i, most;

	for (i = 0; i < now->n; i++) {
		a = &now->row[i];
		b = find(then, a);
		most = older                          ? then->old_most
		       : strstr(a->variant, "record") ? then->record_most
						      : then->most;
		tap(a->verified <= most, a->variant, a->program, "is walked within bounds");
		printf("# walked %u of %u\n", a->verified, most);
		if (!same) {
			printf("ok %d - %s %s: has not grown # SKIP counts are of %s, this is %s\n",
			       ++cases, a->variant, a->program, then->made_with, now->made_with);
			continue;
		}
		tap(b && !grown(a->verified, b->verified) && !grown(a->xlated, b->xlated),
		    a->variant, a->program, "has not grown by more than 5 %");
		printf("# verified %u (was %u), left %u (was %u)\n", a->verified,
		       b ? b->verified : 0, a->xlated, b ? b->xlated : 0);
	}
	for (i = 0; i < then->n; i++)
		if (!find(now, &then->row[i]))
			tap(false, then->row[i].variant, then->row[i].program,
			    "is in insns.txt and was not loaded");
	if (bad > before)
		printf("# worth it? then: verifier_test INSNS.TXT CLANG-VERSION --update\n");
}

int main(int argc, char **argv)
{
	static struct rows now, then;
	char btf_path[32];
	struct utsname u;
	unsigned i, major = 0, minor = 0;
	int r;

	if (argc < 3 || argc > 4 || (argc == 4 && strcmp(argv[3], "--update"))) {
		fprintf(stderr, "usage: verifier_test INSNS.TXT CLANG-VERSION [--update]\n");
		return 2;
	}
	if (geteuid()) {
		printf("1..0 # SKIP needs root to load BPF programs\n");
		return 77;
	}
	libbpf_set_print(quiet);
	uname(&u);
	sscanf(u.release, "%u.%u", &major, &minor);
	snprintf(now.made_with, sizeof(now.made_with), "kernel %u.%u %.16s clang %.16s", major,
		 minor, u.machine, argv[2]);
	r = old_btf(btf_path);
	frags_are_asked_for();
	frags = frags_taken();
	if (!frags)
		printf("# no multi-buffer XDP here (kernel 5.18): every variant is loaded without\n");
	tap(!r, "old kernel", "", "a BTF without the newer helper can be made");
	for (i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		load_variant(&variants[i], btf_path, &now);
	if (read_rows(argv[1], &then))
		tap(false, argv[1], "", "can be read");
	now.most = then.most;
	now.old_most = then.old_most;
	now.record_most = then.record_most;
	if (argc == 4)
		return write_rows(argv[1], &now) || bad ? 1 : 0;
	compare(&now, &then);
	printf("1..%d\n", cases);
	return bad ? 1 : 0;
}
