// SPDX-License-Identifier: GPL-2.0-or-later
/* The rig itself: what one case leaves in the maps is gone when the next one opens it. */
#include <bpf/bpf.h>
#include <sys/mman.h>
#include <unistd.h>
#define RIG_HOST_ONLY
#include "prog.h"
#include "bwlimit_test.skel.h"

static size_t bytes_of(const struct bpf_map *m)
{
	uint32_t type = bpf_map__type(m), size = bpf_map__value_size(m);

	return type == BPF_MAP_TYPE_PERCPU_ARRAY ? (size + 7) / 8 * 8 * (size_t)rig->cpus : size;
}

static bool is_array(const struct bpf_map *m)
{
	return bpf_map__type(m) == BPF_MAP_TYPE_ARRAY ||
	       bpf_map__type(m) == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static bool ring_is_empty(int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned long *reader = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	unsigned long *writer = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, (off_t)page);
	bool is;

	assert_true(reader != MAP_FAILED && writer != MAP_FAILED);
	is = *reader == *writer;
	munmap(reader, page);
	munmap(writer, page);
	return is;
}

static uint64_t fold(const uint8_t *data, size_t n, uint64_t h)
{
	while (n--)
		h = (h ^ *data++) * 0x100000001b3ULL;
	return h;
}

/* Of all that is in a map. */
static uint64_t sum_of(struct bpf_map *m)
{
	uint8_t *v = calloc(1, bytes_of(m) + 8), key[64];
	int fd = bpf_map__fd(m);
	uint64_t h = 1;

	assert_non_null(v);
	if (bpf_map__type(m) == BPF_MAP_TYPE_RINGBUF)
		h = ring_is_empty(fd);
	else if (bpf_map__type(m) == BPF_MAP_TYPE_HASH)
		h = (uint64_t)bpf_map_get_next_key(fd, NULL, key);
	else
		for (uint32_t i = 0; i < bpf_map__max_entries(m); i++)
			h = bpf_map_lookup_elem(fd, &i, v) ? h * 31 : fold(v, bytes_of(m), h);
	free(v);
	return h;
}

/* Every array is full of ones, and every hash has an entry. */
static void scribble(struct bpf_map *m)
{
	uint8_t *v = malloc(bytes_of(m) + 8), key[64] = { 1 };

	assert_non_null(v);
	memset(v, 0xff, bytes_of(m) + 8);
	if (bpf_map__type(m) == BPF_MAP_TYPE_HASH)
		assert_int_equal(bpf_map_update_elem(bpf_map__fd(m), key, v, 0), 0);
	for (uint32_t i = 0; is_array(m) && i < bpf_map__max_entries(m); i++)
		if (bpf_map_update_elem(bpf_map__fd(m), &i, v, 0))
			assert_non_null(strstr(bpf_map__name(m), ".rodata"));
	free(v);
}

static void nothing_of_a_case_is_in_the_next_ones_maps(void **state)
{
	uint64_t fresh[64], n = 0, i = 0;
	struct bwlimit_test *was = rig->skel;
	struct bpf_map *m;

	(void)state;
	bpf_object__for_each_map(m, was->obj)
	{
		assert_true(n < 64);
		fresh[n++] = sum_of(m);
	}
	apply(PORTS
	      "heartbeat: none\n"
	      "peers:\n"
	      "  - { name: a, addresses: [10.1.0.1], path: clear, via: 192.0.2.1, grant: { rate: 1mbit } }\n");
	assert_string_equal(host("eth ip4 src=10.0.7.2 dst=10.9.0.1 udp"),
			    "no-peer"); /* an event */
	assert_false(ring_is_empty(rig->pins->fd[BWL_PIN_event]));
	bpf_object__for_each_map(m, was->obj) scribble(m);
	rig_close(rig);
	rig_setup(NULL);
	assert_ptr_equal(rig->skel, was);
	bpf_object__for_each_map(m, was->obj)
	{
		if (sum_of(m) != fresh[i++])
			fail_msg("%s is not as it was made", bpf_map__name(m));
	}
	assert_string_equal(host("eth ip4 src=10.0.7.2 dst=10.1.0.1 udp"), "no-policy");
}

static void another_kind_of_rig_is_loaded_anew(void **state)
{
	uint32_t was = bpf_map__max_entries(rig->skel->maps.bwl_gate_v1);

	(void)state;
	rig_close(rig);
	rig = rig_open(&(struct rig_opts){ .host_only = true, .max_peers = 2 * was });
	assert_int_equal(bpf_map__max_entries(rig->skel->maps.bwl_gate_v1), 2 * was);
	assert_int_equal(rig->pins->schema.max_peers, 2 * was);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(nothing_of_a_case_is_in_the_next_ones_maps),
		RIG_TEST(another_kind_of_rig_is_loaded_anew),
	};

	return cmocka_run_group_tests_name("rig", tests, NULL, NULL);
}
