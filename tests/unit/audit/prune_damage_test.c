// SPDX-License-Identifier: GPL-2.0-or-later
/* Changed, truncated or removed data is found in a pruned log, too, and is reported permanently. */
#include "prune_rig.h"

/*
 * Appends operators' records until the whole file is pruned, and then until the record of that is
 * pruned, too.
 */
static void damage_outlives_its_file(struct bwl_audit_log *l, const char *file)
{
	unsigned i = 0, goes_on = 60;
	char path[160];
	struct found f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	for (; i < 300 && goes_on; i++) {
		mix(l, 10 * i, NULL);
		goes_on -= access(path, F_OK) != 0;
		if (i % 8)
			continue;
		f = check(dir, NULL, 0);
		if (!f.n)
			fail_msg("%s: forgotten after %u records, %u on", file, i, goes_on);
	}
	assert_int_equal(goes_on, 0);
	f = check(dir, NULL, 0);
	assert_true(f.of[BWL_FAULT_DAMAGED]);
	assert_int_equal(f.n, f.of[BWL_FAULT_DAMAGED]);
	must_be_small();
}

static void what_was_damaged_is_never_pruned_in_silence(void **state)
{
	static const char *const ways[] = {
		"sed -i 's/operator 10\"/operator 66\"/'",       /* another text */
		"sed -i '/operator 10\"/d'",                     /* removed */
		"sed -i '/operator 10\"/s/.$//'",                /* not JSON */
		"sed -i 's/\"n\":10,/\"junk\":true,\"n\":10,/'", /* marked as junk */
		"sed -i '3y/ABCDEFGH/BCDEFGHA/'",                /* not the signed text */
		"truncate -s -900",                              /* truncated */
	};

	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct bwl_audit_log *l = small_log(SMALL);
		char file[BWL_AUDIT_NAME];
		FILE *p;

		for (unsigned n = 0; n < 20; n++)
			mix(l, n, NULL);
		shell("cd %s && basename $(grep -l 'operator 10\"' log-*.jsonl) >name", dir);
		snprintf(other, sizeof(other), "%s/name", dir);
		p = fopen(other, "r");
		assert_int_equal(fscanf(p, "%47s", file), 1);
		fclose(p);
		snprintf(other, sizeof(other), "%s.other", dir);
		shell("cd %s && %s %s && cp %s %s", dir, ways[i], file, file, other);
		assert_true(check(dir, NULL, 0).n);
		for (unsigned n = 20; n < 70; n++)
			mix(l, n, NULL);
		must_be_small();
		/* the file stays as it is, is reported once, and the others are pruned */
		shell("cmp %s/%s %s", dir, file, other);
		assert_int_equal(events("damaged"), 1);
		assert_true(check(dir, NULL, 0).n > 1 && result.pruned > 5);
		damage_outlives_its_file(l, file);
		bwl_audit_close(l);
		tear_down(state);
		set_up(state);
	}
}

static void what_was_kept_is_as_safe(void **state)
{
	struct bwl_audit_log *l = small_log(SMALL);

	(void)state;
	for (unsigned n = 0; n < 60; n++)
		mix(l, n, NULL);
	assert_int_equal(check(dir, NULL, 0).n, 0);
	shell("cd %s && sed -i '/operator 0\"/d' log-00000000000000000000.kept", dir);
	damage_outlives_its_file(l, "log-00000000000000000000.kept");
	bwl_audit_close(l);
}

/* The hashes of the oldest file are deleted by hand: no prune removes its kept records. */
static void what_was_kept_of_a_torn_file_stays(void **state)
{
	struct bwl_audit_log *l = small_log(SMALL);

	(void)state;
	for (unsigned n = 0; n < 60; n++)
		mix(l, n, NULL);
	shell("cd %s && test -e log-00000000000000000000.kept && rm log-00000000000000000000.hashes",
	      dir);
	shell("cp %s/log-00000000000000000000.kept %s", dir, other);
	for (unsigned n = 60; n < 400; n++)
		mix(l, n % 3 ? n : 10 * n, NULL);
	shell("cmp %s/log-00000000000000000000.kept %s", dir, other);
	must_be_small();
	bwl_audit_close(l);
}

static int find_leaf(const struct bwl_audit_item *i, void *arg)
{
	if (i->kind == BWL_AUDIT_RECORD && i->n == 1)
		*(struct bwl_hash *)arg = i->leaf;
	return 0;
}

static void what_is_least_is_as_safe(void **state)
{
	static const char *const ways[] = {
		"sed -i 's/operator 10\"/operator 66\"/'",
		"sed -i '/operator 10\"/d'",
		"sed -i '2,3{h;d};4G'",
		"sed -i '/\"records\"/d'",
		"truncate -s 0",
		"truncate -s -40",
	};

	struct bwl_hash leaf = { 0 };
	struct found f;
	char *line;

	(void)state;
	write_under_attack(500);
	assert_int_equal(check(dir, NULL, 0).n, 0);
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		shell("rm -rf %s && cp -a %s %s", other, dir, other);
		shell("cd %s && %s log-*.least", other, ways[i]);
		if (!check(other, NULL, 0).n)
			fail_msg("%s", ways[i]);
	}
	/* a record's own hash in the record's place: the tree is the same */
	assert_int_equal(bwl_audit_scan(dir, find_leaf, &leaf, &e), 0);
	line = bwl_audit_node_line(0, &leaf);
	shell("rm -rf %s && cp -a %s %s", other, dir, other);
	shell("cd %s && sed -i 's|.*operator 10\".*|%s|' log-*.least", other, line);
	free(line);
	shell("grep -q '\"records\":1}' %s/log-*.least", other);
	f = check(other, NULL, 0);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.first.fault, BWL_FAULT_CHANGED);
	/* bwlimitd never writes a hash among lines */
	shell("rm -rf %s && cp -a %s %s", other, dir, other);
	shell("cd %s && f=$(ls log-*.jsonl | tail -1) && grep -h records *.least | head -1 >>$f",
	      other);
	assert_true(check(other, NULL, 0).of[BWL_FAULT_BAD]);
	shell("sed -i '/operator 10\"/d' %s/log-*.least", dir);
	for (unsigned i = 0; i < 2; i++) {
		write_operators(0, 100);
		assert_true(check(dir, NULL, 0).n);
	}
	assert_true(check(dir, NULL, 0).of[BWL_FAULT_DAMAGED]);
}

static void hashes_that_were_lost_or_damaged_are_made_from_the_lines(void **state)
{
	struct bwl_audit_log *l = small_log(SMALL);
	static struct bwl_checkpoint old[120];

	(void)state;
	for (unsigned n = 0; n < 50; n++)
		mix(l, n, &old[n]);
	shell("test $(ls %s/log-*.hashes | wc -l) -ge 3", dir);
	shell("rm $(ls %s/log-*.hashes | head -1)", dir);
	flip_byte(~0U, 40, "%s/log-*.hashes", dir);
	for (unsigned n = 50; n < 120; n++)
		mix(l, n, &old[n]);
	bwl_audit_close(l);
	must_be_small();
	assert_int_equal(check(dir, old, 120).n, 0);
	assert_true(result.pruned > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_was_damaged_is_never_pruned_in_silence),
		T(what_was_kept_is_as_safe),
		T(what_was_kept_of_a_torn_file_stays),
		T(what_is_least_is_as_safe),
		T(hashes_that_were_lost_or_damaged_are_made_from_the_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
