// SPDX-License-Identifier: GPL-2.0-or-later
/* Only the header of every bench: bench/agent, a script, prints it. */
#include <string.h>
#include "bench/machine.h"
#include "bwl/help.h"

int main(int argc, char **argv)
{
	static const char usage[] =
		"usage: bench-machine [--json]\n"
		"\n"
		"CPU, mitigations, kernel and clang, as every bench prints them.\n"
		"\n"
		"examples:\n"
		"  bench-machine --json | jq .machine.cpu\n";

	if (argc == 2 && !strcmp(argv[1], "--json")) {
		fputc('{', stdout);
		bench_machine_json(stdout);
		fputs("}\n", stdout);
		return 0;
	}
	if (argc == 1) {
		bench_machine_text(stdout);
		return 0;
	}
	bwl_help(usage, !strcmp(argv[1], "--help") ? stdout : stderr);
	return strcmp(argv[1], "--help") ? 2 : 0;
}
