/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where documents are in the store, below a prefix ("/bwl/v1"). The controller writes; a tray reads
 * what is for all trays and for itself, and writes only its own `out`:
 *
 *	PREFIX/all/doc/KIND/NAME	a document for every tray
 *	PREFIX/all/big/KIND/NAME	one that is in parts: "PARTS SHA256"
 *	PREFIX/part/SHA256/00000	its parts; they never change
 *	PREFIX/node/TRAY/in/doc/…	as `all`, for one tray
 *	PREFIX/node/TRAY/in/big/…
 *	PREFIX/node/TRAY/in/cosigned	its audit log's checkpoint, as the controller cosigned it
 *	PREFIX/node/TRAY/out/alive	the tray's, under its lease
 *	PREFIX/node/TRAY/out/status
 *	PREFIX/node/TRAY/out/at		where it serves its numbers, ADDR:PORT, under its lease
 *	PREFIX/pending/…		as PREFIX/: documents that wait for signatures; no tray
 *				reads them
 *	PREFIX/controller/…		the controllers' own: no tray reads it
 *
 * Every range ends in '/', so the range of tray1 does not include tray10.
 */
#ifndef BWL_FLEET_LAYOUT_H
#define BWL_FLEET_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bwl/err.h"
#include "etcd.h"

/* Kinds of documents, in the order in which they are passed on: closing ones first. */
#define BWL_DOC_KINDS(X)                                                                           \
	X(root)                                                                                    \
	X(timestamp)                                                                               \
	X(revocation)                                                                              \
	X(expulsion)                                                                               \
	X(enrolment)                                                                               \
	X(policy)                                                                                  \
	X(rollout)                                                                                 \
	X(lease)                                                                                   \
	X(grant)
enum bwl_doc_kind {
#define X(k) BWL_DOC_##k,
	BWL_DOC_KINDS(X)
#undef X
		BWL_DOC_KIND_COUNT
};
const char *bwl_doc_kind_name(enum bwl_doc_kind k);
/* BWL_DOC_KIND_COUNT: none */
enum bwl_doc_kind bwl_doc_kind_of(const char *name, size_t len);

#define BWL_DOC_NAME_MAX 80            /* with its '\0' */
#define BWL_DOC_INLINE_MAX (64U << 10) /* bytes in one value; the rest is in parts */
#define BWL_DOC_PART_BYTES (512U << 10)
#define BWL_DOC_MAX (16U << 20) /* bytes of a document */
#define BWL_DOC_SHA_HEX 65      /* with its '\0' */

/* Names of trays and documents: letters, digits, '.', '_', '-'; not empty, ".", or "..". */
bool bwl_store_name_ok(const char *name, size_t len);
int bwl_store_prefix_ok(const char *prefix, struct bwl_err *e);

/* tray NULL: for all. big: the key of its head, otherwise of itself. 0 or -ENAMETOOLONG */
int bwl_doc_key(char key[static BWL_ETCD_KEY_MAX], const char *prefix, const char *tray,
		enum bwl_doc_kind kind, const char *name, bool big);
/* The range of all documents of a tray, or for all; including its last '/'. */
int bwl_doc_range(char key[static BWL_ETCD_KEY_MAX], const char *prefix, const char *tray);
int bwl_part_key(char key[static BWL_ETCD_KEY_MAX], const char *prefix, const char *sha,
		 unsigned part);
int bwl_cosigned_key(char key[static BWL_ETCD_KEY_MAX], const char *prefix, const char *tray);
int bwl_out_key(char key[static BWL_ETCD_KEY_MAX], const char *prefix, const char *tray,
		const char *what);

struct bwl_doc_at {
	enum bwl_doc_kind kind;
	bool big;
	char name[BWL_DOC_NAME_MAX];
};
/* Parses a key of a range of documents; -EINVAL: unknown. */
int bwl_doc_parse_key(const char *range, const char *key, size_t len, struct bwl_doc_at *ret);

struct bwl_doc_head {
	unsigned parts;
	char sha[BWL_DOC_SHA_HEX]; /* of the whole */
};
void bwl_doc_sha(const void *at, size_t len, char hex[static BWL_DOC_SHA_HEX]);
int bwl_doc_parse_head(const char *at, size_t len, struct bwl_doc_head *ret);

#endif
