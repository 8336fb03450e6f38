// SPDX-License-Identifier: GPL-2.0-or-later
/* One document serves all clients, and the cache never exceeds its room. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "web/cache.h"
#include "../test.h"

#define MS 1000000ULL

static const struct bwl_client one_client = { { 1 } };

static struct entry *entry_of(struct cache *c, const char *question, uint8_t client,
			      uint64_t now_ns)
{
	const struct asking_document *d = asking_find(web_node.asking, "stats");

	return cache_entry(c, &web_node, d, question, &(struct bwl_client){ { client } }, now_ns);
}

static struct entry *entry(struct cache *c, const char *question, uint64_t now_ns)
{
	return entry_of(c, question, 1, now_ns);
}

static void put(struct cache *c, struct entry *e, size_t len, char byte, uint64_t now_ns)
{
	char *bytes = malloc(len + 1);

	memset(bytes, byte, len);
	cache_put(c, e, 200, text_new(bytes, len), now_ns);
	free(bytes);
}

static void a_document_is_fresh_for_its_time(void **state)
{
	static struct cache c;
	struct entry *e = entry(&c, "stats", 1);
	uint64_t version;

	(void)state;
	assert_false(cache_is_fresh(e, 1));
	e->wanted_ns = 1;
	assert_ptr_equal(cache_next(&c, e->how->asker), e);
	assert_null(cache_next(&c, !e->how->asker));
	e->asked = true;
	assert_null(cache_next(&c, e->how->asker));
	put(&c, e, 10, 'a', 100 * MS);
	assert_ptr_equal(entry(&c, "stats", 100 * MS), e);
	assert_true(cache_is_fresh(e, (100 + e->how->every_ms - 1) * MS));
	assert_false(cache_is_fresh(e, (100 + e->how->every_ms) * MS));
	version = e->version;
	put(&c, e, 10, 'a', 200 * MS);
	assert_int_equal(e->version, version); /* the document has not changed */
	put(&c, e, 10, 'b', 300 * MS);
	assert_int_not_equal(e->version, version);
	cache_put(&c, e, 503, text_new("no", 2), 400 * MS);
	assert_true(cache_is_fresh(e, 1399 * MS));
	assert_false(cache_is_fresh(e, 1400 * MS));
	cache_done(&c);
}

static void the_oldest_that_nobody_needs_makes_room(void **state)
{
	static struct cache c;
	struct entry *first = NULL, *e;
	char question[32];

	(void)state;
	for (unsigned i = 0; i < CACHE_QUERIES; i++) {
		snprintf(question, sizeof(question), "stats?x=%u", i);
		e = entry(&c, question, i + 1);
		first = first ? first : e;
	}
	cache_hold(first); /* the oldest entry, but a client uses it */
	e = entry(&c, "stats?x=new", 1000);
	assert_non_null(e);
	assert_ptr_not_equal(e, first);
	assert_ptr_equal(e, first + 1);
	for (unsigned i = 0; i < CACHE_ENTRIES; i++)
		cache_hold(&c.entry[i]);
	assert_null(entry(&c, "stats?x=another", 1001));
	assert_non_null(entry(&c, "stats?x=new", 1002));
	cache_done(&c);
}

static void different_queries_leave_room_for_every_document_without_one(void **state)
{
	const struct web_documents *both[] = { &web_node, &web_fleet };
	char question[32];

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		static struct cache c;
		unsigned taken = 0;

		for (unsigned i = 0; i < 3 * CACHE_ENTRIES; i++) {
			struct entry *e;

			snprintf(question, sizeof(question), "x?y=%u", i);
			e = cache_entry(&c, both[k], both[k]->asking, question, &one_client, 1);
			if (e)
				cache_hold(e)->wanted_ns = 1;
			taken += !!e;
		}
		assert_int_equal(taken, CACHE_QUERIES);
		for (unsigned i = 0; both[k]->asking[i].name; i++)
			assert_non_null(cache_entry(&c, both[k], &both[k]->asking[i],
						    both[k]->asking[i].name, &one_client, 2));
		cache_done(&c);
	}
}

static void what_nobody_waits_for_any_more_is_not_asked_for(void **state)
{
	static struct cache c;
	struct entry *e = entry(&c, "stats", 1), *one, *other;

	(void)state;
	one = cache_hold(e);
	other = cache_hold(e);
	e->wanted_ns = 1;
	cache_give_back(&one);
	assert_null(one);
	assert_ptr_equal(cache_next(&c, e->how->asker), e);
	cache_give_back(&other);
	assert_null(cache_next(&c, e->how->asker));
	cache_give_back(&other); /* a second call does nothing */
	assert_int_equal(e->holders, 0);
	cache_done(&c);
}

/* Other documents arrive after a document came and before the client that waits for it gets it. */
static void what_somebody_holds_is_neither_forgotten_nor_another_questions(void **state)
{
	const size_t half = CACHE_BYTES / 2;
	static struct cache c;
	struct entry *held = cache_hold(entry(&c, "stats?x=held", 1)), *e;
	char question[32];

	(void)state;
	put(&c, held, half, 'h', 2);
	for (unsigned i = 0; i < 3 * CACHE_ENTRIES; i++) {
		snprintf(question, sizeof(question), "stats?x=%u", i);
		e = entry(&c, question, 3 + i);
		assert_ptr_not_equal(e, held);
		put(&c, e, i % 16 ? 1 : half, 'x', 3 + i);
		assert_string_equal(held->question, "stats?x=held");
		assert_non_null(held->text);
		assert_int_equal(held->text->at[half - 1], 'h');
	}
	e = held;
	cache_give_back(&held);
	put(&c, entry(&c, "stats?x=more", 1000), half, 'x', 1000);
	assert_string_equal(e->question, ""); /* control: once released, it is forgotten */
	cache_done(&c);
}

static void openmetrics_is_made_once_for_all(void **state)
{
	static struct cache c;
	struct entry *e = entry(&c, "stats", 1);
	struct text *a, *b;

	(void)state;
	cache_put(&c, e, 200, text_new("x 1\n", 4), 1);
	a = cache_openmetrics(e);
	b = cache_openmetrics(e);
	assert_ptr_equal(a, b);
	assert_string_equal(a->at, "x 1\n# EOF\n");
	text_drop(b);
	cache_put(&c, e, 200, text_new("x 2\n", 4), 2);
	b = cache_openmetrics(e);
	assert_string_equal(b->at, "x 2\n# EOF\n");
	assert_string_equal(a->at, "x 1\n# EOF\n"); /* a slow client still has the old one */
	text_drop(a);
	text_drop(b);
	cache_done(&c);
}

static void bytes_are_bounded(void **state)
{
	static struct cache c;
	size_t n, most = 0;
	char question[32];

	(void)state;
	for (unsigned i = 0; i < 3 * CACHE_ENTRIES; i++) {
		snprintf(question, sizeof(question), "stats?x=%u", i);
		put(&c, entry(&c, question, i + 1), 1 << 20, 'x', i + 1);
		n = 0;
		for (unsigned k = 0; k < CACHE_ENTRIES; k++)
			n += c.entry[k].text ? c.entry[k].text->len : 0;
		most = n > most ? n : most;
	}
	assert_int_equal(most, CACHE_BYTES);
	cache_done(&c);
}

static void who_asks_most_makes_room(void **state)
{
	static struct cache c;
	struct entry *first = NULL, *other = cache_hold(entry_of(&c, "stats?x=other", 2, 1)), *e;
	char question[32];

	(void)state;
	assert_ptr_equal(cache_crowds(&c), other);
	for (unsigned i = 1; i < CACHE_QUERIES; i++) {
		snprintf(question, sizeof(question), "stats?x=%u", i);
		e = cache_hold(entry_of(&c, question, 1, 1 + i));
		first = first ? first : e;
	}
	cache_hold(entry_of(&c, "stats", 1, 1)); /* without a query it takes none of the places */
	assert_null(entry_of(&c, "stats?x=third", 3, 1000));
	assert_ptr_equal(cache_crowds(&c), first);
	first->asked = true; /* it is being made: that cannot be taken back */
	assert_ptr_not_equal(cache_crowds(&c), first);
	e = cache_crowds(&c);
	assert_ptr_not_equal(e, other);
	cache_give_back(&(struct entry *){ e });
	assert_ptr_equal(entry_of(&c, "stats?x=third", 3, 1001), e);
	cache_done(&c);
}

/* Whoever asks first what others will ask does not take them along when his own must go. */
static void who_asks_too_has_a_part_of_the_question(void **state)
{
	static struct cache c;
	char question[32];
	struct entry *e;

	(void)state;
	e = cache_hold(entry_of(&c, "stats?x=theirs", 1, 1));
	for (unsigned i = 1; i < CACHE_QUERIES; i++) {
		snprintf(question, sizeof(question), "stats?x=%u", i);
		cache_hold(entry_of(&c, question, 1, 1 + i));
	}
	assert_ptr_equal(cache_crowds(&c), e); /* control: the oldest of the only client */
	assert_ptr_equal(cache_hold(entry_of(&c, "stats?x=theirs", 2, 2)), e);
	assert_ptr_not_equal(cache_crowds(&c), e);
	cache_done(&c);
}

static void clients_take_turns(void **state)
{
	static struct cache c;
	struct entry *made[6], *e;
	char question[32];

	(void)state;
	for (unsigned i = 0; i < 6; i++) { /* four of one, then each one of two others */
		snprintf(question, sizeof(question), "stats?x=%u", i);
		e = cache_hold(entry_of(&c, question, i < 4 ? 1 : (uint8_t)i, 1 + i));
		e->wanted_ns = 1 + i;
	}
	for (unsigned i = 0; i < 6; i++) {
		made[i] = cache_next(&c, c.entry[0].how->asker);
		made[i]->wanted_ns = 0;
	}
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(made[i]->question[8] - '0', "045123"[i] - '0');
	cache_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_asks_most_makes_room),
		cmocka_unit_test(who_asks_too_has_a_part_of_the_question),
		cmocka_unit_test(clients_take_turns),
		cmocka_unit_test(a_document_is_fresh_for_its_time),
		cmocka_unit_test(the_oldest_that_nobody_needs_makes_room),
		cmocka_unit_test(different_queries_leave_room_for_every_document_without_one),
		cmocka_unit_test(what_nobody_waits_for_any_more_is_not_asked_for),
		cmocka_unit_test(what_somebody_holds_is_neither_forgotten_nor_another_questions),
		cmocka_unit_test(openmetrics_is_made_once_for_all),
		cmocka_unit_test(bytes_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
