// SPDX-License-Identifier: GPL-2.0-or-later
/* Closing documents in the store, which signed times name: see view.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "signed/closing.h"
#include "signed/payload.h"
#include "view.h"

static void forget_closing(struct view *v, size_t at)
{
	free(v->closing[at].audience);
	free(v->closing[at].by);
	v->closing[at] = v->closing[--v->nclosing];
}

#define EPOCHS_AHEAD 1024 /* the same limit as on trays (signed/memory.c) */

/*
 * Epochs below this are over for every tray: by the root, or by a revocation for all. An epoch in a
 * policy, or in a revocation for some trays, does not end it for the others.
 */
static uint64_t over_epoch(const struct view *v)
{
	uint64_t root = v->root ? bwl_root_terms(v->root)->epoch : 0;

	return root > v->over_epoch ? root : v->over_epoch;
}

static bool is_newer(const struct bwl_signed_terms *a, const struct bwl_signed_terms *b)
{
	return a->epoch > b->epoch || (a->epoch == b->epoch && a->version > b->version);
}

/* May both documents reach the same tray? */
static bool may_meet(const struct view *v, const char *a, const char *b)
{
	if (!strcmp(a, "all") || !strcmp(b, "all") || !strcmp(a, b))
		return true;
	for (size_t i = 0; i < v->ntrays; i++)
		if (view_is_of(v, a, v->tray[i]) && view_is_of(v, b, v->tray[i]))
			return true;
	return false;
}

/*
 * People identify a revocation by its name: a second one of that name may be meant to displace the
 * first.
 */
static void mind_name(struct view *v, const struct bwl_signed *d, const uint8_t what[32])
{
	char name[BWL_NAME_LEN + 16];
	struct bwl_err why = { 0 };
	bool is_other = false;

	for (size_t i = 0; i < v->nclosing; i++) {
		struct view_closing *c = &v->closing[i];

		if (c->type != d->type || strcmp(c->name, d->terms.name) ||
		    !memcmp(c->what, what, sizeof(c->what)) ||
		    c->terms.not_after_s <= v->time.issued_s ||
		    !may_meet(v, c->audience, d->audience))
			continue;
		c->shared = is_other = true;
	}
	if (!is_other)
		return;
	v->closing[v->nclosing - 1].shared = true;
	snprintf(name, sizeof(name), "%s/%s", bwl_signed_word(d->type), d->terms.name);
	bwl_fail(
		&why, EEXIST,
		"two different documents have this name, and both hold: the store had one in place of the other");
	bwl_hint(
		&why,
		"ask whoever signed them; if one of them did not, their key was stolen: leave it out of the next root");
	why.id = "closing-replaced";
	view_tell(v, name, &why);
}

static bool is_by(const struct view_closing *c, const char *who)
{
	for (unsigned i = 0; i < c->nby; i++)
		if (!strcmp(c->by[i], who))
			return true;
	return false;
}

static void said_by(struct view_closing *c, const char *who)
{
	if (is_by(c, who) || c->nby == VIEW_BY_MAX)
		return;
	c->by = bwl_must(reallocarray(c->by, c->nby + 1, sizeof(*c->by)));
	snprintf(c->by[c->nby++], sizeof(*c->by), "%s", who);
}

/* The signers of the valid closing documents, and their shares of the room. */
struct share {
	const char *by;
	size_t alone;       /* how many are signed by nobody else */
	size_t bytes, next; /* next: where in the list to look for theirs */
	size_t left_out;
	bool full;
};

/* Signers are few: a root has at most 64 keys. */
static struct share *shares_of(const struct view_closing *const *list, size_t n, size_t *ret_n)
{
	struct share *s;
	size_t most = 1;

	for (size_t i = 0; i < n; i++)
		most += list[i]->nby;
	s = bwl_must(calloc(most, sizeof(*s)));
	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		for (unsigned b = 0; b < list[i]->nby; b++) {
			size_t k = 0;

			while (k < *ret_n && strcmp(s[k].by, list[i]->by[b]))
				k++;
			if (k == *ret_n)
				s[(*ret_n)++] = (struct share){ .by = list[i]->by[b], .next = i };
			s[k].alone += list[i]->nby == 1;
		}
	}
	return s;
}

/*
 * The oldest document of the person who has the most makes room: others keep theirs, even if they
 * signed later.
 */
static void make_room(struct view *v)
{
	BWL_AUTO_FREE const struct view_closing **list = bwl_must(
		calloc(v->nclosing + 1, sizeof(*list)));
	BWL_AUTO_FREE struct share *s = NULL;
	struct bwl_err why = { 0 };
	size_t first = v->nclosing, most = 0, nshares;
	const char *by;

	for (size_t i = 0; i < v->nclosing; i++)
		list[i] = &v->closing[i];
	s = shares_of(list, v->nclosing, &nshares);
	for (size_t i = 1; i < nshares; i++)
		if (s[i].alone > s[most].alone)
			most = i;
	by = s[most].by;
	for (size_t i = 0; i < v->nclosing; i++) {
		const struct view_closing *c = &v->closing[i];

		if (s[most].alone && (c->nby > 1 || !is_by(c, by)))
			continue;
		if (first == v->nclosing || c->terms.issued_s < v->closing[first].terms.issued_s)
			first = i;
	}
	bwl_fail(
		&why, E2BIG,
		"more than %u revocations and expulsions hold, most of them signed by %s: the oldest of these are not kept",
		VIEW_CLOSING_MAX, *by ? by : "several people");
	bwl_hint(&why, "ask whoever signed them; a revocation with `new_epoch` ends them all");
	why.id = "closing-no-room";
	view_tell_most(v, VIEW_CUT_CLOSING, "closing", &why);
	forget_closing(v, first);
}

/* Where it is, or where it would be inserted. */
static struct view_closing *closing_for(struct view *v, const struct bwl_signed *d,
					const uint8_t what[32])
{
	for (size_t i = 0; i < v->nclosing; i++) {
		struct view_closing *c = &v->closing[i];

		if (c->type == d->type && !strcmp(c->name, d->terms.name) &&
		    !memcmp(c->what, what, sizeof(c->what))) {
			if (!memcmp(c->digest, d->digest, sizeof(c->digest)))
				c->unjudged = 0;
			said_by(c, d->by);
			return is_newer(&d->terms, &c->terms) || c->unjudged ? c : NULL;
		}
	}
	if (v->nclosing == VIEW_CLOSING_MAX)
		make_room(v);
	if (!(v->nclosing & (v->nclosing - 1))) /* by doubling: a realloc that moves copies all */
		v->closing = bwl_must(reallocarray(v->closing, v->nclosing ? 2 * v->nclosing : 1,
						   sizeof(*v->closing)));
	v->closing[v->nclosing] =
		(struct view_closing){ .type = d->type, .audience = bwl_must(strdup(d->audience)) };
	memcpy(v->closing[v->nclosing].what, what, 32);
	said_by(&v->closing[v->nclosing], d->by);
	v->nclosing++;
	mind_name(v, d, what);
	return &v->closing[v->nclosing - 1];
}

static void set_place(struct view_closing *c, const char *tray, const char *key_name)
{
	if (!key_name)
		return;
	snprintf(c->tray, sizeof(c->tray), "%s", tray);
	snprintf(c->key_name, sizeof(c->key_name), "%s", key_name);
}

void view_take_closing(struct view *v, const struct bwl_signed *d, const char *tray,
		       const char *key_name)
{
	uint64_t begins = bwl_payload_number(d->body, "new_epoch");
	struct view_closing *c;
	uint8_t what[32];

	if (begins > v->epoch && begins - v->epoch <= EPOCHS_AHEAD)
		v->epoch = begins;
	if (!strcmp(d->audience, "all") && begins > v->over_epoch &&
	    begins - over_epoch(v) <= EPOCHS_AHEAD)
		v->over_epoch = begins;
	bwl_closing_what(d, what);
	c = closing_for(v, d, what);
	if (!c)
		return;
	c->type = d->type;
	c->terms = d->terms;
	snprintf(c->name, sizeof(c->name), "%s", d->terms.name);
	memcpy(c->digest, d->digest, sizeof(c->digest));
	c->until_epoch = begins > d->terms.epoch ? begins : d->terms.epoch;
	c->unjudged = 0;
	c->kept = c->given = false;
	*c->key_name = '\0';
	set_place(c, tray, key_name);
}

void view_closing_kept(struct view *v, const uint8_t digest[32])
{
	for (size_t i = 0; i < v->nclosing; i++)
		v->closing[i].kept |= !memcmp(v->closing[i].digest, digest, 32);
}

void view_closing_unkept(struct view *v)
{
	for (size_t i = 0; i < v->nclosing; i++)
		v->closing[i].kept = false;
}

void view_closing_root(struct view *v)
{
	for (size_t i = 0; i < v->nclosing; i++)
		v->closing[i].unjudged = 2; /* those in parts are fetched after the next read */
}

void view_closing_read_end(struct view *v)
{
	for (size_t i = v->nclosing; i-- > 0;)
		if (v->closing[i].unjudged && !--v->closing[i].unjudged)
			forget_closing(v, i);
}

void view_closing_bytes(struct view *v, const char *bytes, size_t len, int64_t now_s)
{
	struct bwl_signed d;

	if (!v->root || bwl_signed_open(bytes, len, v->root, NULL, now_s, &d, NULL))
		return;
	if (bwl_closes(d.type))
		view_take_closing(v, &d, NULL, NULL);
	bwl_signed_free(&d);
}

static int by_issue(const void *a, const void *b)
{
	int64_t x = (*(const struct view_closing *const *)a)->terms.issued_s,
		y = (*(const struct view_closing *const *)b)->terms.issued_s;

	return (x < y) - (x > y);
}

bool view_closes_still(const struct view *v, const struct view_closing *c, int64_t now_s)
{
	return c->terms.not_after_s > now_s && c->until_epoch >= over_epoch(v);
}

static json_t *one_of(const struct view_closing *from)
{
	struct bwl_closing c = { .type = from->type,
				 .epoch = from->terms.epoch,
				 .version = from->terms.version,
				 .issued_s = from->terms.issued_s,
				 .audience = from->audience };

	strcpy(c.name, from->terms.name);
	memcpy(c.digest, from->digest, sizeof(c.digest));
	return bwl_closing_json(&c);
}

static struct share *poorest(struct share *s, size_t n)
{
	struct share *p = NULL;

	for (size_t i = 0; i < n; i++)
		if (!s[i].full && (!p || s[i].bytes < p->bytes))
			p = &s[i];
	return p;
}

/*
 * Chooses which ones to name, newest first. Each place goes to the person who has the least so far.
 */
static void choose(const struct view_closing *const *list, size_t n, json_t **said, struct share *s,
		   size_t nshares)
{
	size_t bytes = 0;
	struct share *p;

	while ((p = poorest(s, nshares))) {
		json_t *one;
		size_t len;

		while (p->next < n && (said[p->next] || !is_by(list[p->next], p->by)))
			p->next++;
		if (p->next == n) {
			p->full = true;
			continue;
		}
		one = one_of(list[p->next]);
		len = json_dumpb(one, NULL, 0, JSON_COMPACT) + 1;
		if (bytes + len > BWL_CLOSING_BYTES) {
			json_decref(one);
			p->full = true;
			continue;
		}
		said[p->next++] = one;
		bytes += len;
		p->bytes += len;
	}
}

static char *whose(const struct share *s, size_t n)
{
	char *text = NULL;

	for (size_t i = 0; i < n; i++) {
		char *was = text;

		if (!s[i].left_out)
			continue;
		if (asprintf(&text, "%s%s%zu of %s", was ? was : "", was ? ", " : "", s[i].left_out,
			     *s[i].by ? s[i].by : "several people") < 0)
			abort();
		free(was);
	}
	return text;
}

json_t *view_closing(const struct view *v, int64_t now_s, size_t *ret_left_out, char **ret_whose)
{
	BWL_AUTO_FREE const struct view_closing **list = bwl_must(
		calloc(v->nclosing + 1, sizeof(*list)));
	BWL_AUTO_FREE json_t **said = bwl_must(calloc(v->nclosing + 1, sizeof(*said)));
	BWL_AUTO_FREE struct share *s = NULL;
	json_t *all = json_array();
	size_t n = 0, nshares;

	for (size_t i = 0; i < v->nclosing; i++)
		if (view_closes_still(v, &v->closing[i], now_s))
			list[n++] = &v->closing[i];
	qsort(list, n, sizeof(*list), by_issue);
	s = shares_of(list, n, &nshares);
	choose(list, n, said, s, nshares);
	*ret_left_out = 0;
	for (size_t i = 0; i < n; i++) {
		*ret_left_out += !said[i];
		for (size_t k = 0; !said[i] && k < nshares; k++)
			s[k].left_out += is_by(list[i], s[k].by);
	}
	if (ret_whose)
		*ret_whose = whose(s, nshares);
	for (size_t i = 0; i < n; i++)
		if (said[i])
			json_array_append_new(all, said[i]);
	return all;
}

void view_note_part(struct view *v, const char *tray, const struct bwl_doc_at *at)
{
	if (v->nparts == VIEW_PARTS_MAX) {
		struct bwl_err why = { 0 };

		bwl_fail(
			&why, E2BIG,
			"more than %u documents that close are in parts: signed times do not name the others",
			VIEW_PARTS_MAX);
		why.id = "closing-no-room";
		view_tell_most(v, VIEW_CUT_PARTS, "closing", &why);
		return;
	}
	v->part[v->nparts] = (struct view_part){ .at = *at };
	snprintf(v->part[v->nparts++].tray, sizeof(v->part[0].tray), "%s", tray);
}

void view_closing_done(struct view *v)
{
	while (v->nclosing)
		forget_closing(v, v->nclosing - 1);
	free(v->closing);
}
