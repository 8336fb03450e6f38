// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which connections are closed when there are too many. There are no real sockets: shutdown(2) of
 * -1 does nothing.
 */
#include <arpa/inet.h>
#include <string.h>
#include "web/guests.h"
#include "../test.h"

#define SECOND 1000000000ULL

static struct guests g;

static struct guest *come(unsigned address, uint64_t now_ns)
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };

	return guests_come(&g, -1, (struct sockaddr *)&from, now_ns);
}

static unsigned count(const struct guest *of_client)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GUESTS_ROOM; i++)
		n += g.guest[i].place.of && (!of_client || bwl_client_is(&g.guest[i].place.client,
									 &of_client->place.client));
	return n;
}

static void close_what_goes(void) /* as libmicrohttpd reports it */
{
	for (unsigned i = 0; i < GUESTS_ROOM; i++)
		if (g.guest[i].does == GUEST_GOES)
			guests_go(&g.guest[i]);
}

static int none(void **state)
{
	(void)state;
	memset(&g, 0, sizeof(g));
	return 0;
}

static void who_has_said_nothing_for_the_longest_goes(void **state)
{
	struct guest *first = come(1, 1), *asker = come(1, 2);

	(void)state;
	guests_does(asker, GUEST_IS_ANSWERED, 30, 3);
	for (unsigned i = 2; i < GUESTS_OF_CLIENT; i++)
		come(1, 10 + i);
	assert_int_equal(first->does, GUEST_ASKS);
	assert_int_equal(come(1, 1000)->does, GUEST_ASKS);
	assert_int_equal(first->does, GUEST_GOES);
	assert_int_equal(asker->does, GUEST_IS_ANSWERED);
	assert_int_equal(count(asker), GUESTS_OF_CLIENT);
}

static void of_an_address_that_has_too_many(void **state)
{
	struct guest *other = come(2, 1);

	(void)state;
	for (unsigned i = 0; i < 10 * GUESTS_OF_CLIENT; i++) {
		struct guest *x = come(1, 10 + i);

		assert_non_null(x);
		close_what_goes();
	}
	assert_int_equal(other->does, GUEST_ASKS);
	assert_int_equal(count(NULL), GUESTS_OF_CLIENT + 1);
}

static void who_takes_nothing_makes_room_and_who_reads_does_not(void **state)
{
	struct guest *deaf, *reads;

	(void)state;
	reads = come(1, 1);
	guests_does(reads, GUEST_STREAMS, 0, 1); /* it has taken everything and waits for news */
	deaf = come(1, 2);
	for (unsigned i = 1; i < GUESTS_OF_CLIENT; i++) {
		guests_does(deaf, GUEST_IS_ANSWERED, 30, 2);
		if (i < GUESTS_OF_CLIENT - 1)
			deaf = come(1, 2);
	}
	assert_int_equal(come(1, SECOND)->does, GUEST_GOES); /* the others still have time */
	assert_int_equal(come(1, 4 * SECOND)->does, GUEST_ASKS);
	assert_int_equal(reads->does, GUEST_STREAMS);
}

static void time_ends_for_who_does_not_come_further(void **state)
{
	struct guest *x = come(1, SECOND);

	(void)state;
	guests_look(&g, GUESTS_HEAD_S * SECOND);
	assert_int_equal(x->does, GUEST_ASKS);
	guests_look(&g, (GUESTS_HEAD_S + 2) * SECOND);
	assert_int_equal(x->does, GUEST_GOES);
	x = come(1, SECOND);
	guests_does(x, GUEST_STREAMS, 0, SECOND);
	guests_look(&g, 1000000 * SECOND);
	assert_int_equal(x->does, GUEST_STREAMS);
}

static void who_has_shown_no_certificate_displaces_only_others_of_these(void **state)
{
	struct guest *known[GUESTS_MAX];
	struct guest *other;

	(void)state;
	g.strangers = true;
	for (unsigned i = 0; i < GUESTS_MAX; i++) { /* idle, and long since */
		known[i] = come(1000 + i, 1 + i);
		known[i]->place.of = BWL_PLACE_KNOWN;
	}
	other = come(3, 1000);
	for (unsigned i = 0; i < 10 * GUESTS_MAX; i++) {
		assert_non_null(come(10 + i % 2, 2000 + i));
		close_what_goes();
	}
	for (unsigned i = 0; i < GUESTS_MAX; i++)
		assert_int_equal(known[i]->does, GUEST_ASKS);
	assert_int_equal(other->does, GUEST_ASKS); /* of an address that has but one */
	assert_int_equal(count(NULL), GUESTS_MAX + BWL_PLACES_STRANGERS);
}

/* Four addresses have all places, and requests at all of them: none looks idle. */
static void who_is_answered_all_the_time_keeps_nobody_out(void **state)
{
	struct guest *x;

	(void)state;
	for (unsigned i = 0; i < GUESTS_MAX; i++)
		guests_does(come(1 + i % 4, 1 + i), GUEST_IS_ANSWERED, 30, 1 + i);
	for (unsigned i = 0; i < 20; i++) { /* each of another address */
		x = come(100 + i, 1000);
		guests_does(x, GUEST_IS_ANSWERED, 30, 1000);
		assert_int_equal(x->does, GUEST_IS_ANSWERED);
		close_what_goes();
	}
	for (unsigned i = 0; i < GUESTS_ROOM; i++)
		if (g.guest[i].does && g.guest[i].place.since_ns == 1000)
			assert_int_equal(g.guest[i].does, GUEST_IS_ANSWERED);
	assert_int_equal(count(x), 1);
	assert_int_equal(count(NULL), GUESTS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(who_has_shown_no_certificate_displaces_only_others_of_these,
				       none),
		cmocka_unit_test_setup(who_is_answered_all_the_time_keeps_nobody_out, none),
		cmocka_unit_test_setup(who_has_said_nothing_for_the_longest_goes, none),
		cmocka_unit_test_setup(of_an_address_that_has_too_many, none),
		cmocka_unit_test_setup(who_takes_nothing_makes_room_and_who_reads_does_not, none),
		cmocka_unit_test_setup(time_ends_for_who_does_not_come_further, none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
