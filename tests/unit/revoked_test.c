// SPDX-License-Identifier: GPL-2.0-or-later
/* A peer's number of revocation only rises, whoever writes it: `revoke` runs beside a writer of
 * policies. */
#include "test.h"
#include <pthread.h>
#include <bwl/pins.h>

#define MEETINGS 20000   /* enough to be seen */
#define ROUNDS 100000000 /* at most, where the CPUs are busy */

static uint32_t number;
static bool done;
static pthread_barrier_t both;

/* Each raises what it sees by a little, so that they meet all the time. Returns how often it fell.
 */
static void *raise_it(void *arg)
{
	const uint32_t by = *(const uint32_t *)arg;
	uintptr_t fell = 0;
	uint32_t met = 0, last = 0;

	pthread_barrier_wait(&both);
	for (uint32_t i = 0;
	     i < ROUNDS && met < MEETINGS && !__atomic_load_n(&done, __ATOMIC_RELAXED); i++) {
		const uint32_t seen = __atomic_load_n(&number, __ATOMIC_SEQ_CST), mine = seen + by;

		met += seen != last; /* the other wrote meanwhile */
		last = mine;
		bwl_revoked_raise(&number, mine);
		fell += __atomic_load_n(&number, __ATOMIC_SEQ_CST) < mine;
	}
	__atomic_store_n(&done, true, __ATOMIC_RELAXED);
	return (void *)fell;
}

static void a_revocation_is_not_overwritten_by_an_older_one(void **state)
{
	uint32_t by[2] = { 1, 2 };
	pthread_t t[2];
	void *fell;

	(void)state;
	pthread_barrier_init(&both, NULL, 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, raise_it, &by[i]), 0);
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], &fell);
		assert_null(fell);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_revocation_is_not_overwritten_by_an_older_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
