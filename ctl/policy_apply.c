// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `policy apply`: puts a policy in force by hand. bwlimitd does it if it runs; otherwise this tool
 * does, by the same steps (journal/hand.c). The output is the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "bwl/agent.h"
#include "bwl/trial.h"
#include "diff.h"
#include "journal/journal.h"
#include "policy.h"
#include "progress.h"

#define ANSWER_S 10 /* until the order is accepted; carrying it out may take longer */

/* At a terminal, with a policy in force: show what changes and ask. False: no. */
static bool agreed(struct bwl_pins *pins, const struct bwl_policy *to, struct ctl *c)
{
	struct bwl_policy *from = NULL;
	char answer[16] = "";
	json_t *d;

	if (!isatty(STDIN_FILENO) || bwl_active_slot(pins) == BWL_NO_SLOT ||
	    bwl_policy_read(pins, &from, &c->err))
		return true;
	d = ctl_diff(from, to, bwl_now_ns());
	ctl_diff_print(d, stderr);
	json_decref(d);
	bwl_policy_free(from);
	fputs("apply? [y/N] ", stderr);
	return fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
}

static void warn_modes(const struct bwl_pins *pins, const struct bwl_policy *pol)
{
	size_t shape = 0, sa = 0;

	for (size_t i = 0; i < pol->npeers; i++) {
		shape += pol->peers[i].grant.present && pol->peers[i].mode == BWL_MODE_SHAPE;
		sa += pol->peers[i].path != BWL_PATH_CLEAR;
	}
	if (shape)
		ctl_warn_shape(pins);
	if (sa && !pins->ctl->tunnel)
		bwl_warn(
			"there is no tunnel device: packets of %zu encrypted peer%s are dropped, as no-sa (bwlimit-load attach)",
			sa, BWL_S(sa));
}

struct apply {
	const char *file, *confirm;
	bool yes, fresh, trust;
	uint64_t confirm_ns;
	char reason[CTL_REASON];
	struct ctl_document doc;
};

#define TERMS (256 + CTL_REASON)

static int apply_args(struct ctl *c, int argc, char **argv, struct apply *a)
{
	const struct ctl_opt opts[] = {
		{ "--confirm", NULL, &a->confirm },
		{ "--yes", &a->yes, NULL },
		{ "--fresh-volume", &a->fresh, NULL },
		{ "--trust-clock", &a->trust, NULL },
		{ NULL, NULL, NULL },
	};
	int r;

	ctl_reason(opts, 1, &argc, argv, a->reason);
	r = ctl_opts(c, &argc, argv, opts);
	if (r)
		return r;
	if (argc != 1)
		return ctl_usage(c, "the file is missing; - is standard input");
	if (a->confirm && bwl_parse_trial(a->confirm, &a->confirm_ns, &c->err))
		return CTL_USAGE;
	a->file = argv[0];
	return 0;
}

/* The audit log's text beside the digest. */
static void apply_terms(const struct apply *a, const struct bwl_policy *pol, char ret[static TERMS])
{
	snprintf(ret, TERMS, "%s%.64s%s%s%s%s", a->confirm ? ", to be confirmed within " : "",
		 a->confirm ? a->confirm : "",
		 a->fresh ? ", new volumes start unspent (--fresh-volume)" : "",
		 a->trust && pol->until_line ? ", wall clock trusted (--trust-clock)" : "",
		 *a->reason ? ", reason " : "", a->reason);
}

/* Without bwlimitd. */
static int apply_here(struct ctl *c, struct apply *a, struct bwl_pins *pins,
		      struct bwl_publish_report *rep)
{
	const struct bwl_publish_opts o = { .confirm_ns = a->confirm_ns, .fresh_volume = a->fresh };
	int r = bwl_trial_refuses(pins, &c->err);

	return r ? r : bwl_journal_apply(pins, a->doc.pol, &o, rep, &c->err);
}

/* What bwlimitd did, or refused. */
static int take_answer(struct ctl *c, const json_t *answer, struct bwl_publish_report *rep)
{
	const json_t *warning;
	size_t i;
	int r;

	if (!answer) {
		bwl_fail(
			&c->err, EPIPE,
			"bwlimitd ended before it answered: the previous policy is in force, or this one");
		return bwl_hint(&c->err, "bwlimit-ctl policy show says which; then apply it again");
	}
	json_array_foreach(json_object_get(answer, "warnings"), i, warning)
		bwl_warn("%s", json_string_value(warning));
	r = ctl_answer_err(c, answer);
	if (!r && !bwl_report_from(json_object_get(answer, "report"), rep))
		r = bwl_fail(&c->err, EPROTO, "cannot parse the answer of bwlimitd");
	return r;
}

/* An order to bwlimitd, which owns what is desired. false: it is not there, or does not answer. */
static bool order(struct ctl *c, const struct apply *a, struct bwl_publish_report *rep, int *ret)
{
	const char *by = getenv("BWLIMIT_ORDERED_BY");
	BWL_AUTO_CLOSE int doc = ctl_sealed(a->doc.bytes, a->doc.len);
	struct bwl_err name; /* makes it printable */
	json_t *what, *answer = NULL;
	bool taken;

	if (doc < 0)
		return false;
	bwl_err_fill(&name, EIO, "%.255s", bwl_policy_file_name(a->file));
	what = json_pack("{s:s, s:s, s:I, s:I, s:b, s:b}", "verb", "policy", "name", name.text,
			 "size", (json_int_t)a->doc.len, "confirm_ns", (json_int_t)a->confirm_ns,
			 "fresh_volume", a->fresh, "trust_clock", a->trust);
	if (by)
		json_object_set_new(what, "by", json_string(by));
	taken = ctl_order_document(c, what, doc, ANSWER_S, &answer);
	if (taken)
		*ret = take_answer(c, answer, rep);
	json_decref(answer);
	json_decref(what);
	return taken;
}

/* Recorded, put in force, then recorded as done. */
static int put_in_force(struct ctl *c, struct apply *a, struct bwl_pins *pins, const char *hex,
			struct bwl_publish_report *rep)
{
	const struct bwl_policy *pol = a->doc.pol;
	struct ctl_progress *progress;
	char terms[TERMS];
	int r;

	apply_terms(a, pol, terms);
	r = bwl_audit_intent(&c->err, "policy apply %s: digest %s%s", a->file, hex, terms);
	if (r)
		return r;
	progress = ctl_progress_start("putting %zu peer%s in force", pol->npeers,
				      BWL_S(pol->npeers));
	if (!order(c, a, rep, &r))
		r = apply_here(c, a, pins, rep);
	ctl_progress_end(progress);
	if (!r)
		bwl_audit("policy apply %s: digest %.16s%s", a->file, hex, terms);
	return r;
}

static void show(struct ctl *c, const struct apply *a, const char *hex,
		 const struct bwl_publish_report *rep)
{
	json_t *doc = bwl_doc("policy-apply");
	char t[BWL_UNIT_BUF];

	json_object_set_new(doc, "file", json_string(a->file));
	json_object_set_new(doc, "digest", json_string(hex));
	json_object_set_new(doc, "confirm_within_s",
			    a->confirm ? bwl_json_span(a->confirm_ns) : json_null());
	json_object_set_new(doc, "warnings", ctl_policy_warnings(a->doc.pol));
	ctl_print_report(c, rep, doc);
	if (a->confirm && !c->json)
		bwl_put(stdout,
			"  its grants end in %s, unless confirmed: bwlimit-ctl policy confirm\n",
			bwl_format_time(a->confirm_ns, t));
}

int ctl_policy_apply(struct ctl *c, int argc, char **argv)
{
	struct bwl_publish_report rep = { 0 };
	struct bwl_pins *pins = NULL;
	struct apply a = { 0 };
	char hex[65];
	int r;

	r = apply_args(c, argc, argv, &a);
	if (r)
		return r;
	r = ctl_document_load(c, a.file, &a.doc);
	if (!r && !a.trust)
		r = bwl_policy_wall_ok(a.doc.pol, &c->err);
	if (!r)
		r = bwl_pins_open(c->pin_dir, true, &pins, &c->err);
	if (r)
		goto out;
	ctl_policy_warn(a.doc.pol);
	warn_modes(pins, a.doc.pol);
	if (!a.yes && strcmp(a.file, "-") && !agreed(pins, a.doc.pol, c)) {
		bwl_info("nothing was changed");
		goto out;
	}
	ctl_policy_hex(a.doc.pol, hex);
	r = put_in_force(c, &a, pins, hex, &rep);
	if (!r)
		show(c, &a, hex, &rep);
out:
	ctl_document_free(&a.doc);
	bwl_pins_close(pins);
	return r;
}
