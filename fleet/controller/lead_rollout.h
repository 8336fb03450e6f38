/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The leader's view of a rollout, with the trays that it reaches: lead.h. */
#ifndef BWL_CONTROLLER_LEAD_ROLLOUT_H
#define BWL_CONTROLLER_LEAD_ROLLOUT_H

#include "lead.h"
#include "rollout.h"

struct lead_rollout {
	char tray[BWL_DOC_NAME_MAX]; /* location of its policy; empty: for all */
	struct rollout r;
	/* While it goes on: */
	uint64_t since_ns;         /* start of this stage, or of this leader */
	struct rollout_seat *seat; /* by name */
	size_t nseats;
	uint32_t mean_ppm; /* mean over the trays that were present: for trays that come later */
	/* What people were last told, and when; NULL: nothing yet. */
	struct rollout_health health;
	char *health_text;
	uint64_t health_ns;
};

/* lead_seats.c: the trays present at its start, and the health of each before. */
void lead_seats_new(struct lead *l, struct lead_rollout *lr, const struct view_policy *p,
		    uint64_t now_ns);
/* Takes in new statuses, and new trays. */
void lead_seats_hear(struct lead *l, struct lead_rollout *lr, const struct view_policy *p,
		     uint64_t now_ns);
void lead_seats_begin(struct lead_rollout *lr, uint64_t now_ns);
/* As in the store, for the next leader; the caller frees it. And back. */
char *lead_seats_text(const struct lead_rollout *lr);
void lead_seats_parse(struct lead_rollout *lr, const void *at, size_t len);
/* lead_health.c: reports the basis of the verdict to people. */
int lead_health(struct lead *l, struct lead_rollout *lr, const struct rollout_verdict *v,
		uint64_t now_ns, int64_t now_s, struct bwl_err *e);
/* Chooses a salt with which the first stage reaches somebody, and no more than it must. */
void lead_seats_salt(struct lead_rollout *lr, unsigned percent);

#endif
