/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tray's status, signed by the key of its audit log. The envelope is that of documents, with one
 * signature and another payloadType, so that neither can be mistaken for the other:
 *
 *	application/vnd.bwlimit.status+json;fleet=hall-3;tray=tray-7
 *
 * The same key signs checkpoints: they begin with the log's name and a newline, while what is
 * signed here begins with "DSSEv1 ". No I/O.
 */
#ifndef BWL_SIGNED_SAID_H
#define BWL_SIGNED_SAID_H

#include "signed/key.h"

/* The maximum bytes of an envelope: a payload of 4000 in base64, and the rest. */
#define BWL_SAID_MAX 6144

/* The caller frees it. NULL, with an error: the key cannot sign, or a name is invalid. */
char *bwl_said_sign(const struct bwl_key *k, const char *fleet, const char *tray,
		    const char *payload, size_t len, struct bwl_err *e);
/* Has it the form of a signed status? Otherwise it may be an unsigned one. */
bool bwl_said_is_signed(const char *bytes, size_t len);
/*
 * The payload, followed by a NUL, which the caller frees; it was not parsed. -EBADMSG: not an
 * envelope; -EKEYREJECTED: another fleet, tray or key, or an invalid signature.
 */
int bwl_said_open(const uint8_t *pub, const char *fleet, const char *tray, const char *bytes,
		  size_t len, char **ret, size_t *ret_len, struct bwl_err *e);

#endif
