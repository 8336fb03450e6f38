// SPDX-License-Identifier: GPL-2.0-or-later
/* Which of the kernel's SAs are orphans, judged by charon's list and the kernel's. */
#include "test.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include "ipsec/orphans.h"

#define PEER 7

struct fixture {
	struct bwl_orphans *o;
	struct bwl_orphans_known known;
};

static int setup(void **state)
{
	static struct fixture f;

	f.known = (struct bwl_orphans_known){ json_object(), json_object() };
	assert_int_equal(bwl_orphans_new(&f.o, NULL), 0);
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	bwl_orphans_free(f->o);
	json_decref(f->known.spis);
	json_decref(f->known.peers);
	return 0;
}

/* charon's list-sa event: one connection with one child. */
static void charon_has(struct fixture *f, const char *connection, const char *state,
		       const char *if_id, const char *spi_in, const char *spi_out)
{
	json_t *msg = json_pack("{s:{s:s,s:{s:{s:s,s:s,s:s,s:s,s:s}}}}", connection, "state",
				"ESTABLISHED", "child-sas", "a-1", "state", state, "if-id-out",
				if_id, "mark-out", "00000007", "spi-in", spi_in, "spi-out",
				spi_out);

	assert_non_null(msg);
	bwl_orphans_know(&f->known, msg);
	json_decref(msg);
}

static struct bwl_xfrm_sa sa(uint32_t spi)
{
	return (struct bwl_xfrm_sa){
		.dst = { .family = AF_INET, .a = { 192, 0, 2, 2 } },
		.spi = htonl(spi),
		.peer = PEER,
		.proto = IPPROTO_ESP,
		.keyed = true,
	};
}

/* One look at the kernel's SAs, which are only this one. */
static bool look(struct fixture *f, const struct bwl_xfrm_sa *x)
{
	bool is;

	bwl_orphans_begin(f->o);
	is = bwl_orphans_is(f->o, &f->known, x);
	bwl_orphans_end(f->o);
	return is;
}

static void an_sa_that_charon_does_not_know_goes_at_the_second_look(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_sa x = sa(0xc0ffee);

	charon_has(f, "bwl-tray-2", "INSTALLED", "00000007", "c1", "c2");
	assert_false(look(f, &x));
	assert_true(look(f, &x));
}

static void what_charon_has_in_either_direction_stays(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_sa in = sa(0xc1), out = sa(0xc2);

	charon_has(f, "bwl-tray-2", "INSTALLED", "00000007", "c1", "c2");
	for (int i = 0; i < 3; i++) {
		assert_false(look(f, &in));
		assert_false(look(f, &out));
	}
}

static void an_sa_that_charon_was_making_stays(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_sa x = sa(0xc3);

	charon_has(f, "bwl-tray-2", "INSTALLED", "00000007", "c1", "c2");
	assert_false(look(f, &x));
	charon_has(f, "bwl-tray-2", "INSTALLED", "00000007", "c3", "c4");
	assert_false(look(f, &x));
}

static void two_looks_that_are_not_one_after_the_other_do_not_count(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_sa x = sa(0xc3), other = sa(0xc9);

	charon_has(f, "bwl-tray-2", "INSTALLED", "00000007", "c1", "c2");
	assert_false(look(f, &x));
	assert_false(look(f, &other));
	assert_false(look(f, &x));
	assert_true(look(f, &x));
}

static void nothing_goes_while_charon_has_no_other_with_that_peer(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_sa x = sa(0xc0ffee);

	charon_has(f, "bwl-tray-3", "INSTALLED", "00000008", "c1", "c2");
	charon_has(f, "bwl-tray-2", "INSTALLING", "00000007", "c3", "c4");
	for (int i = 0; i < 3; i++)
		assert_false(look(f, &x));
	charon_has(f, "bwl-tray-2", "INSTALLED", "00000007", "c3", "c4");
	assert_true(look(f, &x));
}

static void a_connection_of_somebody_else_keeps_its_own(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_sa theirs = sa(0xd1), left = sa(0xd9);

	charon_has(f, "home", "INSTALLED", "00000007", "d1", "d2");
	for (int i = 0; i < 3; i++) {
		assert_false(look(f, &theirs));
		assert_false(look(f, &left)); /* theirs does not count as ours */
	}
}

static void on_a_plain_interface_the_mark_names_the_peer(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_sa x = sa(0xc0ffee);
	char if_id[16];

	snprintf(if_id, sizeof(if_id), "%08x", BWL_TUN_IF_ID);
	charon_has(f, "bwl-tray-2", "INSTALLED", if_id, "c1", "c2");
	assert_false(look(f, &x));
	assert_true(look(f, &x));
}

static void an_spi_without_a_key_stays(void **state)
{
	struct fixture *f = *state;
	struct bwl_xfrm_sa x = sa(0xc0ffee);

	x.keyed = false;
	charon_has(f, "bwl-tray-2", "INSTALLED", "00000007", "c1", "c2");
	for (int i = 0; i < 3; i++)
		assert_false(look(f, &x));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(an_sa_that_charon_does_not_know_goes_at_the_second_look),
		T(what_charon_has_in_either_direction_stays),
		T(an_sa_that_charon_was_making_stays),
		T(two_looks_that_are_not_one_after_the_other_do_not_count),
		T(nothing_goes_while_charon_has_no_other_with_that_peer),
		T(a_connection_of_somebody_else_keeps_its_own),
		T(on_a_plain_interface_the_mark_names_the_peer),
		T(an_spi_without_a_key_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
