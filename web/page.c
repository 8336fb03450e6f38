// SPDX-License-Identifier: GPL-2.0-or-later
/* See page.h. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "bwl/bytes.h"
#include "bwl/cleanup.h"
#include "page.h"

static const struct {
	const char *ending, *type;
} types[] = {
	{ ".html", "text/html; charset=utf-8" },
	{ ".js", "text/javascript; charset=utf-8" },
	{ ".css", "text/css; charset=utf-8" },
	{ ".svg", "image/svg+xml" },
	{ ".png", "image/png" },
	{ ".ico", "image/x-icon" },
	{ ".json", "application/json" },
	{ ".txt", "text/plain; charset=utf-8" },
};

static const char *type_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(types[i].ending, dot))
			return types[i].type;
	return NULL;
}

static int read_file(struct page *p, int dir, const char *lead, const char *name, size_t *left,
		     struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	const char *type = type_of(name);
	struct page_file *f = &p->file[p->n];
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !type)
		return 0; /* a folder, a link, or a type that a page does not have */
	if (p->n == PAGE_FILES ||
	    snprintf(f->path, sizeof(f->path), "%s%s", lead, name) >= (int)sizeof(f->path))
		return bwl_fail(e, EFBIG, "%s%s: at most %u files, with names of %zu characters",
				lead, name, PAGE_FILES, sizeof(f->path) - 1);
	r = bwl_bytes_read(fd, *left, &f->bytes, &f->len, e);
	if (r)
		return r;
	*left -= f->len;
	f->type = type;
	p->n++;
	return 0;
}

static int read_folder(struct page *p, const char *path, const char *lead, size_t *left,
		       struct bwl_err *e)
{
	DIR *d = opendir(path);
	struct dirent *x;
	int r = 0;

	if (!d)
		return bwl_fail(e, errno, "cannot read the page's folder %s: %m", path);
	while (!r && (x = readdir(d)))
		if (*x->d_name != '.')
			r = read_file(p, dirfd(d), lead, x->d_name, left, e);
	closedir(d);
	return r;
}

int page_read(const char *dir, struct page *ret, struct bwl_err *e)
{
	size_t left = PAGE_BYTES;
	char assets[512];
	int r = read_folder(ret, dir, "/", &left, e);

	snprintf(assets, sizeof(assets), "%s/assets", dir);
	if (!r && !access(assets, F_OK))
		r = read_folder(ret, assets, "/assets/", &left, e);
	if (!r && !page_find(ret, "/"))
		r = bwl_fail(e, ENOENT, "%s has no index.html", dir);
	return r ? bwl_hint(e, "--page DIR names the page's folder; --page none serves no page")
		 : 0;
}

const struct page_file *page_find(const struct page *p, const char *path)
{
	if (!strcmp(path, "/"))
		path = "/index.html";
	for (unsigned i = 0; i < p->n; i++)
		if (!strcmp(p->file[i].path, path))
			return &p->file[i];
	return NULL;
}

void page_done(struct page *p)
{
	while (p->n)
		free(p->file[--p->n].bytes);
}
