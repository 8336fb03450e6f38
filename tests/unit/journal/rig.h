/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A separate journal for each test, its files, and which of three peers it closes. */
#ifndef BWL_TEST_JOURNAL_RIG_H
#define BWL_TEST_JOURNAL_RIG_H

#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "journal/journal.h"

#define ROOM (1 << 20)

static char dir[64];

static inline int setup(void **state)
{
	enum bwl_journal_state was;

	(void)state;
	strcpy(dir, "/tmp/bwl-journal-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(bwl_journal_make(dir, NULL, 0, &was, NULL), 0);
	assert_int_equal(was, BWL_JOURNAL_MISSING);
	bwl_journal_set_limit(1 << 20);
	return 0;
}

static inline int teardown(void **state)
{
	static const char *const name[] = { "log",      "end",   "log.bad",   "end.bad",
					    ".log.new", "bound", ".bound.new" };
	char path[100];

	(void)state;
	for (unsigned i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, name[i]);
		unlink(path);
	}
	rmdir(dir);
	return 0;
}

static inline struct bwl_pfx pfx(const char *text)
{
	struct bwl_pfx p;

	assert_int_equal(bwl_pfx_parse(text, &p, NULL), 0);
	return p;
}

static inline int write_rec(enum bwl_journal_kind kind, const char *name, const char *where,
			    const char *hole)
{
	struct bwl_journal_rec r = { .kind = kind };
	struct bwl_pfx p, h;

	snprintf(r.name, sizeof(r.name), "%s", name);
	if (where) {
		p = pfx(where);
		r.pfx = &p;
		r.npfx = 1;
	}
	if (hole) {
		h = pfx(hole);
		r.hole = &h;
		r.nholes = 1;
	}
	return bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, NULL);
}

static inline size_t slurp(const char *name, uint8_t *buf, size_t room)
{
	char path[100];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(buf, 1, room, f);
	fclose(f);
	return n;
}

static inline void spill(const char *name, const uint8_t *buf, size_t n)
{
	char path[100];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(buf, 1, n, f), n);
	fclose(f);
}

/* Three peers with one letter each: a 10.1/16, b 10.2/16, w 10/8. */
static inline struct bwl_policy *three_peers(void)
{
	static const char *const names[] = { "a", "b", "w" }, *const at[] = { "10.1.0.0/16",
									      "10.2.0.0/16",
									      "10.0.0.0/8" };
	struct bwl_policy *pol = bwl_policy_new();

	for (unsigned i = 0; i < 3; i++) {
		struct bwl_pol_peer *q = bwl_policy_add_peer(pol);

		snprintf(q->name, sizeof(q->name), "%s", names[i]);
		q->addresses = calloc(1, sizeof(*q->addresses));
		q->addresses[0] = pfx(at[i]);
		q->naddresses = 1;
	}
	return pol;
}

/* Which peers would be closed after a reboot? */
static inline const char *closed_by(const struct bwl_closed *c)
{
	struct bwl_policy *pol = three_peers();
	static char ret[8];
	size_t n = 0;

	bwl_closed_into_policy(c, pol);
	for (unsigned i = 0; i < 3; i++)
		if (pol->peers[i].revoked)
			ret[n++] = *pol->peers[i].name;
	ret[n] = '\0';
	bwl_policy_free(pol);
	return ret;
}

static inline const char *closed_now(void)
{
	struct bwl_journal j;
	const char *s;

	bwl_journal_look(dir, &j);
	assert_int_equal(j.state, BWL_JOURNAL_OK);
	s = closed_by(&j.closed);
	bwl_journal_free(&j);
	return s;
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
