/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server's address, and the files of its certificate. */
#ifndef BWL_FLEET_LISTEN_H
#define BWL_FLEET_LISTEN_H

#include <sys/socket.h>
#include "bwl/err.h"

/* "10.9.0.7:7443", "[fd00::7]:7443" */
int bwl_listen_address(const char *at, struct sockaddr_storage *ret, struct bwl_err *e);
/* The caller frees it. */
int bwl_listen_pem(const char *file, char **ret, struct bwl_err *e);

#endif
