/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common to the targets: libFuzzer's entry, and a check that ends the process. */
#ifndef BWL_TESTS_FUZZ_H
#define BWL_TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

#endif
