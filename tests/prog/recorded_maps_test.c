// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The maps that a released version left behind, as recorded (tests/recordings/maps-*), become this
 * version's: never a byte above a volume, who is revoked stays closed, ids and names stay. Once as
 * `bwlimit-load upgrade` takes them, and once with every map copied into a new one, as if each had
 * another shape: so a later layout has this test before it has a change. Needs no history.
 */
#include <bwl/tables.h>
#include "maps/layout.h"
#include "prog.h"
#include "bwlimit_test.skel.h"
#include "loader/relayout.h"

#define TO(n, more) "eth ip4 src=10.7.0.2 dst=10.10" #n ".0.9 " more " fill=1000"
#define UDP "udp dport=9"
#define HPF0 RIG_H1 /* its port id there is 1 */
#define TOTAL (200U << 10)
#define WINDOW (300U << 10)
#define OTHER (90U << 10)
#define FRAME 1100U /* more than one of these takes */
#define USED 41876U /* 40 frames and 2 pings, of each peer */

static struct bwl_relayout x;
static bool copy_all;

static int use(const char *dir, struct bpf_object *obj)
{
	struct bwl_err e = { 0 };
	int i;

	if (bwl_relayout_look(dir, &x, &e))
		fail_msg("%s", e.text);
	assert_true(x.whole);
	assert_int_equal(bwl_layout_number(x.was.layout), 7);
	for (i = 0; copy_all && i < _BWL_PIN_MAX; i++)
		if (i != BWL_PIN_schema && x.fate[i] == BWL_STAYS)
			x.fate[i] = BWL_CHANGES;
	x.changes |= copy_all;
	return bwl_relayout_use(&x, obj);
}

static int take(const char *dir, struct bpf_object *obj)
{
	struct bwl_pins *p;
	struct bwl_err e = { 0 };
	int r = bwl_relayout_replace(&x, dir, obj, &e);

	if (!r)
		r = bwl_relayout_finish(&x, &e);
	if (!r)
		r = bwl_pins_open(dir, true, &p, &e);
	if (r)
		fail_msg("%s", e.text);
	assert_int_equal(p->ctl->stop, x.changes ? BWL_UPGRADING : BWL_RUN);
	bwl_relayout_release(&x, p, BWL_RUN);
	assert_int_equal(p->ctl->stop, BWL_RUN);
	bwl_pins_close(p);
	bwl_relayout_end(&x);
	return 0;
}

static int begin(bool all)
{
	static const struct rig_maps maps = { RECORDINGS "/maps-0.3.0", use, take };
	static const struct rig_opts opts = { .host_only = true, .maps = &maps };

	copy_all = all;
	rig = rig_open(&opts);
	runs = rig_all_frames(rig); /* what the earlier version counted */
	return 0;
}

static int as_upgrade_does(void **state)
{
	(void)state;
	return begin(false);
}

static int all_copied(void **state)
{
	(void)state;
	return begin(true);
}

/* Until something other than the rate refuses; the frames that passed. ret: what refused. */
static unsigned drain(const char *spec, const char **ret)
{
	unsigned n = 0, waits = 0;

	for (;;) {
		*ret = from(HPF0, spec);
		if (!strcmp(*ret, "pass"))
			n++;
		else if (!strstr(*ret, "-rate") || ++waits > 10000)
			return n;
		else
			rig_advance(RIG_SECOND / 1000);
	}
}

static uint64_t account(const char *name)
{
	const struct bwl_pins *p = rig->pins;
	uint32_t state = bwl_grant_state(id_of(name)), i;

	for (i = 0; i < p->schema.max_windows; i++)
		if (p->winown[i].v == state && state)
			return p->window[i].total_bytes;
	return p->state[state].used_bytes;
}

static void names_have_their_ids_and_accounts_what_was_spent(void **state)
{
	struct bwl_peer_count *n = calloc(rig->pins->schema.max_peers, sizeof(*n));

	(void)state;
	assert_non_null(n);
	assert_int_equal(id_of("total"), 1);
	assert_int_equal(id_of("window"), 2);
	assert_int_equal(id_of("gone"), 3);
	assert_int_equal(id_of("parts"), 4);
	assert_int_equal(account("total"), USED);
	assert_int_equal(account("window"), USED);
	assert_int_equal(bwl_name_id(rig->pins, "gone"), 3);
	assert_int_equal(bwl_peercnt_read(rig->pins, n, NULL), 0);
	assert_true(n[1].frames >= 42 && n[1].bytes >= USED); /* and what came back */
	assert_int_equal(n[3].drop_frames, 5);
	free(n);
}

static void what_is_revoked_stays_closed(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++, rig_advance(3600 * RIG_SECOND))
		assert_string_equal(from(HPF0, TO(3, UDP)), "revoked");
	assert_string_equal(from(HPF0, TO(1, UDP)), "pass");
}

static void nothing_passes_above_what_the_ledger_has_released(void **state)
{
	static const char *const names[] = { "total", "window" }, *why;
	static const char *const specs[] = { TO(1, UDP), TO(2, UDP) };
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		uint32_t s = bwl_grant_state(id_of(names[i]));
		uint64_t most = rig->pins->mark[s].spendable_bytes;

		assert_true(most > USED && most < TOTAL);
		drain(specs[i], &why);
		assert_string_equal(why, "ledger");
		assert_in_range(account(names[i]), most - FRAME, most);
	}
}

static void never_a_byte_above_a_volume_and_all_of_it(void **state)
{
	static const char *const names[] = { "total", "window" }, *why;
	static const char *const specs[] = { TO(1, UDP), TO(2, UDP) };
	static const unsigned most[] = { TOTAL, WINDOW };
	unsigned i, n;

	(void)state;
	for (i = 0; i < 2; i++) {
		rig->pins->mark[bwl_grant_state(id_of(names[i]))].spendable_bytes = 1ULL << 40;
		n = drain(specs[i], &why);
		assert_string_equal(why, "peer-volume");
		assert_in_range(account(names[i]), most[i] - FRAME, most[i]);
		assert_in_range(USED + 1000 * n, most[i] - 100 * n - FRAME, most[i]);
	}
	rig_advance(2 * 3600 * RIG_SECOND);
	assert_string_equal(from(HPF0, TO(1, UDP)), "peer-volume");
	assert_string_equal(from(HPF0, TO(2, UDP)), "pass"); /* its hour is over */
}

static void classes_and_zones_go_on(void **state)
{
	struct bwl_pins *p = rig->pins;
	const char *why;
	unsigned n;
	uint32_t i;

	(void)state;
	for (i = 0; i < 2 * (p->schema.max_peers + p->schema.max_extras); i++)
		if (p->mark[i].spendable_bytes)
			p->mark[i].spendable_bytes = 1ULL << 40;
	assert_string_equal(from(HPF0, TO(4, "tcp dport=22")), "pass");
	n = drain(TO(4, UDP), &why);
	assert_string_equal(why, "class-volume");
	assert_in_range(USED + 1000 * n, OTHER - 100 * n - 2 * FRAME, OTHER + FRAME);
	assert_string_equal(from(HPF0, TO(4, "tcp dport=22")), "pass");
}

#define PORTS_THEN                                                                                 \
	"version: 1\nnode: lab\nuplinks: [p0]\nhost_ports:\n"                                      \
	"  - { dev: hpf0, sources: [10.7.0.0/24] }\n  - { dev: hpf1, sources: [10.7.1.0/24] }\n"   \
	"heartbeat: none\npeers:\n"
#define PEER(name, n, grant)                                                                       \
	"  - { name: " name ", addresses: [10.10" #n ".0.0/24], path: clear, via: 192.0.2.254, "   \
	"grant: { rate: 80mbit, burst: 64kb" grant " } }\n"

static void the_next_policy_knows_whom_the_earlier_version_knew(void **state)
{
	const char *why;

	(void)state;
	rig_policy(rig, PORTS_THEN PEER("new", 5, "") PEER("gone", 3, ", volume: 10mb")
				PEER("total", 1, ", volume: 200kb"));
	assert_int_equal(id_of("total"), 1);
	assert_int_equal(id_of("gone"), 3);
	assert_true(id_of("new") > 4);
	rig_advance(RIG_SECOND);
	assert_string_equal(from(HPF0, TO(5, UDP)), "pass");
	assert_string_equal(from(HPF0, TO(3, UDP)), "revoked");
	assert_string_equal(from(HPF0, TO(2, UDP)), "no-peer");
	rig->pins->mark[bwl_grant_state(1)].spendable_bytes = 1ULL << 40;
	drain(TO(1, UDP), &why);
	assert_string_equal(why, "peer-volume");
	assert_in_range(account("total"), TOTAL - FRAME, TOTAL);
}

#define BOTH(f)                                                                                    \
	cmocka_unit_test_setup_teardown(f, as_upgrade_does, rig_teardown),                         \
	{                                                                                          \
#f ", all copied", f, all_copied, rig_teardown, NULL                               \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(names_have_their_ids_and_accounts_what_was_spent),
		BOTH(what_is_revoked_stays_closed),
		BOTH(nothing_passes_above_what_the_ledger_has_released),
		BOTH(never_a_byte_above_a_volume_and_all_of_it),
		BOTH(classes_and_zones_go_on),
		BOTH(the_next_policy_knows_whom_the_earlier_version_knew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
