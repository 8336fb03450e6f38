// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bwl-enter STATE AUDIT: does with the intervals below STATE what bwlimitd does, for a DPU that is
 * not here.
 */
#include <stdio.h>
#include <time.h>
#include "evidence/writer.h"

int main(int argc, char **argv)
{
	struct ev_writer *w = argc == 3 ? ev_writer_new(argv[1], argv[2]) : NULL;
	struct bwl_err e = { 0 };
	int r = w ? 1 : -1;

	while (w && r > 0)
		r = ev_writer_step(w, time(NULL), &e);
	ev_writer_free(w);
	if (r)
		fprintf(stderr, "bwl-enter: %s\n", e.text);
	return r != 0;
}
