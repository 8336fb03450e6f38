// SPDX-License-Identifier: GPL-2.0-or-later
/* `audit`: the log of changes, for readers who need not trust this machine. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "audit/grown.h"
#include "audit/verify.h"
#include "audit_args.h"
#include "bwl/cleanup.h"
#include "bwl/text.h"

#define OLD_MAX 1024 /* old checkpoints on one command line */

static int audit_init(struct ctl *c, int argc, char **argv)
{
	const char *dir = NULL, *origin = NULL, *size = NULL;
	const struct ctl_opt opts[] = { { "--dir", NULL, &dir },
					{ "--origin", NULL, &origin },
					{ "--size", NULL, &size },
					{ NULL, NULL, NULL } };
	uint64_t bytes;
	char name[BWL_NOTE_NAME], host[65] = "node", key[BWL_NOTE_KEY_TEXT];
	int r = ctl_only_opts(c, argc, argv, opts);

	if (!r)
		r = audit_folder(c, dir, &dir);
	if (r)
		return r;
	gethostname(host, sizeof(host) - 1);
	snprintf(name, sizeof(name), "bwlimit/%s", host);
	if (size && bwl_parse_size(size, &bytes, &c->err))
		return CTL_USAGE;
	if (size && bytes < BWL_AUDIT_SIZE_MIN)
		return ctl_usage(c, "--size %.32s: must be at least 64kb", size);
	r = bwl_audit_init(dir, origin ? origin : name, key, &c->err);
	if (!r && size)
		r = bwl_audit_put_size(dir, size, &c->err);
	if (r)
		return r;
	bwl_audit("audit init %s", dir);
	if (c->json)
		bwl_doc_print(json_pack("{s:i, s:s, s:s, s:s}", "version", BWL_JSON_VERSION, "kind",
					"audit-init", "dir", dir, "public_key", key));
	else
		bwl_put(stdout, "%s\n", key);
	return 0;
}

static int read_checkpoint(struct ctl *c, const struct bwl_note_key *k, const char *path,
			   char note[static BWL_NOTE_MAX], struct bwl_checkpoint *ret)
{
	struct bwl_err e;
	size_t n;
	int r = audit_read(c, path, note, BWL_NOTE_MAX, &n);

	if (!r && bwl_checkpoint_open(k, note, n, ret, &e))
		r = bwl_fail(&c->err, EBADMSG, "%.200s: %.400s", path, e.text);
	return r;
}

/* w: the witnesses that must have cosigned it; NULL: none. */
static int open_checkpoint(struct ctl *c, const struct bwl_note_key *k,
			   const struct bwl_witnesses *w, const char *path,
			   struct bwl_checkpoint *ret)
{
	char note[BWL_NOTE_MAX];
	struct bwl_err e;
	int r = read_checkpoint(c, k, path, note, ret);

	if (!r && w && bwl_witnesses_hold(w, k, note, strlen(note), NULL, &e))
		r = bwl_fail(&c->err, EBADMSG, "%.200s: %.400s", path, e.text);
	return r;
}

static void show_problem(const struct bwl_audit_problem *p, void *arg)
{
	json_t *a = arg, *o;

	if (!a) {
		bwl_put(stdout, "BAD  %s byte %llu: %s: %s\n", *p->file ? p->file : "-",
			(unsigned long long)p->offset, bwl_audit_fault_name(p->fault), p->text);
		return;
	}
	o = json_pack("{s:s,s:s,s:s}", "fault", bwl_audit_fault_name(p->fault), "file", p->file,
		      "text", p->text);
	json_object_set_new(o, "record", bwl_json_u64(p->from));
	json_object_set_new(o, "record_end", bwl_json_u64(p->to));
	json_object_set_new(o, "offset_bytes", bwl_json_u64(p->offset));
	json_object_set_new(o, "offset_end_bytes", bwl_json_u64(p->end));
	json_array_append_new(a, o);
}

static void show_result(struct ctl *c, const struct bwl_audit_result *v, json_t *problems,
			size_t nold)
{
	char root[BWL_HASH_TEXT] = "";
	json_t *o;

	if (v->has_last)
		bwl_hash_format(&v->last.root, root);
	if (c->json) {
		o = bwl_doc("audit-verify");
		json_object_set_new(o, "ok", json_boolean(!v->problems));
		json_object_set_new(o, "problems", problems);
		json_object_set_new(o, "root", bwl_json_text(*root ? root : NULL));
		json_object_set_new(o, "first_record", bwl_json_u64(v->first));
		json_object_set_new(o, "record_count", bwl_json_u64(v->records));
		json_object_set_new(o, "hashes_only_count", bwl_json_u64(v->hashed));
		json_object_set_new(o, "pruned_count", bwl_json_u64(v->pruned));
		json_object_set_new(o, "removed_count", bwl_json_u64(v->removed));
		json_object_set_new(o, "checkpoint_count", bwl_json_u64(v->checkpoints));
		json_object_set_new(o, "unsigned_record_count", bwl_json_u64(v->unsigned_records));
		json_object_set_new(o, "torn_bytes", bwl_json_u64(v->torn_bytes));
		json_object_set_new(o, "old_checkpoint_count", bwl_json_u64(nold));
		bwl_doc_print(o);
		return;
	}
	bwl_put(stdout, "%s  %llu record%s, %llu checkpoint%s, compared with %zu old one%s\n",
		v->problems ? "BAD" : "ok ", (unsigned long long)v->records, BWL_S(v->records),
		(unsigned long long)v->checkpoints, BWL_S(v->checkpoints), nold, BWL_S(nold));
	if (v->first)
		bwl_put(stdout, "     it begins at record %llu, under a signed checkpoint; %s\n",
			(unsigned long long)v->first,
			v->removed >= v->first ? "what was before was pruned, as a record says"
					       : "no record says where those before are");
	if (v->hashed)
		bwl_put(stdout,
			"     of %llu record%s only the hashes are here; %llu of them were pruned\n",
			(unsigned long long)v->hashed, BWL_S(v->hashed),
			(unsigned long long)v->pruned);
	if (v->unsigned_records || v->torn_bytes)
		bwl_put(stdout,
			"     a crash left %llu record%s unsigned and %llu byte%s incomplete; the next record repairs it\n",
			(unsigned long long)v->unsigned_records, BWL_S(v->unsigned_records),
			(unsigned long long)v->torn_bytes, BWL_S(v->torn_bytes));
}

/* A proof file: "old SIZE", hashes, an empty line, the new checkpoint. Needs no log. */
static int check_proof(struct ctl *c, const struct bwl_note_key *k, const char *path,
		       const struct bwl_checkpoint *old)
{
	struct bwl_hash hash[BWL_PROOF_MAX];
	char buf[BWL_NOTE_MAX], *s, *nl;
	struct bwl_checkpoint now;
	unsigned long long m;
	struct bwl_err e;
	unsigned count = 0;
	size_t n;
	int r = audit_read(c, path, buf, sizeof(buf), &n);

	if (r)
		return r;
	s = strchr(buf, '\n');
	if (!s || sscanf(buf, "old %20llu", &m) != 1)
		return bwl_fail(&c->err, EBADMSG,
				"%.200s is not a proof: a proof begins with 'old SIZE'", path);
	for (s++; (nl = strchr(s, '\n')) && nl != s; s = nl + 1)
		if (count == BWL_PROOF_MAX || !bwl_hash_parse(s, (size_t)(nl - s), &hash[count++]))
			return bwl_fail(&c->err, EBADMSG,
					"%.200s: hash %u of the proof is not valid", path, count);
	if (!nl || bwl_checkpoint_open(k, nl + 1, n - (size_t)(nl + 1 - buf), &now, &e))
		return bwl_fail(&c->err, EBADMSG, "%.200s: %.400s", path,
				nl ? e.text : "no checkpoint follows");
	if (m != old->size ||
	    !bwl_proof_holds(old->size, &old->root, now.size, &now.root, hash, count))
		return bwl_fail(
			&c->err, EBADMSG,
			"the log of %llu record%s does not begin with the %llu of the old checkpoint: it was forked or rewritten",
			(unsigned long long)now.size, BWL_S(now.size),
			(unsigned long long)old->size);
	if (c->json)
		bwl_doc_print(json_pack("{s:i, s:s, s:b, s:I, s:I}", "version", BWL_JSON_VERSION,
					"kind", "audit-proof", "ok", 1, "old_record_count",
					(json_int_t)old->size, "record_count",
					(json_int_t)now.size));
	else
		bwl_put(stdout,
			"ok   the log of %llu record%s begins with the %llu of the old checkpoint\n",
			(unsigned long long)now.size, BWL_S(now.size),
			(unsigned long long)old->size);
	return 0;
}

static int verify_log(struct ctl *c, const char *dir, const struct bwl_note_key *k,
		      const struct bwl_checkpoint *old, size_t nold)
{
	json_t *problems = c->json ? json_array() : NULL;
	struct bwl_audit_result v;
	int r = bwl_audit_verify(dir, k, old, nold, show_problem, problems, &v, &c->err);

	if (r) {
		json_decref(problems);
		return r;
	}
	show_result(c, &v, problems, nold);
	if (!v.problems)
		return 0;
	return CTL_EXIT + 1; /* the answer is printed; there is no error to add */
}

static int audit_verify(struct ctl *c, int argc, char **argv)
{
	struct audit_witness_args wa = { .n = 0 };
	const char *dir = NULL, *key = NULL, *proof = NULL;
	static const char *file[OLD_MAX];
	const struct ctl_opt opts[] = { { "--dir", NULL, &dir },
					{ "--key", NULL, &key },
					{ "--proof", NULL, &proof },
					{ "--witnesses", NULL, &wa.k },
					{ NULL, NULL, NULL } };
	static struct bwl_checkpoint old[OLD_MAX];
	static struct bwl_witnesses w;
	struct bwl_note_key k;
	size_t nold = 0;
	int r = audit_take_all(c, &argc, argv, "--checkpoint", file, OLD_MAX, &nold);

	if (!r)
		r = audit_take_witnesses(c, &argc, argv, &wa);
	if (!r)
		r = ctl_only_opts(c, argc, argv, opts);
	if (!r && proof && (nold != 1 || !key))
		return ctl_usage(c, "--proof needs --key and one --checkpoint");
	if (!r && wa.n && !nold)
		return ctl_usage(c, "--witness needs a --checkpoint that it cosigned");
	if (!r)
		r = audit_know_witnesses(c, &wa, &w);
	if (!r)
		r = audit_folder(c, dir, &dir);
	if (!r)
		r = audit_take_key(c, dir, key, &k);
	for (size_t i = 0; !r && i < nold; i++)
		r = open_checkpoint(c, &k, wa.n ? &w : NULL, file[i], &old[i]);
	if (r)
		return r;
	if (proof)
		return check_proof(c, &k, proof, &old[0]);
	if (!key)
		bwl_warn(
			"the key is from the log's own folder, so whoever wrote the log may have made it, too: use --key");
	return verify_log(c, dir, &k, old, nold);
}

static int audit_checkpoint(struct ctl *c, int argc, char **argv)
{
	const char *dir = NULL, *key = NULL, *from = NULL, *to = NULL;
	const struct ctl_opt opts[] = { { "--dir", NULL, &dir },
					{ "--key", NULL, &key },
					{ "--from", NULL, &from },
					{ "--to", NULL, &to },
					{ NULL, NULL, NULL } };
	char note[BWL_NOTE_MAX], hash[BWL_HASH_TEXT];
	struct bwl_prover proof = { 0 };
	struct bwl_checkpoint now, old;
	struct bwl_note_key k;
	json_t *a, *o;
	int r = ctl_only_opts(c, argc, argv, opts);

	if (!r)
		r = audit_folder(c, dir, &dir);
	if (!r)
		r = audit_take_key(c, dir, key, &k);
	if (!r)
		r = to ? read_checkpoint(c, &k, to, note, &now)
		       : bwl_audit_latest(dir, &k, note, &now, &c->err);
	if (!r && from)
		r = open_checkpoint(c, &k, NULL, from, &old);
	if (!r && from)
		r = bwl_audit_prove(dir, &k, old.size, now.size, &proof, &c->err);
	if (r)
		return r;
	a = json_array();
	if (from && !c->json)
		printf("old %llu\n", (unsigned long long)old.size);
	for (unsigned i = 0; i < proof.count; i++) {
		bwl_hash_format(&proof.hash[i], hash);
		if (c->json)
			json_array_append_new(a, json_string(hash));
		else
			puts(hash);
	}
	if (c->json) {
		o = bwl_doc("audit-checkpoint");
		json_object_set_new(o, "checkpoint", json_string(note));
		json_object_set(o, "proof", a);
		json_object_set_new(o, "record_count", bwl_json_u64(now.size));
		bwl_doc_print(o);
	} else {
		if (from)
			puts("");
		fputs(note, stdout); /* as it is signed */
	}
	json_decref(a);
	return 0;
}

struct show {
	struct ctl *c;
	char since[40]; /* as records write it: compares as text */
};

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "?";
}

static int show_item(const struct bwl_audit_item *i, void *arg)
{
	BWL_AUTO_FREE char *line = NULL;
	struct show *s = arg;
	const json_t *by;

	if (i->kind == BWL_AUDIT_BAD || i->kind == BWL_AUDIT_TORN)
		bwl_warn("%s byte %llu: not a record: see bwlimit-ctl audit verify", i->file,
			 (unsigned long long)i->offset);
	if (i->kind != BWL_AUDIT_RECORD || strcmp(text_of(i->json, "time"), s->since) < 0)
		return 0;
	if (s->c->json) {
		fwrite(i->line, 1, i->len, stdout);
		putchar('\n');
		return 0;
	}
	by = json_object_get(i->json, "by");
	if (asprintf(&line, "%6llu  %s  %-10s  %-9s  %s", (unsigned long long)i->n,
		     text_of(i->json, "time"), text_of(by, "program"), text_of(i->json, "event"),
		     text_of(i->json, "text")) < 0) {
		line = NULL; /* undefined after a failure */
		return -ENOMEM;
	}
	/* records are printed before they are verified */
	bwl_text_plain(line, BWL_ASCII);
	bwl_say(30, "%s", line);
	return 0;
}

static int audit_show(struct ctl *c, int argc, char **argv)
{
	const char *dir = NULL, *since = NULL;
	const struct ctl_opt opts[] = { { "--dir", NULL, &dir },
					{ "--since", NULL, &since },
					{ NULL, NULL, NULL } };
	struct show s = { .c = c };
	uint64_t ns;
	int r = ctl_only_opts(c, argc, argv, opts);

	if (!r)
		r = audit_folder(c, dir, &dir);
	if (!r && since) {
		time_t from;
		struct tm tm;

		if (bwl_parse_time(since, &ns, &c->err))
			return CTL_USAGE;
		from = time(NULL) - (time_t)(ns / 1000000000);
		strftime(s.since, sizeof(s.since), "%Y-%m-%dT%H:%M:%S", gmtime_r(&from, &tm));
	}
	return r ? r : bwl_audit_scan(dir, show_item, &s, &c->err);
}

const struct ctl_cmd ctl_audit_cmds[] = {
	{ "audit", "init", "[--dir DIR] [--origin NAME] [--size SIZE]",
	  "Create an audit log, and print its public key",
	  "From then on every change is recorded; one that opens something is refused if it cannot be recorded.\n"
	  "Keep the key, and checkpoints, where this machine cannot write.\n\n" AUDIT_DIR_HELP
	  "  --origin NAME      the name of the log and of its key (bwlimit/HOSTNAME)\n"
	  "  --size SIZE        maximum size of all its files (256mb). Above it records are pruned: first those of\n"
	  "                     a host's junk, then others that a host caused, then the oldest. To change it\n"
	  "                     later: the file `size` in the folder\n\n"
	  "Examples:\n  bwlimit-ctl audit init >tray-7.pub\n",
	  audit_init },
	{ "audit", "show", "[--since TIME] [--dir DIR]",
	  "Records, oldest first; --json: as they were hashed",
	  "  --since TIME       only records of this last time, by the wall clock\n" AUDIT_DIR_HELP
	  "\nExamples:\n  bwlimit-ctl audit show --since 24h\n"
	  "  bwlimit-ctl audit show --json | jq -r 'select(.event == \"grant\").text'\n",
	  audit_show },
	{ "audit", "verify",
	  "[--key PUB] [--checkpoint OLD… [--witness KEY… [--witnesses K]]] [--dir DIR | --proof FILE]",
	  "Check every record and signature; exit code 1 and the place if one is wrong",
	  AUDIT_KEY_HELP
	  "  --checkpoint OLD   a checkpoint that was kept elsewhere; repeat it for each of them;\n"
	  "                     with --witness, each must be cosigned as demanded\n" AUDIT_WITNESS_HELP
	  "  --proof FILE       instead of the log: what `audit checkpoint --from OLD` printed\n" AUDIT_DIR_HELP
	  "\nExamples:\n"
	  "  bwlimit-ctl audit verify --key tray-7.pub --checkpoint monday --checkpoint friday\n"
	  "  bwlimit-ctl audit verify --key tray-7.pub --checkpoint monday --proof sunday.proof\n",
	  audit_verify },
	{ "audit", "checkpoint", "[--from OLD] [--to NEW] [--key PUB] [--dir DIR]",
	  "Print the newest checkpoint (a C2SP signed note), to be kept elsewhere",
	  "  --from OLD         print before it a proof that the log at OLD is the beginning of this one\n"
	  "  --to NEW           this one instead of the newest, so that several witnesses get the same\n" AUDIT_KEY_HELP
		  AUDIT_DIR_HELP "\nExamples:\n  bwlimit-ctl audit checkpoint >monday\n"
	  "  bwlimit-ctl audit checkpoint --from monday >sunday.proof\n",
	  audit_checkpoint },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
