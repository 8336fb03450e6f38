/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BWL_TEST_FILES_H
#define BWL_TEST_FILES_H

#include "test.h"
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/*
 * Removes the files of dir whose names begin so, and returns their number. Not by a shell: tests do
 * this thousands of times, and a process with sanitizers forks slowly.
 */
static inline unsigned test_remove(const char *dir, const char *begin)
{
	DIR *all = opendir(dir);
	struct dirent *f;
	unsigned n = 0;

	assert_non_null(all);
	while ((f = readdir(all))) {
		if (strncmp(f->d_name, begin, strlen(begin)))
			continue;
		assert_int_equal(unlinkat(dirfd(all), f->d_name, 0), 0);
		n++;
	}
	closedir(all);
	return n;
}

#endif
