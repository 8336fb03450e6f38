// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `approve`: shows the second person what a signed policy or grant would widen, in words and as the
 * shortest time of a theft before and after; that person then signs, or does not.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "signed.h"
#include "signed/grant.h"
#include "signed/payload.h"
#include "signed/widen.h"

struct approval {
	const char *file, *root_file, *key, *against, *size;
	const char *held; /* what --against contains, if it is not a file */
	size_t held_len;
	bool yes;
	uint64_t bytes;
	uint64_t boot_ns; /* both policies are read with these clocks */
	int64_t wall_s;
	struct bwl_root *root;
	struct bwl_signed doc;
	struct bwl_policy *from, *to;
	const char **opens;    /* of the document */
	size_t nopens, nlifts; /* what it lifts follows after them */
};

static int parse(struct ctl *c, const struct approval *a, const char *name, const char *text,
		 size_t len, struct bwl_policy **ret)
{
	return bwl_policy_parse(name, text, len, a->boot_ns, a->wall_s, ret, &c->err);
}

/* A document that one person signed, or nobody, must not choose the comparison. */
static int verified(struct ctl *c, const struct approval *a, const char *bytes, size_t len,
		    struct bwl_signed *ret)
{
	struct bwl_err *e = &c->err;
	int r = bwl_signed_open(bytes, len, a->root, NULL, a->wall_s, ret, e);

	if (!r && !ret->enough) {
		r = bwl_fail(e, EKEYREJECTED, "%s is signed by only %u %s: it may not be in force",
			     a->against, ret->people, ret->people == 1 ? "person" : "people");
		bwl_signed_free(ret);
	}
	return r ? bwl_hint(e,
			    "nothing was compared: give --against, the text of the policy in force")
		 : 0;
}

/* A policy file, a signed one, or what is in force here. */
static int load_from(struct ctl *c, struct approval *a, struct bwl_holding *ret)
{
	BWL_AUTO_FREE char *read = NULL;
	const char *bytes = a->held;
	struct bwl_pins *pins = NULL;
	size_t len = a->held_len;
	struct bwl_signed d;
	const char *text;
	int r = 0;

	if (!a->against) {
		r = bwl_pins_open(c->pin_dir, false, &pins, &c->err);
		if (r)
			return bwl_hint(&c->err, "or give --against, the policy in force there");
		if (bwl_active_slot(pins) == BWL_NO_SLOT)
			a->from = bwl_policy_new();
		else
			r = bwl_policy_read(pins, &a->from, &c->err);
		bwl_pins_close(pins);
		*ret = bwl_holding_of(a->from);
		return r;
	}
	if (!bytes) {
		r = ctl_signed_read(c, a->against, &read, &len);
		bytes = read;
	}
	if (r)
		return r;
	if (bwl_signed_peek(bytes, len, &d, NULL)) {
		r = parse(c, a, a->against, bytes, len, &a->from);
		*ret = bwl_holding_of(a->from);
		return r;
	}
	bwl_signed_free(&d);
	r = verified(c, a, bytes, len, &d);
	if (r)
		return r;
	text = bwl_payload_text(d.body, "text");
	r = text ? parse(c, a, a->against, text, strlen(text), &a->from)
		 : bwl_fail(&c->err, EINVAL, "%s is not a policy", a->against);
	*ret = (struct bwl_holding){
		.pol = a->from,
		.not_after_s = d.terms.not_after_s,
		.offline_for_ns = bwl_payload_span(d.body, "offline_for", BWL_OFFLINE_FOR_NS),
		.lease_most_ns = bwl_payload_span(d.body, "lease_most", 0),
		.stages = bwl_payload_yes(d.body, "stages"),
	};
	bwl_signed_free(&d);
	return r;
}

/* A grant: the policy in force with that grant. */
static int load_granted(struct ctl *c, struct approval *a, struct bwl_holding *ret)
{
	struct approval again = *a;
	int r;

	again.from = NULL;
	r = load_from(c, &again, ret);
	a->to = again.from;
	if (ret->offline_for_ns != UINT64_MAX)
		ret->offline_for_ns = bwl_payload_span(a->doc.body, "offline_for",
						       BWL_OFFLINE_FOR_NS);
	return r ? r : bwl_grant_into(a->to, &a->doc, a->boot_ns, a->wall_s, &c->err);
}

static int load_to(struct ctl *c, struct approval *a, struct bwl_holding *ret)
{
	const char *text = bwl_payload_text(a->doc.body, "text");
	int r = parse(c, a, a->file, text, strlen(text), &a->to);

	*ret = (struct bwl_holding){
		.pol = a->to,
		.not_after_s = a->doc.terms.not_after_s,
		.offline_for_ns = bwl_payload_span(a->doc.body, "offline_for", BWL_OFFLINE_FOR_NS),
		.lease_most_ns = bwl_payload_span(a->doc.body, "lease_most", 0),
		.stages = bwl_payload_yes(a->doc.body, "stages"),
		.fresh_volume = bwl_payload_yes(a->doc.body, "fresh_volume"),
	};
	return r;
}

static double least_s(const struct approval *a, const struct bwl_policy *p)
{
	const struct bwl_exfil_args args = { .size = a->bytes, .compression = 1, .trays = 1 };
	struct bwl_exfil_result x;

	return bwl_exfil(p, &args, &x, NULL) ? NAN : x.seconds;
}

static void take_opens(struct approval *a)
{
	const json_t *list = json_object_get(a->doc.body, "opens"),
		     *lifts = json_object_get(a->doc.body, "lifts"), *v;
	size_t i;

	a->opens = bwl_must(
		calloc(json_array_size(list) + json_array_size(lifts) + 1, sizeof(*a->opens)));
	json_array_foreach(list, i, v) a->opens[a->nopens++] = json_string_value(v);
	json_array_foreach(lifts, i, v) a->opens[a->nopens + a->nlifts++] = json_string_value(v);
}

/* Further terms of a document. */
static void terms_json(const struct approval *a, json_t *o)
{
	const json_t *body = a->doc.body;
	uint64_t lease = bwl_payload_span(body, "lease_most", 0);
	const char *reason = bwl_payload_text(body, "reason");
	char t[BWL_TIME_BUF];

	json_object_set_new(o, "opens_peer_names", bwl_json_names(a->opens, a->nopens));
	json_object_set_new(o, "fresh_volume", json_boolean(bwl_payload_yes(body, "fresh_volume")));
	json_object_set_new(o, "stages", json_boolean(bwl_payload_yes(body, "stages")));
	json_object_set_new(o, "break_glass", json_boolean(bwl_payload_yes(body, "break_glass")));
	json_object_set_new(o, "offline_for_s",
			    bwl_json_span(
				    bwl_payload_span(body, "offline_for", BWL_OFFLINE_FOR_NS)));
	json_object_set_new(o, "lease_most_s", lease ? bwl_json_span(lease) : json_null());
	json_object_set_new(o, "issued_at", json_string(bwl_utc(a->doc.terms.issued_s, -1, t)));
	json_object_set_new(o, "not_after", json_string(bwl_utc(a->doc.terms.not_after_s, -1, t)));
	json_object_set_new(o, "signed_reason", reason ? json_string(reason) : json_null());
}

static void terms_text(const struct approval *a, FILE *f)
{
	const json_t *body = a->doc.body;
	uint64_t lease = bwl_payload_span(body, "lease_most", 0);
	const char *reason = bwl_payload_text(body, "reason");
	char t[BWL_UNIT_BUF], from[BWL_TIME_BUF], to[BWL_TIME_BUF];

	fprintf(f, "  issued %s, valid until %s\n", bwl_utc(a->doc.terms.issued_s, -1, from),
		bwl_utc(a->doc.terms.not_after_s, -1, to));
	if (reason)
		bwl_put(f, "  reason: %s\n", reason);
	for (size_t i = 0; i < a->nopens; i++)
		fprintf(f, "  opens %s, which is closed\n", a->opens[i]);
	for (size_t i = 0; i < a->nlifts; i++)
		fprintf(f, "  lifts `%s`, unless that was done after this was signed\n",
			a->opens[a->nopens + i]);
	if (bwl_payload_yes(body, "fresh_volume"))
		fputs("  volumes begin unspent\n", f);
	if (bwl_payload_yes(body, "stages"))
		fputs("  in force when a rollout of the controller says so, not when it comes\n",
		      f);
	if (bwl_payload_yes(body, "break_glass"))
		fputs("  breaks glass: applied by a file, without the controller and a signed time, for a few hours\n",
		      f);
	fprintf(f, "  without a signed time for %s it falls to the floor\n",
		bwl_format_time(bwl_payload_span(body, "offline_for", BWL_OFFLINE_FOR_NS), t));
	if (lease)
		fprintf(f, "  the controller may renew leases for %s at most\n",
			bwl_format_time(lease, t));
}

static void words_json(const struct approval *a, const struct bwl_widened *w, json_t *o)
{
	double before = least_s(a, a->from), after = least_s(a, a->to);
	json_t *list = json_array();

	for (size_t i = 0; i < w->n && i < BWL_WIDENINGS_KEPT; i++) {
		char text[BWL_WIDENING_TEXT];

		json_array_append_new(list, json_string(bwl_widening_text(&w->item[i], text)));
	}
	json_object_set_new(o, "widens", json_boolean(w->n));
	json_object_set_new(o, "widening_count", bwl_json_u64(w->n));
	json_object_set_new(o, "widenings", list);
	json_object_set_new(o, "size_bytes", bwl_json_u64(a->bytes));
	json_object_set_new(o, "least_before_s", bwl_json_real(before));
	json_object_set_new(o, "least_after_s", bwl_json_real(after));
}

static json_t *as_json(const struct approval *a, const struct bwl_widened *w, bool did)
{
	json_t *o = bwl_doc("approve");

	json_object_set_new(o, "file", json_string(a->file));
	words_json(a, w, o);
	json_object_set_new(o, "signed", json_boolean(did));
	terms_json(a, o);
	return o;
}

static void as_text(const struct approval *a, const struct bwl_widened *w, FILE *f)
{
	char size[BWL_UNIT_BUF], before[BWL_UNIT_BUF], after[BWL_UNIT_BUF];

	bwl_put(f, "%s %s, version %llu, for %s\n", bwl_signed_word(a->doc.type), a->doc.terms.name,
		(unsigned long long)a->doc.terms.version, a->doc.audience);
	terms_text(a, f);
	if (!w->n)
		fputs("widens nothing: one person suffices\n", f);
	else
		bwl_put(f, "WIDENS, in %zu place%s:\n", w->n, BWL_S(w->n));
	for (size_t i = 0; i < w->n && i < BWL_WIDENINGS_KEPT; i++) {
		char text[BWL_WIDENING_TEXT];

		bwl_put(f, "  + %s\n", bwl_widening_text(&w->item[i], text));
	}
	bwl_put(f, "%s leave in at least %s; before, %s\n", bwl_human_size((double)a->bytes, size),
		bwl_human_time(least_s(a, a->to), after),
		bwl_human_time(least_s(a, a->from), before));
}

static bool agreed(const struct approval *a)
{
	char answer[16] = "";

	if (a->yes)
		return true;
	if (!isatty(STDIN_FILENO))
		return false;
	fputs("sign? [y/N] ", stderr);
	return fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
}

/* A person who has already signed cannot be the second person. */
static int check_signer(struct ctl *c, const struct approval *a, const struct bwl_envelope *v,
			const struct bwl_key *k)
{
	const enum bwl_role role = bwl_signed_role(a->doc.type);
	char id[BWL_KEY_ID];
	const char *owner = bwl_root_owner(a->root, bwl_key_id(bwl_key_public(k), id), role);

	if (!owner)
		return bwl_fail(&c->err, ENOKEY, "the key %.16s… has no role %s in this root", id,
				bwl_role_word(role));
	for (size_t i = 0; i < v->nsig; i++) {
		const char *other = bwl_root_owner(a->root, v->sig[i].key, role);

		if (other && !strcmp(other, owner)) {
			bwl_fail(&c->err, EEXIST, "%s has signed it already", owner);
			return bwl_hint(&c->err, "another person must approve it");
		}
	}
	return 0;
}

static int sign(struct ctl *c, const struct approval *a, const char *bytes, size_t len)
{
	BWL_AUTO(bwl_key_free) struct bwl_key *k = NULL;
	struct bwl_envelope v;
	int r = bwl_key_read(a->key, &k, &c->err);

	if (!r)
		r = bwl_envelope_parse(bytes, len, &v, &c->err);
	if (r)
		return r;
	r = check_signer(c, a, &v, k);
	if (!r)
		r = bwl_envelope_sign(&v, k, &c->err);
	if (!r)
		r = ctl_signed_write(c, a->file, &v);
	bwl_envelope_free(&v);
	return r;
}

static int compare(struct ctl *c, struct approval *a, struct bwl_widened *ret)
{
	struct bwl_holding from, to;
	int r = load_from(c, a, &from);

	if (!r)
		r = a->doc.type == BWL_SIGNED_GRANT ? load_granted(c, a, &to) : load_to(c, a, &to);
	if (r)
		return r;
	/* what it opens is closed now, otherwise there is nothing to open */
	from.closed = a->opens;
	from.nclosed = a->nopens + a->nlifts;
	bwl_widens(&from, &to, ret);
	return 0;
}

static int look(struct ctl *c, struct approval *a, const char *bytes, size_t len)
{
	struct bwl_widened w = { 0 };
	bool did = false;
	int r = compare(c, a, &w);

	if (r)
		return r;
	if (!c->json)
		as_text(a, &w, stdout);
	if (a->key && agreed(a)) {
		r = sign(c, a, bytes, len);
		did = !r;
	}
	if (!r && c->json)
		bwl_doc_print(as_json(a, &w, did));
	else if (!r)
		puts(did ? "signed" : "not signed");
	bwl_widened_free(&w);
	return r;
}

static void done(struct approval *a)
{
	free(a->opens);
	bwl_signed_free(&a->doc);
	bwl_policy_free(a->from);
	bwl_policy_free(a->to);
}

int ctl_approve_widens(struct ctl *c, const struct ctl_widens *x, json_t *into)
{
	struct approval a = {
		.file = x->name,
		.against = x->against,
		.held = x->held,
		.held_len = x->held_len,
		.bytes = x->size,
		.boot_ns = bwl_now_ns(),
		.wall_s = time(NULL),
		.root = x->root,
	};
	struct bwl_widened w = { 0 };
	int r = bwl_signed_open(x->bytes, x->len, a.root, NULL, a.wall_s, &a.doc, &c->err);

	if (r)
		return r;
	take_opens(&a);
	r = compare(c, &a, &w);
	if (!r)
		words_json(&a, &w, into);
	bwl_widened_free(&w);
	done(&a);
	return r;
}

static int approve(struct ctl *c, int argc, char **argv)
{
	struct approval a = { .bytes = 1ULL << 40, .boot_ns = bwl_now_ns(), .wall_s = time(NULL) };
	const struct ctl_opt opts[] = {
		{ "--root", NULL, &a.root_file },  { "--key", NULL, &a.key },
		{ "--against", NULL, &a.against }, { "--size", NULL, &a.size },
		{ "--yes", &a.yes, NULL },         { NULL, NULL, NULL },
	};
	BWL_AUTO_FREE char *bytes = NULL;
	size_t len;
	int r = ctl_opts(c, &argc, argv, opts);

	if (r)
		return r;
	if (argc != 1 || !a.root_file)
		return ctl_usage(
			c, "give a file, and --root FILE, the root that it is checked against");
	if (a.size && bwl_parse_size(a.size, &a.bytes, &c->err))
		return CTL_USAGE;
	if (!a.bytes)
		return ctl_usage(c, "--size must be at least one byte");
	a.file = argv[0];
	r = ctl_signed_root(c, a.root_file, &a.root);
	if (!r)
		r = ctl_signed_read(c, a.file, &bytes, &len);
	if (!r)
		r = bwl_signed_open(bytes, len, a.root, NULL, a.wall_s, &a.doc, &c->err);
	if (!r && a.doc.type != BWL_SIGNED_POLICY && a.doc.type != BWL_SIGNED_GRANT)
		r = bwl_fail(&c->err, ENOTSUP, "a %s is signed with: bwlimit-ctl policy sign",
			     bwl_signed_word(a.doc.type));
	if (!r) {
		take_opens(&a);
		r = look(c, &a, bytes, len);
	}
	done(&a);
	bwl_root_free(a.root);
	return r;
}

const struct ctl_cmd ctl_approve_cmds[] = {
	{ "approve", NULL, "FILE --root ROOT [--key KEY]",
	  "Show what a signed policy or grant widens, and sign it as the second person",
	  "Shows it in words, and as the least time in which --size (1tb) could leave, before and after. The\n"
	  "document is compared with the policy in force here, or with --against; what it says about itself is\n"
	  "ignored. At a terminal it asks before it signs. Whoever has signed already cannot be the second\n"
	  "person.\n\n"
	  "  --root ROOT     the fleet's root\n"
	  "  --key KEY       sign with it; without it nothing is signed\n"
	  "  --against FILE  compare with this policy, signed or not\n"
	  "  --size SIZE     bytes that must not leave\n"
	  "  --yes           sign without asking\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl approve tray-7.yaml.signed --root root.json --key pkcs11:token=bob\n",
	  approve },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
