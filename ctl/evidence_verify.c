// SPDX-License-Identifier: GPL-2.0-or-later
/* `evidence verify`: needs only public keys and files, on any machine. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "evidence.h"
#include "evidence/draw.h"
#include "evidence_verify.h"

#define PROBLEMS_MAX 1000 /* the most that are listed */

static void problem(struct verify *v, const char *text)
{
	if (v->nproblems++ >= PROBLEMS_MAX)
		return;
	json_array_append_new(v->problems, json_string(text) ?: json_string("(not UTF-8)"));
	if (!v->c->json)
		bwl_put(stdout, "BAD  %s\n", text);
}

/* Not wrong, as far as can be seen here; but nobody may take it for checked. */
static void newer(struct verify *v, const char *text)
{
	if (v->nnewer++ >= PROBLEMS_MAX)
		return;
	json_array_append_new(v->problems, json_sprintf("newer: cannot judge: %s", text)
						   ?: json_string("newer: cannot judge"));
	if (!v->c->json)
		bwl_put(stdout, "newer: cannot judge: %s\n", text);
}

static void fail_with(struct verify *v, int r, const char *text)
{
	if (r == -EV_NEWER)
		newer(v, text);
	else
		problem(v, text);
}

static void on_chain(bool bad, const char *text, void *arg)
{
	struct verify *v = arg;

	if (bad)
		problem(v, text);
	else if (!v->c->json && v->nnotes++ < PROBLEMS_MAX)
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

/* It is newer only if the log has it: anybody can write a number into a file. */
static void judge_newer(struct verify *v, const struct evidence_part *p, size_t from,
			const char *text)
{
	struct bwl_checkpoint checkpoint;
	struct bwl_err e = { 0 };
	struct ev_entry x;
	char said[600];
	uint64_t n;
	int r = ev_entry_check(&v->trust, p->line, p->line_len, p->proof, p->proof_len, &x, &n,
			       &checkpoint, &e);

	if (r && r != -EV_NEWER) {
		snprintf(said, sizeof(said), "record %llu: %.400s", (unsigned long long)p->n,
			 e.text);
		problem(v, said);
		return;
	}
	same_checkpoint(v, from, &checkpoint, "an entry");
	newer(v, text);
	ev_chain_cut(&v->chain);
}

/* The checkpoint is written last. It is signed, and all proofs of the folder are for it. */
static void judge_folder(struct verify *v, const struct evidence_export *d, size_t from)
{
	struct bwl_checkpoint c;
	struct bwl_err e = { 0 };
	char path[500], text[900], *note;
	size_t n;
	int r;

	if (d->strays) {
		snprintf(
			text, sizeof(text),
			"%.300s: %zu file%s named like a part of an entry that is not there: %.200s",
			d->dir, d->strays, d->strays == 1 ? " is" : "s are", d->stray);
		problem(v, text);
	}
	snprintf(path, sizeof(path), "%s/" EVIDENCE_CHECKPOINT, d->dir);
	r = evidence_read(path, BWL_NOTE_MAX - 1, &note, &n, &e);
	if (!r) {
		r = bwl_checkpoint_open(&v->trust.log, note, n, &c, &e);
		free(note);
	}
	if (!r) {
		same_checkpoint(v, from, &c, "the folder's checkpoint");
		return;
	}
	snprintf(text, sizeof(text), "%.300s: its checkpoint, which export writes last: %.400s",
		 d->dir, e.text);
	problem(v, text);
}

static int verify_dir(struct verify *v, const char *dir)
{
	struct evidence_export d;
	struct evidence_part part;
	struct bwl_err e = { 0 };
	size_t from = v->ncheckpoints;
	int r = evidence_export_list(dir, &d, &v->c->err), one;

	for (size_t i = 0; !r && i < d.count; i++) {
		one = evidence_export_read(&d, i, &part, &e);
		if (one && one != -EV_NEWER) {
			problem(v, e.text);
			continue;
		}
		if (one)
			judge_newer(v, &part, from, e.text);
		else
			judge_part(v, &part, from);
		evidence_part_free(&part);
	}
	if (!r)
		judge_folder(v, &d, from);
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
	int r = evidence_read(path, EV_OPENING_MAX, &text, &n, &v->c->err);

	if (r)
		return r;
	doc = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	r = ev_opening_check(doc, &v->trust, &w, &e);
	if (r) {
		snprintf(said, sizeof(said), "%.200s: %.380s", path, e.text);
		fail_with(v, r, said);
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
	if (!r && draws && ctl_number(c, "--draws", draws, EV_DRAWS_MAX, &ndraws))
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
		evidence_say(&v);
	if (!r && (v.nproblems || v.nnewer)) {
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
