// SPDX-License-Identifier: GPL-2.0-or-later
/* `pki`: certificates for the nodes of a site that has no PKI of its own. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "ctl.h"
#include "ipsec/conn.h"
#include "ipsec/pki.h"

#define LIFE "7d"
#define CA_LIFE "3650d"
#define CRL_LIFE "30d"

struct options {
	const char *ca, *name, *out, *csr, *life, *crl_life;
	uint64_t life_s, crl_life_s;
};

static int take_life(struct ctl *c, const char *option, const char *s, uint64_t *ret)
{
	uint64_t ns;

	if (bwl_parse_time(s, &ns, &c->err))
		return CTL_USAGE;
	*ret = ns / 1000000000ULL;
	/* a certificate that lives shorter than the tolerated clock difference is useless */
	if (*ret < 60 || *ret > 100ULL * 365 * 86400)
		return ctl_usage(c, "%s '%.32s': 1m to 36500d", option, s);
	return 0;
}

static int settle(struct ctl *c, struct options *o, const char *life)
{
	int r;

	if (!o->ca)
		o->ca = BWL_PKI_DIR;
	r = take_life(c, "--life", o->life ? o->life : life, &o->life_s);
	return r ? r
		 : take_life(c, "--crl-life", o->crl_life ? o->crl_life : CRL_LIFE, &o->crl_life_s);
}

static int one_node(struct ctl *c, int argc, char **argv)
{
	size_t n;

	if (argc != 1)
		return ctl_usage(c, "the node is missing: `node` of its policy");
	n = strlen(argv[0]);
	if (!n || n > 31 || *argv[0] == '-' || *argv[0] == '.' ||
	    strspn(argv[0], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") !=
		    n)
		return ctl_usage(
			c,
			"'%.64s' is not the name of a node: 1 to 31 of A-Z a-z 0-9 . _ -, not starting with - or .",
			argv[0]);
	return 0;
}

static int pki_init(struct ctl *c, int argc, char **argv)
{
	struct options o = { .name = "bwlimit CA" };
	const struct ctl_opt opts[] = {
		{ "--ca", NULL, &o.ca },     { "--name", NULL, &o.name },
		{ "--life", NULL, &o.life }, { "--crl-life", NULL, &o.crl_life },
		{ NULL, NULL, NULL },
	};
	int r;

	r = ctl_only_opts(c, argc, argv, opts);
	if (!r)
		r = settle(c, &o, CA_LIFE);
	if (!r && (!*o.name || strlen(o.name) > 64))
		return ctl_usage(c, "--name: 1 to 64 characters");
	if (!r)
		r = bwl_pki_init(o.ca, o.name, o.life_s, o.crl_life_s, &c->err);
	if (r)
		return r;
	bwl_audit("pki init %s", o.ca);
	if (c->json)
		bwl_doc_print(json_pack("{s:i, s:s, s:s, s:s}", "version", BWL_JSON_VERSION, "kind",
					"pki-init", "ca_dir", o.ca, "ca_name", o.name));
	else
		bwl_put(stdout,
			"CA '%s' in %s; ca.key signs for every node: keep it off the trays\n",
			o.name, o.ca);
	return 0;
}

static void print_issued(struct ctl *c, const struct bwl_pki_request *q,
			 const struct bwl_pki_cert *x)
{
	char when[BWL_TIME_BUF];

	bwl_utc((int64_t)x->not_after, -1, when);
	if (c->json) {
		bwl_doc_print(json_pack("{s:i, s:s, s:s, s:s, s:s, s:s?, s:s}", "version",
					BWL_JSON_VERSION, "kind",
					q->renew ? "pki-renew" : "pki-issue", "node", q->node,
					"serial", x->serial, "certificate_file", x->cert,
					"key_file", *x->key ? x->key : NULL, "expires_at", when));
		return;
	}
	bwl_put(stdout, "%s: certificate %s until %s: %s\n", q->node, x->serial, when, x->cert);
	if (q->out) {
		puts("  bwlimit-ctl ipsec load FILE takes it into use");
	} else {
		bwl_put(stdout,
			"  its folder is what %s:" BWL_IPSEC_DIR
			" gets (rsync -a --delete, or all of it);\n",
			q->node);
		puts("  then, there: bwlimit-ctl ipsec load FILE");
	}
}

static int issue(struct ctl *c, int argc, char **argv, bool renew)
{
	struct options o = { 0 };
	const struct ctl_opt opts[] = {
		{ "--ca", NULL, &o.ca },
		{ "--out", NULL, &o.out },
		{ "--csr", NULL, &o.csr },
		{ "--life", NULL, &o.life },
		{ "--crl-life", NULL, &o.crl_life },
		{ NULL, NULL, NULL },
	};
	struct bwl_pki_request q;
	struct bwl_pki_cert x;
	int r;

	r = ctl_opts(c, &argc, argv, opts);
	if (!r)
		r = settle(c, &o, LIFE);
	if (!r)
		r = one_node(c, argc, argv);
	if (r)
		return r;
	q = (struct bwl_pki_request){ argv[0], o.out, o.csr, o.life_s, o.crl_life_s, renew };
	r = bwl_pki_issue(o.ca, &q, &x, &c->err);
	if (r)
		return r;
	bwl_audit("pki %s %s: %s", renew ? "renew" : "issue", q.node, x.serial);
	print_issued(c, &q, &x);
	return 0;
}

static int pki_issue(struct ctl *c, int argc, char **argv)
{
	return issue(c, argc, argv, false);
}

static int pki_renew(struct ctl *c, int argc, char **argv)
{
	return issue(c, argc, argv, true);
}

static int pki_revoke(struct ctl *c, int argc, char **argv)
{
	struct options o = { 0 };
	const struct ctl_opt opts[] = {
		{ "--ca", NULL, &o.ca },
		{ "--crl-life", NULL, &o.crl_life },
		{ NULL, NULL, NULL },
	};
	unsigned n = 0;
	int r;

	r = ctl_opts(c, &argc, argv, opts);
	if (!r)
		r = settle(c, &o, LIFE);
	if (!r)
		r = one_node(c, argc, argv);
	if (!r)
		r = bwl_pki_revoke(o.ca, argv[0], o.crl_life_s, &n, &c->err);
	if (r)
		return r;
	bwl_audit("pki revoke %s: %u certificate%s", argv[0], n, BWL_S(n));
	if (c->json)
		bwl_doc_print(json_pack("{s:i, s:s, s:s, s:i}", "version", BWL_JSON_VERSION, "kind",
					"pki-revoke", "node", argv[0], "certificate_count", n));
	else if (n)
		bwl_say(2,
			"%s: %u certificate%s revoked; the other nodes refuse it once they have the new CRL\n  (x509crl of their folders, then `bwlimit-ctl ipsec load FILE` there)",
			argv[0], n, BWL_S(n));
	else
		bwl_put(stdout, "%s: was revoked before; the CRL is in every node's folder again\n",
			argv[0]);
	return 0;
}

#define CA_HELP "  --ca DIR         the CA's folder (" BWL_PKI_DIR ")\n"
#define CRL_HELP                                                                                   \
	"  --crl-life TIME  how long the CRL is valid (" CRL_LIFE "); peers are strict about it\n"
#define ISSUE_HELP                                                                                 \
	CA_HELP                                                                                    \
	"  --out DIR        the node's swanctl folder (nodes/NODE of the CA's folder)\n"           \
	"  --csr FILE       certify the key of this request; no key is made here\n"                \
	"  --life TIME      how long it is valid (" LIFE ")\n" CRL_HELP

const struct ctl_cmd ctl_pki_cmds[] = {
	{ "pki", "init", "[--ca DIR]", "Make a CA for the nodes (ECDSA P-384)",
	  CA_HELP "  --name NAME      its common name\n"
		  "  --life TIME      how long it is valid (" CA_LIFE ")\n" CRL_HELP
		  "\nExamples:\n  bwlimit-ctl pki init --name 'Hall 3'\n",
	  pki_init },
	{ "pki", "issue", "NODE [--csr FILE]",
	  "Make the first key and certificate of a node, in a folder that swanctl reads",
	  ISSUE_HELP "\nExamples:\n  bwlimit-ctl pki issue tray-7\n"
		     "  bwlimit-ctl pki issue tray-7 --csr tray-7.csr --out /srv/swanctl/tray-7\n",
	  pki_issue },
	{ "pki", "renew", "NODE [--csr FILE]",
	  "Make a new key and certificate; the old one stays valid until it expires",
	  ISSUE_HELP "\nExamples:\n  bwlimit-ctl pki renew tray-7\n", pki_renew },
	{ "pki", "revoke", "NODE",
	  "Put a node's certificates on the CRL, and the CRL into every node's folder",
	  CA_HELP CRL_HELP "\nExamples:\n  bwlimit-ctl pki revoke tray-7\n", pki_revoke },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
