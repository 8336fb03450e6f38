/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the part `documents`: what its files share. All of it is of one thread. */
#ifndef BWL_AGENT_DOCS_PART_H
#define BWL_AGENT_DOCS_PART_H

#include <jansson.h>
#include "bucket.h"
#include "bwl/pins.h"
#include "documents/desired.h"
#include "line_socket.h"
#include "store.h"
#include "thread.h"

#define DOCS_WAITING 8 /* who waits for a document to be in force */
#define DOCS_REFUSED 4 /* that are told */

struct documents {
	struct agent_thread thread;
	struct agent *a; /* what does not change of it */
	struct bwl_pins *pins;
	struct line_socket *socket;
	struct docs docs; /* m NULL: nothing is enrolled, or the memory is damaged */
	struct docs_terms terms;
	bool damaged;
	bool in_force;     /* reconcile.c has put something of ours in force, */
	bool not_in_force; /* and what is desired now it could not */
	bool trial;        /* a policy was on trial when we looked last */
	char why[200];     /* what was told last of why nothing is above the floor */
	uint64_t minute_ns;
	uint64_t missing_ns; /* since when a signed time names what is not here; 0: none does */
	uint64_t missed_ns;  /* when that was told */
	uid_t sync;
	struct {
		int fd; /* -1: nobody */
		uint64_t seq, end_ns;
	} waiting[DOCS_WAITING];
	struct docs_refusal {
		char key[DOCS_KEY], id[32], text[160];
		uint64_t version;
	} refused[DOCS_REFUSED]; /* the newest first; key "": none */
	struct bucket lines;
	int64_t since_s; /* when the policy that holds was put in force */
	uint8_t since_of[32];
	/* Since when what is closed is closed: of what, as the journal had it then. */
	struct {
		json_t *of, *since;
		uint64_t read_ns;
	} closed;
	/* said.c: the numbers of signed statuses. */
	struct {
		uint64_t number, end; /* the newest; up to where they are put aside on disk */
		bool told;
		char why[200]; /* it is not signed; told once */
	} said;
};

/* ends.c: from the disk again; what came of it */
void docs_reload(struct documents *v);
void docs_rebuild(struct documents *v);
/* The deadline in the maps, as the documents say it; at once what closes. */
void docs_mind_end(struct documents *v);
/* Is something held back? Not before a signed time was ahead of its document for long. */
bool docs_is_withheld(const struct documents *v);

/* take.c: a document, judged and taken. *ret_wait: answered when it is in force. */
int docs_receive(struct documents *v, const char *key, const char *bytes, size_t len,
		 bool *ret_wait, struct bwl_err *e);
/* What is due once, after what is desired is in force. */
void docs_do_due(struct documents *v); /* due.c */
/* NULL, or why nothing is opened or lifted now; wall: bwl_wall_state(). */
const char *docs_why_clock_is_wrong(const struct docs *s, const struct docs_clock *c,
				    enum bwl_wall wall);

/* close.c: what a revocation or an expulsion closes: the map, SAs, the journal, in this order */
int docs_close(struct documents *v, const struct bwl_signed *d, struct bwl_err *e);

/* At the start: this tray's own keys, where enough people expelled it. */
void docs_destroy_again(const struct documents *v);
/* After an enrolment: they stay, where it lets this tray in again. */
void docs_spare_keys(const struct documents *v);

/* Whoever is expelled, and is a peer of what was put in force now, or is on trial. */
void docs_close_expelled(struct documents *v);

/* verbs.c: what is said at the socket */
void docs_said(void *arg, int fd, int doc, const char *line, size_t len, const char *wrong);
void docs_answer(int fd, const struct bwl_err *e); /* NULL: taken; closes fd */

void docs_answer_unsettled(int fd); /* taken, and not known to be in force */

/* status.c; cosigned: the size of the audit log's checkpoint that the controller cosigned last */
struct docs_stamp {
	uint64_t number;
	int64_t wall_s;
	uint64_t boot_s;
};
json_t *docs_status(struct documents *v, uint64_t cosigned,
		    const struct docs_stamp *stamp /* NULL: none */);
/* said.c: the same as it goes to the fleet; a string: signed */
json_t *docs_say(struct documents *v, uint64_t cosigned);

#endif
