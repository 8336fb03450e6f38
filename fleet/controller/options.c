// SPDX-License-Identifier: GPL-2.0-or-later
/* See options.h. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bwl/help.h"
#include "bwl/units.h"
#include "options.h"

#define DIR "/etc/bwlimit/controller"

static const char usage_text[] =
	"usage: " PROGRAM " --servers URL[,URL…] --name NAME [OPTIONS]\n"
	"       " PROGRAM " --dev DIR [--trays NAME,…] [OPTIONS]\n"
	"\n"
	"Controls a fleet of trays, within what people signed: signs the time every minute, renews leases,\n"
	"rolls policies with `stages` out to 10, 25, 50 and 100 % of the trays, and back if their health\n"
	"becomes worse, and cosigns the trays' audit logs. Several run and one leads, by etcd's election; the\n"
	"store refuses what a former leader writes. Its key raises no limit: docs/fleet.md.\n"
	"\n"
	"options:\n"
	"  --servers URL[,URL…]  members of etcd, https://HOST:PORT, at most 16; asked one at a time\n"
	"  --name NAME           the name of this controller, shown to people (its host name)\n"
	"  --root FILE           the fleet's root, which names whose signatures count (" DIR
	"/root)\n"
	"  --online-key KEY      key of the root's role `online`: PEM file or pkcs11:…\n"
	"                        (" DIR "/online.pem)\n"
	"  --witness-key KEY     another key of that kind: cosigns the trays' audit checkpoints\n"
	"  --witness-name NAME   the name under which it cosigns (bwlimit-witness)\n"
	"  --ca FILE             the authority that signed the servers' certificates (" DIR
	"/ca.pem)\n"
	"  --cert FILE           this controller's certificate (" DIR "/cert.pem)\n"
	"  --key FILE            its key (" DIR "/key.pem)\n"
	"  --prefix PATH         path of the fleet in the store (/bwl/v1)\n"
	"  --stages PERCENT,…    stages of a rollout: each more than the one before, the last 100 (10,25,50,100)\n"
	"  --soak TIME           minimum duration of a stage (10m)\n"
	"  --silent-after TIME   a tray that is silent for so long counts as lost (90s)\n"
	"  --drops-more PERCENT  how much more of its packets than before a tray may drop (5)\n"
	"  --tolerate PERCENT    how many of a stage's trays may be unwell (0)\n"
	"  --serve ADDR:PORT     serve what the trays send, added up, to people's bwlimit-ctl and to Prometheus\n"
	"                        (/metrics), by HTTPS with certificates on both sides (default: off)\n"
	"  --serve-to NAME[,…]   CommonNames of their certificates (people)\n"
	"  --crl FILE            for --serve: certificates that the authority has revoked; they are refused\n"
	"  --trust-clock         trust this machine's clock although nothing synchronises it\n"
	"  --accept-etcd-holes   for a trial: also accept servers whose authorisation has known holes,\n"
	"                        such as every version that Debian has\n"
	"  --dev DIR             for a trial: start an etcd of its own, and make authority, certificates, keys\n"
	"                        of two people and of this controller, root and enrolments, all in DIR, unless\n"
	"                        they are there. All keys are in one place: not for production\n"
	"  --trays NAME,…        with --dev: trays that may join (tray-1,tray-2,tray-3)\n"
	"  --listen ADDRESS:PORT  with --dev: where etcd listens, on this port and the next (127.0.0.1:2379)\n"
	"  --json                one JSON object per line on standard output\n"
	"  --help, --version\n"
	"\n"
	"SIGHUP rereads --ca, --cert, --key and --crl for --serve; for the store and the trays they are read for each\n"
	"connection. Ends on SIGTERM. Exit codes: 0 stopped by a signal, 1 failed, 2 wrong usage.\n"
	"\n"
	"examples:\n"
	"  " PROGRAM " --servers https://10.9.0.1:2379,https://10.9.0.2:2379 --name control-1\n"
	"  " PROGRAM " --dev /tmp/fleet --trays tray-1,tray-2\n"
	"  journalctl -u bwlimit-controller\n";

static int take_percent(const char *text, const char *what, unsigned least, unsigned *ret,
			struct bwl_err *e)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n < least || n > 100)
		return bwl_fail(e, EINVAL,
				"'%s' is not a %s: must be a whole number from %u to 100", text,
				what, least);
	*ret = (unsigned)n;
	return 0;
}

static int take_stages(char *list, struct rollout_rules *r, struct bwl_err *e)
{
	unsigned last = 0;
	char *at;

	r->nstages = 0;
	for (char *one = strtok_r(list, ",", &at); one; one = strtok_r(NULL, ",", &at)) {
		if (r->nstages == ROLLOUT_STAGES_MAX)
			return bwl_fail(e, EINVAL, "more than %u stages", ROLLOUT_STAGES_MAX);
		if (take_percent(one, "stage", last + 1, &r->stage[r->nstages], e))
			return -EINVAL;
		last = r->stage[r->nstages++];
	}
	if (last != 100)
		return bwl_fail(e, EINVAL, "the last stage must be 100: --stages 10,25,50,100");
	return 0;
}

static int take_time(const char *text, uint64_t *ret, struct bwl_err *e)
{
	int r = bwl_parse_time(text, ret, e);

	return r || *ret ? r : bwl_fail(e, EINVAL, "must be greater than 0, for example 10m");
}

static int judge(const struct options *o, struct bwl_err *e)
{
	if (o->dev)
		return bwl_store_prefix_ok(o->prefix, e);
	if (!o->nservers)
		return bwl_fail(e, EINVAL,
				"the server is missing: --servers https://HOST:PORT, or --dev DIR");
	if (!bwl_store_name_ok(o->name, strlen(o->name)))
		return bwl_fail(
			e, EINVAL,
			"'%.80s': a name must be at most %u letters, digits, '.', '_' and '-'",
			o->name, BWL_DOC_NAME_MAX - 1);
	return bwl_store_prefix_ok(o->prefix, e);
}

/* They are read again for each connection, but the user wants to know now. */
static int look_at_files(const struct options *o)
{
	const char *const files[] = { o->tls.ca, o->tls.cert, o->tls.key, o->root };
	struct bwl_err e = { 0 };

	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++) {
		if (o->dev || !access(files[i], R_OK))
			continue;
		bwl_fail(&e, errno, "cannot read '%s': %m", files[i]);
		bwl_hint(
			&e,
			"docs/fleet.md says how it is made; for a trial, --dev DIR makes all of them");
		bwl_err_print(&e, PROGRAM, o->json);
		return 1;
	}
	return -1;
}

enum {
	SERVERS = 256,
	NAME,
	ROOT,
	ONLINE,
	WITNESS,
	WITNESS_NAME,
	CA,
	CERT,
	KEY,
	PREFIX,
	STAGES,
	SOAK,
	SILENT,
	DROPS,
	TOLERATE,
	CLOCK,
	HOLES,
	DEV,
	TRAYS,
	LISTEN,
	SERVE,
	SERVE_TO,
	CRL,
	AS_JSON,
	HELP,
	VERSION,
};

static const struct option opts[] = {
	{ "servers", required_argument, NULL, SERVERS },
	{ "name", required_argument, NULL, NAME },
	{ "root", required_argument, NULL, ROOT },
	{ "online-key", required_argument, NULL, ONLINE },
	{ "witness-key", required_argument, NULL, WITNESS },
	{ "witness-name", required_argument, NULL, WITNESS_NAME },
	{ "ca", required_argument, NULL, CA },
	{ "cert", required_argument, NULL, CERT },
	{ "key", required_argument, NULL, KEY },
	{ "prefix", required_argument, NULL, PREFIX },
	{ "stages", required_argument, NULL, STAGES },
	{ "soak", required_argument, NULL, SOAK },
	{ "silent-after", required_argument, NULL, SILENT },
	{ "drops-more", required_argument, NULL, DROPS },
	{ "tolerate", required_argument, NULL, TOLERATE },
	{ "trust-clock", no_argument, NULL, CLOCK },
	{ "accept-etcd-holes", no_argument, NULL, HOLES },
	{ "dev", required_argument, NULL, DEV },
	{ "trays", required_argument, NULL, TRAYS },
	{ "listen", required_argument, NULL, LISTEN },
	{ "serve", required_argument, NULL, SERVE },
	{ "serve-to", required_argument, NULL, SERVE_TO },
	{ "crl", required_argument, NULL, CRL },
	{ "json", no_argument, NULL, AS_JSON },
	{ "help", no_argument, NULL, HELP },
	{ "version", no_argument, NULL, VERSION },
	{ 0 },
};

/* Options whose value is used unchanged. NULL: not one of those. */
static const char **word_of(struct options *o, int c)
{
	switch (c) {
	case NAME:
		return &o->name;
	case ROOT:
		return &o->root;
	case ONLINE:
		return &o->online_key;
	case WITNESS:
		return &o->witness_key;
	case WITNESS_NAME:
		return &o->witness_name;
	case CA:
		return &o->tls.ca;
	case CERT:
		return &o->tls.cert;
	case KEY:
		return &o->tls.key;
	case PREFIX:
		return &o->prefix;
	case DEV:
		return &o->dev;
	case TRAYS:
		return &o->trays;
	case LISTEN:
		return &o->listen;
	case SERVE:
		return &o->serve;
	case CRL:
		return &o->crl;
	default:
		return NULL;
	}
}

static bool *flag_of(struct options *o, int c)
{
	return c == CLOCK     ? &o->trust_clock
	       : c == HOLES   ? &o->accept_holes
	       : c == AS_JSON ? &o->json
			      : NULL;
}

static int take(struct options *o, int c, char *arg, struct bwl_err *e)
{
	const char **word = word_of(o, c);
	bool *flag = flag_of(o, c);

	if (word)
		*word = arg;
	else if (flag)
		*flag = true;
	switch (c) {
	case SERVERS:
		return bwl_etcd_servers(arg, o->servers, &o->nservers, e);
	case SERVE_TO:
		return bwl_https_names(arg, o->serve_to, e);
	case STAGES:
		return take_stages(arg, &o->rules, e);
	case SOAK:
		return take_time(arg, &o->rules.soak_ns, e);
	case SILENT:
		return take_time(arg, &o->rules.silent_ns, e);
	case DROPS:
		return take_percent(arg, "percentage of packets", 0, &o->rules.drops_more, e);
	case TOLERATE:
		return take_percent(arg, "percentage of trays", 0, &o->rules.tolerate, e);
	default:
		return 0;
	}
}

int options_read(int argc, char **argv, struct options *o)
{
	static char host[BWL_DOC_NAME_MAX] = "controller";
	struct bwl_err e = { 0 };
	int c;

	(void)!gethostname(host, sizeof(host) - 1);
	*o = (struct options){
		.tls = { DIR "/ca.pem", DIR "/cert.pem", DIR "/key.pem" },
		.prefix = "/bwl/v1",
		.name = host,
		.root = DIR "/root",
		.online_key = DIR "/online.pem",
		.witness_name = "bwlimit-witness",
		.rules = ROLLOUT_RULES,
		.trays = "tray-1,tray-2,tray-3",
		.listen = "127.0.0.1:2379",
		.serve_to = { "people" },
	};
	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		if (c == '?') {
			fputs("Try " PROGRAM " --help\n", stderr);
			return 2;
		}
		if (c == HELP) {
			bwl_help(usage_text, stdout);
			return 0;
		}
		if (c == VERSION) {
			puts(PROGRAM " " BWL_VERSION);
			return 0;
		}
		if (take(o, c, optarg, &e))
			return bwl_wrong_use(&e, PROGRAM, o->json);
	}
	if (optind < argc) {
		bwl_fail(&e, EINVAL, "unexpected argument '%s'", argv[optind]);
		return bwl_wrong_use(&e, PROGRAM, o->json);
	}
	return judge(o, &e) ? bwl_wrong_use(&e, PROGRAM, o->json) : look_at_files(o);
}
