// SPDX-License-Identifier: GPL-2.0-or-later
/* An interval is shown, in whole or in part. Every change of what is shown is found. */
#include "rig.h"

static json_t *document_of(const struct ev_interval *v, json_t *peers)
{
	struct ev_entry x;
	char *line, *proof;
	json_t *doc;

	assert_true(ev_entry_of(v, 20000, NULL, &x));
	enter(&x, &line, &proof);
	doc = json_pack("{s:i,s:s,s:[o]}", "version", 1, "kind", EV_OPENING_KIND, "intervals",
			ev_open_interval(line, proof, peers));
	free(line);
	free(proof);
	return doc;
}

static json_t *peer_at(json_t *doc, size_t i)
{
	return json_array_get(
		json_object_get(json_array_get(json_object_get(doc, "intervals"), 0), "peers"), i);
}

static json_t *record_at(json_t *doc, size_t peer, size_t i)
{
	return json_array_get(json_object_get(peer_at(doc, peer), "records"), i);
}

static json_t *all_of(const struct ev_interval *v)
{
	json_t *a = json_array();

	for (uint32_t i = 0; i < v->slots; i++)
		json_array_append_new(a, ev_open_peer(v, i));
	return document_of(v, a);
}

static void what_is_shown_holds(void **state)
{
	struct ev_interval v = interval_of(file_of(1, 3, 5, false, false));
	uint32_t slot = slot_of(&v, "p1");
	json_t *doc;

	(void)state;
	assert_int_equal(v.slots, EV_SLOTS_MIN);
	doc = document_of(&v, json_pack("[o]", ev_open_record(&v, slot, 2)));
	assert_true(holds(doc));
	assert_int_equal(watch.records, 1);
	json_decref(doc);
	doc = document_of(&v, json_pack("[o]", ev_open_peer(&v, slot)));
	assert_true(holds(doc));
	assert_int_equal(watch.records, 5);
	json_decref(doc);
	doc = all_of(&v);
	assert_true(holds(doc));
	assert_int_equal(watch.records, 15);
	assert_int_equal(watch.peers, 3);
	json_decref(doc);
	ev_interval_free(&v);
}

/* One opened record shows no other line, name, salt or address. */
static void one_record_shows_no_other(void **state)
{
	struct ev_interval v = interval_of(file_of(1, 3, 5, false, false));
	json_t *doc = document_of(&v, json_pack("[o]", ev_open_record(&v, slot_of(&v, "p1"), 2)));
	char *text = json_dumps(doc, 0);

	(void)state;
	assert_non_null(strstr(text, "10.7.0.2"));
	assert_null(strstr(text, "10.7.0.1"));
	assert_null(strstr(text, "10.7.0.3"));
	assert_non_null(strstr(text, "\"p1\""));
	assert_null(strstr(text, "\"p0"));
	assert_null(strstr(text, "\"p2"));
	free(text);
	json_decref(doc);
	ev_interval_free(&v);
}

static void change(json_t *record, const char *from, const char *to)
{
	const char *line = json_string_value(json_object_get(record, "line")),
		   *at = strstr(line, from);
	char text[EV_LINE];

	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - line), line, to, at + strlen(from));
	json_object_set_new(record, "line", json_string(text));
}

static void what_was_changed_is_found(void **state)
{
	struct ev_interval v = interval_of(file_of(1, 3, 5, false, false)),
			   other = interval_of(file_of(2, 3, 5, false, false));
	uint32_t slot = slot_of(&v, "p1");
	json_t *one = document_of(&v, json_pack("[o]", ev_open_record(&v, slot, 2))),
	       *all = document_of(&v, json_pack("[o]", ev_open_peer(&v, slot))), *x, *records;

	(void)state;
	/* changes of a record: an address, its bytes, its salt, its place */
	x = json_deep_copy(one);
	change(record_at(x, 0, 0), "10.7.0.2", "10.7.0.9");
	assert_false(holds(x));
	json_decref(x);
	x = json_deep_copy(one);
	change(record_at(x, 0, 0), "\"charged_bytes\":300", "\"charged_bytes\":299");
	assert_false(holds(x));
	json_decref(x);
	x = json_deep_copy(one);
	json_object_set_new(record_at(x, 0, 0), "index", json_integer(3));
	assert_false(holds(x));
	json_decref(x);
	/* a sibling's sum, which is hashed into the subtree */
	x = json_deep_copy(one);
	records = json_object_get(record_at(x, 0, 0), "path");
	json_array_set_new(json_array_get(json_array_get(records, 0), 1), EV_BYTES,
			   json_integer(1));
	assert_false(holds(x));
	json_decref(x);
	/* a record left out, given twice, in another order */
	x = json_deep_copy(all);
	json_array_remove(json_object_get(peer_at(x, 0), "records"), 4);
	assert_false(holds(x));
	json_decref(x);
	x = json_deep_copy(all);
	records = json_object_get(peer_at(x, 0), "records");
	json_array_insert(records, 1, json_array_get(records, 0));
	assert_false(holds(x));
	json_decref(x);
	x = json_deep_copy(all);
	records = json_object_get(peer_at(x, 0), "records");
	json_array_append(records, json_array_get(records, 4));
	assert_false(holds(x));
	json_decref(x);
	/* a record moved to another interval, or to another peer */
	x = document_of(&other, json_pack("[o]", ev_open_record(&v, slot, 2)));
	assert_false(holds(x));
	json_decref(x);
	x = document_of(&v, json_pack("[o]", ev_open_record(&v, slot_of(&v, "p0"), 2)));
	json_array_clear(json_object_get(peer_at(x, 0), "records"));
	json_array_append(json_object_get(peer_at(x, 0), "records"), record_at(one, 0, 0));
	assert_false(holds(x));
	json_decref(x);
	/* the peer: its name, its numbers */
	x = json_deep_copy(one);
	json_object_set_new(peer_at(x, 0), "name", json_string("p2"));
	assert_false(holds(x));
	json_decref(x);
	x = json_deep_copy(one);
	json_array_set_new(json_object_get(json_object_get(peer_at(x, 0), "peer"), "flows"), 1,
			   json_integer(1));
	assert_false(holds(x));
	json_decref(x);
	/* a peer twice; a peer that has traffic but claims to have nothing to show */
	x = document_of(&v, json_pack("[o,o]", ev_open_peer(&v, slot), ev_open_peer(&v, slot)));
	assert_false(holds(x));
	json_decref(x);
	x = json_deep_copy(all);
	json_object_del(peer_at(x, 0), "records");
	assert_false(holds(x));
	json_decref(x);
	json_decref(one);
	json_decref(all);
	ev_interval_free(&v);
	ev_interval_free(&other);
}

/* No byte of what is shown can be changed. */
static void no_byte_can_be_changed(void **state)
{
	struct ev_interval v = interval_of(file_of(1, 3, 3, false, false));
	uint32_t slot = slot_of(&v, "p1");
	json_t *doc[] = { document_of(&v, json_pack("[o]", ev_open_record(&v, slot, 2))),
			  document_of(&v, json_pack("[o]", ev_open_peer(&v, slot))) };

	(void)state;
	for (size_t d = 0; d < 2; d++) {
		char *text = json_dumps(doc[d], JSON_COMPACT);
		size_t n = strlen(text), believed = 0;

		for (size_t i = 0; i < n; i++)
			for (unsigned bit = 1; bit < 128; bit *= 4) {
				json_t *x;

				text[i] = (char)(text[i] ^ (char)bit);
				x = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
				text[i] = (char)(text[i] ^ (char)bit);
				if (x && holds(x)) {
					print_message("byte %zu of %zu, %u: %.*s\n", i, n, bit, 40,
						      text + (i > 20 ? i - 20 : 0));
					believed++;
				}
				json_decref(x);
			}
		assert_int_equal(believed, 0);
		free(text);
		json_decref(doc[d]);
	}
	ev_interval_free(&v);
}

/* The commitment matches, but the record contradicts itself. Only an opening reveals that. */
static void a_record_of_another_name_is_found(void **state)
{
	char *text = file_of(1, 3, 5, false, false), *at;
	struct ev_interval v;
	json_t *doc;

	(void)state;
	at = strstr(text, "\"kind\":\"flow\",\"id\":2,\"peer\":\"p1\"");
	assert_non_null(at);
	*strstr(at, "p1") = 'q';
	v = interval_of(text);
	doc = document_of(&v, json_pack("[o]", ev_open_record(&v, slot_of(&v, "p1"), 0)));
	assert_false(holds(doc));
	json_decref(doc);
	doc = document_of(&v, json_pack("[o]", ev_open_record(&v, slot_of(&v, "p1"), 1)));
	assert_true(holds(doc));
	json_decref(doc);
	ev_interval_free(&v);
}

/* The same holds for classes that do not match the records. */
static void classes_are_those_of_the_records(void **state)
{
	struct ev_interval v = interval_of(file_of(1, 3, 5, false, false));
	uint32_t slot = slot_of(&v, "p1");
	struct bwl_hash hash[EV_SLOTS_MIN];
	json_t *doc;

	(void)state;
	strcpy(v.peer[slot].part[0].class_, "https");
	for (uint32_t i = 0; i < v.slots; i++)
		ev_peer_hash(&v.peer[i], &hash[i]);
	ev_root(EV_NODE, hash, v.slots);
	ev_interval_root(&v.id, &hash[0], &v.root);
	doc = document_of(&v, json_pack("[o]", ev_open_peer(&v, slot)));
	assert_false(holds(doc));
	json_decref(doc);
	doc = document_of(&v, json_pack("[o]", ev_open_peer(&v, slot_of(&v, "p0"))));
	assert_true(holds(doc));
	json_decref(doc);
	ev_interval_free(&v);
}

static void an_interval_is_shown_once_in_a_file(void **state)
{
	struct ev_interval v = interval_of(file_of(1, 3, 5, false, false));
	json_t *doc = all_of(&v), *intervals = json_object_get(doc, "intervals"), *part;

	(void)state;
	assert_true(holds(doc)); /* control */
	assert_int_equal(watch.whole_intervals, 1);
	assert_int_equal(watch.whole_peers, 3);
	json_array_append(intervals, json_array_get(intervals, 0));
	assert_false(holds(doc));
	assert_int_equal(watch.intervals, 1);
	json_decref(doc);
	part = document_of(&v, json_pack("[o]", ev_open_peer(&v, slot_of(&v, "p1"))));
	assert_true(holds(part));
	assert_int_equal(watch.whole_intervals, 0);
	assert_int_equal(watch.whole_peers, 1);
	json_decref(part);
	ev_interval_free(&v);
}

static void flows_and_remainders_are_told_apart(void **state)
{
	struct ev_interval v = interval_of(file_of(1, 3, 5, false, false));
	uint32_t slot = slot_of(&v, "p1");
	json_t *doc;

	(void)state;
	v.peer[slot].remainder = v.peer[slot].flows; /* their total stays the same */
	v.peer[slot].flows = (struct ev_sum){ { 0 } };
	commit_again(&v);
	assert_null(ev_peer_wrong(&v.peer[slot]));
	doc = document_of(&v, json_pack("[o]", ev_open_peer(&v, slot)));
	assert_false(holds(doc));
	json_decref(doc);
	doc = document_of(&v, json_pack("[o]", ev_open_record(&v, slot, 1)));
	assert_false(holds(doc));
	json_decref(doc);
	doc = document_of(&v, json_pack("[o]", ev_open_peer(&v, slot_of(&v, "p0"))));
	assert_true(holds(doc)); /* control */
	json_decref(doc);
	ev_interval_free(&v);
}

static int code_of(const json_t *doc, struct bwl_err *e)
{
	watch = (struct ev_watch){ 0 };
	return ev_opening_check(doc, &trust, &watch, e);
}

/* Nothing that is shown is not the same as nothing that is wrong. */
static void what_shows_nothing_or_is_newer_is_not_good(void **state)
{
	struct ev_interval v;
	struct bwl_err e = { 0 };
	json_t *doc, *o, *at[4];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		v = interval_of(file_of(1, 3, 5, false, false));
		doc = all_of(&v);
		assert_int_equal(code_of(doc, &e), 0); /* control */
		at[0] = doc;
		at[1] = json_array_get(json_object_get(doc, "intervals"), 0);
		at[2] = json_array_get(json_object_get(at[1], "peers"), slot_of(&v, "p1"));
		at[3] = json_array_get(json_object_get(at[2], "records"), 0);
		json_object_set_new(at[i], "left_out", json_integer(5));
		assert_int_equal(code_of(doc, &e), -EV_NEWER);
		assert_non_null(strstr(e.text, "`left_out`"));
		if (i > 1)
			assert_non_null(strstr(e.text, "slot"));
		json_object_del(at[i], "left_out");
		json_object_set_new(doc, "version", json_integer(2));
		assert_int_equal(code_of(doc, &e), -EV_NEWER);
		json_object_set_new(doc, "version", json_integer(0));
		assert_int_equal(code_of(doc, &e), -EBADMSG);
		json_object_set_new(doc, "version", json_integer(1));
		o = json_object_get(doc, "intervals");
		json_array_clear(o);
		assert_int_equal(code_of(doc, &e), -EBADMSG);
		assert_non_null(strstr(e.text, "shows no interval"));
		json_object_del(doc, "intervals");
		assert_int_equal(code_of(doc, &e), -EBADMSG);
		json_decref(doc);
		ev_interval_free(&v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_shown_holds),
		cmocka_unit_test(one_record_shows_no_other),
		cmocka_unit_test(what_was_changed_is_found),
		cmocka_unit_test(no_byte_can_be_changed),
		cmocka_unit_test(a_record_of_another_name_is_found),
		cmocka_unit_test(classes_are_those_of_the_records),
		cmocka_unit_test(an_interval_is_shown_once_in_a_file),
		cmocka_unit_test(flows_and_remainders_are_told_apart),
		cmocka_unit_test(what_shows_nothing_or_is_newer_is_not_good),
	};

	return cmocka_run_group_tests(tests, make_key, NULL);
}
