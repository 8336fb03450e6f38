/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A log as the files of c2sp.org/tlog-tiles (v0.1.0), for any web server and any such client:
 *
 *   checkpoint               of the tree that the tiles have, written last
 *   tile/<L>/<N>[.p/<W>]     256 hashes, or W while there are no more
 *   tile/entries/<N>[.p/<W>] the records behind the hashes: big-endian length (16 bits), bytes
 *   retention                the minimum index, and what is missing: docs/retention.md
 *
 * Each file appears complete under its name, on disk; a full one is never written again. The files
 * show every record: whoever may read the folder may read the log.
 */
#ifndef BWL_AUDIT_TILES_H
#define BWL_AUDIT_TILES_H

#include "item.h"

struct bwl_audit_tiles {
	struct bwl_checkpoint c; /* the checkpoint that they now cover */
	uint64_t was;            /* number of records that they covered before */
	uint64_t written;        /* tiles and bundles, written now */
	uint64_t least;          /* the minimum index: everything from there on is available */
	uint64_t lacking;        /* missing bundles, whose records were pruned before */
};
/*
 * Extends the folder `to`, which is created if needed, to the tree of `note` (NULL: the newest
 * checkpoint of the log in dir). Nothing is written unless existing and new files make exactly that
 * tree. -ENOENT: required hashes were pruned; -EBADMSG: the folder belongs to another log, or one
 * of the two is damaged; -ERANGE: it has a later tree.
 */
int bwl_audit_write_tiles(const char *dir, const struct bwl_note_key *k, const char *note,
			  size_t note_len, const char *to, struct bwl_audit_tiles *ret,
			  struct bwl_err *e);

#endif
