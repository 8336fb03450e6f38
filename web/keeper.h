/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A separate process that reloads the certificate's files: the process on the network can open
 * none. It is asked like an asker (asker.h).
 */
#ifndef BWL_WEB_KEEPER_H
#define BWL_WEB_KEEPER_H

#include "asker.h"
#include "fleet/http/tls.h"

/* file: as for bwl_tls_read(), borrowed. */
int keeper_start(const char *const file[_BWL_TLS_FILES], struct asker *ret, struct bwl_err *e);
/* The keeper must not be busy. */
int keeper_ask(struct asker *keeper);
/*
 * 1: the files, which the caller owns; 0: not yet; negative: they cannot be read, or the process is
 * gone.
 */
int keeper_take(struct asker *keeper, struct bwl_tls_pem *ret, struct bwl_err *e);

#endif
