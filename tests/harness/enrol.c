// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes the memory of documents without a daemon:
 *
 *	bwl-enrol DIR ROOT ENROLMENT    signed.json in DIR, from files made by `policy sign`
 *	bwl-enrol DIR DOCUMENT          remembers one more document
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <bwl/policy.h>
#include "signed/memory.h"

static void must(int r, const struct bwl_err *e)
{
	if (!r)
		return;
	bwl_err_print(e, "bwl-enrol", false);
	exit(1);
}

static char *bytes_of(const char *file, size_t *ret_len)
{
	struct bwl_err e = { 0 };
	char *bytes = NULL;

	must(bwl_policy_bytes(file, &bytes, ret_len, &e), &e);
	return bytes;
}

static struct bwl_memory *begin(char **argv)
{
	struct bwl_memory *m = NULL;
	struct bwl_err e = { 0 };
	size_t nroot, nenrolment;
	BWL_AUTO_FREE char *root = bytes_of(argv[2], &nroot);
	BWL_AUTO_FREE char *enrolment = bytes_of(argv[3], &nenrolment);

	must(bwl_memory_enrol(argv[1], root, nroot, enrolment, nenrolment, time(NULL), &m, &e), &e);
	return m;
}

static struct bwl_memory *add(char **argv)
{
	struct bwl_memory *m = NULL;
	struct bwl_err e = { 0 };
	struct bwl_signed d;
	size_t len;
	BWL_AUTO_FREE char *bytes = bytes_of(argv[2], &len);

	must(bwl_memory_open(argv[1], &m, &e), &e);
	must(bwl_signed_open(bytes, len, bwl_memory_root(m), bwl_memory_tray(m), time(NULL), &d,
			     &e),
	     &e);
	must(bwl_memory_accept(m, &d, &e), &e);
	bwl_signed_free(&d);
	return m;
}

int main(int argc, char **argv)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = NULL;
	struct bwl_err e = { 0 };

	if (argc != 3 && argc != 4) {
		fputs("usage: bwl-enrol DIR ROOT ENROLMENT | DIR DOCUMENT\n", stderr);
		return 2;
	}
	m = argc == 4 ? begin(argv) : add(argv);
	must(bwl_memory_keep(m, argv[1], &e), &e);
	return 0;
}
