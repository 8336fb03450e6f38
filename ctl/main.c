// SPDX-License-Identifier: GPL-2.0-or-later
/* bwlimit-ctl: the table of commands, the global options, and help at every level. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "audit/tool_log.h"
#include "bwl/cleanup.h"
#include "bwl/help.h"
#include "bwl/output.h"
#include "enrolled/gate.h"
#include "fleet/cmds.h"
#include "ordered.h"

static const struct ctl_cmd *const local_tables[] = {
	ctl_peer_cmds,        ctl_grant_cmds,       ctl_revoke_cmds,    ctl_zone_cmds,
	ctl_policy_cmds,      ctl_stats_cmds,       ctl_top_cmds,       ctl_watch_cmds,
	ctl_explain_cmds,     ctl_exfil_cmds,       ctl_heartbeat_cmds, ctl_drill_cmds,
	ctl_ipsec_cmds,       ctl_ipsec_track_cmds, ctl_pki_cmds,       ctl_usage_cmds,
	ctl_history_cmds,     ctl_flows_cmds,       ctl_tap_cmds,       ctl_audit_cmds,
	ctl_audit_prove_cmds, ctl_audit_tiles_cmds, ctl_audit_ack_cmds, ctl_tamper_cmds,
	ctl_lease_cmds,       ctl_journal_cmds,     ctl_metrics_cmds,   ctl_key_cmds,
	ctl_approve_cmds,     ctl_break_glass_cmds, ctl_enrol_cmds,     ctl_check_cmds,
	ctl_status_cmds,      ctl_evidence_cmds,    ctl_latency_cmds,   ctl_drill_live_cmds,
};
#define NTABLES (sizeof(local_tables) / sizeof(*local_tables))
/* Of --fleet, in their place. */
static const struct ctl_cmd no_cmds[1];
static const struct ctl_cmd *const fleet_tables[NTABLES] = {
	fleet_order_cmds,
	fleet_pending_cmds,
	fleet_ask_cmds,
	fleet_status_cmds,
};
static const struct ctl_cmd *const *tables = local_tables;

#define FOR_EACH_CMD(cmd)                                                                          \
	for (size_t t_ = 0; t_ < NTABLES; t_++)                                                    \
		for (const struct ctl_cmd *cmd = tables[t_] ? tables[t_] : no_cmds; cmd->noun;     \
		     cmd++)

static void print_usage(const struct ctl_cmd *cmd, const char *lead, FILE *f)
{
	fprintf(f, "%s" CTL_PROGRAM " %s%s%s%s%s%s\n", lead,
		tables == fleet_tables ? "--fleet " : "", cmd->noun, cmd->verb ? " " : "",
		cmd->verb ? cmd->verb : "", *cmd->usage ? " " : "", cmd->usage);
}

static void help_cmd(const struct ctl_cmd *cmd, FILE *f)
{
	print_usage(cmd, "Usage: ", f);
	fprintf(f, "\n%s.\n", cmd->about);
	if (cmd->more)
		fprintf(f, "\n%s", cmd->more);
}

static void help_noun(const char *noun, FILE *f)
{
	const struct ctl_cmd *only = NULL;
	unsigned int n = 0;

	FOR_EACH_CMD(cmd)
	{
		if (!strcmp(cmd->noun, noun)) {
			only = only && !only->verb ? only : cmd;
			n++;
		}
	}
	if (n == 1 || !only->verb)
		help_cmd(only, f);
	if (n == 1)
		return;
	fprintf(f, "%s\n", only->verb ? "Usage:" : "\nAlso:");
	FOR_EACH_CMD(cmd)
	{
		if (strcmp(cmd->noun, noun) || !cmd->verb)
			continue;
		print_usage(cmd, "  ", f);
		fprintf(f, "        %s\n", cmd->about);
	}
	fprintf(f, "\n%s %s VERB --help says more.\n", CTL_PROGRAM, noun);
}

static void help_all(FILE *f)
{
	bool fleet = tables == fleet_tables;

	fprintf(f, "Usage: " CTL_PROGRAM " %s [--json] COMMAND …\n\n%s\n\nCommands:\n",
		fleet ? "--fleet" : "[--pin-dir DIR]",
		fleet ? "Reads and closes many trays, through their store and their controller."
		      : "Limits what this tray may send to each destination: peers, grants, policies, counters.");
	FOR_EACH_CMD(cmd)
	{
		char words[32];

		snprintf(words, sizeof(words), "%s%s%s", cmd->noun, cmd->verb ? " " : "",
			 cmd->verb ? cmd->verb : "");
		fprintf(f, "  %-19s %s\n", words, cmd->about);
	}
	fprintf(f,
		"\nOptions:\n"
		"  --json          JSON on standard output, errors included\n"
		"%s  --help          also after any command; `help COMMAND` is the same\n"
		"  --version\n\n"
		"Exit codes: 0 done, 1 failed, 2 wrong usage; 3 published, but not every tray has confirmed it.\n"
		"%s\n"
		"Examples:\n"
		"%s",
		fleet ? ""
		      : "  --fleet         before the command: for many trays, through their store; see --fleet --help\n"
			"  --pin-dir DIR   where the maps are pinned (BWLIMIT_PIN_DIR; " BWL_PIN_DIR
			")\n",
		fleet ? "" : "`check` has those of Nagios.\n",
		fleet ? "  " CTL_PROGRAM " --fleet status --sort dropped --limit 20\n"
			"  " CTL_PROGRAM " --fleet revoke --all --zone external --key alice.pem\n"
			"  " CTL_PROGRAM " --fleet exfil --size 1tb\n"
		      : "  " CTL_PROGRAM " policy apply tray-7.yaml --confirm 60s\n"
			"  " CTL_PROGRAM
			" grant log-collector rate 10mbit volume 1gb for 2h reason ticket 12\n"
			"  " CTL_PROGRAM " explain 10.0.7.2 198.51.100.9 tcp 443\n"
			"  " CTL_PROGRAM " exfil --size 1tb --compression 16 --trays 512\n");
}

/* What is asked about: a command, a noun with verbs, or everything. */
static void help(int argc, char **argv, const struct ctl_cmd *cmd, int used)
{
	BWL_AUTO_FREE char *text = NULL;
	size_t len;
	FILE *f = bwl_must(open_memstream(&text, &len));

	if (!argc)
		help_all(f);
	else if (cmd && (used == 2 || argc > 1))
		help_cmd(cmd, f);
	else
		help_noun(argv[0], f);
	fclose(f);
	bwl_help(text, stdout);
}

/* Takes --json, --pin-dir, --help and --version out of argv, wherever they stand before "--". */
static int global_options(struct ctl *c, int *argc, char **argv, bool *wanted, bool *version)
{
	int out = 0, i;

	for (i = 0; i < *argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--json")) {
			c->json = true;
		} else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			*wanted = true;
		} else if (!strcmp(argv[i], "--version")) {
			*version = true;
		} else if (!out && !strcmp(argv[i],
					   "--fleet")) { /* behind a command it is another option */
			c->fleet = true;
			tables = fleet_tables;
		} else if (!strncmp(argv[i], "--pin-dir=", 10)) {
			c->pin_dir = argv[i] + 10;
		} else if (!strcmp(argv[i], "--pin-dir")) {
			if (++i == *argc)
				return ctl_usage(c, "--pin-dir needs a value");
			c->pin_dir = argv[i];
		} else {
			argv[out++] = argv[i];
		}
	}
	while (i < *argc)
		argv[out++] = argv[i++];
	argv[out] = NULL;
	*argc = out;
	if (c->pin_dir && strlen(c->pin_dir) >= sizeof(((struct bwl_pins *)0)->dir))
		return ctl_usage(c, "--pin-dir is longer than %zu characters",
				 sizeof(((struct bwl_pins *)0)->dir) - 1);
	return 0;
}

/* Finds the command for argv[0] and argv[1]; *ret_used: the number of words it used. */
static const struct ctl_cmd *find(int argc, char **argv, int *ret_used)
{
	FOR_EACH_CMD(cmd)
	{
		if (cmd->verb && argc > 1 && !strcmp(cmd->noun, argv[0]) &&
		    !strcmp(cmd->verb, argv[1])) {
			/* `grant list reason …` is about a peer called "list" */
			if (!strcmp(cmd->noun, "grant") && argc > 2)
				continue;
			*ret_used = 2;
			return cmd;
		}
	}
	FOR_EACH_CMD(cmd)
	{
		if (!cmd->verb && !strcmp(cmd->noun, argv[0])) {
			*ret_used = 1;
			return cmd;
		}
	}
	return NULL;
}

static bool is_noun(const char *word)
{
	FOR_EACH_CMD(cmd)
	if (!strcmp(cmd->noun, word))
		return true;
	return false;
}

static int unknown(struct ctl *c, int argc, char **argv)
{
	const char *words[64], *near;
	bool noun = is_noun(argv[0]);
	char all[160] = "";
	size_t n = 0;

	FOR_EACH_CMD(cmd)
	{
		const char *word = noun ? cmd->verb : cmd->noun;

		if ((noun && strcmp(cmd->noun, argv[0])) || !word || n == 63 ||
		    (n && !strcmp(words[n - 1], word)))
			continue;
		words[n++] = word;
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", n > 1 ? ", " : "",
			 word);
	}
	words[n] = NULL;
	if (noun && argc < 2) {
		ctl_usage(c, "'%.32s' needs a verb: %s", argv[0], all);
	} else {
		near = ctl_nearest(argv[noun], words);
		if (near)
			ctl_usage(c, "unknown command '%.32s%s%.32s'; did you mean '%s%s%s'?",
				  argv[0], noun ? " " : "", noun ? argv[1] : "",
				  noun ? argv[0] : "", noun ? " " : "", near);
		else
			ctl_usage(c, "unknown command '%.32s%s%.32s'%s%s", argv[0], noun ? " " : "",
				  noun ? argv[1] : "", noun ? "; there is: " : "", noun ? all : "");
	}
	bwl_hint(&c->err, "see " CTL_PROGRAM " --help");
	return CTL_USAGE;
}

static void say_usage(const struct ctl_cmd *cmd)
{
	BWL_AUTO_FREE char *text = NULL;
	size_t len;
	FILE *f = bwl_must(open_memstream(&text, &len));

	print_usage(cmd, "usage: ", f);
	fclose(f);
	bwl_help(text, stderr);
}

static int finish(struct ctl *c, const struct ctl_cmd *cmd, int r)
{
	bool plugin = cmd && cmd->run == ctl_check_cmds->run; /* 1 and 2 mean something else */

	bwl_audit_tool_end(r && r < CTL_EXIT ? c->err.text : NULL);
	if (r == 0 || r == CTL_SILENT || r >= CTL_EXIT) {
		if (!r && cmd && ctl_right_of(cmd) == CTL_OPERATE)
			bwl_output_done();
		if (!plugin || !bwl_output_flush(&c->err))
			return r >= CTL_EXIT ? r - CTL_EXIT : r;
	}
	if (plugin)
		return ctl_check_unknown(c);
	bwl_err_print(&c->err, CTL_PROGRAM, c->json);
	if (r != CTL_USAGE)
		return 1;
	if (cmd)
		say_usage(cmd);
	return 2;
}

/* bwlimitd runs many of these: if memory is short only this one ends. */
static void die_first(void)
{
	BWL_AUTO_CLOSE int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1000", 4) < 0)
		return;
}

static int as_ordered(struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv)
{
	int r = ctl_ordered_may(c, cmd, argc, argv);

	die_first();
	return r ? r : cmd->run(c, argc, argv);
}

/* Standard input that is read here may have to be sent as well: it is read once, and kept. */
static void keep_input(const struct ctl_cmd *cmd, int argc, char **argv)
{
	int file = ctl_file_word(cmd, argc, argv), fd = -1;

	if (file >= 0 && !strcmp(argv[file], "-"))
		fd = ctl_input_fd("-", NULL);
	if (fd >= 0) {
		dup2(fd, STDIN_FILENO);
		close(fd);
	}
}

/*
 * Commands that change something are performed by bwlimitd, which records them. Closing ones are
 * first done here, by the maps, as far as permitted: a hanging bwlimitd prevents none. Read-only
 * ones are done here, if the kernel lets users other than root use maps (5.19), and if they need no
 * file of root's.
 */
static int as_user(struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv)
{
	enum ctl_right right = ctl_right_of(cmd);
	int code = -1, r;

	keep_input(cmd, argc, argv);
	if (right == CTL_OPERATE) {
		r = ctl_ask_before(c, cmd, argc, argv);
		if (r)
			return finish(c, cmd, r);
		ctl_close_first(c, cmd, argc, argv);
		code = ctl_forward(c, cmd, argc, argv);
	} else if (ctl_reads_as_root(cmd, argc, argv)) {
		code = ctl_forward(c, cmd, argc, argv);
	}
	if (!code && right == CTL_OPERATE)
		bwl_output_done();
	if (code >= 0)
		return code;
	r = cmd->run(c, argc, argv);
	if (r == -EPERM && (right == CTL_READ || right == CTL_MODEL)) {
		lseek(STDIN_FILENO, 0, SEEK_SET);
		code = ctl_forward(c, cmd, argc, argv);
		if (code >= 0)
			return code;
	}
	return finish(c, cmd, r);
}

static int run(int argc, char **argv)
{
	const struct ctl_cmd *cmd;
	struct ctl c = { 0 };
	bool wanted = false, version = false; /* wanted: help */
	int used = 0, r;

	bwl_audit_tool();
	bwl_enrolled_gate(NULL);
	if (argc < 1)
		return 2;
	argc--;
	argv++;
	r = global_options(&c, &argc, argv, &wanted, &version);
	if (r)
		return finish(&c, NULL, r);
	if (version) {
		puts(CTL_PROGRAM " " BWL_VERSION);
		return finish(&c, NULL, 0);
	}
	if (argc && !strcmp(argv[0], "help")) {
		wanted = true;
		argc--;
		argv++;
	}
	if (!argc) {
		if (wanted) {
			help(argc, argv, NULL, 0);
			return finish(&c, NULL, 0);
		}
		ctl_usage(&c, "no command");
		bwl_hint(&c.err, "see " CTL_PROGRAM " --help");
		return finish(&c, NULL, CTL_USAGE);
	}
	cmd = find(argc, argv, &used);
	if (wanted && (cmd || is_noun(argv[0]))) {
		help(argc, argv, cmd, used);
		return finish(&c, NULL, 0);
	}
	if (!cmd)
		return finish(&c, NULL, unknown(&c, argc, argv));
	argc -= used;
	argv += used;
	if (c.fleet && ctl_is_ordered())
		return finish(
			&c, cmd,
			bwl_fail(
				&c.err, EPERM,
				"--fleet cannot be ordered from bwlimitd: run bwlimit-ctl --fleet yourself"));
	if (c.fleet)
		return finish(&c, cmd, cmd->run(&c, argc, argv));
	if (ctl_is_ordered())
		return finish(&c, cmd, as_ordered(&c, cmd, argc, argv));
	return geteuid() ? as_user(&c, cmd, argc, argv) : finish(&c, cmd, cmd->run(&c, argc, argv));
}

int main(int argc, char **argv)
{
	bwl_output_begin(CTL_PROGRAM);
	return bwl_output_end(run(argc, argv));
}
