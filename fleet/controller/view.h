/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The content of the store, as far as a controller needs it: policies, roots, and each tray's
 * status. Filled by full reads and by the watch (store_module.c), queried by the leader (lead.c).
 * No I/O; bounded: VIEW_TRAYS_MAX trays, VIEW_POLICIES_MAX policies.
 */
#ifndef BWL_CONTROLLER_VIEW_H
#define BWL_CONTROLLER_VIEW_H

#include "cosign.h"
#include "signed/document.h"
#include "signed/root.h"
#include "fleet/status/signer.h"
#include "fleet/status/status.h"

#define VIEW_TRAYS_MAX 20000
#define VIEW_POLICIES_MAX 20000
#define VIEW_CLOSING_MAX 4096
#define VIEW_PARTS_MAX 64
#define VIEW_BY_MAX 64 /* signers of a closing document; a root has no more keys */
#define VIEW_SAMPLE_NS (300 * 1000000000ULL)

struct view_sample {
	uint64_t at_ns, passed, dropped;
};

struct view_tray {
	char name[BWL_DOC_NAME_MAX];
	bool alive;        /* its name is present, under its lease */
	bool told;         /* its status is unreadable, and that was reported */
	bool known;        /* status holds its last readable status */
	int64_t mod;       /* of its status, whatever that was */
	int64_t taken;     /* of the newest accepted one, which is status */
	uint64_t heard_ns; /* when that came */
	bool is_new;       /* the leader has not handled it yet */
	struct tray_status status;
	struct view_sample before, later; /* samples from five to ten minutes ago */
	json_t *labels;                   /* from its enrolment; NULL: unknown */
	struct bwl_signed_terms enrolled; /* the newest enrolment seen; version 0: none */
	bool relabelled;                  /* the leader has not yet handled the new labels */
	struct status_signer by;          /* the key for its status, according to that enrolment */
	struct status_last last;
	struct status_signer was; /* the newest that named a key */
	struct cosigned log;
	bool seen; /* seen in the current read */
};

struct view_policy {
	char tray[BWL_DOC_NAME_MAX]; /* its location; empty: for all */
	char name[BWL_DOC_NAME_MAX]; /* of the key, and of the document */
	bool big;
	int64_t mod;
	bool to_fetch; /* it is in parts, or came before the root that judges it */
	bool ok;       /* signed by people, and not ended: what follows is known */
	char *audience;
	struct bwl_signed_terms terms;
	uint8_t digest[32];
	uint64_t lease_most_ns;
	bool stages;
	uint64_t leased_ns; /* when its lease was renewed; 0: never by this leader */
	bool seen;
};

/*
 * A revocation or an expulsion, the newest of its name with the same content for the same audience.
 */
struct view_closing {
	char name[BWL_DOC_NAME_MAX];
	enum bwl_signed_type type;
	/*
	 * People who each signed it alone; an empty name: several signed it together. It takes room
	 * from each of them. So repeating another person's document, with whatever date, takes
	 * nothing from that person.
	 */
	char (*by)[BWL_NAME_LEN];
	unsigned nby;
	char *audience;
	struct bwl_signed_terms terms;
	/* its own, or the one that it begins: with a lower epoch it is over */
	uint64_t until_epoch;
	/* Its location, if it is not in parts; key_name empty: unknown. tray empty: for all. */
	char tray[BWL_DOC_NAME_MAX], key_name[BWL_DOC_NAME_MAX];
	bool kept;        /* the controllers have a copy (lead_closing.c) */
	uint8_t unjudged; /* reads left until a new root must have judged it again */
	uint8_t digest[32];
	uint8_t what[32]; /* signed/closing.h */
	/*
	 * Another one has the same name and other content: only one of them is at the key of its
	 * name. given: trays got it at a key of its own.
	 */
	bool shared, given;
};
/* A document in parts, to be fetched. */
struct view_part {
	char tray[BWL_DOC_NAME_MAX];
	struct bwl_doc_at at;
};

/* What is bounded, a bit each, so that each is reported separately. */
enum view_most {
	VIEW_CUT_TRAYS = 1,
	VIEW_CUT_POLICIES = 2,
	VIEW_CUT_PARTS = 4,
	VIEW_CUT_CLOSING = 8,
};

struct view {
	struct bwl_root *root;   /* whom to trust; NULL: nothing is published except time */
	uint64_t epoch;          /* of the newest documents */
	uint64_t over_epoch;     /* documents below it are over for every tray */
	struct view_tray **tray; /* by name */
	size_t ntrays;
	struct view_policy **policy; /* by tray and name */
	size_t npolicies;
	/*
	 * Closing documents are kept until they end, even if the store no longer has them: see
	 * lead.c.
	 */
	struct view_closing *closing;
	size_t nclosing;
	struct view_part part[VIEW_PARTS_MAX];
	unsigned nparts;
	struct bwl_signed_terms time;   /* of the timestamp in the store */
	unsigned left_out;              /* kinds of which some are not kept: enum view_most */
	struct status_signers *signers; /* updated with each change; NULL: not needed */
	/* Reports what cannot be trusted, once for each. */
	void (*trouble)(void *arg, const char *what, const struct bwl_err *why);
	void *arg;
};

void view_done(struct view *v);
struct view_tray *view_tray(struct view *v, const char *name); /* NULL: there is no such tray */
/* The value of a key below PREFIX/all/ (tray empty) or PREFIX/node/TRAY/in/. */
void view_document(struct view *v, const char *tray, const struct bwl_doc_at *at,
		   const struct bwl_etcd_kv *kv, int64_t now_s);
/* The fetched bytes of a policy. */
void view_policy_bytes(struct view *v, struct view_policy *p, const char *bytes, size_t len,
		       int64_t now_s);
/* The fetched bytes of a closing document in parts. */
void view_closing_bytes(struct view *v, const char *bytes, size_t len, int64_t now_s);
/* Is it still valid, and its epoch not over? */
bool view_closes_still(const struct view *v, const struct view_closing *c, int64_t now_s);
/*
 * The closing documents for a signed time, the newest first, BWL_CLOSING_BYTES at most: an equal
 * share for each person who needs it, so that no person's later documents displace another's.
 * ret_left_out: number of documents without room; ret_whose, owned by the caller, may be NULL:
 * their signers, in words.
 */
json_t *view_closing(const struct view *v, int64_t now_s, size_t *ret_left_out, char **ret_whose);
/* Adds a judged document; tray, key_name: its location, NULL if unknown or in parts. */
void view_take_closing(struct view *v, const struct bwl_signed *d, const char *tray,
		       const char *key_name);
/* The controllers have a copy of the document with that digest; the second forgets all copies. */
void view_closing_kept(struct view *v, const uint8_t digest[32]);
void view_closing_unkept(struct view *v);
/* Internal: reports to `trouble`; a document to fetch; drops all of them. */
static inline void view_tell(struct view *v, const char *what, const struct bwl_err *why)
{
	if (v->trouble)
		v->trouble(v->arg, what, why);
}
/* Once per read for each. */
static inline void view_tell_most(struct view *v, enum view_most of, const char *what,
				  const struct bwl_err *why)
{
	if (!(v->left_out & of))
		view_tell(v, what, why);
	v->left_out |= of;
}
void view_note_part(struct view *v, const char *tray, const struct bwl_doc_at *at);
void view_closing_done(struct view *v);
/* After a new root, or at the end of a full read: drops what the root does not accept. */
void view_closing_root(struct view *v);
void view_closing_read_end(struct view *v);
/* PREFIX/node/TRAY/out/WHAT */
void view_said(struct view *v, const char *tray, const char *what, const struct bwl_etcd_kv *kv,
	       const struct status_now *now);
/*
 * The tray's enrolment cannot be judged: its statuses do not count until it can be. Later ones are
 * then read again.
 */
void view_unjudged(struct view *v, struct view_tray *t, const char *why);
/* A full read: what was not in it is gone. */
void view_read_begin(struct view *v);
void view_read_end(struct view *v);
/* Does the audience include that tray? */
bool view_is_of(const struct view *v, const char *audience, const struct view_tray *t);
/* Is the policy for that tray, by its location and audience? */
bool view_is_for(const struct view *v, const struct view_policy *p, const struct view_tray *t);

#endif
