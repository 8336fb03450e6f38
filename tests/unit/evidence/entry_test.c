// SPDX-License-Identifier: GPL-2.0-or-later
/* The log's entry for an interval, and the peers that it covers. */
#include "rig.h"

static void an_entry_is_what_the_log_has(void **state)
{
	struct ev_interval v = interval_of(file_of(1, 3, 5, false, false));
	struct ev_entry x, back;
	struct bwl_checkpoint c;
	char *line, *proof, *at;
	json_t *data;
	uint64_t n;
	size_t len;

	(void)state;
	assert_true(ev_entry_of(&v, 20000, NULL, &x));
	data = ev_entry_json(&x);
	assert_true(ev_entry_parse(data, &back));
	assert_memory_equal(&x, &back, sizeof(x));
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
	assert_true(ev_peer_parse(o, &was)); /* unchanged */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_what_the_log_has),
		cmocka_unit_test(peers_are_those_of_the_entry),
		cmocka_unit_test(the_same_peers_are_of_one_interval),
	};

	return cmocka_run_group_tests(tests, make_key, NULL);
}
