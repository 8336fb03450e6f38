// SPDX-License-Identifier: GPL-2.0-or-later
/* Who gives a place back when there are too many. */
#include <arpa/inet.h>
#include <string.h>
#include "fleet/http/places.h"
#include "../test.h"

#define N 8

struct item {
	struct bwl_place place;
	unsigned number;
};

static struct bwl_place of_address(const char *text, uint64_t now_ns)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };

	if (strchr(text, ':'))
		assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
	else
		assert_int_equal(inet_pton(AF_INET, text, &v4.sin_addr), 1);
	return bwl_place_new(strchr(text, ':') ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
			     BWL_PLACE_STRANGER, now_ns);
}

static unsigned goes(struct item *of, enum bwl_place_of kind)
{
	const struct item *x = bwl_place_to_go(of, sizeof(*of), N, kind);

	return x ? x->number : 0;
}

static unsigned taken(const struct item *of, enum bwl_place_of kind)
{
	return bwl_places_taken(of, sizeof(*of), N, kind, NULL);
}

static void the_oldest_of_the_client_that_has_most_goes(void **state)
{
	static const char *const from[][2] = { { "10.0.0.1", "10.0.0.2" },
					       { "fd00::1", "fd00:0:0:1::1" } };

	(void)state;
	for (unsigned v = 0; v < 2; v++) {
		struct item is[N] = { { .number = 0 } };

		assert_int_equal(goes(is, BWL_PLACE_STRANGER), 0);
		for (unsigned i = 0; i < 5; i++)
			is[i] = (struct item){ of_address(from[v][i != 0], 10 + i), i + 1 };
		assert_int_equal(taken(is, BWL_PLACE_STRANGER), 5);
		assert_int_equal(goes(is, BWL_PLACE_STRANGER), 2); /* the first is older, alone */
		assert_int_equal(goes(is, BWL_PLACE_KNOWN), 0);
		is[3].place.readily = 1;
		assert_int_equal(goes(is, BWL_PLACE_STRANGER), 4);
		is[1].place.of = is[3].place.of = is[4].place.of = BWL_PLACE_FREE;
		assert_int_equal(goes(is, BWL_PLACE_STRANGER), 1); /* as many: the oldest */
		is[2].place.of = BWL_PLACE_KNOWN;
		assert_int_equal(taken(is, BWL_PLACE_STRANGER), 1);
		assert_int_equal(goes(is, BWL_PLACE_KNOWN), 3);
	}
}

static void a_whole_64_is_one_client(void **state)
{
	struct bwl_place a = of_address("fd00::1", 1), b = of_address("fd00::2:0:0:1", 1),
			 c = of_address("fd00:0:0:1::1", 1), d = of_address("10.0.0.1", 1),
			 e = of_address("10.0.0.2", 1);

	(void)state;
	assert_true(bwl_client_is(&a.client, &b.client));
	assert_false(bwl_client_is(&a.client, &c.client));
	assert_false(bwl_client_is(&d.client, &e.client));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_oldest_of_the_client_that_has_most_goes),
		cmocka_unit_test(a_whole_64_is_one_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
