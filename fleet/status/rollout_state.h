/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What controllers keep about the rollout of a policy: its state, at
 * PREFIX/controller/rollout/PLACE/NAME, and its health, for people, at
 * PREFIX/controller/health/PLACE/NAME. Written by the leader (fleet/controller/rollout.h), shown by
 * `bwlimit-ctl --fleet rollouts`.
 */
#ifndef BWL_FLEET_ROLLOUT_STATE_H
#define BWL_FLEET_ROLLOUT_STATE_H

#include "bwl/err.h"
#include "fleet/store/layout.h"
#include "maps/words.h"

#define ROLLOUT_STAGES_MAX 8
#define ROLLOUT_SALT 33 /* with the NUL */
#define ROLLOUT_WHY 200
#define ROLLOUT_WAITS 8

enum rollout_phase {
	ROLLOUT_GOING,
	ROLLOUT_DONE,  /* `to` is in force everywhere, or had no stages */
	ROLLOUT_BACK,  /* `from` is in force again, because of the trays' health */
	ROLLOUT_STUCK, /* the same, but there is no `from` */
	_ROLLOUT_PHASES
};

struct rollout {
	char name[BWL_NAME_LEN]; /* of the policy, and of the rollout document */
	enum rollout_phase phase;
	bool has_from;
	uint8_t from[32], to[32];          /* digests of policy documents */
	uint64_t to_version;               /* of the policy document */
	uint64_t from_lease_s, to_lease_s; /* `lease_most` of each; 0: none */
	uint64_t version;                  /* of its rollout document; 0: none yet */
	char salt[ROLLOUT_SALT];
	unsigned percent;
	char why[ROLLOUT_WHY]; /* for BACK and STUCK */
	/* start of this stage, or phase, by that leader's clock; 0: unknown */
	int64_t since_s;
};

/* The leader's last judgement of a running rollout. Nothing is decided by it. */
struct rollout_health {
	uint64_t version; /* of its rollout document */
	/* By that leader's clock, since 1970: when it judged, and when the soak ends. */
	int64_t said_s, soak_until_s;
	unsigned stage[ROLLOUT_STAGES_MAX], nstages;
	unsigned judged, unwell, bad; /* number of trays: of this stage; bad or awaited; bad */
	char why[ROLLOUT_WHY];        /* the first of them, and its problem; empty: all are well */
	unsigned nwaits;
	char waits[ROLLOUT_WAITS][BWL_DOC_NAME_MAX];
};

const char *rollout_phase_word(enum rollout_phase p);
/* As JSON, which the caller frees; and back: -EBADMSG. */
char *rollout_text(const struct rollout *r);
int rollout_parse(const void *at, size_t len, struct rollout *ret, struct bwl_err *e);
char *rollout_health_text(const struct rollout_health *h);
int rollout_health_parse(const void *at, size_t len, struct rollout_health *ret, struct bwl_err *e);

#endif
