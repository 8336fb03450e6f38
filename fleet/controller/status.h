/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a tray says of itself, at PREFIX/node/TRAY/out/status: JSON of at most 4096 bytes. Who has a
 * tray's certificate can write anything there, so nothing is taken for granted but the name in the
 * key, and nothing that is said here opens anything.
 */
#ifndef BWL_CONTROLLER_STATUS_H
#define BWL_CONTROLLER_STATUS_H

#include "bwl/err.h"
#include "fleet/store/layout.h"

#define STATUS_BYTES_MOST 4096
#define STATUS_REFUSED_MOST 4
#define STATUS_PROOF_MOST 64
#define STATUS_ORIGIN 128 /* bytes of a log's origin, with the NUL */

struct status_refused {
	char what[BWL_DOC_NAME_MOST + 16]; /* "KIND/NAME" */
	uint64_t version;
	char text[160];
};

struct tray_status {
	bool has_policy;
	uint8_t policy[32]; /* digest of the policy document in force */
	uint64_t policy_version;
	struct status_refused refused[STATUS_REFUSED_MOST];
	unsigned nrefused;
	uint64_t passed, dropped; /* packets, since the tray's boot or before */
	uint64_t sas_down;
	bool has_checkpoint; /* of its audit log */
	char origin[STATUS_ORIGIN];
	uint64_t size;
	uint8_t root[32];
	/* That it begins with the checkpoint of that size, which was cosigned; none: 0 hashes. */
	uint64_t proof_from;
	uint8_t proof[STATUS_PROOF_MOST][32];
	unsigned nproof;
};

/* tray: whose key it is at. -EBADMSG: it is not what it has to be. */
int status_parse(const char *tray, const void *at, size_t len, struct tray_status *ret,
		 struct bwl_err *e);
/* Does it refuse that version of "KIND/NAME"? NULL: no. */
const struct status_refused *status_refuses(const struct tray_status *s, const char *what,
					    uint64_t version);

#endif
