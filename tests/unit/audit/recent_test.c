// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The end of a log, for people: what is in it, what is not, and that nobody can push entries out of
 * it.
 */
#include "log_rig.h"
#include "audit/recent.h"

static struct bwl_audit_recent *v;
static json_t *lines;

static int begin(void **state)
{
	set_up(state);
	v = bwl_audit_recent_new(dir);
	lines = NULL;
	return 0;
}

static int end(void **state)
{
	json_decref(lines);
	bwl_audit_recent_free(v);
	return tear_down(state);
}

static struct bwl_audit_log *opened(void)
{
	struct bwl_audit_log *l;

	assert_int_equal(bwl_audit_open(dir, &l, &e), 0);
	return l;
}

static void say(struct bwl_audit_log *l, enum bwl_audit_urgency u, const char *event,
		const char *text, json_t *data)
{
	assert_int_equal(bwl_audit_append(l, u, event, text, data, NULL, &e), 0);
	json_decref(data);
}

static int look(void)
{
	int r = bwl_audit_recent_read(v, &e);

	json_decref(lines);
	lines = bwl_audit_recent_lines(v);
	return r;
}

static const char *of(size_t i, const char *key)
{
	const char *s = json_string_value(json_object_get(json_array_get(lines, i), key));

	return s ? s : "(none)";
}

static size_t with(const char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(lines); i++)
		n += !strncmp(of(i, "text"), text, strlen(text));
	return n;
}

static void each_record_is_a_line_once_and_without_its_data(void **state)
{
	struct bwl_audit_log *l = opened();

	(void)state;
	assert_int_equal(look(), 1); /* the checkpoint at its beginning */
	assert_int_equal(json_array_size(lines), 0);
	assert_int_equal(look(), 0);
	say(l, BWL_AUDIT_AFTER, "grant", "grant d1", json_pack("{s:s}", "secret", "data"));
	assert_int_equal(look(), 1);
	assert_int_equal(look(), 0);
	say(l, BWL_AUDIT_AFTER, "revoke", "revoke d1", NULL);
	assert_int_equal(look(), 1);
	assert_int_equal(json_array_size(lines), 2);
	assert_string_equal(of(0, "text"), "grant d1");
	assert_string_equal(of(1, "event"), "revoke");
	assert_string_equal(of(1, "program"), program_invocation_short_name);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(lines, 1), "record")),
			 1);
	assert_int_equal(json_object_size(json_array_get(lines, 0)), 7);
	assert_null(json_object_get(json_array_get(lines, 0), "data"));
	bwl_audit_close(l);
}

static void a_level_is_the_one_that_was_said(void **state)
{
	struct bwl_audit_log *l = opened();

	(void)state;
	say(l, BWL_AUDIT_AFTER, "ledger", "a", json_pack("{s:s}", "level", "critical"));
	say(l, BWL_AUDIT_AFTER, "tamper", "b", json_pack("{s:s}", "level", "warning"));
	say(l, BWL_AUDIT_AFTER, "tamper", "c", NULL);
	say(l, BWL_AUDIT_AFTER, "failed", "d", NULL);
	say(l, BWL_AUDIT_AFTER, "grant", "e", NULL);
	look();
	assert_string_equal(of(0, "level"), "critical");
	assert_string_equal(of(1, "level"), "warning");
	assert_string_equal(of(2, "level"), "alert");
	assert_string_equal(of(3, "level"), "warning");
	assert_string_equal(of(4, "level"), "notice");
	bwl_audit_close(l);
}

static bool is_acknowledged(size_t i)
{
	return json_is_true(json_object_get(json_array_get(lines, i), "acknowledged"));
}

static void a_sign_is_acknowledged_by_a_later_record_and_one_that_comes_then_is_not(void **state)
{
	struct bwl_audit_log *l = opened();

	(void)state;
	say(l, BWL_AUDIT_AFTER, "tamper", "first", NULL);
	say(l, BWL_AUDIT_AFTER, "grant", "d1", NULL);
	say(l, BWL_AUDIT_AFTER, "tamper", "not seen yet", NULL);
	look();
	assert_false(is_acknowledged(0) || is_acknowledged(1) || is_acknowledged(2));
	say(l, BWL_AUDIT_AFTER, "ack", "no number", NULL);
	say(l, BWL_AUDIT_AFTER, "ack", "no number", json_pack("{s:s}", "record", "9"));
	say(l, BWL_AUDIT_AFTER, "grant", "another event", json_pack("{s:i}", "record", 9));
	look();
	assert_false(is_acknowledged(0));
	say(l, BWL_AUDIT_AFTER, "ack", "of the first", json_pack("{s:i}", "record", 1));
	assert_int_equal(look(), 1);
	assert_true(is_acknowledged(0));
	assert_false(is_acknowledged(1)); /* not a sign of tampering */
	assert_false(is_acknowledged(2));
	say(l, BWL_AUDIT_AFTER, "ack", "of more than there are", json_pack("{s:i}", "record", 99));
	say(l, BWL_AUDIT_AFTER, "tamper", "new", NULL);
	look();
	assert_true(is_acknowledged(2));
	assert_string_equal(of(8, "text"), "new");
	assert_false(is_acknowledged(8));
	bwl_audit_close(l);
}

static void what_was_only_intended_stands_until_it_is_said_what_became_of_it(void **state)
{
	struct bwl_audit_log *l = opened();

	(void)state;
	say(l, BWL_AUDIT_BEFORE, "intent", "grant d1", NULL);
	say(l, BWL_AUDIT_EVENT, "exhausted", "a host's", NULL);
	look();
	assert_int_equal(with("grant d1"), 1);
	assert_string_equal(of(0, "event"), "intent");
	say(l, BWL_AUDIT_AFTER, "grant", "grant d1", NULL);
	look();
	assert_int_equal(with("grant d1"), 1);
	assert_string_equal(of(1, "event"), "grant");
	bwl_audit_close(l);
}

static void a_host_pushes_nothing_out(void **state)
{
	struct bwl_audit_log *l = opened();

	(void)state;
	say(l, BWL_AUDIT_AFTER, "tamper", "alarm", NULL);
	say(l, BWL_AUDIT_AFTER, "totals", "totals", NULL);
	for (unsigned i = 0; i < 2 * BWL_AUDIT_RECENT; i++) {
		say(l, BWL_AUDIT_JUNK, "drop", "junk", NULL);
		say(l, BWL_AUDIT_EVENT, "gate", "host", NULL);
		if (i % 50 == 0)
			look();
	}
	look();
	assert_int_equal(with("alarm"), 1);
	assert_int_equal(with("junk") + with("totals"), 0);
	assert_int_equal(with("host"), BWL_AUDIT_RECENT - 1);
	for (unsigned i = 0; i < BWL_AUDIT_RECENT; i++)
		say(l, BWL_AUDIT_AFTER, "grant", "operator", NULL);
	look();
	assert_int_equal(json_array_size(lines), BWL_AUDIT_RECENT);
	assert_int_equal(with("host"), 0);
	bwl_audit_close(l);
}

static void the_lines_have_room_in_64_kib(void **state)
{
	struct bwl_audit_log *l = opened();
	char text[2000];
	char *all;

	(void)state;
	memset(text, '\x01', sizeof(text) - 1); /* each takes six bytes in JSON */
	text[sizeof(text) - 1] = '\0';
	for (unsigned i = 0; i < 20; i++)
		say(l, BWL_AUDIT_AFTER, "grant", text, NULL);
	say(l, BWL_AUDIT_AFTER, "grant", "last", NULL);
	look();
	all = json_dumps(lines, JSON_COMPACT);
	assert_in_range(strlen(all), 40000, BWL_AUDIT_RECENT_BYTES + 2);
	assert_int_equal(with("last"), 1);
	free(all);
	bwl_audit_close(l);
}

static void it_follows_through_new_files_and_pruned_ones(void **state)
{
	struct bwl_audit_log *l = small_log(40000);
	char text[40];

	(void)state;
	for (unsigned i = 0; i < 500; i++) {
		mix(l, i, NULL); /* one in ten is an operator's */
		if (i % 3 == 0)
			look();
	}
	look();
	shell("test ! -e %s/log-00000000000000000000.jsonl", dir); /* pruned */
	for (unsigned i = 0; i < 500; i += 10) {
		size_t n = 0;

		snprintf(text, sizeof(text), "operator %u", i);
		for (size_t k = 0; k < json_array_size(lines); k++)
			n += !strcmp(of(k, "text"), text);
		assert_int_equal(n, 1);
	}
	/* the file that was read last is deleted */
	for (unsigned i = 501; i < 550; i++)
		mix(l, i, NULL);
	shell("ls %s/log-*.jsonl | head -n -1 | xargs rm", dir);
	assert_int_equal(look(), 1);
	assert_int_equal(with("operator 490"), 1);
	/* a new reader sees what is still there */
	bwl_audit_recent_free(v);
	v = bwl_audit_recent_new(dir);
	assert_int_equal(look(), 1);
	assert_int_equal(with("operator 490"), 0);
	say(l, BWL_AUDIT_AFTER, "grant", "last", NULL);
	look();
	assert_int_equal(with("last"), 1);
	bwl_audit_close(l);
}

static void a_line_that_is_being_written_comes_when_it_is_whole(void **state)
{
	struct bwl_audit_log *l = opened();

	(void)state;
	say(l, BWL_AUDIT_AFTER, "grant", "first", NULL);
	look();
	shell("f=$(ls %s/log-*.jsonl); grep '\"n\":' $f | sed 's/\"n\":0/\"n\":1/; s/first/second/' >%s.line; head -c 40 %s.line >>$f",
	      dir, dir, dir);
	look();
	assert_int_equal(json_array_size(lines), 1);
	shell("f=$(ls %s/log-*.jsonl); tail -c +41 %s.line >>$f; rm %s.line", dir, dir, dir);
	assert_int_equal(look(), 1);
	assert_string_equal(of(1, "text"), "second");
	/* a line that is not a record is skipped */
	shell("f=$(ls %s/log-*.jsonl); printf 'x\\n' >>$f", dir);
	look();
	assert_int_equal(json_array_size(lines), 2);
	bwl_audit_close(l);
}

static void another_log_in_its_place_is_read_anew(void **state)
{
	struct bwl_audit_log *l = opened();
	char key[BWL_NOTE_KEY_TEXT];

	(void)state;
	say(l, BWL_AUDIT_AFTER, "grant", "old one", NULL);
	say(l, BWL_AUDIT_AFTER, "grant", "old two", NULL);
	look();
	bwl_audit_close(l);
	shell("mv %s %s", dir, other);
	assert_int_equal(bwl_audit_recent_read(v, &e), -ENOENT);
	assert_int_equal(bwl_audit_init(dir, "bwlimit/test", key, &e), 0);
	l = opened();
	say(l, BWL_AUDIT_AFTER, "grant", "new", NULL);
	assert_int_equal(look(), 1);
	assert_int_equal(json_array_size(lines), 1);
	assert_string_equal(of(0, "text"), "new");
	bwl_audit_close(l);
}

#define R(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		R(each_record_is_a_line_once_and_without_its_data),
		R(a_level_is_the_one_that_was_said),
		R(a_sign_is_acknowledged_by_a_later_record_and_one_that_comes_then_is_not),
		R(what_was_only_intended_stands_until_it_is_said_what_became_of_it),
		R(a_host_pushes_nothing_out),
		R(the_lines_have_room_in_64_kib),
		R(it_follows_through_new_files_and_pruned_ones),
		R(a_line_that_is_being_written_comes_when_it_is_whole),
		R(another_log_in_its_place_is_read_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
