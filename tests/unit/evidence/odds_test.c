// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * If some of the bytes that a record claims are false, how often does a challenge hit one of them?
 */
#include "../test.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "evidence/draw.h"

#define RECORDS 500
#define TRIALS 4000

static const char note[] = "bwlimit/test\n1\nAAAA\n\n— bwlimit/test AAAA\n";
static const struct bwl_witnesses none;

/*
 * Makes records of random sizes. Random records become false until they have that share of all
 * bytes.
 */
static uint64_t make(uint64_t size[RECORDS], bool is_false[RECORDS], double share, uint64_t *random,
		     double *ret_share)
{
	uint64_t total = 0, wrong = 0;
	size_t i;

	for (i = 0; i < RECORDS; i++) {
		size[i] = 1 + test_random_scale(random, 30);
		is_false[i] = false;
		total += size[i];
	}
	for (unsigned tries = 0; tries < 20000 && (double)wrong < share * (double)total; tries++) {
		i = test_random(random) % RECORDS;
		if (is_false[i] || (double)(wrong + size[i]) > 1.05 * share * (double)total)
			continue;
		is_false[i] = true;
		wrong += size[i];
	}
	*ret_share = (double)wrong / (double)total;
	return total;
}

static bool hits(const uint64_t size[RECORDS], const bool is_false[RECORDS], uint64_t total,
		 const struct bwl_hash *seed, unsigned draws)
{
	for (unsigned i = 0; i < draws; i++) {
		uint64_t r = ev_draw(seed, i, total);
		size_t k = 0;

		for (; r >= size[k]; k++)
			r -= size[k];
		if (is_false[k])
			return true;
	}
	return false;
}

static double odds(double share, unsigned draws, double *ret_expected)
{
	uint64_t size[RECORDS], random = draws;
	bool is_false[RECORDS];
	double expected = 0;
	unsigned found = 0;

	for (unsigned t = 0; t < TRIALS; t++) {
		double got;
		uint64_t total = make(size, is_false, share, &random, &got);
		struct bwl_hash seed;
		char nonce[40];

		snprintf(nonce, sizeof(nonce), "nonce %u", t);
		assert_int_equal(ev_seed(&none, note, strlen(note), nonce, &seed, NULL), 0);
		found += hits(size, is_false, total, &seed, draws);
		expected += 1 - pow(1 - got, draws);
	}
	*ret_expected = expected / TRIALS;
	return (double)found / TRIALS;
}

static void challenges_find_what_the_page_says(void **state)
{
	static const struct {
		double share;
		unsigned draws;
		double odds; /* docs/evidence.md */
	} said[] = {
		{ 0.01, 300, 0.95 }, { 0.10, 30, 0.95 }, { 0.01, 100, 0.63 }, { 0.001, 300, 0.26 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		double expected, found = odds(said[i].share, said[i].draws, &expected);

		print_message("%u draws, %.1f %% false: found %.3f, by the formula %.3f\n",
			      said[i].draws, said[i].share * 100, found, expected);
		assert_true(fabs(found - expected) < 0.025); /* 3 sigma of 4000 runs */
		assert_true(fabs(found - said[i].odds) < 0.04);
	}
}

static void every_byte_is_as_likely(void **state)
{
	unsigned in[10] = { 0 };
	struct bwl_hash seed;

	(void)state;
	assert_int_equal(ev_seed(&none, note, strlen(note), NULL, &seed, NULL), 0);
	for (unsigned i = 0; i < 50000; i++)
		in[ev_draw(&seed, i, 10)]++;
	for (unsigned i = 0; i < 10; i++)
		assert_in_range(in[i], 4700, 5300);
	assert_int_equal(ev_draw(&seed, 7, 1), 0);
	assert_true(ev_draw(&seed, 3, UINT64_MAX) < UINT64_MAX);
}

/* A note with one signature line by each key. */
static void note_of(char ret[1000], const struct bwl_note_key *const *key, size_t n)
{
	char one[1000];
	size_t len;

	*ret = '\0';
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(bwl_note_sign(key[i], "bwlimit/test\n1\nAAAA\n", one, sizeof(one),
					       &len, NULL),
				 0);
		strcat(ret, i ? strstr(one, "\n\n") + 2 : one);
	}
}

static struct bwl_hash seed_of(const struct bwl_witnesses *w, const char *text, const char *nonce)
{
	struct bwl_hash seed;

	assert_int_equal(ev_seed(w, text, strlen(text), nonce, &seed, NULL), 0);
	return seed;
}

/* Lines of strangers, repeated lines and their order do not change the draw. */
static void a_draw_is_not_of_what_can_be_tried(void **state)
{
	struct bwl_note_key log, a, b, stranger;
	struct bwl_witnesses w = { 0 }, back = { 0 };
	struct bwl_hash seed, x;
	char text[1000];

	(void)state;
	assert_int_equal(bwl_note_key_new("bwlimit/test", &log, NULL), 0);
	assert_int_equal(bwl_note_key_new("a", &a, NULL), 0);
	assert_int_equal(bwl_note_key_new("b", &b, NULL), 0);
	assert_int_equal(bwl_note_key_new("stranger", &stranger, NULL), 0);
	assert_int_equal(bwl_witnesses_add(&w, &a, NULL), 0);
	assert_int_equal(bwl_witnesses_add(&w, &b, NULL), 0);
	assert_int_equal(bwl_witnesses_add(&back, &b, NULL), 0);
	assert_int_equal(bwl_witnesses_add(&back, &a, NULL), 0);
	note_of(text, (const struct bwl_note_key *[]){ &log, &a, &b }, 3);
	seed = seed_of(&w, text, NULL);
	x = seed_of(&back, text, NULL);
	assert_true(bwl_hash_equal(&seed, &x));
	x = seed_of(&w, text, "dice"); /* control: it depends on the auditor's text */
	assert_false(bwl_hash_equal(&seed, &x));
	note_of(text, (const struct bwl_note_key *[]){ &b, &stranger, &a, &log, &log }, 5);
	x = seed_of(&w, text, NULL);
	assert_true(bwl_hash_equal(&seed, &x));
	note_of(text, (const struct bwl_note_key *[]){ &log, &a }, 2);
	x = seed_of(&w, text, NULL);
	assert_false(bwl_hash_equal(&seed, &x)); /* control: it depends on their signatures */
	text[0] = 'B';
	assert_int_equal(ev_seed(&w, text, strlen(text), NULL, &x, NULL), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(challenges_find_what_the_page_says),
		cmocka_unit_test(every_byte_is_as_likely),
		cmocka_unit_test(a_draw_is_not_of_what_can_be_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
