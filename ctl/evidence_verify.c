// SPDX-License-Identifier: GPL-2.0-or-later
/* `evidence verify`: needs only public keys and files, on any machine. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "evidence.h"
#include "evidence/draw.h"

#define MOST_PROBLEMS 1000 /* the most that are listed */

struct shown { /* bytes of a peer that a record shows */
	struct bwl_hash root;
	uint32_t slot;
	uint64_t from, to;
};

struct verify {
	struct ctl *c;
	struct ev_trust trust;
	json_t *problems;
	size_t nproblems, nnotes;
	struct ev_chain chain;
	bool whole; /* --whole */
	size_t folders;
	uint64_t first_n, last_n; /* records of the folders' entries */
	uint64_t repeated;        /* entries that an earlier folder has, too */
	/*
	 * Checkpoints that the proofs are for: one per folder, or without folders those of the
	 * files.
	 */
	struct bwl_checkpoint *checkpoint;
	size_t ncheckpoints;
	struct evidence_bytes bytes;
	struct ev_sum after, before; /* of the last and first interval */
	struct ev_sum passed;        /* according to records */
	struct shown *shown;
	size_t nshown, room;
	uint64_t opened_intervals, opened_peers, opened_records, draws, missed;
	uint64_t whole_intervals, whole_peers;
};

static void problem(struct verify *v, const char *text)
{
	if (v->nproblems++ >= MOST_PROBLEMS)
		return;
	json_array_append_new(v->problems, json_string(text) ?: json_string("(not UTF-8)"));
	if (!v->c->json)
		bwl_put(stdout, "BAD  %s\n", text);
}

static void on_chain(bool bad, const char *text, void *arg)
{
	struct verify *v = arg;

	if (bad)
		problem(v, text);
	else if (!v->c->json && v->nnotes++ < MOST_PROBLEMS)
		bwl_put(stdout, "note %s\n", text);
}

/* Must be one of those from `from` on; if there are none, it becomes the first. */
static void same_checkpoint(struct verify *v, size_t from, const struct bwl_checkpoint *c,
			    const char *where)
{
	char text[400];

	if (from == v->ncheckpoints) {
		v->checkpoint = bwl_must(
			reallocarray(v->checkpoint, v->ncheckpoints + 1, sizeof(*v->checkpoint)));
		v->checkpoint[v->ncheckpoints++] = *c;
		return;
	}
	for (size_t i = from; i < v->ncheckpoints; i++)
		if (v->checkpoint[i].size == c->size &&
		    bwl_hash_equal(&v->checkpoint[i].root, &c->root))
			return;
	snprintf(text, sizeof(text), "%s: its proof is for another checkpoint", where);
	problem(v, text);
}

/* The interval of that record of the log; NULL: no folder so far has it. */
static const struct interval_bytes *known(const struct verify *v, uint64_t n)
{
	for (size_t i = v->bytes.n; i-- > 0;)
		if (v->bytes.interval[i].n == n)
			return &v->bytes.interval[i];
	return NULL;
}

/* Two exports may overlap: common entries must be equal. */
static bool is_repeated(struct verify *v, uint64_t n, const struct ev_entry *x, const char *where)
{
	const struct interval_bytes *was = known(v, n);
	char text[200];

	if (!was)
		return false;
	v->repeated++;
	if (bwl_hash_equal(&was->root, &x->root))
		return true;
	snprintf(text, sizeof(text),
		 "%s: record %llu of the log differs from that in an earlier folder", where,
		 (unsigned long long)n);
	problem(v, text);
	return true;
}

/* from: index of the folder's first checkpoint. */
static void judge_part(struct verify *v, const struct evidence_part *p, size_t from)
{
	char where[80], text[600];
	struct bwl_checkpoint checkpoint;
	struct bwl_err e = { 0 };
	struct ev_entry x;
	const char *wrong;
	uint64_t n;

	snprintf(where, sizeof(where), "interval %llu", (unsigned long long)p->x.id.sequence);
	if (ev_entry_check(&v->trust, p->line, p->line_len, p->proof, p->proof_len, &x, &n,
			   &checkpoint, &e)) {
		snprintf(text, sizeof(text), "%s: %.400s", where, e.text);
		problem(v, text);
		return;
	}
	same_checkpoint(v, from, &checkpoint, where);
	wrong = ev_entry_wrong(&x, p->peer, p->npeers);
	if (wrong) {
		snprintf(text, sizeof(text), "%s: %s", where, wrong);
		problem(v, text);
		return;
	}
	for (uint32_t i = 0; i < p->npeers; i++) {
		wrong = ev_peer_wrong(&p->peer[i]);
		if (!wrong)
			continue;
		snprintf(text, sizeof(text), "%s: peer %02x%02x%02x%02x…: %s", where,
			 p->peer[i].pseudonym.b[0], p->peer[i].pseudonym.b[1],
			 p->peer[i].pseudonym.b[2], p->peer[i].pseudonym.b[3], wrong);
		problem(v, text);
	}
	if (is_repeated(v, n, &x, where))
		return;
	if (!v->chain.begun)
		v->first_n = n;
	v->last_n = n;
	ev_chain_next(&v->chain, &x, p->peer, p->npeers);
	if (!ev_sum_add(&v->passed, &x.total[EV_FLOWS]) ||
	    !ev_sum_add(&v->passed, &x.total[EV_REMAINDER]) ||
	    !evidence_bytes_add(&v->bytes, n, &x, p->peer, p->npeers))
		problem(v, "sums are above 2^64");
}

static int verify_dir(struct verify *v, const char *dir)
{
	struct evidence_export d;
	struct evidence_part part;
	struct bwl_err e = { 0 };
	size_t from = v->ncheckpoints;
	int r = evidence_export_list(dir, &d, &v->c->err);

	for (size_t i = 0; !r && i < d.count; i++) {
		if (evidence_export_read(&d, i, &part, &e)) {
			problem(v, e.text);
			continue;
		}
		judge_part(v, &part, from);
		evidence_part_free(&part);
	}
	free(d.n);
	return r;
}

static void on_record(const struct ev_shown *s, void *arg)
{
	struct verify *v = arg;

	if (v->nshown == v->room)
		v->shown = bwl_must(
			reallocarray(v->shown, v->room = 2 * v->room + 64, sizeof(*v->shown)));
	v->shown[v->nshown++] = (struct shown){ s->entry->root, s->slot, s->before.v[EV_BYTES],
						s->before.v[EV_BYTES] +
							s->record->sum.v[EV_BYTES] };
	if (!v->c->json)
		bwl_put(stdout, "     interval %llu: %.*s\n",
			(unsigned long long)s->entry->id.sequence, (int)s->record->len,
			s->record->line);
}

/* If there is a folder, what is shown must be from it: the log may have been rewritten since. */
static void tie(struct verify *v, const struct ev_seen *s)
{
	const struct interval_bytes *of = known(v, s->n);
	char text[200];

	if (of && bwl_hash_equal(&of->root, &s->x.root))
		return;
	if (of) {
		snprintf(text, sizeof(text),
			 "interval %llu: record %llu of the log differs from that in the folder",
			 (unsigned long long)s->x.id.sequence, (unsigned long long)s->n);
		problem(v, text);
		return;
	}
	snprintf(text, sizeof(text), "interval %llu, which is not in the folder",
		 (unsigned long long)s->x.id.sequence);
	same_checkpoint(v, 0, &s->checkpoint, text);
}

static void on_interval(const struct ev_seen *s, void *arg)
{
	struct verify *v = arg;
	unsigned long long at = s->x.id.sequence;
	char text[100];

	if (v->folders)
		tie(v, s);
	if (v->whole && !s->whole) {
		snprintf(text, sizeof(text), "interval %llu is shown in part", at);
		problem(v, text);
	}
	if (v->c->json)
		return;
	if (s->whole)
		printf("     interval %llu: all %u slots are shown\n", at, s->x.slots);
	else if (s->peers && s->peers == s->whole_peers)
		printf("     interval %llu: all records of %llu of its peers are shown\n", at,
		       (unsigned long long)s->peers);
	else
		printf("     interval %llu is shown in part\n", at);
}

static int verify_file(struct verify *v, const char *path)
{
	struct ev_watch w = { .on_record = on_record, .on_interval = on_interval, .arg = v };
	struct bwl_err e = { 0 };
	char *text, said[600];
	json_t *doc;
	size_t n;
	int r = evidence_read(path, EV_OPENING_MOST, &text, &n, &v->c->err);

	if (r)
		return r;
	doc = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	if (ev_opening_check(doc, &v->trust, &w, &e)) {
		snprintf(said, sizeof(said), "%.200s: %.380s", path, e.text);
		problem(v, said);
	}
	json_decref(doc);
	v->opened_intervals += w.intervals;
	v->opened_peers += w.peers;
	v->opened_records += w.records;
	v->whole_intervals += w.whole_intervals;
	v->whole_peers += w.whole_peers;
	return 0;
}

static int by_shown(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;
	int order = memcmp(x->root.b, y->root.b, 32);

	if (order)
		return order;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static bool is_shown(const struct verify *v, const struct evidence_place *p)
{
	const struct bwl_hash *root = &v->bytes.interval[p->interval].root;
	size_t lo = 0, hi = v->nshown;

	while (lo < hi) { /* the last that begins at or before it */
		size_t mid = (lo + hi) / 2;
		struct shown want = { *root, p->slot, p->at, 0 };

		if (by_shown(&v->shown[mid], &want) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo-- > 0;) {
		const struct shown *s = &v->shown[lo];

		if (!bwl_hash_equal(&s->root, root) || s->slot != p->slot)
			return false;
		if (s->to > p->at)
			return true;
		if (s->from < s->to)
			return false; /* earlier ones end earlier, too */
	}
	return false;
}

static int verify_draws(struct verify *v, const char *path, const char *nonce, uint64_t draws)
{
	struct bwl_checkpoint c;
	struct bwl_hash seed;
	struct bwl_err e = { 0 };
	char *note, text[200];
	size_t n;
	int r = evidence_read(path, BWL_NOTE_MAX - 1, &note, &n, &v->c->err);

	if (r)
		return r;
	if (bwl_checkpoint_open(&v->trust.log, note, n, &c, &e) ||
	    bwl_witnesses_hold(&v->trust.witnesses, &v->trust.log, note, n, NULL, &e) ||
	    ev_seed(&v->trust.witnesses, note, n, nonce, &seed, &e)) {
		free(note);
		return bwl_fail(&v->c->err, EBADMSG, "%.200s: %.400s", path, e.text);
	}
	same_checkpoint(v, 0, &c, "--seed-from");
	free(note);
	if (!nonce && !v->c->json)
		puts("note without --nonce a draw is only as good as the operator's honesty in choosing range and time");
	if (!v->bytes.total) {
		problem(v, "nothing passed in these intervals: there is nothing to draw from");
		return 0;
	}
	if (v->nshown)
		qsort(v->shown, v->nshown, sizeof(*v->shown), by_shown);
	for (uint64_t i = 0; i < draws; i++) {
		struct evidence_place p = evidence_place_of(&v->bytes,
							    ev_draw(&seed, i, v->bytes.total));

		v->draws++;
		if (is_shown(v, &p))
			continue;
		v->missed++;
		snprintf(text, sizeof(text),
			 "draw %llu: byte %llu of slot %u of interval %llu is not shown",
			 (unsigned long long)i, (unsigned long long)p.at, p.slot,
			 (unsigned long long)v->bytes.interval[p.interval].sequence);
		problem(v, text);
	}
	return 0;
}

/* The range for which all this holds: between the first and the last entry, and nothing else. */
static void say_range(struct verify *v)
{
	const struct ev_chain *x = &v->chain;

	if (!x->begun)
		return;
	bwl_put(stdout,
		"     intervals %llu to %llu, %s to %s: records %llu to %llu of the log, proved by its checkpoint%s of %llu record%s\n",
		(unsigned long long)x->first.id.sequence, (unsigned long long)x->last.id.sequence,
		*x->first.id.begin ? x->first.id.begin : "?",
		*x->last.id.end ? x->last.id.end : "?", (unsigned long long)v->first_n,
		(unsigned long long)v->last_n, v->ncheckpoints > 1 ? "s, the last one" : "",
		(unsigned long long)v->checkpoint[v->ncheckpoints - 1].size,
		BWL_S(v->checkpoint[v->ncheckpoints - 1].size));
	if (v->repeated)
		bwl_put(stdout, "     %llu entr%s more than one of the folders\n",
			(unsigned long long)v->repeated,
			v->repeated == 1 ? "y is in" : "ies are in");
	bwl_put(stdout,
		"     %llu boot%s, %llu day%s, clock set %llu time%s; traffic without a peer in %llu interval%s (%llu byte%s passed), unknown in %llu\n",
		(unsigned long long)x->boots, BWL_S(x->boots), (unsigned long long)x->epochs + 1,
		BWL_S(x->epochs + 1), (unsigned long long)x->clock_steps, BWL_S(x->clock_steps),
		(unsigned long long)x->other_seen, BWL_S(x->other_seen),
		(unsigned long long)x->other.v[EV_BYTES], BWL_S(x->other.v[EV_BYTES]),
		(unsigned long long)x->other_unknown);
	printf("     during a boot %llu counters were first seen above zero, and %llu were no longer followed\n",
	       (unsigned long long)x->appeared, (unsigned long long)x->forgotten);
}

static void set_range(const struct verify *v, json_t *o)
{
	const struct ev_chain *x = &v->chain;
	const bool any = x->begun;

	json_object_set_new(o, "first_sequence",
			    any ? bwl_json_u64(x->first.id.sequence) : json_null());
	json_object_set_new(o, "last_sequence",
			    any ? bwl_json_u64(x->last.id.sequence) : json_null());
	json_object_set_new(o, "first_begin",
			    any && *x->first.id.begin ? json_string(x->first.id.begin)
						      : json_null());
	json_object_set_new(o, "last_end",
			    any && *x->last.id.end ? json_string(x->last.id.end) : json_null());
	json_object_set_new(o, "first_log_record", any ? bwl_json_u64(v->first_n) : json_null());
	json_object_set_new(o, "last_log_record", any ? bwl_json_u64(v->last_n) : json_null());
	json_object_set_new(o, "checkpoint_record_count",
			    any ? bwl_json_u64(v->checkpoint[v->ncheckpoints - 1].size)
				: json_null());
	json_object_set_new(o, "checkpoint_count", bwl_json_u64(v->ncheckpoints));
	json_object_set_new(o, "repeated_count", bwl_json_u64(v->repeated));
	json_object_set_new(o, "clock_step_count", bwl_json_u64(x->clock_steps));
	json_object_set_new(o, "boot_count", bwl_json_u64(x->boots));
	json_object_set_new(o, "epoch_count", bwl_json_u64(any ? x->epochs + 1 : 0));
	json_object_set_new(o, "other_count", bwl_json_u64(x->other_seen));
	json_object_set_new(o, "other_unknown_count", bwl_json_u64(x->other_unknown));
	json_object_set_new(o, "other_passed_frames", bwl_json_u64(x->other.v[EV_FRAMES]));
	json_object_set_new(o, "other_passed_bytes", bwl_json_u64(x->other.v[EV_BYTES]));
	json_object_set_new(o, "other_dropped_frames", bwl_json_u64(x->other.v[EV_DROPPED_FRAMES]));
	json_object_set_new(o, "other_dropped_bytes", bwl_json_u64(x->other.v[EV_DROPPED_BYTES]));
	json_object_set_new(o, "appeared_counter_count", bwl_json_u64(x->appeared));
	json_object_set_new(o, "forgotten_counter_count", bwl_json_u64(x->forgotten));
	json_object_set_new(o, "whole_interval_count", bwl_json_u64(v->whole_intervals));
	json_object_set_new(o, "whole_peer_count", bwl_json_u64(v->whole_peers));
}

static void say(struct verify *v)
{
	const struct ev_chain *x = &v->chain;
	json_t *o;

	if (!v->c->json) {
		bwl_put(stdout,
			"%s  %llu interval%s, %llu byte%s passed by records; %llu not balanced, %llu with something missing before, %llu without flows\n",
			v->nproblems ? "BAD" : "ok ", (unsigned long long)x->intervals,
			BWL_S(x->intervals), (unsigned long long)v->passed.v[EV_BYTES],
			BWL_S(v->passed.v[EV_BYTES]), (unsigned long long)x->unbalanced,
			(unsigned long long)x->gaps, (unsigned long long)x->thinned);
		bwl_put(stdout,
			"     %llu time%s a peer does not balance, for a reason that it gives\n",
			(unsigned long long)x->unbalanced_peers, BWL_S(x->unbalanced_peers));
		bwl_put(stdout,
			"     %llu counter%s followed from one interval to the next; pseudonyms changed %llu time%s\n",
			(unsigned long long)x->counters, BWL_S(x->counters),
			(unsigned long long)x->epochs, BWL_S(x->epochs));
		say_range(v);
		bwl_put(stdout,
			"     shown: %llu interval%s (%llu with all slots), %llu peer%s (%llu with all records), %llu record%s; %llu draw%s, %llu of them not shown\n",
			(unsigned long long)v->opened_intervals, BWL_S(v->opened_intervals),
			(unsigned long long)v->whole_intervals, (unsigned long long)v->opened_peers,
			BWL_S(v->opened_peers), (unsigned long long)v->whole_peers,
			(unsigned long long)v->opened_records, BWL_S(v->opened_records),
			(unsigned long long)v->draws, BWL_S(v->draws),
			(unsigned long long)v->missed);
		return;
	}
	o = bwl_doc("evidence-verify");
	json_object_set_new(o, "ok", json_boolean(!v->nproblems));
	json_object_set(o, "problem_texts", v->problems);
	json_object_set_new(o, "interval_count", bwl_json_u64(x->intervals));
	json_object_set_new(o, "unbalanced_count", bwl_json_u64(x->unbalanced));
	json_object_set_new(o, "unbalanced_peer_count", bwl_json_u64(x->unbalanced_peers));
	json_object_set_new(o, "gap_count", bwl_json_u64(x->gaps));
	json_object_set_new(o, "thinned_count", bwl_json_u64(x->thinned));
	json_object_set_new(o, "passed_frames", bwl_json_u64(v->passed.v[EV_FRAMES]));
	json_object_set_new(o, "passed_bytes", bwl_json_u64(v->passed.v[EV_BYTES]));
	json_object_set_new(o, "dropped_frames", bwl_json_u64(v->passed.v[EV_DROPPED_FRAMES]));
	json_object_set_new(o, "dropped_bytes", bwl_json_u64(v->passed.v[EV_DROPPED_BYTES]));
	json_object_set_new(o, "followed_counter_count", bwl_json_u64(x->counters));
	json_object_set_new(o, "shown_interval_count", bwl_json_u64(v->opened_intervals));
	json_object_set_new(o, "shown_peer_count", bwl_json_u64(v->opened_peers));
	json_object_set_new(o, "shown_record_count", bwl_json_u64(v->opened_records));
	json_object_set_new(o, "draw_count", bwl_json_u64(v->draws));
	json_object_set_new(o, "missed_draw_count", bwl_json_u64(v->missed));
	set_range(v, o);
	bwl_doc_print(o);
}

int evidence_trust(struct ctl *c, const char *key, const struct audit_witness_args *witnesses,
		   struct ev_trust *ret)
{
	int r = audit_take_key(c, NULL, key, &ret->log);

	return r ? r : audit_know_witnesses(c, witnesses, &ret->witnesses);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int evidence_verify(struct ctl *c, int argc, char **argv)
{
	const char *key = NULL, *seed_from = NULL, *draws = NULL, *nonce = NULL;
	struct audit_witness_args witnesses = { 0 };
	struct verify v = { .c = c, .chain = { .fn = on_chain, .arg = &v } };
	const struct ctl_opt opts[] = {
		{ "--key", NULL, &key },
		{ "--witnesses", NULL, &witnesses.k },
		{ "--seed-from", NULL, &seed_from },
		{ "--draws", NULL, &draws },
		{ "--nonce", NULL, &nonce },
		{ "--whole", &v.whole, NULL },
		{ NULL, NULL, NULL },
	};
	uint64_t ndraws = 0;
	int r = audit_take_witnesses(c, &argc, argv, &witnesses);

	if (!r)
		r = ctl_opts(c, &argc, argv, opts);
	if (!r && (argc < 1 || !key))
		return ctl_usage(c, "evidence verify needs --key, and folders or files to verify");
	if (!r && !seed_from != !draws)
		return ctl_usage(c, "--seed-from and --draws go together");
	for (int i = 0; !r && i < argc; i++)
		v.folders += is_folder(argv[i]);
	if (!r && draws && v.folders != 1)
		return ctl_usage(
			c,
			"--draws needs the folder that is drawn from, and the file that answers");
	if (!r && nonce && !draws)
		return ctl_usage(c, "--nonce needs --draws");
	if (!r && v.whole && v.folders == (size_t)argc)
		return ctl_usage(c, "--whole needs a file written by evidence open");
	if (!r)
		r = evidence_nonce(c, nonce);
	if (!r && draws && ctl_number(c, "--draws", draws, EV_DRAWS_MOST, &ndraws))
		return CTL_USAGE;
	if (!r)
		r = evidence_trust(c, key, &witnesses, &v.trust);
	v.problems = json_array();
	for (int i = 0; !r && i < argc; i++)
		r = is_folder(argv[i]) ? verify_dir(&v, argv[i]) : 0;
	for (int i = 0; !r && i < argc; i++) /* files are compared with the folders */
		r = is_folder(argv[i]) ? 0 : verify_file(&v, argv[i]);
	if (!r && seed_from)
		r = verify_draws(&v, seed_from, nonce, ndraws);
	if (!r)
		say(&v);
	if (!r && v.nproblems) {
		fflush(stdout);
		r = CTL_EXIT + 1; /* the answer was printed; there is no error to add to it */
	}
	json_decref(v.problems);
	ev_chain_free(&v.chain);
	evidence_bytes_free(&v.bytes);
	free(v.checkpoint);
	free(v.shown);
	return r;
}
