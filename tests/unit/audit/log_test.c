// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The log on disk: the public key and an old checkpoint reveal every change of its files, with its
 * place. What a crash leaves can be opened.
 */
#include "../files.h"
#include "audit/log_end.h"
#include "log_rig.h"

static int append_to(const char *where, const char *text)
{
	struct bwl_audit_log *l;
	int r = bwl_audit_open(where, &l, &e);

	assert_int_equal(r, 0);
	r = bwl_audit_append(l, BWL_AUDIT_BEFORE, "test", text, NULL, NULL, &e);
	bwl_audit_close(l);
	return r;
}

static void fill(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char text[32];

		snprintf(text, sizeof(text), "record %u", i);
		assert_int_equal(append_to(dir, text), 0);
	}
}

#define FIRST "log-00000000000000000000.jsonl"
static char *slurp(size_t *ret)
{
	char path[128], *buf;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/" FIRST, dir);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0 && !fstat(fd, &st));
	buf = malloc((size_t)st.st_size + 1);
	assert_int_equal(read(fd, buf, (size_t)st.st_size), st.st_size);
	buf[st.st_size] = '\0';
	close(fd);
	*ret = (size_t)st.st_size;
	return buf;
}
static void spit(const char *buf, size_t n)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/" FIRST, dir);
	fd = open(path, O_WRONLY | O_TRUNC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, buf, n), n);
	close(fd);
}

static void a_log_that_nobody_touched_verifies_with_every_old_checkpoint(void **state)
{
	struct bwl_checkpoint old[21];

	(void)state;
	old[0] = newest(dir);
	assert_int_equal(old[0].size, 0);
	for (unsigned i = 1; i <= 20; i++) {
		fill(1);
		old[i] = newest(dir);
		assert_int_equal(old[i].size, i);
	}
	assert_int_equal(check(dir, old, 21).n, 0);
	assert_int_equal(check(dir, NULL, 0).n, 0);
}

static void a_log_without_a_key_is_off(void **state)
{
	struct bwl_audit_log *l = (void *)1;

	(void)state;
	assert_int_equal(bwl_audit_open("/nonexistent/audit", &l, &e), 0);
	assert_null(l);
	assert_int_equal(bwl_audit_append(l, BWL_AUDIT_BEFORE, "test", "x", NULL, NULL, &e), 0);
}

static void any_byte_flipped_is_found_and_its_place_named(void **state)
{
	struct bwl_checkpoint now;
	size_t n;
	char *was;

	(void)state;
	fill(2);
	now = newest(dir);
	was = slurp(&n);
	for (size_t i = 0; i < n; i++) {
		char *buf = malloc(n);
		struct found f;

		memcpy(buf, was, n);
		buf[i] ^= (char)(1 << i % 8);
		spit(buf, n);
		f = check(dir, &now, 1);
		free(buf);
		/*
		 * without its newline the last checkpoint is torn, as by a crash; no record is torn
		 */
		if (i + 1 == n) {
			assert_int_equal(f.n, 0);
			assert_true(result.torn_bytes && result.unsigned_records == 1);
			break;
		}
		if (!f.n)
			fail_msg("byte %zu of %zu", i, n);
		assert_string_equal(f.first.file, FIRST);
		if (f.first.offset > i || (f.first.end && f.first.end <= i))
			fail_msg("byte %zu: %s at %llu to %llu", i, f.first.text,
				 (unsigned long long)f.first.offset,
				 (unsigned long long)f.first.end);
	}
	free(was);
}

static void a_log_cut_at_any_length_is_found_by_a_checkpoint_of_the_whole(void **state)
{
	struct bwl_checkpoint now;
	size_t n;
	char *was;

	(void)state;
	fill(4);
	now = newest(dir);
	was = slurp(&n);
	for (size_t len = 0; len < n; len++) {
		struct found f;

		spit(was, len);
		f = check(dir, &now, 1);
		if (f.of[BWL_FAULT_CUT]) {
			assert_true(f.first.offset <= len);
			continue;
		}
		/* all records are there, only the end after them is missing */
		assert_true(len > (size_t)(strstr(was, "\"text\":\"record 3\"") - was));
	}
	free(was);
}

static void a_log_cut_at_any_length_by_a_crash_opens_and_goes_on(void **state)
{
	struct bwl_checkpoint old[4];
	size_t n, header;
	char *was;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		fill(1);
		old[i] = newest(dir);
	}
	was = slurp(&n);
	header = (size_t)(strchr(was, '\n') + 1 - was);
	for (size_t len = header; len < n; len++) {
		size_t keep = 0;
		struct found f;

		spit(was, len);
		while (keep < 3 && strstr(was, "\n{\"checkpoint\"") && newest(dir).size > keep)
			keep++;
		assert_int_equal(append_to(dir, "after"), 0);
		f = check(dir, old, keep);
		if (f.n)
			fail_msg("cut to %zu: %s", len, f.first.text);
		/* torn bytes were moved into a file of their own, and a record says so */
		if (was[len - 1] != '\n') {
			char *now;
			size_t m;

			now = slurp(&m);
			assert_non_null(strstr(now, "torn bytes set aside in torn-"));
			free(now);
			assert_true(test_remove(dir, "torn-") > 0);
		}
	}
	spit(was, header - 1); /* a crash leaves no first file without its whole header */
	assert_int_equal(append_to(dir, "after"), -EBADMSG);
	free(was);
}

/* Lines i to i + count of the file. */
static char *lines(char *buf, unsigned i, unsigned count, size_t *ret)
{
	char *from = buf, *to;

	while (i--)
		from = strchr(from, '\n') + 1;
	for (to = from; count--;)
		to = strchr(to, '\n') + 1;
	*ret = (size_t)(to - from);
	return from;
}

static void records_reordered_left_out_or_repeated_are_named(void **state)
{
	size_t n, a, b, c;
	char *was, *buf, *x, *y, *z;
	struct found f;

	(void)state;
	fill(6);
	was = slurp(&n);
	buf = malloc(2 * n);
	/* line 0 is the head; record i and its checkpoint are lines 2 i + 1 and 2 i + 2 */
	x = lines(was, 0, 5, &a);
	y = lines(was, 5, 2, &b);
	z = lines(was, 7, 2, &c);
	memcpy(buf, x, a);
	memcpy(buf + a, z, c);
	memcpy(buf + a + c, y, b);
	memcpy(buf + a + b + c, z + c, n - a - b - c);
	spit(buf, n);
	f = check(dir, NULL, 0);
	assert_true(f.n);
	assert_int_equal(f.first.fault, BWL_FAULT_MISSING);
	assert_int_equal(f.first.from, 2);
	assert_int_equal(f.first.offset, a);
	/* record 2 and its checkpoint left out */
	memcpy(buf, x, a);
	memcpy(buf + a, z, n - a - b);
	spit(buf, n - b);
	f = check(dir, NULL, 0);
	assert_int_equal(f.first.fault, BWL_FAULT_MISSING);
	assert_int_equal(f.first.from, 2);
	assert_int_equal(f.first.to, 3);
	assert_int_equal(f.first.offset, a);
	/* and given twice */
	memcpy(buf, x, a + b);
	memcpy(buf + a + b, y, n - a);
	spit(buf, n + b);
	f = check(dir, NULL, 0);
	assert_int_equal(f.first.fault, BWL_FAULT_ORDER);
	assert_int_equal(f.first.from, 3);
	assert_int_equal(f.first.offset, a + b);
	free(buf);
	free(was);
}

static void a_fork_signed_with_the_stolen_key_is_named_between_old_checkpoints(void **state)
{
	struct bwl_checkpoint old[3];
	struct found f;

	(void)state;
	fill(3);
	old[0] = newest(dir);
	shell("cp -r %s %s", dir, other);
	fill(3);
	old[1] = newest(dir);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(append_to(other, "another story"), 0);
	/* on its own it is sound */
	assert_int_equal(check(other, NULL, 0).n, 0);
	assert_int_equal(check(other, old, 1).n, 0);
	f = check(other, old, 2);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.first.fault, BWL_FAULT_FORK);
	assert_int_equal(f.first.from, 3);
	assert_int_equal(f.first.to, 6);
}

static void a_writer_that_saw_more_does_not_append_to_a_cut_log(void **state)
{
	struct bwl_audit_log *l;
	size_t n, a;
	char *was;

	(void)state;
	fill(3);
	assert_int_equal(bwl_audit_open(dir, &l, &e), 0);
	assert_int_equal(bwl_audit_append(l, BWL_AUDIT_AFTER, "test", "x", NULL, NULL, &e), 0);
	was = slurp(&n);
	lines(was, 0, 5, &a);
	spit(was, a);
	assert_int_equal(bwl_audit_append(l, BWL_AUDIT_AFTER, "test", "y", NULL, NULL, &e),
			 -EBADMSG);
	assert_non_null(strstr(e.text, "was cut"));
	assert_int_equal(bwl_audit_append(l, BWL_AUDIT_AFTER, "test", "y", NULL, NULL, &e),
			 -EBADMSG);
	bwl_audit_close(l);
	free(was);
}

static void four_writers_at_once_make_one_log(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		if (!fork()) {
			struct bwl_audit_log *l;
			int bad = bwl_audit_open(dir, &l, &e);

			bwl_audit_set_limit(l, 4000);
			for (unsigned j = 0; !bad && j < 15; j++)
				bad = bwl_audit_append(l, BWL_AUDIT_BEFORE, "test", "x", NULL, NULL,
						       &e);
			_exit(bad != 0);
		}
	}
	for (unsigned i = 0; i < 4; i++) {
		int status;

		wait(&status);
		assert_int_equal(status, 0);
	}
	assert_int_equal(check(dir, NULL, 0).n, 0);
	assert_int_equal(result.records, 60);
}

static void files_that_were_moved_away_leave_the_proof(void **state)
{
	struct bwl_checkpoint old[30];
	struct bwl_audit_log *l;
	struct bwl_prover p;
	struct found f;

	(void)state;
	assert_int_equal(bwl_audit_open(dir, &l, &e), 0);
	bwl_audit_set_limit(l, 3000);
	for (unsigned i = 0; i < 30; i++) {
		assert_int_equal(bwl_audit_append(l, BWL_AUDIT_BEFORE, "test", "x", NULL, NULL, &e),
				 0);
		old[i] = newest(dir);
	}
	bwl_audit_close(l);
	shell("test $(ls %s/log-*.hashes | wc -l) -ge 3", dir);
	shell("rm $(ls %s/log-*.jsonl | head -2)", dir);
	f = check(dir, old, 30);
	if (f.n)
		fail_msg("%s", f.first.text);
	assert_int_equal(result.records, 30);
	assert_true(result.hashed > 2);
	assert_int_equal(bwl_audit_prove(dir, &pub, 2, 30, &p, &e), 0);
	assert_true(bwl_proof_holds(2, &old[1].root, 30, &old[29].root, p.hash, p.count));
	/* the next checkpoint reveals a changed hash */
	flip_byte(1, 40, "%s/log-*.hashes", dir);
	assert_true(check(dir, old, 30).n);
	shell("rm $(ls %s/log-*.hashes | head -2)", dir);
	f = check(dir, old, 1);
	assert_int_equal(f.first.fault, BWL_FAULT_GONE);
	assert_int_equal(check(dir, old + 29, 1).n, 0);
}

/* A disk that fails after one and a half lines. */
static ssize_t fail_late(void *cookie, char *buf, size_t n)
{
	unsigned *calls = cookie;

	if ((*calls)++) {
		errno = EIO;
		return -1;
	}
	assert_true(n > 20);
	return snprintf(buf, n, "{\"n\":0}\n{\"n\":");
}

static int count_items(const struct bwl_audit_item *i, void *arg)
{
	unsigned *n = arg;

	n[i->kind]++;
	return 0;
}

static void a_read_error_is_not_the_end_of_a_file(void **state)
{
	unsigned calls = 0, n[BWL_AUDIT_TORN + 1] = { 0 };
	struct bwl_audit_log *l = small_log(60000);
	struct found f = { 0 };
	FILE *broken;

	(void)state;
	broken = fopencookie(&calls, "r", (cookie_io_functions_t){ .read = fail_late });
	assert_int_equal(bwl_audit_scan_file(broken, "broken", count_items, n, &e), -EIO);
	assert_int_equal(n[BWL_AUDIT_RECORD], 1);
	assert_int_equal(n[BWL_AUDIT_TORN], 0);
	fclose(broken);
	/* a folder can be opened but not read: in place of .kept, then .hashes, then .jsonl */
	for (unsigned i = 0; i < 200; i++)
		mix(l, i, NULL);
	bwl_audit_close(l);
	for (const char *const *tail = (const char *const[]){ "kept", "hashes", "jsonl", NULL };
	     *tail; tail++) {
		assert_int_equal(bwl_audit_verify(dir, &pub, NULL, 0, take, &f, &result, &e), 0);
		shell("f=$(ls %s/log-*.%s | head -1); mv $f $f.away; mkdir $f", dir, *tail);
		assert_int_equal(bwl_audit_verify(dir, &pub, NULL, 0, take, &f, &result, &e), -EIO);
		shell("for f in %s/log-*.away; do rmdir ${f%%.away}; mv $f ${f%%.away}; done", dir);
	}
}

static void a_second_init_leaves_a_log_alone(void **state)
{
	char text[BWL_NOTE_KEY_TEXT];

	(void)state;
	fill(1);
	assert_int_equal(bwl_audit_init(dir, "bwlimit/test", text, &e), -EEXIST);
	shell("rm %s/key", dir);
	assert_int_equal(bwl_audit_init(dir, "bwlimit/test", text, &e), -EEXIST);
	assert_int_equal(check(dir, NULL, 0).n, 0);
}

static void a_line_that_could_not_be_read_is_not_written(void **state)
{
	static const char *const lines[] = { "", "{}", "{\"n\":-1}", "{\"n\":1}\n{\"n\":2}",
					     "{\"n\":1" };
	struct bwl_audit_end x = { .fd = -1 }; /* which no write would pass */

	(void)state;
	for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_int_equal(bwl_audit_end_write(&x, lines[i], &e), -EBADMSG);
	assert_int_equal(bwl_audit_end_write(&x, "{\"n\":1}", &e), -EBADF); /* control */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_log_that_nobody_touched_verifies_with_every_old_checkpoint),
		T(a_log_without_a_key_is_off),
		T(a_line_that_could_not_be_read_is_not_written),
		T(any_byte_flipped_is_found_and_its_place_named),
		T(a_log_cut_at_any_length_is_found_by_a_checkpoint_of_the_whole),
		T(a_log_cut_at_any_length_by_a_crash_opens_and_goes_on),
		T(records_reordered_left_out_or_repeated_are_named),
		T(a_fork_signed_with_the_stolen_key_is_named_between_old_checkpoints),
		T(a_writer_that_saw_more_does_not_append_to_a_cut_log),
		T(four_writers_at_once_make_one_log),
		T(files_that_were_moved_away_leave_the_proof),
		T(a_read_error_is_not_the_end_of_a_file),
		T(a_second_init_leaves_a_log_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
