/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of memory: 4, 16 or 64 KiB, as the kernel was built. */
#ifndef BWL_PAGES_H
#define BWL_PAGES_H

#include <stddef.h>

size_t bwl_page_bytes(void); /* of the running kernel */
/* Up to whole pages. */
size_t bwl_page_round(size_t bytes, size_t page);

/* Where the whole pages that entry i of an array lies in begin, and how many bytes they are. */
struct bwl_pages {
	size_t from, bytes;
};
struct bwl_pages bwl_pages_of(size_t entry_bytes, size_t i, size_t page);

#endif
