// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a frame: never more of it than there is, and a shorter frame never has more headers.
 */
#include "tap/headers.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1); /* so that the sanitizer sees its end */
	size_t whole, n;

	must(!!copy, "memory");
	memcpy(copy, data, size);
	whole = tap_headers(copy, size);
	must(whole <= size, "no more than there is");
	n = tap_headers(copy, size / 2);
	must(n <= size / 2 && n <= whole, "of half of it no more than of the whole");
	free(copy);
	return 0;
}
