/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rollout as the leader has it, with the trays that it reaches: lead.h. */
#ifndef BWL_CONTROLLER_LEAD_ROLLOUT_H
#define BWL_CONTROLLER_LEAD_ROLLOUT_H

#include "lead.h"
#include "rollout.h"

struct lead_rollout {
	char tray[BWL_DOC_NAME_MOST]; /* where its policy lies; empty: for all */
	struct rollout r;
	/* While it goes on: */
	uint64_t since_ns;         /* this stage, or this leader */
	struct rollout_seat *seat; /* by name */
	size_t nseats;
	uint32_t mean_ppm; /* of those that were there: for who comes later */
	/* What people were told of it last, and when; NULL: nothing yet. */
	struct rollout_health health;
	char *health_text;
	uint64_t health_ns;
};

/* lead_seats.c. Who is there as it begins, and how each fared before. */
void lead_seats_new(struct lead *l, struct lead_rollout *lr, const struct view_policy *p,
		    uint64_t now_ns);
/* What has come since, and who. */
void lead_seats_hear(struct lead *l, struct lead_rollout *lr, const struct view_policy *p,
		     uint64_t now_ns);
void lead_seats_begin(struct lead_rollout *lr, uint64_t now_ns);
/* As the store has it, for the next leader; the caller frees it. And back. */
char *lead_seats_text(const struct lead_rollout *lr);
void lead_seats_parse(struct lead_rollout *lr, const void *at, size_t len);
/* lead_health.c. What the verdict is of, told to people. */
int lead_health(struct lead *l, struct lead_rollout *lr, const struct rollout_verdict *v,
		uint64_t now_ns, int64_t now_s, struct bwl_err *e);
/* A salt with which the first stage reaches somebody, and not more than it must. */
void lead_seats_salt(struct lead_rollout *lr, unsigned percent);

#endif
