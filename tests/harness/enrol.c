/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What remembers documents, made or looked at without a daemon:
 *
 *	bwl-enrol DIR ROOT ENROLMENT    signed.json in DIR, of files made by `policy sign`
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <bwl/bytes.h>
#include <bwl/policy.h>
#include "signed/memory.h"

static void must(int r, const struct bwl_err *e)
{
	if (!r)
		return;
	bwl_err_print(e, "bwl-enrol", false);
	exit(1);
}

int main(int argc, char **argv)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = NULL;
	struct bwl_err e = { 0 };
	char *root, *enrolment;
	size_t nroot, nenrolment;

	if (argc != 4) {
		fputs("usage: bwl-enrol DIR ROOT ENROLMENT\n", stderr);
		return 2;
	}
	must(bwl_policy_bytes(argv[2], &root, &nroot, &e), &e);
	must(bwl_policy_bytes(argv[3], &enrolment, &nenrolment, &e), &e);
	must(bwl_memory_enrol(argv[1], root, nroot, enrolment, nenrolment, time(NULL), &m, &e), &e);
	must(bwl_memory_keep(m, argv[1], &e), &e);
	free(root);
	free(enrolment);
	return 0;
}
