/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page: the files of a folder and of its assets/, read once. No path is opened later. */
#ifndef BWL_WEB_PAGE_H
#define BWL_WEB_PAGE_H

#include <stddef.h>
#include "bwl/err.h"

#define PAGE_FILES 64
#define PAGE_BYTES (8U << 20) /* of all files */

struct page_file {
	char path[80]; /* "/index.html", "/assets/…" */
	const char *type;
	char *bytes;
	size_t len;
};
struct page {
	struct page_file file[PAGE_FILES];
	unsigned n;
};

int page_read(const char *dir, struct page *ret, struct bwl_err *e);
/* "/" is "/index.html". NULL: there is no such file. */
const struct page_file *page_find(const struct page *p, const char *path);
void page_done(struct page *p);

#endif
