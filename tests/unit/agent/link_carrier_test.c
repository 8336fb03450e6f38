// SPDX-License-Identifier: GPL-2.0-or-later
/* Which device a port's carrier is read of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "agent/tamper/link_carrier.h"

#define LOOPBACK_IFINDEX 1 /* in every network namespace */
#define GONE 0x7fffffff

/*
 * The one before was deleted, and could not be opened again. What a host does to the new one in the
 * next second must be noticed, too.
 */
static void a_device_in_place_of_one_that_is_gone_is_read_at_once(void **state)
{
	struct bwl_dev gone = { .ifindex = GONE, .name = "lo" },
		       here = { .ifindex = LOOPBACK_IFINDEX, .name = "lo" };
	struct tamper_port x = { 0 };

	(void)state;
	assert_int_equal(tamper_port_look(&x, &gone), TAMPER_KEPT);
	assert_int_equal(x.ifindex, 0);
	assert_int_equal(tamper_port_look(&x, &here), TAMPER_KEPT);
	assert_int_equal(x.ifindex, LOOPBACK_IFINDEX);
	tamper_port_close(&x);
}

/* Looks come every few milliseconds, and what cannot be opened is tried once a second. */
static void what_cannot_be_opened_is_not_tried_again_at_once(void **state)
{
	struct bwl_dev gone = { .ifindex = GONE, .name = "lo" };
	struct tamper_port x = { 0 };
	uint64_t first;

	(void)state;
	tamper_port_look(&x, &gone);
	first = x.retry_ns;
	assert_true(first > 0);
	x.retry_ns = first = UINT64_MAX; /* the time has not come */
	tamper_port_look(&x, &gone);
	assert_true(x.retry_ns == first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_in_place_of_one_that_is_gone_is_read_at_once),
		cmocka_unit_test(what_cannot_be_opened_is_not_tried_again_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
