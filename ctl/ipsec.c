// SPDX-License-Identifier: GPL-2.0-or-later
/* `ipsec`: strongSwan's connections from the policy, and the SAs that came of them. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ctl.h"
#include "ipsec/conn.h"
#include "ipsec/number.h"
#include "ipsec/revoke.h"
#include "ipsec/sas.h"

#define TIMEOUT_NS 10000000000ULL

struct ipsec_place {
	const char *vici, *dir, *timeout;
	uint64_t timeout_ns;
};
#define IPSEC_PLACE_OPTS(p)                                                                        \
	{ "--vici", NULL, &(p).vici }, { "--dir", NULL, &(p).dir },                                \
	{                                                                                          \
		"--timeout", NULL, &(p).timeout                                                    \
	}
#define IPSEC_PLACE_HELP                                                                           \
	"  --vici SOCKET   charon's control socket (" BWL_VICI_SOCKET ")\n"                        \
	"  --timeout TIME  for each answer of charon (10s)\n"
#define IPSEC_DIR_HELP                                                                             \
	"  --dir DIR       swanctl's folder: x509, x509ca, x509crl, private, ppk (" BWL_IPSEC_DIR  \
	")\n"

/* Defaults. */
static int take_place(struct ctl *c, struct ipsec_place *p)
{
	p->timeout_ns = TIMEOUT_NS;
	if (!p->dir)
		p->dir = BWL_IPSEC_DIR;
	if (p->timeout && bwl_parse_time(p->timeout, &p->timeout_ns, &c->err))
		return CTL_USAGE;
	return 0;
}

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
	int r;

	if (!argc) {
		ctl_usage(c, "say which policy file; - is standard input");
		return CTL_USAGE;
	}
	r = bwl_policy_load(argv[0], bwl_now_ns(), time(NULL), ret, &c->err);
	for (int i = 1; !r && i < argc; i++) {
		const struct bwl_pol_peer *x = bwl_policy_peer(*ret, argv[i]);

		if (!x || !*x->ipsec_remote)
			r = bwl_fail(&c->err, ENOENT, "%s has no peer '%.64s' with ipsec", argv[0],
				     argv[i]);
	}
	return r;
}

/* What is to be in charon. */
struct plan {
	struct ipsec_place place;
	struct bwl_policy *pol;
	struct bwl_ipsec_numbers n;
	struct bwl_vici *v; /* NULL: nobody was asked for caps */
	struct bwl_ipsec_caps caps;
	json_t *tree;
};

/* live: for the charon that runs and the policy in force. */
static int plan_make(struct ctl *c, int *argc, char **argv, bool live, struct plan *p)
{
	const struct ctl_opt opts[] = { IPSEC_PLACE_OPTS(p->place), { NULL, NULL, NULL } };
	int r;

	r = ctl_opts(c, argc, argv, opts);
	if (!r)
		r = take_place(c, &p->place);
	if (!r)
		r = load_policy(c, *argc, argv, &p->pol);
	if (!r)
		r = number(c, p->pol, live, *argc - 1, argv + 1, &p->n);
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
	printf("# bwlimit: node %s, %u peer%s; charon %s: %s ML-KEM, %s packet offload\n",
	       pol->node, n->peers, CTL_S(n->peers),
	       *caps->version ? caps->version : "was not asked, as 5.9.8",
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
	printf("charon %s (%s ML-KEM, %s packet offload): %u connection%s loaded, %u unloaded\n",
	       caps->version, caps->mlkem ? "has" : "no", caps->packet ? "has" : "no", rep->loaded,
	       CTL_S(rep->loaded), rep->unloaded);
	printf("  %u certificate%s, %u CRL%s, %u key%s (%u old one%s unloaded), %u PPK%s\n",
	       rep->certs, CTL_S(rep->certs), rep->crls, CTL_S(rep->crls), rep->keys,
	       CTL_S(rep->keys), rep->old_keys, CTL_S(rep->old_keys), rep->secrets,
	       CTL_S(rep->secrets));
	if (rep->stale)
		printf("  SAs ended that were made for what a peer was before: %u\n", rep->stale);
	if (n->revoked)
		printf("  left out because they are revoked, until `bwlimit-ctl grant`: %u\n",
		       n->revoked);
}

/* Loading takes its time: what was revoked meanwhile goes again. */
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

	if (argc == 1)
		flags |= BWL_IPSEC_ALL;
	if (!r && strcmp(p.pol->ipsec.start, "trap"))
		flags |= BWL_IPSEC_START;
	if (!r)
		r = bwl_ipsec_load(p.v, p.tree, p.place.dir, flags, &rep, &c->err);
	if (!r)
		r = drop_revoked(c, &p);
	if (!r) {
		bwl_audit("ipsec load %s: %u connections, %u unloaded", argv[0], rep.loaded,
			  rep.unloaded);
		print_load(c, &p.caps, &rep, &p.n);
	} else if (rep.failed) {
		bwl_warn("%u connections loaded, %u refused", rep.loaded, rep.failed);
	}
	plan_free(&p);
	return r;
}

/* What the data plane knows of the peer's SAs; NULL without pins. */
static const struct bwl_tunnel *tunnel_of(const struct bwl_pins *pins,
					  const struct bwl_ipsec_child *x)
{
	return pins && x->peer_id && x->peer_id < pins->schema.max_peers ? &pins->tunnel[x->peer_id]
									 : NULL;
}

static json_t *json_child(const struct bwl_pins *pins, const struct bwl_ipsec_child *x)
{
	const struct bwl_tunnel *t = tunnel_of(pins, x);
	json_t *o = json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:I}", "state", x->state, "if_id",
			      x->if_id, "age_s", (json_int_t)x->age_s, "rekey_in_s",
			      (json_int_t)x->rekey_s, "hard_in_s", (json_int_t)x->hard_s,
			      "arrived_bytes", (json_int_t)x->bytes_in, "sent_bytes",
			      (json_int_t)x->bytes_out);

	json_object_set_new(o, "spi_in", bwl_json_spi(htonl(x->spi_in)));
	json_object_set_new(o, "spi_out", bwl_json_spi(htonl(x->spi_out)));
	json_object_set_new(o, "offload", bwl_json_text(bwl_offload_name(t)));
	json_object_set_new(o, "data_plane_open",
			    t ? json_boolean(t->flags & BWL_TUN_SA) : json_null());
	return o;
}

static json_t *json_sa(const struct bwl_pins *pins, const struct bwl_ipsec_sa *x)
{
	json_t *o = json_pack("{s:s,s:s,s:s,s:s,s:I,s:I,s:s,s:b}", "peer", x->peer, "state",
			      x->state, "remote", x->remote, "remote_id", x->remote_id, "age_s",
			      (json_int_t)x->age_s, "rekey_in_s", (json_int_t)x->rekey_s, "ke",
			      x->ke, "ppk", x->ppk);
	json_t *a = json_array();

	for (size_t i = 0; i < x->nchildren; i++)
		json_array_append_new(a, json_child(pins, &x->children[i]));
	json_object_set_new(o, "child_sas", a);
	return o;
}

static void cell_time(struct bwl_table *t, uint64_t s)
{
	char buf[BWL_UNIT_BUF];

	bwl_cell(t, "%s", bwl_human_time((double)s, buf));
}

static void sa_rows(struct bwl_table *t, const struct bwl_pins *pins, const struct bwl_ipsec_sa *x)
{
	char buf[BWL_UNIT_BUF];

	for (size_t i = 0; i == 0 || i < x->nchildren; i++) {
		const struct bwl_ipsec_child *k = x->nchildren ? &x->children[i] : NULL;
		const char *offload;

		bwl_cell(t, "%s", x->peer);
		bwl_cell(t, "%s", x->remote);
		bwl_cell(t, "%s", x->state);
		bwl_cell(t, "%s", k ? k->state : "none");
		if (!k) {
			for (unsigned n = 0; n < 8; n++)
				bwl_cell(t, "-");
			continue;
		}
		bwl_cell(t, "%08x", k->spi_in);
		bwl_cell(t, "%08x", k->spi_out);
		cell_time(t, k->age_s);
		cell_time(t, k->rekey_s);
		cell_time(t, k->hard_s);
		bwl_cell(t, "%s", bwl_human_size((double)k->bytes_in, buf));
		bwl_cell(t, "%s", bwl_human_size((double)k->bytes_out, buf));
		offload = bwl_offload_name(tunnel_of(pins, k));
		bwl_cell(t, "%s", offload ? offload : "-");
	}
}

/* Connections without any SA: loaded, and nobody answers. */
static int idle_peers(struct bwl_vici *v, const struct bwl_ipsec_sa *sas, size_t n, int argc,
		      char **argv, json_t **ret, struct bwl_err *e)
{
	json_t *conns = NULL, *idle = json_array(), *name;
	char peer[BWL_NAME_LEN];
	size_t i;
	int r = bwl_vici_call(v, "get-conns", NULL, &conns, e);

	json_array_foreach(json_object_get(conns, "conns"), i, name)
	{
		bool has = false;

		if (!bwl_ipsec_peer_name(json_string_value(name), peer) ||
		    !bwl_ipsec_is_named(peer, argc, argv))
			continue;
		for (size_t k = 0; k < n; k++)
			has |= !strcmp(sas[k].peer, peer);
		if (!has)
			json_array_append_new(idle, json_string(peer));
	}
	json_decref(conns);
	*ret = idle;
	return r;
}

static void print_status(struct ctl *c, const struct bwl_pins *pins, const struct bwl_ipsec_sa *sas,
			 size_t n, json_t *idle, int argc, char **argv)
{
	static const char *const heads[] = {
		"PEER",      "REMOTE",   "IKE", "CHILD", "SPI IN",  "SPI OUT", ">AGE",
		">REKEY IN", ">HARD IN", ">IN", ">OUT",  "OFFLOAD", NULL,
	};
	struct bwl_table *t = bwl_table_new(heads);
	json_t *a = json_array(), *name;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!bwl_ipsec_is_named(sas[i].peer, argc, argv))
			continue;
		sa_rows(t, pins, &sas[i]);
		json_array_append_new(a, json_sa(pins, &sas[i]));
	}
	json_array_foreach(idle, i, name)
	{
		bwl_cell(t, "%s", json_string_value(name));
		bwl_cell(t, "-");
		bwl_cell(t, "none");
		for (unsigned k = 0; k < 9; k++)
			bwl_cell(t, "-");
	}
	if (c->json)
		bwl_doc_print(json_pack("{s:i, s:s, s:O, s:O}", "version", BWL_JSON_VERSION, "kind",
					"ipsec-status", "ike_sas", a, "without_sa", idle));
	else
		bwl_table_print(t, stdout);
	json_decref(a);
	bwl_table_free(t);
}

static int ipsec_status(struct ctl *c, int argc, char **argv)
{
	struct ipsec_place p = { 0 };
	const struct ctl_opt opts[] = { IPSEC_PLACE_OPTS(p), { NULL, NULL, NULL } };
	struct bwl_ipsec_sa *sas = NULL;
	struct bwl_pins *pins = NULL;
	struct bwl_vici *v = NULL;
	json_t *idle = NULL;
	size_t n = 0;
	int r;

	r = ctl_opts(c, &argc, argv, opts);
	if (!r)
		r = take_place(c, &p);
	if (!r)
		r = open_vici(c, &p, &v);
	if (!r)
		r = bwl_ipsec_sas(v, NULL, &sas, &n, &c->err);
	if (!r)
		r = idle_peers(v, sas, n, argc, argv, &idle, &c->err);
	/* without pins there is no data plane to ask */
	if (!r && bwl_pins_open(c->pin_dir, false, &pins, NULL))
		pins = NULL;
	if (!r)
		print_status(c, pins, sas, n, idle, argc, argv);
	json_decref(idle);
	bwl_ipsec_sas_free(sas, n);
	bwl_pins_close(pins);
	bwl_vici_close(v);
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
		r = take_place(c, &p);
	if (!r && all == (argc > 0))
		return ctl_usage(c,
				 all ? "--all, or names: not both" : "say which peers, or --all");
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
		printf("rekeying: %u %s_SA%s\n", total, ike ? "IKE" : "CHILD", CTL_S(total));
	return 0;
}

const struct ctl_cmd ctl_ipsec_cmds[] = {
	{ "ipsec", "status", "[PEER…]", "IKE_SAs and CHILD_SAs of the peers, as charon has them",
	  "OFFLOAD is what the kernel says of the SA in use: none, crypto or packet; - while the data plane\n"
	  "knows of no SA.\n\n" IPSEC_PLACE_HELP
	  "\nExamples:\n  bwlimit-ctl ipsec status\n  bwlimit-ctl ipsec status tray-3 --json\n",
	  ipsec_status },
	{ "ipsec", "load", "FILE [PEER…]",
	  "Give charon the connections of a policy file, and the credentials",
	  "The policy must be in force (`policy apply`): its peers' ids tie SAs to grants. Credentials of\n"
	  "the folder are loaded first; keys that are no longer in it are unloaded. Connections bwl-* that\n"
	  "the file has no more are unloaded and their SAs ended, unless peers are named. Revoked peers\n"
	  "are left out. FILE - is standard input.\n\n" IPSEC_DIR_HELP IPSEC_PLACE_HELP
	  "\nExamples:\n  bwlimit-ctl ipsec load /etc/bwlimit/policy.yaml\n"
	  "  bwlimit-ctl ipsec load policy.yaml tray-3\n",
	  ipsec_load },
	{ "ipsec", "render", "FILE [PEER…]", "The same connections as text for swanctl.conf",
	  "For reading, or for sites that load it themselves (swanctl --load-all): use either that or\n"
	  "`ipsec load`, since each unloads what it does not know. Asks charon, when it runs, what it can do.\n\n" IPSEC_DIR_HELP
		  IPSEC_PLACE_HELP
	  "\nExamples:\n  bwlimit-ctl ipsec render policy.yaml >/etc/swanctl/conf.d/bwlimit.conf\n",
	  ipsec_render },
	{ "ipsec", "rekey", "PEER… | --all [--ike]", "New keys now, without loss",
	  "  --ike           the IKE_SA instead of the CHILD_SAs\n" IPSEC_PLACE_HELP
	  "\nExamples:\n  bwlimit-ctl ipsec rekey tray-3\n  bwlimit-ctl ipsec rekey --all --ike\n",
	  ipsec_rekey },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
