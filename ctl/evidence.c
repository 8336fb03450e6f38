// SPDX-License-Identifier: GPL-2.0-or-later
/* `evidence`: flow records for readers who need not trust this machine (docs/evidence.md). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "evidence.h"

/* One line per peer. */
static char *peers_text(const struct ev_interval *v, size_t *ret_len)
{
	char *text = NULL;
	FILE *o = bwl_must(open_memstream(&text, ret_len));

	for (uint32_t i = 0; i < v->slots; i++) {
		json_t *p = ev_peer_json(&v->peer[i]);

		json_dumpf(p, o, JSON_COMPACT);
		fputc('\n', o);
		json_decref(p);
	}
	fclose(o);
	return bwl_must(text);
}

static int write_one(const char *dir, const struct ev_log *l, const struct ev_found *x,
		     const struct ev_interval *v, struct bwl_err *e)
{
	unsigned long long n = x->n;
	char name[64], *proof, *peers;
	size_t len;
	int r = ev_log_prove(l, x->n, &proof, e);

	if (r)
		return r;
	peers = peers_text(v, &len);
	snprintf(name, sizeof(name), EVIDENCE_PEERS, n);
	r = evidence_write(dir, name, EVIDENCE_FOR_ALL, peers, len, e);
	snprintf(name, sizeof(name), EVIDENCE_PROOF, n);
	if (!r)
		r = evidence_write(dir, name, EVIDENCE_FOR_ALL, proof, strlen(proof), e);
	snprintf(name, sizeof(name), EVIDENCE_ENTRY, n);
	if (!r)
		r = evidence_write(dir, name, EVIDENCE_FOR_ALL, x->line, strlen(x->line), e);
	free(peers);
	free(proof);
	return r;
}

struct export
{
	uint64_t from, to;
	char since[40];
	bool begun; /* an interval that ended since then was seen: all later ones count, too */
	size_t written, gone;
};

/*
 * By their place in the log, so that an interval in the middle is not left out if it has no end, or
 * if the clock was set back.
 */
static bool is_asked_for(struct export *x, const struct ev_found *f)
{
	const struct ev_id *id = &f->x.id;

	x->begun |= !*x->since || strcmp(id->end, x->since) >= 0;
	return x->begun && id->sequence >= x->from && id->sequence <= x->to;
}

/* The oldest may be gone; but after the first existing one, a missing one is always reported. */
static int write_all(struct ctl *c, struct evidence_from *f, const char *dir, struct export *x)
{
	int r = 0;

	for (size_t i = 0; !r && i < f->log.nentries; i++) {
		const struct ev_found *e = &f->log.entry[i];
		struct ev_interval v;

		if (!is_asked_for(x, e) || e->n >= f->log.c.size)
			continue;
		if (evidence_interval(f->state_dir, e, &v, &c->err)) {
			bwl_warn("%s", c->err.text);
			x->gone++;
			continue;
		}
		r = write_one(dir, &f->log, e, &v, &c->err);
		ev_interval_free(&v);
		x->written += !r;
	}
	if (!r && !x->written) {
		bwl_fail(
			&c->err, ENOENT,
			"the audit log has no interval in this range whose flows can be shown: %zu cannot",
			x->gone);
		return bwl_hint(
			&c->err,
			"bwlimitd enters intervals while flows are recorded and the audit log is on");
	}
	if (!r)
		r = evidence_write(dir, EVIDENCE_CHECKPOINT, EVIDENCE_FOR_ALL, f->log.note,
				   f->log.note_len, &c->err);
	return r;
}

static int settle(struct ctl *c, struct export *x, const char *from, const char *to,
		  const char *since)
{
	uint64_t ns;
	time_t at;
	struct tm tm;

	x->to = UINT64_MAX;
	if ((from && ctl_number(c, "--from", from, INT64_MAX, &x->from)) ||
	    (to && ctl_number(c, "--to", to, INT64_MAX, &x->to)) ||
	    (since && bwl_parse_time(since, &ns, &c->err)))
		return CTL_USAGE;
	if (since) {
		at = time(NULL) - (time_t)(ns / 1000000000);
		strftime(x->since, sizeof(x->since), "%Y-%m-%dT%H:%M:%S", gmtime_r(&at, &tm));
	}
	return 0;
}

static int evidence_export(struct ctl *c, int argc, char **argv)
{
	const char *from = NULL, *to = NULL, *since = NULL;
	struct evidence_from f = { .state_dir = bwl_state_dir() };
	const struct ctl_opt opts[] = {
		{ "--from", NULL, &from },
		{ "--to", NULL, &to },
		{ "--since", NULL, &since },
		{ "--state-dir", NULL, &f.state_dir },
		{ "--dir", NULL, &f.audit_dir },
		{ "--checkpoint", NULL, &f.checkpoint },
		{ NULL, NULL, NULL },
	};
	struct export x = { 0 };
	json_t *doc;
	int r = ctl_opts(c, &argc, argv, opts);

	if (!r && argc != 1)
		return ctl_usage(c, "evidence export needs one folder to write to");
	if (!r)
		r = settle(c, &x, from, to, since);
	if (!r)
		r = evidence_log(c, &f);
	if (r)
		return r;
	if (mkdir(argv[0], 0755))
		r = bwl_fail(&c->err, errno, "cannot make %.300s: %s", argv[0], strerror(errno));
	if (!r)
		r = write_all(c, &f, argv[0], &x);
	ev_log_free(&f.log);
	if (r)
		return r;
	bwl_audit("evidence export: %zu interval%s", x.written, BWL_S(x.written));
	if (!c->json) {
		bwl_put(stdout, "%zu interval%s in %s%s\n", x.written, BWL_S(x.written), argv[0],
			x.gone ? "; others cannot be shown, see above" : "");
		return 0;
	}
	doc = bwl_doc("evidence-export");
	json_object_set_new(doc, "interval_count", bwl_json_u64(x.written));
	json_object_set_new(doc, "gone_count", bwl_json_u64(x.gone));
	bwl_doc_print(doc);
	return 0;
}

#define FROM_HELP                                                                                  \
	"  --state-dir DIR    bwlimitd's folder; --dir DIR: the audit log's\n"                     \
	"  --checkpoint FILE  proofs for this checkpoint, with its witnesses' signatures (the\n"   \
	"                     log's newest)\n"
#define TRUST_HELP AUDIT_KEY_HELP AUDIT_WITNESS_HELP

const struct ctl_cmd ctl_evidence_cmds[] = {
	{ "evidence", "export",
	  "[--from N] [--to N] [--since TIME] [--state-dir DIR] [--dir DIR] [--checkpoint FILE] DIR",
	  "Flow records for an auditor: sums under pseudonyms, and the log's proofs",
	  "Writes to a new folder, for each interval, the log's entry, its proof and its peers,\n"
	  "without names, addresses or records.\n\n"
	  "  --from N, --to N   only these intervals (`sequence` in their files)\n"
	  "  --since TIME       only intervals that ended within this time\n" FROM_HELP
	  "\nExamples:\n"
	  "  bwlimit-ctl evidence export --since 24h --checkpoint cosigned /tmp/monday\n",
	  evidence_export },
	{ "evidence", "open",
	  "--interval N [--flow N | --peer NAME] [--to N] --write FILE [--state-dir DIR] [--dir DIR] [--checkpoint FILE]",
	  "Show one record, one peer or one interval, with its proof",
	  "Nothing else is shown.\n\n"
	  "  --interval N       this interval (`sequence` in its file); with --to N: up to that one\n"
	  "  --flow N           only its Nth flow or remainder, in the order of its file\n"
	  "  --peer NAME        only this peer's records\n"
	  "  --write FILE       a new file, for whoever asked for it\n" FROM_HELP "\nExamples:\n"
	  "  bwlimit-ctl evidence open --interval 4711 --flow 17 --write record.json\n"
	  "  bwlimit-ctl evidence open --interval 4711 --to 5000 --peer tray-3 --write tray-3.json\n",
	  evidence_open },
	{ "evidence", "challenge",
	  "--seed-from CHECKPOINT --draws N [--nonce TEXT] [--witness KEY]… [--witnesses K] --write FILE [--state-dir DIR] [--dir DIR] DIR",
	  "Show the records of bytes drawn at random",
	  "From exported intervals: DIR is the folder that the auditor was given. The draw follows from\n"
	  "the checkpoint, from its signatures by the auditor's witnesses, and from a text that the\n"
	  "auditor chooses once he has the folder. 300 draws find 1 % of false bytes with 95 % certainty.\n\n"
	  "  --seed-from FILE   the checkpoint given to `export --checkpoint`\n"
	  "  --draws N          number of bytes to draw\n"
	  "  --nonce TEXT       the auditor's text\n" AUDIT_WITNESS_HELP
	  "  --write FILE       a new file\n"
	  "  --state-dir DIR    bwlimitd's folder; --dir DIR: the audit log's\n"
	  "\nExamples:\n"
	  "  bwlimit-ctl evidence challenge --seed-from cosigned --witness w.pub --nonce 'dice 4 1 6' --draws 300 --write answer.json monday\n",
	  evidence_challenge },
	{ "evidence", "verify",
	  "--key PUB [--witness KEY]… [--witnesses K] [--seed-from CHECKPOINT --draws N [--nonce TEXT]] [--whole] DIR|FILE…",
	  "Check exported and shown evidence, on any machine, with public keys",
	  "Checks totals against counters, interval by interval, each record that is shown, and the\n"
	  "log's proof of each. Name the oldest of several folders first; each has a checkpoint of its\n"
	  "own, and continues where the previous one ends, or overlaps with it.\n"
	  "The verdict is ok; gap, if nothing is wrong and the evidence itself says that something is\n"
	  "missing; `newer: cannot judge`, if something in it is of a later version; or BAD. What cannot\n"
	  "be read is BAD. Exit code 0 for ok and gap, otherwise 1.\n\n" TRUST_HELP
	  "  --seed-from FILE   the records of these draws must be among those shown\n"
	  "  --draws N          number of draws; needs the folder, too\n"
	  "  --nonce TEXT       the text that the auditor chose once he had the folder\n"
	  "  --whole            every interval shown must be shown with all of its slots\n"
	  "\nExamples:\n"
	  "  bwlimit-ctl evidence verify --key tray-7.pub --witness w.pub --witnesses 1 monday\n"
	  "  bwlimit-ctl evidence verify --key tray-7.pub --witness w.pub --seed-from cosigned --nonce 'dice 4 1 6' --draws 300 monday answer.json\n",
	  evidence_verify },
	{ "evidence", "reconcile",
	  "--sender-key PUB --receiver-key PUB [--witness KEY]… [--witnesses K] [--cause NAME=SIZE]… SENDER RECEIVER",
	  "Compare what one end claims to have sent with what the other received",
	  "Both files are written by `evidence open --peer`: at the sender for the receiver, at the\n"
	  "receiver for the sender. No more may have arrived than was sent; what did not arrive is\n"
	  "attributed to a cause, or reported as unexplained.\n\n"
	  "  --sender-key PUB   the public key of the sender's audit log\n"
	  "  --receiver-key PUB  the public key of the receiver's\n" AUDIT_WITNESS_HELP
	  "  --cause NAME=SIZE  bytes lost to a cause that is counted elsewhere (esp-gaps,\n"
	  "                     xfrm-errors)\n"
	  "\nExamples:\n"
	  "  bwlimit-ctl evidence reconcile --sender-key a.pub --receiver-key b.pub sent.json got.json\n",
	  evidence_reconcile },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
