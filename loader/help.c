// SPDX-License-Identifier: GPL-2.0-or-later
/* See help.h. */
#include <stdio.h>
#include <string.h>
#include <bwl/cleanup.h>
#include <bwl/err.h>
#include <bwl/help.h>
#include <bwl/pins.h>
#include "help.h"
#include "tunnel.h"
#include "tpm/tpm.h"

#define PROGRAM "bwlimit-load"

/* of: the commands that have it; NULL: all. */
static const struct {
	const char *of, *text;
} options[] = {
	{ .of = "attach detach down guard probe",
	  .text = "--host DEV            host port (repeatable)" },
	{ .of = "attach down guard probe", .text = "--uplink DEV          uplink (repeatable)" },
	{ .of = "attach down guard",
	  .text = "--policy FILE         take the ports from this policy; attach also applies it if none is in force. Without it, and without ports: the policy that bwlimitd accepted last; if it never did, $BWLIMIT_POLICY (/etc/bwlimit/policy.yaml)" },
	{ .of = "attach",
	  .text = "--tunnel DEV          the device of the encrypted peers (" BWL_TUNNEL_DEV
		  "; made if the policy has such peers, or if it is named here)" },
	{ .of = "attach upgrade verify up down guard",
	  .text = "--management DEV      a device by which the DPU itself is reached: attach gives it a gate and keeps it reachable; verify, down and guard leave it alone" },
	{ .of = "attach upgrade",
	  .text = "--tc auto|tcx|clsact  default auto: tcx if the kernel has it" },
	{ .of = "attach upgrade",
	  .text = "--xdp auto|native|generic|libxdp|none  default auto: native, else generic. libxdp: other XDP programs can share the port (weaker: bwlimit has no link of its own)" },
	{ .of = "attach",
	  .text = "--max-peers N --max-extras N --max-windows N  size of the tables when they are created (65536, 16384, 16384)" },
	{ .of = "attach",
	  .text = "--republish           apply the policy even if one is in force" },
	{ .of = "attach",
	  .text = "--trust-clock         trust the wall clock for `until:` although it is not synchronised" },
	{ .of = "attach",
	  .text = "--fresh-volume        new maps: volumes start unspent although past use is unknown (logged)" },
	{ .of = "attach upgrade",
	  .text = "--record on|off       record every flow of every peer, for bwlimitd to write to disk; default: unchanged, at first off" },
	{ .of = "attach upgrade",
	  .text = "--latency on|off      measure how long packets are delayed, for bwlimit-ctl latency; default: unchanged, at first off" },
	{ .of = "attach",
	  .text = "--pace                put fq on the uplinks even if the policy has no peer of mode shape" },
	{ .of = "attach",
	  .text = "--keep-down           leave host ports down after attach; after the first attach nothing passes until `up`" },
	{ .of = "detach",
	  .text = "--open                bring host ports up without any limit (logged)" },
	{ .of = "probe",
	  .text = "--try-hardware        also try an SA, a policy, a meter and a rule in the card, then remove them; refused while programs are attached or a device of the card is up" },
	{ .of = "attach",
	  .text = "--drill               mark the maps as made by a test; verify reports it" },
	{ .of = NULL, .text = "--pin-dir DIR         default $BWLIMIT_PIN_DIR or " BWL_PIN_DIR },
	{ .of = NULL, .text = "--json                JSON output, errors included" },
	{ .of = NULL,
	  .text = "--help                also after a command; `help COMMAND` is the same" },
	{ .of = NULL, .text = "--version" },
};

static const char environment[] =
	"\n"
	"environment:\n"
	"  BWLIMIT_TPM=none      attach does not ask a TPM whether the journal of closures is an old copy\n"
	"  BWLIMIT_TPM=required  it opens nothing until the TPM or bwlimitd has answered\n"
	"  BWLIMIT_TPM_TCTI      where the TPM is (" TPM_TCTI ")\n";

static const char *const examples[] = {
	"attach --management oob_net0",
	"attach --policy tray-7.yaml --management oob_net0",
	"attach --host pf0hpf --uplink p0 --keep-down",
	"verify --management oob_net0",
	"up --management oob_net0",
	"upgrade && bwlimit-load status",
	"status --json",
	"down --management oob_net0",
	"guard --management oob_net0",
	"await",
	"probe --host pf0hpf --uplink p0 --json",
	"probe --host pf0hpf --uplink p0 --try-hardware",
	"detach --open",
};

/* Is it one of the words? Ends of words are spaces. */
static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (; words; words = strchr(words, ' ')) {
		words += *words == ' ';
		if (!strncmp(words, word, len) && (!words[len] || words[len] == ' '))
			return true;
	}
	return false;
}

/* Names the commands that have it in front of the explanation, which follows two spaces or more. */
static void put_option(const char *of, const char *text, FILE *f)
{
	const char *about = strstr(text, "  ");

	about += strspn(about, " ");
	fprintf(f, "  %.*s", (int)(about - text), text);
	for (; *of; of++) {
		if (*of == ' ')
			putc(',', f);
		putc(*of, f);
	}
	fprintf(f, ": %s\n", about);
}

static void put(const struct load_command *all, const struct load_command *only, FILE *f)
{
	fprintf(f, "usage: " PROGRAM " %s [OPTIONS]\n\n", only ? only->name : "COMMAND");
	if (only)
		fprintf(f, "%s: %s.\n", only->name, only->about);
	else
		fputs("commands:\n", f);
	for (const struct load_command *c = all; !only && c->name; c++)
		fprintf(f, "  %-8s  %s\n", c->name, c->about);
	fputs("\noptions:\n", f);
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!only && options[i].of)
			put_option(options[i].of, options[i].text, f);
		else if (!options[i].of || has_word(options[i].of, only->name))
			fprintf(f, "  %s\n", options[i].text);
	if (!only || !strcmp(only->name, "attach"))
		fputs(environment, f);
	fputs("\nexamples:\n", f);
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++)
		if (!only || has_word(examples[i], only->name))
			fprintf(f, "  " PROGRAM " %s\n", examples[i]);
}

void load_help(const struct load_command *all, const struct load_command *command)
{
	BWL_AUTO_FREE char *text = NULL;
	size_t len;
	FILE *f = bwl_must(open_memstream(&text, &len));

	put(all, command, f);
	fclose(f);
	bwl_help(text, stdout);
}
