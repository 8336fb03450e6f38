/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal: shared by the parts of the database. */
#ifndef BWL_HISTORY_DB_INTERNAL_H
#define BWL_HISTORY_DB_INTERNAL_H

#include <sqlite3.h>
#include "db.h"

#define HIST_ROW 16 /* approximate bytes of a row beside its points */
#define HIST_ROW_SQL "16"

enum hist_stmt { S_FIND, S_NAME, S_ADD, S_COUNT, S_META, S_HOUR, S_PUT_HOUR, _STMTS };

struct hist_db {
	sqlite3 *db;
	sqlite3_stmt *stmt[_STMTS];
	struct hist_state state;
	int64_t max_bytes;
	int64_t seconds_bytes, added; /* of table `second`; added: by this transaction */
	int64_t tended_hour;
};

int hist_run(struct hist_db *h, const char *text, struct bwl_err *e);
/* -1: NULL */
int hist_number(struct hist_db *h, const char *text, int64_t *ret, struct bwl_err *e);
/* 1 a row, 0 done */
int hist_step(struct hist_db *h, enum hist_stmt which, struct bwl_err *e);

#endif
