/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The other end of a TLS session: is it from our authority, and allowed by name? */
#ifndef BWL_FLEET_WHO_H
#define BWL_FLEET_WHO_H

#include <gnutls/gnutls.h>

#define BWL_WHO_NAME 65 /* of a CommonName, with its NUL: X.520's upper bound */
/* 0 and its CommonName; negative: not allowed. names ends with NULL. */
int bwl_who(gnutls_session_t session, const char *const *names, char ret[static BWL_WHO_NAME]);

#endif
