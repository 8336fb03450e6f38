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
#define DOCS_KEY 64    /* "KIND/NAME" */

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
	char why[200];     /* what was told last of why nothing is above the floor */
	uint64_t minute_ns;
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
};

/* ends.c: from the disk again; what came of it */
void docs_reload(struct documents *v);
void docs_rebuild(struct documents *v);
/* The deadline in the maps, as the documents say it; at once what closes. */
void docs_mind_end(struct documents *v);

/* take.c: a document, judged and taken. *ret_wait: answered when it is in force. */
int docs_receive(struct documents *v, const char *key, const char *bytes, size_t len,
		 bool *ret_wait, struct bwl_err *e);
/* What is due once, after what is desired is in force. */
void docs_do_due(struct documents *v);

/* close.c: what a revocation or an expulsion closes: the map, SAs, the journal, in this order */
int docs_close(struct documents *v, const struct bwl_signed *d, struct bwl_err *e);

/* verbs.c: what is said at the socket */
void docs_said(void *arg, int fd, int doc, const char *line, size_t len, const char *wrong);
void docs_answer(int fd, const struct bwl_err *e); /* NULL: taken; closes fd */

void docs_answer_unsettled(int fd); /* taken, and not known to be in force */

/* status.c */
json_t *docs_status(struct documents *v);

#endif
