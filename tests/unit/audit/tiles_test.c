// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A log as tiles: the specification's example, files that are written once, directories that are
 * continued, crashes in between, and pruned records.
 */
#include "prune_rig.h"
#include "audit/log_end.h"
#include "audit/tile_files.h"
#include "audit/tiles.h"

static struct bwl_audit_tiles t;

/* The n-th rename from now fails (each file gets its name after its fsync). 0: none fails. */
static unsigned fail_rename;
int __real_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to);
int __wrap_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	if (fail_rename && !--fail_rename) {
		errno = EIO;
		return -1;
	}
	return __real_renameat(from_fd, from, to_fd, to);
}

static int write_tiles(const char *note)
{
	return bwl_audit_write_tiles(dir, &pub, note, note ? strlen(note) : 0, other, &t, &e);
}

static void fill(unsigned records, uint64_t size, enum bwl_audit_urgency u)
{
	struct bwl_audit_log *l;
	char text[300];

	assert_int_equal(bwl_audit_open(dir, &l, &e), 0);
	if (size)
		bwl_audit_set_size(l, size);
	bwl_audit_set_limit(l, 8000);
	for (unsigned i = 0; i < records; i++) {
		snprintf(text, sizeof(text), "%-200u", i);
		assert_int_equal(bwl_audit_append(l, i % 4 ? u : BWL_AUDIT_BEFORE, "test", text,
						  NULL, NULL, &e),
				 0);
	}
	bwl_audit_close(l);
}

static long size_of(const char *path)
{
	char full[160];
	struct stat st;

	snprintf(full, sizeof(full), "%s/%s", other, path);
	return stat(full, &st) ? -1 : (long)st.st_size;
}

static int clean_up(void **state)
{
	shell("rm -rf %s.*", dir);
	return tear_down(state);
}

/* A log of n hashes in one file, and a last file that begins with their checkpoint. */
static void log_of_hashes(uint64_t n)
{
	struct bwl_frontier f = { 0 };
	struct bwl_note_key secret;
	char path[160], text[BWL_NOTE_KEY_TEXT + 2] = "", *line;
	FILE *key, *file;

	snprintf(path, sizeof(path), "%s/key", dir);
	key = fopen(path, "r");
	assert_non_null(fgets(text, sizeof(text), key));
	fclose(key);
	assert_int_equal(bwl_note_key_parse(text, &secret, &e), 0);
	shell("rm %s/log-*", dir);
	snprintf(path, sizeof(path), "%s/log-%020d.hashes", dir, 0);
	file = fopen(path, "w");
	for (uint64_t i = 0; i < n; i++) {
		struct bwl_hash h;

		bwl_hash_leaf(&i, sizeof(i), &h);
		bwl_frontier_add(&f, &h);
		assert_int_equal(fwrite(h.b, sizeof(h.b), 1, file), 1);
	}
	fclose(file);
	snprintf(path, sizeof(path), "%s/log-%020llu.jsonl", dir, (unsigned long long)n);
	file = fopen(path, "w");
	line = bwl_audit_signed_line(&f, "", &secret, &e);
	fprintf(file, "%s\n", line);
	fclose(file);
	free(line);
}

static void a_tree_of_70000_records_has_the_tiles_of_the_specification_s_example(void **state)
{
	(void)state;
	log_of_hashes(70000);
	assert_int_equal(write_tiles(NULL), 0);
	/* 273 full level 0 tiles, one partial of width 112, ... */
	shell("test $(find %s/tile/0 -type f -size 8192c | wc -l) = 273", other);
	assert_int_equal(size_of("tile/0/273.p/112"), 112 * 32);
	assert_int_equal(size_of("tile/1/000"), 8192);
	assert_int_equal(size_of("tile/1/001.p/17"), 17 * 32);
	assert_int_equal(size_of("tile/2/000.p/1"), 32);
	shell("test $(find %s/tile -type f | wc -l) = 277", other);
	/* no records are left, and the tiles say so */
	assert_int_equal(t.lacking, 274);
	assert_int_equal(t.least, 70000);
	shell("grep -qx 'minimum index 70000' %s/retention", other);
	shell("grep -qx 'missing entries 0 70000' %s/retention", other);
	assert_int_equal(t.written, 277);
	assert_int_equal(write_tiles(NULL), 0);
	assert_int_equal(t.written, 0);
}

static void names_have_parts_of_three_digits(void **state)
{
	char path[BWL_TILE_PATH];

	(void)state;
	bwl_tile_path(path, 0, 0, 0);
	assert_string_equal(path, "tile/0/000");
	bwl_tile_path(path, 3, 1234067, 0);
	assert_string_equal(path, "tile/3/x001/x234/067");
	bwl_tile_path(path, BWL_TILE_ENTRIES, 999, 7);
	assert_string_equal(path, "tile/entries/999.p/7");
	bwl_tile_path(path, 0, 1000, 256);
	assert_string_equal(path, "tile/0/x001/000");
	bwl_tile_path(path, 0, (1ULL << 55) - 1, 255);
	assert_string_equal(path, "tile/0/x036/x028/x797/x018/x963/967.p/255");
}

static void a_folder_goes_on_and_what_is_full_is_written_once(void **state)
{
	struct stat before, after;
	char path[160];

	(void)state;
	fill(200, 0, BWL_AUDIT_BEFORE);
	assert_int_equal(write_tiles(NULL), 0);
	assert_int_equal(size_of("tile/0/000.p/200"), 200 * 32);
	fill(50, 0, BWL_AUDIT_BEFORE);
	assert_int_equal(write_tiles(NULL), 0);
	assert_int_equal(t.was, 200);
	/* partial tiles of earlier checkpoints stay until the tile is full */
	assert_int_equal(size_of("tile/0/000.p/200"), 200 * 32);
	assert_int_equal(size_of("tile/0/000.p/250"), 250 * 32);
	fill(6, 0, BWL_AUDIT_BEFORE);
	assert_int_equal(write_tiles(NULL), 0);
	assert_int_equal(size_of("tile/0/000"), 8192);
	assert_int_equal(size_of("tile/0/000.p"), -1);
	assert_int_equal(size_of("tile/entries/000.p"), -1);
	assert_int_equal(size_of("tile/1/000.p/1"), 32);
	snprintf(path, sizeof(path), "%s/tile/0/000", other);
	assert_int_equal(stat(path, &before), 0);
	fill(300, 0, BWL_AUDIT_BEFORE);
	assert_int_equal(write_tiles(NULL), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	assert_int_equal(t.least, 0);
	/* the same as tiles that are written all at once */
	shell("cp -r %s %s.grown && rm -r %s", other, other, other);
	assert_int_equal(write_tiles(NULL), 0);
	shell("rm -r %s.grown/tile/1/000.p/1 && diff -r %s %s.grown && rm -r %s.grown", other,
	      other, other, other);
}

static void killed_anywhere_the_next_one_makes_it_whole(void **state)
{
	unsigned n;
	int r;

	(void)state;
	fill(300, 0, BWL_AUDIT_BEFORE);
	assert_int_equal(write_tiles(NULL), 0);
	shell("cp -r %s %s.before", other, other);
	fill(300, 0, BWL_AUDIT_BEFORE);
	assert_int_equal(write_tiles(NULL), 0);
	shell("cp -r %s %s.after", other, other);
	for (n = 1;; n++) {
		shell("rm -r %s && cp -r %s.before %s", other, other, other);
		fail_rename = n;
		r = write_tiles(NULL);
		fail_rename = 0;
		if (!r)
			break;
		/* the checkpoint that was left matches the files that were left */
		assert_int_equal(write_tiles(NULL), 0);
		shell("diff -r %s %s.after", other, other);
	}
	assert_true(n > 5);
	shell("rm -r %s.before %s.after", other, other);
}

static void another_log_and_tiles_that_were_changed_are_refused(void **state)
{
	static const char *const files[] = { "tile/0/001.p/64", "tile/1/000.p/*",
					     "tile/entries/001.p/64", "checkpoint" };

	(void)state;
	fill(300, 0, BWL_AUDIT_BEFORE);
	shell("cp -r %s %s.fork", dir, dir);
	fill(20, 0, BWL_AUDIT_BEFORE);
	assert_int_equal(write_tiles(NULL), 0);
	shell("cp -r %s %s.kept", other, other);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		shell("rm -r %s && cp -r %s.kept %s", other, other, other);
		flip_byte(1, 20, "%s/%s", other, files[i]);
		if (write_tiles(NULL) != -EBADMSG)
			fail_msg("%s: %s", files[i], e.text);
	}
	shell("rm -r %s && mv %s.kept %s", other, other, other);
	/* another history with the same key: shorter, as long, and longer */
	shell("rm -r %s && mv %s.fork %s", dir, dir, dir);
	assert_int_equal(write_tiles(NULL), -ERANGE);
	fill(20, 0, BWL_AUDIT_BEFORE);
	assert_int_equal(write_tiles(NULL), -EBADMSG);
	assert_non_null(strstr(e.text, "forked"));
	fill(300, 0, BWL_AUDIT_BEFORE);
	shell("cp -r %s %s.kept", other, other);
	assert_int_equal(write_tiles(NULL), -EBADMSG);
	assert_non_null(strstr(e.text, "forked"));
	shell("diff -r %s %s.kept && rm -r %s.kept", other, other, other); /* nothing was written */
}

static void a_bundle_that_is_cut_anywhere_is_refused(void **state)
{
	char path[160];
	long size;

	(void)state;
	fill(3, 0, BWL_AUDIT_BEFORE);
	assert_int_equal(write_tiles(NULL), 0);
	fill(1, 0, BWL_AUDIT_BEFORE);
	snprintf(path, sizeof(path), "%s/tile/entries/000.p/3", other);
	size = size_of("tile/entries/000.p/3");
	assert_true(size > 600);
	while (size--) {
		assert_int_equal(truncate(path, size), 0);
		assert_int_equal(write_tiles(NULL), -EBADMSG);
	}
	shell("rm %s", path); /* as if it had been pruned */
	assert_int_equal(write_tiles(NULL), 0);
	assert_int_equal(t.lacking, 1);
}

static void a_whole_tile_with_other_bytes_is_left_alone(void **state)
{
	(void)state;
	fill(300, 0, BWL_AUDIT_BEFORE);
	shell("mkdir -p %s/tile/0 && echo other >%s/tile/0/000", other, other);
	assert_int_equal(write_tiles(NULL), -EEXIST);
	assert_int_equal(size_of("tile/0/000"), strlen("other\n"));
	assert_int_equal(size_of("checkpoint"), -1);
}

static void bundles_of_what_was_pruned_are_left_out_and_named(void **state)
{
	(void)state;
	fill(700, 500000, BWL_AUDIT_JUNK);
	assert_int_not_equal(events("pruned"), 0);
	assert_int_equal(write_tiles(NULL), 0);
	assert_int_equal(size_of("tile/0/000"), 8192);
	assert_int_equal(size_of("tile/entries/000"), -1);
	assert_true(t.lacking >= 1);
	assert_int_equal(t.least % 256, 0);
	assert_true(t.least < t.c.size);
	shell("grep -q '^missing entries 0 256$\\|^missing entries 0 512$' %s/retention", other);
}

static void what_was_written_before_it_was_pruned_stays(void **state)
{
	(void)state;
	fill(260, 0, BWL_AUDIT_JUNK);
	assert_int_equal(write_tiles(NULL), 0);
	fill(440, 500000, BWL_AUDIT_JUNK);
	assert_int_not_equal(events("pruned"), 0);
	assert_int_equal(write_tiles(NULL), 0);
	assert_true(size_of("tile/entries/000") > 0);
	assert_int_equal(size_of("tile/0/001"), 8192);
}

static void where_hashes_that_it_needs_have_gone_it_is_refused(void **state)
{
	(void)state;
	fill(700, 65536, BWL_AUDIT_BEFORE);
	assert_int_equal(write_tiles(NULL), -ENOENT);
	assert_non_null(strstr(e.text, "were pruned"));
	assert_int_equal(size_of("checkpoint"), -1);
	assert_int_equal(size_of("tile"), -1);
}

static void an_empty_log_has_a_checkpoint_alone(void **state)
{
	(void)state;
	assert_int_equal(write_tiles(NULL), 0);
	assert_true(size_of("checkpoint") > 0);
	assert_int_equal(size_of("tile"), -1);
	fill(1, 0, BWL_AUDIT_BEFORE);
	assert_int_equal(write_tiles(NULL), 0);
	assert_int_equal(size_of("tile/0/000.p/1"), 32);
}

static void cosignatures_that_are_there_are_not_taken_away(void **state)
{
	struct bwl_audit_mark m;
	char note[1024];

	(void)state;
	fill(3, 0, BWL_AUDIT_BEFORE);
	assert_int_equal(bwl_audit_newest(dir, &pub, &m, &e), 0);
	snprintf(note, sizeof(note), "%s\xe2\x80\x94 example.com/w AAAAAAAA\n", m.note);
	assert_int_equal(write_tiles(NULL), 0);
	assert_int_equal(write_tiles(note), 0);
	assert_int_equal(size_of("checkpoint"), strlen(note));
	assert_int_equal(write_tiles(NULL), 0);
	assert_int_equal(size_of("checkpoint"), strlen(note));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_parts_of_three_digits),
#define LOG(test) cmocka_unit_test_setup_teardown(test, set_up, clean_up)
		LOG(a_tree_of_70000_records_has_the_tiles_of_the_specification_s_example),
		LOG(a_folder_goes_on_and_what_is_full_is_written_once),
		LOG(killed_anywhere_the_next_one_makes_it_whole),
		LOG(another_log_and_tiles_that_were_changed_are_refused),
		LOG(a_bundle_that_is_cut_anywhere_is_refused),
		LOG(a_whole_tile_with_other_bytes_is_left_alone),
		LOG(bundles_of_what_was_pruned_are_left_out_and_named),
		LOG(what_was_written_before_it_was_pruned_stays),
		LOG(where_hashes_that_it_needs_have_gone_it_is_refused),
		LOG(an_empty_log_has_a_checkpoint_alone),
		LOG(cosignatures_that_are_there_are_not_taken_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
