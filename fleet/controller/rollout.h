/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A policy that goes out in stages: when the next one begins, and when it all goes back. Pure: the
 * clock, what trays say and the rules are arguments (tests/unit/controller). What is decided lives
 * in the store (fleet/status/rollout_state.h), so that the next leader goes on with it.
 *
 * A new leader counts the soak of a stage anew, and hears every tray again: no clock of another
 * machine is believed, and nothing but time is lost.
 */
#ifndef BWL_CONTROLLER_ROLLOUT_H
#define BWL_CONTROLLER_ROLLOUT_H

#include "maps/words.h"
#include "fleet/status/rollout_state.h"
#include "fleet/status/status.h"

#define ROLLOUT_PLACES 100

struct rollout_rules {
	/* Percent of the trays, each more than the one before; the last is 100. */
	unsigned stage[ROLLOUT_STAGES_MOST], nstages;
	uint64_t soak_ns;    /* how long a stage lasts at least */
	uint64_t silent_ns;  /* a tray that says nothing for so long is lost; nor takes it longer to
				take a policy, or to have its SAs up again */
	unsigned tolerate;   /* percent of the trays of a stage that may be unwell; less than one
				tray: none */
	unsigned drops_more; /* of 100 packets, so many more dropped than before are too many */
};
#define ROLLOUT_RULES                                                                              \
	{                                                                                          \
		.stage = { 10, 25, 50, 100 }, .nstages = 4, .soak_ns = 600 * 1000000000ULL,        \
		.silent_ns = 90 * 1000000000ULL, .drops_more = 5,                                  \
	}

/* Where a tray stands: the rollout reaches it where percent is above that. */
unsigned rollout_place(const char *salt, const char *tray);

/* A tray, as a rollout looks at it. */
struct rollout_seat {
	char tray[BWL_DOC_NAME_MOST];
	unsigned place;
	int64_t mod; /* of its newest status that was taken, in the store */
	/* Before it began: */
	bool absent; /* it was lost already: nobody waits for it */
	bool late;   /* it came after that: nobody waits for it until it has taken the policy */
	uint32_t before_ppm; /* packets dropped, of a million */
	uint64_t before_sas_down;
	/* Since then: */
	uint64_t heard_ns; /* its newest status; before the first: when it began to be looked at */
	unsigned heard;    /* statuses with `to` in force */
	uint64_t taken_ns; /* when the first of them was heard */
	uint64_t passed, dropped; /* what that said */
	uint32_t now_ppm;         /* since then */
	uint64_t packets;         /* that now_ppm is of */
	uint64_t sas_down;
	bool refuses;
};
/* It is looked at from now on: also after each stage begins, and by each leader anew. */
void rollout_seat_begin(struct rollout_seat *s, uint64_t now_ns);
void rollout_hear(struct rollout_seat *s, const struct rollout *r, const struct tray_status *st,
		  uint64_t now_ns);
/* Packets dropped, of a million; 0 of none. */
uint32_t rollout_ppm(uint64_t passed, uint64_t dropped);

enum rollout_word { ROLLOUT_WAIT, ROLLOUT_NEXT, ROLLOUT_FINISHED, ROLLOUT_GO_BACK };
struct rollout_verdict {
	enum rollout_word word;
	unsigned percent;        /* of NEXT */
	unsigned judged, unwell; /* trays of this stage that are looked at; bad ones and waiting */
	unsigned bad;
	char why[ROLLOUT_WHY]; /* of GO_BACK, and of WAIT: who is waited for */
	/* Those that are unwell, the first of them. */
	unsigned nwaits;
	char waits[ROLLOUT_WAITS][BWL_DOC_NAME_MOST];
};
/* since_ns: when this stage began, or this leader to look at it. */
struct rollout_verdict rollout_judge(const struct rollout *r, const struct rollout_rules *rules,
				     const struct rollout_seat *seat, size_t n, uint64_t since_ns,
				     uint64_t now_ns);
/* The first stage above percent; 0: none. */
unsigned rollout_next(const struct rollout_rules *rules, unsigned percent);

#endif
