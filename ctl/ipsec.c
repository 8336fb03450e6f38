// SPDX-License-Identifier: GPL-2.0-or-later
/* `ipsec`: strongSwan's connections from the policy, and the SAs made by them. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/desired.h"
#include "ipsec.h"
#include "ipsec/conn.h"
#include "ipsec/number.h"
#include "ipsec/revoke.h"
#include "ipsec/sas.h"

static int open_vici(struct ctl *c, const struct ipsec_place *p, struct bwl_vici **ret)
{
	return bwl_vici_open(p->vici, p->timeout_ns, ret, &c->err);
}

static int number(struct ctl *c, const struct bwl_policy *pol, bool pins_needed, int argc,
		  char **argv, struct bwl_ipsec_numbers *ret)
{
	struct bwl_view v;
	int r = ctl_view_open(c, false, &v);

	if (r && (pins_needed || (r != -ENOENT && r != -EACCES && r != -EPERM)))
		return r;
	if (r)
		return bwl_ipsec_number(NULL, pol, true, argc, argv, ret, &c->err);
	r = bwl_ipsec_number(&v, pol, true, argc, argv, ret, &c->err);
	bwl_view_close(&v);
	return r;
}

static int load_policy(struct ctl *c, int argc, char **argv, struct bwl_policy **ret)
{
	int r = bwl_desired_load(argc ? argv[0] : NULL, ret, &c->err);

	for (int i = 1; !r && i < argc; i++) {
		const struct bwl_pol_peer *x = bwl_policy_peer(*ret, argv[i]);

		if (!x || !*x->ipsec_remote)
			r = bwl_fail(&c->err, ENOENT, "%s has no peer '%.64s' with ipsec", argv[0],
				     argv[i]);
	}
	return r;
}

/* What charon is to have. */
struct plan {
	struct ipsec_place place;
	struct bwl_policy *pol;
	struct bwl_ipsec_numbers n;
	struct bwl_vici *v; /* NULL: charon was not asked for caps */
	struct bwl_ipsec_caps caps;
	json_t *tree;
};

/* live: for the running charon and the policy in force. */
static int plan_make(struct ctl *c, int *argc, char **argv, bool live, struct plan *p)
{
	const struct ctl_opt opts[] = { IPSEC_PLACE_OPTS(p->place), { NULL, NULL, NULL } };
	int r;

	r = ctl_opts(c, argc, argv, opts);
	if (!r)
		r = ctl_ipsec_place(c, &p->place);
	if (!r)
		r = load_policy(c, *argc, argv, &p->pol);
	if (!r)
		r = number(c, p->pol, live, *argc ? *argc - 1 : 0, argv + 1, &p->n);
	/* without a charon the text is for the oldest one that is supported */
	if (!r && live)
		r = open_vici(c, &p->place, &p->v);
	else if (!r)
		bwl_vici_open(p->place.vici, p->place.timeout_ns, &p->v, NULL);
	if (!r && p->v)
		r = bwl_ipsec_caps_ask(p->v, &p->caps, &c->err);
	if (!r)
		r = bwl_ipsec_tree(p->pol, p->n.if_id, p->n.by_mark, &p->caps, p->place.dir,
				   &p->tree, &c->err);
	return r;
}

static void plan_free(struct plan *p)
{
	json_decref(p->tree);
	free(p->n.if_id);
	bwl_vici_close(p->v);
	bwl_policy_free(p->pol);
}

static void print_head(const struct bwl_policy *pol, const struct bwl_ipsec_caps *caps,
		       const struct bwl_ipsec_numbers *n)
{
	bwl_put(stdout, "# bwlimit: node %s, %u peer%s; charon %s: %s ML-KEM, %s packet offload\n",
		pol->node, n->peers, BWL_S(n->peers),
		*caps->version ? caps->version : "not asked, assumed 5.9.8",
		caps->mlkem ? "has" : "no", caps->packet ? "has" : "no");
	if (n->numbered)
		puts("# if_id: in the order of the file, because no policy is in force: not for use");
	if (n->revoked)
		printf("# left out because they are revoked: %u\n", n->revoked);
	puts("# strongswan.conf needs install_routes = no (bwlimit.conf in strongswan.d)");
}

static int ipsec_render(struct ctl *c, int argc, char **argv)
{
	struct plan p = { 0 };
	int r = plan_make(c, &argc, argv, false, &p);

	if (!r && c->json) {
		json_t *o = bwl_doc("ipsec-render");

		json_object_set_new(o, "if_id_from_pins", json_boolean(!p.n.numbered));
		json_object_set(o, "swanctl", p.tree);
		bwl_doc_print(o);
	} else if (!r) {
		print_head(p.pol, &p.caps, &p.n);
		bwl_ipsec_write(p.tree, stdout);
	}
	plan_free(&p);
	return r;
}

static void print_load(struct ctl *c, const struct bwl_ipsec_caps *caps,
		       const struct bwl_ipsec_load_report *rep, const struct bwl_ipsec_numbers *n)
{
	if (c->json) {
		ctl_print_answer(
			"ipsec-load",
			json_pack("{s:s,s:b,s:b,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i}", "charon",
				  caps->version, "mlkem", caps->mlkem, "packet_offload",
				  caps->packet, "connection_count", rep->loaded, "unloaded_count",
				  rep->unloaded, "stale_sa_count", rep->stale, "revoked_count",
				  n->revoked, "certificate_count", rep->certs, "crl_count",
				  rep->crls, "key_count", rep->keys, "old_key_count", rep->old_keys,
				  "initiated_count", rep->initiated, "ppk_count", rep->secrets));
		return;
	}
	bwl_put(stdout,
		"charon %s (%s ML-KEM, %s packet offload): %u connection%s loaded, %u unloaded\n",
		caps->version, caps->mlkem ? "has" : "no", caps->packet ? "has" : "no", rep->loaded,
		BWL_S(rep->loaded), rep->unloaded);
	bwl_put(stdout,
		"  %u certificate%s, %u CRL%s, %u key%s (%u old one%s unloaded), %u PPK%s\n",
		rep->certs, BWL_S(rep->certs), rep->crls, BWL_S(rep->crls), rep->keys,
		BWL_S(rep->keys), rep->old_keys, BWL_S(rep->old_keys), rep->secrets,
		BWL_S(rep->secrets));
	if (rep->stale)
		printf("  SAs ended that were made for what a peer was before: %u\n", rep->stale);
	if (n->revoked)
		printf("  left out because they are revoked, until `bwlimit-ctl grant`: %u\n",
		       n->revoked);
}

/* Loading takes a while: removes what was revoked in the meantime. */
static int drop_revoked(struct ctl *c, const struct plan *p)
{
	const char **name = calloc(p->pol->npeers + 1, sizeof(*name));
	struct bwl_ipsec_drop d;
	const struct bwl_peer *body;
	struct bwl_view v;
	size_t k = 0, i;
	int r;

	if (!name)
		return bwl_fail(&c->err, ENOMEM, "out of memory");
	r = ctl_view_open(c, false, &v);
	for (i = 0; !r && i < p->pol->npeers; i++) {
		body = p->n.if_id[i] ? ctl_view_peer(&v, p->n.if_id[i]) : NULL;
		if (body && bwl_standing(&v, p->n.if_id[i], body) == BWL_STAND_REVOKED)
			name[k++] = p->pol->peers[i].name;
	}
	if (!r)
		bwl_view_close(&v);
	if (!r && k)
		r = bwl_ipsec_drop_peers(p->place.vici, name, k, false, p->place.timeout_ns, &d,
					 &c->err);
	free(name);
	return r;
}

static int ipsec_load(struct ctl *c, int argc, char **argv)
{
	struct bwl_ipsec_load_report rep = { 0 };
	struct plan p = { 0 };
	unsigned flags = 0;
	int r = plan_make(c, &argc, argv, true, &p);

	if (argc <= 1)
		flags |= BWL_IPSEC_ALL;
	if (!r && strcmp(p.pol->ipsec.start, "trap"))
		flags |= BWL_IPSEC_START;
	if (!r)
		r = bwl_ipsec_load(p.v, p.tree, p.place.dir, flags, &rep, &c->err);
	if (!r)
		r = drop_revoked(c, &p);
	if (!r) {
		bwl_audit("ipsec load %s: %u connection%s, %u unloaded",
			  bwl_desired_name(argc ? argv[0] : NULL), rep.loaded, BWL_S(rep.loaded),
			  rep.unloaded);
		print_load(c, &p.caps, &rep, &p.n);
	} else if (rep.failed) {
		bwl_warn("%u connection%s loaded, %u refused", rep.loaded, BWL_S(rep.loaded),
			 rep.failed);
	}
	plan_free(&p);
	return r;
}

/* Every peer that has an IKE_SA now. */
static int rekey_all(struct ctl *c, struct bwl_vici *v, bool ike, unsigned *total)
{
	struct bwl_ipsec_sa *sas = NULL;
	unsigned matches;
	size_t n = 0;
	int r = bwl_ipsec_sas(v, NULL, &sas, &n, &c->err);

	for (size_t i = 0; !r && i < n; i++) {
		if (i && !strcmp(sas[i].peer, sas[i - 1].peer))
			continue;
		if (!ike && !sas[i].nchildren)
			continue;
		matches = 0;
		r = bwl_ipsec_rekey(v, sas[i].peer, ike, &matches, &c->err);
		if (r == -ENOENT) /* gone meanwhile */
			r = 0;
		*total += matches;
	}
	bwl_ipsec_sas_free(sas, n);
	return r;
}

static int ipsec_rekey(struct ctl *c, int argc, char **argv)
{
	bool ike = false, all = false;
	struct ipsec_place p = { 0 };
	const struct ctl_opt opts[] = {
		{ "--ike", &ike, NULL },
		{ "--all", &all, NULL },
		IPSEC_PLACE_OPTS(p),
		{ NULL, NULL, NULL },
	};
	unsigned total = 0, matches;
	struct bwl_vici *v = NULL;
	int r;

	r = ctl_opts(c, &argc, argv, opts);
	if (!r)
		r = ctl_ipsec_place(c, &p);
	if (!r && all == (argc > 0))
		return ctl_usage(c, all ? "give --all or names, not both" : "give peers, or --all");
	if (!r)
		r = open_vici(c, &p, &v);
	if (!r && all)
		r = rekey_all(c, v, ike, &total);
	for (int i = 0; !r && i < argc; i++) {
		matches = 0;
		r = bwl_ipsec_rekey(v, argv[i], ike, &matches, &c->err);
		total += matches;
	}
	bwl_vici_close(v);
	if (r)
		return r;
	if (c->json)
		bwl_doc_print(json_pack("{s:i, s:s, s:i, s:s}", "version", BWL_JSON_VERSION, "kind",
					"ipsec-rekey", "sa_count", total, "sa_kind",
					ike ? "ike" : "child"));
	else
		bwl_put(stdout, "rekeying: %u %s_SA%s\n", total, ike ? "IKE" : "CHILD",
			BWL_S(total));
	return 0;
}

const struct ctl_cmd ctl_ipsec_cmds[] = {
	{ "ipsec", "status", "[PEER…]", "IKE_SAs and CHILD_SAs of the peers, as charon has them",
	  "OFFLOAD is what the kernel reports for the SA in use: none, crypto or packet; - while the data plane\n"
	  "has no SA.\n\n" IPSEC_PLACE_HELP
	  "\nExamples:\n  bwlimit-ctl ipsec status\n  bwlimit-ctl ipsec status tray-3 --json\n",
	  ctl_ipsec_status },
	{ "ipsec", "load", "[FILE [PEER…]]",
	  "Give charon the connections of a policy file, and the credentials",
	  "The policy must be in force (`policy apply`): its peers' ids tie SAs to grants. Credentials of\n"
	  "the folder are loaded first; keys that are no longer in it are unloaded. Connections bwl-* that\n"
	  "are no longer in the file are unloaded and their SAs ended, unless peers are named. Revoked peers\n"
	  "are left out. FILE - is standard input; without FILE: the policy that bwlimitd accepted last.\n\n" IPSEC_DIR_HELP
		  IPSEC_PLACE_HELP "\nExamples:\n  bwlimit-ctl ipsec load\n"
	  "  bwlimit-ctl ipsec load policy.yaml tray-3\n",
	  ipsec_load },
	{ "ipsec", "render", "[FILE [PEER…]]", "The same connections as text for swanctl.conf",
	  "For reading, or for sites that load it themselves (swanctl --load-all): use either that or\n"
	  "`ipsec load`, since each unloads what it does not know. If charon runs, it is asked what it supports.\n\n" IPSEC_DIR_HELP
		  IPSEC_PLACE_HELP
	  "\nExamples:\n  bwlimit-ctl ipsec render policy.yaml >/etc/swanctl/conf.d/bwlimit.conf\n",
	  ipsec_render },
	{ "ipsec", "rekey", "PEER… | --all [--ike]", "New keys now, without loss",
	  "  --ike           rekey the IKE_SA instead of the CHILD_SAs\n" IPSEC_PLACE_HELP
	  "\nExamples:\n  bwlimit-ctl ipsec rekey tray-3\n  bwlimit-ctl ipsec rekey --all --ike\n",
	  ipsec_rekey },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
