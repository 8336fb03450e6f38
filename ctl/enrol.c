// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `enrol`: this DPU becomes a tray of a fleet. By bwlimitd where it takes documents; else by this
 * tool, in the state directory that bwlimitd will find.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <bwl/encode.h>
#include "bwl/agent.h"
#include "bwl/desired.h"
#include "signed.h"
#include "signed/memory.h"

#define ANSWER_S 30

struct enrolment {
	const char *root_file, *file, *sha256;
	char *root, *text;
	size_t root_len, len;
};

/* The next root needs no enrolment: the previous one decides what follows it. */
static int next_here(struct ctl *c, const struct enrolment *x)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = NULL;
	int r = bwl_memory_open(bwl_state_dir(), &m, &c->err);

	if (!r)
		r = bwl_memory_next_root(m, x->root, x->root_len, &c->err);
	return r ? r : bwl_memory_keep(m, bwl_state_dir(), &c->err);
}

static int enrol_here(struct ctl *c, const struct enrolment *x)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = NULL;

	if (!x->text)
		return next_here(c, x);
	if (mkdir(bwl_state_dir(), 0711) && errno != EEXIST)
		return bwl_fail(&c->err, errno, "cannot make %s: %m", bwl_state_dir());
	return bwl_memory_begin(bwl_state_dir(), x->root, x->text, x->sha256, time(NULL), &m,
				&c->err);
}

static int enrol_at(struct ctl *c, const struct enrolment *x, const char **ret_by)
{
	json_t *both = json_pack("{s:s, s:s*}", "root", x->root, "enrolment", x->text), *what,
	       *answer;
	BWL_AUTO_FREE char *bytes = both ? json_dumps(both, JSON_COMPACT) : NULL;
	BWL_AUTO_CLOSE int doc = bytes ? ctl_sealed(bytes, strlen(bytes)) : -1;
	int r;

	json_decref(both);
	*ret_by = "bwlimit-ctl";
	if (!bytes)
		return bwl_fail(&c->err, EBADMSG, "%s is not a signed document", x->root_file);
	what = json_pack("{s:s, s:s*, s:I}", "verb", "enrol", "sha256", x->sha256, "size",
			 (json_int_t)strlen(bytes));
	answer = doc < 0 ? NULL : ctl_ask_at(c, BWL_AGENT_DOCUMENTS, what, doc, ANSWER_S);
	r = errno;
	json_decref(what);
	if (!answer && (r == ENOENT || r == ECONNREFUSED))
		return enrol_here(c, x);
	if (!answer) {
		/* One writer: it may be doing it, or have done it. */
		bwl_fail(&c->err, ETIMEDOUT, "bwlimitd runs, but did not answer within %d s",
			 ANSWER_S);
		return bwl_hint(
			&c->err,
			"bwlimit-load status shows whether this tray is enrolled; if not, restart or stop bwlimitd and enrol again");
	}
	*ret_by = "bwlimitd";
	r = ctl_answer_err(c, answer);
	json_decref(answer);
	return r;
}

static void show(const struct ctl *c, const struct enrolment *x, const char *by)
{
	struct bwl_signed d = { 0 }, root = { 0 };
	json_t *o = bwl_doc("enrol");
	const char *tray = NULL;
	char hex[65];

	if (x->text && !bwl_signed_peek(x->text, x->len, &d, NULL))
		tray = json_string_value(json_object_get(d.body, "tray"));
	bwl_signed_peek(x->root, x->root_len, &root, NULL);
	bwl_hex_encode(root.digest, sizeof(root.digest), hex);
	json_object_set_new(o, "fleet", json_string(root.fleet));
	json_object_set_new(o, "tray", bwl_json_text(tray));
	json_object_set_new(o, "sha256", json_string(hex));
	json_object_set_new(o, "by", json_string(by));
	if (c->json)
		bwl_doc_print(o);
	else if (tray)
		bwl_put(stdout,
			"enrolled: tray %s of fleet %s; from now on only signed documents can widen anything\n",
			tray, root.fleet);
	else
		bwl_put(stdout, "the root is version %llu now, SHA-256 %s\n",
			(unsigned long long)root.terms.version, hex);
	if (!c->json)
		json_decref(o);
	bwl_signed_free(&root);
	bwl_signed_free(&d);
}

static int enrol(struct ctl *c, int argc, char **argv)
{
	struct enrolment x = { 0 };
	const struct ctl_opt opts[] = { { "--sha256", NULL, &x.sha256 }, { NULL, NULL, NULL } };
	const char *by;
	int r = ctl_opts(c, &argc, argv, opts);

	if (r)
		return r;
	if (argc < 1 || argc > 2)
		return ctl_usage(c, "give two files: the root, and this tray's enrolment");
	if (argc == 2 && !x.sha256)
		return ctl_usage(
			c,
			"--sha256 is missing: the digest of the root that people wrote down makes it trusted");
	x.root_file = argv[0];
	x.file = argc == 2 ? argv[1] : NULL;
	r = ctl_signed_read(c, x.root_file, &x.root, &x.root_len);
	if (!r && x.file)
		r = ctl_signed_read(c, x.file, &x.text, &x.len);
	if (!r)
		r = bwl_audit_intent(&c->err, "enrol %s%s%s", x.root_file, x.file ? " " : "",
				     x.file ? x.file : "");
	if (!r)
		r = enrol_at(c, &x, &by);
	if (!r) {
		bwl_audit("enrol %s%s%s", x.root_file, x.file ? " " : "", x.file ? x.file : "");
		show(c, &x, by);
	}
	free(x.root);
	free(x.text);
	return r;
}

const struct ctl_cmd ctl_enrol_cmds[] = {
	{ "enrol", NULL, "ROOT [ENROLMENT --sha256 HEX]",
	  "Make this DPU a tray of a fleet, or give it the fleet's next root",
	  "ROOT is trusted because its SHA-256 is the one that people wrote down (docs/fleet.md); ENROLMENT,\n"
	  "signed under it, says which tray this is. From then on what is in force comes from signed\n"
	  "documents. Without ENROLMENT, ROOT must be the root that follows the enrolled one.\n\n"
	  "  --sha256 HEX    the root's digest, 64 hex digits\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl enrol root tray-7.enrolment --sha256 9f86d081…\n",
	  enrol },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
