/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For every unit test: cmocka with its headers in order, and a generator of random numbers. */
#ifndef BWL_TEST_H
#define BWL_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* splitmix64: the same numbers in every run. */
static inline uint64_t test_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* 0 .. 2^bits - 1; every magnitude is equally likely. */
static inline uint64_t test_random_scale(uint64_t *state, unsigned bits)
{
	uint64_t v = test_random(state);
	unsigned n = test_random(state) % (bits + 1);

	return n ? v >> (64 - n) : 0;
}

#endif
