// SPDX-License-Identifier: GPL-2.0-or-later
/* A log that grows: its newest checkpoint and its proofs are found while reading little. */
#include "log_rig.h"

#define RECORDS 120

static void append(struct bwl_audit_log *l)
{
	assert_int_equal(bwl_audit_append(l, BWL_AUDIT_BEFORE, "test", "x", NULL, NULL, &e), 0);
}

static struct bwl_audit_mark at_end(void)
{
	struct bwl_checkpoint want = newest(dir);
	struct bwl_audit_mark m;

	assert_int_equal(bwl_audit_newest(dir, &pub, &m, &e), 0);
	assert_int_equal(m.c.size, want.size);
	assert_memory_equal(&m.c.root, &want.root, sizeof(want.root));
	return m;
}

static bool proves(const struct bwl_audit_mark *from, const struct bwl_audit_mark *to)
{
	struct bwl_prover p;

	return !bwl_audit_prove_from(dir, from, to->c.size, &p, &e) &&
	       bwl_proof_holds(from->c.size, &from->c.root, to->c.size, &to->c.root, p.hash,
			       p.count);
}

static bool proves_anew(const struct bwl_audit_mark *from, const struct bwl_audit_mark *to)
{
	struct bwl_prover p;

	return !bwl_audit_prove(dir, &pub, from->c.size, to->c.size, &p, &e) &&
	       bwl_proof_holds(from->c.size, &from->c.root, to->c.size, &to->c.root, p.hash,
			       p.count);
}

static void from_each_mark_to_each_later_one_it_is_proved(void **state)
{
	static struct bwl_audit_mark m[RECORDS];
	struct bwl_audit_log *l;

	(void)state;
	assert_int_equal(bwl_audit_open(dir, &l, &e), 0);
	bwl_audit_set_limit(l, 6000); /* about ten files */
	for (unsigned i = 0; i < RECORDS; i++) {
		append(l);
		m[i] = at_end();
	}
	bwl_audit_close(l);
	shell("test $(ls %s/log-*.jsonl | wc -l) -ge 5", dir);
	for (unsigned i = 0; i < RECORDS; i++)
		for (unsigned k = i; k < RECORDS; k += 7) {
			if (!proves(&m[i], &m[k]))
				fail_msg("%u to %u: %s", i, k, e.text);
			if (i % 10 == 0 && !proves_anew(&m[i], &m[k]))
				fail_msg("%u to %u, without a mark: %s", i, k, e.text);
		}
	assert_false(proves(&m[9], &m[5])); /* a log cannot shrink */
	/* Without the first files and their hashes, later records can still be proved. */
	shell("rm $(ls %s/log-*.hashes | head -2) $(ls %s/log-*.jsonl | head -2)", dir, dir);
	assert_false(proves(&m[0], &m[RECORDS - 1]));
	assert_false(proves_anew(&m[0], &m[RECORDS - 1]));
	assert_true(proves(&m[RECORDS / 2], &m[RECORDS - 1]));
	assert_true(proves_anew(&m[RECORDS / 2], &m[RECORDS - 1]));
}

static void what_the_end_of_a_log_may_be(void **state)
{
	struct bwl_audit_mark m, again;
	struct bwl_note_key stranger;
	struct bwl_audit_log *l;

	(void)state;
	assert_int_equal(bwl_audit_open(dir, &l, &e), 0);
	append(l);
	m = at_end();
	/* a record that no checkpoint covers yet, and an incomplete line */
	shell("f=$(ls %s/log-*.jsonl); grep '\"n\":' $f | tail -1 >>$f; printf '{\"checkpoint\":\"bwl' >>$f",
	      dir);
	assert_int_equal(bwl_audit_newest(dir, &pub, &again, &e), 0);
	assert_memory_equal(&again, &m, sizeof(m));
	/* by another key */
	assert_int_equal(bwl_note_key_new("bwlimit/test", &stranger, &e), 0);
	assert_int_equal(bwl_audit_newest(dir, &stranger, &again, &e), -ENOENT);
	assert_true(*e.text);
	bwl_audit_close(l);
}

static void a_log_that_was_forked_does_not_prove_what_was_before(void **state)
{
	struct bwl_audit_mark before, after;
	struct bwl_audit_log *l;

	(void)state;
	assert_int_equal(bwl_audit_open(dir, &l, &e), 0);
	append(l);
	bwl_audit_close(l);
	shell("cp -r %s %s", dir, other);
	assert_int_equal(bwl_audit_open(dir, &l, &e), 0);
	append(l);
	append(l);
	before = at_end();
	bwl_audit_close(l);
	shell("rm -r %s && mv %s %s", dir, other, dir); /* put back, then continued differently */
	assert_int_equal(bwl_audit_open(dir, &l, &e), 0);
	for (unsigned i = 0; i < 5; i++)
		append(l);
	after = at_end();
	bwl_audit_close(l);
	assert_false(proves_anew(&before, &after));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(from_each_mark_to_each_later_one_it_is_proved),
		T(what_the_end_of_a_log_may_be),
		T(a_log_that_was_forked_does_not_prove_what_was_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
