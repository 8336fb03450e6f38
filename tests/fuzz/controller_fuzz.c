// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a tray's status, and as what controllers keep in the store. What is accepted is
 * within its domain, and is written again with the same meaning.
 */
#include "fuzz.h"
#include "cosign.h"
#include "rollout.h"

static void status(const uint8_t *data, size_t size)
{
	struct rollout r = { .name = "base", .to_version = 5, .percent = 100 };
	struct rollout_seat seat = { .tray = "t" };
	const struct rollout_rules rules = ROLLOUT_RULES;
	struct bwl_err why = { 0 };
	struct cosigned c = { 0 };
	struct status_taken taken;
	struct tray_status s;
	struct bwl_err e = { 0 };

	if (status_parse("t", data, size, &s, &taken, &e)) {
		must(*e.text && !taken.n && !s.nrefused, "why, and nothing of it");
		return;
	}
	must(taken.n <= STATUS_TAKEN_MAX, "bounded");
	must(s.nrefused <= STATUS_REFUSED_MAX && s.nproof <= STATUS_PROOF_MAX, "bounded");
	must(memchr(s.checkpoint.origin, '\0', sizeof(s.checkpoint.origin)) != NULL,
	     "an origin is text");
	memcpy(r.to, s.policy, sizeof(r.to));
	for (unsigned i = 1; i < 4; i++)
		rollout_hear(&seat, &r, &s, i);
	must(rollout_judge(&r, &rules, &seat, 1, 0, 4).judged == 1, "it is judged");
	must(cosign_judge(&c, &s, 1, &why) != COSIGN_ALARM, "the first of a log is no fork");
	must(cosign_judge(&c, &s, 1, &why) != COSIGN_SIGN, "and is signed once");
}

static void state(const uint8_t *data, size_t size)
{
	struct log_state c, d;
	struct rollout_health h, g;
	struct rollout r, q;
	struct bwl_err e = { 0 };
	char *text;

	if (!rollout_parse(data, size, &r, &e)) {
		text = rollout_text(&r);
		must(!rollout_parse(text, strlen(text), &q, &e), "it reads when written again");
		must(q.phase == r.phase && q.percent == r.percent && !memcmp(q.to, r.to, 32),
		     "to the same rollout");
		free(text);
	}
	if (!rollout_health_parse(data, size, &h, &e)) {
		text = rollout_health_text(&h);
		must(!rollout_health_parse(text, strlen(text), &g, &e),
		     "it reads when written again");
		must(!memcmp(&g, &h, sizeof(g)), "to the same");
		free(text);
	}
	if (!log_state_parse(data, size, &c, &e)) {
		text = log_state_text(&c);
		must(!log_state_parse(text, strlen(text), &d, &e), "it reads when written again");
		must(!memcmp(&d, &c, sizeof(d)), "to the same");
		free(text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	status(data, size);
	state(data, size);
	return 0;
}
