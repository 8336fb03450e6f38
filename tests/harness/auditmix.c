// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bwl-auditmix DIR FIRST END EVERY [BYTES]: records FIRST to END-1 for the audit log in DIR, in
 * small files and within a small total size. One in EVERY is an operator's, the others are a host's
 * junk and an event in turn. Exit code 2: usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include "audit/log.h"

#define FILE_BYTES 6000
#define LOG_BYTES 40000

int main(int argc, char **argv)
{
	struct bwl_audit_log *l;
	struct bwl_err e = { 0 };
	unsigned long i, end, every;
	int r;

	if (argc < 5 || argc > 6 || !strtoul(argv[4], NULL, 10)) {
		fprintf(stderr, "Usage: bwl-auditmix DIR FIRST END EVERY [BYTES]\n");
		return 2;
	}
	end = strtoul(argv[3], NULL, 10);
	every = strtoul(argv[4], NULL, 10);
	r = bwl_audit_open(argv[1], &l, &e);
	if (!r && l) {
		bwl_audit_set_limit(l, FILE_BYTES);
		bwl_audit_set_size(l, argc > 5 ? strtoul(argv[5], NULL, 10) : LOG_BYTES);
	}
	for (i = strtoul(argv[2], NULL, 10); !r && i < end; i++) {
		enum bwl_audit_urgency host = i % 2 ? BWL_AUDIT_JUNK : BWL_AUDIT_EVENT;
		char text[40];

		snprintf(text, sizeof(text), i % every ? "host %lu" : "operator %lu", i);
		r = bwl_audit_append(l, i % every ? host : BWL_AUDIT_AFTER,
				     i % every ? "lapsed" : "grant", text, NULL, NULL, &e);
	}
	if (r)
		fprintf(stderr, "bwl-auditmix: %s\n", e.text);
	if (l)
		bwl_audit_close(l);
	return r ? 1 : 0;
}
