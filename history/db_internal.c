// SPDX-License-Identifier: GPL-2.0-or-later
/* Errors and the head of history.db, for the writer and readers. */
#include <stdio.h>
#include <string.h>
#include <bwl/sqlite.h>
#include "db_internal.h"

int hist_db_fail(sqlite3 *db, const char *what, struct bwl_err *e)
{
	return bwl_fail(e, bwl_sqlite_errno(db), HIST_FILE ": %.200s: %s", what,
			db ? sqlite3_errmsg(db) : "out of memory");
}

int hist_read_state(sqlite3 *db, struct hist_state *ret, struct bwl_err *e)
{
	sqlite3_stmt *s = NULL;
	const char *era;
	int r = 0;

	if (sqlite3_prepare_v2(db, "SELECT version, era, wall, boot FROM meta WHERE id = 1", -1, &s,
			       NULL))
		return hist_db_fail(db, "cannot be read", e);
	if (sqlite3_step(s) != SQLITE_ROW || sqlite3_column_int(s, 0) != 1) {
		r = sqlite3_errcode(db) == SQLITE_ROW || sqlite3_errcode(db) == SQLITE_DONE
			    ? bwl_fail(e, EUCLEAN,
				       HIST_FILE ": another version, or the head row is missing")
			    : hist_db_fail(db, "cannot be read", e);
	} else {
		era = (const char *)sqlite3_column_text(s, 1);
		snprintf(ret->era, sizeof(ret->era), "%s", era ? era : "");
		ret->wall_s = sqlite3_column_int64(s, 2);
		ret->boot_ns = (uint64_t)sqlite3_column_int64(s, 3);
	}
	sqlite3_finalize(s);
	return r;
}
