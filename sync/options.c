// SPDX-License-Identifier: GPL-2.0-or-later
/* See options.h. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "bwl/agent.h"
#include "bwl/help.h"
#include "options.h"

#define DIR "/etc/bwlimit/sync"

static const char usage_text[] =
	"usage: " PROGRAM " --servers URL[,URL…] --tray NAME [OPTIONS]\n"
	"\n"
	"Brings signed documents from the fleet's store (etcd) to bwlimitd, which trusts only their\n"
	"signatures, and this tray's status back. Decides nothing, and needs no rights. A watch reports\n"
	"changes at once; once a minute everything is read again. Nothing that the store or this program\n"
	"does, or fails to do, raises a limit: without news, grants fall to their floors at the time that\n"
	"was signed.\n"
	"\n"
	"options:\n"
	"  --servers URL[,URL…]  members of etcd, https://HOST:PORT, at most 16; asked one at a time\n"
	"  --tray NAME           this tray: the CommonName of its certificate, and its name in the store\n"
	"  --ca FILE             the authority that signed the servers' certificates (" DIR
	"/ca.pem)\n"
	"  --cert FILE           this tray's certificate (" DIR "/cert.pem)\n"
	"  --key FILE            its key (" DIR "/key.pem)\n"
	"  --prefix PATH         path of the fleet in the store (/bwl/v1)\n"
	"  --agent SOCKET        socket at which bwlimitd accepts documents (" BWL_RUN_DIR
	"/bwlimit.documents)\n"
	"  --serve ADDR:PORT     serve the tray's numbers (status, top, stats, usage, reasons, history,\n"
	"                        exfil) to controllers, over HTTPS with certificates on both sides;\n"
	"                        default: not served\n"
	"  --serve-to NAME[,…]   CommonNames of controllers' certificates (controller)\n"
	"  --crl FILE            for --serve: certificates that the authority has revoked; they are refused\n"
	"  --commands SOCKET     socket at which bwlimitd is asked for them (" BWL_RUN_DIR
	"/bwlimit.commands)\n"
	"  --accept-etcd-holes   for a trial: also accept servers whose authorisation has known holes,\n"
	"                        such as every version that Debian has\n"
	"  --json                one JSON object per line on standard output\n"
	"  --help, --version\n"
	"\n"
	"SIGHUP rereads --ca, --cert, --key and --crl for --serve; for the store they are read for each connection.\n"
	"Ends on SIGTERM. Exit codes: 0 stopped by a signal, 1 failed, 2 wrong usage.\n"
	"\n"
	"examples:\n"
	"  " PROGRAM " --servers https://10.9.0.1:2379,https://10.9.0.2:2379 --tray tray-7\n"
	"  journalctl -u bwlimit-sync\n";

static int judge(struct options *o, struct bwl_err *e)
{
	if (!o->nservers)
		return bwl_fail(e, EINVAL, "the server is missing: --servers https://HOST:PORT");
	if (!o->conf.tray)
		return bwl_fail(e, EINVAL, "the tray is missing: --tray NAME");
	if (!bwl_store_name_ok(o->conf.tray, strlen(o->conf.tray)))
		return bwl_fail(
			e, EINVAL,
			"'%.80s': the name of a tray must be at most %u letters, digits, '.', '_' and '-'",
			o->conf.tray, BWL_DOC_NAME_MAX - 1);
	return bwl_store_prefix_ok(o->conf.prefix, e);
}

/* They are read again for each connection, but the user wants to know now. */
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
			"the fleet's authority issues this tray's certificate; the files must be PEM and readable by this user");
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
		{ "crl", required_argument, NULL, 'R' },
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
				return bwl_wrong_use(&e, PROGRAM, o->json);
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
				return bwl_wrong_use(&e, PROGRAM, o->json);
			break;
		case 'R':
			o->serve.tls[BWL_TLS_CRL] = optarg;
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
			bwl_help(usage_text, stdout);
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
		return bwl_wrong_use(&e, PROGRAM, o->json);
	}
	o->serve.tls[BWL_TLS_CA] = o->conf.tls.ca;
	o->serve.tls[BWL_TLS_CERT] = o->conf.tls.cert;
	o->serve.tls[BWL_TLS_KEY] = o->conf.tls.key;
	o->serve.documents = o->agent;
	o->conf.at = o->serve.at;
	return judge(o, &e) ? bwl_wrong_use(&e, PROGRAM, o->json) : look_at_files(o);
}
