// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whatever one person and the controller's key sign, in any order, allows nothing beyond what two
 * people have signed.
 */
#include <bwl/doc.h>
#include "docs_rig.h"

/* A document that the holder of one person's key and the controller's key could sign. */
static json_t *random_document(uint64_t *r, enum bwl_signed_type *ret)
{
	static const enum bwl_signed_type types[] = { BWL_SIGNED_POLICY,     BWL_SIGNED_POLICY,
						      BWL_SIGNED_POLICY,     BWL_SIGNED_GRANT,
						      BWL_SIGNED_GRANT,      BWL_SIGNED_ROLLOUT,
						      BWL_SIGNED_REVOCATION, BWL_SIGNED_TIMESTAMP };
	static const char *const spans[] = { "1m", "15m", "1h" };
	int64_t for_s = (int64_t)(test_random(r) % (2 * DAY)) + 1;
	unsigned a = (unsigned)(test_random(r) % 300) + 1, b = (unsigned)(test_random(r) % 300) + 1;
	char from[65], to[65];
	json_t *o;
	size_t n;

	*ret = types[test_random(r) % (sizeof(types) / sizeof(types[0]))];
	bwl_memory_held(s.m, &n);
	switch (*ret) {
	case BWL_SIGNED_POLICY:
		o = policy(a, b, for_s);
		if (test_random(r) % 3 == 0)
			json_object_set_new(o, "stages", json_true());
		if (test_random(r) % 3 == 0)
			json_object_set_new(o, "name", json_string("other"));
		break;
	case BWL_SIGNED_GRANT:
		o = grant(test_random(r) % 2 ? "g" : "h", test_random(r) % 2 ? "a" : "b", a, for_s);
		break;
	case BWL_SIGNED_ROLLOUT:
		digest_hex(test_random(r) % n, from);
		digest_hex(test_random(r) % n, to);
		return rollout(to, from, (unsigned)(test_random(r) % 100) + 1,
			       test_random(r) % 4 == 0);
	case BWL_SIGNED_REVOCATION:
		o = revocation("peers", json_pack("[s]", "b"));
		break;
	default:
		return terms("time", DAY);
	}
	if (test_random(r) % 3 == 0) { /* whoever signs chooses the date */
		char at_s[BWL_TIME_BUF];

		json_object_set_new(o, "issued_at",
				    json_string(bwl_utc(at.wall_s - 100 +
								(int64_t)(test_random(r) % 200),
							-1, at_s)));
	}
	if (*ret != BWL_SIGNED_REVOCATION && test_random(r) % 3 == 0)
		json_object_set_new(o, "offline_for", json_string(spans[test_random(r) % 3]));
	return o;
}

static void hold_now(struct docs_terms *ret)
{
	struct bwl_err e = { 0 };

	if (docs_terms(&s, ret, &e) && e.code != ENOENT)
		fail_msg("%s", e.text);
}

static bool is_wider(const struct docs_terms *was)
{
	struct docs_terms is;
	struct bwl_widened w;
	bool wider;

	hold_now(&is);
	wider = is.any && bwl_widens(&was->holding.h, &is.holding.h, &w);
	if (is.any)
		bwl_widened_free(&w);
	docs_terms_free(&is);
	return wider;
}

static void nothing_that_one_person_and_the_controller_sign_raises_a_limit(void **state)
{
	uint64_t seed = 13, r = seed;
	unsigned taken = 0, refused = 0, chosen = 0;

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		struct docs_terms two[2] = { 0 };
		json_t *o;

		enrol();
		assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 200, DAY), TWO), "taken");
		hold_now(&two[0]);
		pass(1);
		o = policy(150, 150, DAY); /* a policy that the controller may choose */
		json_object_set_new(o, "stages", json_true());
		assert_string_equal(give(BWL_SIGNED_POLICY, o, TWO), "waits");
		{
			char from[65], to[65];

			digest_hex(0, from);
			digest_hex(1, to);
			assert_string_equal(give(BWL_SIGNED_ROLLOUT, rollout(to, from, 100, false),
						 ONLINE),
					    "taken");
			hold_now(&two[1]);
			assert_string_equal(give(BWL_SIGNED_ROLLOUT, rollout(to, from, 1, true),
						 ONLINE),
					    "taken");
		}
		for (unsigned i = 0; i < 25; i++) {
			enum bwl_signed_type type;
			const char *said;

			pass((unsigned)(test_random(&r) % 100));
			o = random_document(&r, &type);
			said = give(type, o,
				    bwl_signed_role(type) == BWL_ROLE_ONLINE ? ONLINE : ONE);
			taken += !strcmp(said, "taken");
			refused += !strcmp(said, "signed-widens");
			chosen += type == BWL_SIGNED_ROLLOUT && !strcmp(said, "taken");
			if (is_wider(&two[0]) && is_wider(&two[1]))
				fail_msg(
					"seed %llu, round %u, document %u: wider than what two signed",
					(unsigned long long)seed, round, i);
		}
		docs_terms_free(&two[0]);
		docs_terms_free(&two[1]);
	}
	print_message("%u taken, %u refused because they widen, %u rollouts\n", taken, refused,
		      chosen);
	assert_true(taken > 100 && refused > 100 && chosen > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_that_one_person_and_the_controller_sign_raises_a_limit),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
