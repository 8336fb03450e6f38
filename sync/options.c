/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See options.h. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "bwl/agent.h"
#include "options.h"

#define DIR "/etc/bwlimit/sync"

static const char usage_text[] =
	"usage: " PROGRAM " --servers URL[,URL…] --tray NAME [OPTIONS]\n"
	"\n"
	"Brings signed documents from the store of the fleet (etcd) to bwlimitd, which believes their\n"
	"signatures and nothing else, and this tray's status back. Decides nothing, and needs no rights.\n"
	"A watch tells of news at once; once a minute all is read again. Whatever the store, or this\n"
	"program, does or leaves undone raises no limit: without news grants fall to their floors when\n"
	"what was signed says so.\n"
	"\n"
	"options:\n"
	"  --servers URL[,URL…]  members of etcd, https://HOST:PORT, at most 16; one at a time is asked\n"
	"  --tray NAME           this tray, as its certificate's CommonName and its names in the store\n"
	"  --ca FILE             authority of the servers' certificates (" DIR "/ca.pem)\n"
	"  --cert FILE           this tray's certificate (" DIR "/cert.pem)\n"
	"  --key FILE            its key (" DIR "/key.pem)\n"
	"  --prefix PATH         where the fleet is in the store (/bwl/v1)\n"
	"  --agent SOCKET        where bwlimitd takes documents (" BWL_RUN_DIR
	"/bwlimit.documents)\n"
	"  --serve ADDR:PORT     give the tray's numbers (status, top, stats, usage, reasons, history,\n"
	"                        exfil) to controllers, by HTTPS with certificates on both sides; not\n"
	"                        without it\n"
	"  --serve-to NAME[,…]   CommonNames of controllers' certificates (controller)\n"
	"  --commands SOCKET     where bwlimitd is asked for them (" BWL_RUN_DIR
	"/bwlimit.commands)\n"
	"  --accept-etcd-holes   also servers whose authorisation has known holes, as all of Debian's:\n"
	"                        for a trial\n"
	"  --json                one JSON object a line on standard output\n"
	"  --help, --version\n"
	"\n"
	"Ends on SIGTERM. Exit codes: 0 told to stop, 1 failed, 2 wrong use.\n"
	"\n"
	"examples:\n"
	"  " PROGRAM " --servers https://10.9.0.1:2379,https://10.9.0.2:2379 --tray tray-7\n"
	"  journalctl -u bwlimit-sync\n";

static int wrong_use(const struct options *o, struct bwl_err *e)
{
	if (!*e->hint)
		bwl_hint(e, "see " PROGRAM " --help");
	bwl_err_print(e, PROGRAM, o->json);
	return 2;
}

static int judge(struct options *o, struct bwl_err *e)
{
	if (!o->nservers)
		return bwl_fail(e, EINVAL, "no server: say --servers https://HOST:PORT");
	if (!o->conf.tray)
		return bwl_fail(e, EINVAL, "no tray: say --tray NAME");
	if (!bwl_store_name_ok(o->conf.tray, strlen(o->conf.tray)))
		return bwl_fail(
			e, EINVAL,
			"'%.80s' is no name of a tray: at most %u letters, digits, '.', '_' and '-'",
			o->conf.tray, BWL_DOC_NAME_MOST - 1);
	return bwl_store_prefix_ok(o->conf.prefix, e);
}

/* Read for each connection; but who starts it wants to know now. */
static int look_at_files(const struct options *o)
{
	const char *const files[] = { o->conf.tls.ca, o->conf.tls.cert, o->conf.tls.key };
	struct bwl_err e = { 0 };

	for (unsigned i = 0; i < 3; i++) {
		if (!access(files[i], R_OK))
			continue;
		bwl_fail(&e, errno, "cannot read '%s': %m", files[i]);
		bwl_hint(
			&e,
			"the fleet's authority issues this tray's certificate: PEM files, readable for this user");
		bwl_err_print(&e, PROGRAM, o->json);
		return 1;
	}
	return -1;
}

int options_read(int argc, char **argv, struct options *o)
{
	static const struct option opts[] = {
		{ "servers", required_argument, NULL, 's' },
		{ "tray", required_argument, NULL, 't' },
		{ "ca", required_argument, NULL, 'a' },
		{ "cert", required_argument, NULL, 'c' },
		{ "key", required_argument, NULL, 'k' },
		{ "prefix", required_argument, NULL, 'p' },
		{ "agent", required_argument, NULL, 'g' },
		{ "serve", required_argument, NULL, 'S' },
		{ "serve-to", required_argument, NULL, 'T' },
		{ "commands", required_argument, NULL, 'C' },
		{ "accept-etcd-holes", no_argument, NULL, 'H' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	struct bwl_err e = { 0 };
	int c;

	*o = (struct options){
		.conf = { .tls = { DIR "/ca.pem", DIR "/cert.pem", DIR "/key.pem" },
			  .prefix = "/bwl/v1" },
		.agent = BWL_RUN_DIR "/bwlimit" BWL_AGENT_DOCUMENTS,
		.serve = { .names = { "controller" }, .commands = BWL_RUN_DIR "/bwlimit.commands" },
	};
	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (c) {
		case 's':
			if (bwl_etcd_servers(optarg, o->servers, &o->nservers, &e))
				return wrong_use(o, &e);
			break;
		case 't':
			o->conf.tray = optarg;
			break;
		case 'a':
			o->conf.tls.ca = optarg;
			break;
		case 'c':
			o->conf.tls.cert = optarg;
			break;
		case 'k':
			o->conf.tls.key = optarg;
			break;
		case 'p':
			o->conf.prefix = optarg;
			break;
		case 'g':
			o->agent = optarg;
			break;
		case 'S':
			o->serve.at = optarg;
			break;
		case 'T':
			if (bwl_https_names(optarg, o->serve.names, &e))
				return wrong_use(o, &e);
			break;
		case 'C':
			o->serve.commands = optarg;
			break;
		case 'H':
			o->conf.accept_holes = true;
			break;
		case 'j':
			o->json = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		case 'V':
			puts(PROGRAM " " BWL_VERSION);
			return 0;
		default:
			fputs("Try " PROGRAM " --help\n", stderr);
			return 2;
		}
	}
	if (optind < argc) {
		bwl_fail(&e, EINVAL, "unexpected argument '%s'", argv[optind]);
		return wrong_use(o, &e);
	}
	o->serve.ca = o->conf.tls.ca;
	o->serve.cert = o->conf.tls.cert;
	o->serve.key = o->conf.tls.key;
	o->serve.documents = o->agent;
	o->conf.at = o->serve.at;
	return judge(o, &e) ? wrong_use(o, &e) : look_at_files(o);
}
