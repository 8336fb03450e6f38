// SPDX-License-Identifier: GPL-2.0-or-later
/* See entered.h. */
#include <stdlib.h>
#include <string.h>
#include "audit/item.h"
#include "entered.h"

#define KEPT 4096 /* entries that are remembered */
#define FILES 2   /* files with entries that are read */

void ev_entered_add(struct ev_entered *v, const struct ev_entry *x)
{
	if (v->n == 2 * (size_t)KEPT) {
		memmove(v->id, v->id + KEPT, KEPT * sizeof(*v->id));
		v->n = KEPT;
	}
	if (v->n == v->room)
		v->id = bwl_must(reallocarray(v->id, v->room = 2 * v->room + 64, sizeof(*v->id)));
	v->id[v->n++] = x->id;
	v->last = *x;
	v->unread = false;
}

bool ev_entered_has(const struct ev_entered *v, const struct ev_id *id)
{
	for (size_t i = v->n; i-- > 0;)
		if (ev_id_same(&v->id[i], id))
			return true;
	return false;
}

void ev_entered_free(struct ev_entered *v)
{
	free(v->id);
	memset(v, 0, sizeof(*v));
}

static int take(const struct bwl_audit_item *i, void *arg)
{
	const char *event = json_string_value(json_object_get(i->json, "event"));
	struct ev_entered *v = arg;
	struct ev_entry x;

	if (i->kind != BWL_AUDIT_RECORD || !event || strcmp(event, EV_EVENT))
		return 0;
	if (!ev_entry_parse(json_object_get(i->json, "data"), &x, NULL) ||
	    ev_entry_identity(json_object_get(i->json, "data"), &x))
		ev_entered_add(v, &x);
	else
		v->unread = true;
	return 0;
}

int ev_entered_read(const char *audit_dir, struct ev_entered *ret, struct bwl_err *e)
{
	struct bwl_audit_file *file = NULL;
	size_t n = 0, i, from, found = 0;
	int r = bwl_audit_files(audit_dir, &file, &n, e);

	memset(ret, 0, sizeof(*ret));
	for (from = n; !r && from > 0 && found < FILES;) {
		struct ev_entered mine = { 0 };

		r = bwl_audit_scan_files(audit_dir, &file[--from], 1, take, &mine, e);
		found += mine.n > 0;
		ev_entered_free(&mine);
	}
	for (i = from; !r && i < n; i++)
		r = bwl_audit_scan_files(audit_dir, &file[i], 1, take, ret, e);
	free(file);
	if (r)
		ev_entered_free(ret);
	return r;
}
