/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A policy that goes out in stages: when the next one begins, and when it all goes back. Pure: the
 * clock, the trays' statuses and the rules are arguments (tests/unit/controller). Decisions are
 * kept in the store (fleet/status/rollout_state.h), so that the next leader continues from them.
 *
 * A new leader starts the soak of a stage anew, and waits for every tray's status again: it trusts
 * no other machine's clock, and loses nothing but time.
 */
#ifndef BWL_CONTROLLER_ROLLOUT_H
#define BWL_CONTROLLER_ROLLOUT_H

#include "maps/words.h"
#include "fleet/status/rollout_state.h"
#include "fleet/status/status.h"

#define ROLLOUT_PLACES 100

struct rollout_rules {
	/* Percent of the trays, each more than the previous one; the last is 100. */
	unsigned stage[ROLLOUT_STAGES_MAX], nstages;
	uint64_t soak_ns; /* minimum duration of a stage */
	/*
	 * a tray without a status for this long is lost; also the time limit for taking a policy,
	 * and for having its SAs up again
	 */
	uint64_t silent_ns;
	/* percent of the trays of a stage that may be unwell; if less than one tray: none */
	unsigned tolerate;
	unsigned drops_more; /* of 100 packets, this many more drops than before are too many */
};
#define ROLLOUT_RULES                                                                              \
	{                                                                                          \
		.stage = { 10, 25, 50, 100 }, .nstages = 4, .soak_ns = 600 * 1000000000ULL,        \
		.silent_ns = 90 * 1000000000ULL, .drops_more = 5,                                  \
	}

/* A tray's place: the rollout reaches it if percent is above that. */
unsigned rollout_place(const char *salt, const char *tray);

/* A tray's state in a rollout. */
struct rollout_seat {
	char tray[BWL_DOC_NAME_MAX];
	unsigned place;
	int64_t mod; /* of its newest accepted status, in the store */
	/* Before the rollout began: */
	bool absent;         /* it was already lost: nobody waits for it */
	bool late;           /* it came later: nobody waits for it until it has taken the policy */
	uint32_t before_ppm; /* dropped packets, per million */
	uint64_t before_sas_down;
	/* Since then: */
	uint64_t heard_ns;        /* its newest status; before the first: when observation began */
	unsigned heard;           /* statuses with `to` in force */
	uint64_t taken_ns;        /* when the first of them was heard */
	uint64_t passed, dropped; /* what that said */
	uint32_t now_ppm;         /* since then */
	uint64_t packets;         /* number of packets behind now_ppm */
	uint64_t sas_down;
	bool refuses;
};
/* Begins observation: also after each stage begins, and by each new leader. */
void rollout_seat_begin(struct rollout_seat *s, uint64_t now_ns);
void rollout_hear(struct rollout_seat *s, const struct rollout *r, const struct tray_status *st,
		  uint64_t now_ns);
/* Dropped packets, per million; 0 if there were none. */
uint32_t rollout_ppm(uint64_t passed, uint64_t dropped);

enum rollout_word { ROLLOUT_WAIT, ROLLOUT_NEXT, ROLLOUT_FINISHED, ROLLOUT_GO_BACK };
struct rollout_verdict {
	enum rollout_word word;
	unsigned percent; /* for NEXT */
	/* trays of this stage that are judged; those that are bad or awaited */
	unsigned judged, unwell;
	unsigned bad;
	char why[ROLLOUT_WHY]; /* for GO_BACK, and for WAIT: the trays awaited */
	/* The first of the unwell trays. */
	unsigned nwaits;
	char waits[ROLLOUT_WAITS][BWL_DOC_NAME_MAX];
};
/* since_ns: when this stage began, or this leader's observation. */
struct rollout_verdict rollout_judge(const struct rollout *r, const struct rollout_rules *rules,
				     const struct rollout_seat *seat, size_t n, uint64_t since_ns,
				     uint64_t now_ns);
/* The first stage above percent; 0: none. */
unsigned rollout_next(const struct rollout_rules *rules, unsigned percent);

#endif
