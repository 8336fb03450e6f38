/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tray's status, at PREFIX/node/TRAY/out/status: JSON of at most 4096 bytes, in an envelope if it
 * is signed (signer.h, docs/fleet.md). This is the only place that parses it, for controllers and
 * for people's commands. A thief of a tray's certificate can write anything there, so only the name
 * in the key is trusted, and nothing in a status opens anything.
 */
#ifndef BWL_FLEET_STATUS_H
#define BWL_FLEET_STATUS_H

#include "audit/signed_note.h"
#include "bwl/err.h"
#include "fleet/store/layout.h"
#include "maps/words.h"

#define STATUS_BYTES_MAX 4096
#define STATUS_WHAT (BWL_DOC_NAME_MAX + 16) /* "KIND/NAME" */
#define STATUS_TAKEN_MAX 16
#define STATUS_REFUSED_MAX 4
#define STATUS_PROOF_MAX 64

struct status_refused {
	char what[STATUS_WHAT];
	uint64_t version;
	char id[32], text[160]; /* of the error; each may be empty */
};

struct tray_status {
	bool is_signed;  /* by the key that its enrolment names (signer.h) */
	uint64_t number; /* of a signed one; 0: none */
	int64_t said_s;  /* by the tray's clock, since 1970; 0: absent */
	int64_t up_s;    /* time since its boot then */
	bool has_policy;
	char policy_name[BWL_DOC_NAME_MAX];
	uint8_t policy[32]; /* digest of the policy document in force */
	uint64_t policy_version;
	struct status_refused refused[STATUS_REFUSED_MAX];
	unsigned nrefused;
	bool fresh;               /* its signed time is recent enough */
	uint32_t closed;          /* peers */
	unsigned alarms;          /* number of alarms */
	bool not_in_force;        /* one of them: it could not put an accepted document in force */
	uint64_t passed, dropped; /* packets, since the tray's boot or longer */
	uint64_t sas_down;
	uint64_t ledger_seq;
	/* Its audit log's newest checkpoint, as reported: its signature is not checked here. */
	bool has_checkpoint;
	char note[BWL_CHECKPOINT_NOTE]; /* a signed note; origin, size and root are from it */
	struct bwl_note_key key;
	struct bwl_checkpoint checkpoint;
	/* The proof that it extends the cosigned checkpoint of that size; none: 0 hashes. */
	uint64_t proof_from;
	struct bwl_hash proof[STATUS_PROOF_MAX];
	unsigned nproof;
};

/* The documents that it took last, for waiting commands. */
struct status_taken {
	unsigned n;
	struct {
		char what[STATUS_WHAT];
		uint64_t version;
		uint8_t digest[32];
	} doc[STATUS_TAKEN_MAX];
};

/* What is closed on it, and what it lacks: for people. */
#define STATUS_CLOSED_MAX 8
#define STATUS_MISSING_MAX 4
struct status_closures {
	unsigned nclosed;
	struct {
		char peer[BWL_NAME_LEN];
		int64_t since_s; /* since 1970; 0: unknown */
	} closed[STATUS_CLOSED_MAX];
	int64_t stopped_s, clamped_s;
	unsigned alarms; /* a bit each: enum status_alarm; unknown ones are ignored */
	unsigned nmissing;
	char missing[STATUS_MISSING_MAX][STATUS_WHAT];
};
enum status_alarm {
	STATUS_STOPPED,
	STATUS_CLAMPED,
	STATUS_FLOOR,
	STATUS_NOT_IN_FORCE,
	STATUS_WITHHELD,
	STATUS_MEMORY_DAMAGED,
	_STATUS_ALARMS
};
const char *status_alarm_word(enum status_alarm a);
/* From a parsed status; invalid parts are left out. */
void status_closures(const void *at, size_t len, struct status_closures *ret);

/*
 * tray: the owner of its key. ret_taken may be NULL. -EBADMSG: it is invalid, and nothing of it is
 * used.
 */
int status_parse(const char *tray, const void *at, size_t len, struct tray_status *ret,
		 struct status_taken *ret_taken, struct bwl_err *e);
/* Does it refuse that version of "KIND/NAME"? NULL: no. */
const struct status_refused *status_refuses(const struct tray_status *s, const char *what,
					    uint64_t version);

#endif
