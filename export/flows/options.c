// SPDX-License-Identifier: GPL-2.0-or-later
/* See options.h. */
#include <getopt.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bwl/help.h>
#include <bwl/units.h>
#include "options.h"

#define DIR "/etc/bwlimit/export"

static const char usage_text[] =
	"usage: " PROGRAM " --to DESTINATION [OPTIONS]\n"
	"\n"
	"Exports the flow records that bwlimitd writes, in order, as IPFIX or JSON lines. Needs only the right to\n"
	"read them. A host chooses addresses and ports, so records are a way out: at most --budget bytes leave in a\n"
	"window. What is withheld is counted, reported, and not sent later.\n"
	"\n"
	"options:\n"
	"  --to DESTINATION      file:PATH, tcp:HOST:PORT, tls:HOST:PORT; udp:HOST:PORT only for tests: it\n"
	"                        loses records unnoticed\n"
	"  --format FORMAT       ipfix or json (ipfix)\n"
	"  --budget VOLUME       bytes of content per window (100mb per 1d)\n"
	"  --domain N            Observation Domain ID of this DPU (1)\n"
	"  --device DEV          send only by this device: the management network's\n"
	"  --ca FILE             authority of the collector's certificate (" DIR "/ca.pem)\n"
	"  --cert FILE           our certificate (" DIR "/cert.pem)\n"
	"  --key FILE            its key (" DIR "/key.pem)\n"
	"  --flows DIR           where the records are (/var/lib/bwlimit/flows)\n"
	"  --state-dir DIR       where it keeps what was sent and how much of the budget is used\n"
	"                        (/var/lib/bwlimit-export)\n"
	"  --once                send what there is, then exit\n"
	"  --help, --version\n"
	"\n"
	"Ends on SIGTERM. Exit codes: 0 stopped by a signal, or all was sent; 1 failed, 2 wrong usage.\n"
	"\n"
	"examples:\n"
	"  " PROGRAM " --to tls:collector.example.org:4740 --device mgmt0\n"
	"  " PROGRAM " --to file:records.ipfix --state-dir /tmp/once --once\n";

static int parse_domain(const char *s, uint32_t *ret, struct bwl_err *e)
{
	char *end;
	unsigned long long n = strtoull(s, &end, 10);

	if (*s < '0' || *s > '9' || *end || n > UINT32_MAX)
		return bwl_fail(e, EINVAL,
				"'%.32s' is not an Observation Domain ID: must be 0 to 4294967295",
				s);
	*ret = (uint32_t)n;
	return 0;
}

static int parse_budget(const char *s, struct outlet_conf *c, struct bwl_err *e)
{
	int r = bwl_parse_volume(s, &c->budget_bytes, &c->budget_window_ns, e);

	if (!r && !c->budget_window_ns)
		return bwl_fail(e, EINVAL,
				"--budget %.64s: the window is missing: say 100mb per 1d", s);
	return r;
}

static int parse_format(const char *s, bool *ret_json, struct bwl_err *e)
{
	*ret_json = !strcmp(s, "json");
	return *ret_json || !strcmp(s, "ipfix")
		       ? 0
		       : bwl_fail(e, EINVAL, "--format %.32s: must be ipfix or json", s);
}

static int judge(const struct outlet_conf *c, struct bwl_err *e)
{
	if (c->way.kind == WAY_NONE)
		return bwl_fail(e, EINVAL, "no destination: say --to tls:HOST:PORT");
	if (c->way.kind == WAY_UDP && c->json)
		return bwl_fail(e, EINVAL,
				"JSON lines cannot be sent by udp: use tcp, tls or file");
	return 0;
}

/* They are read again for each connection, but the user wants to know now. */
static int look_at_files(const struct way_conf *c)
{
	const char *const files[] = { c->ca, c->cert, c->key };
	struct bwl_err e = { 0 };

	for (unsigned i = 0; c->kind == WAY_TLS && i < 3; i++) {
		if (!access(files[i], R_OK))
			continue;
		bwl_fail(&e, errno, "cannot read '%s': %s", files[i], strerror(errno));
		bwl_hint(
			&e,
			"--ca, --cert and --key must be PEM files that this user can read; --ca: the collector's authority");
		bwl_err_print(&e, PROGRAM, false);
		return 1;
	}
	return -1;
}

static int take(int c, struct options *o, struct bwl_err *e)
{
	struct outlet_conf *out = &o->outlet;

	switch (c) {
	case 't':
		return way_parse(optarg, &out->way, e);
	case 'f':
		return parse_format(optarg, &out->json, e);
	case 'b':
		return parse_budget(optarg, out, e);
	case 'n':
		return parse_domain(optarg, &out->domain, e);
	case 'd':
		/* the kernel would take an empty name as any device, and cut a long one */
		if (!*optarg || strlen(optarg) >= IFNAMSIZ)
			return bwl_fail(
				e, EINVAL,
				"--device '%.32s': must be a device's name, 1 to %d characters",
				optarg, IFNAMSIZ - 1);
		out->way.device = optarg;
		return 0;
	case 'a':
		out->way.ca = optarg;
		return 0;
	case 'c':
		out->way.cert = optarg;
		return 0;
	case 'k':
		out->way.key = optarg;
		return 0;
	case 'r':
		out->flows_dir = optarg;
		return 0;
	case 's':
		out->state_dir = optarg;
		return 0;
	default:
		o->once = true;
		return 0;
	}
}

int options_read(int argc, char **argv, struct options *o)
{
	static const struct option opts[] = {
		{ "to", required_argument, NULL, 't' },
		{ "format", required_argument, NULL, 'f' },
		{ "budget", required_argument, NULL, 'b' },
		{ "domain", required_argument, NULL, 'n' },
		{ "device", required_argument, NULL, 'd' },
		{ "ca", required_argument, NULL, 'a' },
		{ "cert", required_argument, NULL, 'c' },
		{ "key", required_argument, NULL, 'k' },
		{ "flows", required_argument, NULL, 'r' },
		{ "state-dir", required_argument, NULL, 's' },
		{ "once", no_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	struct bwl_err e = { 0 };
	int c;

	*o = (struct options){
		.outlet = { .way = { .ca = DIR "/ca.pem",
				     .cert = DIR "/cert.pem",
				     .key = DIR "/key.pem" },
			    .domain = 1,
			    .budget_bytes = 100ULL << 20,
			    .budget_window_ns = 86400ULL * 1000000000,
			    .flows_dir = "/var/lib/bwlimit/flows",
			    .state_dir = "/var/lib/bwlimit-export" },
	};
	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		if (c == 'h') {
			bwl_help(usage_text, stdout);
			return 0;
		}
		if (c == 'V') {
			puts(PROGRAM " " BWL_VERSION);
			return 0;
		}
		if (c == '?') {
			fputs("Try " PROGRAM " --help\n", stderr);
			return 2;
		}
		if (take(c, o, &e))
			return bwl_wrong_use(&e, PROGRAM, false);
	}
	if (optind < argc) {
		bwl_fail(&e, EINVAL, "unexpected argument '%.80s'", argv[optind]);
		return bwl_wrong_use(&e, PROGRAM, false);
	}
	return judge(&o->outlet, &e) ? bwl_wrong_use(&e, PROGRAM, false)
				     : look_at_files(&o->outlet.way);
}
