// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writers that may end at any point enter each interval into a log once. What is missing is
 * reported.
 */
#include "../test.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "audit/log.h"
#include "evidence/entered.h"
#include "evidence/keys.h"
#include "evidence/writer.h"

#define NOW 1800000000

static char dir[100], flows[140], log_dir[140];

static int begin(void **state)
{
	char key[BWL_NOTE_KEY_TEXT];

	(void)state;
	strcpy(dir, "/tmp/evidence-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(flows, sizeof(flows), "%s/flows", dir);
	snprintf(log_dir, sizeof(log_dir), "%s/audit", dir);
	assert_int_equal(mkdir(flows, 0700), 0);
	return bwl_audit_init(log_dir, "bwlimit/test", key, NULL);
}

static int end(void **state)
{
	char command[200];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static void put_file(unsigned number, unsigned interval)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%016u.jsonl", flows, number);
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f,
		"{\"kind\":\"flow-interval\",\"boot\":\"b\",\"tables\":7,\"interval\":%u,\"final\":false,\"sequence\":%u,\"begin\":null,\"end\":null,\"gap\":null,\"thinned\":false,\"balanced\":true,\"other\":null}\n",
		interval, number);
	fclose(f);
}

static int enter_all(const char *log)
{
	struct ev_writer *w = ev_writer_new(dir, log);
	struct bwl_err e = { 0 };
	int r;

	while ((r = ev_writer_step(w, NOW, &e)) > 0)
		;
	ev_writer_free(w);
	return r;
}

/*
 * The intervals in the log, such as "1 2 !4". "!": it reports that something before it is missing.
 */
static const char *entered(void)
{
	static char text[200];
	struct ev_entered v;
	size_t n = 0;

	assert_int_equal(ev_entered_read(log_dir, &v, NULL), 0);
	*text = '\0';
	for (size_t i = 0; i < v.n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%llu", i ? " " : "",
				      v.id[i].gap ? "!" : "", (unsigned long long)v.id[i].interval);
	ev_entered_free(&v);
	return text;
}

static void each_interval_is_entered_once(void **state)
{
	(void)state;
	put_file(1, 1);
	put_file(2, 2);
	assert_int_equal(enter_all(log_dir), 0);
	assert_string_equal(entered(), "2"); /* the log begins here */
	assert_int_equal(enter_all(log_dir), 0);
	assert_string_equal(entered(), "2");
	put_file(3, 3);
	put_file(4, 4);
	assert_int_equal(enter_all(log_dir), 0);
	assert_string_equal(entered(), "2 3 4");
}

static void what_is_missing_is_said(void **state)
{
	char path[200];
	FILE *f;

	(void)state;
	put_file(1, 1);
	assert_int_equal(enter_all(log_dir), 0);
	put_file(3, 3);
	assert_int_equal(enter_all(log_dir), 0);
	assert_string_equal(entered(), "1 !3");
	/* not an interval's file */
	snprintf(path, sizeof(path), "%s/%016u.jsonl", flows, 4);
	f = fopen(path, "we");
	fputs("{}\n", f);
	fclose(f);
	put_file(5, 5);
	assert_int_equal(enter_all(log_dir), 0);
	assert_string_equal(entered(), "1 !3 !5");
	/* the folder was emptied */
	snprintf(path, sizeof(path), "rm '%s'/*", flows);
	assert_int_equal(system(path), 0);
	put_file(1, 6);
	put_file(2, 7);
	assert_int_equal(enter_all(log_dir), 0);
	assert_string_equal(entered(), "1 !3 !5 6 7");
}

/* After a power cut the entry is on disk, but the file's name is not. */
static void a_file_that_was_lost_is_not_entered_for_another(void **state)
{
	char path[200];

	(void)state;
	for (unsigned i = 1; i <= 4; i++)
		put_file(i, i);
	put_file(1, 1);
	assert_int_equal(enter_all(log_dir), 0);
	put_file(5, 5);
	assert_int_equal(enter_all(log_dir), 0);
	snprintf(path, sizeof(path), "%s/%016u.jsonl", flows, 5);
	assert_int_equal(unlink(path), 0);
	put_file(5, 6); /* another interval in a file of the same number */
	assert_int_equal(enter_all(log_dir), 0);
	assert_string_equal(entered(), "4 5 6");
}

static void without_a_log_nothing_is_made(void **state)
{
	char path[200];

	(void)state;
	put_file(1, 1);
	assert_int_equal(enter_all(""), 0);
	snprintf(path, sizeof(path), "%s/" EV_KEYS_DIR, dir);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void secrets_are_of_a_day_and_go(void **state)
{
	uint8_t a[32], b[32];
	struct bwl_err e = { 0 };
	struct stat st;
	char path[200];

	(void)state;
	assert_int_equal(ev_key_make(dir, 100, a, &e), 0);
	assert_int_equal(ev_key_make(dir, 100, b, &e), 0);
	assert_memory_equal(a, b, 32);
	assert_int_equal(ev_key_make(dir, 101, b, &e), 0);
	assert_memory_not_equal(a, b, 32);
	snprintf(path, sizeof(path), "%s/" EV_KEYS_DIR "/epoch-00000100.key", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* one more than are kept: only the oldest has been deleted */
	for (uint64_t day = 102; day < 101 + EV_KEYS_KEPT; day++)
		assert_int_equal(ev_key_make(dir, day, a, &e), 0);
	assert_int_equal(ev_key_read(dir, 100, a, &e), 0); /* 92 days old, not older */
	assert_int_equal(ev_key_make(dir, 101 + EV_KEYS_KEPT, a, &e), 0);
	assert_int_equal(ev_key_read(dir, 100, a, &e), -ENOENT);
	assert_int_equal(ev_key_read(dir, 101, a, &e), 0);
}

/* Neither a clock in 1970 nor one a hundred years ahead. */
static void a_wrong_clock_erases_no_secret(void **state)
{
	uint8_t key[32];
	struct bwl_err e = { 0 };
	struct ev_writer *w;

	(void)state;
	for (uint64_t day = 20000; day < 20000 + EV_KEYS_KEPT - 2; day++)
		assert_int_equal(ev_key_make(dir, day, key, &e), 0);
	assert_int_equal(ev_key_make(dir, 60000, key, &e), 0);
	assert_int_equal(ev_key_make(dir, 0, key, &e), 0);
	for (uint64_t day = 20000; day < 20000 + EV_KEYS_KEPT - 2; day++)
		assert_int_equal(ev_key_read(dir, day, key, &e), 0);
	put_file(1, 1);
	w = ev_writer_new(dir, log_dir);
	assert_int_equal(ev_writer_step(w, -86401, &e), -ERANGE);
	assert_int_equal(ev_writer_step(w, NOW, &e), 0); /* control */
	ev_writer_free(w);
	assert_string_equal(entered(), "1");
}

/*
 * The file changes while another process has the log. told: its time changes, too. Returns the boot
 * that is then in the log.
 */
static char boot_after_refusal(unsigned number, bool told)
{
	struct ev_writer *w = ev_writer_new(dir, log_dir);
	struct timespec times[2];
	struct ev_entered v;
	struct bwl_err e = { 0 };
	struct stat st;
	char path[200], text[1000];
	int log, file, r;
	ssize_t n;

	put_file(number, number);
	snprintf(path, sizeof(path), "%s/%016u.jsonl", flows, number);
	log = open(log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(log, LOCK_EX), 0);
	assert_int_equal(ev_writer_step(w, NOW, &e), -EBUSY);
	close(log);
	file = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fstat(file, &st), 0);
	n = pread(file, text, sizeof(text), 0);
	assert_true(n > 0 && n < (ssize_t)sizeof(text));
	text[n] = '\0';
	assert_int_equal(pwrite(file, "c", 1, strstr(text, "\"b\"") + 1 - text), 1);
	times[0] = times[1] = st.st_mtim;
	times[1].tv_sec += told;
	assert_int_equal(futimens(file, times), 0);
	close(file);
	r = ev_writer_step(w, NOW, &e);
	ev_writer_free(w);
	assert_int_equal(r, 0);
	assert_int_equal(ev_entered_read(log_dir, &v, NULL), 0);
	assert_int_equal(v.last.id.sequence, number);
	text[0] = v.last.id.boot[0];
	ev_entered_free(&v);
	return text[0];
}

static void what_was_made_is_kept_until_it_is_in_the_log(void **state)
{
	(void)state;
	assert_int_equal(boot_after_refusal(1, false), 'b');
	put_file(1, 1);                                     /* put back as it was entered */
	assert_int_equal(boot_after_refusal(2, true), 'c'); /* computed again for another file */
}

static void it_is_tried_ever_more_rarely(void **state)
{
	static const unsigned want[] = { 1, 2, 4, 8, 16, 32, 60, 60 };

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(ev_writer_pause_s(i), want[i]);
	assert_int_equal(ev_writer_pause_s(4000000000), 60);
}

#define THREADS 4
static pthread_barrier_t all_there;
static uint64_t racing_day;
static void *race(void *key)
{
	struct bwl_err e = { 0 };

	pthread_barrier_wait(&all_there);
	return ev_key_make(dir, racing_day, key, &e) ? key : NULL;
}

static void threads_that_make_a_secret_have_the_same(void **state)
{
	uint8_t key[THREADS][32];
	pthread_t thread[THREADS];
	void *failed;

	(void)state;
	assert_int_equal(pthread_barrier_init(&all_there, NULL, THREADS), 0);
	for (racing_day = 1; racing_day < 80; racing_day++) {
		for (size_t i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, race, key[i]), 0);
		for (size_t i = 0; i < THREADS; i++) {
			assert_int_equal(pthread_join(thread[i], &failed), 0);
			assert_null(failed);
		}
		for (size_t i = 1; i < THREADS; i++)
			assert_memory_equal(key[0], key[i], 32);
	}
	pthread_barrier_destroy(&all_there);
}

static void a_secret_that_is_not_whole_is_refused(void **state)
{
	uint8_t key[32];
	struct bwl_err e = { 0 };
	char path[200];

	(void)state;
	snprintf(path, sizeof(path), "%s/" EV_KEYS_DIR "/epoch-00000100.key", dir);
	assert_int_equal(ev_key_make(dir, 100, key, &e), 0);
	for (off_t n = 0; n < 40; n += n == 31 ? 2 : 31) {
		assert_int_equal(truncate(path, n), 0);
		assert_int_equal(ev_key_make(dir, 100, key, &e), -EBADMSG);
		assert_int_equal(ev_key_read(dir, 100, key, &e), -EBADMSG);
		assert_non_null(strstr(e.text, "32 bytes"));
	}
}

/* Not of the day on which it is entered: files wait while the log is off. */
static void a_secret_is_of_the_day_on_which_its_interval_ended(void **state)
{
	struct ev_entered v;
	char path[200];
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%s/%016u.jsonl", flows, 1);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs("{\"kind\":\"flow-interval\",\"boot\":\"b\",\"tables\":7,\"interval\":1,\"final\":false,\"sequence\":1,\"begin\":null,\"end\":\"2026-09-21T23:59:59.999Z\",\"gap\":null,\"thinned\":false,\"balanced\":true,\"other\":null}\n",
	      f);
	fclose(f);
	assert_int_equal(enter_all(log_dir), 0);
	assert_int_equal(ev_entered_read(log_dir, &v, NULL), 0);
	assert_int_equal(v.last.epoch, 20717);
	ev_entered_free(&v);
}

static void put_line(const char *line)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%016u.jsonl", flows, 2);
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "%s\n", line);
	fclose(f);
}

#define HEAD_LINE(end, gap, final)                                                                 \
	"{\"kind\":\"flow-interval\",\"boot\":\"b\",\"tables\":7,\"interval\":2,\"final\":" final  \
	",\"sequence\":2,\"begin\":null,\"end\":" end ",\"gap\":" gap                              \
	",\"thinned\":false,\"balanced\":true,\"other\":null}"
#define PEER_LINE(why)                                                                             \
	"{\"kind\":\"flow-peer\",\"id\":1,\"peer\":\"p\",\"balanced\":false,\"why\":" why          \
	",\"flows\":" ZEROS ",\"remainder\":" ZEROS ",\"unclassed\":" ZEROS ",\"cpus\":[]}"
#define ZEROS "{\"frames\":0,\"bytes\":0,\"dropped_frames\":0,\"dropped_bytes\":0}"

/* What bwlimitd does not write is not entered as something else; the next entry says so. */
static void a_file_with_what_cannot_be_read_is_a_gap(void **state)
{
	static const char *const bad[] = {
		HEAD_LINE("\"soon\"", "null", "false"),
		HEAD_LINE("\"2026-02-31T00:00:00.000Z\"", "null", "false"),
		HEAD_LINE("null", "7", "false"), /* not a text: it would have said nothing */
		HEAD_LINE("null", "null", "0"),
		HEAD_LINE("null", "null", "false") "\n" PEER_LINE("null"),
	};
	static const char *const good[] = {
		HEAD_LINE("null", "null", "false"),
		HEAD_LINE("null", "null", "false") "\n" PEER_LINE("\"its counter moved\""),
	};
	char command[300];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put_file(1, 1);
		assert_int_equal(enter_all(log_dir), 0);
		put_line(bad[i]);
		put_file(3, 3);
		assert_int_equal(enter_all(log_dir), 0);
		assert_string_equal(entered(), "1 !3");
		snprintf(command, sizeof(command), "rm -rf '%s'", dir);
		assert_int_equal(system(command), 0);
		assert_int_equal(begin(state), 0);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		put_file(1, 1);
		assert_int_equal(enter_all(log_dir), 0);
		put_line(good[i]);
		assert_int_equal(enter_all(log_dir), 0);
		assert_string_equal(entered(), "1 2");
		snprintf(command, sizeof(command), "rm -rf '%s'", dir);
		assert_int_equal(system(command), 0);
		assert_int_equal(begin(state), 0);
	}
}

static void append_later_version(json_t *data)
{
	struct bwl_audit_log *log = NULL;
	struct bwl_err e = { 0 };

	assert_int_equal(bwl_audit_open(log_dir, &log, &e), 0);
	assert_int_equal(bwl_audit_append(log, BWL_AUDIT_REGULAR, "interval", "x", data, NULL, &e),
			 0);
	bwl_audit_close(log);
	json_decref(data);
}

#define TWENTY(n) "0000000000000000000" n
#define ROOT "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

/* Of a later version, such as after a downgrade: if it is not known which interval it is, that is
 * said. */
static void an_entry_that_cannot_be_read_is_a_gap(void **state)
{
	(void)state;
	put_file(1, 1);
	assert_int_equal(enter_all(log_dir), 0);
	append_later_version(json_pack("{s:i}", "version", 2));
	put_file(2, 2);
	assert_int_equal(enter_all(log_dir), 0);
	put_file(3, 3);
	put_file(4, 4);
	append_later_version(json_pack("{s:i,s:s,s:s,s:s,s:s,s:i,s:s}", "version", 2, "boot", "b",
				       "tables", TWENTY("7"), "interval", TWENTY("3"), "sequence",
				       TWENTY("3"), "final", 0, "root", ROOT));
	assert_int_equal(enter_all(log_dir), 0);
	assert_string_equal(entered(), "1 !2 3 4"); /* 3 is in the log, and 4 follows it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_interval_is_entered_once, begin, end),
		cmocka_unit_test_setup_teardown(what_is_missing_is_said, begin, end),
		cmocka_unit_test_setup_teardown(a_file_that_was_lost_is_not_entered_for_another,
						begin, end),
		cmocka_unit_test_setup_teardown(without_a_log_nothing_is_made, begin, end),
		cmocka_unit_test_setup_teardown(secrets_are_of_a_day_and_go, begin, end),
		cmocka_unit_test_setup_teardown(what_was_made_is_kept_until_it_is_in_the_log, begin,
						end),
		cmocka_unit_test(it_is_tried_ever_more_rarely),
		cmocka_unit_test_setup_teardown(a_wrong_clock_erases_no_secret, begin, end),
		cmocka_unit_test_setup_teardown(threads_that_make_a_secret_have_the_same, begin,
						end),
		cmocka_unit_test_setup_teardown(a_secret_that_is_not_whole_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(a_file_with_what_cannot_be_read_is_a_gap, begin,
						end),
		cmocka_unit_test_setup_teardown(an_entry_that_cannot_be_read_is_a_gap, begin, end),
		cmocka_unit_test_setup_teardown(a_secret_is_of_the_day_on_which_its_interval_ended,
						begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
