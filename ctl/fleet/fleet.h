/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fleet as its store has it: a connection, the root, the trays, and documents there. */
#ifndef BWL_CTL_FLEET_H
#define BWL_CTL_FLEET_H

#include "conf.h"
#include "fleet/status/signer.h"
#include "fleet/store/publish.h"
#include "signed/envelope.h"
#include "signed/root.h"

struct fleet_tray {
	char name[BWL_DOC_NAME_MOST];
	bool alive;      /* its bwlimit-sync has a lease in the store */
	bool has_status; /* it has put one there */
	bool enrolled;   /* there is a document of that */
	bool expelled;   /* by one that verifies, and never enrolled since */
	bool named;      /* by an audience, with tray: */
	bool chosen;     /* fleet_choose() */
	char **labels;   /* "KEY=VALUE", once they were read: of an enrolment that verifies */
	size_t nlabels;
	bool labels_unknown;         /* there is one that does not */
	struct fleet_status *status; /* the newest that was read; NULL: none, or what is none */
	bool signer_read;            /* by which key it is signed, and what came of that: */
	struct status_signer by;
	struct status_last last;
};

struct fleet {
	struct ctl *c;
	struct fleet_conf conf;
	struct bwl_grpc *g;
	struct bwl_root *root; /* NULL: none is pinned here */
	char name[BWL_NAME_LEN];
	uint64_t epoch;
	struct fleet_tray *tray; /* by name */
	size_t n;
	bool labels_read;
	json_t *tampering; /* what does not verify (believe.h); NULL: nothing was seen */
	/* Of ends.c: what holds for all, read once. */
	bool ends_read;
	int64_t time_s; /* the newest signed time; 0: there is none */
	struct fleet_ends {
		bool known; /* there is a policy or a grant in the store */
		int64_t not_after_s;
		int64_t offline_s; /* 0: the store has no signed time */
	} ends;
};

/* Connects to the first server that has a leader. */
int fleet_open(struct ctl *c, struct fleet *f);
void fleet_close(struct fleet *f);
/* The fleet's name and epoch: of the root that is pinned here, else of the one in the store. */
int fleet_know(struct fleet *f);
/* Is that the fleet that fleet.conf names, if it names one? */
int fleet_is_ours(struct fleet *f, const char *name);
/* All trays that the store has something of; again, where it is asked again. */
int fleet_trays(struct fleet *f);
/* And their labels, of the documents that enrol them. */
int fleet_labels(struct fleet *f);
struct fleet_tray *fleet_tray(struct fleet *f, const char *name); /* NULL: none */
/* As fleet_trays() has it where it is not there: for one that is to be enrolled. */
struct fleet_tray *fleet_tray_add(struct fleet *f, const char *name);
/*
 * Marks those whom an audience means: of trays that were seen or enrolled, and not expelled; and
 * those that it names. A label means whoever may have it: also where the enrolment does not verify.
 */
int fleet_choose(struct fleet *f, const char *audience, size_t *ret_n);
/*
 * The newest status of a tray, into it, if it is signed by the key that the tray's enrolment names;
 * which is asked for once, and judged by the root that is pinned here. Where that one names none
 * nobody has verified it; where it cannot be judged nothing is taken.
 */
int fleet_status_read(struct fleet *f, struct fleet_tray *t);
void fleet_status_take(struct fleet *f, struct fleet_tray *t, const void *at, size_t len);

/* A document of the store. */
struct fleet_doc {
	uint8_t *bytes;
	size_t len;
	int64_t mod;
	bool big;
	struct bwl_signed d; /* as it claims, or as it was verified */
	bool over;           /* it verifies, and it has ended, or its root; */
	struct bwl_err why_over;
};
/* tray NULL: for all. -ENOENT: it is not there. prefix: the store's, or another part of it. */
int fleet_doc_read(struct fleet *f, const char *prefix, const char *tray, enum bwl_doc_kind kind,
		   const char *name, struct fleet_doc *ret);
/* The same, and d is not filled in. */
int fleet_doc_bytes(struct fleet *f, const char *prefix, const char *tray, enum bwl_doc_kind kind,
		    const char *name, struct fleet_doc *ret);
void fleet_doc_done(struct fleet_doc *x);
/* The name of its kind in the store; they are the same words. */
enum bwl_doc_kind fleet_kind(enum bwl_signed_type t);

#endif
