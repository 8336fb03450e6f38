// SPDX-License-Identifier: GPL-2.0-or-later
/* A signed grant is judged by the policy that results from it. */
#include <bwl/cleanup.h>
#include "rig.h"
#include "policy_text.h"
#include "signed/grant.h"
#include "signed/widen.h"

#define POLICY                                                                                     \
	TOP "peers:\n  - name: log\n    addresses: [198.51.100.7/32]\n    path: clear\n"           \
	    "    via: 10.9.9.9\n    grant: { rate: 1mbit, burst: 80kb, volume: 1gb per 1d }\n"     \
	    "  - name: shut\n    addresses: [198.51.100.8/32]\n    path: clear\n"                  \
	    "    via: 10.9.9.9\n"

/* Returns 1 if it widens, 0 if not, or an error. limit: JSON. */
static int widens(const char *peer, const char *limit)
{
	BWL_AUTO(bwl_root_free) struct bwl_root *root = rig_root();
	struct bwl_policy *from = read_text(POLICY), *to = read_text(POLICY);
	json_t *o = rig_body(BWL_SIGNED_GRANT, 1);
	struct bwl_widened w = { 0 };
	struct bwl_err e = { 0 };
	struct bwl_signed d;
	char *text;
	int r;

	json_object_set_new(o, "peer", json_string(peer));
	json_object_set_new(o, "limit", json_loads(limit, 0, NULL));
	text = rig_sign(BWL_SIGNED_GRANT, "hall-3", "all", o, 1U << ALICE);
	assert_int_equal(bwl_signed_open(text, strlen(text), root, &tray, NOW, &d, &e), 0);
	r = bwl_grant_into(to, &d, NOW_BOOT, NOW, &e);
	if (!r) {
		struct bwl_holding a = bwl_holding_of(from), b = bwl_holding_of(to);

		assert_int_equal(bwl_policy_peer(to, peer)->expiry_ns,
				 NOW_BOOT + DAY * 1000000000ULL);
		r = bwl_widens(&a, &b, &w);
	}
	bwl_widened_free(&w);
	bwl_signed_free(&d);
	bwl_policy_free(from);
	bwl_policy_free(to);
	free(text);
	return r;
}

static void it_widens_where_the_policy_that_it_comes_to_does(void **state)
{
	(void)state;
	assert_int_equal(
		widens("log", "{\"rate\":\"1mbit\",\"burst\":\"80kb\",\"volume\":\"1gb per 1d\"}"),
		0);
	assert_int_equal(
		widens("log",
		       "{\"rate\":\"500kbit\",\"burst\":\"80kb\",\"volume\":\"1mb per 1d\"}"),
		0);
	assert_int_equal(
		widens("log", "{\"rate\":\"2mbit\",\"burst\":\"80kb\",\"volume\":\"1gb per 1d\"}"),
		1);
	assert_int_equal(
		widens("log", "{\"rate\":\"1mbit\",\"burst\":\"81kb\",\"volume\":\"1gb per 1d\"}"),
		1);
	assert_int_equal(
		widens("log", "{\"rate\":\"1mbit\",\"burst\":\"80kb\",\"volume\":\"none\"}"), 1);
	assert_int_equal(widens("log", "{\"rate\":\"unlimited\"}"), 1);
	assert_int_equal(
		widens("log",
		       "{\"rate\":\"1mbit\",\"burst\":\"80kb\",\"volume\":\"1gb per 1d\",\"mode\":\"monitor\"}"),
		1);
}

/* Each word left out, of a grant that says what the policy says: nothing of it becomes wider. */
static void what_is_not_named_stays(void **state)
{
	static const char *const limits[] = {
		"{\"burst\":\"80kb\",\"volume\":\"1gb per 1d\"}",
		"{\"rate\":\"1mbit\",\"volume\":\"1gb per 1d\"}",
		"{\"rate\":\"1mbit\",\"burst\":\"80kb\"}",
		"{\"rate\":\"1mbit\"}",
		"{\"burst\":\"80kb\"}",
		"{\"volume\":\"1gb per 1d\"}",
		"{\"mode\":\"police\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		assert_int_equal(widens("log", limits[i]), 0);
	/* There is nothing to stay. */
	assert_int_equal(widens("shut", "{\"volume\":\"1gb\"}"), -ENOENT);
	assert_int_equal(widens("shut", "{\"rate\":\"1mbit\"}"), 1);
}

static void it_is_of_a_peer_and_has_the_words_of_a_limit(void **state)
{
	(void)state;
	assert_int_equal(widens("nobody", "{\"rate\":\"1mbit\"}"), -ENOENT);
	assert_true(widens("log", "{\"rate\":1}") < 0);
	assert_true(widens("log", "{\"rate\":\"fast\"}") < 0);
	assert_true(widens("log", "{\"rate\":\"1mbit\",\"until\":\"never\"}") < 0);
	assert_int_equal(widens("log", "{}"), 0); /* only its end */
	assert_int_equal(widens("shut", "{}"), -ENOENT);
}

/* own: the policy's; a grant of that rate, without a burst, in that mode. */
static uint64_t burst_of(const char *own, const char *rate, const char *mode)
{
	char text[1024], *doc;
	BWL_AUTO(bwl_root_free) struct bwl_root *root = rig_root();
	json_t *o = rig_body(BWL_SIGNED_GRANT, 1);
	struct bwl_err e = { 0 };
	struct bwl_policy *pol;
	struct bwl_signed d;
	uint64_t r;

	snprintf(text, sizeof(text),
		 TOP "peers:\n  - name: log\n    addresses: [198.51.100.7/32]\n    path: clear\n"
		     "    via: 10.9.9.9\n    grant: { rate: 100mbit%s }\n",
		 own);
	pol = read_text(text);
	json_object_set_new(o, "peer", json_string("log"));
	json_object_set_new(o, "limit", json_pack("{s:s, s:s}", "rate", rate, "mode", mode));
	doc = rig_sign(BWL_SIGNED_GRANT, "hall-3", "all", o, 1U << ALICE);
	assert_int_equal(bwl_signed_open(doc, strlen(doc), root, &tray, NOW, &d, &e), 0);
	if (bwl_grant_into(pol, &d, NOW_BOOT, NOW, &e))
		fail_msg("%s", e.text);
	r = bwl_policy_peer(pol, "log")->grant.burst;
	bwl_signed_free(&d);
	bwl_policy_free(pol);
	free(doc);
	return r;
}

/*
 * Of a rate alone, grants of before had the default burst of that rate. What they open must not
 * become more with an upgrade; and a default does not stay that of another rate.
 */
static void a_burst_is_never_more_than_the_default_of_a_rate_that_is_named(void **state)
{
	(void)state;
	assert_int_equal(burst_of(", burst: 20mb", "50mbit", "police"), 0);
	assert_int_equal(burst_of(", burst: 80kb", "50mbit", "police"), 80 << 10);
	assert_int_equal(burst_of(", burst: 80kb", "1gbit", "police"), 80 << 10);
	assert_int_equal(burst_of("", "1gbit", "police"), 0);
	assert_int_equal(burst_of(", mode: shape", "10gbit", "shape"),
			 bwl_default_burst_shape(10000000000ULL));
	assert_int_equal(burst_of(", burst: 20mb, mode: shape", "50mbit", "shape"),
			 bwl_default_burst_shape(50000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_widens_where_the_policy_that_it_comes_to_does),
		cmocka_unit_test(what_is_not_named_stays),
		cmocka_unit_test(a_burst_is_never_more_than_the_default_of_a_rate_that_is_named),
		cmocka_unit_test(it_is_of_a_peer_and_has_the_words_of_a_limit),
	};

	return cmocka_run_group_tests(tests, rig_keys, rig_no_keys);
}
