// SPDX-License-Identifier: GPL-2.0-or-later
/* The recorder's maps: making, opening, and turning from one interval to the next. */
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/map_io.h>
#include <bwl/pages.h>
#include <bwl/record.h>

static const struct {
	const char *name;
	uint32_t value, entries; /* entries: per CPU; 0: one for all */
} maps[_BWL_REC_MAPS] = {
	[BWL_REC_WORD] = { "bwl_rec_word", sizeof(struct bwl_rec_word), 0 },
	[BWL_REC_CPU] = { "bwl_rec_cpu", sizeof(struct bwl_rec_cpu), 1 },
	[BWL_REC_PEER] = { "bwl_rec_peer", sizeof(struct bwl_rec_peer),
			   BWL_REC_BANKS *BWL_REC_PEERS },
	[BWL_REC_ROW] = { "bwl_rec_row", sizeof(struct bwl_rec_row), BWL_REC_BANKS *BWL_REC_TABLE },
};

const char *bwl_rec_map_name(enum bwl_rec_map m)
{
	return maps[m].name;
}

static uint32_t entries_of(enum bwl_rec_map m, unsigned cpus)
{
	return maps[m].entries ? maps[m].entries * cpus : 1;
}

/*
 * The programs use the CPU's number, and the numbers may have gaps: "0-3,8" are five CPUs with
 * numbers below 9, but libbpf_num_possible_cpus() returns 5.
 */
unsigned bwl_rec_cpus_of(const char *possible)
{
	const char *last = possible + strlen(possible);

	while (last > possible && (last[-1] < '0' || last[-1] > '9'))
		last--;
	while (last > possible && last[-1] >= '0' && last[-1] <= '9')
		last--;
	return *last >= '0' && *last <= '9' ? (unsigned)strtoul(last, NULL, 10) + 1 : 0;
}

static int count_cpus(void)
{
	static const char path[] = "/sys/devices/system/cpu/possible";
	FILE *f = fopen(path, "re");
	char line[4096];
	unsigned n;

	if (!f)
		return -errno;
	n = fgets(line, sizeof(line), f) ? bwl_rec_cpus_of(line) : 0;
	fclose(f);
	return n ? (int)n : -EINVAL;
}

int bwl_rec_size(struct bpf_object *obj)
{
	int cpus = count_cpus(), r = cpus < 0 ? cpus : 0, i;
	struct bpf_map *m;

	for (i = 0; !r && i < _BWL_REC_MAPS; i++) {
		m = bpf_object__find_map_by_name(obj, maps[i].name);
		r = m ? bpf_map__set_max_entries(m, entries_of(i, (unsigned)cpus)) : -ENOENT;
	}
	return r;
}

static size_t bytes_of(enum bwl_rec_map m, unsigned cpus)
{
	return bwl_page_round((size_t)entries_of(m, cpus) * maps[m].value, bwl_page_bytes());
}

static int map_one(struct bwl_rec *r, enum bwl_rec_map m, void **ret, struct bwl_err *e)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);
	int prot = PROT_READ | (m == BWL_REC_WORD ? PROT_WRITE : 0);

	if (bpf_obj_get_info_by_fd(r->fd[m], &info, &len))
		return bwl_fail(e, errno, "cannot query %s: %s", maps[m].name, strerror(errno));
	if (info.value_size != maps[m].value || info.max_entries != entries_of(m, r->ncpus))
		return bwl_fail(e, EPROTO, "%s is of another version: bwlimit-load upgrade",
				maps[m].name);
	*ret = mmap(NULL, bytes_of(m, r->ncpus), prot, MAP_SHARED, r->fd[m], 0);
	if (*ret != MAP_FAILED)
		return 0;
	*ret = NULL;
	return bwl_fail(e, errno, "cannot map %s: %s", maps[m].name, strerror(errno));
}

int bwl_rec_map(const int fd[_BWL_REC_MAPS], struct bwl_rec *ret, struct bwl_err *e)
{
	void *at[_BWL_REC_MAPS] = { NULL };
	int cpus = count_cpus(), i, r = 0;

	*ret = (struct bwl_rec){ .ncpus = cpus < 0 ? 0 : (unsigned)cpus };
	for (i = 0; i < _BWL_REC_MAPS; i++)
		ret->fd[i] = -1;
	if (cpus < 0)
		return bwl_fail(e, -cpus, "cannot count CPUs: %s", strerror(-cpus));
	for (i = 0; !r && i < _BWL_REC_MAPS; i++) {
		ret->fd[i] = dup(fd[i]);
		r = ret->fd[i] < 0 ? bwl_fail(e, errno, "cannot open %s: %s", maps[i].name,
					      strerror(errno))
				   : map_one(ret, i, &at[i], e);
	}
	ret->word = at[BWL_REC_WORD];
	ret->cpu = at[BWL_REC_CPU];
	ret->peer = at[BWL_REC_PEER];
	ret->row = at[BWL_REC_ROW];
	if (r)
		bwl_rec_close(ret);
	return r;
}

int bwl_rec_open(const char *pin_dir, struct bwl_rec *ret, struct bwl_err *e)
{
	int fd[_BWL_REC_MAPS], i, r = 0;
	char path[300];

	for (i = 0; i < _BWL_REC_MAPS; i++) {
		snprintf(path, sizeof(path), "%s/" BWL_REC_DIR "/%s", pin_dir, maps[i].name);
		fd[i] = r ? -1 : bpf_obj_get(path);
		if (fd[i] < 0 && !r)
			r = bwl_fail(e, errno, "cannot open %s: %s", path, strerror(errno));
	}
	if (!r)
		r = bwl_rec_map(fd, ret, e);
	for (i = 0; i < _BWL_REC_MAPS; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	return r;
}

void bwl_rec_close(struct bwl_rec *r)
{
	const void *at[_BWL_REC_MAPS] = { [BWL_REC_WORD] = r->word,
					  [BWL_REC_CPU] = r->cpu,
					  [BWL_REC_PEER] = r->peer,
					  [BWL_REC_ROW] = r->row };
	int i;

	for (i = 0; i < _BWL_REC_MAPS; i++) {
		if (at[i])
			munmap((void *)(uintptr_t)at[i], bytes_of(i, r->ncpus));
		if (r->fd[i] >= 0)
			close(r->fd[i]);
		r->fd[i] = -1;
	}
	r->word = NULL;
	r->cpu = NULL;
	r->peer = NULL;
	r->row = NULL;
}

/*
 * Programs run within RCU: after a store and synchronize_rcu() no program is running that read the
 * previous word. The membarrier command ends in synchronize_rcu() (kernel 4.20), but is refused if
 * a CPU is nohz_full; an update of an array of maps ends in it, too.
 */
int bwl_rec_grace(struct bwl_err *e)
{
	LIBBPF_OPTS(bpf_map_create_opts, o);
	uint32_t zero = 0;
	int inner, outer, r = 0;

	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		return 0;
	inner = bwl_map_create(BPF_MAP_TYPE_ARRAY, "bwl_rec_in", 4, 4, 1, NULL);
	o.inner_map_fd = (__u32)inner;
	outer = inner < 0 ? -1
			  : bwl_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "bwl_rec_out", 4, 4, 1, &o);
	if (outer < 0 || bwl_map_put(outer, &zero, &inner, 0))
		r = bwl_fail(e, errno, "cannot wait for packets in flight: %s", strerror(errno));
	if (inner >= 0)
		close(inner);
	if (outer >= 0)
		close(outer);
	return r;
}

/* Sum over all CPUs since the tables were made, for the intervals that use this bank. */
static struct bwl_rec_sum other_of(const struct bwl_rec *r, uint32_t interval)
{
	struct bwl_rec_sum s = { 0 };

	for (unsigned i = 0; i < r->ncpus; i++)
		bwl_rec_sum_add(&s, &r->cpu[i].other[bwl_rec_bank(interval)]);
	return s;
}

bool bwl_rec_other(const struct bwl_rec *r, uint32_t interval, struct bwl_rec_sum *ret)
{
	const struct bwl_rec_begun *b = &r->word->begun[bwl_rec_bank(interval)];

	*ret = other_of(r, interval);
	ret->frames -= b->other.frames;
	ret->bytes -= b->other.bytes;
	ret->drop_frames -= b->other.drop_frames;
	ret->drop_bytes -= b->other.drop_bytes;
	return b->interval == interval;
}

/*
 * Nobody writes to the interval's bank before it begins. After a kill in here its sum is unknown.
 */
static void note_begin(struct bwl_rec *r, uint32_t interval)
{
	struct bwl_rec_begun *b = &r->word->begun[bwl_rec_bank(interval)];

	__atomic_store_n(&b->interval, 0, __ATOMIC_SEQ_CST);
	b->other = other_of(r, interval);
	__atomic_store_n(&b->interval, interval, __ATOMIC_SEQ_CST);
}

int bwl_rec_turn(struct bwl_rec *r, uint32_t *ret, struct bwl_err *e)
{
	uint32_t was = __atomic_load_n(&r->word->interval, __ATOMIC_SEQ_CST);
	uint32_t next = was + 1 ? was + 1 : 1;

	note_begin(r, next);
	__atomic_store_n(&r->word->interval, next, __ATOMIC_SEQ_CST);
	*ret = was;
	return bwl_rec_grace(e);
}
