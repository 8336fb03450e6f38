// SPDX-License-Identifier: GPL-2.0-or-later
/* `--fleet pending`, `--fleet approve`: documents that wait for a second person. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../signed.h"
#include "bwl/bytes.h"
#include "bwl/encode.h"
#include "cmds.h"
#include "wait.h"
#include "words.h"

#define TIMEOUT_NS 30000000000ULL
#define PENDING_MAX 256
#define COMPARED_MAX 32 /* of the list: for each of them two policies are read */

struct waiting {
	char prefix[BWL_ETCD_KEY_MAX], range[BWL_ETCD_KEY_MAX];
	struct bwl_doc_at at[PENDING_MAX];
	unsigned n;
};

static int found(void *arg, const struct bwl_etcd_kv *kv)
{
	struct waiting *w = arg;

	if (w->n < PENDING_MAX && !bwl_doc_parse_key(w->range, (const char *)kv->key.at,
						     bwl_pb_len(kv->key), &w->at[w->n]))
		w->n++;
	return 0;
}

static int find(struct fleet *f, struct waiting *w)
{
	int64_t revision = 0;

	fleet_pending_prefix(f, w->prefix);
	bwl_doc_range(w->range, w->prefix, NULL);
	return bwl_etcd_keys(f->g, w->range, found, w, &revision, &f->c->err);
}

/* Whose signatures are valid under the pinned root; NULL: no root is pinned. */
static json_t *signers(const struct fleet *f, const struct fleet_doc *x)
{
	enum bwl_role role = bwl_signed_role(x->d.type);
	json_t *a = json_array();
	struct bwl_envelope v;

	if (bwl_envelope_parse((const char *)x->bytes, x->len, &v, NULL))
		return a;
	for (size_t i = 0; i < v.nsig; i++) {
		const char *owner = f->root ? bwl_root_owner(f->root, v.sig[i].key, role) : NULL;

		json_array_append_new(a, json_string(owner ? owner : v.sig[i].key));
	}
	bwl_envelope_free(&v);
	return a;
}

static json_t *row(const struct fleet *f, const struct fleet_doc *x)
{
	char hex[65], to[BWL_TIME_BUF];
	json_t *o = json_object();

	json_object_set_new(o, "document",
			    json_sprintf("%s/%s", bwl_signed_word(x->d.type), x->d.terms.name));
	json_object_set_new(o, "document_version", bwl_json_u64(x->d.terms.version));
	json_object_set_new(o, "epoch", bwl_json_u64(x->d.terms.epoch));
	json_object_set_new(o, "audience", json_string(x->d.audience));
	json_object_set_new(o, "digest", json_string(bwl_hex_encode(x->d.digest, 32, hex)));
	json_object_set_new(o, "not_after", json_string(bwl_utc(x->d.terms.not_after_s, -1, to)));
	json_object_set_new(o, "signers", signers(f, x));
	return o;
}

/* null: never */
static const char *least(const json_t *o, const char *key, char buf[static BWL_UNIT_BUF])
{
	const json_t *v = json_object_get(o, key);

	return bwl_human_time(json_is_number(v) ? json_number_value(v) : INFINITY, buf);
}

static void print_words(const json_t *o)
{
	const json_t *asks = json_object_get(o, "asks"), *list = json_object_get(o, "widenings"),
		     *widens = json_object_get(o, "widens"), *v;
	char size[BWL_UNIT_BUF], before[BWL_UNIT_BUF], after[BWL_UNIT_BUF];
	size_t i;

	json_array_foreach(asks, i, v) bwl_put(stdout, "  %s\n", json_string_value(v));
	if (json_is_true(widens))
		bwl_put(stdout, "  WIDENS, in %lld place%s:\n",
			(long long)json_integer_value(json_object_get(o, "widening_count")),
			BWL_S(json_integer_value(json_object_get(o, "widening_count"))));
	else
		bwl_put(stdout, "  %s\n",
			json_is_false(widens) ? "widens nothing: one person suffices"
					      : json_string_value(json_object_get(o, "why")));
	json_array_foreach(list, i, v) bwl_put(stdout, "  + %s\n", json_string_value(v));
	if (!json_is_null(widens))
		bwl_put(stdout, "  %s leave in at least %s; before, %s\n",
			bwl_human_size(json_number_value(json_object_get(o, "size_bytes")), size),
			least(o, "least_after_s", after), least(o, "least_before_s", before));
}

static void print_row(const json_t *o)
{
	const json_t *list = json_object_get(o, "signers"), *v;
	size_t i;

	bwl_put(stdout, "%s, version %lld, for %s, signed by",
		json_string_value(json_object_get(o, "document")),
		(long long)json_integer_value(json_object_get(o, "document_version")),
		json_string_value(json_object_get(o, "audience")));
	json_array_foreach(list, i, v)
		bwl_put(stdout, "%s %.32s", i ? "," : "", json_string_value(v));
	puts("");
}

static int pending(struct ctl *c, int argc, char **argv)
{
	struct fleet f = { 0 };
	const char *size = NULL;
	const struct ctl_opt opts[] = { FLEET_CONF_OPTS(&f.conf),
					{ "--size", NULL, &size },
					{ NULL, NULL, NULL } };
	struct waiting w = { .n = 0 };
	json_t *rows = json_array(), *o, *v;
	uint64_t bytes = 1ULL << 40;
	size_t k;
	int r = ctl_only_opts(c, argc, argv, opts);

	if (!r && size && (bwl_parse_size(size, &bytes, &c->err) || !bytes))
		r = CTL_USAGE;
	if (!r)
		r = fleet_open(c, &f);
	if (!r)
		r = find(&f, &w);
	for (unsigned i = 0; !r && i < w.n; i++) {
		struct fleet_doc x;

		/* An invalid document, or one that has gone since, is not listed. */
		if (fleet_doc_read(&f, w.prefix, NULL, w.at[i].kind, w.at[i].name, &x))
			continue;
		o = row(&f, &x);
		fleet_words(&f, &x, bytes, i < COMPARED_MAX, o);
		json_array_append_new(rows, o);
		fleet_doc_done(&x);
	}
	if (!r && c->json) {
		o = bwl_doc("fleet-pending");
		json_object_set(o, "documents", rows);
		bwl_doc_print(o);
	} else if (!r) {
		json_array_foreach(rows, k, v)
		{
			print_row(v);
			print_words(v);
		}
		if (!json_array_size(rows))
			puts("nothing waits for a signature");
	}
	json_decref(rows);
	fleet_close(&f);
	return r;
}

/* A copy on this desk, as `approve` and `policy sign` use. */
struct desk {
	char dir[64], doc[96], against[96];
};

static int write_file(struct ctl *c, const struct desk *d, const char *name, const void *at,
		      size_t len)
{
	return bwl_bytes_replace(d->dir, name, &(struct bwl_bytes){ at, len }, 1, &c->err);
}

static int make_desk(struct ctl *c, struct desk *d)
{
	snprintf(d->dir, sizeof(d->dir), "/tmp/bwlimit-approve.XXXXXX");
	if (!mkdtemp(d->dir))
		return bwl_fail(&c->err, errno, "cannot make a folder in /tmp: %m");
	snprintf(d->doc, sizeof(d->doc), "%s/document", d->dir);
	snprintf(d->against, sizeof(d->against), "%s/against", d->dir);
	return 0;
}

static void clear_desk(const struct desk *d)
{
	if (!*d->dir)
		return;
	unlink(d->doc);
	unlink(d->against);
	rmdir(d->dir);
}

struct approval {
	struct fleet fleet;
	struct fleet_wait wait;
	struct desk desk;
	const char *key, *against, *size;
	bool yes;
};

/* The document that is now in force, unless --against names one. */
static int write_against(struct approval *a, const struct fleet_doc *doc)
{
	struct fleet *f = &a->fleet;
	struct fleet_doc x;
	int r;

	if (a->against)
		return 0;
	r = fleet_published(f, doc, &x);
	if (r)
		return r;
	r = write_file(f->c, &a->desk, "against", x.bytes, x.len);
	a->against = a->desk.against;
	fleet_doc_done(&x);
	return r;
}

static int approve_what_widens(struct approval *a, const struct fleet_doc *doc)
{
	char *words[12] = { a->desk.doc, "--root", (char *)(uintptr_t)a->fleet.conf.root, "--key",
			    (char *)(uintptr_t)a->key };
	int n = 5, r = write_against(a, doc);

	if (r)
		return r;
	words[n++] = "--against";
	words[n++] = (char *)(uintptr_t)a->against;
	if (a->size) {
		words[n++] = "--size";
		words[n++] = (char *)(uintptr_t)a->size;
	}
	if (a->yes)
		words[n++] = "--yes";
	return ctl_approve_cmds[0].run(a->fleet.c, n, words);
}

static int sign_other(struct approval *a, const struct fleet_doc *doc)
{
	char *words[] = { a->desk.doc, "--key", (char *)(uintptr_t)a->key, NULL };
	char answer[16] = "";

	if (!a->fleet.c->json) {
		json_t *o = row(&a->fleet, doc);

		print_row(o);
		json_decref(o);
		json_dumpf(doc->d.body, stdout, JSON_INDENT(1));
		puts("");
	}
	if (!a->yes && isatty(STDIN_FILENO)) {
		fputs("sign? [y/N] ", stderr);
		if (!fgets(answer, sizeof(answer), stdin) || (*answer != 'y' && *answer != 'Y'))
			return 0;
	} else if (!a->yes) {
		return ctl_usage(a->fleet.c, "not at a terminal: give --yes");
	}
	return ctl_policy_sign(a->fleet.c, 3, words);
}

/* With enough signatures it is published. Otherwise it waits on, with one more signature. */
static int give(struct approval *a, const struct fleet_doc *before)
{
	struct fleet *f = &a->fleet;
	BWL_AUTO_FREE char *bytes = NULL;
	struct fleet_put p = { 0 };
	struct bwl_signed d = { 0 };
	int r = ctl_signed_read(f->c, a->desk.doc, &bytes, &p.len);

	if (r)
		return r;
	if (p.len == before->len && !memcmp(bytes, before->bytes, p.len)) {
		bwl_info(
			"nothing was changed: it has no new signature, and waits for more signatures");
		return 0; /* he did not sign, or has signed already */
	}
	p.bytes = bytes;
	p.pending = bwl_signed_open(bytes, p.len, f->root, NULL, time(NULL), &d, &f->c->err) ||
		    !d.enough;
	bwl_signed_free(&d);
	f->c->err = (struct bwl_err){ 0 };
	r = fleet_put(f, &p);
	if (!r && !p.pending)
		r = fleet_pending_drop(f, &p.d);
	if (!r) {
		bwl_audit("--fleet approve %s/%s, version %llu%s", bwl_signed_word(p.d.type),
			  p.d.terms.name, (unsigned long long)p.d.terms.version,
			  p.pending ? "" : ": published");
		r = fleet_wait(f, &p, &a->wait);
	}
	fleet_put_done(&p);
	return r;
}

static int approve_it(struct approval *a, const struct fleet_doc *doc)
{
	int r = make_desk(a->fleet.c, &a->desk);

	if (!r)
		r = write_file(a->fleet.c, &a->desk, "document", doc->bytes, doc->len);
	if (!r)
		r = doc->d.type == BWL_SIGNED_POLICY || doc->d.type == BWL_SIGNED_GRANT
			    ? approve_what_widens(a, doc)
			    : sign_other(a, doc);
	if (!r)
		r = give(a, doc);
	clear_desk(&a->desk);
	return r;
}

static int approve(struct ctl *c, int argc, char **argv)
{
	struct approval a = { .wait = { .timeout_ns = TIMEOUT_NS } };
	const char *timeout = NULL, *slash;
	const struct ctl_opt opts[] = { FLEET_CONF_OPTS(&a.fleet.conf),
					{ "--key", NULL, &a.key },
					{ "--against", NULL, &a.against },
					{ "--size", NULL, &a.size },
					{ "--yes", &a.yes, NULL },
					{ "--timeout", NULL, &timeout },
					{ "--no-wait", &a.wait.no_wait, NULL },
					{ NULL, NULL, NULL } };
	char prefix[BWL_ETCD_KEY_MAX];
	enum bwl_doc_kind kind;
	struct fleet_doc doc;
	int r = ctl_opts(c, &argc, argv, opts);

	if (r)
		return r;
	slash = argc == 1 ? strchr(argv[0], '/') : NULL;
	kind = slash ? bwl_doc_kind_of(argv[0], (size_t)(slash - argv[0])) : BWL_DOC_KIND_COUNT;
	if (kind == BWL_DOC_KIND_COUNT || !a.key)
		return ctl_usage(c, "give KIND/NAME, as `--fleet pending` shows it, and --key");
	if (timeout && bwl_parse_time(timeout, &a.wait.timeout_ns, &c->err))
		return CTL_USAGE;
	r = fleet_open(c, &a.fleet);
	if (!r && !a.fleet.root) {
		bwl_fail(&c->err, EINVAL, "no root is pinned here: only a root says who may sign");
		r = bwl_hint(&c->err, "root = FILE in " FLEET_CONF ", or --root");
	}
	fleet_pending_prefix(&a.fleet, prefix);
	if (!r)
		r = fleet_doc_read(&a.fleet, prefix, NULL, kind, slash + 1, &doc);
	if (r == -ENOENT) {
		bwl_fail(&c->err, ENOENT, "%.120s is not pending", argv[0]);
		bwl_hint(&c->err, "bwlimit-ctl --fleet pending lists what is");
	}
	if (!r) {
		r = approve_it(&a, &doc);
		fleet_doc_done(&doc);
	}
	fleet_close(&a.fleet);
	return r;
}

const struct ctl_cmd fleet_pending_cmds[] = {
	{ "pending", NULL, "[--size SIZE] [OPTIONS]", "Documents that wait for more signatures",
	  "`enrol` and `policy publish --propose` create them; no tray reads them. Shows, like `approve`, what each asks\n"
	  "for, and what a policy widens, compared with the published one of its name.\n\n"
	  "  --size SIZE     bytes that must not leave (1tb)\n" FLEET_CONF_HELP "Examples:\n"
	  "  bwlimit-ctl --fleet pending --size 100gb\n",
	  pending },
	{ "approve", NULL, "KIND/NAME --key KEY [OPTIONS]",
	  "See what a pending document widens, sign it, and publish it once it has enough signatures",
	  "Like `bwlimit-ctl approve`. A policy is compared with the one of that name in the store, if that\n"
	  "has as many signatures as a widening needs; otherwise give --against.\n"
	  "At a terminal it asks before it signs.\n\n"
	  "  --key KEY       the signer's key: a PEM file, or pkcs11:…\n"
	  "  --against FILE  compare with that policy\n"
	  "  --size SIZE     bytes that must not leave (1tb)\n"
	  "  --yes           sign without asking\n" FLEET_WAIT_HELP FLEET_CONF_HELP "Examples:\n"
	  "  bwlimit-ctl --fleet approve enrolment/tray-9 --key bob.pem\n",
	  approve },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
