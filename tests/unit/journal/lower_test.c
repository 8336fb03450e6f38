// SPDX-License-Identifier: GPL-2.0-or-later
/* Limits that were set by hand, after a reboot: the lower of file and journal, also once the
 * journal is shortened. */
#include "rig.h"

#define SECOND 1000000000ULL
#define BOOT (100 * SECOND)

static struct bwl_policy *pol;
static bool shortened; /* the journal, before it is read */

/* a: a grant and accept; b: no grant; w: a grant without a rate. Zones: a (as the peer), other. */
static void begin(void)
{
	static struct bwl_pol_zone zones[2];

	pol = three_peers();
	memset(zones, 0, sizeof(zones));
	strcpy(zones[0].name, "a");
	strcpy(zones[1].name, "other");
	zones[0].limit = (struct bwl_lim){ .present = true, .rate_bps = 8000000, .burst = 50000 };
	pol->zones = calloc(2, sizeof(*pol->zones));
	memcpy(pol->zones, zones, sizeof(zones));
	pol->nzones = 2;
	pol->peers[0].grant = zones[0].limit;
	pol->peers[0].expiry_ns = BWL_NEVER_NS;
	pol->peers[0].mode = BWL_MODE_MONITOR;
	pol->peers[2].grant = (struct bwl_lim){ .present = true, .rate_bps = BWL_NO_RATE };
	pol->peers[2].expiry_ns = BWL_NEVER_NS;
}

static void set(enum bwl_journal_kind kind, const char *name, struct bwl_journal_limits lim)
{
	struct bwl_journal_rec r = { .kind = kind, .lim = lim, .wall_s = 1000 };

	snprintf(r.name, sizeof(r.name), "%s", name);
	assert_int_equal(bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, NULL), 0);
}

static size_t lower_at(uint64_t wall_s, bool wall_ok)
{
	struct bwl_journal j;
	size_t n;

	for (int i = 0; shortened && i < 80; i++) {
		bwl_journal_set_limit(4000);
		set(i % 2 ? BWL_J_START : BWL_J_STOP, "", (struct bwl_journal_limits){ 0 });
	}
	bwl_journal_look(dir, &j);
	assert_int_equal(j.state, BWL_JOURNAL_OK);
	n = bwl_closed_lower(&j.closed, pol, BOOT, wall_s, wall_ok);
	bwl_journal_free(&j);
	return n;
}

static void done(void)
{
	bwl_policy_free(pol);
}

#define LIM(...) ((struct bwl_journal_limits){ __VA_ARGS__ })
#define RATE(bps) LIM(.set = BWL_JS_RATE, .rate_bps = bps)
#define VOLUME(bytes, s) LIM(.set = BWL_JS_VOLUME, .volume = bytes, .window_ns = (s)*SECOND)

static void a_zone_is_not_the_peer_of_its_name(void **state)
{
	(void)state;
	for (int again = 0; again < 2; again++) {
		shortened = again;
		begin();
		if (!again) {
			set(BWL_J_ZONE, "a", RATE(1000000));
			set(BWL_J_PEER, "a", RATE(2000000));
			set(BWL_J_ZONE, "gone", RATE(1));
			set(BWL_J_PEER, "gone", RATE(1));
			set(BWL_J_PEER, "b", RATE(3000000)); /* has no grant: none comes of it */
		}
		assert_int_equal(lower_at(2000, true), 3);
		assert_int_equal(pol->zones[0].limit.rate_bps, 1000000);
		assert_int_equal(pol->peers[0].grant.rate_bps, 2000000);
		assert_false(pol->peers[1].grant.present || pol->zones[1].limit.present);
		done();
	}
	shortened = false;
	begin();
	set(BWL_J_RAISE_ZONE, "a", LIM(0));
	assert_int_equal(lower_at(2000, true), 2);
	assert_int_equal(pol->zones[0].limit.rate_bps, 8000000);
	assert_int_equal(pol->peers[0].grant.rate_bps, 2000000);
	set(BWL_J_RAISE_PEER, "a", LIM(0));
	set(BWL_J_RAISE_PEER, "b", LIM(0));
	set(BWL_J_OPEN, "w", LIM(0)); /* without limits: none are set */
	assert_int_equal(lower_at(2000, true), 0);
	done();
}

static void no_limit_is_raised(void **state)
{
	struct bwl_lim *a;

	(void)state;
	begin();
	a = &pol->peers[0].grant;
	set(BWL_J_PEER, "a", LIM(.set = BWL_JS_RATE | BWL_JS_BURST, .rate_bps = BWL_NO_RATE));
	lower_at(2000, true);
	assert_true(a->rate_bps == 8000000 && a->burst == 50000);
	set(BWL_J_PEER, "a", LIM(.set = BWL_JS_BURST, .burst = 60000));
	lower_at(2000, true);
	assert_int_equal(a->burst, 50000);
	set(BWL_J_PEER, "w",
	    LIM(.set = BWL_JS_RATE | BWL_JS_BURST, .rate_bps = 8000000, .burst = 9000));
	lower_at(2000, true);
	assert_true(pol->peers[2].grant.rate_bps == 8000000 && pol->peers[2].grant.burst == 9000);
	done();
}

/* A volume in the longer of both windows; without one it never comes back. */
static void the_smaller_volume_holds_in_the_longer_window(void **state)
{
	static const struct {
		uint64_t was, was_s, set, set_s, is, is_s;
	} row[] = {
		{ 1000, 10, 500, 20, 500, 20 },   { 1000, 20, 500, 10, 500, 20 },
		{ 1000, 10, 2000, 20, 1000, 20 }, { 1000, 0, 500, 10, 500, 0 },
		{ 1000, 10, 500, 0, 500, 0 },
	};

	(void)state;
	begin();
	set(BWL_J_PEER, "a", VOLUME(700, 30));
	lower_at(2000, true);
	assert_true(pol->peers[0].grant.has_volume && pol->peers[0].grant.volume == 700);
	assert_int_equal(pol->peers[0].grant.window_ns, 30 * SECOND);
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bwl_lim *a = &pol->peers[0].grant;

		a->volume = row[i].was;
		a->window_ns = row[i].was_s * SECOND;
		set(BWL_J_PEER, "a", VOLUME(row[i].set, row[i].set_s));
		lower_at(2000, true);
		assert_int_equal(a->volume, row[i].is);
		assert_int_equal(a->window_ns, row[i].is_s * SECOND);
	}
	done();
}

static void what_is_added_to_a_volume_counts(void **state)
{
	struct bwl_lim *a;

	(void)state;
	begin();
	a = &pol->peers[0].grant;
	/* to an unknown volume: nothing is known of it */
	set(BWL_J_PEER, "a", LIM(.set = BWL_JS_MORE, .volume = 300));
	lower_at(2000, true);
	assert_false(a->has_volume);
	set(BWL_J_PEER, "a", VOLUME(700, 0));
	set(BWL_J_PEER, "a", LIM(.set = BWL_JS_MORE, .volume = 300));
	lower_at(2000, true);
	assert_int_equal(a->volume, 1000);
	set(BWL_J_PEER, "a", LIM(.set = BWL_JS_MORE, .volume = UINT64_MAX));
	a->volume = 5000;
	lower_at(2000, true);
	assert_int_equal(a->volume, 5000);
	set(BWL_J_PEER, "a", LIM(.set = BWL_JS_VOLUME | BWL_JS_UNLIMITED));
	a->has_volume = false;
	lower_at(2000, true);
	assert_false(a->has_volume);
	set(BWL_J_PEER, "a", VOLUME(400, 0));
	lower_at(2000, true);
	assert_true(a->has_volume && a->volume == 400);
	done();
}

static void what_may_arrive_is_lowered_too(void **state)
{
	struct bwl_pol_peer *a, *w;

	(void)state;
	begin();
	a = &pol->peers[0];
	w = &pol->peers[2];
	set(BWL_J_PEER, "a", LIM(.set = BWL_JS_ACCEPT, .accept_bps = 1000000));
	a->accept_none = true;
	lower_at(2000, true);
	assert_false(a->accept.present);
	a->accept_none = false;
	lower_at(2000, true);
	assert_true(a->accept.present && a->accept.rate_bps == 1000000);
	a->accept.rate_bps = 500000;
	lower_at(2000, true);
	assert_int_equal(a->accept.rate_bps, 500000);
	/* a floor stays within the grant */
	a->floor = w->floor = (struct bwl_lim){ .present = true, .rate_bps = 4000000 };
	set(BWL_J_PEER, "a", RATE(300000));
	set(BWL_J_PEER, "w", LIM(.set = BWL_JS_BURST, .burst = 1000));
	lower_at(2000, true);
	assert_int_equal(a->floor.rate_bps, 300000);
	assert_int_equal(w->floor.rate_bps, 4000000);
	done();
}

static void a_mode_that_enforces_stays(void **state)
{
	(void)state;
	begin();
	set(BWL_J_PEER, "a", LIM(.set = BWL_JS_MODE, .mode = _BWL_MODE_MAX));
	lower_at(2000, true);
	assert_int_equal(pol->peers[0].mode, BWL_MODE_MONITOR);
	set(BWL_J_PEER, "a", LIM(.set = BWL_JS_MODE, .mode = BWL_MODE_SHAPE));
	lower_at(2000, true);
	assert_int_equal(pol->peers[0].mode, BWL_MODE_SHAPE);
	set(BWL_J_PEER, "a", LIM(.set = BWL_JS_MODE, .mode = BWL_MODE_MONITOR));
	lower_at(2000, true);
	assert_int_equal(pol->peers[0].mode, BWL_MODE_SHAPE);
	done();
}

/* By the wall clock; where that cannot be trusted it has ended. */
static void a_grant_ends_when_it_was_to(void **state)
{
	struct bwl_pol_peer *a;

	(void)state;
	begin();
	a = &pol->peers[0];
	set(BWL_J_PEER, "a", LIM(.set = BWL_JS_EXPIRY)); /* never */
	lower_at(2000, true);
	assert_int_equal(a->expiry_ns, BWL_NEVER_NS);
	set(BWL_J_PEER, "a", LIM(.set = BWL_JS_EXPIRY, .expiry_s = 1ULL << 40));
	lower_at(2000, true);
	assert_int_equal(a->expiry_ns, BWL_NEVER_NS);
	set(BWL_J_PEER, "a", LIM(.set = BWL_JS_EXPIRY, .expiry_s = 2500));
	lower_at(2000, true);
	assert_int_equal(a->expiry_ns, BOOT + 500 * SECOND);
	lower_at(1000, true); /* 1500 s are left: no later than before */
	assert_int_equal(a->expiry_ns, BOOT + 500 * SECOND);
	lower_at(2500, true);
	assert_int_equal(a->expiry_ns, BOOT);
	a->expiry_ns = BWL_NEVER_NS;
	lower_at(999, true); /* the clock is behind the record */
	assert_int_equal(a->expiry_ns, BOOT);
	a->expiry_ns = BWL_NEVER_NS;
	lower_at(2000, false);
	assert_int_equal(a->expiry_ns, BOOT);
	done();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(a_zone_is_not_the_peer_of_its_name),
		T(no_limit_is_raised),
		T(the_smaller_volume_holds_in_the_longer_window),
		T(what_is_added_to_a_volume_counts),
		T(what_may_arrive_is_lowered_too),
		T(a_mode_that_enforces_stays),
		T(a_grant_ends_when_it_was_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
