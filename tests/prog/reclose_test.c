// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an operator or bwlimitd closes in maps that an upgrade is replacing is closed in the new
 * ones, too (loader/reclose.h). So far no layout changes bwl_ctl_v1 or bwl_gate_v1: here they are
 * treated as if one did, and rig->pins are the pins of a program that has the old maps open.
 */
#include <bwl/publish.h>
#include <bwl/tables.h>
#include "relayout_rig.h"
#include "loader/reclose.h"

static struct bwl_relayout x;
static struct bwlimit_test *s;
static struct bwl_pins *now; /* of the new maps */
static struct bwl_reclose c;

static bool is_open(struct bwl_pins *p, const char *name)
{
	struct bwl_gen g;
	uint32_t id;
	bool open;

	assert_int_equal(bwl_gen_open(p, bwl_active_slot(p), &g, NULL), 0);
	id = bwl_peer_id(p, &g, name);
	assert_int_not_equal(id, 0);
	open = !bwl_is_revoked(p, &g, id);
	bwl_gen_close(&g);
	return open;
}

/* Up to the point where the old maps are copied and their pins replaced. */
static void carry(bool ctl, bool gate)
{
	begin();
	become_layout_1();
	look(&x);
	x.fate[BWL_PIN_ctl] = ctl ? BWL_CHANGES : BWL_STAYS;
	x.fate[BWL_PIN_gate] = gate ? BWL_CHANGES : BWL_STAYS;
	s = load_on(&x);
	assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(bwl_pins_open_as(rig->dir, LAYOUT_1, &now, NULL), 0);
	now->dir_fd = dup(rig->pins->dir_fd); /* the lock is the rig's */
	assert_true(is_open(now, "a"));
}

static void start(void)
{
	assert_int_equal(bwl_reclose_begin(&x, now, &c, NULL), 0);
	assert_int_equal(bwl_relayout_finish(&x, NULL), 0);
	bwl_relayout_release(&x, now, BWL_RUN);
}

static void end(void)
{
	bwl_reclose_free(&c);
	bwl_pins_close(now);
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
	assert_int_equal(rig_teardown(NULL), 0); /* new maps for the next */
	rig_setup(NULL);
}

static const struct {
	bool ctl, gate;
} changes[] = { { true, false }, { false, true }, { true, true } };
#define CHANGES (sizeof(changes) / sizeof(*changes))

static void a_peer_revoked_after_the_copy_is_revoked_when_traffic_passes(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < CHANGES; i++) {
		carry(changes[i].ctl, changes[i].gate);
		assert_int_equal(bwl_revoke(rig->pins, "a", NULL), 0);
		start();
		assert_false(is_open(now, "a"));
		assert_int_equal(now->ctl->stop, BWL_RUN);
		end();
	}
}

static void all_revoked_after_the_copy_are_revoked_when_traffic_passes(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < CHANGES; i++) {
		carry(changes[i].ctl, changes[i].gate);
		bwl_revoke(rig->pins, NULL, NULL);
		start();
		assert_false(is_open(now, "a"));
		end();
	}
}

static void a_stop_after_the_copy_stops_what_is_new(void **state)
{
	(void)state;
	carry(true, false);
	rig->pins->ctl->stop = BWL_STOPPED;
	start();
	assert_int_equal(now->ctl->stop, BWL_STOPPED);
	now->ctl->stop = BWL_RUN; /* an operator opens it: one stop is passed on once */
	bwl_reclose_look(&c);
	assert_int_equal(now->ctl->stop, BWL_RUN);
	end();
}

static void a_clamp_after_the_copy_closes_what_has_no_heartbeat(void **state)
{
	(void)state;
	carry(true, false);
	rig->pins->ctl->heartbeat_ns = BWL_CLAMPED_NS;
	start();
	assert_false(is_open(now, "a"));
	end();
}

/* The old bwlimitd has them open until it sees the new pins. Grants continue in the new ones. */
static void a_revocation_in_the_old_maps_counts_also_after_the_release(void **state)
{
	const struct bwl_change grant = { .set = BWL_SET_AUTHORISE };
	struct bwl_err e = { 0 };
	unsigned i, all;

	(void)state;
	for (i = 0; i < CHANGES; i++)
		for (all = 0; all < 2; all++) {
			carry(changes[i].ctl, changes[i].gate);
			bwl_revoke(rig->pins, "a", NULL);
			start();
			if (bwl_peer_change(now, "a", &grant, &e))
				fail_msg("%s", e.text);
			assert_true(is_open(now, "a"));
			bwl_reclose_look(&c);
			assert_true(is_open(now, "a")); /* the earlier one was passed on already */
			bwl_revoke(rig->pins, all ? NULL : "a", NULL);
			bwl_reclose_look(&c);
			assert_false(is_open(now, "a"));
			end();
		}
}

static void where_both_stay_nothing_is_done(void **state)
{
	(void)state;
	carry(false, false);
	bwl_revoke(rig->pins, "a", NULL);
	assert_false(is_open(now, "a")); /* the same map */
	start();
	assert_null(c.x);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(a_peer_revoked_after_the_copy_is_revoked_when_traffic_passes),
		RIG_TEST(all_revoked_after_the_copy_are_revoked_when_traffic_passes),
		RIG_TEST(a_stop_after_the_copy_stops_what_is_new),
		RIG_TEST(a_clamp_after_the_copy_closes_what_has_no_heartbeat),
		RIG_TEST(a_revocation_in_the_old_maps_counts_also_after_the_release),
		RIG_TEST(where_both_stay_nothing_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
