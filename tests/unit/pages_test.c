// SPDX-License-Identifier: GPL-2.0-or-later
/* Everything that is mapped or sized in pages, with each page size of kernels: 4, 16 and 64 KiB. */
#include "test.h"
#include <stdbool.h>
#include <linux/bpf.h>
#include <sys/auxv.h>
#include "bwl/pages.h"
#include "maps/event.h"
#include "maps/layout.h"

static const size_t pages[] = { 4096, 16384, 65536 };
#define NPAGES (sizeof(pages) / sizeof(*pages))

/* Every array that user space maps, including the policy's. */
static const struct {
	const char *name;
	uint32_t type, flags;
	size_t entry;
} maps[] = {
#define X(name, kind, key, value, ...)                                                             \
	{ #name, BWL_TYPE_##kind, BWL_FLAGS_##kind, (sizeof(value) + 7) / 8 * 8 },
	BWL_MAPS(X)
#undef X
};

static void bytes_are_rounded_up_to_whole_pages(void **state)
{
	(void)state;
	for (size_t k = 0; k < NPAGES; k++) {
		size_t p = pages[k];

		assert_int_equal(bwl_page_round(0, p), 0);
		assert_int_equal(bwl_page_round(1, p), p);
		assert_int_equal(bwl_page_round(p - 1, p), p);
		assert_int_equal(bwl_page_round(p, p), p);
		assert_int_equal(bwl_page_round(p + 1, p), 2 * p);
	}
}

/* The kernel requires that a mapping begins at a page and ends within the array's last page. */
static void an_entry_is(const char *name, size_t entry, size_t n, size_t i, size_t page)
{
	struct bwl_pages at = bwl_pages_of(entry, i, page);

	if (at.from % page || at.bytes % page || at.from > entry * i ||
	    at.from + at.bytes < entry * (i + 1) || entry * i - at.from >= page ||
	    at.from + at.bytes - entry * (i + 1) >= page ||
	    at.from + at.bytes > bwl_page_round(entry * n, page))
		fail_msg("%s: entry %zu of %zu, %zu bytes each, page %zu: from %zu, %zu bytes",
			 name, i, n, entry, page, at.from, at.bytes);
}

static void the_pages_of_an_entry_hold_all_of_it_and_no_page_more(void **state)
{
	static const size_t counts[] = { 1, 2, 100, 4096, 65536 };
	size_t tried = 0;

	(void)state;
	for (size_t m = 0; m < sizeof(maps) / sizeof(*maps); m++) {
		if (!(maps[m].flags & BPF_F_MMAPABLE))
			continue;
		for (size_t k = 0; k < NPAGES; k++)
			for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++)
				for (size_t i = 0; i < counts[c]; i += 1 + i / 7, tried++) {
					an_entry_is(maps[m].name, maps[m].entry, counts[c], i,
						    pages[k]);
					an_entry_is(maps[m].name, maps[m].entry, counts[c],
						    counts[c] - 1 - i, pages[k]);
				}
	}
	assert_true(tried > 1000);
}

/* The kernel accepts only a ring whose size is a power of two and whole pages. */
static void rings_are_whole_pages_of_any_size(void **state)
{
	(void)state;
	assert_int_equal(BWL_EVENT_RING_BYTES & (BWL_EVENT_RING_BYTES - 1), 0);
	for (size_t k = 0; k < NPAGES; k++)
		assert_int_equal(bwl_page_round(BWL_EVENT_RING_BYTES, pages[k]),
				 BWL_EVENT_RING_BYTES);
}

static void the_running_kernels_page_is_one_of_these(void **state)
{
	bool known = false;

	(void)state;
	assert_int_equal(bwl_page_bytes(), getauxval(AT_PAGESZ));
	for (size_t k = 0; k < NPAGES; k++)
		known |= pages[k] == bwl_page_bytes();
	assert_true(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_rounded_up_to_whole_pages),
		cmocka_unit_test(the_pages_of_an_entry_hold_all_of_it_and_no_page_more),
		cmocka_unit_test(rings_are_whole_pages_of_any_size),
		cmocka_unit_test(the_running_kernels_page_is_one_of_these),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
