/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fleet according to its store: a connection, the root, the trays, and documents. */
#ifndef BWL_CTL_FLEET_H
#define BWL_CTL_FLEET_H

#include "conf.h"
#include "fleet/status/signer.h"
#include "fleet/store/publish.h"
#include "signed/envelope.h"
#include "signed/root.h"

struct fleet_tray {
	char name[BWL_DOC_NAME_MAX];
	bool alive;      /* its bwlimit-sync has a lease in the store */
	bool has_status; /* there is one in the store */
	bool enrolled;   /* there is an enrolment */
	bool expelled;   /* by a document that verifies, and not enrolled since */
	bool named;      /* by an audience, with tray: */
	bool chosen;     /* fleet_choose() */
	char **labels;   /* "KEY=VALUE", once they were read: from an enrolment that verifies */
	size_t nlabels;
	bool labels_unknown;         /* its enrolment does not verify */
	struct fleet_status *status; /* the newest that was read; NULL: none, or invalid */
	/* the key that must have signed it was read, and the result: */
	bool signer_read;
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
	json_t *tampering; /* what does not verify (believe.h); NULL: nothing */
	/* For ends.c: common to all, read once. */
	bool ends_read;
	int64_t time_s; /* the newest signed time; 0: there is none */
	struct fleet_ends {
		bool known; /* the store has a policy or a grant for it */
		int64_t not_after_s;
		int64_t offline_s; /* 0: the store has no signed time */
	} ends;
};

/* Connects to the first server that has a leader. */
int fleet_open(struct ctl *c, struct fleet *f);
void fleet_close(struct fleet *f);
/* The fleet's name and epoch: from the pinned root, otherwise from the one in the store. */
int fleet_know(struct fleet *f);
/* Is that the fleet in fleet.conf, if it names one? */
int fleet_is_ours(struct fleet *f, const char *name);
/* All trays that the store knows; may be called again. */
int fleet_trays(struct fleet *f);
/* And their labels, from their enrolments. */
int fleet_labels(struct fleet *f);
struct fleet_tray *fleet_tray(struct fleet *f, const char *name); /* NULL: none */
/* -ENOENT, with the nearest name: the store knows of no such tray. Lists the trays. */
int fleet_known_tray(struct fleet *f, const char *name);
/* Adds one if it is missing: for a tray to be enrolled. */
struct fleet_tray *fleet_tray_add(struct fleet *f, const char *name);
/*
 * Selects the trays of an audience: those that were seen or enrolled, and not expelled; and those
 * that it names. A label includes every tray that may have it: also if its enrolment does not
 * verify.
 */
int fleet_choose(struct fleet *f, const char *audience, size_t *ret_n);
/*
 * Reads the newest status of a tray into it, if it is signed by the key that the tray's enrolment
 * names. The enrolment is read once, and verified by the pinned root. If it names no key nobody has
 * verified the status; if it cannot be judged no status is used.
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
	bool over;           /* it verifies, and it has ended, or its root has; */
	struct bwl_err why_over;
};
/* tray NULL: for all. -ENOENT: it does not exist. prefix: the store's, or another part of it. */
int fleet_doc_read(struct fleet *f, const char *prefix, const char *tray, enum bwl_doc_kind kind,
		   const char *name, struct fleet_doc *ret);
/* The same, without filling in d. */
int fleet_doc_bytes(struct fleet *f, const char *prefix, const char *tray, enum bwl_doc_kind kind,
		    const char *name, struct fleet_doc *ret);
void fleet_doc_done(struct fleet_doc *x);
/* Its kind in the store; the words are the same. */
enum bwl_doc_kind fleet_kind(enum bwl_signed_type t);

#endif
