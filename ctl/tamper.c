// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `tamper`: called by a script or a BMC. bwlimitd performs the policy's action for `command`. If it
 * does not answer, this tool does: the desired policy's action, or if that cannot be read, it
 * revokes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "bwl/desired.h"
#include "bwl/text.h"
#include "ctl.h"
#include "ipsec/expel.h"
#include "journal/journal.h"

#define ANSWER_S 1
#define CHARON_NS 2000000000ULL

/* The action of the desired policy; revoking where it cannot be read. */
static enum bwl_action action_of(const char *file, const char *peer)
{
	enum bwl_action a = BWL_ACTION_REVOKE;
	struct bwl_policy *pol = NULL;
	struct bwl_err e = { 0 };

	if (bwl_desired_load(file, &pol, &e))
		bwl_warn("%s: %s: revoking", bwl_desired_name(file), e.text);
	else
		a = pol->tamper[BWL_TAMPER_command];
	bwl_policy_free(pol);
	return a == BWL_ACTION_REVOKE_PEER && !peer ? BWL_ACTION_REVOKE : a;
}

/* What bwlimitd reports that it did. */
static void show_answer(const struct ctl *c, const json_t *answer, const char *action)
{
	const json_t *peers = json_object_get(answer, "peer_names");
	const char *by = json_string_value(json_object_get(answer, "by"));

	if (c->json) {
		ctl_print_answer("tamper", answer);
		return;
	}
	bwl_put(stdout, "%s: %s", by ? by : "bwlimitd", action);
	for (size_t i = 0; i < json_array_size(peers); i++)
		bwl_put(stdout, "%s %s", i ? "," : ":",
			json_string_value(json_array_get(peers, i)));
	bwl_put(stdout, "%s\n", json_is_true(json_object_get(answer, "all")) ? ": every peer" : "");
}

/* What was done here; revoking prints its own report. */
static void show(const struct ctl *c, enum bwl_action did)
{
	const char *action = bwl_action_name(did);

	json_t *o = json_pack("{s:s, s:s, s:b, s:[]}", "action", action, "by", CTL_PROGRAM, "all",
			      did == BWL_ACTION_CLAMP, "peer_names");

	if (c->json)
		ctl_print_answer("tamper", o);
	else
		bwl_put(stdout, "%s: %s\n", CTL_PROGRAM, action);
	json_decref(o);
}

static void destroy_keys(void)
{
	struct bwl_err e = { 0 };
	unsigned files, unloaded;
	char why[256];

	if (bwl_ipsec_destroy(NULL, NULL, CHARON_NS, &files, &unloaded, why, &e))
		bwl_warn("%s", e.text);
	bwl_audit(
		"tamper: this tray's own IKE keys are destroyed: %u file%s, %u that charon had%s%s",
		files, BWL_S(files), unloaded, *why ? "; charon: " : "", why);
}

/* The agent is dead, or hangs. */
static int act(struct ctl *c, enum bwl_action a, char *peer)
{
	char all[] = "--all", *argv[] = { a == BWL_ACTION_REVOKE_PEER ? peer : all, NULL };
	struct bwl_pins *pins;
	int r;

	bwl_warn("bwlimitd does not answer: acting without it");
	if (a == BWL_ACTION_LOG) {
		show(c, a);
		return 0;
	}
	if (a == BWL_ACTION_CLAMP) {
		bool done;

		r = bwl_pins_open(c->pin_dir, true, &pins, &c->err);
		if (r)
			return r;
		done = bwl_clamp(pins);
		if (done)
			r = bwl_journal_closed(pins, &c->err);
		if (done && !r)
			r = bwl_journal_again(bwl_journal_dir(pins->ctl->drill), BWL_J_CLAMP, NULL,
					      (uint64_t)time(NULL), &c->err);
		bwl_pins_close(pins);
		if (done) {
			show(c, a);
			return r;
		}
	}
	r = ctl_revoke(c, 1, argv);
	if (a == BWL_ACTION_DESTROY) /* whatever came of that */
		destroy_keys();
	return r;
}

static int has_peer(struct ctl *c, const char *name)
{
	struct bwl_pins *pins;
	bool found = false;
	int r = bwl_pins_open(c->pin_dir, false, &pins, &c->err);

	if (r)
		return r;
	for (uint32_t id = 1; *name && !found && id < pins->schema.max_peers; id++)
		found = !strncmp(pins->name[id].name, name, BWL_NAME_LEN);
	bwl_pins_close(pins);
	return found ? 0
		     : bwl_fail(&c->err, ENOENT, "no such peer: '%.64s'; nothing was done", name);
}

/* Invalid UTF-8 must not prevent closing. */
static json_t *pack(char *why)
{
	bwl_text_plain(why, BWL_LINE);
	return json_pack("{s:s, s:s}", "verb", "tamper", "why", why);
}

/*
 * bwlimitd closed the maps, and writes the journal a moment later: done is reported when it is
 * written.
 */
static int journalled(struct ctl *c, const char *did)
{
	struct bwl_pins *pins;
	int r;

	if (!strcmp(did, bwl_action_name(BWL_ACTION_LOG)))
		return 0;
	r = bwl_pins_open(c->pin_dir, true, &pins, &c->err);
	if (r)
		return r;
	r = bwl_journal_closed(pins, &c->err);
	bwl_pins_close(pins);
	return r;
}

static int tamper(struct ctl *c, int argc, char **argv)
{
	const char *peer = NULL, *file = NULL, *by = "bwlimitd", *did;
	const struct ctl_opt opts[] = { { "--peer", NULL, &peer },
					{ "--policy", NULL, &file },
					{ NULL, NULL, NULL } };
	json_t *what, *answer;
	char why[201];
	int r = ctl_opts(c, &argc, argv, opts);

	if (r)
		return r;
	if (!argc)
		return ctl_usage(c, "the reason is missing: the log has nothing else");
	if (argc > 1 && !strcmp(argv[0], "reason")) /* as everywhere */
		argc--, argv++;
	ctl_join(argc, argv, why, sizeof(why));
	r = peer ? has_peer(c, peer) : 0;
	if (r)
		return r;
	what = pack(why);
	if (peer)
		json_object_set_new(what, "peer", json_string(peer));
	answer = ctl_ask_agent(c, what, ANSWER_S);
	did = json_string_value(json_object_get(answer, "action"));
	if (did) {
		r = journalled(c, did);
		show_answer(c, answer, did);
	} else {
		enum bwl_action a = action_of(file, peer);

		by = CTL_PROGRAM;
		did = bwl_action_name(a);
		r = act(c, a, (char *)peer);
	}
	bwl_audit("tamper%s%s: %s; action %s of %s", peer ? " --peer " : "", peer ? peer : "", why,
		  did, by);
	json_decref(answer);
	json_decref(what);
	return r;
}

const struct ctl_cmd ctl_tamper_cmds[] = {
	{ "tamper", NULL, "[--peer NAME] [--policy FILE] [reason] TEXT…",
	  "Report tampering: for scripts and a BMC",
	  "bwlimitd does what the policy says (tamper: { command: … }; log by default), and logs an alarm.\n"
	  "If it does not answer within a second, this command acts by the policy that bwlimitd accepted\n"
	  "last; if that cannot be read, it revokes. The audit log gets a record in any case.\n\n"
	  "  --peer NAME     the peer concerned, for command: revoke-peer; without it everything is revoked\n"
	  "  --policy FILE   read this policy instead, only if bwlimitd does not answer\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl tamper BMC: the lid of the tray was opened\n"
	  "  bwlimit-ctl tamper --peer log-collector its disk was pulled\n",
	  tamper },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
