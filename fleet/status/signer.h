/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By which key a tray's status is signed, and whether one is: the audit log's, where the tray's
 * enrolment names it (`log_key`). Then one that is not signed by it, or older than what was taken
 * before, is refused: who has the tray's certificate of the store says nothing in its name. Where
 * the enrolment names none, a status is what it says, and never called signed. Where the enrolment
 * cannot be judged nobody knows which of the two it is: then nothing is taken. One that was signed
 * long ago is late: who has the tray's bwlimit-sync may hold it back. Pure, but for the lock of
 * struct status_signers.
 */
#ifndef BWL_FLEET_SIGNER_H
#define BWL_FLEET_SIGNER_H

#include <jansson.h>
#include "signed/key.h"
#include "status.h"

struct status_signer {
	bool named;
	bool unjudged; /* and none is named: there is an enrolment that nobody can judge */
	char why[80];  /* of that */
	uint8_t pub[BWL_PUBLIC];
	char fleet[BWL_NAME_LEN];
};
/* body: of an enrolment that was verified. */
void status_signer_of(const char *fleet, const json_t *body, struct status_signer *ret);
/* Of an enrolment that cannot be judged; why: what is wrong with it. */
void status_signer_unjudged(const char *why, struct status_signer *ret);
bool status_signer_is(const struct status_signer *a, const struct status_signer *b);

/* Whoever reads a status, at this moment: by the clock since its boot, and by that of the wall. */
struct status_now {
	uint64_t ns;
	int64_t wall_s;
};

/*
 * So much a status may be behind: by the tray's clock against the reader's, and by the tray's time
 * since its boot against the least that it ever was behind. Trays speak every 30 s; a stage of a
 * rollout soaks for minutes.
 */
#define STATUS_LATE_S 120

/* The newest that was taken under one key; and whether what came since was refused. */
struct status_last {
	uint64_t number;
	uint8_t digest[32];
	char refused[256]; /* why; empty: it was not */
	bool unjudged;     /* and that is why */
	int64_t said_s, up_s;
	/* By the reader's clock: when its boot was at the latest, and when that was found. */
	int64_t boot_s, boot_seen_s;
	int64_t held_s; /* so much later than that the newest one came */
};

/* The newest is read again, and no older one: what was refused meanwhile is forgotten. */
void status_last_again(struct status_last *last);

/* What the newest status is worth. */
enum status_worth {
	STATUS_UNSIGNED, /* its enrolment names no key, and nobody has verified it */
	STATUS_SIGNED,
	STATUS_LATE,     /* signed, and more than STATUS_LATE_S behind */
	STATUS_UNJUDGED, /* its enrolment cannot be judged */
	STATUS_REFUSED,
};
enum status_worth status_worth(const struct status_signer *by, const struct status_last *last,
			       const struct status_now *now);
/* Words of docs/schema/fields.json. */
const char *status_signature_word(enum status_worth w);
/* Why it is not taken for what it says, and what to do; false, with e as it was: it is. */
bool status_doubt(const struct status_signer *by, const struct status_last *last,
		  const struct status_now *now, struct bwl_err *e);

/*
 * status_parse() of what the tray's key says, or of what is not signed. 1: the same again, and no
 * sign of life. -EKEYREJECTED, with id "status-refused" or "status-unjudged": not of that tray or
 * key, or older, or nobody knows; last has why, *ret is as it was. -EBADMSG: it cannot be read, and
 * *ret is empty. Whether it is late status_worth() says, then and later. ret_taken, ret_payload may
 * be NULL; the caller frees the payload, which is NUL-terminated.
 */
int status_take(const char *tray, const struct status_signer *by, struct status_last *last,
		const struct status_now *now, const void *at, size_t len, struct tray_status *ret,
		struct status_taken *ret_taken, char **ret_payload, struct bwl_err *e);

/* The signers of all trays, from who judges enrolments to who reads statuses on another thread. */
struct status_signers;
struct status_signers *status_signers_new(void);
void status_signers_free(struct status_signers *s); /* NULL-safe */
void status_signers_set(struct status_signers *s, const char *tray, const struct status_signer *by);
/* s NULL, or none was set: none is named. */
struct status_signer status_signers_get(struct status_signers *s, const char *tray);

#endif
