// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bwl-judge KEY: `evidence verify --key KEY --json` of each folder that standard input names, one a
 * line, without a new process for each. After each document: a line with the exit code.
 */
#include <stdio.h>
#include <string.h>
#include "evidence.h"

int main(int argc, char **argv)
{
	char path[1000];

	if (argc != 2)
		return 2;
	while (fgets(path, sizeof(path), stdin)) {
		struct ctl c = { .json = true };
		char *args[] = { (char *)"--key", argv[1], path, NULL };
		int r;

		path[strcspn(path, "\n")] = '\0';
		r = evidence_verify(&c, 3, args);
		if (r && r < CTL_EXIT)
			bwl_err_print(&c.err, "bwl-judge", true);
		printf("exit %d\n", !r ? 0 : r >= CTL_EXIT ? r - CTL_EXIT : 1);
		fflush(stdout);
	}
	return 0;
}
