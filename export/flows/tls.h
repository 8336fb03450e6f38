/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TLS with certificates on both sides (RFC 7011, 11.3), over a connected socket. */
#ifndef BWL_EXPORT_FLOWS_TLS_H
#define BWL_EXPORT_FLOWS_TLS_H

#include "way.h"

struct tls;
int tls_open(const struct way_conf *c, int fd, struct tls **ret, struct bwl_err *e);
void tls_close(struct tls *t); /* the socket stays open */
int tls_send(struct tls *t, const void *at, size_t n, struct bwl_err *e);
/* Has the other end refused us, or hung up? */
int tls_look(struct tls *t, struct bwl_err *e);

#endif
