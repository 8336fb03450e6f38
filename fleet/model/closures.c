// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See answer.h: what is closed where, since when, and what opens it; and which trays lack which
 * document.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "answer.h"
#include "bwl/doc.h"

#define ROWS 256 /* listed; all of them are counted */
#define DOCUMENTS 64
#define TRAYS 8 /* named for each document */
#define TODO 512

struct closure {
	const struct model_tray *t;
	int kind; /* enum status_alarm, or one of: */
#define PEER _STATUS_ALARMS
#define MORE (PEER + 1) /* more peers are closed than the tray could name */
	unsigned i;
	int64_t since_s;
};

struct closures {
	struct closure *row;
	size_t n, room;
};

static void add(struct closures *x, const struct model_tray *t, int kind, unsigned i,
		int64_t since_s)
{
	if (x->n == x->room) {
		x->room = x->room ? 2 * x->room : 64;
		x->row = bwl_must(reallocarray(x->row, x->room, sizeof(*x->row)));
	}
	x->row[x->n++] = (struct closure){ t, kind, i, since_s };
}

static void add_tray(struct closures *x, const struct model_tray *t)
{
	for (int k = 0; k < _STATUS_ALARMS; k++)
		if (t->alarm_bits & 1U << k)
			add(x, t, k, 0,
			    k == STATUS_STOPPED   ? t->stopped_s
			    : k == STATUS_CLAMPED ? t->clamped_s
						  : 0);
	for (unsigned i = 0; i < t->nclosed; i++)
		add(x, t, PEER, i, t->closed_s[i]);
	if (t->closed > t->nclosed)
		add(x, t, MORE, t->closed - t->nclosed, 0);
}

/* Whole trays first, then the newest closures. */
static int order(const void *a, const void *b)
{
	const struct closure *x = a, *y = b;
	int c = (x->kind >= PEER) - (y->kind >= PEER);

	if (!c)
		c = (x->since_s < y->since_s) - (x->since_s > y->since_s);
	c = c ? c : strcmp(x->t->name, y->t->name);
	c = c ? c : x->kind - y->kind;
	return c ? c : (int)x->i - (int)y->i;
}

static const char *text_of(int kind)
{
	switch (kind) {
	case STATUS_STOPPED:
		return "`stop`: nothing passes to anybody";
	case STATUS_CLAMPED:
		return "a sign of tampering: every grant is at its floor";
	case STATUS_FLOOR:
		return "every grant is at its floor: no signed time or lease reaches it, or what held has ended";
	case STATUS_NOT_IN_FORCE:
		return "it could not put in force what it accepted: what was in force before stays";
	case STATUS_WITHHELD:
		return "a document that closes is being withheld: after offline_for every grant is at its floor";
	case STATUS_MEMORY_DAMAGED:
		return "its record of accepted documents is lost: every grant is at its floor";
	case MORE:
		return "more peers are closed than it names";
	}
	return "closed: nothing passes to this peer";
}

/*
 * The tray may be controlled by a thief: a command for people to type has no word from it that a
 * shell would interpret.
 */
static bool is_plain(const char *s)
{
	return *s && *s != '-' &&
	       strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
		       strlen(s);
}

/*
 * Two people sign the document, and it must be signed after the closure: docs/fleet.md, "What a
 * tray's own tools may do".
 */
static json_t *todo_of(const struct model_asked *a, const struct closure *x)
{
	const char *policy = x->t->has_policy ? x->t->policy : x->t->name,
		   *peer = x->kind == PEER
				   ? model_name_text(&a->set->names, x->t->closed_peer[x->i])
				   : "x";
	unsigned long long number = x->t->has_policy ? x->t->policy_version + 1 : 1;
	char todo[TODO], opens[MODEL_NAME_BYTES + 16];

	if (x->kind == STATUS_MEMORY_DAMAGED) {
		snprintf(todo, sizeof(todo), "bwlimit-ctl --fleet enrol %s --key YOUR.pem",
			 x->t->name);
		return is_plain(x->t->name) ? json_string(todo) : json_null();
	}
	if ((x->kind != PEER && x->kind != STATUS_STOPPED && x->kind != STATUS_CLAMPED) ||
	    !is_plain(policy) || !is_plain(peer) || !is_plain(x->t->name) || !is_plain(a->fleet))
		return json_null();
	snprintf(opens, sizeof(opens), "%s %s", x->kind == PEER ? "--opens" : "--lifts",
		 x->kind == PEER             ? peer
		 : x->kind == STATUS_STOPPED ? "stop"
					     : "clamp");
	snprintf(
		todo, sizeof(todo),
		"bwlimit-ctl policy sign %s.yaml --key YOUR.pem --fleet %s --audience tray:%s --name %s --number %llu --for 30d %s",
		policy, a->fleet, x->t->name, policy, number, opens);
	return json_string(todo);
}

static json_t *row(const struct model_asked *a, const struct closure *x)
{
	const char *peer = x->kind == PEER
				   ? model_name_text(&a->set->names, x->t->closed_peer[x->i])
				   : NULL;
	json_t *o = json_object();
	char at[BWL_TIME_BUF];

	json_object_set_new(o, "tray", json_string(x->t->name));
	json_object_set_new(o, "alive", json_boolean(x->t->alive));
	json_object_set_new(o, "closure",
			    json_string(x->kind >= PEER ? "peer" : status_alarm_word(x->kind)));
	json_object_set_new(o, "peer", bwl_json_text(peer));
	json_object_set_new(o, "closed_at",
			    x->since_s ? json_string(bwl_utc(x->since_s, -1, at)) : json_null());
	json_object_set_new(o, "text", json_string(text_of(x->kind)));
	json_object_set_new(o, "todo", todo_of(a, x));
	return o;
}

/* A document that somebody has not taken, by its name: it is missing or was refused. */
struct lacking {
	model_name name;
	bool refused;
	size_t n;
	const char *tray[TRAYS];
};
struct lackings {
	struct lacking of[DOCUMENTS];
	size_t n;
};

static void lack(struct lackings *x, model_name name, bool refused, const struct model_tray *t)
{
	struct lacking *l = x->of;

	while (l < x->of + x->n && (l->name != name || l->refused != refused))
		l++;
	if (l == x->of + DOCUMENTS)
		return;
	if (l == x->of + x->n) {
		*l = (struct lacking){ .name = name, .refused = refused };
		x->n++;
	}
	if (l->n < TRAYS)
		l->tray[l->n] = t->name;
	l->n++;
}

static int most_first(const void *a, const void *b)
{
	const struct lacking *x = a, *y = b;

	return (x->n < y->n) - (x->n > y->n);
}

static json_t *lacking_rows(const struct model_asked *a)
{
	struct lackings *x = bwl_must(calloc(1, sizeof(*x)));
	json_t *list = json_array();

	for (size_t i = 0; i < a->set->n; i++) {
		const struct model_tray *t = a->set->tray[i];

		if (!model_chosen(a->set, t, &a->choice))
			continue;
		for (unsigned k = 0; k < t->nmissing; k++)
			lack(x, t->missing[k], false, t);
		for (unsigned k = 0; k < t->nrefused; k++)
			lack(x, t->refused[k], true, t);
	}
	qsort(x->of, x->n, sizeof(*x->of), most_first);
	for (size_t i = 0; i < x->n; i++) {
		const struct lacking *l = &x->of[i];
		json_t *o = json_object();

		json_object_set_new(o, "document",
				    json_string(model_name_text(&a->set->names, l->name)));
		json_object_set_new(o, "lack", json_string(l->refused ? "refused" : "missing"));
		json_object_set_new(o, "tray_count", bwl_json_u64(l->n));
		json_object_set_new(o, "tray_names",
				    bwl_json_names(l->tray, l->n < TRAYS ? l->n : TRAYS));
		json_array_append_new(list, o);
	}
	free(x);
	return list;
}

json_t *model_closures(const struct model_asked *a)
{
	json_t *o = bwl_doc("fleet-closures"), *rows = json_array();
	struct closures x = { 0 };
	char at[BWL_TIME_BUF];

	for (size_t i = 0; i < a->set->n; i++)
		if (model_chosen(a->set, a->set->tray[i], &a->choice))
			add_tray(&x, a->set->tray[i]);
	if (x.n)
		qsort(x.row, x.n, sizeof(*x.row), order);
	for (size_t i = 0; i < x.n && i < ROWS; i++)
		json_array_append_new(rows, row(a, &x.row[i]));
	json_object_set_new(o, "time", json_string(bwl_utc(a->wall_s, -1, at)));
	json_object_set_new(o, "fleet", json_string(a->fleet));
	json_object_set_new(o, "closure_count", bwl_json_u64(x.n));
	json_object_set_new(o, "closures", rows);
	json_object_set_new(o, "unacknowledged", lacking_rows(a));
	free(x.row);
	return o;
}
