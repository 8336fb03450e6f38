// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each interval is written to a file once, even if the process ends in between. What the budget
 * withholds is reported.
 */
#include "tests/unit/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include "flows/list.h"
#include "outlet.h"

static char dir[] = "/tmp/bwl-outlet-XXXXXX";
static char flows[64], keeps[64], file[80];

static int setup(void **state)
{
	(void)state;
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(flows, sizeof(flows), "%s/flows", dir);
	snprintf(keeps, sizeof(keeps), "%s/state", dir);
	snprintf(file, sizeof(file), "%s/out", dir);
	return mkdir(flows, 0700) || mkdir(keeps, 0700);
}

static int teardown(void **state)
{
	char cmd[80];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return system(cmd);
}

static void interval(unsigned number, unsigned rows)
{
	char path[128], name[FLOWS_NAME];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", flows, flows_store_name(number, name));
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f,
		"{\"version\":1,\"kind\":\"flow-interval\",\"sequence\":%u,\"other\":{\"frames\":1,\"bytes\":60}}\n",
		number);
	for (unsigned i = 0; i < rows; i++)
		fprintf(f,
			"{\"kind\":\"flow\",\"peer\":\"sink\",\"reason\":\"pass\",\"source\":\"10.7.0.2\",\"destination\":\"10.101.0.9\",\"source_port\":%u,\"frames\":2,\"bytes\":200}\n",
			i);
	fclose(f);
}

static struct outlet_conf conf(bool json, uint64_t budget)
{
	struct outlet_conf c = { .json = json,
				 .domain = 1,
				 .flows_dir = flows,
				 .state_dir = keeps,
				 .budget_bytes = budget,
				 .budget_window_ns = 86400000000000ULL };

	c.way.kind = WAY_FILE;
	strcpy(c.way.path, file);
	return c;
}

/* Writes everything that is there. Returns how many intervals. */
static unsigned run(const struct outlet_conf *c)
{
	struct bwl_err e = { 0 };
	struct outlet *o;
	unsigned n = 0;
	int r;

	assert_int_equal(outlet_open(c, &o, &e), 0);
	while ((r = outlet_step(o, &e)) == OUTLET_SENT)
		n++;
	if (r)
		fail_msg("%s", e.text);
	outlet_close(o);
	return n;
}

static char *read_out(void)
{
	static char text[1 << 20];
	FILE *f = fopen(file, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static unsigned count(const char *what)
{
	unsigned n = 0;

	for (const char *at = read_out(); (at = strstr(at, what)); at++)
		n++;
	return n;
}

static long size(void)
{
	struct stat st;

	assert_int_equal(stat(file, &st), 0);
	return st.st_size;
}

static void each_interval_goes_once_over_restarts(void **state)
{
	struct outlet_conf c = conf(true, 1 << 20);

	(void)state;
	assert_int_equal(run(&c), 0);
	interval(1, 2);
	interval(2, 3);
	assert_int_equal(run(&c), 2);
	assert_int_equal(run(&c), 0);
	interval(3, 1);
	assert_int_equal(run(&c), 1);
	assert_int_equal(count("\"kind\":\"flow\""), 6);
	assert_int_equal(count("\"kind\":\"flow-interval\""), 3);
	assert_int_equal(count("\"gap\":null"), 3);
}

static void what_was_begun_in_a_file_is_cut_off_and_written_once(void **state)
{
	struct outlet_conf c = conf(false, 1 << 20);
	struct state s;
	struct bwl_err e = { 0 };
	char boot[] = "b";
	long whole;

	(void)state;
	interval(1, 2);
	assert_int_equal(run(&c), 1);
	interval(2, 3);
	assert_int_equal(run(&c), 1);
	whole = size();
	/* killed after interval 2 was written but before that was noted */
	assert_int_equal(state_load(keeps, boot, &s, &e), 0);
	s.next = 2;
	s.begun = true;
	s.file_bytes = (uint64_t)whole - 300;
	assert_int_equal(state_save(keeps, boot, &s, &e), 0);
	assert_int_equal(run(&c), 1);
	/*
	 * the third process wrote its templates, and the same interval in place of the last 300
	 * bytes
	 */
	assert_int_equal(run(&c), 0);
	assert_int_equal(state_load(keeps, boot, &s, &e), 0);
	assert_int_equal(s.file_bytes, size());
}

static void a_file_that_is_not_ours_is_not_cut(void **state)
{
	struct outlet_conf c = conf(true, 1 << 20);
	struct state s;
	struct bwl_err e = { 0 };
	char boot[] = "b", theirs[2000], other[500];
	FILE *f;

	(void)state;
	interval(1, 2);
	assert_int_equal(run(&c), 1);
	assert_int_equal(state_load(keeps, boot, &s, &e), 0);
	assert_true(s.file_bytes && s.file_inode);
	/* A larger file of somebody else in its place. */
	memset(theirs, 'x', sizeof(theirs));
	theirs[sizeof(theirs) - 1] = '\n';
	snprintf(other, sizeof(other), "%s.new", c.way.path);
	f = fopen(other, "w");
	assert_non_null(f);
	for (int i = 0; i < 10; i++)
		assert_int_equal(fwrite(theirs, sizeof(theirs), 1, f), 1);
	fclose(f);
	assert_int_equal(rename(other, c.way.path), 0);
	interval(2, 1);
	assert_int_equal(run(&c), 1);
	assert_true(size() > 10 * (long)sizeof(theirs));
}

static void intervals_that_are_gone_are_named(void **state)
{
	struct outlet_conf c = conf(true, 1 << 20);

	(void)state;
	interval(3, 1);
	assert_int_equal(run(&c), 1);
	interval(7, 1);
	assert_int_equal(run(&c), 1);
	assert_int_equal(count("intervals 4 to 6 were deleted before they were sent"), 1);
}

static void a_folder_that_was_begun_anew_is_named(void **state)
{
	struct outlet_conf c = conf(true, 1 << 20);
	char path[128], name[FLOWS_NAME];

	(void)state;
	interval(30, 1);
	assert_int_equal(run(&c), 1);
	snprintf(path, sizeof(path), "%s/%s", flows, flows_store_name(30, name));
	assert_int_equal(unlink(path), 0);
	interval(1, 1);
	assert_int_equal(run(&c), 1);
	assert_int_equal(count("was started anew"), 1);
	assert_int_equal(run(&c), 0);
}

static void what_the_budget_has_no_room_for_is_withheld_and_told(void **state)
{
	struct outlet_conf c = conf(true, 1500);
	long before;

	(void)state;
	interval(1, 2);
	assert_int_equal(run(&c), 1);
	assert_int_equal(count("\"withheld_flows\":0"), 1);
	interval(2, 100);
	assert_int_equal(run(&c), 1); /* its rows are withheld, but the interval is named */
	assert_int_equal(count("\"withheld_flows\":100"), 1);
	assert_int_equal(count("\"unsent_frames\":200"), 1);
	assert_int_equal(count("\"kind\":\"flow\""), 2);
	before = size();
	for (unsigned i = 3; i < 10; i++) {
		interval(i, 1);
		assert_int_equal(run(&c), 1);
	}
	assert_true(size() <= 1500);
	c.budget_bytes = 1 << 20;
	interval(10, 1);
	assert_int_equal(run(&c), 1);
	assert_true(size() > before);
	assert_int_equal(count("were withheld whole: the byte budget was used up"), 1);
}

static void an_interval_without_its_flows_says_so(void **state)
{
	static const char what[] = "the flows of this interval were deleted before they were sent";
	struct outlet_conf c = conf(false, 1 << 20);
	char path[128], name[FLOWS_NAME];
	FILE *f;

	(void)state;
	interval(1, 1);
	assert_int_equal(run(&c), 1);
	assert_null(memmem(read_out(), (size_t)size(), what, sizeof(what) - 1));
	snprintf(path, sizeof(path), "%s/%s", flows, flows_store_name(2, name));
	f = fopen(path, "w");
	fputs("{\"kind\":\"flow-interval\",\"sequence\":2,\"thinned\":true}\n", f);
	fclose(f);
	assert_int_equal(run(&c), 1);
	assert_non_null(memmem(read_out(), (size_t)size(), what, sizeof(what) - 1));
}

static void losses_are_added_up_over_restarts(void **state)
{
	struct outlet_conf c = conf(true, 1 << 20);

	(void)state;
	for (unsigned i = 1; i <= 3; i++) {
		interval(i, 0);
		assert_int_equal(run(&c), 1);
	}
	assert_int_equal(count("\"ignored_frames\":3,\"ignored_bytes\":180"), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_interval_goes_once_over_restarts),
		TEST(what_was_begun_in_a_file_is_cut_off_and_written_once),
		TEST(a_file_that_is_not_ours_is_not_cut),
		TEST(intervals_that_are_gone_are_named),
		TEST(a_folder_that_was_begun_anew_is_named),
		TEST(what_the_budget_has_no_room_for_is_withheld_and_told),
		TEST(an_interval_without_its_flows_says_so),
		TEST(losses_are_added_up_over_restarts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
