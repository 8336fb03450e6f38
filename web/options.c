// SPDX-License-Identifier: GPL-2.0-or-later
/* See options.h. */
#include <arpa/inet.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bwl/agent.h"
#include "bwl/help.h"
#include "fleet/http/listen.h"
#include "fleet/http/server.h"
#include "options.h"

#define LISTEN "127.0.0.1:9650"

static const char usage_text[] =
	"usage: " PROGRAM " [OPTIONS]\n"
	"\n"
	"Serves the page of this DPU, its numbers as JSON and as server-sent events, and /metrics for Prometheus.\n"
	"It can change nothing: it has no map, and only the rights of group bwlimit-read. It asks bwlimitd for what\n"
	"it shows; the process that faces the network cannot even ask.\n"
	"\n"
	"options:\n"
	"  --listen ADDRESS:PORT  where to listen (" LISTEN
	"); an address other than loopback must be a\n"
	"                         management device's, and needs --ca, --cert and --key\n"
	"  --host NAME[,…]        other names by which a browser may call this machine (localhost)\n"
	"  --ca FILE              authority of people's certificates\n"
	"  --cert FILE            this machine's certificate\n"
	"  --key FILE             its key\n"
	"  --crl FILE             certificates that the authority has revoked; they are refused\n"
	"  --serve-to NAME[,…]    CommonNames of people's certificates that are accepted (people)\n"
	"  --page DIR             folder of the page (" BWL_PAGE_DIR "); `none`: no page\n"
	"  --name NAME            name of this node (its host name)\n"
	"  --commands SOCKET      bwlimitd's socket (" BWL_RUN_DIR "/bwlimit.commands)\n"
	"  --fleet                serve the page of a fleet, on a desk or beside a controller: asks by bwlimit-ctl --fleet\n"
	"  --conf FILE            with --fleet: file that says where the controller is (/etc/bwlimit/fleet.conf)\n"
	"  --json                 errors as JSON\n"
	"  --help, --version\n"
	"\n"
	"SIGHUP rereads --ca, --cert, --key and --crl. Ends on SIGTERM.\n"
	"Exit codes: 0 stopped by a signal, 1 failed, 2 wrong usage.\n"
	"\n"
	"examples:\n"
	"  " PROGRAM "                        then http://127.0.0.1:9650/\n"
	"  " PROGRAM " --listen 10.9.0.7:9650 --ca ca.pem --cert web.pem --key web.key\n"
	"  " PROGRAM " --fleet --name hall-2  for a fleet, with the certificate of fleet.conf\n"
	"  curl http://127.0.0.1:9650/api/v1/top\n";

static bool is_loopback(const struct sockaddr_storage *at)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)at;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)at;

	return at->ss_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr)
					 : ntohl(v4->sin_addr.s_addr) >> 24 == 127;
}

static bool is_any(const struct sockaddr_storage *at)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)at;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)at;

	if (at->ss_family != AF_INET6)
		return !v4->sin_addr.s_addr;
	return IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) && !v6->sin6_addr.s6_addr32[3]);
}

/* The program beside this one, or in its installed place. */
static const char *find_ctl(void)
{
	static char path[PATH_MAX];
	const char *said = getenv("BWLIMIT_CTL");
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		snprintf(slash + 1, sizeof(path) - (size_t)(slash + 1 - path), "bwlimit-ctl");
	return said ? said : path;
}

static int judge(struct options *o, struct bwl_err *e)
{
	const char *const *tls = o->web.tls;
	bool fleet = o->web.documents == &web_fleet;
	int r = bwl_listen_address(o->listen, &o->web.at, e);

	if (r)
		return r;
	if (o->asker.conf && !fleet)
		return bwl_fail(e, EINVAL, "--conf needs --fleet");
	o->asker.program = fleet ? find_ctl() : NULL;
	if (is_any(&o->web.at))
		return bwl_fail(
			e, EINVAL,
			"%s means every address of this machine: give one, of a management device",
			o->listen);
	if (!is_loopback(&o->web.at) && !tls[BWL_TLS_CERT]) {
		bwl_fail(e, EINVAL, "%s is not loopback: it needs certificates on both sides",
			 o->listen);
		return bwl_hint(e, "--ca, --cert and --key; or 127.0.0.1 and `ssh -L`");
	}
	if (!tls[BWL_TLS_CA] != !tls[BWL_TLS_CERT] || !tls[BWL_TLS_CA] != !tls[BWL_TLS_KEY])
		return bwl_fail(e, EINVAL, "--ca, --cert and --key must be given together");
	if (tls[BWL_TLS_CRL] && !tls[BWL_TLS_CA])
		return bwl_fail(e, EINVAL, "--crl needs --ca");
	o->of_management = !is_loopback(&o->web.at) && !fleet; /* a desk has no such devices */
	return 0;
}

enum { HOST = 256, CLIENTS, FLEET, AS_JSON, HELP, VERSION, WORD };

static const struct option opts[] = {
	{ "listen", required_argument, NULL, WORD + 0 },
	{ "page", required_argument, NULL, WORD + 1 },
	{ "ca", required_argument, NULL, WORD + 2 },
	{ "cert", required_argument, NULL, WORD + 3 },
	{ "key", required_argument, NULL, WORD + 4 },
	{ "name", required_argument, NULL, WORD + 5 },
	{ "commands", required_argument, NULL, WORD + 6 },
	{ "conf", required_argument, NULL, WORD + 7 },
	{ "crl", required_argument, NULL, WORD + 8 },
	{ "host", required_argument, NULL, HOST },
	{ "fleet", no_argument, NULL, FLEET },
	{ "serve-to", required_argument, NULL, CLIENTS },
	{ "json", no_argument, NULL, AS_JSON },
	{ "help", no_argument, NULL, HELP },
	{ "version", no_argument, NULL, VERSION },
	{ 0 },
};

static int take(struct options *o, int c, char *arg, struct bwl_err *e)
{
	const char **const words[] = { &o->listen,
				       &o->page,
				       &o->web.tls[BWL_TLS_CA],
				       &o->web.tls[BWL_TLS_CERT],
				       &o->web.tls[BWL_TLS_KEY],
				       &o->web.name,
				       &o->asker.commands,
				       &o->asker.conf,
				       &o->web.tls[BWL_TLS_CRL] };

	if (c >= WORD)
		*words[c - WORD] = arg;
	else if (c == HOST)
		return bwl_https_names(arg, o->web.hosts, e);
	else if (c == CLIENTS)
		return bwl_https_names(arg, o->web.client_names, e);
	else if (c == FLEET)
		o->asker.documents = o->web.documents = &web_fleet;
	else if (c == AS_JSON)
		o->json = true;
	return 0;
}

int options_read(int argc, char **argv, struct options *o)
{
	static char host[64] = "node";
	struct bwl_err e = { 0 };
	int c;

	(void)!gethostname(host, sizeof(host) - 1);
	*o = (struct options){
		.listen = LISTEN,
		.page = BWL_PAGE_DIR,
		.web = { .documents = &web_node,
			 .name = host,
			 .hosts = { "localhost" },
			 .client_names = { "people" } },
		.asker = { .documents = &web_node, .commands = BWL_RUN_DIR "/bwlimit.commands" },
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
	return judge(o, &e) ? bwl_wrong_use(&e, PROGRAM, o->json) : -1;
}
