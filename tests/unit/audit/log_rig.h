/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A separate log for each test, and the result of verify. */
#ifndef BWL_TEST_AUDIT_LOG_RIG_H
#define BWL_TEST_AUDIT_LOG_RIG_H

#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "audit/grown.h"
#include "audit/verify.h"

static char dir[64], other[80];
static struct bwl_note_key pub;
static struct bwl_err e;

static inline void shell(const char *fmt, ...)
{
	char cmd[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	assert_int_equal(system(cmd), 0);
}

/*
 * Damages one byte of the first `most` files that match. It is turned over: a constant may stand
 * there already.
 */
static inline void flip_byte(unsigned most, long at, const char *fmt, ...)
{
	char pattern[200];
	va_list ap;
	glob_t g;

	va_start(ap, fmt);
	vsnprintf(pattern, sizeof(pattern), fmt, ap);
	va_end(ap);
	assert_int_equal(glob(pattern, 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc && i < most; i++) {
		int fd = open(g.gl_pathv[i], O_RDWR);
		char c = 0;

		assert_true(pread(fd, &c, 1, at) >= 0); /* 0: the file is shorter, and grows */
		c = (char)~c;
		assert_int_equal(pwrite(fd, &c, 1, at), 1);
		close(fd);
	}
	globfree(&g);
}

static inline int set_up(void **state)
{
	char text[BWL_NOTE_KEY_TEXT];

	(void)state;
	/* in memory if possible: thousands of records would wait for the disk, each twice */
	strcpy(dir,
	       access("/dev/shm", W_OK) ? "/tmp/bwl-audit-XXXXXX" : "/dev/shm/bwl-audit-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(other, sizeof(other), "%s.other", dir);
	assert_int_equal(bwl_audit_init(dir, "bwlimit/test", text, &e), 0);
	assert_int_equal(bwl_note_key_parse(text, &pub, &e), 0);
	assert_false(pub.can_sign);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	shell("rm -rf %s %s", dir, other);
	return 0;
}

static inline struct bwl_checkpoint newest(const char *where)
{
	char note[BWL_NOTE_MAX];
	struct bwl_checkpoint c;

	assert_int_equal(bwl_audit_latest(where, &pub, note, &c, &e), 0);
	return c;
}

/* The first problem, and the number of problems of each kind. */
struct found {
	struct bwl_audit_problem first;
	unsigned n, of[_BWL_FAULT_MAX];
};
static inline void take(const struct bwl_audit_problem *p, void *arg)
{
	struct found *f = arg;

	if (!f->n++)
		f->first = *p;
	f->of[p->fault]++;
}
static struct bwl_audit_result result;
static inline struct found check(const char *where, const struct bwl_checkpoint *old, size_t n)
{
	struct found f = { 0 };

	assert_int_equal(bwl_audit_verify(where, &pub, old, n, take, &f, &result, &e), 0);
	assert_int_equal(result.problems, f.n);
	return f;
}

/* A small log for mix(), which appends a host's junk and an operator's records. */
static inline struct bwl_audit_log *small_log(uint64_t size)
{
	struct bwl_audit_log *l;

	assert_int_equal(bwl_audit_open(dir, &l, &e), 0);
	bwl_audit_set_limit(l, 6000);
	bwl_audit_set_size(l, size);
	return l;
}

static inline void mix(struct bwl_audit_log *l, unsigned i, struct bwl_checkpoint *ret)
{
	char text[40];

	snprintf(text, sizeof(text), i % 10 ? "junk %u" : "operator %u", i);
	assert_int_equal(bwl_audit_append(l, i % 10 ? BWL_AUDIT_JUNK : BWL_AUDIT_AFTER,
					  i % 10 ? "junk" : "grant", text, NULL, NULL, &e),
			 0);
	if (ret)
		*ret = newest(dir);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
