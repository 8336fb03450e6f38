// SPDX-License-Identifier: GPL-2.0-or-later
/* bwlimit-load: a table of commands and their options. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/doc.h>
#include <bwl/output.h>
#include <bwl/show.h>
#include "audit/tool_log.h"
#include "attach.h"
#include "await.h"
#include "enrolled/gate.h"
#include "guard.h"
#include "help.h"
#include "hidden.h"
#include "journal/journal.h"
#include "probe.h"
#include "tpm/tpm.h"
#include "tunnel.h"
#include "verify.h"

static int cmd_attach(struct bwl_attach *a, struct bwl_err *e)
{
	int r = bwl_attach(a, e);

	return r ? r : bwl_status(a, e);
}

static int cmd_upgrade(struct bwl_attach *a, struct bwl_err *e)
{
	int r = bwl_upgrade(a, e);

	return r ? r : bwl_status(a, e);
}

static int cmd_detach(struct bwl_attach *a, struct bwl_err *e)
{
	int r = bwl_detach(a, e);

	if (!r && a->json)
		bwl_doc_print(json_pack("{s:i, s:s, s:b}", "version", BWL_JSON_VERSION, "kind",
					"detach", "open", a->open));
	else if (!r)
		bwl_put(stdout, "detached; host ports are %s\n",
			a->open ? "UP, without any limit" : "down");
	return r;
}

/* In the order of --help. */
static const struct load_command commands[] = {
	{ .name = "attach",
	  .about = "attach the programs; host ports are down until everything is in place",
	  .run = cmd_attach },
	{ .name = "detach",
	  .about = "remove the programs; host ports stay down unless --open",
	  .run = cmd_detach,
	  .needs_pins = true },
	{ .name = "upgrade",
	  .about = "replace the programs in place, under traffic",
	  .run = cmd_upgrade,
	  .needs_pins = true },
	{ .name = "status",
	  .about = "what is attached where, and how",
	  .run = bwl_status,
	  .needs_pins = true },
	{ .name = "verify",
	  .about = "check every promise; exit code 1 if one does not hold",
	  .run = bwl_verify,
	  .needs_pins = true },
	{ .name = "up",
	  .about = "verify; if it is clean, set the host ports up",
	  .run = bwl_up,
	  .needs_pins = true },
	{ .name = "down",
	  .about = "set down every device that is neither uplink nor management",
	  .run = bwl_down },
	{ .name = "guard",
	  .about = "do the same for devices that appear later, until it is stopped",
	  .run = bwl_guard },
	{ .name = "await",
	  .about =
		  "attach ports of the policy that were absent, when they appear, until it is stopped",
	  .run = bwl_await },
	{ .name = "probe",
	  .about = "what this kernel and these devices offer, found by trying",
	  .run = bwl_probe },
	{ 0 },
};

/* May a closed port be open afterwards? Then the command is recorded first, or not run. */
static bool opens(const struct load_command *c, const struct bwl_attach *a)
{
	return c->run == bwl_up || (c->run == cmd_attach && !a->keep_down) ||
	       (c->run == cmd_detach && a->open);
}

/* On an enrolled tray, refuses what opens, or forgets what was spent or closed. */
static int may(const struct load_command *c, const struct bwl_attach *a, struct bwl_err *e)
{
	bool attach = c->run == cmd_attach;

	if (c->run == cmd_detach && a->open)
		return bwl_enrolled_refuses(NULL, "detach --open leaves hosts without any limit",
					    e);
	if (attach && a->make.fresh_volume)
		return bwl_enrolled_refuses(NULL, "volumes would begin unspent (--fresh-volume)",
					    e);
	if (attach && a->trust_clock)
		return bwl_enrolled_refuses(
			NULL, "a clock that is slow makes grants longer (--trust-clock)", e);
	if (attach && !bwl_journal_dir(a->make.drill))
		return bwl_enrolled_refuses(
			NULL,
			"without a journal nothing stays closed over a reboot (BWLIMIT_JOURNAL_DIR)",
			e);
	return 0;
}

static int run_recorded(const struct load_command *c, struct bwl_attach *a, int argc, char **argv,
			struct bwl_err *e)
{
	char text[512] = "";
	size_t n = 0;
	int r = 0;

	for (int i = 1; i < argc && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "", argv[i]);
	if (opens(c, a))
		r = bwl_audit_intent(e, "%s", text);
	if (!r)
		r = may(c, a, e);
	if (!r)
		r = c->run(a, e);
	if (r == -ENOENT && c->needs_pins)
		bwl_hidden_look(a->dir, e);
	bwl_audit_tool_end(r ? r < 0 ? e->text : "verify is not clean" : NULL);
	if (!r && c->run != bwl_status && c->run != bwl_verify && c->run != bwl_probe)
		bwl_output_done();
	if (!r && (c->run == bwl_up || c->run == cmd_attach || c->run == cmd_upgrade ||
		   (c->run == bwl_probe && a->try_hardware)))
		bwl_audit_record(c->name, "%s", text);
	return r;
}

enum {
	O_HOST = 256,
	O_UPLINK,
	O_POLICY,
	O_MANAGEMENT,
	O_TC,
	O_XDP,
	O_PEERS,
	O_EXTRAS,
	O_WINDOWS,
	O_FRESH,
	O_REPUBLISH,
	O_TRUST,
	O_DOWN,
	O_OPEN,
	O_DRILL,
	O_PINS,
	O_TUNNEL,
	O_PACE,
	O_TRY,
	O_RECORD,
	O_LATENCY,
	O_JSON,
	O_HELP,
	O_VERSION
};

static const struct option options[] = {
	{ "host", 1, NULL, O_HOST },
	{ "uplink", 1, NULL, O_UPLINK },
	{ "policy", 1, NULL, O_POLICY },
	{ "management", 1, NULL, O_MANAGEMENT },
	{ "tc", 1, NULL, O_TC },
	{ "xdp", 1, NULL, O_XDP },
	{ "max-peers", 1, NULL, O_PEERS },
	{ "max-extras", 1, NULL, O_EXTRAS },
	{ "max-windows", 1, NULL, O_WINDOWS },
	{ "fresh-volume", 0, NULL, O_FRESH },
	{ "republish", 0, NULL, O_REPUBLISH },
	{ "trust-clock", 0, NULL, O_TRUST },
	{ "keep-down", 0, NULL, O_DOWN },
	{ "open", 0, NULL, O_OPEN },
	{ "drill", 0, NULL, O_DRILL },
	{ "pin-dir", 1, NULL, O_PINS },
	{ "tunnel", 1, NULL, O_TUNNEL },
	{ "pace", 0, NULL, O_PACE },
	{ "try-hardware", 0, NULL, O_TRY },
	{ "record", 1, NULL, O_RECORD },
	{ "latency", 1, NULL, O_LATENCY },
	{ "json", 0, NULL, O_JSON },
	{ "help", 0, NULL, O_HELP },
	{ "version", 0, NULL, O_VERSION },
	{ 0 },
};

static int add(const char **list, unsigned *n, const char *what, struct bwl_err *e)
{
	if (*n >= BWL_MAX_PORTS || strlen(optarg) >= IFNAMSIZ)
		return bwl_fail(
			e, EINVAL,
			"--%s %s: must be a device name of 1 to 15 characters, at most %d of them",
			what, optarg, BWL_MAX_PORTS);
	list[(*n)++] = optarg;
	return 0;
}

static int number(uint32_t *ret, const char *what, uint32_t min, uint32_t max, struct bwl_err *e)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(optarg, &end, 10);
	if (errno || *end || end == optarg || optarg[0] == '-' || v < min || v > max)
		return bwl_fail(e, EINVAL, "--%s %s: must be a number from %u to %u", what, optarg,
				min, max);
	*ret = (uint32_t)v;
	return 0;
}

static int word(const char *what, const char *const *words, struct bwl_err *e)
{
	char all[96] = "";
	int i;

	for (i = 0; words[i]; i++) {
		if (!strcmp(words[i], optarg))
			return i;
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "",
			 words[i]);
	}
	return bwl_fail(e, EINVAL, "--%s %s: must be one of %s", what, optarg, all);
}

static int option(struct bwl_attach *a, int opt, struct bwl_err *e)
{
	static const char *const tc[] = { "auto", "tcx", "clsact", NULL };
	static const char *const xdp[] = { "auto", "native", "generic", "libxdp", "none", NULL };
	static const char *const on_off[] = { "off", "on", NULL };
	int r = 0;

	switch (opt) {
	case O_HOST:
		return add(a->host, &a->nhost, "host", e);
	case O_UPLINK:
		return add(a->uplink, &a->nuplink, "uplink", e);
	case O_MANAGEMENT:
		return add(a->management, &a->nmanagement, "management", e);
	case O_POLICY:
		a->policy = optarg;
		return 0;
	case O_TUNNEL:
		if (!*optarg || strlen(optarg) >= IFNAMSIZ)
			return bwl_fail(e, EINVAL,
					"--tunnel %s: must be a device name of 1 to 15 characters",
					optarg);
		a->tunnel = optarg;
		return 0;
	case O_PEERS:
		return number(&a->make.dims.max_peers, "max-peers", 16, 1U << 22, e);
	case O_EXTRAS:
		return number(&a->make.dims.max_extras, "max-extras", 256, 1U << 22, e);
	case O_WINDOWS:
		return number(&a->make.dims.max_windows, "max-windows", 16, 1U << 22, e);
	case O_FRESH:
		a->make.fresh_volume = true;
		return 0;
	case O_PACE:
		a->pace = true;
		return 0;
	case O_TRY:
		a->try_hardware = true;
		return 0;
	case O_REPUBLISH:
		a->republish = true;
		return 0;
	case O_TRUST:
		a->trust_clock = true;
		return 0;
	case O_DOWN:
		a->keep_down = true;
		return 0;
	case O_OPEN:
		a->open = true;
		return 0;
	case O_DRILL:
		a->make.drill = true;
		return 0;
	case O_PINS:
		a->dir = optarg;
		return 0;
	case O_JSON:
		a->json = true;
		return 0;
	case O_TC:
		r = word("tc", tc, e);
		a->tc = (enum bwl_tc_way)r;
		break;
	case O_XDP:
		r = word("xdp", xdp, e);
		a->xdp = (enum bwl_xdp_way)r;
		break;
	case O_RECORD:
		r = word("record", on_off, e);
		a->record = r ? BWL_RECORD_ON : BWL_RECORD_OFF;
		break;
	case O_LATENCY:
		r = word("latency", on_off, e);
		a->latency = r ? BWL_LATENCY_ON : BWL_LATENCY_OFF;
		break;
	default:
		return -EINVAL;
	}
	return r < 0 ? r : 0;
}

static int run(int argc, char **argv)
{
	struct bwl_attach a = { .make.dims = BWL_DEFAULT_DIMS };
	const struct load_command *c = NULL;
	struct bwl_err e = { 0 };
	bool help = false;
	int opt, r = 0;
	size_t i;

	bwl_audit_tool();
	bwl_enrolled_gate(NULL);
	bwl_load_init();
	tpm_quiet();
	opterr = 0;
	for (i = 1; i < (size_t)argc; i++) /* so that errors about other options are JSON, too */
		a.json |= !strcmp(argv[i], "--json");
	while (!r && (opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt == O_HELP || opt == 'h') {
			help = true;
			continue;
		}
		if (opt == O_VERSION) {
			puts("bwlimit-load " BWL_VERSION);
			return 0;
		}
		r = opt == '?'
			    ? bwl_fail(&e, EINVAL,
				       "%s: unknown option, or a value is missing or not expected",
				       argv[optind - 1])
			    : option(&a, opt, &e);
	}
	if (!r && optind < argc && !strcmp(argv[optind], "help")) {
		help = true;
		optind++;
	}
	if (!r && help && optind == argc) {
		load_help(commands, NULL);
		return 0;
	}
	for (i = 0; !r && optind < argc && commands[i].name; i++)
		if (!strcmp(commands[i].name, argv[optind]))
			c = &commands[i];
	if (!r && (!c || optind + 1 != argc)) {
		if (optind >= argc)
			bwl_fail(&e, EINVAL, "no command was given");
		else if (!c)
			bwl_fail(&e, EINVAL, "unknown command %s", argv[optind]);
		else
			bwl_fail(&e, EINVAL, "%s takes no arguments: %s", c->name,
				 argv[optind + 1]);
		r = -EINVAL;
	}
	if (r) {
		if (!*e.hint)
			bwl_hint(&e, "bwlimit-load --help");
		bwl_err_print(&e, "bwlimit-load", a.json);
		return 2;
	}
	if (help) {
		load_help(commands, c);
		return 0;
	}
	r = run_recorded(c, &a, argc, argv, &e);
	if (r < 0)
		bwl_err_print(&e, "bwlimit-load", a.json);
	return r ? 1 : 0;
}

int main(int argc, char **argv)
{
	bwl_output_begin("bwlimit-load");
	return bwl_output_end(run(argc, argv));
}
