/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an SQLite error means: retry, or damaged? For programs that link SQLite. */
#ifndef BWL_SQLITE_H
#define BWL_SQLITE_H

#include <errno.h>
#include <sqlite3.h>

/*
 * The error of the last call on db (NULL: it could not be opened), as an errno. EUCLEAN: damaged.
 */
static inline int bwl_sqlite_errno(sqlite3 *db)
{
	/* clang-format off */
	switch (db ? sqlite3_extended_errcode(db) & 0xff : SQLITE_NOMEM) {
	case SQLITE_CORRUPT: case SQLITE_NOTADB: case SQLITE_MISMATCH: case SQLITE_CONSTRAINT:
	case SQLITE_ERROR: case SQLITE_SCHEMA: case SQLITE_FORMAT: case SQLITE_TOOBIG:
		return EUCLEAN;
	case SQLITE_FULL: return ENOSPC;
	case SQLITE_READONLY: return EROFS;
	case SQLITE_BUSY: case SQLITE_LOCKED: return EBUSY;
	case SQLITE_NOMEM: return ENOMEM;
	case SQLITE_PERM: case SQLITE_AUTH: return EACCES;
	default: return EIO;
	}
	/* clang-format on */
}

#endif
