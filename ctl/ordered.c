// SPDX-License-Identifier: GPL-2.0-or-later
/* See ordered.h. A command that is not in the list is root's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ordered.h"

#define OPTIONS 8

static const struct entry {
	const char *noun, *verb;
	enum ctl_right right;
	bool file;                    /* its first word is a file */
	const char *options[OPTIONS]; /* those that name no path; NULL ends them */
} list[] = {
	{ "peer", "list", CTL_READ, false, { NULL } },
	{ "peer", "show", CTL_READ, false, { NULL } },
	{ "grant", "list", CTL_READ, false, { NULL } },
	{ "zone", "list", CTL_READ, false, { NULL } },
	{ "policy", "show", CTL_READ, false, { NULL } },
	{ "policy", "check", CTL_READ, true, { NULL } },
	{ "policy", "diff", CTL_READ, true, { NULL } },
	{ "status", NULL, CTL_READ, false, { NULL } },
	{ "stats", NULL, CTL_MODEL, false, { "--interval", NULL } },
	{ "reasons", NULL, CTL_MODEL, false, { "--port", "--all", NULL } },
	{ "metrics", NULL, CTL_READ, false, { "--peers", NULL } },
	{ "top",
	  NULL,
	  CTL_MODEL,
	  false,
	  { "--once", "--interval", "--most", "--sort", "--filter", NULL } },
	{ "check",
	  NULL,
	  CTL_READ,
	  false,
	  { "--volume-warning", "--volume-critical", "--limit", "--limit-for", "--ends-within",
	    "--verify-age", "--history-age", NULL } },
	{ "usage", NULL, CTL_MODEL, false, { "--most", NULL } },
	{ "history",
	  NULL,
	  CTL_MODEL,
	  false,
	  { "--class", "--since", "--until", "--step", "--all", NULL } },
	{ "flows", NULL, CTL_READ, false, { "--peer", "--port", "--since", "--most", NULL } },
	{ "flows", "intervals", CTL_READ, false, { "--peer", "--most", NULL } },
	{ "latency", "show", CTL_READ, false, { NULL } },
	{ "latency", "on", CTL_OPERATE, false, { NULL } },
	{ "latency", "off", CTL_OPERATE, false, { "--all", NULL } },
	{ "explain", NULL, CTL_READ, false, { "--port", "--size", NULL } },
	{ "exfil",
	  NULL,
	  CTL_MODEL,
	  false,
	  { "--size", "--compression", "--trays", "--curve", NULL } },
	{ "lease", "show", CTL_READ, false, { NULL } },
	{ "journal", "show", CTL_READ, false, { NULL } },
	{ "peer", "add", CTL_OPERATE, false, { NULL } },
	{ "peer", "set", CTL_OPERATE, false, { NULL } },
	{ "peer", "del", CTL_OPERATE, false, { NULL } },
	{ "grant", NULL, CTL_OPERATE, false, { "--all", "--yes", NULL } },
	{ "revoke", NULL, CTL_OPERATE, false, { "--all", NULL } },
	{ "zone", "set", CTL_OPERATE, false, { NULL } },
	{ "policy",
	  "apply",
	  CTL_OPERATE,
	  true,
	  { "--confirm", "--yes", "--fresh-volume", "--trust-clock", NULL } },
	{ "policy", "confirm", CTL_OPERATE, false, { NULL } },
	{ "policy", "rollback", CTL_OPERATE, false, { NULL } },
	{ "heartbeat", NULL, CTL_OPERATE, false, { "--lift", NULL } },
	{ "stop", NULL, CTL_OPERATE, false, { "--off", NULL } },
	{ "lease", "renew", CTL_OPERATE, false, { "--for", NULL } },
	{ "audit", "ack", CTL_OPERATE, false, { NULL } },
	{ "tamper", NULL, CTL_OPERATE, false, { "--peer", NULL } },
};

static const struct entry *entry_of(const struct ctl_cmd *cmd)
{
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (!strcmp(list[i].noun, cmd->noun) &&
		    !strcmp(list[i].verb ? list[i].verb : "", cmd->verb ? cmd->verb : ""))
			return &list[i];
	return NULL;
}

enum ctl_right ctl_right_of(const struct ctl_cmd *cmd)
{
	const struct entry *x = entry_of(cmd);

	return x ? x->right : CTL_ROOT;
}

/* "--port=x" is --port */
static bool is_option(const char *word, const char *option)
{
	size_t n = strlen(option);

	return !strncmp(word, option, n) && (!word[n] || word[n] == '=');
}

bool ctl_reads_as_root(const struct ctl_cmd *cmd, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		if (is_option(argv[i], "--state-dir")) /* his own copy, maybe */
			return false;
	return !cmd->verb && (!strcmp(cmd->noun, "history") || !strcmp(cmd->noun, "check"));
}

int ctl_file_word(const struct ctl_cmd *cmd, int argc, char **argv)
{
	const struct entry *x = entry_of(cmd);

	for (int i = 0; x && x->file && i < argc; i++) {
		if (!strcmp(argv[i], "--confirm"))
			i++;
		else if (strncmp(argv[i], "--", 2))
			return i;
	}
	return -1;
}

bool ctl_is_ordered(void)
{
	return getenv("BWLIMIT_ORDERED_BY");
}

int ctl_ordered_may(struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv)
{
	const char *as = getenv("BWLIMIT_ORDERED_AS"), *stream = getenv("BWLIMIT_ORDERED_STREAM");
	const struct entry *x = entry_of(cmd);
	int file = ctl_file_word(cmd, argc, argv);

	if (!x || !as || (x->right == CTL_OPERATE && strcmp(as, "operate")) ||
	    (x->right != CTL_MODEL && !strcmp(as, "model"))) {
		bwl_fail(&c->err, EPERM, "permission denied: %s%s%s", cmd->noun,
			 cmd->verb ? " " : "", cmd->verb ? cmd->verb : "");
		return bwl_hint(&c->err, x ? "as root, or a member of group bwlimit" : "as root");
	}
	if (c->pin_dir)
		return bwl_fail(&c->err, EPERM, "--pin-dir is for root only");
	for (int i = 0; i < argc; i++) {
		bool known = strncmp(argv[i], "--", 2);

		for (size_t k = 0; k < OPTIONS && x->options[k]; k++)
			known |= is_option(argv[i], x->options[k]);
		if (!known)
			return bwl_fail(&c->err, EPERM, "%.64s is for root only", argv[i]);
	}
	if (stream && *stream && strcmp(cmd->noun, "top"))
		return bwl_fail(&c->err, EPERM, "only top can run as a stream");
	if ((!stream || !*stream) && !strcmp(cmd->noun, "top") &&
	    (!argc || strcmp(argv[0], "--once")))
		return bwl_fail(&c->err, EPERM,
				"use top --once: bwlimitd runs no command that does not end");
	if (x->file && (file < 0 || strcmp(argv[file], "-")))
		return bwl_fail(&c->err, EPERM, "a file must come on standard input: -");
	/* root would read any other file for the user */
	for (int i = 0; x->file && i < argc; i++)
		if (i != file && strncmp(argv[i], "--", 2) &&
		    (!i || strcmp(argv[i - 1], "--confirm")))
			return bwl_fail(&c->err, EPERM, "only one file: -");
	return 0;
}
