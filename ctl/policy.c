// SPDX-License-Identifier: GPL-2.0-or-later
/* `policy`: whole policies, checked, compared, put in force and taken back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "ctl.h"
#include "diff.h"
#include "journal/journal.h"
#include "progress.h"

static int load(struct ctl *c, const char *file, struct bwl_policy **ret)
{
	struct ctl_progress *p = ctl_progress_start("reading and checking %s", file);
	int r = bwl_policy_load(file, bwl_now_ns(), time(NULL), ret, &c->err);

	ctl_progress_end(p);
	return r;
}

static void warn_all(const struct bwl_policy *pol)
{
	for (size_t i = 0; i < pol->nwarnings; i++)
		bwl_warn("%s", pol->warnings[i]);
}

static json_t *json_warnings(const struct bwl_policy *pol)
{
	json_t *a = json_array();

	for (size_t i = 0; i < pol->nwarnings; i++)
		json_array_append_new(a, json_string(pol->warnings[i]));
	return a;
}

static void digest_hex(const struct bwl_policy *pol, char hex[static 65])
{
	uint8_t d[32] = { 0 };

	bwl_policy_digest(pol, d);
	for (size_t i = 0; i < sizeof(d); i++)
		snprintf(hex + 2 * i, 3, "%02x", d[i]);
}

static int policy_check(struct ctl *c, int argc, char **argv)
{
	struct bwl_policy *pol;
	size_t prefixes = 0;
	char hex[65];
	int r;

	if (argc != 1)
		return ctl_usage(c, "say which file; - is standard input");
	r = load(c, argv[0], &pol);
	if (r)
		return r;
	for (size_t i = 0; i < pol->npeers; i++)
		prefixes += pol->peers[i].naddresses;
	digest_hex(pol, hex);
	if (c->json) {
		json_t *o = bwl_doc("policy-check");

		json_object_set_new(o, "file", json_string(argv[0]));
		json_object_set_new(o, "ok", json_true());
		json_object_set_new(o, "peer_count", bwl_json_u64(pol->npeers));
		json_object_set_new(o, "prefix_count", bwl_json_u64(prefixes));
		json_object_set_new(o, "zone_count", bwl_json_u64(pol->nzones));
		json_object_set_new(o, "host_port_count", bwl_json_u64(pol->nports));
		json_object_set_new(o, "digest", json_string(hex));
		json_object_set_new(o, "warnings", json_warnings(pol));
		bwl_doc_print(o);
	} else {
		warn_all(pol);
		printf("%s: ok: %zu peer%s with %zu prefix%s, %zu zone%s, %zu host port%s; digest %.16s\n",
		       argv[0], pol->npeers, CTL_S(pol->npeers), prefixes,
		       prefixes == 1 ? "" : "es", pol->nzones, CTL_S(pol->nzones), pol->nports,
		       CTL_S(pol->nports), hex);
	}
	bwl_policy_free(pol);
	return 0;
}

/* The policy in force, or an empty one when there is none. */
static int in_force(struct ctl *c, struct bwl_pins *pins, struct bwl_policy **ret)
{
	if (bwl_active_slot(pins, bwl_now_ns()) == BWL_NO_SLOT) {
		*ret = bwl_policy_new();
		return 0;
	}
	return bwl_policy_read(pins, ret, &c->err);
}

static int policy_diff(struct ctl *c, int argc, char **argv)
{
	struct bwl_policy *from = NULL, *to = NULL;
	struct bwl_pins *pins = NULL;
	json_t *d;
	int r;

	if (argc != 1)
		return ctl_usage(c, "say which file; - is standard input");
	r = load(c, argv[0], &to);
	if (!r)
		r = bwl_pins_open(c->pin_dir, false, &pins, &c->err);
	if (!r)
		r = in_force(c, pins, &from);
	if (!r) {
		d = ctl_diff(from, to, bwl_now_ns());
		if (c->json) {
			bwl_doc_print(d);
		} else {
			ctl_diff_print(d, stdout);
			json_decref(d);
		}
	}
	bwl_policy_free(from);
	bwl_policy_free(to);
	bwl_pins_close(pins);
	return r;
}

void ctl_print_report(struct ctl *c, const struct bwl_publish_report *r, json_t *doc)
{
	char took[BWL_UNIT_BUF], mem[BWL_UNIT_BUF];

	if (c->json) {
		json_object_set_new(doc, "report",
				    json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f}", "peer_count",
					      (json_int_t)r->peers, "prefix_count",
					      (json_int_t)r->prefixes, "added_count",
					      (json_int_t)r->added, "retired_count",
					      (json_int_t)r->retired, "inherited_count",
					      (json_int_t)r->inherited, "kept_revoked_count",
					      (json_int_t)r->kept_revoked, "exhausted_count",
					      (json_int_t)r->exhausted, "map_bytes",
					      (json_int_t)r->map_bytes, "took_s", r->seconds));
		bwl_doc_print(doc);
		return;
	}
	printf("in force: %u peer%s with %u prefix%s (%u new, %u gone) in %s, maps %s at the peak\n",
	       r->peers, CTL_S(r->peers), r->prefixes, r->prefixes == 1 ? "" : "es", r->added,
	       r->retired, bwl_human_time(r->seconds, took),
	       bwl_human_size((double)r->map_bytes, mem));
	if (r->inherited)
		printf("  peers that take the place of others, and what these had spent: %u\n",
		       r->inherited);
	if (r->kept_revoked)
		printf("  still revoked, until `bwlimit-ctl grant`: %u\n", r->kept_revoked);
	if (r->exhausted)
		printf("  volumes that start spent, what was used before being unknown: %u\n"
		       "    bwlimit-ctl grant NAME volume +V reason TEXT adds to a peer's; a windowed one\n"
		       "    is free again once its window has passed; zones: bwlimit-ctl zone set\n",
		       r->exhausted);
	json_decref(doc);
}

/* At a terminal, with a policy in force: show what changes and ask. False: no. */
static bool agreed(struct bwl_pins *pins, const struct bwl_policy *to, struct ctl *c)
{
	struct bwl_policy *from = NULL;
	char answer[16] = "";
	json_t *d;

	if (!isatty(STDIN_FILENO) || bwl_active_slot(pins, bwl_now_ns()) == BWL_NO_SLOT ||
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
			sa, CTL_S(sa));
}

/*
 * Its limits hold over a reboot, too. After it holds: of a policy that is refused, or a tool that
 * is killed, what was lowered by hand stays lower.
 */
static int raise_limits(struct ctl *c, const struct bwl_pins *pins, const struct bwl_policy *pol)
{
	int r = bwl_journal_raise(pins, pol, &c->err);

	if (r)
		bwl_hint(
			&c->err,
			"the policy is in force; what was lowered by hand is lower again after a reboot: apply it again");
	return r;
}

struct apply {
	const char *file, *confirm;
	bool yes, fresh, trust;
	uint64_t confirm_ns;
};

static int apply_args(struct ctl *c, int argc, char **argv, struct apply *a)
{
	const struct ctl_opt opts[] = {
		{ "--confirm", NULL, &a->confirm },
		{ "--yes", &a->yes, NULL },
		{ "--fresh-volume", &a->fresh, NULL },
		{ "--trust-clock", &a->trust, NULL },
		{ NULL, NULL, NULL },
	};
	int r = ctl_opts(c, &argc, argv, opts);

	if (r)
		return r;
	if (argc != 1)
		return ctl_usage(c, "say which file; - is standard input");
	if (a->confirm && bwl_parse_time(a->confirm, &a->confirm_ns, &c->err))
		return CTL_USAGE;
	if (a->confirm && a->confirm_ns < 1000000000ULL)
		return ctl_usage(c, "--confirm %.32s: give yourself 1s at least", a->confirm);
	a->file = argv[0];
	return 0;
}

/* What the audit log says beside the digest. */
static void apply_terms(const struct apply *a, const struct bwl_policy *pol, char ret[static 256])
{
	snprintf(ret, 256, "%s%.64s%s%s", a->confirm ? ", to be confirmed within " : "",
		 a->confirm ? a->confirm : "",
		 a->fresh ? ", new volumes start unspent (--fresh-volume)" : "",
		 a->trust && pol->until_line ? ", wall clock trusted (--trust-clock)" : "");
}

/* Written down, then in force, then written down that it is. */
static int put_in_force(struct ctl *c, const struct apply *a, struct bwl_pins *pins,
			struct bwl_policy *pol, const char *hex, struct bwl_publish_report *rep)
{
	const struct bwl_publish_opts o = { .confirm_ns = a->confirm_ns, .fresh_volume = a->fresh };
	struct ctl_progress *progress;
	char terms[256];
	int r;

	apply_terms(a, pol, terms);
	r = bwl_audit_intent(&c->err, "policy apply %s: digest %s%s", a->file, hex, terms);
	if (r)
		return r;
	bwl_journal_policy(pins, pol, false, false);
	progress = ctl_progress_start("putting %zu peer%s in force", pol->npeers,
				      CTL_S(pol->npeers));
	r = bwl_publish(pins, pol, &o, rep, &c->err);
	ctl_progress_end(progress);
	if (!r && !a->confirm) /* on trial they are raised when it is confirmed */
		r = raise_limits(c, pins, pol);
	if (r)
		return r;
	ctl_journal_follow(pins);
	bwl_audit("policy apply %s: digest %.16s%s", a->file, hex, terms);
	return 0;
}

static int policy_apply(struct ctl *c, int argc, char **argv)
{
	struct bwl_publish_report rep = { 0 };
	struct bwl_policy *pol = NULL;
	struct bwl_pins *pins = NULL;
	struct apply a = { 0 };
	char hex[65], t[BWL_UNIT_BUF];
	json_t *doc;
	int r;

	r = apply_args(c, argc, argv, &a);
	if (r)
		return r;
	r = load(c, a.file, &pol);
	if (!r && !a.trust)
		r = bwl_policy_wall_ok(pol, &c->err);
	if (!r)
		r = bwl_pins_open(c->pin_dir, true, &pins, &c->err);
	if (r)
		goto out;
	warn_all(pol);
	warn_modes(pins, pol);
	if (!a.yes && strcmp(a.file, "-") && !agreed(pins, pol, c)) {
		bwl_info("nothing was changed");
		goto out;
	}
	digest_hex(pol, hex);
	r = put_in_force(c, &a, pins, pol, hex, &rep);
	if (r)
		goto out;
	doc = bwl_doc("policy-apply");
	json_object_set_new(doc, "file", json_string(a.file));
	json_object_set_new(doc, "digest", json_string(hex));
	json_object_set_new(doc, "confirm_within_s",
			    a.confirm ? bwl_json_span(a.confirm_ns) : json_null());
	json_object_set_new(doc, "warnings", json_warnings(pol));
	ctl_print_report(c, &rep, doc);
	if (a.confirm && !c->json)
		printf("  returns to the policy before in %s by itself, unless: bwlimit-ctl policy confirm\n",
		       bwl_format_time(a.confirm_ns, t));
out:
	bwl_policy_free(pol);
	bwl_pins_close(pins);
	return r;
}

/* The limits of the policy that stays are its own, over a reboot, too. */
static int raise_confirmed(struct ctl *c, struct bwl_pins *pins)
{
	struct bwl_policy *pol = NULL;
	int r = 0;

	if (!bwl_pending_ns(pins, bwl_now_ns()))
		return 0;
	r = bwl_policy_read(pins, &pol, &c->err);
	if (!r)
		r = bwl_journal_raise(pins, pol, &c->err);
	bwl_policy_free(pol);
	return r;
}

/* confirm and rollback differ in one call. */
static int settle(struct ctl *c, int argc, const char *word,
		  int (*fn)(struct bwl_pins *p, struct bwl_err *e), const char *done)
{
	struct bwl_pins *pins;
	int r;

	if (argc)
		return ctl_usage(c, "'policy %s' takes no argument", word);
	r = bwl_pins_open(c->pin_dir, true, &pins, &c->err);
	if (r)
		return r;
	if (fn == bwl_confirm) /* the way back only closes */
		r = bwl_audit_intent(&c->err, "policy %s", word);
	if (!r && fn == bwl_confirm)
		r = raise_confirmed(c, pins);
	if (!r)
		r = fn(pins, &c->err);
	if (!r) {
		bwl_audit("policy %s", word);
		if (c->json)
			ctl_print_list(fn == bwl_confirm ? "policy-confirm" : "policy-rollback",
				       "text", json_string(done));
		else
			puts(done);
	}
	bwl_pins_close(pins);
	return r;
}

static int policy_confirm(struct ctl *c, int argc, char **argv)
{
	(void)argv;
	return settle(c, argc, "confirm", bwl_confirm, "the new policy stays");
}

static int policy_rollback(struct ctl *c, int argc, char **argv)
{
	(void)argv;
	return settle(c, argc, "rollback", bwl_rollback, "back to the policy before");
}

static void show_json(const struct bwl_pins *pins, const struct bwl_policy *pol, const char *hex)
{
	uint64_t now = bwl_now_ns(), pending = bwl_pending_ns(pins, now);
	json_t *o = bwl_json_policy(pol, now);

	json_object_set_new(o, "generation", json_integer(pins->ctl->generation));
	json_object_set_new(o, "digest", json_string(hex));
	json_object_set_new(o, "returns_in_s", pending ? bwl_json_in(pending, now) : json_null());
	bwl_doc_print(o);
}

/* What is in force and not in any policy file, as comments: the text reads back as a file. */
static void show_state(const struct bwl_pins *pins, const struct bwl_policy *pol, const char *hex)
{
	uint64_t now = bwl_now_ns(), pending = bwl_pending_ns(pins, now);
	char t[BWL_UNIT_BUF];

	printf("# in force: digest %s\n", hex);
	if (pending)
		printf("# not confirmed: returns to the policy before in %s\n",
		       bwl_human_time((double)(pending - now) / 1e9, t));
	if (pins->ctl->stop)
		printf("# %s: every packet is dropped\n", pins->ctl->stop == BWL_UPGRADING
								  ? "upgrading"
							  : bwl_is_stopped(pins) ? "stopped"
										 : "not opened");
	for (size_t i = 0; i < pol->npeers; i++)
		if (pol->peers[i].revoked)
			printf("# revoked: %s\n", pol->peers[i].name);
}

static int policy_show(struct ctl *c, int argc, char **argv)
{
	struct bwl_policy *pol = NULL;
	struct bwl_pins *pins;
	char hex[65];
	int r;

	(void)argv;
	if (argc)
		return ctl_usage(c, "'policy show' takes no argument");
	r = bwl_pins_open(c->pin_dir, false, &pins, &c->err);
	if (r)
		return r;
	if (bwl_active_slot(pins, bwl_now_ns()) == BWL_NO_SLOT) {
		bwl_fail(&c->err, ENOENT, "no policy has been applied: everything is dropped");
		r = bwl_hint(&c->err, "bwlimit-ctl policy apply FILE");
	} else {
		r = bwl_policy_read(pins, &pol, &c->err);
	}
	if (!r) {
		digest_hex(pol, hex);
		if (c->json) {
			show_json(pins, pol, hex);
		} else {
			show_state(pins, pol, hex);
			r = bwl_policy_dump(pol, bwl_now_ns(), time(NULL), stdout);
			if (r)
				bwl_fail(&c->err, -r, "cannot write the policy: %s", strerror(-r));
		}
	}
	bwl_policy_free(pol);
	bwl_pins_close(pins);
	return r;
}

const struct ctl_cmd ctl_policy_cmds[] = {
	{ "policy", "check", "FILE", "Check a policy file; errors with line and column",
	  "Needs no pins and no rights. - is standard input.\n", policy_check },
	{ "policy", "diff", "FILE", "What the file would change in the policy in force",
	  "+ added, - removed, ~ changed; defaults count as what they stand for.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl policy diff tray-7.yaml\n",
	  policy_diff },
	{ "policy", "apply", "FILE [--confirm TIME] [--fresh-volume] [--trust-clock] [--yes]",
	  "Put a policy file in force, as a whole",
	  "No packet sees half a policy. Spent volumes, debts and revocations stay.\n\n"
	  "  --confirm TIME  without `policy confirm` in time the data plane itself returns to the\n"
	  "                  policy before; a revocation made meanwhile stays\n"
	  "  --fresh-volume  volumes of whose past nothing is known since the maps were made start\n"
	  "                  unspent (logged); otherwise spent, because of what a reboot forgets\n"
	  "  --trust-clock   believe the wall clock, of which `until:` is a time, although it is not\n"
	  "                  synchronised (logged)\n"
	  "  --yes           at a terminal, do not show the difference and ask\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl policy apply tray-7.yaml --confirm 60s\n",
	  policy_apply },
	{ "policy", "confirm", "", "Keep the policy that `apply --confirm` put in force", NULL,
	  policy_confirm },
	{ "policy", "rollback", "", "Return from `apply --confirm` now", NULL, policy_rollback },
	{ "policy", "show", "", "The policy in force, as a policy file", NULL, policy_show },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
