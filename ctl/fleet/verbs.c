// SPDX-License-Identifier: GPL-2.0-or-later
/* `--fleet revoke`, `expel`, `enrol`, `replace`: orders to many trays, as documents. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "believe.h"
#include "bwl/encode.h"
#include "cmds.h"
#include "order.h"
#include "signed/envelope.h"
#include "signed/payload.h"
#include "zone.h"

/* --for of documents that must not expire by themselves; signed times name them until their end */
#define LONG_LIFE "3650d"

struct whom {
	const char *tray, *label, *zone, *assume;
	bool all;
	char audience[BWL_SIGNED_AUDIENCE];
};

static int settle_whom(struct ctl *c, struct whom *w)
{
	if (!!w->tray + !!w->label + w->all > 1)
		return ctl_usage(c, "give one of --tray, --label and --all");
	if (!w->tray && !w->label && !w->all && !w->zone)
		return ctl_usage(c, "give --tray T, --label KEY=VALUE, or --all");
	snprintf(w->audience, sizeof(w->audience), "%s%s",
		 w->tray    ? "tray:"
		 : w->label ? "label:"
			    : "all",
		 w->tray    ? w->tray
		 : w->label ? w->label
			    : "");
	return bwl_audience_check(w->audience, &c->err) ? CTL_USAGE : 0;
}

/*
 * The same content has the same name, so that its versions rise; other content has another name, so
 * that a revocation never replaces one that some tray has not seen yet.
 */
static void name_of(const char *audience, const json_t *peers, char ret[static BWL_NAME_LEN])
{
	BWL_AUTO_FREE char *list = bwl_must(peers ? json_dumps(peers, JSON_COMPACT)
						  : strdup("all"));
	BWL_AUTO_FREE char *what = NULL;
	char sha[BWL_DOC_SHA_HEX];

	if (asprintf(&what, "%s %s", audience, list) < 0)
		abort();
	bwl_doc_sha(what, strlen(what), sha);
	snprintf(ret, BWL_NAME_LEN, "revoke-%.20s", sha);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each name has its line; 0: at least one is ordered. */
static int name_them(struct fleet_order *o, const char *audience, bool check, json_t *peers)
{
	struct ctl *c = o->fleet.c;
	const json_t *v, *first;
	size_t i;
	int r = check ? fleet_known_peers(&o->fleet, audience, peers, &o->left_out) : 0;

	if (r)
		return r;
	json_array_foreach(o->left_out, i, v) if (!c->json)
		bwl_put(stdout, "%s: not ordered: %s\n", bwl_payload_text(v, "peer"),
			bwl_payload_text(v, "why"));
	o->names = peers;
	if (json_array_size(peers))
		return 0;
	first = json_array_get(o->left_out, 0);
	bwl_fail(&c->err, ENOENT, "nothing was published: %s: %s", bwl_payload_text(first, "peer"),
		 bwl_payload_text(first, "why"));
	return bwl_hint(&c->err, "--unknown publishes it all the same");
}

/* The exit code follows from each name, but that a tray is silent weighs more. */
static int named(struct fleet_order *o, int r)
{
	const json_t *first = json_array_get(o->left_out, 0);

	if (!first || r)
		return r;
	bwl_fail(&o->fleet.c->err, ENOENT, "%s is not revoked: %s", bwl_payload_text(first, "peer"),
		 bwl_payload_text(first, "why"));
	return bwl_hint(&o->fleet.c->err, "--unknown publishes it all the same");
}

static int fleet_revoke(struct ctl *c, int argc, char **argv)
{
	struct fleet_order o = { 0 };
	struct whom w = { 0 };
	const struct ctl_opt opts[] = { FLEET_CONF_OPTS(&o.fleet.conf),
					FLEET_ORDER_OPTS(&o),
					{ "--tray", NULL, &w.tray },
					{ "--label", NULL, &w.label },
					{ "--zone", NULL, &w.zone },
					{ "--assume", NULL, &w.assume },
					{ "--all", &w.all, NULL },
					{ "--unknown", &o.unknown, NULL },
					{ NULL, NULL, NULL } };
	char name[BWL_NAME_LEN], buf[128];
	json_t *peers = NULL, *body;
	int r;

	ctl_reason(opts, 0, &argc, argv, o.reason_words);
	r = ctl_opts(c, &argc, argv, opts);
	if (!r)
		r = settle_whom(c, &w);
	if (!r && argc && w.zone)
		r = ctl_usage(c, "give --zone or peers, not both");
	if (!r && w.assume && !w.zone)
		r = ctl_usage(c, "--assume needs --zone");
	o.life = o.life ? o.life : LONG_LIFE;
	if (!r)
		r = fleet_order_begin(c, &o);
	if (!r && w.tray && !o.unknown)
		r = fleet_known_tray(&o.fleet, w.tray);
	if (!r && w.zone) {
		r = fleet_zone_peers(&o.fleet, w.audience, w.zone, w.assume, &peers);
	} else if (!r && argc) {
		qsort(argv, (size_t)argc, sizeof(*argv), by_text);
		peers = json_array();
		for (int i = 0; i < argc; i++)
			if (!i || strcmp(argv[i - 1], argv[i]))
				json_array_append_new(peers, json_string(argv[i]));
	}
	if (!r && peers)
		r = name_them(&o, w.audience, !w.zone && !o.unknown, peers);
	if (!r) {
		name_of(w.audience, peers, name);
		body = json_pack("{s:s}", "reason", fleet_reason(&o, buf));
		if (peers)
			json_object_set(body, "peers", peers);
		else
			json_object_set_new(body, "all", json_true());
		r = named(&o, fleet_order_give(&o, BWL_SIGNED_REVOCATION, name, w.audience, body));
	}
	json_decref(peers);
	fleet_order_end(&o);
	return r;
}

static int expel_it(struct fleet_order *o, const char *tray)
{
	int64_t by_s = time(NULL) + 1;
	char buf[128];
	int r = fleet_order_give(o, BWL_SIGNED_EXPULSION, tray, "all",
				 json_pack("{s:s, s:s}", "tray", tray, "reason",
					   fleet_reason(o, buf)));

	o->after_s = by_s; /* an enrolment that follows ends it */
	return r;
}

static int one_tray(struct ctl *c, int argc, char **argv, struct fleet_order *o)
{
	if (argc != 1)
		return ctl_usage(c, "give a tray");
	if (!bwl_store_name_ok(argv[0], strlen(argv[0])) || strlen(argv[0]) >= BWL_NAME_LEN)
		return ctl_usage(c, "'%.80s' is not a valid tray name", argv[0]);
	o->life = o->life ? o->life : LONG_LIFE;
	return fleet_order_begin(c, o);
}

static int expel(struct ctl *c, int argc, char **argv)
{
	struct fleet_order o = { 0 };
	const struct ctl_opt opts[] = { FLEET_CONF_OPTS(&o.fleet.conf),
					FLEET_ORDER_OPTS(&o),
					{ "--keep-user", &o.keep_user, NULL },
					{ "--unknown", &o.unknown, NULL },
					{ NULL, NULL, NULL } };
	int r;

	ctl_reason(opts, 1, &argc, argv, o.reason_words);
	r = ctl_opts(c, &argc, argv, opts);
	if (!r)
		r = one_tray(c, argc, argv, &o);
	if (!r && !o.unknown)
		r = fleet_known_tray(&o.fleet, argv[0]);
	if (!r)
		r = expel_it(&o, argv[0]);
	fleet_order_end(&o);
	return r;
}

/* An expelled tray is out for all: so readmission is also for all. */
static int audience_of(struct fleet *f, const char *tray, char audience[static BWL_SIGNED_AUDIENCE])
{
	struct fleet_doc x;
	int r = fleet_doc_believe(f, NULL, BWL_DOC_expulsion, tray, &x);

	if (!r)
		fleet_doc_done(&x);
	if (r && r != -ENOENT && r != -EKEYREJECTED)
		return r;
	/*
	 * An expulsion that somebody replaced in the store may still hold on trays: readmit the
	 * tray anyway.
	 */
	snprintf(audience, BWL_SIGNED_AUDIENCE, r == -ENOENT ? "tray:%s" : "all", tray);
	return 0;
}

/* What is not named stays as its enrolment says, if it has one. */
static int as_before(struct fleet *f, const char *tray, bool labels, bool log_key, json_t *list,
		     json_t *body)
{
	struct fleet_doc x;
	int r = labels || log_key ? fleet_enrolment(f, tray, &x) : -ENOENT;

	if (r == -ENOENT)
		return 0;
	if (r == -EKEYREJECTED)
		bwl_hint(
			&f->c->err,
			"its labels and its log key are not known: enrol %.79s --label … --log-key …",
			tray);
	if (r)
		return r;
	if (labels && json_object_get(x.d.body, "labels"))
		json_array_extend(list, json_object_get(x.d.body, "labels"));
	if (log_key && json_object_get(x.d.body, "log_key"))
		json_object_set(body, "log_key", json_object_get(x.d.body, "log_key"));
	fleet_doc_done(&x);
	return 0;
}

/*
 * labels: "KEY=VALUE,…"; log_key: of its audit log; without one nobody verifies its status. NULL:
 * those of its previous enrolment; "none": none. An invalid one is refused with the document.
 */
static int enrol_it(struct fleet_order *o, const char *tray, const char *labels,
		    const char *log_key)
{
	json_t *body = json_pack("{s:s}", "tray", tray), *list = json_array();
	BWL_AUTO_FREE char *copy = labels && strcmp(labels, "none") ? bwl_must(strdup(labels))
								    : NULL;
	char audience[BWL_SIGNED_AUDIENCE], hex[65], *at;
	struct fleet *f = &o->fleet;
	int r;

	for (char *one = copy ? strtok_r(copy, ",", &at) : NULL; one;
	     one = strtok_r(NULL, ",", &at))
		json_array_append_new(list, json_string(one));
	if (log_key && strcmp(log_key, "none"))
		json_object_set_new(body, "log_key", json_string(log_key));
	r = as_before(f, tray, !labels, !log_key, list, body);
	if (!r && f->root) {
		bwl_hex_encode(bwl_root_digest(f->root), 32, hex);
	} else if (!r) {
		bwl_fail(&f->c->err, EINVAL,
			 "an enrolment names the root, and none is pinned here");
		r = bwl_hint(&f->c->err, "root = FILE in " FLEET_CONF ", or --root");
	}
	if (!r) {
		json_object_set_new(body, "root", json_string(hex));
		if (json_array_size(list))
			json_object_set(body, "labels", list);
		r = audience_of(f, tray, audience);
	}
	if (!r)
		r = fleet_order_give(o, BWL_SIGNED_ENROLMENT, tray, audience, json_incref(body));
	json_decref(list);
	json_decref(body);
	return r;
}

static int enrol(struct ctl *c, int argc, char **argv)
{
	struct fleet_order o = { 0 };
	const char *labels = NULL, *log_key = NULL;
	const struct ctl_opt opts[] = { FLEET_CONF_OPTS(&o.fleet.conf),
					FLEET_ORDER_OPTS(&o),
					{ "--label", NULL, &labels },
					{ "--log-key", NULL, &log_key },
					{ NULL, NULL, NULL } };
	int r;

	ctl_reason(opts, 1, &argc, argv, o.reason_words);
	r = ctl_opts(c, &argc, argv, opts);
	if (!r)
		r = one_tray(c, argc, argv, &o);
	if (!r)
		r = enrol_it(&o, argv[0], labels, log_key);
	fleet_order_end(&o);
	return r;
}

/* The old one goes now; the new one comes when a second person agrees. */
static int replace(struct ctl *c, int argc, char **argv)
{
	struct fleet_order o = { 0 };
	const char *log_key = NULL;
	const struct ctl_opt opts[] = {
		FLEET_CONF_OPTS(&o.fleet.conf),        FLEET_ORDER_OPTS(&o),
		{ "--keep-user", &o.keep_user, NULL }, { "--log-key", NULL, &log_key },
		{ "--unknown", &o.unknown, NULL },     { NULL, NULL, NULL }
	};
	int expelled, r;

	ctl_reason(opts, 1, &argc, argv, o.reason_words);
	r = ctl_opts(c, &argc, argv, opts);
	if (!r)
		r = one_tray(c, argc, argv, &o);
	if (!r && !o.unknown)
		r = fleet_known_tray(&o.fleet, argv[0]);
	if (!r) {
		r = expelled = expel_it(&o, argv[0]);
		bwl_warn(
			"the certificate of the old %s is good again with the enrolment: first revoke it (bwlimit-ctl pki revoke), and bring the CRL to every tray; in the store it has no user yet: `etcdctl user add`, docs/fleet.md",
			argv[0]);
		if (!r || r == CTL_SILENT)
			r = enrol_it(&o, argv[0], NULL, log_key);
		if (!r)
			r = expelled;
	}
	fleet_order_end(&o);
	return r;
}

const struct ctl_cmd fleet_order_cmds[] = {
	{ "revoke", NULL,
	  "[--tray T | --label K=V | --all] [--zone Z | PEER…] --key KEY [OPTIONS] [reason TEXT…]",
	  "End grants on trays at once; one person's signature suffices",
	  "Without PEER and --zone: every grant of these trays. Waits until each tray has confirmed it.\n"
	  "The same revocation again has the same name and a higher version. Each PEER has its line; one that no\n"
	  "policy of these trays has is left out, and the exit code is 1.\n\n"
	  "  --unknown       also order what the store does not know: peers of no policy, a tray never seen\n"
	  "  --tray T, --label KEY=VALUE, --all   which trays\n"
	  "  --zone Z        the peers of that zone, by the policies in the store for these trays\n"
	  "  --assume T[,T…]|all  with --zone: assume that these trays hold what is in the store, although no\n"
	  "                       status that their key signed just now says so; each is named. Not for a tray\n"
	  "                       that itself reports another policy; with `all` not if anything contradicts it\n" FLEET_ORDER_HELP
	  "Examples:\n"
	  "  bwlimit-ctl --fleet revoke --all log-collector --key alice.pem reason theft, ticket 4711\n"
	  "  bwlimit-ctl --fleet revoke --all --zone external --assume tray-9 --key alice.pem\n"
	  "  bwlimit-ctl --fleet revoke --label rack=7 --key alice.pem\n",
	  fleet_revoke },
	{ "expel", NULL, "TRAY --key KEY [OPTIONS] [reason TEXT…]",
	  "Expel a tray from the fleet: the others end its SAs and accept no new ones",
	  "One person's signature suffices. Only a new enrolment, signed by as many as the root demands, lets it\n"
	  "in again. Its user of the store is deleted, if this desk may do so; otherwise the command is shown.\n\n"
	  "  --unknown       also one that the store does not know; otherwise that is an error\n"
	  "  --keep-user     keep that user: the tray can then read a second signature, and destroy its key\n" FLEET_ORDER_HELP
	  "Examples:\n"
	  "  bwlimit-ctl --fleet expel tray-9 --key alice.pem reason chassis opened\n",
	  expel },
	{ "enrol", NULL,
	  "TRAY [--label K=V[,K=V…]|none] [--log-key KEY|none] --key KEY [OPTIONS] [reason TEXT…]",
	  "Let a tray in, with its labels",
	  "It needs as many signatures as the root demands: the first one puts it among the pending documents\n"
	  "(`--fleet pending`), and the last one publishes it (`--fleet approve`).\n\n"
	  "A tray that is enrolled keeps the labels and the key that are not named; `none` takes them away.\n\n"
	  "  --label K=V,…   labels by which audiences select it\n"
	  "  --log-key KEY   the public key that `audit init` printed there: its status is then signed, and an\n"
	  "                  unsigned one is refused\n" FLEET_ORDER_HELP "Examples:\n"
	  "  bwlimit-ctl --fleet enrol tray-9 --label rack=7,row=b --key alice.pem\n",
	  enrol },
	{ "replace", NULL, "TRAY [--log-key KEY|none] --key KEY [OPTIONS] [reason TEXT…]",
	  "Replace the DPU of a tray: expel the old one now, enrol the new one",
	  "The expulsion is published at once; the enrolment, with the old labels, waits for a second signature.\n"
	  "Once it is published, the old DPU's certificate is accepted again, if that DPU still has its key: before,\n"
	  "revoke that certificate (pki revoke), and bring the CRL to every tray. The user of the store is deleted,\n"
	  "as by `expel`; the new DPU needs it again.\n\n"
	  "  --log-key KEY   of the new DPU's audit log. Without it the old key stays, and the new DPU's status is\n"
	  "                  refused until an enrolment names its key\n"
	  "  --keep-user     keep that user\n"
	  "  --unknown       also one that the store does not know; otherwise that is an error\n" FLEET_ORDER_HELP
	  "Examples:\n"
	  "  bwlimit-ctl --fleet replace tray-9 --key alice.pem reason DPU dead\n",
	  replace },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
