// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Both sides of a power cut (power_cut.py makes the cut itself).
 *
 * watch: before it, writes into the log of a dm-log-writes device how far each volume was released.
 * The release is read before it is logged, so whatever is on disk from there on must contain at
 * least that much. open: after it, opens what is there as the agent and the tools would, and
 * continues with it; one directory per line of standard input, so that a thousand cuts need one
 * process.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "audit/verify.h"
#include "bwl/pins.h"
#include "bwl/tables.h"
#include "agent/ledger/ledger.h"

#define VOLUMES 8
#define MARK_TEXT 400 /* a mark with its header fits into one sector */

struct watch {
	struct bwl_pins *pins;
	uint32_t state[VOLUMES];
	char key[VOLUMES][BWL_LIMIT_KEY];
	uint64_t said[VOLUMES];
	unsigned n;
};

static void add(const struct bwl_limit *l, uint32_t state, void *arg)
{
	struct watch *w = arg;
	char *s;

	if (l->volume.spendable_bytes == BWL_VOLUME_NONE || w->n == VOLUMES)
		return;
	bwl_limit_key(w->pins, state, w->key[w->n]);
	for (s = w->key[w->n]; *s; s++)
		if (*s == ' ') /* spaces separate the words of a message */
			*s = '+';
	w->state[w->n++] = state;
}

/* Like dmsetup(8), but without a process for each message. */
static int say(int control, const char *device, const char *text)
{
	_Alignas(8) char
		buf[sizeof(struct dm_ioctl) + sizeof(struct dm_target_msg) + MARK_TEXT + 8] = "";
	struct dm_ioctl *head = (struct dm_ioctl *)buf;
	struct dm_target_msg *msg = (struct dm_target_msg *)(buf + sizeof(*head));

	*head = (struct dm_ioctl){ .version = { 4, 0, 0 },
				   .data_size = sizeof(buf),
				   .data_start = sizeof(*head) };
	snprintf(head->name, sizeof(head->name), "%s", device);
	snprintf(msg->message, MARK_TEXT + 8, "mark %s", text);
	return ioctl(control, DM_TARGET_MSG, buf) ? -errno : 0;
}

static bool differs(struct watch *w, char text[static MARK_TEXT])
{
	bool any = false;
	size_t at = (size_t)snprintf(text, MARK_TEXT, "released");
	uint64_t v;
	unsigned i;

	for (i = 0; i < w->n; i++) {
		v = __atomic_load_n(&w->pins->mark[w->state[i]].spendable_bytes, __ATOMIC_SEQ_CST);
		any |= v != w->said[i];
		w->said[i] = v;
		if (v > BWL_RELEASE_CLOSED && at < MARK_TEXT)
			at += (size_t)snprintf(text + at, MARK_TEXT - at, ",%s=%llu", w->key[i],
					       (unsigned long long)v);
	}
	return any;
}

static int watch(const char *device)
{
	int control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC), r;
	struct watch w = { 0 };
	struct bwl_err e = { 0 };
	char text[MARK_TEXT];
	struct bwl_gen g;

	r = control < 0 ? bwl_fail(&e, errno, "/dev/mapper/control: %s", strerror(errno)) : 0;
	if (!r)
		r = bwl_pins_open(NULL, false, &w.pins, &e);
	if (!r)
		r = bwl_gen_open(w.pins, bwl_active_slot(w.pins), &g, &e);
	if (!r)
		bwl_limit_each(w.pins, &g, add, &w);
	while (!r) {
		if (differs(&w, text)) {
			r = say(control, device, text);
			if (r)
				bwl_fail(&e, -r, "mark: %s", strerror(-r));
		}
		nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
	}
	bwl_err_print(&e, "bwl-powercut", false);
	return 1;
}

static json_t *put_error(json_t *o, const char *what, const struct bwl_err *e)
{
	json_object_set_new(o, what, json_string(e->text));
	return o;
}

static json_t *open_ledger(const char *dir)
{
	static const char *const hows[] = { "found", "begun", "set-aside" };
	json_t *o = json_object(), *rows = json_object();
	struct bwl_err e = { 0 };
	struct ledger *l = NULL;
	enum ledger_how how;
	int i;

	json_object_set_new(o, "rows", rows);
	if (ledger_open(dir, &l, &how, &e))
		return put_error(o, "error", &e);
	json_object_set_new(o, "how", json_string(hows[how]));
	if (how == LEDGER_SET_ASIDE)
		put_error(o, "why", &e);
	json_object_set_new(o, "seq", json_integer((json_int_t)ledger_seq(l)));
	for (i = 0; i < ledger_count(l); i++)
		json_object_set_new(rows, ledger_at(l, i)->key,
				    json_integer((json_int_t)ledger_at(l, i)->spent));
	if (ledger_commit(l, &e))
		put_error(o, "error", &e);
	ledger_close(l);
	return o;
}

static void problem(const struct bwl_audit_problem *p, void *arg)
{
	json_array_append_new(arg, json_sprintf("%s: %s", bwl_audit_fault_name(p->fault), p->text));
}

static json_t *verify(const char *dir, const struct bwl_note_key *k)
{
	struct bwl_audit_result v = { 0 };
	struct bwl_err e = { 0 };
	json_t *problems = json_array(), *o;

	if (bwl_audit_verify(dir, k, NULL, 0, problem, problems, &v, &e)) {
		json_decref(problems);
		return put_error(json_object(), "error", &e);
	}
	o = json_pack("{s:o,s:I,s:I,s:I}", "problems", problems, "records", (json_int_t)v.records,
		      "unsigned", (json_int_t)v.unsigned_records, "torn", (json_int_t)v.torn_bytes);
	return o;
}

static json_t *open_audit(const char *dir, const char *pub)
{
	struct bwl_audit_log *log = NULL;
	json_t *o = json_object();
	struct bwl_note_key k;
	struct bwl_err e = { 0 };

	if (bwl_note_key_parse(pub, &k, &e) || bwl_audit_open(dir, &log, &e))
		return put_error(o, "error", &e);
	json_object_set_new(o, "on", json_boolean(log));
	if (!log)
		return o;
	json_object_set_new(o, "before", verify(dir, &k));
	if (bwl_audit_append(log, BWL_AUDIT_BEFORE, "start", "after a power cut", NULL, NULL, &e))
		put_error(o, "error", &e);
	json_object_set_new(o, "after", verify(dir, &k));
	bwl_audit_close(log);
	return o;
}

static void after_cut(const char *dir, const char *pub)
{
	char audit[600];
	json_t *o;

	snprintf(audit, sizeof(audit), "%s/audit", dir);
	o = json_pack("{s:o,s:o}", "ledger", open_ledger(dir), "audit", open_audit(audit, pub));
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(o);
}

int main(int argc, char **argv)
{
	char line[512];

	if (argc == 3 && !strcmp(argv[1], "watch"))
		return watch(argv[2]);
	if (argc != 3 || strcmp(argv[1], "open")) {
		fputs("usage: bwl-powercut watch DM-DEVICE | open PUBLIC-KEY <STATE-DIRS\n",
		      stderr);
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		after_cut(line, argv[2]);
	}
	return 0;
}
