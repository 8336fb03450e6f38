// SPDX-License-Identifier: GPL-2.0-or-later
/* Pages of memory: see pages.h. */
#include <unistd.h>
#include <bwl/pages.h>

size_t bwl_page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

size_t bwl_page_round(size_t bytes, size_t page)
{
	return (bytes + page - 1) / page * page;
}

struct bwl_pages bwl_pages_of(size_t entry_bytes, size_t i, size_t page)
{
	size_t from = entry_bytes * i / page * page;

	return (struct bwl_pages){ from, bwl_page_round(entry_bytes * (i + 1) - from, page) };
}
