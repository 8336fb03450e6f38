// SPDX-License-Identifier: GPL-2.0-or-later
/* Flow records on disk: what an interval's file says, what is missing, and the folder's bound. */
#include "../test.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <jansson.h>
#include "flows/store.h"
#include "maps/reason.h"
#include "maps/words.h"

static char dir[] = "/tmp/bwl-flows-XXXXXX";
static const struct flows_id first = { "b007", 77, 1, false };

static const char *peer_name(void *arg, uint32_t id)
{
	(void)arg;
	return id == 7 ? "a\"b" : NULL;
}

static const char *port_name(void *arg, unsigned port)
{
	(void)arg;
	return port == 1 ? "hpf0" : NULL;
}

static bool is_host(void *arg, unsigned port)
{
	(void)arg;
	return port == 1;
}

static struct flows_facts facts(void)
{
	return (struct flows_facts){ .id = first,
				     .sequence = 5,
				     .begin_ns = 1000000000,
				     .end_ns = 11000000000,
				     .now_ns = 11000000000,
				     .wall.tv_sec = 1790000000,
				     .peer_name = peer_name,
				     .port_name = port_name,
				     .is_host = is_host };
}

/* The kind-th line of text that is of that kind, from 0; the caller drops it. */
static json_t *line(const char *text, const char *kind, unsigned n)
{
	const char *at = text, *end;
	json_t *o;

	for (; *at && (end = strchr(at, '\n')); at = end + 1) {
		o = json_loadb(at, (size_t)(end - at), 0, NULL);
		assert_non_null(o);
		if (!strcmp(json_string_value(json_object_get(o, "kind")), kind) && !n--)
			return o;
		json_decref(o);
	}
	return NULL;
}

static const char *text_at(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static json_int_t number_at(const json_t *o, const char *sum, const char *key)
{
	return json_integer_value(json_object_get(sum ? json_object_get(o, sum) : o, key));
}

/* Two flows and a remainder of one peer, on one CPU. */
static struct bwl_flow rows[] = {
	{ .key = { .saddr = { 0, 0, 0, 0 },
		   .ports = 0x1bb03e8,
		   .who = 7 | 3ULL << 32,
		   .what = BWL_REC_FLOW | 1 << 8 | BWL_C_HTTPS << 16 | (uint64_t)BWL_R_PASS << 24 |
			   6ULL << 32 },
	  .frames = 2,
	  .bytes = 3000,
	  .charged = 3100,
	  .first_ns = 2000000000,
	  .last_ns = 3500000000,
	  .tcp_flags = 18 },
	{ .key = { .who = 7 | 3ULL << 32,
		   .what = BWL_REC_REST | 1 << 8 | (uint64_t)BWL_R_PEER_RATE << 24 },
	  .frames = 4,
	  .bytes = 400,
	  .first_ns = 2000000000,
	  .last_ns = 2000000000 },
};
static struct bwl_book_cpu count = { .peer = 7,
				     .before = { 10, 1000, 1, 100 },
				     .after = { 12, 4100, 5, 500 },
				     .flows = { 2, 3100, 0, 0 },
				     .rests = { 0, 0, 4, 400 } };

static void an_interval_says_what_it_holds(void **state)
{
	struct bwl_book b = {
		.interval = 1, .flow = rows, .nflows = 2, .count = &count, .ncounts = 1
	};
	const struct bwl_rec_sum none = { 0 };
	struct flows_facts f = facts();
	struct flows_id id;
	char *text;
	size_t len;
	json_t *o;

	(void)state;
	rows[0].key.saddr[2] = rows[0].key.daddr[2] = htonl(0xffff);
	rows[0].key.saddr[3] = htonl(0x0a070002);
	rows[0].key.daddr[3] = htonl(0x0a650009);
	f.other = &none;
	assert_true(flows_text(&b, &f, &text, &len));
	assert_int_equal(strlen(text), len);
	assert_true(flows_id_of(text, &id));
	assert_memory_equal(&id, &first, sizeof(id));
	o = line(text, "flow-interval", 0);
	assert_string_equal(text_at(o, "begin"), "2026-09-21T14:13:10.000Z");
	assert_string_equal(text_at(o, "end"), "2026-09-21T14:13:20.000Z");
	assert_true(json_is_null(json_object_get(o, "gap")));
	assert_true(json_is_true(json_object_get(o, "balanced")));
	assert_int_equal(number_at(o, "other", "frames"), 0);
	json_decref(o);
	o = line(text, "flow-peer", 0);
	assert_string_equal(text_at(o, "peer"), "a\"b");
	assert_int_equal(number_at(o, "before", "bytes"), 1000);
	assert_int_equal(number_at(o, "after", "dropped_bytes"), 500);
	assert_int_equal(number_at(o, "flows", "bytes"), 3100);
	assert_int_equal(number_at(o, "remainder", "dropped_frames"), 4);
	assert_int_equal(json_array_size(json_object_get(o, "classes")), 2);
	json_decref(o);
	o = line(text, "flow", 0);
	assert_string_equal(text_at(o, "source"), "10.7.0.2");
	assert_string_equal(text_at(o, "direction"), "out");
	assert_string_equal(text_at(o, "port"), "hpf0");
	assert_string_equal(text_at(o, "class"), "https");
	assert_int_equal(number_at(o, NULL, "source_port"), 1000);
	assert_int_equal(number_at(o, NULL, "destination_port"), 443);
	assert_string_equal(text_at(o, "last"), "2026-09-21T14:13:12.500Z");
	json_decref(o);
	o = line(text, "flow-remainder", 0);
	assert_string_equal(text_at(o, "reason"), "peer-rate");
	assert_null(json_object_get(o, "source"));
	json_decref(o);
	free(text);
}

static bool balances(const struct bwl_book_cpu *c, const struct flows_facts *f, char why[80])
{
	struct bwl_book_cpu copy = *c;
	struct bwl_book b = { .flow = rows, .nflows = 2, .count = &copy, .ncounts = 1 };
	char *text;
	size_t len;
	bool good = flows_text(&b, f, &text, &len);
	json_t *o = line(text, "flow-peer", 0);
	const char *s = text_at(o, "why");

	snprintf(why, 80, "%s", s ? s : "");
	assert_int_equal(json_is_true(json_object_get(o, "balanced")), good);
	assert_int_equal(good, !s);
	json_decref(o);
	free(text);
	return good;
}

static void a_byte_too_few_or_between_two_intervals_is_told(void **state)
{
	const struct bwl_rec_sum none = { 0 }, some = { 1, 60, 0, 0 };
	struct bwl_book_cpu is = count, was = { .peer = 7, .after = count.before };
	struct flows_facts f = facts();
	char why[80];

	(void)state;
	f.other = &none;
	is.after.bytes++;
	assert_false(balances(&is, &f, why));
	assert_non_null(strstr(why, "not what its counter grew by"));
	f.other = &some;
	assert_false(balances(&is, &f, why));
	assert_non_null(strstr(why, "`other`"));
	f.unbalanced = "an upgrade";
	assert_false(balances(&is, &f, why));
	assert_string_equal(why, "an upgrade");
	f = facts();
	f.other = &none;
	f.known = &was;
	f.nknown = 1;
	assert_true(balances(&count, &f, why));
	was.after.drop_bytes--;
	assert_false(balances(&count, &f, why));
	assert_non_null(strstr(why, "between two intervals"));
	was.cpu = 1; /* another CPU's says nothing of this one */
	assert_true(balances(&count, &f, why));
}

static void what_is_missing_has_a_name(void **state)
{
	struct flows_id was = { "b007", 77, 5, false }, now = { "b007", 77, 6, false };
	char gap[256];

	(void)state;
	assert_false(flows_gap(&was, &now, gap, sizeof(gap)));
	now.interval = 9;
	assert_true(flows_gap(&was, &now, gap, sizeof(gap)));
	assert_non_null(strstr(gap, "intervals 6 to 8 of these tables"));
	assert_false(flows_gap(NULL, &first, gap, sizeof(gap)));
	assert_true(flows_gap(NULL, &now, gap, sizeof(gap)));
	assert_non_null(strstr(gap, "intervals 1 to 8"));
	now = (struct flows_id){ "b007", 78, 1,
				 false }; /* others, and nobody closed those before */
	assert_true(flows_gap(&was, &now, gap, sizeof(gap)));
	assert_non_null(strstr(gap, "after their interval 5"));
	was.last = true;
	assert_false(flows_gap(&was, &now, gap, sizeof(gap)));
	strcpy(now.boot, "b008");
	assert_false(flows_gap(&was, &now, gap, sizeof(gap)));
}

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
	text[snprintf(text, size,
		      "{\"version\":1,\"kind\":\"flow-interval\",\"boot\":\"b007\",\"tables\":77,"
		      "\"interval\":%u,\"final\":false}",
		      interval)] = '\n';
	r = flows_store_put(s, &id, text, size, &e);
	free(text);
	return r;
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
	assert_in_range(n, 25, 33); /* of 32 KiB on the disk, not of 30 000 bytes */
	assert_in_range(flows_store_bytes(s, &n), 1 << 19, 1 << 20);
	flows_store_close(s);
	s = open_store(4096); /* smaller than one: that one stays */
	assert_int_equal(flows_store_newest(s)->interval, 100);
	assert_int_equal(flows_store_next(s), 101);
	assert_int_equal(put(s, 101, 30000), 0);
	numbers(&from, &to, &n);
	assert_in_range(n, 1, 2);
	assert_int_equal(to, 101);
	flows_store_close(s);
}

/* And what a killed writer left is cleared away; what is not ours stays. */
static void a_full_disk_takes_the_oldest_and_never_all(void **state)
{
	struct flows_store *s;
	uint64_t from, to;
	char path[100];
	size_t n;
	int i, fd;

	(void)state;
	if (mount("none", dir, "tmpfs", 0, "size=400k"))
		skip();
	s = open_store(1 << 30); /* by its own bound there is room */
	for (i = 1; i <= 40; i++)
		assert_int_equal(put(s, (uint32_t)i, 30000), 0);
	numbers(&from, &to, &n);
	assert_int_equal(to, 40);
	assert_in_range(n, 5, 13);
	assert_int_not_equal(put(s, 41, 1 << 20), 0); /* for which there never is room */
	numbers(&from, &to, &n);
	assert_true(n >= 1);
	assert_int_equal(to, 40);
	assert_int_equal(flows_store_newest(s)->interval, 40);
	assert_int_equal(put(s, 41, 3000), 0);
	flows_store_close(s);
	snprintf(path, sizeof(path), "%s/" FLOWS_DIR "/new.jsonl", dir);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	snprintf(path, sizeof(path), "%s/" FLOWS_DIR "/kept.jsonl", dir);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	flows_store_close(open_store(1 << 30));
	assert_int_equal(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/" FLOWS_DIR "/new.jsonl", dir);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(umount(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interval_says_what_it_holds),
		cmocka_unit_test(a_byte_too_few_or_between_two_intervals_is_told),
		cmocka_unit_test(what_is_missing_has_a_name),
		cmocka_unit_test_setup_teardown(the_oldest_makes_room_and_the_newest_stays, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_full_disk_takes_the_oldest_and_never_all, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
