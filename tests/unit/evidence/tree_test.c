// SPDX-License-Identifier: GPL-2.0-or-later
/* Trees of hashes and sums: no sum overflows, and neither children nor places can be exchanged. */
#include "../test.h"
#include "evidence/tree.h"

static void sums_do_not_overflow(void **state)
{
	struct ev_node node[2] = { 0 }, path = { 0 }, root;
	struct ev_sum s = { { 1, 2, 3, UINT64_MAX } }, was = s;

	(void)state;
	assert_false(ev_sum_add(&s, &(struct ev_sum){ { 1, 1, 1, 1 } }));
	assert_true(ev_sum_same(&s, &was));
	assert_false(ev_sum_less(&s, &(struct ev_sum){ { 2, 0, 0, 0 } }));
	node[0].sum = path.sum = s;
	node[1].sum = (struct ev_sum){ { 0, 0, 0, 1 } };
	assert_false(ev_sum_climb(&node[1], 0, &path, 1, &root, NULL));
	assert_false(ev_sum_root(node, 2));
	assert_false(ev_sum_climb(&node[1], 2, &path, 1, &root, NULL)); /* there is no place 2 */
}

/* The pitfall: with H(sum, left, right), one child's sum could be shown as the other's. */
static void a_node_has_the_sums_of_both_children(void **state)
{
	struct ev_node a[2] = { { .sum = { { 0, 10 } } }, { .sum = { { 0, 20 } } } },
		       b[2] = { { .sum = { { 0, 20 } } }, { .sum = { { 0, 10 } } } };

	(void)state;
	assert_true(ev_sum_root(a, 2) && ev_sum_root(b, 2));
	assert_true(ev_sum_same(&a->sum, &b->sum));
	assert_false(bwl_hash_equal(&a->hash, &b->hash));
}

static void a_leaf_is_of_its_place(void **state)
{
	const struct bwl_hash c = { { 1 } };
	const struct ev_sum s = { { 1, 2, 0, 0 } };
	struct ev_node a, b;

	(void)state;
	ev_record_leaf(0, &s, &c, &a);
	ev_record_leaf(1, &s, &c, &b);
	assert_false(bwl_hash_equal(&a.hash, &b.hash));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_do_not_overflow),
		cmocka_unit_test(a_node_has_the_sums_of_both_children),
		cmocka_unit_test(a_leaf_is_of_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
