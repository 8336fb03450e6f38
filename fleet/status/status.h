/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a tray says of itself, at PREFIX/node/TRAY/out/status: JSON of at most 4096 bytes, in an
 * envelope where it is signed (signer.h, docs/fleet.md). The one place where that is read, for
 * controllers and for people's commands. Who has a tray's certificate can write anything there, so
 * nothing is taken for granted but the name in the key, and nothing that is said here opens
 * anything.
 */
#ifndef BWL_FLEET_STATUS_H
#define BWL_FLEET_STATUS_H

#include "audit/signed_note.h"
#include "bwl/err.h"
#include "fleet/store/layout.h"
#include "maps/words.h"

#define STATUS_BYTES_MOST 4096
#define STATUS_WHAT (BWL_DOC_NAME_MOST + 16) /* "KIND/NAME" */
#define STATUS_TAKEN_MOST 16
#define STATUS_REFUSED_MOST 4
#define STATUS_PROOF_MOST 64

struct status_refused {
	char what[STATUS_WHAT];
	uint64_t version;
	char id[32], text[160]; /* of the error; each may be empty */
};

struct tray_status {
	bool is_signed;  /* by the key that its enrolment names (signer.h) */
	uint64_t number; /* of one that is signed; 0: none */
	int64_t said_s;  /* by the tray's clock, since 1970; 0: not said */
	int64_t up_s;    /* of its boot then */
	bool has_policy;
	char policy_name[BWL_DOC_NAME_MOST];
	uint8_t policy[32]; /* digest of the policy document in force */
	uint64_t policy_version;
	struct status_refused refused[STATUS_REFUSED_MOST];
	unsigned nrefused;
	bool fresh;               /* its signed time is young enough */
	uint32_t closed;          /* peers */
	unsigned alarms;          /* how many */
	bool not_in_force;        /* one of them: what it took it could not put in force */
	uint64_t passed, dropped; /* packets, since the tray's boot or before */
	uint64_t sas_down;
	uint64_t ledger_seq;
	/* Its audit log's newest checkpoint, as it says it: whether it is signed by key is not
	 * judged. */
	bool has_checkpoint;
	char note[BWL_CHECKPOINT_NOTE]; /* a signed note; origin, size and root are from it */
	struct bwl_note_key key;
	struct bwl_checkpoint checkpoint;
	/* That it begins with the checkpoint of that size, which was cosigned; none: 0 hashes. */
	uint64_t proof_from;
	struct bwl_hash proof[STATUS_PROOF_MOST];
	unsigned nproof;
};

/* The documents that it took last: for whoever waits for one. */
struct status_taken {
	unsigned n;
	struct {
		char what[STATUS_WHAT];
		uint64_t version;
		uint8_t digest[32];
	} doc[STATUS_TAKEN_MOST];
};

/* What is closed on it, and what it lacks: for people who look. */
#define STATUS_CLOSED_MOST 8
#define STATUS_MISSING_MOST 4
struct status_closures {
	unsigned nclosed;
	struct {
		char peer[BWL_NAME_LEN];
		int64_t since_s; /* since 1970; 0: not known */
	} closed[STATUS_CLOSED_MOST];
	int64_t stopped_s, clamped_s;
	unsigned alarms; /* a bit each: enum status_alarm; others are not known here */
	unsigned nmissing;
	char missing[STATUS_MISSING_MOST][STATUS_WHAT];
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
/* Of a status that was parsed; what is not as it has to be is left out. */
void status_closures(const void *at, size_t len, struct status_closures *ret);

/*
 * tray: whose key it is at. ret_taken may be NULL. -EBADMSG: it is not what it has to be, and
 * nothing of it is taken.
 */
int status_parse(const char *tray, const void *at, size_t len, struct tray_status *ret,
		 struct status_taken *ret_taken, struct bwl_err *e);
/* Does it refuse that version of "KIND/NAME"? NULL: no. */
const struct status_refused *status_refuses(const struct tray_status *s, const char *what,
					    uint64_t version);

#endif
