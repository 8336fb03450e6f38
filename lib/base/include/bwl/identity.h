/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IKE identities. A text is understood as charon understands it (strongSwan 5.9.8,
 * identification_create_from_string() of src/libstrongswan/utils/identification.c; unit.identity
 * compares with the real one), but only where it means one tray: what matches several (a wildcard,
 * %any, a network, 0.0.0.0), or cannot be compared with the name of a tray (a key id, bytes in
 * hexadecimal), is refused. Everything that asks whether two identities are the same asks here.
 */
#ifndef BWL_IDENTITY_H
#define BWL_IDENTITY_H

#include <stdbool.h>
#include <bwl/err.h>

enum bwl_identity_type {
	BWL_IDENTITY_FQDN,    /* "fqdn:tray-3" */
	BWL_IDENTITY_MAIL,    /* "rfc822:tray-3@example.org" */
	BWL_IDENTITY_ADDRESS, /* "192.0.2.3", "2001:db8::3" */
	BWL_IDENTITY_DN,      /* "C=CH, CN=tray-3" */
};

#define BWL_IDENTITY_MAX 200 /* characters; an identity shares one datagram with a certificate */
#define BWL_IDENTITY_SIZE 256

struct bwl_identity {
	enum bwl_identity_type type;
	/*
	 * The canonical form, which charon reads as the same identity. Two identities are the same
	 * if these texts are; charon takes some distinguished names for the same although their
	 * letters' case differs (bwl_identity_equals).
	 */
	char text[BWL_IDENTITY_SIZE];
};

/* The error says why s is no identity, without repeating it. */
int bwl_identity_parse(const char *s, struct bwl_identity *ret, struct bwl_err *e);
/* The canonical text of id, or if there is none (NULL, empty) of the FQDN `name`. Returns buf. */
const char *bwl_identity_text(const char *id, const char *name, char buf[static BWL_IDENTITY_SIZE]);

/* As charon compares them. */
bool bwl_identity_equals(const struct bwl_identity *a, const struct bwl_identity *b);
/*
 * Could charon accept the certificate of a tray of that name for it? Such a certificate has the
 * name as FQDN, and as common name of its subject. Rather true: this closes.
 */
bool bwl_identity_is_tray(const struct bwl_identity *x, const char *tray);
/*
 * Is a peer that tray, by its name, or by its identity (NULL: its name's)? id may also be what a
 * file of an older bwlimit has, and this one refuses.
 */
bool bwl_identity_is_peer(const char *tray, const char *name, const char *id);
/* Is `shown` what charon prints of an SA that it made for x? */
bool bwl_identity_is_shown(const struct bwl_identity *x, const char *shown);

#endif
