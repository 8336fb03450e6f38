/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is at the other end of a TLS session: of our authority, and one of those who are let in. */
#ifndef BWL_FLEET_WHO_H
#define BWL_FLEET_WHO_H

#include <gnutls/gnutls.h>

#define BWL_WHO_NAME 65 /* of a CommonName, with its NUL: X.520's upper bound */
/* 0 and his CommonName; negative: he is not let in. names ends with NULL. */
int bwl_who(gnutls_session_t session, const char *const *names, char ret[static BWL_WHO_NAME]);

#endif
