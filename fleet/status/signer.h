/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The key that must have signed a tray's status, if any: the audit log's, if the tray's enrolment
 * names it (`log_key`). Then a status not signed by it, or older than an accepted one, is refused:
 * a thief of the tray's store certificate cannot speak in its name. If the enrolment names none, a
 * status counts as it is, and is never called signed. If the enrolment cannot be judged, it is
 * unknown which of the two applies, and nothing is accepted. A status that was signed long ago is
 * late: somebody who controls the tray's bwlimit-sync may have delayed it. Pure, except for the
 * lock of struct status_signers.
 */
#ifndef BWL_FLEET_SIGNER_H
#define BWL_FLEET_SIGNER_H

#include <jansson.h>
#include "signed/key.h"
#include "status.h"

struct status_signer {
	bool named;
	bool unjudged; /* no key is named, because the enrolment cannot be judged */
	char why[80];  /* the reason */
	uint8_t pub[BWL_PUBLIC];
	char fleet[BWL_NAME_LEN];
};
/* body: of a verified enrolment. */
void status_signer_of(const char *fleet, const json_t *body, struct status_signer *ret);
/* For an enrolment that cannot be judged; why: the reason. */
void status_signer_unjudged(const char *why, struct status_signer *ret);
bool status_signer_is(const struct status_signer *a, const struct status_signer *b);

/* The reader's present time: by the clock since its boot, and by the wall clock. */
struct status_now {
	uint64_t ns;
	int64_t wall_s;
};

/*
 * The maximum age of a status: by the tray's clock against the reader's, and by the tray's time
 * since its boot against the smallest delay it ever had. Trays report every 30 s; a stage of a
 * rollout soaks for minutes.
 */
#define STATUS_LATE_S 120

/* The newest accepted status under one key; and whether a later one was refused. */
struct status_last {
	uint64_t number;
	uint8_t digest[32];
	char refused[256]; /* the reason; empty: not refused */
	bool unjudged;     /* refused because of that */
	int64_t said_s, up_s;
	/* By the reader's clock: the latest possible time of its boot, and when that was found. */
	int64_t boot_s, boot_seen_s;
	int64_t held_s; /* delay of the newest one against that */
};

/* The newest is read again, and no older one: forgets refusals in between. */
void status_last_again(struct status_last *last);

/* The worth of the newest status. */
enum status_worth {
	STATUS_UNSIGNED, /* its enrolment names no key, and nobody has verified it */
	STATUS_SIGNED,
	STATUS_LATE,     /* signed, and more than STATUS_LATE_S old */
	STATUS_UNJUDGED, /* its enrolment cannot be judged */
	STATUS_REFUSED,
};
enum status_worth status_worth(const struct status_signer *by, const struct status_last *last,
			       const struct status_now *now);
/* Words of docs/schema/fields.json. */
const char *status_signature_word(enum status_worth w);
/* Why its content is not trusted, and what to do; false, with e unchanged: it is trusted. */
bool status_doubt(const struct status_signer *by, const struct status_last *last,
		  const struct status_now *now, struct bwl_err *e);

/*
 * status_parse() of a status that the tray's key signed, or of one that needs no signature. 1: the
 * same again, which is no sign of life. -EKEYREJECTED, with id "status-refused" or
 * "status-unjudged": not of that tray or key, or older, or cannot be judged; last has why, *ret is
 * unchanged. -EBADMSG: it is unreadable, and *ret is empty. status_worth() tells whether it is
 * late, then and later. ret_taken, ret_payload may be NULL; the caller frees the payload, which is
 * NUL-terminated.
 */
int status_take(const char *tray, const struct status_signer *by, struct status_last *last,
		const struct status_now *now, const void *at, size_t len, struct tray_status *ret,
		struct status_taken *ret_taken, char **ret_payload, struct bwl_err *e);

/*
 * The signers of all trays, shared between the thread that judges enrolments and the one that reads
 * statuses.
 */
struct status_signers;
struct status_signers *status_signers_new(void);
void status_signers_free(struct status_signers *s); /* NULL-safe */
void status_signers_set(struct status_signers *s, const char *tray, const struct status_signer *by);
/* s NULL, or none was set: no key is named. */
struct status_signer status_signers_get(struct status_signers *s, const char *tray);

#endif
