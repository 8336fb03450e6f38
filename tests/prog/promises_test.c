// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The model's sequences (tests/model) on real maps, with the real programs; each must end as on
 * maps in plain memory, where the same seed gives the same sequence. MODEL_SEED=N: one sequence;
 * MODEL_ROUNDS=N: so many; MODEL_TELL=1: what is done.
 */
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "prog.h"
#include "model.h"
#include "writers.h"

#define KILLED 77 /* exit codes of a writer */
#define BROKEN 99

static bool is_writer;  /* this process is one, which may be killed */
static bool is_reading; /* the model's own reading of the clock */
static struct {
	uint64_t runs, clock_ns;
	int r;
} * left; /* by a writer */

int __real_bpf_map_get_next_key(int fd, const void *key, void *next);
int __wrap_bpf_map_get_next_key(int fd, const void *key, void *next);
int __real_bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
				const struct bpf_map_batch_opts *opts);
int __wrap_bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
				const struct bpf_map_batch_opts *opts);

/*
 * Walks have another order each time: here, as in plain.c, that of the keys' bytes. Whoever is
 * killed in a walk has come as far on both.
 */
#define KEY_MAX 64

static struct bpf_map_info of_map(int fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t bytes = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &bytes) || info.key_size > KEY_MAX)
		level_fail("a map says nothing of its keys");
	return info;
}

static bool before(const uint8_t *a, const uint8_t *b, size_t bytes)
{
	return !b || memcmp(a, b, bytes) < 0;
}

int __wrap_bpf_map_get_next_key(int fd, const void *key, void *next)
{
	uint8_t k[2][KEY_MAX], least[KEY_MAX], greater[KEY_MAX];
	const size_t bytes = of_map(fd).key_size;
	const uint8_t *first = NULL, *after = NULL, *at = NULL;
	bool there = false;

	for (unsigned i = 0; !__real_bpf_map_get_next_key(fd, at, k[i % 2]); i++) {
		at = k[i % 2];
		there |= key && !memcmp(at, key, bytes);
		if (before(at, first, bytes))
			first = memcpy(least, at, bytes);
		if (key && before(key, at, bytes) && before(at, after, bytes))
			after = memcpy(greater, at, bytes);
	}
	first = there ? after : first; /* as the kernel: after a key that is not there, the first */
	if (first)
		memcpy(next, first, bytes);
	errno = ENOENT;
	return first ? 0 : -ENOENT;
}

/* Of a hash, which fits in one batch. */
int __wrap_bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
				const struct bpf_map_batch_opts *opts)
{
	int r = __real_bpf_map_lookup_batch(fd, in, out, keys, values, count, opts), err = errno;
	const struct bpf_map_info info = of_map(fd);
	uint8_t *k = keys, *v = values, other[KEY_MAX];
	const size_t kb = info.key_size, vb = info.value_size;

	for (unsigned i = 1; info.type == BPF_MAP_TYPE_HASH && i < *count; i++)
		for (unsigned j = i; j && before(k + j * kb, k + (j - 1) * kb, kb); j--) {
			memcpy(other, k + j * kb, kb);
			memcpy(k + j * kb, k + (j - 1) * kb, kb);
			memcpy(k + (j - 1) * kb, other, kb);
			memcpy(other, v + j * vb, vb);
			memcpy(v + j * vb, v + (j - 1) * vb, vb);
			memcpy(v + (j - 1) * vb, other, vb);
		}
	errno = err;
	return r;
}

static void at_clock(void)
{
	if (!is_reading)
		writers_clock();
}

uint64_t level_now(void)
{
	uint64_t ns;

	is_reading = true;
	ns = rig_now();
	is_reading = false;
	return ns;
}

void level_advance(uint64_t ns)
{
	rig_set_clock(level_now() + ns);
}

struct bwl_pins *level_pins(void)
{
	return rig->pins;
}

void level_reopen(void)
{
	bwl_pins_close(rig->pins);
	rig->pins = rig_pins(rig);
}

void level_upgrade(void)
{
	rig_new_programs(rig);
}

static int setup(void **state)
{
	static const struct rig_opts o = { .host_only = true,
					   .max_peers = MODEL_PEERS,
					   .max_extras = MODEL_EXTRAS,
					   .max_windows = MODEL_WINDOWS };

	(void)state;
	rig = rig_open(&o);
	runs = 0;
	return 0;
}

void level_open(bool reboot)
{
	uint64_t now = level_now();

	if (rig_teardown(NULL))
		level_fail("frames that were not counted once");
	setup(NULL);
	rig_set_clock(reboot ? now : 1000000 * RIG_SECOND);
	rig->pins->ctl->attached_ns = level_now();
	rig->pins->ctl->fresh_volume = !reboot;
	rig_on_grace = model_on_grace;
	rig_on_clock = at_clock;
}

unsigned level_send(unsigned dest, bool six)
{
	const char *reason;
	char spec[100];
	unsigned i = 0;

	model_frame(dest, six, spec, sizeof(spec));
	is_reading = true;
	reason = host(spec);
	is_reading = false;
	while (strcmp(bwl_reason_name(i), reason))
		i++;
	return i;
}

static void die(void)
{
	left->runs = runs;
	left->clock_ns = level_now();
	_exit(KILLED);
}

bool level_kill(int (*fn)(struct bwl_pins *, void *), void *arg, unsigned clocks, unsigned blocks,
		int *ret_r)
{
	int status = 0;
	pid_t child;

	level_reopen();
	child = fork();
	if (!child) {
		is_writer = true;
		writers_die(clocks, blocks, die);
		left->r = fn(rig->pins, arg);
		writers_live();
		left->runs = runs;
		left->clock_ns = level_now();
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
	    (WEXITSTATUS(status) && WEXITSTATUS(status) != KILLED))
		level_fail("the writer ended in another way");
	runs = left->runs;
	rig_set_clock(left->clock_ns);
	*ret_r = left->r;
	return WEXITSTATUS(status) == KILLED;
}

/* The kernel's maps are not copied: plain memory has this. */
void level_aside(void (*fn)(void))
{
	(void)fn;
}

void level_fail(const char *text)
{
	if (is_writer) {
		fprintf(stderr, "%s\n", text);
		_exit(BROKEN);
	}
	fail_msg("%s", text);
	abort();
}

/* What the other level says to the next seed; false: it was not asked. */
static bool elsewhere(FILE *f, uint64_t *ret)
{
	if (f && fscanf(f, "%" SCNx64, ret) != 1)
		level_fail("the other level has ended");
	return f;
}

static void whatever_is_done_the_promises_hold(void **state)
{
	const char *one = getenv("MODEL_SEED"), *many = getenv("MODEL_ROUNDS");
	uint64_t i, first = one ? strtoull(one, NULL, 10) : 1, other;
	uint64_t last = one ? first : many ? strtoull(many, NULL, 10) : bwl_long() ? 2000 : 100;
	char command[600];
	FILE *f;

	(void)state;
	left = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(left != MAP_FAILED);
	stay_on_this_cpu();
	snprintf(command, sizeof(command), "%s %" PRIu64 " %" PRIu64 " 2>/dev/null", PLAIN, first,
		 last);
	f = popen(command, "re");
	for (i = first; i <= last; i++) {
		model_sequence(i);
		if (elsewhere(f, &other) && other != model_digest())
			fail_msg("MODEL_SEED=%" PRIu64
				 ": on maps in plain memory other frames pass",
				 i);
	}
	rig_on_grace = NULL;
	rig_on_clock = NULL;
	if (f)
		pclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(
		whatever_is_done_the_promises_hold, setup, rig_teardown) };

	return cmocka_run_group_tests_name("promises", tests, NULL, NULL);
}
