// SPDX-License-Identifier: GPL-2.0-or-later
/* Flow records on disk: an interval's file, and the size limit of the directory. */
#include "facts.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/bwl-flows-XXXXXX";

static int setup(void **state)
{
	(void)state;
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char cmd[80];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return system(cmd);
}

static struct flows_store *open_store(uint64_t most)
{
	struct flows_store *s = NULL;
	struct bwl_err e = { 0 };

	assert_int_equal(flows_store_open(dir, most, &s, &e), 0);
	return s;
}

static int put(struct flows_store *s, uint32_t interval, size_t size)
{
	struct flows_id id = { "b007", 77, interval, false };
	char *text = calloc(1, size + 1);
	struct bwl_err e = { 0 };
	int r;

	memset(text, ' ', size);
	text[snprintf(
		text, size,
		"{\"version\":1,\"kind\":\"flow-interval\",\"boot\":\"b007\",\"tables\":77,\"interval\":%u,\"final\":false}",
		interval)] = '\n';
	r = flows_store_put(s, &id, text, size, &e);
	free(text);
	return r;
}

/* An interval with n flows; each is a line of 1000 bytes. */
static int put_flows(struct flows_store *s, uint32_t interval, unsigned n)
{
	struct flows_id id = { "b007", 77, interval, false };
	struct bwl_err e = { 0 };
	char *text = NULL;
	size_t len;
	FILE *o = open_memstream(&text, &len);
	int r;

	fprintf(o,
		"{\"version\":1,\"kind\":\"flow-interval\",\"boot\":\"b007\",\"tables\":77,\"interval\":%u,\"final\":false,\"thinned\":false}\n"
		"{\"kind\":\"flow-peer\"}\n",
		interval);
	while (n--)
		fprintf(o, "{\"kind\":\"flow\",\"id\":1%*s}\n", 970, "");
	fputs("{\"kind\":\"flow-remainder\"}\n", o);
	fclose(o);
	r = flows_store_put(s, &id, text, len, &e);
	free(text);
	return r;
}

static char *file_text(uint64_t number)
{
	char path[120], name[FLOWS_NAME], *text = calloc(1, 200000);
	FILE *f;

	snprintf(path, sizeof(path), "%s/" FLOWS_DIR "/%s", dir, flows_store_name(number, name));
	f = fopen(path, "r");
	assert_non_null(f);
	assert_true(fread(text, 1, 199999, f) > 0);
	fclose(f);
	return text;
}

static time_t file_time(uint64_t number, time_t set)
{
	char path[120], name[FLOWS_NAME];
	const struct timespec t[2] = { { set, 0 }, { set, 0 } };
	struct stat st;

	snprintf(path, sizeof(path), "%s/" FLOWS_DIR "/%s", dir, flows_store_name(number, name));
	if (set)
		assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
	assert_int_equal(stat(path, &st), 0);
	return st.st_mtime;
}

static void numbers(uint64_t *ret_first, uint64_t *ret_last, size_t *ret_n)
{
	struct bwl_err e = { 0 };
	char path[80];
	uint64_t *all;

	snprintf(path, sizeof(path), "%s/" FLOWS_DIR, dir);
	assert_int_equal(flows_store_list(path, &all, ret_n, &e), 0);
	*ret_first = *ret_n ? all[0] : 0;
	*ret_last = *ret_n ? all[*ret_n - 1] : 0;
	free(all);
}

static void the_oldest_makes_room_and_the_newest_stays(void **state)
{
	struct flows_store *s = open_store(1 << 20);
	uint64_t from, to;
	size_t n;
	int i;

	(void)state;
	assert_null(flows_store_newest(s));
	for (i = 1; i <= 100; i++)
		assert_int_equal(put(s, (uint32_t)i, 30000), 0);
	numbers(&from, &to, &n);
	assert_int_equal(to, 100);
	assert_int_equal(from, 100 - n + 1);
	assert_in_range(n, 25, 33); /* each takes 32 KiB on disk, not 30 000 bytes */
	assert_in_range(flows_store_bytes(s, &n), 1 << 19, 1 << 20);
	flows_store_close(s);
	s = open_store(4096); /* less than one interval's size: one stays */
	assert_int_equal(flows_store_newest(s)->interval, 100);
	assert_int_equal(flows_store_next(s), 101);
	assert_int_equal(put(s, 101, 30000), 0);
	numbers(&from, &to, &n);
	assert_in_range(n, 1, 2);
	assert_int_equal(to, 101);
	flows_store_close(s);
}

/* A host that uses many ports cannot push out what older intervals say about peers. */
static void flows_of_the_oldest_go_before_any_interval_does(void **state)
{
	struct flows_store *s = open_store(1 << 20);
	uint64_t from, to, thinned, dropped;
	char *text;
	size_t n;
	json_t *o;
	int i;

	(void)state;
	assert_int_equal(put_flows(s, 1, 90), 0);
	file_time(1, 1000000);
	for (i = 2; i <= 100; i++)
		assert_int_equal(put_flows(s, (uint32_t)i, 90), 0);
	numbers(&from, &to, &n);
	assert_int_equal(n, 100);
	flows_store_lost(s, &thinned, &dropped);
	assert_in_range(thinned, 85, 99);
	assert_int_equal(dropped, 0);
	assert_in_range(flows_store_bytes(s, &n), 1 << 19, 1 << 20);
	text = file_text(1);
	assert_null(line(text, "flow", 0));
	o = line(text, "flow-interval", 0);
	assert_true(json_is_true(json_object_get(o, "thinned")));
	json_decref(o);
	json_decref(line(text, "flow-peer", 0));
	o = line(text, "flow-remainder", 0);
	assert_non_null(o);
	json_decref(o);
	free(text);
	assert_int_equal(file_time(1, 0), 1000000);
	text = file_text(100);
	o = line(text, "flow", 89);
	assert_non_null(o);
	json_decref(o);
	o = line(text, "flow-interval", 0);
	assert_true(json_is_false(json_object_get(o, "thinned")));
	json_decref(o);
	free(text);
	flows_store_close(s);
	s = open_store(1 << 20); /* it resumes where it was */
	assert_int_equal(put_flows(s, 101, 90), 0);
	flows_store_lost(s, &thinned, &dropped);
	assert_in_range(thinned, 0, 3);
	assert_int_equal(dropped, 0);
	assert_int_equal(flows_store_newest(s)->interval, 101);
	for (i = 102; i <= 400; i++)
		assert_int_equal(put_flows(s, (uint32_t)i, 90), 0);
	flows_store_lost(s, &thinned, &dropped);
	assert_true(dropped > 100);
	assert_in_range(flows_store_bytes(s, &n), 1 << 19, 1 << 20);
	flows_store_close(s);
}

/* What a killed writer left is also removed; other files stay. */
static void a_full_disk_takes_the_oldest_and_never_all(void **state)
{
	struct flows_store *s;
	uint64_t from, to;
	size_t n, kept;
	int i;

	(void)state;
	if (mount("none", dir, "tmpfs", 0, "size=400k"))
		skip();
	s = open_store(1 << 30); /* the limit leaves room, the disk does not */
	for (i = 1; i <= 40; i++)
		assert_int_equal(put(s, (uint32_t)i, 30000), 0);
	numbers(&from, &to, &n);
	assert_int_equal(to, 40);
	assert_in_range(n, 5, 13);
	assert_int_not_equal(put(s, 41, 1 << 20), 0); /* never fits */
	numbers(&from, &to, &kept);
	assert_int_equal(kept, n); /* nothing was deleted in vain */
	assert_int_equal(to, 40);
	assert_int_equal(flows_store_newest(s)->interval, 40);
	assert_int_equal(put(s, 41, 3000), 0);
	flows_store_close(s);
	assert_int_equal(umount(dir), 0);
}

static void touch(const char *name)
{
	char path[100];
	int fd;

	snprintf(path, sizeof(path), "%s/" FLOWS_DIR "/%s", dir, name);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static bool exists(const char *name)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/" FLOWS_DIR "/%s", dir, name);
	return !access(path, F_OK);
}

static void rests_of_a_killed_process_go_and_nothing_else_does(void **state)
{
	static const char *const rest[] = { "new.tmp", "thin.tmp", "new.jsonl", "thin.jsonl" };
	size_t i;

	(void)state;
	flows_store_close(open_store(1 << 30));
	for (i = 0; i < 4; i++)
		touch(rest[i]);
	touch("kept.jsonl");
	flows_store_close(open_store(1 << 30));
	for (i = 0; i < 4; i++)
		assert_false(exists(rest[i]));
	assert_true(exists("kept.jsonl"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(flows_of_the_oldest_go_before_any_interval_does,
						setup, teardown),
		cmocka_unit_test_setup_teardown(the_oldest_makes_room_and_the_newest_stays, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_full_disk_takes_the_oldest_and_never_all, setup,
						teardown),
		cmocka_unit_test_setup_teardown(rests_of_a_killed_process_go_and_nothing_else_does,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
