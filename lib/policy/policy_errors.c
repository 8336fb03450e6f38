/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collects all errors of one policy file. If an item (a peer, a zone, a key of the top level) has
 * an error, others that follow from it are not reported.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy_conv.h"

/* "peers/" and "3/" of peers[3].grant.rate; the second is empty if w is the section itself. */
static void name_item(const struct bwl_place *w, char *section, char *item, size_t size)
{
	const struct bwl_step *s = w->step;

	*item = '\0';
	snprintf(section, size, "%.64s/", w->n && s[0].key ? s[0].key : "");
	if (w->n > 1 && s[1].key)
		snprintf(item, size, "%.64s/", s[1].key);
	else if (w->n > 1)
		snprintf(item, size, "%zu/", s[1].index);
}

bool bwl_errors_has(const struct bwl_errors *all, const char *section)
{
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->section[i], section))
			return true;
	return false;
}

static bool is_told(const struct bwl_errors *all, const struct bwl_place *w, size_t among)
{
	char section[sizeof(all->section[0])], item[sizeof(all->item[0])];

	name_item(w, section, item, sizeof(item));
	for (size_t i = 0; i < among; i++)
		if (!strcmp(all->section[i], section) &&
		    (!*item || !*all->item[i] || !strcmp(all->item[i], item)))
			return true;
	return false;
}

int bwl_errors_add(struct bwl_errors *all, const struct bwl_place *w, int r,
		   const struct bwl_err *e)
{
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->list[i].text, e->text) && all->list[i].line == e->line)
			return 0; /* the error that ended the reading may already be in the list */
	if (all->n == BWL_ERRORS_MOST) {
		all->more = true;
		return r;
	}
	name_item(w, all->section[all->n], all->item[all->n], sizeof(all->item[0]));
	if (!w->n) /* "KEY is missing", at the top level */
		snprintf(all->section[all->n], sizeof(all->section[0]), "%.*s/",
			 (int)(strcspn(e->text, " ") % 64), e->text);
	all->list[all->n++] = *e;
	return 0;
}

int bwl_conv_go_on(struct bwl_conv *c, int r, unsigned back)
{
	size_t among = c->checking ? c->all->n : c->all->nshape;

	if (!is_told(c->all, &c->w, among)) {
		bwl_scan_locate(c->text, c->len, &c->w, BWL_AT_VALUE, c->e);
		if (bwl_errors_add(c->all, &c->w, r, c->e))
			return r;
	}
	c->w.n = back;
	return 0;
}

/* Puts "peer x, grant rate: " in front of a message that names only a value. */
void bwl_conv_prefix_error(struct bwl_conv *c)
{
	char where[256] = "", text[sizeof(c->e->text)];
	const struct bwl_step *s = c->w.step;
	unsigned i = 0, n = 0;

	if (c->w.n >= 2 && s[0].key && !s[1].key && !strcmp(s[0].key, "peers")) {
		const char *name = c->t->peers[s[1].index].name;

		n = name ? snprintf(where, sizeof(where), "peer %.64s", name)
			 : snprintf(where, sizeof(where), "peer number %zu", s[1].index + 1);
		i = 2;
	}
	for (; i < c->w.n && n < sizeof(where); i++)
		if (s[i].key)
			n += snprintf(where + n, sizeof(where) - n, "%s%.64s", n ? ", " : "",
				      s[i].key);
	if (!n)
		return;
	snprintf(text, sizeof(text), "%s: %.*s", where, (int)(sizeof(text) - sizeof(where) - 3),
		 c->e->text);
	memcpy(c->e->text, text, sizeof(text));
}

int bwl_conv_next(struct bwl_conv *c, int r, unsigned back)
{
	if (!r) {
		c->w.n = back;
		return 0;
	}
	if (!c->all || r == -ENOMEM)
		return r;
	bwl_conv_prefix_error(c);
	return bwl_conv_go_on(c, r, back);
}

static int by_line(const void *pa, const void *pb)
{
	const struct bwl_err *a = pa, *b = pb;

	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->column < b->column ? -1 : a->column > b->column;
}

void bwl_errors_sort(struct bwl_errors *all)
{
	qsort(all->list, all->n, sizeof(*all->list), by_line);
}
