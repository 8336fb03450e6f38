// SPDX-License-Identifier: GPL-2.0-or-later
/* The log's entry for an interval, and the peers that it covers. */
#include "rig.h"

static void an_entry_is_what_the_log_has(void **state)
{
	struct ev_interval v = interval_of(file_of(1, 3, 5, false, false));
	struct ev_entry x, back;
	struct bwl_checkpoint c;
	char *line, *proof, *at;
	json_t *data, *again;
	uint64_t n;
	size_t len;

	(void)state;
	assert_true(ev_entry_of(&v, 20000, NULL, &x));
	data = ev_entry_json(&x);
	assert_int_equal(ev_entry_parse(data, &back, NULL), 0);
	again = ev_entry_json(&back); /* not as memory: between members there may be anything */
	assert_true(json_equal(data, again));
	json_decref(again);
	assert_null(ev_entry_wrong(&x, v.peer, v.slots));
	enter(&x, &line, &proof);
	assert_int_equal(ev_entry_check(&trust, line, strlen(line), proof, strlen(proof), &back, &n,
					&c, NULL),
			 0);
	at = strstr(line, "00000000004500");
	assert_non_null(at); /* 3 peers of 1500 bytes */
	at[13] = '1';
	assert_int_not_equal(ev_entry_check(&trust, line, strlen(line), proof, strlen(proof), &back,
					    &n, &c, NULL),
			     0);
	free(line);
	free(proof);
	record_number = 1; /* not its place in the log */
	enter(&x, &line, &proof);
	record_number = 0;
	assert_int_not_equal(ev_entry_check(&trust, line, strlen(line), proof, strlen(proof), &back,
					    &n, &c, NULL),
			     0);
	/* the entry of another interval, with more peers and traffic, is equally long */
	len = json_dumpb(data, NULL, 0, JSON_COMPACT);
	ev_interval_free(&v);
	json_decref(data);
	v = interval_of(file_of(123456, 15, 100, false, false));
	assert_true(ev_entry_of(&v, 20001, &x.root, &x));
	data = ev_entry_json(&x);
	assert_int_equal(json_dumpb(data, NULL, 0, JSON_COMPACT), len);
	json_decref(data);
	free(line);
	free(proof);
	ev_interval_free(&v);
}

static void peers_are_those_of_the_entry(void **state)
{
	struct ev_interval v = interval_of(file_of(1, 20, 3, false, false));
	uint32_t slot;
	struct ev_entry x;
	struct ev_peer was;
	json_t *o;

	(void)state;
	assert_int_equal(v.slots, 32); /* padded */
	assert_true(ev_entry_of(&v, 1, NULL, &x));
	slot = slot_of(&v, "p3");
	o = ev_peer_json(&v.peer[slot]);
	assert_int_equal(ev_peer_parse(o, &was, NULL), 0); /* unchanged */
	json_decref(o);
	ev_peer_free(&v.peer[slot]);
	v.peer[slot] = was;
	assert_null(ev_entry_wrong(&x, v.peer, v.slots));
	v.peer[slot].flows.v[EV_BYTES]++;
	assert_non_null(ev_entry_wrong(&x, v.peer, v.slots));
	v.peer[slot].flows.v[EV_BYTES]--;
	x.total[EV_FLOWS].v[EV_BYTES]++;
	assert_non_null(ev_entry_wrong(&x, v.peer, v.slots));
	x.total[EV_FLOWS].v[EV_BYTES]--;
	assert_non_null(ev_entry_wrong(&x, v.peer, v.slots - 1));
	was = v.peer[4];
	v.peer[4] = v.peer[5]; /* one left out, one twice */
	assert_non_null(strstr(ev_entry_wrong(&x, v.peer, v.slots), "duplicate peer"));
	v.peer[4] = was;
	assert_null(ev_peer_wrong(&v.peer[slot]));
	v.peer[slot].cpu[0].after.v[EV_BYTES]++;
	assert_non_null(ev_peer_wrong(&v.peer[slot]));
	ev_interval_free(&v);
}

static void the_same_peers_are_of_one_interval(void **state)
{
	struct ev_interval v = interval_of(file_of(1, 3, 5, false, false));
	struct ev_entry x;

	(void)state;
	assert_true(ev_entry_of(&v, 1, NULL, &x));
	assert_null(ev_entry_wrong(&x, v.peer, v.slots)); /* control */
	x.id.interval++;
	assert_non_null(ev_entry_wrong(&x, v.peer, v.slots));
	x.id.interval--;
	x.id.tables++;
	assert_non_null(ev_entry_wrong(&x, v.peer, v.slots));
	x.id.tables--;
	x.id.boot[0] = 'f';
	assert_non_null(ev_entry_wrong(&x, v.peer, v.slots));
	ev_interval_free(&v);
}

/* The entry with a field set to that text of JSON; NULL: without it. */
static int parse_with(const char *field, const char *json, struct bwl_err *e)
{
	struct ev_interval v = interval_of(file_of(1, 3, 5, false, false));
	struct ev_entry x, back;
	json_t *data;
	int r;

	assert_true(ev_entry_of(&v, 20000, NULL, &x));
	data = ev_entry_json(&x);
	if (json)
		json_object_set_new(data, field, json_loads(json, JSON_DECODE_ANY, NULL));
	else
		json_object_del(data, field);
	*e = (struct bwl_err){ 0 };
	r = ev_entry_parse(data, &back, e);
	json_decref(data);
	ev_interval_free(&v);
	return r;
}

/* Each says which field it is and what it must be: none is taken for "nothing to check". */
static void what_cannot_be_read_is_named(void **state)
{
	static const struct {
		const char *field, *json, *must;
	} wrong[] = {
		{ "end", NULL, "YYYY-MM-DD" },
		{ "end", "\"tomorrow\"", "YYYY-MM-DD" },
		{ "end", "\"\"", "YYYY-MM-DD" },
		{ "end", "null", "YYYY-MM-DD" },
		{ "end", "\"2026-02-31T00:00:00.000Z\"", "YYYY-MM-DD" },
		{ "end", "\"2026-09-21T24:00:00.000Z\"", "YYYY-MM-DD" },
		{ "end", "\"2026-09-21T23:59:60.000Z\"", "YYYY-MM-DD" },
		{ "end", "\"2026-09-21T14:13:20.000\"", "YYYY-MM-DD" },
		{ "end", "\"2026-09-21T14:13:20.000+01\"", "YYYY-MM-DD" },
		{ "end", "\"1969-09-21T14:13:20.000Z\"", "YYYY-MM-DD" },
		{ "end", "\"0000-00-00T00:00:00.001Z\"", "YYYY-MM-DD" },
		{ "begin", "\"soon\"", "YYYY-MM-DD" },
		{ "boot", "\"\"", "1 to 39 bytes" },
		{ "epoch", "\"-0000000000000000001\"", "20 digits" },
		{ "epoch", "20717", "20 digits" },
		{ "epoch", "\"99999999999999999999\"", "2^64" },
		{ "gap", "2", "0 or 1" },
		{ "gap", "false", "0 or 1" },
		{ "gap", NULL, "0 or 1" },
		{ "other", "[]", "four numbers" },
		{ "after", NULL, "four numbers" },
		{ "slots", "\"00000000000000000017\"", "power of two" },
		{ "root", "\"00\"", "64 hexadecimal" },
		{ "version", NULL, "from 1 on" },
		{ "version", "0", "from 1 on" },
		{ "version", "\"2\"", "from 1 on" },
	};
	struct bwl_err e;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(parse_with(wrong[i].field, wrong[i].json, &e), -EBADMSG);
		assert_non_null(strstr(e.text, wrong[i].field));
		assert_non_null(strstr(e.text, wrong[i].must));
	}
	assert_int_equal(parse_with("end", "\"0000-00-00T00:00:00.000Z\"", &e), 0);
	assert_int_equal(parse_with("end", "\"2028-02-29T00:00:00Z\"", &e), 0);
}

static void what_is_of_a_later_version_is_not_judged(void **state)
{
	struct ev_interval v = interval_of(file_of(1, 3, 5, false, false));
	struct bwl_err e = { 0 };
	struct ev_record r;
	struct ev_peer p;
	char name[EV_NAME];
	json_t *o;

	(void)state;
	assert_int_equal(parse_with("version", "2", &e), -EV_NEWER);
	assert_non_null(strstr(e.text, "version 2"));
	assert_int_equal(parse_with("mend", "1", &e), -EV_NEWER);
	assert_non_null(strstr(e.text, "`mend`"));
	assert_int_equal(parse_with("e\x1b[2J", "1", &e), -EV_NEWER);
	assert_null(strchr(e.text, '\x1b'));
	o = ev_peer_json(&v.peer[0]);
	json_object_set_new(o, "flows2", json_array());
	assert_int_equal(ev_peer_parse(o, &p, &e), -EV_NEWER);
	ev_peer_free(&p);
	json_object_del(o, "flows"); /* but without what this one has, it is simply wrong */
	assert_int_equal(ev_peer_parse(o, &p, &e), -EBADMSG);
	assert_non_null(strstr(e.text, "`flows` is missing"));
	ev_peer_free(&p);
	json_decref(o);
	/* whoever does not balance says why, and nobody else does */
	o = ev_peer_json(&v.peer[0]);
	json_object_set_new(o, "balanced", json_false());
	assert_int_equal(ev_peer_parse(o, &p, &e), -EBADMSG);
	assert_non_null(strstr(e.text, "`why`"));
	ev_peer_free(&p);
	json_object_set_new(o, "why", json_string("its counter moved"));
	assert_int_equal(ev_peer_parse(o, &p, &e), 0);
	ev_peer_free(&p);
	json_decref(o);
#define FLOW(reason, way, more)                                                                    \
	"{\"kind\":\"flow\",\"id\":1,\"peer\":\"p\",\"direction\":\"" way                          \
	"\",\"class\":\"other\",\"reason\":\"" reason                                              \
	"\",\"frames\":1,\"bytes\":90,\"charged_bytes\":100" more "}"
#define PARSE(line) ev_record_parse(line, strlen(line), &r, name, &e)
	assert_int_equal(PARSE(FLOW("pass", "out", "")), 0); /* control */
	assert_int_equal(PARSE(FLOW("pass-by", "out", "")), -EV_NEWER);
	assert_int_equal(PARSE(FLOW("granted", "out", "")), -EV_NEWER);
	assert_int_equal(PARSE(FLOW("pass", "out", ",\"bytes2\":5")), -EV_NEWER);
	assert_int_equal(PARSE(FLOW("pass", "up", "")), -EBADMSG);
	assert_false(
		ev_record_scan(FLOW("granted", "out", ""), strlen(FLOW("granted", "out", "")), &r));
	ev_interval_free(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_what_the_log_has),
		cmocka_unit_test(peers_are_those_of_the_entry),
		cmocka_unit_test(the_same_peers_are_of_one_interval),
		cmocka_unit_test(what_cannot_be_read_is_named),
		cmocka_unit_test(what_is_of_a_later_version_is_not_judged),
	};

	return cmocka_run_group_tests(tests, make_key, NULL);
}
