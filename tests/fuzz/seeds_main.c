// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a fuzz target on the files of the given directories, without libFuzzer: a regression test in
 * every build. Each file is tried whole, and truncated at 64 places.
 */
#include <dirent.h>
#include "fuzz.h"

static int run_file(const char *path)
{
	FILE *f = fopen(path, "re");
	static uint8_t buf[1 << 20];
	uint8_t *exact;
	size_t n;

	if (!f) {
		perror(path);
		return -1;
	}
	n = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	for (unsigned i = 0; i <= 64; i++) {
		size_t len = n * i / 64;

		/* exactly that length, so that a sanitizer sees a read beyond the end */
		exact = malloc(len + !len);
		memcpy(exact, buf, len);
		LLVMFuzzerTestOneInput(exact, len);
		free(exact);
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned cases = 0, failed = 0;

	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);
		struct dirent *de;
		char path[4096];

		if (!d) {
			perror(argv[i]);
			return 1;
		}
		while ((de = readdir(d))) {
			if (de->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", argv[i], de->d_name);
			cases++;
			if (run_file(path))
				failed++;
			else
				printf("ok %u - %s is read or refused in one piece\n", cases,
				       de->d_name);
		}
		closedir(d);
	}
	printf("1..%u\n", cases);
	return failed || !cases;
}
