// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as what a tray says of itself, and as what controllers keep in the store. What is taken
 * is in its domain, and is written again to what says the same.
 */
#include "fuzz.h"
#include "cosign.h"
#include "rollout.h"

static void status(const uint8_t *data, size_t size)
{
	struct rollout r = { .name = "base", .to_version = 5, .percent = 100 };
	struct rollout_seat seat = { .tray = "t" };
	const struct rollout_rules rules = ROLLOUT_RULES;
	struct cosigned c = { 0 };
	struct tray_status s;
	struct bwl_err e = { 0 };

	if (status_parse("t", data, size, &s, &e))
		return;
	must(s.nrefused <= STATUS_REFUSED_MOST && s.nproof <= STATUS_PROOF_MOST, "bounded");
	must(memchr(s.origin, '\0', sizeof(s.origin)) != NULL, "an origin is text");
	memcpy(r.to, s.policy, sizeof(r.to));
	for (unsigned i = 1; i < 4; i++)
		rollout_hear(&seat, &r, &s, i);
	must(rollout_judge(&r, &rules, &seat, 1, 0, 4).judged == 1, "it is judged");
	must(cosign_judge(&c, &s) != COSIGN_ALARM, "the first of a log is no fork");
	must(cosign_judge(&c, &s) != COSIGN_SIGN || !s.has_checkpoint || s.nproof,
	     "and is signed once");
}

static void state(const uint8_t *data, size_t size)
{
	struct cosigned c, d;
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
	if (!cosigned_parse(data, size, &c, &e)) {
		text = cosigned_text(&c);
		must(!cosigned_parse(text, strlen(text), &d, &e), "it reads when written again");
		must(!strcmp(d.forked, c.forked), "to the same");
		free(text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	status(data, size);
	state(data, size);
	return 0;
}
