// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The journal of closures at both ends of a power cut (power_cut.py has the cut itself).
 *
 * write: before it, closes and opens names at random, and says into the log of a dm-log-writes
 * device when a closing is acknowledged and before an opening is begun. open: after it, says what
 * the journal has closed, and closes one name more; one folder for each line of standard input.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "journal/journal.h"
#include "mark.h"

#define NAMES 6U
#define COMPACTED 6000 /* bytes: several times in a run */

static int append(const char *dir, uint32_t kind, unsigned n, struct bwl_err *e)
{
	struct bwl_journal_rec r = { .kind = kind };
	struct bwl_pfx p;
	char text[32];

	if (kind == BWL_J_CLOSE || kind == BWL_J_OPEN) {
		snprintf(r.name, sizeof(r.name), "p%u", n);
		snprintf(text, sizeof(text), "10.%u.0.0/16", n);
		if (bwl_pfx_parse(text, &p, e))
			return -1;
		r.pfx = &p;
		r.npfx = 1;
	}
	return bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, e);
}

static int say(int control, const char *device, const char *what, unsigned n)
{
	char text[MARK_TEXT];

	snprintf(text, sizeof(text), n == NAMES ? "%s=stop" : "%s=p%u", what, n);
	return mark_say(control, device, text);
}

/* One step: n of NAMES is the stop switch. */
static int step(int control, const char *device, const char *dir, unsigned n, bool opens,
		struct bwl_err *e)
{
	uint32_t kind = n == NAMES ? (opens ? BWL_J_START : BWL_J_STOP)
				   : (opens ? BWL_J_OPEN : BWL_J_CLOSE);
	int r = opens ? say(control, device, "opening", n) : 0;

	if (!r)
		r = append(dir, kind, n, e);
	return r || opens ? r : say(control, device, "closed", n);
}

static int write_journal(const char *device, const char *dir, unsigned steps)
{
	int control = mark_open(), r = control < 0 ? -errno : 0;
	enum bwl_journal_state was;
	struct bwl_err e = { 0 };
	unsigned i;

	srandom(1);
	bwl_journal_set_limit(COMPACTED);
	if (!r)
		r = bwl_journal_make(dir, NULL, 0, &was, &e);
	if (!r)
		r = mark_say(control, device, "made");
	for (i = 0; !r && i < steps; i++)
		r = step(control, device, dir, (unsigned)random() % (NAMES + 1), random() % 3 == 0,
			 &e);
	if (r)
		fprintf(stderr, "step %u: %d %s\n", i, r, e.text);
	return !!r;
}

static json_t *look(const char *dir)
{
	struct bwl_journal j;
	json_t *o, *closed = json_array();
	struct bwl_pfx p;
	char text[32];
	unsigned n;

	bwl_journal_look(dir, &j);
	for (n = 0; n < NAMES; n++) {
		snprintf(text, sizeof(text), "10.%u.0.0/16", n);
		bwl_pfx_parse(text, &p, NULL);
		snprintf(text, sizeof(text), "p%u", n);
		if (bwl_closed_name_is(&j.closed, text) && bwl_closed_pfx_is(&j.closed, &p))
			json_array_append_new(closed, json_string(text));
	}
	if (bwl_closed_name_is(&j.closed, "after"))
		json_array_append_new(closed, json_string("after"));
	if (j.closed.stop)
		json_array_append_new(closed, json_string("stop"));
	o = json_pack("{s:s, s:s, s:o, s:I}", "state", bwl_journal_state_name(j.state), "why",
		      j.why, "closed", closed, "torn", (json_int_t)j.torn);
	bwl_journal_free(&j);
	return o;
}

static void after_cut(const char *dir)
{
	struct bwl_journal_rec r = { .kind = BWL_J_CLOSE, .name = "after" };
	struct bwl_err e = { 0 };
	json_t *o = json_pack("{s:o}", "before", look(dir));

	bwl_journal_append(dir, &r, 1, BWL_JOURNAL_ANY, &e);
	json_object_set_new(o, "error", json_string(e.text));
	json_object_set_new(o, "after", look(dir));
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(o);
}

int main(int argc, char **argv)
{
	char line[512];

	if (argc == 5 && !strcmp(argv[1], "write"))
		return write_journal(argv[2], argv[3], (unsigned)atoi(argv[4]));
	if (argc < 2 || strcmp(argv[1], "open")) {
		fputs("usage: bwl-journalcut write DM-DEVICE DIR STEPS | open <STATE-DIRS\n",
		      stderr);
		return 2;
	}
	while (fgets(line, sizeof(line) - 16, stdin)) {
		line[strcspn(line, "\n")] = '\0';
		strcat(line, "/journal");
		after_cut(line);
	}
	return 0;
}
