// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of bwlimitd. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "options.h"
#include "bwl/desired.h"
#include "bwl/help.h"
#include "bwl/units.h"
#include "tpm/tpm.h"

#define SECOND_US 1000000ULL
#define HOUR_US (3600 * SECOND_US)
#define HISTORY_BYTES (512ULL << 20)
#define HISTORY_MIN (8ULL << 20)
#define HISTORY_MAX (1ULL << 40)

static const char usage_text[] =
	"usage: bwlimitd [OPTIONS]\n"
	"\n"
	"Keeps the desired policy in force, renews the heartbeat, logs what the data plane reports,\n"
	"and tells it the kernel's SAs. Enforcement does not need it: while it is gone nothing\n"
	"changes until the heartbeat's deadline; then every grant falls to its floor.\n"
	"\n"
	"options:\n"
	"  --policy FILE     the desired policy (BWLIMIT_POLICY, or /etc/bwlimit/policy.yaml)\n"
	"  --state-dir DIR   what must survive a restart (BWLIMIT_STATE_DIR, or /var/lib/bwlimit)\n"
	"  --pin-dir DIR     the pinned maps (BWLIMIT_PIN_DIR, or " BWL_PIN_DIR ")\n"
	"  --tpm WORD        bind the ledger to a TPM's counter, so that an old copy of it is detected:\n"
	"                    auto (if one answers), required or none (auto)\n"
	"  --tpm-every TIME  raise that counter at most this often, except in bursts (1h)\n"
	"  --history-size SIZE  disk space for the history (512mb); 0b: none is kept\n"
	"  --flows-size SIZE  disk space for flow records, while they are recorded (512mb);\n"
	"                    0b: none is written\n"
	"  --flows-every TIME  length of an interval of flow records, and their delay: 1s to 1h (10s)\n"
	"  --totals TIME     record what every port passed and dropped this often: 1s or more (1h), or none\n"
	"  --once            reconcile, renew the heartbeat and exit; exit code 1 if it could not\n"
	"  --json            one JSON object per line on standard output instead of log lines\n"
	"  --help, --version\n"
	"\n"
	"BWLIMIT_TPM_TCTI: where the TPM is, in the form of tpm2-tss (" TPM_TCTI ")\n"
	"\n"
	"examples:\n"
	"  bwlimitd --once                    put the file in force if it changed, then exit\n"
	"  journalctl -u bwlimitd -p notice   what it logged\n";

static bool take_tpm(struct agent *a, const char *word)
{
	static const char *const words[] = {
		[ANCHOR_AUTO] = "auto", [ANCHOR_REQUIRED] = "required", [ANCHOR_NONE] = "none"
	};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i], word)) {
			a->tpm = (enum anchor_mode)i;
			return true;
		}
	fprintf(stderr, "bwlimitd: --tpm '%.64s': must be auto, required or none\n", word);
	return false;
}

static bool take_tpm_every(struct agent *a, const char *word)
{
	struct bwl_err e = { 0 };

	if (bwl_parse_time(word, &a->tpm_every_ns, &e)) {
		fprintf(stderr, "bwlimitd: --tpm-every: %s\n", e.text);
		return false;
	}
	if (a->tpm_every_ns)
		return true;
	fputs("bwlimitd: --tpm-every: must be greater than 0\n", stderr);
	return false;
}

static bool take_size(const char *option, const char *word, uint64_t *ret)
{
	struct bwl_err e = { 0 };
	uint64_t size = 0;
	int r = bwl_parse_size(word, &size, &e);

	if (!r && size && (size < HISTORY_MIN || size > HISTORY_MAX))
		r = bwl_fail(&e, EINVAL, "%.32s: must be 8mb to 1tb, or 0b for none", word);
	if (r)
		fprintf(stderr, "bwlimitd: %s: %s\n", option, e.text);
	*ret = size;
	return !r;
}

static bool take_flows_every(struct agent *a, const char *word)
{
	struct bwl_err e = { 0 };
	uint64_t ns = 0;
	int r = bwl_parse_time(word, &ns, &e);

	if (!r && (ns < 1000 * SECOND_US || ns > 1000 * HOUR_US))
		r = bwl_fail(&e, EINVAL, "%.32s: must be 1s to 1h", word);
	if (r)
		fprintf(stderr, "bwlimitd: --flows-every: %s\n", e.text);
	a->flows_every_ns = ns;
	return !r;
}

static bool take_totals(struct agent *a, const char *s)
{
	struct bwl_err e = { 0 };
	uint64_t ns = 0;

	if (strcmp(s, "none") && !bwl_parse_time(s, &ns, &e) && ns < 1000 * SECOND_US)
		bwl_fail(&e, ERANGE, "--totals '%.64s': must be a time of at least 1s, or none", s);
	if (e.code)
		bwl_err_print(&e, AGENT_PROGRAM, false);
	a->totals_us = ns / 1000;
	return !e.code;
}

int agent_options(int argc, char **argv, struct agent *a)
{
	static const struct option opts[] = {
		{ "policy", required_argument, NULL, 'p' },
		{ "state-dir", required_argument, NULL, 's' },
		{ "tpm", required_argument, NULL, 't' },
		{ "tpm-every", required_argument, NULL, 'e' },
		{ "history-size", required_argument, NULL, 'H' },
		{ "flows-size", required_argument, NULL, 'F' },
		{ "flows-every", required_argument, NULL, 'E' },
		{ "pin-dir", required_argument, NULL, 'd' },
		{ "once", no_argument, NULL, 'o' },
		{ "totals", required_argument, NULL, 'T' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	bool ok = true;
	int c;

	*a = (struct agent){ .policy = bwl_source_file(),
			     .state_dir = bwl_state_dir(),
			     .tpm_every_ns = 1000 * HOUR_US,
			     .history_bytes = HISTORY_BYTES,
			     .flows_bytes = HISTORY_BYTES,
			     .flows_every_ns = 10000 * SECOND_US,
			     .totals_us = HOUR_US };
	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (c) {
		case 'p':
			a->policy = optarg;
			break;
		case 's':
			a->state_dir = optarg;
			break;
		case 'd':
			a->pin_dir = optarg;
			break;
		case 't':
			ok &= take_tpm(a, optarg);
			break;
		case 'e':
			ok &= take_tpm_every(a, optarg);
			break;
		case 'H':
			ok &= take_size("--history-size", optarg, &a->history_bytes);
			break;
		case 'F':
			ok &= take_size("--flows-size", optarg, &a->flows_bytes);
			break;
		case 'E':
			ok &= take_flows_every(a, optarg);
			break;
		case 'o':
			a->once = true;
			break;
		case 'T':
			ok &= take_totals(a, optarg);
			break;
		case 'j':
			agent_log_json(true);
			break;
		case 'h':
			bwl_help(usage_text, stdout);
			return 0;
		case 'V':
			printf("bwlimitd %s\nTPM: %s\n", BWL_VERSION,
			       tpm_is_built() ? "through tpm2-tss"
					      : "none, built without tpm2-tss");
			return 0;
		default:
			fputs("Try bwlimitd --help\n", stderr);
			return 2;
		}
	}
	if (!ok)
		return 2;
	if (optind == argc)
		return -1;
	fprintf(stderr, "bwlimitd: unexpected '%.64s'\nTry bwlimitd --help\n", argv[optind]);
	return 2;
}
