// SPDX-License-Identifier: GPL-2.0-or-later
/* All rows of an hour, unchanged, so that they can be committed to. */
#include <stdio.h>
#include "db_internal.h"

#define HOUR 3600

int hist_db_rows(struct hist_db *h, bool seconds, int64_t hour, hist_row_fn fn, void *arg,
		 struct bwl_err *e)
{
	sqlite3_stmt *s = NULL;
	int rc;

	if (sqlite3_prepare_v2(
		    h->db,
		    seconds ? "SELECT peer, class, start, part, points FROM second JOIN series ON series.id = series WHERE start >= ?1 * 3600 AND start < (?1 + 1) * 3600 ORDER BY peer, class, start, part"
			    : "SELECT peer, class, hour * 3600, 0, points FROM minute JOIN series ON series.id = series WHERE hour = ?1 ORDER BY peer, class",
		    -1, &s, NULL))
		return hist_db_fail(h->db, "cannot be read", e);
	sqlite3_bind_int64(s, 1, hour);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		const struct hist_row row = {
			.peer = (const char *)sqlite3_column_text(s, 0),
			.class_ = (const char *)sqlite3_column_text(s, 1),
			.start_s = sqlite3_column_int64(s, 2),
			.part = sqlite3_column_int64(s, 3),
			.points = sqlite3_column_blob(s, 4),
			.len = (size_t)sqlite3_column_bytes(s, 4),
		};

		fn(&row, arg);
	}
	sqlite3_finalize(s);
	return rc == SQLITE_DONE ? 0 : hist_db_fail(h->db, "cannot be read", e);
}
