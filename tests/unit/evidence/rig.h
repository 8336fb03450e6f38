/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals' files as bwlimitd writes them, their entries in a log, and what is shown of them. */
#ifndef BWL_TEST_EVIDENCE_RIG_H
#define BWL_TEST_EVIDENCE_RIG_H

#include "../test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "evidence/opening.h"

#define BOOT "01234567-89ab-cdef-0123-456789abcdef"

static const uint8_t master[32] = "a secret of thirty-two bytes...";
static struct ev_trust trust;

static uint64_t counter[40][2]; /* by peer: frames and bytes so far */

/*
 * An interval's file as bwlimitd writes it. Each peer has that many records, all with different
 * bytes.
 */
/* Not inlined: gcc 12 would take what open_memstream() made for a local variable of here. */
static __attribute__((noinline, unused)) char *file_of(unsigned interval, unsigned peers,
						       unsigned records, bool final, bool gap)
{
	char *text = NULL;
	size_t len = 0;
	FILE *o = open_memstream(&text, &len);

	fprintf(o,
		"{\"version\":1,\"kind\":\"flow-interval\",\"boot\":\"" BOOT
		"\",\"tables\":77,\"interval\":%u,\"final\":%s,\"sequence\":%u,\"thinned\":false,\"begin\":null,\"end\":\"2026-09-21T14:13:20.000Z\",\"gap\":%s,\"peer_count\":%u,\"row_count\":%u,\"balanced\":true,\"other\":{\"frames\":0,\"bytes\":0,\"dropped_frames\":0,\"dropped_bytes\":0}}\n",
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
			"{\"kind\":\"flow-peer\",\"id\":%u,\"peer\":\"p%u\",\"balanced\":true,\"why\":null,\"before\":{},\"after\":{},\"flows\":{\"frames\":%llu,\"bytes\":%llu,\"dropped_frames\":0,\"dropped_bytes\":0},\"remainder\":{\"frames\":0,\"bytes\":0,\"dropped_frames\":0,\"dropped_bytes\":0},\"unclassed\":{\"frames\":0,\"bytes\":0,\"dropped_frames\":0,\"dropped_bytes\":0},\"classes\":[],\"cpus\":[[0,%llu,%llu,0,0,%llu,%llu,0,0]]}\n",
			p + 1, p, (unsigned long long)frames, (unsigned long long)bytes,
			(unsigned long long)was[0], (unsigned long long)was[1],
			(unsigned long long)counter[p][0], (unsigned long long)counter[p][1]);
	}
	for (unsigned p = 0; p < peers; p++)
		for (unsigned r = 0; r < records; r++)
			fprintf(o,
				"{\"kind\":\"flow\",\"id\":%u,\"peer\":\"p%u\",\"generation\":1,\"direction\":\"out\",\"port\":\"hpf0\",\"class\":\"other\",\"reason\":\"pass\",\"ip_protocol\":6,\"source\":\"10.7.0.%u\",\"frames\":%u,\"bytes\":%u,\"charged_bytes\":%u,\"first\":null,\"last\":null}\n",
				p + 1, p, r, r + 1, 90 * (r + 1), 100 * (r + 1));
	fclose(o);
	return text;
}

static inline struct ev_interval interval_by(const uint8_t key[32], char *text)
{
	struct ev_interval v;
	struct bwl_err e = { 0 };

	if (ev_interval_make(text, strlen(text), key, &v, &e))
		fail_msg("%s", e.text);
	return v;
}

static inline struct ev_interval interval_of(char *text)
{
	return interval_by(master, text);
}

static int record_number;

/* A log with one record: the entry. */
static inline void enter(const struct ev_entry *x, char **ret_line, char **ret_proof)
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

static inline uint32_t slot_of(const struct ev_interval *v, const char *name)
{
	for (uint32_t i = 0; i < v->slots; i++)
		if (!v->own[i].decoy && !strcmp(v->own[i].name, name))
			return i;
	fail_msg("no such peer");
	return 0;
}

static struct ev_watch watch;
static inline bool holds(const json_t *doc)
{
	struct bwl_err e = { 0 };

	watch = (struct ev_watch){ 0 };
	return !ev_opening_check(doc, &trust, &watch, &e);
}

/* A commitment that somebody who controls the agent could make. */
static inline void commit_again(struct ev_interval *v)
{
	struct bwl_hash hash[EV_SLOTS_MIN];

	assert_int_equal(v->slots, EV_SLOTS_MIN);
	for (uint32_t i = 0; i < v->slots; i++)
		ev_peer_hash(&v->peer[i], &hash[i]);
	ev_root(EV_NODE, hash, v->slots);
	ev_interval_root(&v->id, &hash[0], &v->root);
}

static inline int make_key(void **state)
{
	(void)state;
	return bwl_note_key_new("bwlimit/test", &trust.log, NULL);
}

#endif
