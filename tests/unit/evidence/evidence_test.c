// SPDX-License-Identifier: GPL-2.0-or-later
/* An interval is committed to and shown. Every change of what is shown is found. */
#include "../test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "evidence/chain.h"
#include "evidence/opening.h"

#define BOOT "01234567-89ab-cdef-0123-456789abcdef"

static const uint8_t master[32] = "a secret of thirty-two bytes...";
static struct ev_trust trust;

#define DAY 20717 /* the day on which all intervals end */

static uint64_t counter[40][2]; /* by peer: frames and bytes so far */

/*
 * An interval's file as bwlimitd writes it. Each peer has that many records, all with different
 * bytes.
 */
static char *file_of(unsigned interval, unsigned peers, unsigned records, bool final, bool gap)
{
	char *text = NULL;
	size_t len = 0;
	FILE *o = open_memstream(&text, &len);

	fprintf(o,
		"{\"version\":1,\"kind\":\"flow-interval\",\"boot\":\"" BOOT
		"\",\"tables\":77,\"interval\":%u,\"final\":%s,\"sequence\":%u,\"thinned\":false,"
		"\"begin\":null,\"end\":\"2026-09-21T14:13:20.000Z\",\"gap\":%s,\"peer_count\":%u,\"row_count\":%u,"
		"\"balanced\":true,\"other\":{\"frames\":0,\"bytes\":0,\"dropped_frames\":0,\"dropped_bytes\":0}}\n",
		interval, final ? "true" : "false", interval, gap ? "\"x\"" : "null", peers,
		peers * records);
	for (unsigned p = 0; p < peers; p++) {
		uint64_t frames = 0, bytes = 0, was[2] = { counter[p][0], counter[p][1] };

		for (unsigned r = 0; r < records; r++) {
			frames += r + 1;
			bytes += 100 * (r + 1);
		}
		counter[p][0] += frames;
		counter[p][1] += bytes;
		fprintf(o,
			"{\"kind\":\"flow-peer\",\"id\":%u,\"peer\":\"p%u\",\"balanced\":true,\"why\":null,"
			"\"before\":{},\"after\":{},\"flows\":{\"frames\":%llu,\"bytes\":%llu,\"dropped_frames\":0,\"dropped_bytes\":0},"
			"\"remainder\":{\"frames\":0,\"bytes\":0,\"dropped_frames\":0,\"dropped_bytes\":0},"
			"\"unclassed\":{\"frames\":0,\"bytes\":0,\"dropped_frames\":0,\"dropped_bytes\":0},\"classes\":[],"
			"\"cpus\":[[0,%llu,%llu,0,0,%llu,%llu,0,0]]}\n",
			p + 1, p, (unsigned long long)frames, (unsigned long long)bytes,
			(unsigned long long)was[0], (unsigned long long)was[1],
			(unsigned long long)counter[p][0], (unsigned long long)counter[p][1]);
	}
	for (unsigned p = 0; p < peers; p++)
		for (unsigned r = 0; r < records; r++)
			fprintf(o,
				"{\"kind\":\"flow\",\"id\":%u,\"peer\":\"p%u\",\"generation\":1,\"direction\":\"out\",\"port\":\"hpf0\","
				"\"class\":\"other\",\"reason\":\"pass\",\"ip_protocol\":6,\"source\":\"10.7.0.%u\",\"frames\":%u,"
				"\"bytes\":%u,\"charged_bytes\":%u,\"first\":null,\"last\":null}\n",
				p + 1, p, r, r + 1, 90 * (r + 1), 100 * (r + 1));
	fclose(o);
	return text;
}

static struct ev_interval interval_by(const uint8_t key[32], char *text)
{
	struct ev_interval v;
	struct bwl_err e = { 0 };

	if (ev_interval_make(text, strlen(text), key, &v, &e))
		fail_msg("%s", e.text);
	return v;
}

static struct ev_interval interval_of(char *text)
{
	return interval_by(master, text);
}

static int record_number;

/* A log with one record: the entry. */
static void enter(const struct ev_entry *x, char **ret_line, char **ret_proof)
{
	json_t *o = json_pack("{s:s,s:i,s:o}", "event", EV_EVENT, "n", record_number, "data",
			      ev_entry_json(x));
	struct bwl_checkpoint c = { .size = 1 };
	static char note[BWL_CHECKPOINT_NOTE];
	struct bwl_tlog_proof p = { .note = note };

	*ret_line = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(o);
	snprintf(c.origin, sizeof(c.origin), "%s", trust.log.name);
	bwl_hash_leaf(*ret_line, strlen(*ret_line), &c.root);
	assert_int_equal(bwl_checkpoint_sign(&trust.log, &c, note, &p.note_len, NULL), 0);
	*ret_proof = bwl_tlog_proof_format(&p);
}

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

static uint32_t slot_of(const struct ev_interval *v, const char *name)
{
	for (uint32_t i = 0; i < v->slots; i++)
		if (!v->own[i].decoy && !strcmp(v->own[i].name, name))
			return i;
	fail_msg("no such peer");
	return 0;
}

static struct ev_watch watch;
static bool holds(const json_t *doc)
{
	struct bwl_err e = { 0 };

	watch = (struct ev_watch){ 0 };
	return !ev_opening_check(doc, &trust, &watch, &e);
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
	assert_int_equal(v.slots, EV_SLOTS_LEAST);
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

static unsigned bad_seen, between_seen, unfollowed;
static char last_bad[300], last_note[300];
static void count_bad(bool bad, const char *text, void *arg)
{
	(void)arg;
	bad_seen += bad;
	between_seen += bad && strstr(text, "entries between");
	unfollowed += bad && strstr(text, "does not follow");
	snprintf(bad ? last_bad : last_note, sizeof(last_bad), "%s", text);
}

/* Checks the intervals in this order; 0 ends the list. */
static unsigned chain_of(struct ev_entry *x, struct ev_interval *v, const int *order)
{
	struct ev_chain c = { .fn = count_bad };

	bad_seen = between_seen = unfollowed = 0;
	for (; *order; order++)
		ev_chain_next(&c, &x[*order], v[*order].peer, v[*order].slots);
	ev_chain_free(&c);
	return bad_seen;
}

static void intervals_follow_on_one_another(void **state)
{
	struct ev_interval v[6];
	struct ev_entry x[6] = { 0 };
	uint32_t slot;

	(void)state;
	memset(counter, 0, sizeof(counter));
	for (unsigned i = 1; i < 6; i++) {
		v[i] = interval_of(file_of(i, 3, 4, false, i == 5));
		assert_true(ev_entry_of(&v[i], DAY, i > 1 ? &x[i - 1].root : NULL, &x[i]));
	}
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 3, 4, 0 }), 0);
	assert_int_not_equal(chain_of(x, v, (int[]){ 1, 3, 4, 0 }), 0); /* 2 is left out */
	assert_int_not_equal(chain_of(x, v, (int[]){ 1, 2, 2, 3, 0 }), 0);
	assert_non_null(strstr(last_bad, "counter")); /* found by the second one's counters */
	assert_int_not_equal(chain_of(x, v, (int[]){ 2, 1, 3, 0 }), 0);
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 3, 4, 5, 0 }), 0);
	assert_int_not_equal(chain_of(x, v, (int[]){ 1, 2, 3, 5, 0 }), 0); /* 5 has `gap` */
	assert_int_equal(between_seen, 1); /* although the log has entry 4 */
	x[4].previous = x[2].root;         /* 3 was never entered, and 4 does not say so */
	assert_int_not_equal(chain_of(x, v, (int[]){ 1, 2, 4, 0 }), 0);
	assert_int_equal(unfollowed, 1);
	x[4].previous = x[3].root;
	/* a counter that moved in between, of a peer that claims to balance */
	slot = slot_of(&v[3], "p2");
	v[3].peer[slot].cpu[0].before.v[EV_BYTES] += 7;
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 3, 4, 0 }), 1);
	assert_non_null(strstr(last_bad, "counter"));
	v[3].peer[slot].balanced = false; /* or that does not claim it */
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 3, 4, 0 }), 0);
	for (unsigned i = 1; i < 6; i++)
		ev_interval_free(&v[i]);
}

/*
 * A log that changes pseudonyms at will is found; and counters that appear and disappear are
 * counted.
 */
static void what_is_not_followed_is_said(void **state)
{
	struct ev_interval v[6];
	struct ev_entry x[6] = { 0 };
	struct ev_chain c = { .fn = count_bad };

	(void)state;
	memset(counter, 0, sizeof(counter));
	for (unsigned i = 1; i < 6; i++) {
		v[i] = interval_of(file_of(i, 3, 4, false, false));
		assert_true(ev_entry_of(&v[i], DAY, i > 1 ? &x[i - 1].root : NULL, &x[i]));
	}
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 3, 0 }), 0); /* control */
	x[2].epoch = DAY + 1;
	assert_int_not_equal(chain_of(x, v, (int[]){ 1, 2, 0 }), 0);
	assert_non_null(strstr(last_bad, "day when it ended"));
	/*
	 * an interval of one minute that ends one minute before midnight may have the next day's
	 * epoch
	 */
	strcpy(x[2].id.begin, "2026-09-21T23:58:00.000Z");
	strcpy(x[2].id.end, "2026-09-21T23:59:00.000Z");
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 0 }), 0);
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 3, 0 }), 0); /* 3 ended before 2 */
	strcpy(x[3].id.end, "2026-09-21T23:59:10.000Z");
	assert_int_not_equal(chain_of(x, v, (int[]){ 1, 2, 3, 0 }), 0);
	assert_non_null(strstr(last_bad, "earlier day than the last"));
	x[2].epoch = DAY;
	/* after traffic of no peer, the counters of peers without traffic are forgotten */
	for (uint32_t i = 0; i < v[3].slots; i++)
		v[3].peer[i].ncpus = 0;
	x[3].id.other.v[EV_FRAMES] = 3;
	bad_seen = 0;
	for (int i = 1; i < 5; i++)
		ev_chain_next(&c, &x[i], v[i].peer, v[i].slots);
	assert_int_equal(bad_seen, 0);
	assert_int_equal(c.forgotten, 3);
	assert_int_equal(c.appeared, 3);
	assert_int_equal(c.other_seen, 1);
	assert_int_equal(c.other.v[EV_FRAMES], 3);
	assert_int_equal(c.boots, 1);
	assert_int_equal(c.first.id.interval, 1);
	strcpy(x[5].id.boot, "another");
	x[5].id.gap = true;
	ev_chain_next(&c, &x[5], v[5].peer, v[5].slots);
	assert_int_equal(c.boots, 2);
	assert_int_equal(c.forgotten, 3); /* a boot begins at zero */
	ev_chain_free(&c);
	for (unsigned i = 1; i < 6; i++)
		ev_interval_free(&v[i]);
}

/*
 * Counters are followed up to midnight, and anew from there. A changed clock is reported, but is
 * not an error.
 */
static void midnight_and_clocks_that_are_set_are_told(void **state)
{
	static const uint8_t tomorrow[32] = "the secret of the day after it.";
	static const struct {
		unsigned day;
		const char *begin, *end;
	} at[] = { { 0, "", "" },
		   { DAY, "", "2026-09-21T23:59:45.000Z" },
		   { DAY, "2026-09-21T23:59:45.000Z", "2026-09-21T23:59:55.000Z" },
		   { DAY + 1, "2026-09-21T23:59:55.004Z", "2026-09-22T00:00:05.004Z" },
		   { DAY + 1, "2026-09-22T00:00:05.004Z", "2026-09-22T00:00:15.004Z" },
		   /* set back by a minute, and ahead by an hour */
		   { DAY, "2026-09-21T23:59:15.000Z", "2026-09-21T23:59:25.000Z" },
		   { DAY + 1, "2026-09-22T00:59:25.000Z", "2026-09-22T00:59:35.000Z" } };
	struct ev_chain c = { .fn = count_bad };
	struct ev_interval v[7];
	struct ev_entry x[7] = { 0 };

	(void)state;
	memset(counter, 0, sizeof(counter));
	for (unsigned i = 1; i < 7; i++) {
		v[i] = interval_by(at[i].day == DAY ? master : tomorrow,
				   file_of(i, 3, 4, false, false));
		strcpy(v[i].id.begin, at[i].begin);
		strcpy(v[i].id.end, at[i].end);
		assert_true(ev_entry_of(&v[i], at[i].day, i > 1 ? &x[i - 1].root : NULL, &x[i]));
	}
	bad_seen = 0;
	for (unsigned i = 1; i < 5; i++)
		ev_chain_next(&c, &x[i], v[i].peer, v[i].slots);
	assert_int_equal(bad_seen, 0);
	assert_int_equal(c.epochs, 1);
	assert_int_equal(c.counters, 6); /* three peers, from 1 to 2 and from 3 to 4 */
	assert_int_equal(c.forgotten, 3);
	assert_int_equal(c.appeared, 3);
	assert_int_equal(c.clock_steps, 0);
	ev_chain_next(&c, &x[5], v[5].peer, v[5].slots);
	assert_int_equal(c.clock_steps, 1);
	assert_non_null(strstr(last_note, "set back by 60 s"));
	assert_int_equal(c.epochs, 2);
	ev_chain_next(&c, &x[6], v[6].peer, v[6].slots);
	assert_int_equal(c.clock_steps, 2);
	assert_non_null(strstr(last_note, "set ahead by 3600 s"));
	assert_int_equal(bad_seen, 0);
	ev_chain_free(&c);
	/* if something is missing between them, time has passed */
	x[6].id.gap = true;
	*last_note = '\0';
	chain_of(x, v, (int[]){ 5, 6, 0 });
	assert_null(strstr(last_note, "clock"));
	/* and no interval may end before it begins */
	strcpy(x[2].id.end, "2026-09-21T23:59:40.000Z");
	assert_int_equal(chain_of(x, v, (int[]){ 1, 2, 0 }), 1);
	assert_non_null(strstr(last_bad, "before it begins"));
	for (unsigned i = 1; i < 7; i++)
		ev_interval_free(&v[i]);
}

static void sums_do_not_overflow(void **state)
{
	struct ev_node node[2] = { 0 }, path = { 0 }, root;
	struct ev_sum s = { { 1, 2, 3, UINT64_MAX } }, was = s;

	(void)state;
	assert_false(ev_sum_add(&s, &(struct ev_sum){ { 1, 1, 1, 1 } }));
	assert_true(ev_sum_same(&s, &was));
	assert_false(ev_sum_less(&s, &(struct ev_sum){ { 2, 0, 0, 0 } }));
	node[0].sum = path.sum = s;
	node[1].sum = (struct ev_sum){ { 0, 0, 0, 1 } };
	assert_false(ev_sum_climb(&node[1], 0, &path, 1, &root, NULL));
	assert_false(ev_sum_root(node, 2));
	assert_false(ev_sum_climb(&node[1], 2, &path, 1, &root, NULL)); /* there is no place 2 */
}

/* The pitfall: with H(sum, left, right), one child's sum could be shown as the other's. */
static void a_node_has_the_sums_of_both_children(void **state)
{
	struct ev_node a[2] = { { .sum = { { 0, 10 } } }, { .sum = { { 0, 20 } } } },
		       b[2] = { { .sum = { { 0, 20 } } }, { .sum = { { 0, 10 } } } };

	(void)state;
	assert_true(ev_sum_root(a, 2) && ev_sum_root(b, 2));
	assert_true(ev_sum_same(&a->sum, &b->sum));
	assert_false(bwl_hash_equal(&a->hash, &b->hash));
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
	struct bwl_hash hash[EV_SLOTS_LEAST];
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

/* A commitment that somebody who controls the agent could make. */
static void commit_again(struct ev_interval *v)
{
	struct bwl_hash hash[EV_SLOTS_LEAST];

	assert_int_equal(v->slots, EV_SLOTS_LEAST);
	for (uint32_t i = 0; i < v->slots; i++)
		ev_peer_hash(&v->peer[i], &hash[i]);
	ev_root(EV_NODE, hash, v->slots);
	ev_interval_root(&v->id, &hash[0], &v->root);
}

static void an_interval_that_balances_has_no_peer_that_does_not(void **state)
{
	struct ev_interval v = interval_of(file_of(1, 3, 5, false, false));
	uint32_t slot = slot_of(&v, "p1");
	struct ev_chain c = { .fn = count_bad };
	struct ev_entry x;
	char *line, *proof;
	json_t *doc;

	(void)state;
	v.peer[slot].balanced = false;
	v.peer[slot].cpu[0].after.v[EV_BYTES] += 1000000; /* bytes that are in no record */
	strcpy(v.peer[slot].why, "it\x1b[2J says");
	commit_again(&v);
	assert_true(ev_entry_of(&v, 1, NULL, &x));
	assert_false(x.id.balanced); /* control: an honest statement is valid */
	assert_null(ev_entry_wrong(&x, v.peer, v.slots));
	ev_chain_next(&c, &x, v.peer, v.slots);
	assert_int_equal(c.unbalanced_peers, 1);
	assert_non_null(strstr(last_note, "it?[2J says"));
	x.id.balanced = true;
	assert_non_null(strstr(ev_entry_wrong(&x, v.peer, v.slots), "balances"));
	enter(&x, &line, &proof);
	doc = json_pack("{s:i,s:s,s:[o]}", "version", 1, "kind", EV_OPENING_KIND, "intervals",
			ev_open_interval(line, proof, json_pack("[o]", ev_open_peer(&v, slot))));
	assert_false(holds(doc));
	json_decref(doc);
	free(line);
	free(proof);
	ev_chain_free(&c);
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

static void a_leaf_is_of_its_place(void **state)
{
	const struct bwl_hash c = { { 1 } };
	const struct ev_sum s = { { 1, 2, 0, 0 } };
	struct ev_node a, b;

	(void)state;
	ev_record_leaf(0, &s, &c, &a);
	ev_record_leaf(1, &s, &c, &b);
	assert_false(bwl_hash_equal(&a.hash, &b.hash));
}

static void what_is_scanned_is_what_is_parsed(void **state)
{
	static const char *const good =
		"{\"kind\":\"flow-remainder\",\"id\":7,\"peer\":\"a\\\",\\\"frames\\\":9\",\"generation\":3,\"direction\":\"in\",\"port\":null,"
		"\"class\":\"other\",\"reason\":\"peer-rate\",\"frames\":4,\"bytes\":400,\"charged_bytes\":1,\"first\":null,\"last\":null}";
	struct ev_record scanned, parsed;
	char name[EV_NAME];

	(void)state;
	assert_true(ev_record_scan(good, strlen(good), &scanned));
	assert_true(ev_record_parse(good, strlen(good), &parsed, name));
	assert_string_equal(name, "a\",\"frames\":9");
	assert_true(ev_sum_same(&scanned.sum, &parsed.sum));
	assert_int_equal(parsed.sum.v[EV_DROPPED_BYTES], 400);
	assert_int_equal(parsed.sum.v[EV_BYTES], 0);
	assert_int_equal(scanned.id, 7);
	assert_string_equal(scanned.way, "in");
	for (size_t n = 0; n < strlen(good); n++) /* a truncated line is not a record */
		assert_false(ev_record_parse(good, n, &parsed, name));
}

static void a_file_that_is_none_is_refused(void **state)
{
	char *whole = file_of(1, 2, 3, false, false);
	struct ev_interval v;
	struct bwl_err e;

	(void)state;
	for (size_t n = 0; n < strlen(whole); n += 13) {
		char *cut = strndup(whole, n);

		if (!ev_interval_make(cut, n, master, &v, &e))
			ev_interval_free(&v);
	}
	free(whole);
	assert_int_not_equal(ev_interval_make(strdup("{}\n"), 3, master, &v, &e), 0);
	assert_int_not_equal(ev_interval_make(strdup(""), 0, master, &v, &e), 0);
}

static int make_key(void **state)
{
	(void)state;
	return bwl_note_key_new("bwlimit/test", &trust.log, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_shown_holds),
		cmocka_unit_test(one_record_shows_no_other),
		cmocka_unit_test(what_was_changed_is_found),
		cmocka_unit_test(no_byte_can_be_changed),
		cmocka_unit_test(an_entry_is_what_the_log_has),
		cmocka_unit_test(peers_are_those_of_the_entry),
		cmocka_unit_test(intervals_follow_on_one_another),
		cmocka_unit_test(what_is_not_followed_is_said),
		cmocka_unit_test(midnight_and_clocks_that_are_set_are_told),
		cmocka_unit_test(sums_do_not_overflow),
		cmocka_unit_test(a_node_has_the_sums_of_both_children),
		cmocka_unit_test(a_record_of_another_name_is_found),
		cmocka_unit_test(classes_are_those_of_the_records),
		cmocka_unit_test(an_interval_that_balances_has_no_peer_that_does_not),
		cmocka_unit_test(an_interval_is_shown_once_in_a_file),
		cmocka_unit_test(flows_and_remainders_are_told_apart),
		cmocka_unit_test(the_same_peers_are_of_one_interval),
		cmocka_unit_test(a_leaf_is_of_its_place),
		cmocka_unit_test(what_is_scanned_is_what_is_parsed),
		cmocka_unit_test(a_file_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, make_key, NULL);
}
