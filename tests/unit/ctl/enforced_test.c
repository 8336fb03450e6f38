// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether a limit is enforced, with maps in memory: of a peer, and of each limit by its state. */
#include "test.h"
#include <string.h>
#include "bwl/model.h"

#define NOW (3600 * 1000000000ULL)
#define PEERS 4U

enum { CLASS, TENANT, ZONE, FLOOR, EXTRAS };

/* One peer with id 1, in mode monitor, with a grant that has no end. */
static struct world {
	struct bwl_pins pins;
	struct bwl_ctl ctl;
	struct bwl_peer_ref gate[PEERS];
	struct bwl_extra extra[EXTRAS];
	struct bwl_base base;
	struct bwl_peer peer[PEERS];
	struct bwl_limit sub[PEERS];
	struct bwl_view view;
} w;

static int setup(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	w.pins.schema.max_peers = PEERS;
	w.pins.schema.max_extras = EXTRAS;
	w.pins.ctl = &w.ctl;
	w.pins.gate = w.gate;
	w.pins.extra = w.extra;
	w.gate[1].body[0] = 1;
	w.extra[CLASS] = (struct bwl_extra){ .kind = BWL_X_CLASS, .peer = 1 };
	w.extra[TENANT] = (struct bwl_extra){ .kind = BWL_X_TENANT, .peer = 1 };
	w.extra[ZONE] = (struct bwl_extra){ .kind = BWL_X_ZONE };
	w.extra[FLOOR] = (struct bwl_extra){ .kind = BWL_X_FLOOR, .peer = 1 };
	w.peer[1].meta = (struct bwl_peer_meta){ .expiry_ns = BWL_NEVER_NS,
						 .grant_seq = 5,
						 .mode = BWL_MODE_MONITOR,
						 .flags = BWL_PEER_GRANT };
	bwl_rate_encode(&w.peer[1].grant.rate, 8000000, 3000);
	w.peer[1].grant.volume.spendable_bytes = BWL_VOLUME_NONE;
	w.view = (struct bwl_view){ .pins = &w.pins,
				    .now_ns = NOW,
				    .has_gen = true,
				    .gen = { .base = &w.base,
					     .peer = w.peer,
					     .npeers = PEERS,
					     .sub = w.sub,
					     .nsubs = PEERS } };
	return 0;
}

static bool peer(void)
{
	return bwl_enforced(&w.view, 1, &w.peer[1]);
}

static bool extra(unsigned i)
{
	return bwl_limit_enforced(&w.view, BWL_EXTRA_STATE(PEERS, i));
}

static void what_monitor_only_counts_is_the_grant_with_its_classes_and_ports(void **state)
{
	(void)state;
	assert_false(bwl_limit_enforced(&w.view, bwl_grant_state(1)));
	assert_false(extra(CLASS));
	assert_false(extra(TENANT));
	assert_true(bwl_limit_enforced(&w.view, bwl_accept_state(1)));
	assert_true(extra(ZONE));
	assert_true(extra(FLOOR));
	w.peer[1].meta.mode = BWL_MODE_POLICE;
	assert_true(bwl_limit_enforced(&w.view, bwl_grant_state(1)));
	assert_true(extra(CLASS));
	assert_true(extra(TENANT));
}

static void a_grant_that_has_ended_has_nothing_to_enforce(void **state)
{
	(void)state;
	assert_false(peer());
	w.peer[1].meta.expiry_ns = NOW;
	assert_true(peer());
	assert_true(bwl_limit_enforced(&w.view, bwl_grant_state(1)));
	assert_true(extra(CLASS));
	w.peer[1].meta.expiry_ns = NOW + 1;
	assert_false(peer());
	w.gate[1].revoked = 6;
	assert_true(peer());
	w.gate[1].revoked = 0;
	w.peer[1].meta.flags = 0;
	assert_true(peer());
}

/* The next heartbeat brings the grant back as it was. */
static void a_silent_one_is_as_it_was(void **state)
{
	(void)state;
	w.base.heartbeat_ns = 1;
	assert_int_equal(bwl_standing(&w.view, 1, &w.peer[1]), BWL_STAND_SILENT);
	assert_false(peer());
}

static void the_step_out_of_monitor_names_a_rate_if_there_is_no_limit(void **state)
{
	(void)state;
	assert_false(bwl_is_bare(&w.peer[1]));
	bwl_rate_encode(&w.peer[1].grant.rate, BWL_NO_RATE, 0);
	assert_true(bwl_is_bare(&w.peer[1]));
	assert_non_null(strstr(BWL_ENFORCE_HINT(bwl_is_bare(&w.peer[1])), " rate R mode police "));
	w.peer[1].grant.volume.spendable_bytes = 0;
	assert_false(bwl_is_bare(&w.peer[1]));
	assert_null(strstr(BWL_ENFORCE_HINT(bwl_is_bare(&w.peer[1])), "rate R"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			what_monitor_only_counts_is_the_grant_with_its_classes_and_ports, setup),
		cmocka_unit_test_setup(a_grant_that_has_ended_has_nothing_to_enforce, setup),
		cmocka_unit_test_setup(a_silent_one_is_as_it_was, setup),
		cmocka_unit_test_setup(the_step_out_of_monitor_names_a_rate_if_there_is_no_limit,
				       setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
