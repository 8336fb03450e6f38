// SPDX-License-Identifier: GPL-2.0-or-later
/* See history_roots.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include "audit/item.h"
#include "audit/log.h"
#include "evidence/keys.h"
#include "evidence/peer.h"
#include "evidence/rows.h"
#include "history_roots.h"
#include "log.h"

#define HOUR 3600
#define DAY 86400
/* after an hour's end: by then its rows are written, and the hour before is folded */
#define GRACE_S 60
#define DIGITS "%020" PRIu64
#define EVENT "history"
#define FILES 2 /* the log's newest files that are read: a file holds 16 MiB, more than a day */

static void add_row(const struct hist_row *row, void *arg)
{
	ev_rows_add(arg, &(struct ev_row){ row->peer, row->class_, (uint64_t)row->start_s,
					   (uint64_t)row->part, row->points, row->len });
}

/* {"hour", "slots", "root"}, of the same length for every hour. NULL: the error is in e. */
static json_t *root_of(struct hist_db *db, const uint8_t key[32], bool seconds, int64_t hour,
		       struct bwl_err *e)
{
	struct ev_rows rows = { .seconds = seconds, .hour = (uint64_t)hour };
	struct bwl_hash root;
	char text[2][24];
	uint32_t slots;
	bool made;
	int r;

	memcpy(rows.key, key, sizeof(rows.key));
	r = hist_db_rows(db, seconds, hour, add_row, &rows, e);
	made = ev_rows_root(&rows, &root, &slots);
	if (!r && !made)
		r = bwl_fail(e, E2BIG, "more than %u rows in an hour", EV_SLOTS_MAX);
	if (r)
		return NULL;
	snprintf(text[0], sizeof(text[0]), DIGITS, (uint64_t)hour);
	snprintf(text[1], sizeof(text[1]), DIGITS, (uint64_t)slots);
	return json_pack("{s:s,s:s,s:o}", "hour", text[0], "slots", text[1], "root",
			 ev_bytes_json(root.b, sizeof(root.b)));
}

static bool is_on(void)
{
	struct bwl_audit_log *log = NULL;
	bool on = !bwl_audit_open(NULL, &log, NULL) && log;

	bwl_audit_close(log);
	return on;
}

static int enter(struct hist_db *db, const char *state_dir, int64_t hour, int64_t wall_s,
		 struct bwl_err *e)
{
	uint64_t epoch = (uint64_t)(wall_s / DAY);
	json_t *seconds, *minutes;
	uint8_t key[32];
	char text[24];
	int r = ev_key_make(state_dir, epoch, key, e);

	if (r)
		return r;
	seconds = root_of(db, key, true, hour, e);
	minutes = seconds ? root_of(db, key, false, hour - 1, e) : NULL;
	explicit_bzero(key, sizeof(key));
	if (!minutes) {
		json_decref(seconds);
		return -e->code;
	}
	snprintf(text, sizeof(text), DIGITS, epoch);
	agent_record_regular(EVENT, "commitment to an hour of the history",
			     json_pack("{s:i,s:s,s:o,s:o}", "version", 1, "epoch", text, "seconds",
				       seconds, "minutes", minutes));
	return 0;
}

static int take_hour(const struct bwl_audit_item *i, void *arg)
{
	const char *event = json_string_value(json_object_get(i->json, "event"));
	const json_t *data = json_object_get(i->json, "data");
	const char *hour = json_string_value(
		json_object_get(json_object_get(data, "seconds"), "hour"));

	if (i->kind == BWL_AUDIT_RECORD && event && !strcmp(event, EVENT) && hour)
		*(int64_t *)arg = strtoll(hour, NULL, 10);
	return 0;
}

/* The last hour in the log; 0: none was found. */
static int64_t hour_in_log(void)
{
	const char *dir = bwl_audit_dir(NULL);
	struct bwl_audit_file *file = NULL;
	size_t n = 0, from;
	int64_t hour = 0;

	if (dir && !bwl_audit_files(dir, &file, &n, NULL)) {
		from = n > FILES ? n - FILES : 0;
		bwl_audit_scan_files(dir, file + from, n - from, take_hour, &hour, NULL);
	}
	free(file);
	return hour;
}

void agent_history_enter(struct agent_history_roots *x, struct hist_db *db, const char *state_dir,
			 int64_t wall_s)
{
	int64_t hour = (wall_s - GRACE_S) / HOUR - 1;
	struct bwl_err e = { 0 };

	if (hour < 1 || hour == x->hour || !is_on())
		return;
	if (!x->looked)
		x->hour = hour_in_log();
	x->looked = true;
	if (hour == x->hour)
		return;
	x->hour = hour; /* once, even if it fails: the next hour is a different one */
	if (enter(db, state_dir, hour, wall_s, &e) && !x->told) {
		agent_log(LOG_WARNING, "history",
			  "hours of the history are not entered into the audit log: %s", e.text);
		x->told = true;
	}
}
