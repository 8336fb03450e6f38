// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This tray's status for the fleet. If its enrolment names the key of its audit log, it is signed
 * by that key (signed/said/said.h): then a thief of this tray's store certificate can withhold it,
 * but not replace it. If the enrolment names none, nobody could verify it, and older controllers
 * read it unsigned.
 *
 * Each status has a number higher than all before, also over restarts: blocks of numbers are
 * reserved on disk before they are used. The number starts at the wall clock's milliseconds, so
 * that it also rises if that file was lost; a clock that goes back makes no difference.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include "agent.h"
#include "audit/item.h"
#include "audit/log.h"
#include "bwl/agent.h"
#include "bwl/clock.h"
#include "part.h"
#include "signed/said/said.h"

#define FILE_NAME "status.number"
#define BLOCK 4096 /* numbers; one each quarter of a second is the most */

/*
 * If the disk cannot be written, the numbers go on rising until the process ends, and a restart
 * begins by the clock.
 */
static void put_aside(struct documents *v)
{
	char text[32];
	struct bwl_err e = { 0 };

	v->said.end = v->said.number + BLOCK;
	snprintf(text, sizeof(text), "%" PRIu64, v->said.end);
	if (agent_state_write(v->a->state_dir, FILE_NAME, text, &e) && !v->said.told) {
		v->said.told = true;
		agent_later_line(LOG_WARNING, "documents",
				 "cannot store the number of the newest signed status: %s", e.text);
	}
}

static uint64_t next_number(struct documents *v, int64_t wall_s)
{
	char text[32];
	uint64_t kept;

	if (!v->said.number) {
		v->said.number = wall_s > 0 ? (uint64_t)wall_s * 1000 : 1;
		if (!agent_state_read(v->a->state_dir, FILE_NAME, text, sizeof(text))) {
			kept = strtoull(text, NULL, 10);
			if (kept > v->said.number && kept < INT64_MAX)
				v->said.number = kept;
		}
		v->said.end = 0;
	}
	if (v->said.number >= v->said.end)
		put_aside(v);
	return ++v->said.number;
}

static int read_key(struct bwl_note_key *ret, struct bwl_err *e)
{
	const char *dir = bwl_audit_dir(NULL);
	char path[BWL_AUDIT_PATH], text[BWL_NOTE_KEY_TEXT + 2] = "";
	FILE *f;
	int r;

	if (!dir)
		return bwl_fail(e, ENOENT, "there is no audit log");
	r = bwl_audit_path(path, dir, "key", e);
	if (r)
		return r;
	f = fopen(path, "re");
	if (!f)
		return bwl_fail(e, errno, "cannot read %s: %m", path);
	if (!fgets(text, sizeof(text), f))
		*text = '\0';
	fclose(f);
	r = bwl_note_key_parse(text, ret, e);
	explicit_bzero(text, sizeof(text));
	return !r && !ret->can_sign ? bwl_fail(e, EINVAL, "%s is not a private key", path) : r;
}

static char *sign(const struct documents *v, const char *payload, struct bwl_err *e)
{
	const struct bwl_tray *tray = bwl_memory_tray(v->docs.m);
	char mine[BWL_NOTE_KEY_TEXT];
	struct bwl_note_key k;
	BWL_AUTO(bwl_key_free) struct bwl_key *key = NULL;

	if (read_key(&k, e))
		return NULL;
	if (strcmp(bwl_note_key_format(&k, false, mine), bwl_memory_log_key(v->docs.m)) != 0) {
		bwl_fail(
			e, EKEYREJECTED,
			"the enrolment names another key than that of the audit log here, %s: enrol the tray again with this key",
			mine);
		explicit_bzero(&k, sizeof(k));
		return NULL;
	}
	key = bwl_key_of_seed(k.seed);
	explicit_bzero(&k, sizeof(k));
	return bwl_said_sign(key, tray->fleet, tray->name, payload, strlen(payload), e);
}

json_t *docs_say(struct documents *v, uint64_t cosigned)
{
	BWL_AUTO_FREE char *payload = NULL, *text = NULL;
	struct docs_clock c = docs_clock_now();
	struct bwl_err e = { 0 };
	json_t *o, *ret;

	if (!v->docs.m || !bwl_memory_log_key(v->docs.m))
		return docs_status(v, cosigned, NULL);
	o = docs_status(v, cosigned,
			&(struct docs_stamp){ .number = next_number(v, c.wall_s),
					      .wall_s = docs_now(&v->docs, &c),
					      .boot_s = bwl_now_ns() / 1000000000ULL });
	payload = bwl_must(json_dumps(o, JSON_COMPACT));
	text = sign(v, payload, &e);
	if (!text) {
		/* Verifiers refuse an unsigned status, and report that. */
		if (strcmp(v->said.why, e.text) != 0)
			agent_later_line(LOG_WARNING, "documents", "the status is not signed: %s",
					 e.text);
		snprintf(v->said.why, sizeof(v->said.why), "%.199s", e.text);
		return o;
	}
	*v->said.why = '\0';
	json_decref(o);
	ret = json_string(text);
	return bwl_must(ret);
}
