// SPDX-License-Identifier: GPL-2.0-or-later
/* bwl-record-maps PIN-DIRECTORY: prints its maps (recorded.h). */
#include "recorded.h"

int main(int argc, char **argv)
{
	if (argc == 2)
		return recorded_write(argv[1], stdout) ? 1 : 0;
	fprintf(stderr, "usage: bwl-record-maps PIN-DIRECTORY\n");
	return 2;
}
