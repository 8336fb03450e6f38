// SPDX-License-Identifier: GPL-2.0-or-later
/* bwlimit-ipsecd: runs beside charon and supervises it. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "audit/tool_log.h"
#include "bwl/help.h"
#include "bwl/output.h"
#include "bwl/pins.h"
#include "bwl/units.h"
#include "ipsec/conn.h"
#include "ipsec/vici.h"
#include "ipsecd.h"

#define PROGRAM "bwlimit-ipsecd"
#define TIMEOUT_NS 10000000000ULL

static volatile sig_atomic_t stopped;

static const char usage_text[] =
	"usage: " PROGRAM " [OPTIONS] track\n"
	"       " PROGRAM " [OPTIONS] charon [POLICY]\n"
	"\n"
	"track   Keeps the data plane informed of the kernel's SAs: an encrypted peer is open while the\n"
	"        kernel has an SA to its DPU and an IPsec policy that demands it. Prints what opens and\n"
	"        closes and, on standard error, what must not be there. bwlimitd does the same where it\n"
	"        runs; this is for a DPU without it: bwlimit-ipsec.service. Ends when the programs are\n"
	"        detached. Without either, new SAs are not used, and the kernel drops packets that have none.\n"
	"charon  Keeps charon in line with the policy: bwlimit-charon.service. Once a second: after a restart\n"
	"        of charon, or a change of policy, ids, revocations or credentials, it loads the\n"
	"        connections as `bwlimit-ctl ipsec load` does; it initiates for peers without an SA,\n"
	"        and gives new keys to those whose SA is in charon but not in the kernel, at intervals\n"
	"        of up to a minute. SAs that a killed charon left are removed once there are others with\n"
	"        that peer. Prints what it does, and each error once. Waits while there is no charon,\n"
	"        or no policy in force. Without POLICY: what bwlimitd accepted last.\n"
	"\n"
	"options:\n"
	"  --pin-dir DIR   the pinned maps (BWLIMIT_PIN_DIR, or " BWL_PIN_DIR ")\n"
	"  --dir DIR       swanctl's folder: x509, x509ca, x509crl, private, ppk (" BWL_IPSEC_DIR
	")\n"
	"  --vici SOCKET   charon's control socket (" BWL_VICI_SOCKET ")\n"
	"  --timeout TIME  how long to wait for each answer of charon (10s)\n"
	"  --json          one JSON object per line on standard output\n"
	"  --help, --version\n"
	"\n"
	"Both end on SIGTERM. Exit codes: 0 stopped by a signal, 1 failed, 2 wrong usage.\n"
	"\n"
	"examples:\n"
	"  " PROGRAM " charon\n"
	"  journalctl -u bwlimit-charon\n";

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static void catch_signals(void)
{
	struct sigaction a = { .sa_handler = on_signal };

	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
}

/* -1: continue; otherwise the exit code. */
static int options(int argc, char **argv, struct ipsecd *d, struct bwl_err *e)
{
	static const struct option opts[] = {
		{ "pin-dir", required_argument, NULL, 'd' },
		{ "dir", required_argument, NULL, 'c' },
		{ "vici", required_argument, NULL, 'v' },
		{ "timeout", required_argument, NULL, 't' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (c) {
		case 'd':
			d->pin_dir = optarg;
			break;
		case 'c':
			d->dir = optarg;
			break;
		case 'v':
			d->vici = optarg;
			break;
		case 't':
			if (bwl_parse_time(optarg, &d->timeout_ns, e))
				return bwl_wrong_use(e, PROGRAM, d->json);
			break;
		case 'j':
			d->json = true;
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
	return -1;
}

static int start(int argc, char **argv)
{
	struct ipsecd d = { .dir = BWL_IPSEC_DIR, .timeout_ns = TIMEOUT_NS, .stopped = &stopped };
	struct bwl_err e = { 0 };
	const char *what;
	bool track;
	int r;

	bwl_audit_tool();
	r = options(argc, argv, &d, &e);
	if (r >= 0)
		return r;
	what = optind < argc ? argv[optind] : "";
	if (!strcmp(what, "help")) {
		bwl_help(usage_text, stdout);
		return 0;
	}
	track = !strcmp(what, "track");
	if (!track && strcmp(what, "charon"))
		bwl_fail(&e, EINVAL, "'%.32s': must be track or charon", what);
	else if (argc - optind > (track ? 1 : 2))
		bwl_fail(&e, EINVAL,
			 track ? "track takes no further arguments"
			       : "charon takes one policy file, or none for the desired policy");
	if (e.code)
		return bwl_wrong_use(&e, PROGRAM, d.json);
	d.file = argc - optind > 1 ? argv[argc - 1] : NULL;
	catch_signals();
	r = track ? ipsecd_track(&d, &e) : ipsecd_charon(&d, &e);
	if (r)
		bwl_err_print(&e, PROGRAM, d.json);
	bwl_audit_tool_end(r ? e.text : NULL);
	return r != 0;
}

int main(int argc, char **argv)
{
	bwl_output_begin(PROGRAM);
	return bwl_output_end(start(argc, argv));
}
