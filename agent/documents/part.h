/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal to the part `documents`: shared by its files. Only one thread uses it. */
#ifndef BWL_AGENT_DOCS_PART_H
#define BWL_AGENT_DOCS_PART_H

#include <jansson.h>
#include "bucket.h"
#include "bwl/pins.h"
#include "documents/desired.h"
#include "line_socket.h"
#include "store.h"
#include "thread.h"

#define DOCS_WAITING 8 /* clients of a right that wait for a document to be in force */
#define DOCS_REFUSED 4 /* reported refusals */

struct documents {
	struct agent_thread thread;
	struct agent *a; /* what does not change of it */
	struct bwl_pins *pins;
	struct line_socket *socket;
	struct docs docs; /* m NULL: nothing is enrolled, or the memory is damaged */
	struct docs_terms terms;
	bool damaged;
	bool in_force;     /* reconcile.c has put one of our policies in force, */
	bool not_in_force; /* and the present one could not be */
	bool trial;        /* a policy was on trial at the last check */
	char why[200];     /* last reported reason why nothing is above the floor */
	char glass_why[sizeof(
		((struct bwl_err *)0)->text)]; /* why its way back failed: reported once */
	uint64_t minute_ns;
	uint64_t missing_ns; /* since when a signed time names a missing document; 0: none */
	uint64_t missed_ns;  /* when that was reported */
	struct {
		int fd; /* -1: none */
		uint64_t seq, end_ns;
	} waiting[2 * DOCS_WAITING]; /* root's, and bwlimit-sync's */
	struct docs_refusal {
		char key[DOCS_KEY], id[32], text[160];
		uint64_t version;
	} refused[DOCS_REFUSED]; /* the newest first; key "": none */
	struct bucket lines;
	int64_t since_s; /* since when the policy that holds is in force */
	uint8_t since_of[32];
	/* Times of closures, from the journal. */
	struct {
		json_t *of, *since;
		uint64_t read_ns;
	} closed;
	/* said.c: numbers of signed statuses. */
	struct {
		uint64_t number, end; /* the newest; the end of those reserved on disk */
		bool told;
		char why[200]; /* why it is not signed; reported once */
	} said;
};

/* ends.c: reloads from the disk; the result */
void docs_reload(struct documents *v);
void docs_rebuild(struct documents *v);
/* Updates the deadline in the maps from the documents; closes at once. */
void docs_mind_end(struct documents *v);
/* Is something withheld? Not before a signed time was ahead of its document for long. */
bool docs_is_withheld(const struct documents *v);

/* take.c: judges and accepts a document. *ret_wait: answered when it is in force. */
int docs_receive(struct documents *v, const char *key, const char *bytes, size_t len,
		 bool *ret_wait, struct bwl_err *e);
/* One-time actions, after the desired policy is in force. */
void docs_do_due(struct documents *v); /* due.c */
/* NULL, or why nothing may be opened or lifted now; wall: bwl_wall_state(). */
const char *docs_why_clock_is_wrong(const struct docs *s, const struct docs_clock *c,
				    enum bwl_wall wall);

/*
 * close.c: performs a revocation's or an expulsion's closures: the map, SAs, the journal, in this
 * order
 */
int docs_close(struct documents *v, const struct bwl_signed *d, struct bwl_err *e);

/* At the start: destroys this tray's own keys, if enough people expelled it. */
void docs_destroy_again(const struct documents *v);
/* After an enrolment: keeps them, if it readmits this tray. */
void docs_spare_keys(const struct documents *v);

/* Closes expelled peers of the policy that was just put in force, or is on trial. */
void docs_close_expelled(struct documents *v);

/* verbs.c: requests at the socket */
void docs_said(void *arg, enum line_right right, int fd, int doc, const char *line, size_t len,
	       const char *wrong);
void docs_answer(int fd, const struct bwl_err *e); /* NULL: accepted; closes fd */

void docs_answer_unsettled(int fd); /* accepted, but not known to be in force */

/* status.c; cosigned: the size of the audit log's checkpoint that the controller cosigned last */
struct docs_stamp {
	uint64_t number;
	int64_t wall_s;
	uint64_t boot_s;
};
json_t *docs_status(struct documents *v, uint64_t cosigned,
		    const struct docs_stamp *stamp /* NULL: none */);
/* said.c: the status for the fleet; a string if signed */
json_t *docs_say(struct documents *v, uint64_t cosigned);

#endif
