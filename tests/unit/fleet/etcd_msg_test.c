// SPDX-License-Identifier: GPL-2.0-or-later
/* etcd's messages, compared with bytes written by hand from etcd's rpc.proto. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fleet/store/etcd.h"
#include "../test.h"

static void said(struct bwl_pb_out *o, const char *want, size_t len)
{
	assert_int_equal(o->len, len);
	assert_memory_equal(o->at, want, len);
	free(o->at);
	*o = (struct bwl_pb_out){ 0 };
}
#define SAID(o, want) said(o, want, sizeof(want) - 1)

static void what_is_said_is_as_the_schema_has_it(void **state)
{
	struct bwl_etcd_range r = {
		.key = "/a/", .end = "/a0", .limit = 300, .revision = 7, .keys_only = true
	};
	struct bwl_etcd_put p = { .key = "k", .value = "v", .len = 1, .lease = 5, .was = 0 };
	struct bwl_pb_out o = { 0 };

	(void)state;
	bwl_etcd_say_range(&o, &r);
	SAID(&o, "\x0a\x03/a/\x12\x03/a0\x18\xac\x02\x20\x07\x40\x01");
	r.keys_only = false;
	r.oldest_first = true;
	bwl_etcd_say_range(&o, &r);
	SAID(&o, "\x0a\x03/a/\x12\x03/a0\x18\xac\x02\x20\x07\x28\x01\x30\x02");
	bwl_etcd_say_put(&o, &p);
	SAID(&o, "\x0a\x01k\x12\x01v\x18\x05");
	bwl_etcd_say_txn(&o, &p, 1);
	SAID(&o, "\x0a\x07\x10\x02\x1a\x01k\x30\x00" /* compare: mod_revision of k is 0 */
		 "\x12\x0a\x12\x08\x0a\x01k\x12\x01v\x18\x05");
	p.was = BWL_ETCD_ANY;
	bwl_etcd_say_txn(&o, &p, 1);
	SAID(&o, "\x12\x0a\x12\x08\x0a\x01k\x12\x01v\x18\x05");
	/* compares create_revision with 9, and changes nothing */
	p = (struct bwl_etcd_put){
		.key = "k", .op = BWL_ETCD_COMPARE, .was = BWL_ETCD_ANY, .created = 9
	};
	bwl_etcd_say_txn(&o, &p, 1);
	SAID(&o, "\x0a\x07\x10\x01\x1a\x01k\x28\x09");
	p = (struct bwl_etcd_put){ .key = "k", .op = BWL_ETCD_DELETE, .was = BWL_ETCD_ANY };
	bwl_etcd_say_txn(&o, &p, 1);
	SAID(&o, "\x12\x05\x1a\x03\x0a\x01k");
	bwl_etcd_say_grant(&o, 30);
	SAID(&o, "\x08\x1e");
	r.revision = 9;
	bwl_etcd_say_watch(&o, &r, 2);
	SAID(&o, "\x0a\x12\x0a\x03/a/\x12\x03/a0\x18\x09\x20\x01\x38\x02\x40\x01");
	bwl_etcd_say_progress(&o);
	SAID(&o, "\x1a\x00");
}

static int none(void *arg, const struct bwl_etcd_kv *kv)
{
	(void)kv;
	++*(unsigned *)arg;
	return 0;
}

static void a_field_of_another_kind_is_no_message(void **state)
{
	struct bwl_etcd_status status;
	struct bwl_etcd_watch watch;
	struct bwl_etcd_page page;
	int64_t a, b;
	bool done;
	unsigned n = 0;

	(void)state;
	assert_int_equal(bwl_etcd_hear_range(bwl_pb_in("\x08\x01", 2), none, &n, &page), -EBADMSG);
	assert_int_equal(bwl_etcd_hear_range(bwl_pb_in("\x10\x01", 2), none, &n, &page), -EBADMSG);
	assert_int_equal(bwl_etcd_hear_txn(bwl_pb_in("\x12\x00", 2), &done, &a), -EBADMSG);
	assert_int_equal(bwl_etcd_hear_lease(bwl_pb_in("\x12\x00", 2), &a, &b), -EBADMSG);
	assert_int_equal(bwl_etcd_hear_status(bwl_pb_in("\x10\x01", 2), &status), -EBADMSG);
	assert_int_equal(bwl_etcd_hear_watch(bwl_pb_in("\x58\x01", 2), none, &n, &watch), -EBADMSG);
	assert_int_equal(n, 0);
}

static int see(void *arg, const struct bwl_etcd_kv *kv)
{
	struct bwl_etcd_kv *ret = arg;

	*ret = *kv;
	return 0;
}

static void events_say_what_came_and_what_went(void **state)
{
	static const char put[] = "\x0a\x04\x18\x09\x20\x02\x10\x01"
				  "\x5a\x0e\x12\x0c\x0a\x01k\x10\x03\x18\x09\x20\x02\x2a\x01v";
	static const char del[] = "\x5a\x09\x08\x01\x12\x05\x0a\x01k\x18\x0a";
	static const char gone[] = "\x20\x01\x28\x06";
	struct bwl_etcd_watch w;
	struct bwl_etcd_kv kv = { 0 };

	(void)state;
	assert_int_equal(bwl_etcd_hear_watch(bwl_pb_in(put, sizeof(put) - 1), see, &kv, &w), 0);
	assert_true(w.revision == 9 && w.id == 1 && !w.canceled && !w.compacted);
	assert_true(!kv.gone && kv.mod == 9 && kv.version == 2 && bwl_pb_len(kv.value) == 1);
	assert_int_equal(bwl_etcd_hear_watch(bwl_pb_in(del, sizeof(del) - 1), see, &kv, &w), 0);
	assert_true(kv.gone && kv.mod == 10 && !bwl_pb_len(kv.value));
	assert_int_equal(bwl_etcd_hear_watch(bwl_pb_in(gone, sizeof(gone) - 1), see, &kv, &w), 0);
	assert_true(w.canceled && w.compacted == 6);
}

static void versions_with_known_holes_are_refused(void **state)
{
	static const char *const bad[] = {
		"3.4.23", "3.4.42",      "3.5.16", "3.5.30", "3.5.32", "3.6.13", "3.7.0",
		"3.3.1",  "3.5.33-rc.0", "3.5",    "2.3.8",  "4.0.0",  "",       "x"
	};
	static const char *const good[] = { "3.5.33", "3.5.40", "3.6.14", "3.7.1", "3.8.0" };
	struct bwl_err e;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		e = (struct bwl_err){ 0 };
		assert_int_equal(bwl_etcd_version_ok(bad[i], &e), -EPERM);
		assert_true(*e.hint);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(bwl_etcd_version_ok(good[i], NULL), 0);
	bwl_etcd_version_ok("3.4.23", &e);
	assert_non_null(strstr(e.text, "CVE-2026-33343"));
	bwl_etcd_version_ok("3.5.30", &e);
	assert_null(strstr(e.text, "CVE-2026-33343"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_said_is_as_the_schema_has_it),
		cmocka_unit_test(a_field_of_another_kind_is_no_message),
		cmocka_unit_test(events_say_what_came_and_what_went),
		cmocka_unit_test(versions_with_known_holes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
