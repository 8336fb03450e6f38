// SPDX-License-Identifier: GPL-2.0-or-later
/* `audit prove` and `audit check-proof`: one record, for a reader without the log. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit/prove.h"
#include "audit_args.h"

static int parse_record(struct ctl *c, const char *s, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(s, &end, 10);
	if (*s < '0' || *s > '9' || *end || errno || *ret >> 63)
		return ctl_usage(c, "record '%.32s': must be a number, 0 for the first record", s);
	return 0;
}

static json_t *json_hash(const struct bwl_hash *h)
{
	char text[BWL_HASH_TEXT];

	return json_string(bwl_hash_format(h, text));
}

static int give_line(struct ctl *c, const char *path, uint64_t n, const char *line)
{
	char *text;
	int r;

	if (!line) {
		bwl_fail(&c->err, ENOENT, "record %llu was pruned: only its hash is in the log",
			 (unsigned long long)n);
		return bwl_hint(
			&c->err,
			"without --record only the proof is written, for someone who has kept the record");
	}
	text = bwl_must(asprintf(&text, "%s\n", line) < 0 ? NULL : text);
	r = audit_write(c, path, 0600, text);
	free(text);
	return r;
}

static int give_proof(struct ctl *c, const struct bwl_audit_proven *p, uint64_t n,
		      const char *write, const char *record)
{
	json_t *o;
	int r = record ? give_line(c, record, n, p->line) : 0;

	if (!r && write)
		r = audit_write(c, write, 0644, p->text);
	if (r)
		return r;
	if (c->json) {
		o = bwl_doc("audit-prove");
		json_object_set_new(o, "record", bwl_json_u64(n));
		json_object_set_new(o, "record_count", bwl_json_u64(p->c.size));
		json_object_set_new(o, "record_line", bwl_json_text(p->line));
		json_object_set_new(o, "leaf_hash", json_hash(&p->leaf));
		json_object_set_new(o, "tlog_proof", json_string(p->text));
		bwl_doc_print(o);
	} else if (!write) {
		fputs(p->text, stdout);
	}
	return 0;
}

static int audit_prove(struct ctl *c, int argc, char **argv)
{
	const char *dir = NULL, *key = NULL, *witnessed = NULL, *write = NULL, *record = NULL;
	const struct ctl_opt opts[] = { { "--dir", NULL, &dir },
					{ "--key", NULL, &key },
					{ "--witnessed", NULL, &witnessed },
					{ "--write", NULL, &write },
					{ "--record", NULL, &record },
					{ NULL, NULL, NULL } };
	static char note[BWL_NOTE_MAX];
	struct bwl_audit_proven p;
	struct bwl_note_key k;
	size_t len = 0;
	uint64_t n = 0;
	int r = ctl_opts(c, &argc, argv, opts);

	if (!r && argc != 1)
		return ctl_usage(
			c, "audit prove needs a record's number: see `bwlimit-ctl audit show`");
	if (!r)
		r = parse_record(c, argv[0], &n);
	if (!r)
		r = audit_folder(c, dir, &dir);
	if (!r)
		r = audit_take_key(c, dir, key, &k);
	if (!r && witnessed)
		r = audit_read(c, witnessed, note, sizeof(note), &len);
	if (!r)
		r = bwl_audit_prove_record(dir, &k, n, witnessed ? note : NULL, len, &p, &c->err);
	if (r)
		return r;
	r = give_proof(c, &p, n, write, record);
	bwl_audit_proven_free(&p);
	return r;
}

/* The bytes that were hashed: a file's, without the newline that ends its line. */
static int read_record(struct ctl *c, const char *path, struct bwl_hash *ret)
{
	static char line[BWL_AUDIT_LINE + 1];
	size_t n;
	int r = audit_read(c, path, line, sizeof(line), &n);

	if (!r)
		bwl_hash_leaf(line, n - (n && line[n - 1] == '\n'), ret);
	return r;
}

static int wrong_proof(struct ctl *c, const char *path, const struct bwl_err *e)
{
	return bwl_fail(&c->err, EBADMSG, "%.200s: %.400s", path, e->text);
}

static void show_checked(const struct ctl *c, const struct bwl_tlog_proof *p,
			 const struct bwl_checkpoint *at, const struct bwl_witnesses *w,
			 unsigned have)
{
	json_t *o;

	if (!c->json) {
		bwl_put(stdout,
			"ok   this is record %llu of the log %s, in its tree of %llu record%s",
			(unsigned long long)p->index, at->origin, (unsigned long long)at->size,
			BWL_S(at->size));
		if (w->n)
			printf("; %u of %zu known witnesses cosigned it", have, w->n);
		putchar('\n');
		return;
	}
	o = bwl_doc("audit-check-proof");
	json_object_set_new(o, "ok", json_true());
	json_object_set_new(o, "origin", json_string(at->origin));
	json_object_set_new(o, "record", bwl_json_u64(p->index));
	json_object_set_new(o, "record_count", bwl_json_u64(at->size));
	json_object_set_new(o, "known_witness_count", bwl_json_u64(w->n));
	json_object_set_new(o, "witness_count", bwl_json_u64(have));
	bwl_doc_print(o);
}

static int audit_check_proof(struct ctl *c, int argc, char **argv)
{
	struct audit_witness_args wa = { .n = 0 };
	const char *key = NULL, *record = NULL;
	const struct ctl_opt opts[] = { { "--key", NULL, &key },
					{ "--record", NULL, &record },
					{ "--witnesses", NULL, &wa.k },
					{ NULL, NULL, NULL } };
	static char text[BWL_TLOG_PROOF_MAX + 1];
	static struct bwl_witnesses w;
	struct bwl_err e = { 0 };
	struct bwl_checkpoint at;
	struct bwl_tlog_proof p;
	struct bwl_note_key k;
	struct bwl_hash leaf;
	unsigned have = 0;
	size_t len = 0;
	int r = audit_take_witnesses(c, &argc, argv, &wa);

	if (!r)
		r = ctl_opts(c, &argc, argv, opts);
	if (!r && (argc != 1 || !key || !record))
		return ctl_usage(c, "audit check-proof needs a proof, --key and --record");
	if (!r)
		r = audit_know_witnesses(c, &wa, &w);
	if (!r)
		r = audit_take_key(c, NULL, key, &k);
	if (!r)
		r = read_record(c, record, &leaf);
	if (!r)
		r = audit_read(c, argv[0], text, sizeof(text), &len);
	if (r)
		return r;
	if (bwl_tlog_proof_parse(text, len, &p, &e) ||
	    bwl_tlog_proof_check(&p, &leaf, &k, &w, &at, &e) ||
	    bwl_witnesses_hold(&w, &k, p.note, p.note_len, &have, &e))
		return wrong_proof(c, argv[0], &e);
	show_checked(c, &p, &at, &w, have);
	return 0;
}

const struct ctl_cmd ctl_audit_prove_cmds[] = {
	{ "audit", "prove",
	  "RECORD [--witnessed FILE] [--write FILE] [--record FILE] [--key PUB] [--dir DIR]",
	  "Print the proof that one record is in the log (c2sp.org/tlog-proof), without any other record",
	  "  --witnessed FILE   use this checkpoint, with its cosignatures, instead of the newest one\n"
	  "  --write FILE       write the proof there (NAME.tlog-proof)\n"
	  "  --record FILE      write the record there: the bytes that were hashed, and a newline\n" AUDIT_KEY_HELP
		  AUDIT_DIR_HELP
	  "\nExamples:\n  bwlimit-ctl audit prove 17 --write 17.tlog-proof --record 17.json\n"
	  "  bwlimit-ctl audit prove 17 --witnessed monday.cosigned >17.tlog-proof\n",
	  audit_prove },
	{ "audit", "check-proof", "FILE --key PUB --record FILE [--witness KEY… [--witnesses K]]",
	  "Check such a proof, without the log; exit code 1 if it is wrong",
	  AUDIT_KEY_HELP
	  "  --record FILE      the record, as `audit prove --record` or `audit show --json` wrote it\n" AUDIT_WITNESS_HELP
	  "\nExamples:\n"
	  "  bwlimit-ctl audit check-proof 17.tlog-proof --key tray-7.pub --record 17.json\n"
	  "  bwlimit-ctl audit check-proof 17.tlog-proof --key tray-7.pub --record 17.json \\\n"
	  "      --witness alice.pub --witness bob.pub --witness carol.pub --witnesses 2\n",
	  audit_check_proof },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
