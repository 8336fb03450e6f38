/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By which key a tray's status is signed, and whether one is: the audit log's, where the tray's
 * enrolment names it (`log_key`). Then one that is not signed by it, or older than what was taken
 * before, is refused: who has the tray's certificate of the store says nothing in its name. Where
 * the enrolment names none, a status is what it says, and never called signed. Pure, but for the
 * lock of struct status_signers.
 */
#ifndef BWL_FLEET_SIGNER_H
#define BWL_FLEET_SIGNER_H

#include <jansson.h>
#include "signed/key.h"
#include "status.h"

struct status_signer {
	bool named;
	uint8_t pub[BWL_PUBLIC];
	char fleet[BWL_NAME_LEN];
};
/* body: of an enrolment that was verified. */
void status_signer_of(const char *fleet, const json_t *body, struct status_signer *ret);
bool status_signer_is(const struct status_signer *a, const struct status_signer *b);

/* The newest that was taken under one key; and whether what came since was refused. */
struct status_last {
	uint64_t number;
	uint8_t digest[32];
	char refused[128]; /* why; empty: it was not */
};

/* What a status was: words of docs/schema/fields.json. */
const char *status_signature_word(const struct status_signer *by, const struct status_last *last);

/*
 * status_parse() of what the tray's key says, or of what is not signed. 1: the same again, and no
 * sign of life. -EKEYREJECTED, with id "status-refused": not of that tray or key, or older; last
 * has why, *ret is as it was. -EBADMSG: it cannot be read, and *ret is empty. ret_taken,
 * ret_payload may be NULL; the caller frees the payload, which is NUL-terminated.
 */
int status_take(const char *tray, const struct status_signer *by, struct status_last *last,
		const void *at, size_t len, struct tray_status *ret, struct status_taken *ret_taken,
		char **ret_payload, struct bwl_err *e);

/* The signers of all trays, from who judges enrolments to who reads statuses on another thread. */
struct status_signers;
struct status_signers *status_signers_new(void);
void status_signers_free(struct status_signers *s); /* NULL-safe */
void status_signers_set(struct status_signers *s, const char *tray, const struct status_signer *by);
/* s NULL, or none was set: none is named. */
struct status_signer status_signers_get(struct status_signers *s, const char *tray);

#endif
