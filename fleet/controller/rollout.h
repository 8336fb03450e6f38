/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A policy that goes out in stages: when the next one begins, and when it all goes back. Pure: the
 * clock, what trays say and the rules are arguments (tests/unit/controller). What is decided lives
 * in the store (rollout_json.c), so that the next leader goes on with it.
 *
 * A new leader counts the soak of a stage anew, and hears every tray again: no clock of another
 * machine is believed, and nothing but time is lost.
 */
#ifndef BWL_CONTROLLER_ROLLOUT_H
#define BWL_CONTROLLER_ROLLOUT_H

#include "maps/words.h"
#include "status.h"

#define ROLLOUT_STAGES_MOST 8
#define ROLLOUT_SALT 33 /* with the NUL */
#define ROLLOUT_WHY 200
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

enum rollout_phase {
	ROLLOUT_GOING,
	ROLLOUT_DONE,  /* `to` is in force everywhere, or was never in stages */
	ROLLOUT_BACK,  /* `from` is again: the health of trays said so */
	ROLLOUT_STUCK, /* the same, but there is no `from` */
	_ROLLOUT_PHASES
};

struct rollout {
	char name[BWL_NAME_LEN]; /* of the policy; the rollout document has it, too */
	enum rollout_phase phase;
	bool has_from;
	uint8_t from[32], to[32];          /* digests of policy documents */
	uint64_t to_version;               /* of the policy document */
	uint64_t from_lease_s, to_lease_s; /* `lease_most` of each; 0: none */
	uint64_t version;                  /* of the rollout document that says so; 0: none yet */
	char salt[ROLLOUT_SALT];
	unsigned percent;
	char why[ROLLOUT_WHY]; /* of BACK and STUCK */
};

/* Where a tray stands: the rollout reaches it where percent is above that. */
unsigned rollout_place(const char *salt, const char *tray);

/* A tray, as a rollout looks at it. */
struct rollout_seat {
	char tray[BWL_DOC_NAME_MOST];
	unsigned place;
	int64_t mod; /* of its newest status, in the store */
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
};
/* since_ns: when this stage began, or this leader to look at it. */
struct rollout_verdict rollout_judge(const struct rollout *r, const struct rollout_rules *rules,
				     const struct rollout_seat *seat, size_t n, uint64_t since_ns,
				     uint64_t now_ns);
/* The first stage above percent; 0: none. */
unsigned rollout_next(const struct rollout_rules *rules, unsigned percent);

const char *rollout_phase_word(enum rollout_phase p);
/* As JSON, which the caller frees; and back: -EBADMSG. */
char *rollout_text(const struct rollout *r);
int rollout_parse(const void *at, size_t len, struct rollout *ret, struct bwl_err *e);

#endif
