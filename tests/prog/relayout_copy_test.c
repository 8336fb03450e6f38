// SPDX-License-Identifier: GPL-2.0-or-later
/* bwl_relayout_copy(): copies the content of each kind of map into one of another shape. */
#include <bwl/inner.h>
#include "relayout_rig.h"

static void an_array_grows_in_both_directions(void **state)
{
	int from = create(BPF_MAP_TYPE_ARRAY, 4, 12, 5, 0),
	    to = create(BPF_MAP_TYPE_ARRAY, 4, 20, 7, 0);
	uint32_t i, v[5], want[5];

	(void)state;
	for (i = 0; i < 5; i++) {
		uint32_t x[3] = { i, 100 + i, 200 + i };

		assert_int_equal(bpf_map_update_elem(from, &i, x, 0), 0);
	}
	assert_int_equal(bwl_relayout_copy(NULL, from, to, NULL), 0);
	for (i = 0; i < 7; i++) {
		memset(want, 0, sizeof(want));
		if (i < 5)
			memcpy(want, (uint32_t[]){ i, 100 + i, 200 + i }, 12);
		assert_int_equal(bpf_map_lookup_elem(to, &i, v), 0);
		assert_memory_equal(v, want, sizeof(v));
	}
	close(from);
	close(to);
}

static void every_cpu_keeps_its_counters(void **state)
{
	int from = create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 12, 2, 0);
	int to = create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 24, 3, 0), n = libbpf_num_possible_cpus(), c;
	uint32_t(*a)[4] = calloc((size_t)n, sizeof(*a)), (*b)[6] = calloc((size_t)n, sizeof(*b)), i;

	(void)state;
	assert_true(a && b);
	for (i = 0; i < 2; i++) {
		for (c = 0; c < n; c++)
			a[c][0] = a[c][2] = 10 * i + (uint32_t)c + 1;
		assert_int_equal(bpf_map_update_elem(from, &i, a, 0), 0);
	}
	assert_int_equal(bwl_relayout_copy(NULL, from, to, NULL), 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(bpf_map_lookup_elem(to, &i, b), 0);
		for (c = 0; c < n; c++) {
			assert_int_equal(b[c][2], i < 2 ? 10 * i + (uint32_t)c + 1 : 0);
			assert_int_equal(b[c][3], 0);
		}
	}
	free(a);
	free(b);
	close(from);
	close(to);
}

static void hashes_and_tries_keep_every_key(void **state)
{
	const struct {
		uint32_t type, flags;
	} kinds[] = {
		{ BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC },
		{ BPF_MAP_TYPE_LPM_TRIE, BPF_F_NO_PREALLOC },
	};
	uint32_t i, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		int from = create(kinds[k].type, 8, 4, 64, kinds[k].flags);
		int to = create(kinds[k].type, 8, 8, 64, kinds[k].flags);
		uint32_t v[2];

		for (i = 0; i < 33; i++) {
			uint32_t key[2] = { k ? i : 32, k ? 0 : i };

			assert_int_equal(bpf_map_update_elem(from, key, &i, 0), 0);
		}
		assert_int_equal(bwl_relayout_copy(NULL, from, to, NULL), 0);
		for (i = 0; i < 33; i++) {
			uint32_t key[2] = { k ? i : 32, k ? 0 : i };

			assert_int_equal(bpf_map_lookup_elem(to, key, v), 0);
			assert_int_equal(v[0], i);
			assert_int_equal(v[1], 0);
		}
		close(from);
		close(to);
	}
}

static int generations(uint32_t inner_value)
{
	int inner = create(BPF_MAP_TYPE_ARRAY, 4, inner_value, 1, BPF_F_MMAPABLE | BPF_F_INNER_MAP),
	    fd;
	LIBBPF_OPTS(bpf_map_create_opts, o, .inner_map_fd = (uint32_t)inner);

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "g", 4, 4, 2, &o);
	assert_true(fd >= 0);
	close(inner);
	return fd;
}

static void a_generation_is_copied_with_its_own_number_of_entries(void **state)
{
	const struct bwl_shape shape = { BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE | BPF_F_INNER_MAP, 4,
					 16, 0 };
	int from = generations(8), to = generations(16), fd;
	struct bwl_shape have;
	uint32_t one = 1, zero = 0, id, i;
	uint64_t v[2];

	(void)state;
	fd = create(BPF_MAP_TYPE_ARRAY, 4, 8, 9, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	for (i = 0; i < 9; i++)
		assert_int_equal(bpf_map_update_elem(fd, &i, &(uint64_t){ 1000 + i }, 0), 0);
	assert_int_equal(bwl_inner_pin(rig->dir, fd), 0);
	assert_int_equal(bpf_map_update_elem(from, &one, &fd, 0), 0);
	close(fd);
	assert_int_equal(bwl_relayout_copy(rig->dir, from, to, NULL), -EINVAL);
	assert_int_equal(bwl_relayout_copy(rig->dir, from, to, &shape), 0);
	assert_int_not_equal(bpf_map_lookup_elem(to, &zero, &id), 0);
	fd = bwl_inner_open(rig->dir, to, one, false);
	assert_true(fd >= 0);
	assert_int_equal(bwl_shape_of(fd, &have), 0);
	assert_int_equal(have.value_bytes, 16);
	assert_int_equal(have.entries, 9);
	for (i = 0; i < 9; i++) {
		assert_int_equal(bpf_map_lookup_elem(fd, &i, v), 0);
		assert_int_equal(v[0], 1000 + i);
		assert_int_equal(v[1], 0);
	}
	close(fd);
	close(from);
	close(to);
}

static void what_has_other_keys_is_not_copied(void **state)
{
	int from = create(BPF_MAP_TYPE_HASH, 4, 8, 2, 0),
	    to = create(BPF_MAP_TYPE_HASH, 8, 8, 2, 0);

	(void)state;
	assert_int_equal(bwl_relayout_copy(NULL, from, to, NULL), -EINVAL);
	close(from);
	close(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_array_grows_in_both_directions),
		cmocka_unit_test(every_cpu_keeps_its_counters),
		cmocka_unit_test(hashes_and_tries_keep_every_key),
		RIG_TEST(a_generation_is_copied_with_its_own_number_of_entries),
		cmocka_unit_test(what_has_other_keys_is_not_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
