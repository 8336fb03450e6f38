// SPDX-License-Identifier: GPL-2.0-or-later
/* Flow records: an interval's text, what is missing between two, and what a peer has too many of.
 */
#include "facts.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include "flows/fold.h"
#include "maps/reason.h"
#include "maps/words.h"

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
	const struct flows_known known = { &was, 1 };
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
	f.known = &known;
	assert_true(balances(&count, &f, why));
	was.after.drop_bytes--;
	assert_false(balances(&count, &f, why));
	assert_non_null(strstr(why, "between two intervals"));
	was.cpu = 1; /* a counter of another CPU is not compared */
	assert_true(balances(&count, &f, why));
}

static void what_is_missing_has_a_name(void **state)
{
	struct flows_id was = { "b007", 77, 5, false }, now = { "b007", 77, 6, false };
	char gap[256];

	(void)state;
	assert_false(flows_gap(&was, &now, 0, gap, sizeof(gap)));
	now.interval = 9;
	assert_true(flows_gap(&was, &now, 0, gap, sizeof(gap)));
	assert_non_null(strstr(gap, "intervals 6 to 8 of these tables"));
	assert_false(flows_gap(NULL, &first, 0, gap, sizeof(gap)));
	assert_true(flows_gap(NULL, &now, 0, gap, sizeof(gap)));
	assert_non_null(strstr(gap, "intervals 1 to 8"));
	/* new tables, and the previous ones were not closed */
	now = (struct flows_id){ "b007", 78, 1, false };
	assert_true(flows_gap(&was, &now, 77, gap, sizeof(gap)));
	assert_non_null(strstr(gap, "after their interval 5"));
	was.last = true;
	assert_false(flows_gap(&was, &now, 77, gap, sizeof(gap)));
	strcpy(now.boot, "b008");
	assert_false(flows_gap(&was, &now, 0, gap, sizeof(gap)));
}

static void tables_that_came_and_went_while_nobody_read_are_named(void **state)
{
	struct flows_id was = { "b007", 77, 5, true }, now = { "b007", 79, 1, false };
	char gap[256];

	(void)state;
	assert_true(flows_gap(&was, &now, 78, gap, sizeof(gap)));
	assert_non_null(strstr(gap, "came and went"));
	assert_false(flows_gap(&was, &now, 77, gap, sizeof(gap)));
	assert_true(flows_gap(NULL, &now, 78, gap, sizeof(gap)));
	strcpy(now.boot, "b008"); /* also if they went since the boot */
	assert_true(flows_gap(&was, &now, 78, gap, sizeof(gap)));
	now = was;
	now.interval++; /* the same tables: nothing is missing, whatever came before them */
	assert_false(flows_gap(&was, &now, 76, gap, sizeof(gap)));
}

static void of_a_counter_the_greater_is_kept(void **state)
{
	struct bwl_book_cpu one = { .peer = 7, .after = { 12, 100, 0, 0 } },
			    two = { .peer = 7, .cpu = 1, .after = { 3, 100, 0, 0 } };
	struct bwl_book b = { .count = &one, .ncounts = 1, .other_known = true };
	struct flows_known k = { 0 };

	(void)state;
	assert_int_equal(flows_known_learn(&k, &b), 0);
	b.count = &two;
	assert_int_equal(flows_known_learn(&k, &b), 0);
	assert_int_equal(k.n, 2);
	one.after.frames = 11; /* by the old programs, as the old tables report */
	b.count = &one;
	assert_int_equal(flows_known_learn(&k, &b), 0);
	assert_int_equal(flows_known_find(&k, 7, 0)->after.frames, 12);
	one.after.frames = 20;
	assert_int_equal(flows_known_learn(&k, &b), 0);
	assert_int_equal(flows_known_find(&k, 7, 0)->after.frames, 20);
	assert_int_equal(flows_known_find(&k, 7, 1)->after.frames, 3);
	assert_null(flows_known_find(&k, 8, 0));
	flows_known_free(&k);
}

/*
 * Such packets appear only in the total: their peers' counters moved, but no interval of theirs
 * says so.
 */
static void counters_of_peers_without_a_place_are_forgotten(void **state)
{
	struct bwl_book_cpu one = { .peer = 7, .after = { 12, 100, 0, 0 } },
			    two = { .peer = 8, .after = { 3, 100, 0, 0 } };
	struct bwl_book b = { .count = &one, .ncounts = 1, .other_known = true };
	struct flows_known k = { 0 };

	(void)state;
	assert_int_equal(flows_known_learn(&k, &b), 0);
	b = (struct bwl_book){
		.count = &two, .ncounts = 1, .other_known = true, .other = { .frames = 1 }
	};
	assert_int_equal(flows_known_learn(&k, &b), 0);
	assert_null(flows_known_find(&k, 7, 0));
	assert_non_null(flows_known_find(&k, 8, 0));
	b = (struct bwl_book){ 0 }; /* not known whether there were such packets */
	assert_int_equal(flows_known_learn(&k, &b), 0);
	assert_int_equal(k.n, 0);
	flows_known_free(&k);
}

static struct bwl_flow *flow_to(struct bwl_flow *f, unsigned peer, unsigned port, uint64_t bytes)
{
	*f = (struct bwl_flow){ .key = { .ports = port,
					 .who = peer,
					 .what = bwl_rec_what(BWL_REC_FLOW, 1, BWL_C_HTTPS,
							      BWL_R_PASS) |
						 17ULL << 32 },
				.frames = 1,
				.bytes = bytes,
				.charged = bytes + 4 };
	return f;
}

static void a_peer_has_so_many_lines_and_the_rest_is_its_remainder(void **state)
{
	struct bwl_flow f[60];
	struct bwl_book b = { .flow = f, .nflows = 60 };
	uint64_t bytes = 0, charged = 0;
	unsigned i, flows[3] = { 0 }, rests[3] = { 0 };

	(void)state;
	for (i = 0; i < 50; i++)
		flow_to(&f[i], 1, i, i % 2 ? 1000 + i : 60);
	for (; i < 60; i++)
		flow_to(&f[i], 2, i, 60);
	assert_int_equal(flows_fold(&b, 60), 0);
	assert_int_equal(flows_fold(&b, 20), 30);
	for (i = 0; i < b.nflows; i++) {
		bytes += f[i].bytes;
		charged += f[i].charged;
		if (bwl_flow_kind(&f[i]) == BWL_REC_FLOW) {
			flows[bwl_flow_peer(&f[i])]++;
			assert_true(bwl_flow_peer(&f[i]) == 2 || f[i].bytes >= 1011);
			continue;
		}
		rests[bwl_flow_peer(&f[i])]++;
		assert_int_equal(f[i].frames, 30);
		assert_int_equal(f[i].key.ports, 0);
		assert_int_equal(bwl_flow_class(&f[i]), BWL_C_HTTPS);
		assert_int_equal(bwl_flow_proto(&f[i]), 0);
	}
	assert_int_equal(flows[1], 20);
	assert_int_equal(rests[1], 1);
	assert_int_equal(flows[2], 10);
	assert_int_equal(rests[2], 0);
	assert_int_equal(bytes, 25 * 60 + 25 * 1025 + 10 * 60);
	assert_int_equal(charged, bytes + 60 * 4);
}

static void sparse_cpu_numbers_have_room(void **state)
{
	(void)state;
	assert_int_equal(bwl_rec_cpus_of("0-1\n"), 2);
	assert_int_equal(bwl_rec_cpus_of("0\n"), 1);
	assert_int_equal(bwl_rec_cpus_of("0-3,8\n"), 9);
	assert_int_equal(bwl_rec_cpus_of("0,2-127"), 128);
	assert_int_equal(bwl_rec_cpus_of(""), 0);
	assert_int_equal(bwl_rec_cpus_of("\n"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interval_says_what_it_holds),
		cmocka_unit_test(a_byte_too_few_or_between_two_intervals_is_told),
		cmocka_unit_test(what_is_missing_has_a_name),
		cmocka_unit_test(tables_that_came_and_went_while_nobody_read_are_named),
		cmocka_unit_test(of_a_counter_the_greater_is_kept),
		cmocka_unit_test(counters_of_peers_without_a_place_are_forgotten),
		cmocka_unit_test(a_peer_has_so_many_lines_and_the_rest_is_its_remainder),
		cmocka_unit_test(sparse_cpu_numbers_have_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
