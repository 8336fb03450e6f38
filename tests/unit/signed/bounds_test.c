// SPDX-License-Identifier: GPL-2.0-or-later
/* What a stolen online key can do: nothing that people did not permit before. */
#include "rig.h"
#include "signed/bounds.h"
#include "signed/memory.h"

#define HOUR 3600000000000ULL
static struct bwl_root *root;
static uint8_t known[2][32];

static int setup(void **state)
{
	rig_keys(state);
	root = rig_root();
	return 0;
}

static int teardown(void **state)
{
	bwl_root_free(root);
	return rig_no_keys(state);
}

static void take(enum bwl_signed_type type, json_t *body, unsigned who, int64_t now,
		 struct bwl_signed *ret)
{
	char *text = rig_sign(type, "hall-3", "all", body, who);
	struct bwl_err e = { 0 };

	if (bwl_signed_open(text, strlen(text), root, &tray, now, ret, &e))
		fail_msg("%s", e.text);
	free(text);
}

/* Bounds by two people: leases of up to two hours. stages: the controller may choose stages. */
static struct bwl_bounds people_said(bool stages, int64_t not_after)
{
	json_t *o = rig_terms("base", 1, 5, NOW - 60, not_after);
	struct bwl_bounds b;
	struct bwl_signed d;

	json_object_set_new(o, "text", json_string("version: 1\n"));
	json_object_set_new(o, "lease_most", json_string("2h"));
	if (stages)
		json_object_set_new(o, "stages", json_true());
	take(BWL_SIGNED_POLICY, o, PEOPLE, NOW, &d);
	b = bwl_bounds_of(&d);
	memcpy(known[0], d.digest, 32);
	memset(known[1], 7, 32);
	b.may_hold = (const uint8_t(*)[32])known;
	b.nmay_hold = 2;
	bwl_signed_free(&d);
	return b;
}

static json_t *lease(const uint8_t policy[32], const char *for_, int64_t issued)
{
	json_t *o = rig_terms("tray-7", 1, 1, issued, issued + 30 * DAY);
	char hex[65];

	json_object_set_new(o, "policy", json_string(bwl_hex_encode(policy, 32, hex)));
	json_object_set_new(o, "for", json_string(for_));
	return o;
}

/* Takes the reference. want_ns: how long it may run; 0: beyond the bounds. */
static void expect(const struct bwl_bounds *b, enum bwl_signed_type type, json_t *body, int64_t now,
		   int want, uint64_t want_ns)
{
	struct bwl_err e = { 0 };
	struct bwl_signed d;
	uint64_t ns;
	int r;

	take(type, body, 1U << CONTROLLER, now, &d);
	r = bwl_bounds_check(b, &d, now, &ns, &e);
	assert_int_equal(r, want);
	assert_int_equal(ns, want_ns);
	if (r)
		assert_string_equal(e.id, "signed-bounds");
	bwl_signed_free(&d);
}

static void a_lease_runs_no_longer_than_people_said(void **state)
{
	struct bwl_bounds b = people_said(false, NOW + DAY), none = b;
	static const uint8_t other[32] = { 1 };

	(void)state;
	expect(&b, BWL_SIGNED_LEASE, lease(b.policy, "2h", NOW), NOW, 0, 2 * HOUR);
	expect(&b, BWL_SIGNED_LEASE, lease(b.policy, "7201s", NOW), NOW, -EDQUOT, 0);
	expect(&b, BWL_SIGNED_LEASE, lease(b.policy, "366d", NOW), NOW, -EDQUOT, 0);
	expect(&b, BWL_SIGNED_LEASE, lease(other, "1h", NOW), NOW, -EDQUOT, 0);
	/* withheld, it is shorter; signed ahead, it is no longer */
	expect(&b, BWL_SIGNED_LEASE, lease(b.policy, "2h", NOW), NOW + 3600, 0, HOUR);
	expect(&b, BWL_SIGNED_LEASE, lease(b.policy, "2h", NOW), NOW + 7200, -EDQUOT, 0);
	expect(&b, BWL_SIGNED_LEASE, lease(b.policy, "2h", NOW + 50), NOW, 0, 2 * HOUR);
	/* nor does it outlast the policy */
	expect(&b, BWL_SIGNED_LEASE, lease(b.policy, "2h", NOW + DAY - 3600), NOW + DAY - 3600, 0,
	       HOUR);
	expect(&b, BWL_SIGNED_LEASE, lease(b.policy, "2h", NOW + DAY), NOW + DAY, -EDQUOT, 0);
	none.lease_most_ns = 0;
	expect(&none, BWL_SIGNED_LEASE, lease(b.policy, "1s", NOW), NOW, -EDQUOT, 0);
}

static void a_rollout_chooses_among_what_people_signed(void **state)
{
	struct bwl_bounds b = people_said(true, NOW + DAY), fixed = people_said(false, NOW + DAY);
	const struct {
		const uint8_t *from, *to;
		int want;
	} row[] = {
		{ known[0], known[1], 0 },
		{ NULL, known[1], 0 },
		{ known[0], (const uint8_t[32]){ 9 }, -EDQUOT },
		{ (const uint8_t[32]){ 9 }, known[1], -EDQUOT },
	};

	(void)state;
	b = people_said(true, NOW + DAY);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		for (unsigned which = 0; which < 2; which++) {
			json_t *o = rig_body(BWL_SIGNED_ROLLOUT, 1);
			char hex[65];

			json_object_set_new(o, "to",
					    json_string(bwl_hex_encode(row[i].to, 32, hex)));
			if (row[i].from)
				json_object_set_new(o, "from",
						    json_string(
							    bwl_hex_encode(row[i].from, 32, hex)));
			expect(which ? &fixed : &b, BWL_SIGNED_ROLLOUT, o, NOW,
			       which ? -EDQUOT : row[i].want, 0);
		}
}

/* Every type that it can sign: whatever is taken raises neither a limit nor an end. */
static void a_stolen_online_key_widens_nothing(void **state)
{
	struct bwl_bounds b = people_said(true, NOW + DAY);
	struct bwl_err e;
	struct bwl_signed d;
	uint64_t ns;

	(void)state;
	for (enum bwl_signed_type t = BWL_SIGNED_ROOT; t < _BWL_SIGNED_MAX; t++) {
		char *text = t == BWL_SIGNED_ROOT ? rig_root_text(&rig_root_1, 1U << CONTROLLER)
						  : rig_sign(t, "hall-3", "all", rig_body(t, 99),
							     1U << CONTROLLER);
		int r = bwl_signed_open(text, strlen(text), root, &tray, NOW, &d, &e);

		if (bwl_signed_role(t) != BWL_ROLE_ONLINE)
			assert_int_not_equal(r, 0);
		else
			assert_int_equal(r, 0);
		if (!r && !bwl_bounds_check(&b, &d, NOW, &ns, &e))
			assert_int_equal(t, BWL_SIGNED_TIMESTAMP); /* alone within the bounds */
		bwl_signed_free(&d);
		free(text);
	}
	/* even if people signed as well, the bounds check the type */
	take(BWL_SIGNED_GRANT, rig_body(BWL_SIGNED_GRANT, 1), PEOPLE | 1U << CONTROLLER, NOW, &d);
	assert_int_equal(bwl_bounds_check(&b, &d, NOW, &ns, &e), -EDQUOT);
	bwl_signed_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lease_runs_no_longer_than_people_said),
		cmocka_unit_test(a_rollout_chooses_among_what_people_signed),
		cmocka_unit_test(a_stolen_online_key_widens_nothing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
