/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the store has, as far as a controller needs it: the policies, the roots, and what each tray
 * says. Filled by full reads and by the watch (store_module.c), asked by the leader (lead.c). No
 * I/O; bounded: VIEW_TRAYS_MOST trays, VIEW_POLICIES_MOST policies.
 */
#ifndef BWL_CONTROLLER_VIEW_H
#define BWL_CONTROLLER_VIEW_H

#include "cosign.h"
#include "signed/document.h"
#include "signed/root.h"
#include "fleet/status/signer.h"
#include "fleet/status/status.h"

#define VIEW_TRAYS_MOST 20000
#define VIEW_POLICIES_MOST 20000
#define VIEW_CLOSING_MOST 4096
#define VIEW_PARTS_MOST 64
#define VIEW_BY_MOST 64 /* people of one that closes; a root has no more keys */
#define VIEW_SAMPLE_NS (300 * 1000000000ULL)

struct view_sample {
	uint64_t at_ns, passed, dropped;
};

struct view_tray {
	char name[BWL_DOC_NAME_MOST];
	bool alive;        /* its name is there, under its lease */
	bool told;         /* what it says cannot be read, and that was told */
	bool known;        /* it has said something that can be read: status */
	int64_t mod;       /* of its status, whatever that was */
	int64_t taken;     /* of the newest that was taken, and is status */
	uint64_t heard_ns; /* when that came */
	bool is_new;       /* the leader has not looked at it yet */
	struct tray_status status;
	struct view_sample before, later; /* what was said five to ten minutes ago */
	json_t *labels;                   /* of its enrolment; NULL: none is known */
	struct bwl_signed_terms
		enrolled;        /* of the newest enrolment that was seen; version 0: none */
	bool relabelled;         /* the leader has not looked yet what that brings */
	struct status_signer by; /* by which its status is signed, as that one says */
	struct status_last last;
	struct status_signer was; /* the newest that named a key; it said last */
	struct cosigned log;
	bool seen; /* in the read that goes on */
};

struct view_policy {
	char tray[BWL_DOC_NAME_MOST]; /* where it lies; empty: for all */
	char name[BWL_DOC_NAME_MOST]; /* of the key, and of the document */
	bool big;
	int64_t mod;
	bool to_fetch; /* it is in parts, or came before the root that judges it */
	bool ok;       /* people signed it, and it has not ended: what follows is known */
	char *audience;
	struct bwl_signed_terms terms;
	uint8_t digest[32];
	uint64_t lease_most_ns;
	bool stages;
	uint64_t leased_ns; /* when its lease was renewed; 0: never by this leader */
	bool seen;
};

/* A revocation or an expulsion, the newest of its name that says the same for the same audience. */
struct view_closing {
	char name[BWL_DOC_NAME_MOST];
	enum bwl_signed_type type;
	/*
	 * Who said so, each alone; an empty name: several people signed it together. It is in the
	 * room of each of them: so who says it again, whatever date is on that, takes nothing of
	 * the others'.
	 */
	char (*by)[BWL_NAME_LEN];
	unsigned nby;
	char *audience;
	struct bwl_signed_terms terms;
	uint64_t until_epoch; /* its own, or the one that it begins: below that it is over */
	/* Where it lies, one that is in no parts; key_name empty: not known. tray empty: for all.
	 */
	char tray[BWL_DOC_NAME_MOST], key_name[BWL_DOC_NAME_MOST];
	bool kept;        /* the controllers have a copy (lead_closing.c) */
	uint8_t unjudged; /* reads that may pass until the root that came judges it again */
	uint8_t digest[32];
	uint8_t what[32]; /* signed/closing.h */
	/*
	 * Another one has its name, and says something else: at the key of its name is one of them.
	 * And it was given to the trays at a key of its own.
	 */
	bool shared, given;
};
/* One in parts, which is fetched. */
struct view_part {
	char tray[BWL_DOC_NAME_MOST];
	struct bwl_doc_at at;
};

/* What is bounded, a bit each: one that is full says nothing of the others. */
enum view_most {
	VIEW_MOST_TRAYS = 1,
	VIEW_MOST_POLICIES = 2,
	VIEW_MOST_PARTS = 4,
	VIEW_MOST_CLOSING = 8,
};

struct view {
	struct bwl_root *root;   /* whom to believe; NULL: nothing is published but time */
	uint64_t epoch;          /* of the newest documents */
	uint64_t over_epoch;     /* what is of one before is over for every tray */
	struct view_tray **tray; /* by name */
	size_t ntrays;
	struct view_policy **policy; /* by tray and name */
	size_t npolicies;
	/* What closes stays until its own end, also where the store has it no more: see lead.c. */
	struct view_closing *closing;
	size_t nclosing;
	struct view_part part[VIEW_PARTS_MOST];
	unsigned nparts;
	struct bwl_signed_terms time;   /* of the timestamp in the store */
	unsigned left_out;              /* of which there are more than are kept: enum view_most */
	struct status_signers *signers; /* told of each that changes; NULL: nobody asks */
	/* What cannot be believed is told, once for each. */
	void (*trouble)(void *arg, const char *what, const struct bwl_err *why);
	void *arg;
};

void view_done(struct view *v);
struct view_tray *view_tray(struct view *v, const char *name); /* NULL: there is none */
/* What is at a key below PREFIX/all/ (tray empty) or PREFIX/node/TRAY/in/. */
void view_document(struct view *v, const char *tray, const struct bwl_doc_at *at,
		   const struct bwl_etcd_kv *kv, int64_t now_s);
/* The bytes of a policy that were fetched. */
void view_policy_bytes(struct view *v, struct view_policy *p, const char *bytes, size_t len,
		       int64_t now_s);
/* Those of a document that closes, and is in parts. */
void view_closing_bytes(struct view *v, const char *bytes, size_t len, int64_t now_s);
/* Has that one not ended, and is its epoch not over? */
bool view_closes_still(const struct view *v, const struct view_closing *c, int64_t now_s);
/*
 * What a signed time says closes, the newest first, BWL_CLOSING_BYTES at most: of each person as
 * much, as far as they said as much, so that nobody's later ones leave out another's. ret_left_out:
 * for how many there is no room; ret_whose, the caller's, may be NULL: of whom, in words.
 */
json_t *view_closing(const struct view *v, int64_t now_s, size_t *ret_left_out, char **ret_whose);
/* One that was judged; tray, key_name: where it lies, NULL where that is not known or in parts. */
void view_take_closing(struct view *v, const struct bwl_signed *d, const char *tray,
		       const char *key_name);
/* The controllers have a copy of the one with that digest; of none. */
void view_closing_kept(struct view *v, const uint8_t digest[32]);
void view_closing_unkept(struct view *v);
/* Inside of view: to `trouble`; one that is to be fetched; all of them go. */
static inline void view_tell(struct view *v, const char *what, const struct bwl_err *why)
{
	if (v->trouble)
		v->trouble(v->arg, what, why);
}
/* Once a read for each. */
static inline void view_tell_most(struct view *v, enum view_most of, const char *what,
				  const struct bwl_err *why)
{
	if (!(v->left_out & of))
		view_tell(v, what, why);
	v->left_out |= of;
}
void view_note_part(struct view *v, const char *tray, const struct bwl_doc_at *at);
void view_closing_done(struct view *v);
/* A root came; a read of everything has ended: what the root does not judge good goes. */
void view_closing_root(struct view *v);
void view_closing_read_end(struct view *v);
/* PREFIX/node/TRAY/out/WHAT */
void view_said(struct view *v, const char *tray, const char *what, const struct bwl_etcd_kv *kv,
	       const struct status_now *now);
/*
 * Its enrolment cannot be judged: nothing that it said counts, until there is one that can. What it
 * says then is read again.
 */
void view_unjudged(struct view *v, struct view_tray *t, const char *why);
/* A read of everything: what was not in it is gone. */
void view_read_begin(struct view *v);
void view_read_end(struct view *v);
/* Does an audience mean that tray? */
bool view_is_of(const struct view *v, const char *audience, const struct view_tray *t);
/* A document of an audience: is it for that tray? */
bool view_is_for(const struct view *v, const struct view_policy *p, const struct view_tray *t);

#endif
