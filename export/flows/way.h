/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The destination of bytes: a file, or a collector by TCP, TLS or UDP. Nothing is read except what
 * TLS needs.
 */
#ifndef BWL_EXPORT_FLOWS_WAY_H
#define BWL_EXPORT_FLOWS_WAY_H

#include <stddef.h>
#include <stdint.h>
#include <bwl/err.h>

enum way_kind { WAY_NONE, WAY_FILE, WAY_TCP, WAY_TLS, WAY_UDP };

struct way_conf {
	enum way_kind kind;
	char path[400];
	char host[256], port[8];
	const char *device;          /* NULL: any */
	const char *ca, *cert, *key; /* PEM, for TLS */
};

/* "file:PATH", "tcp:HOST:PORT", "tls:HOST:PORT", "udp:HOST:PORT"; [HOST] of IPv6 */
int way_parse(const char *s, struct way_conf *ret, struct bwl_err *e);

struct way;
/*
 * bytes: what comes after them, in the file with that inode (0: any file), was begun and not
 * finished, and is cut off. Nothing is cut off another file: it is not ours.
 */
int way_open(const struct way_conf *c, uint64_t bytes, uint64_t inode, struct way **ret,
	     struct bwl_err *e);
void way_close(struct way *w);
/* Sends all, or the connection is no longer usable. By UDP one message. */
int way_send(struct way *w, const void *at, size_t n, struct bwl_err *e);
/* The data is on the disk; or the collector's kernel has it, and the collector has not hung up. */
int way_settle(struct way *w, struct bwl_err *e);
uint64_t way_file_bytes(const struct way *w);
uint64_t way_file_inode(const struct way *w); /* 0: not a file */

#endif
