// SPDX-License-Identifier: GPL-2.0-or-later
/* Which connections have an SA, or are about to get one. */
#include <string.h>
#include "conn_up.h"

static bool has_installed(json_t *children)
{
	const char *name;
	json_t *x;

	json_object_foreach(children, name,
			    x) if (!strcmp(bwl_vici_text(x, "state"), "INSTALLED")) return true;
	return false;
}

/* An IKE_SA that has no child, and is not negotiating one, counts as neither. */
static int on_sa(void *arg, json_t *msg)
{
	struct bwl_idle_look *l = arg;
	const char *name;
	json_t *sa;

	json_object_foreach(msg, name, sa)
	{
		json_t *children = json_object_get(sa, "child-sas");

		if (has_installed(children)) {
			json_object_set_new(l->up, name, json_true());
		} else if (json_object_size(children) ||
			   strcmp(bwl_vici_text(sa, "state"), "ESTABLISHED")) {
			json_object_set_new(l->busy, name, json_true());
			json_object_set_new(l->busy, bwl_vici_text(sa, "remote-host"), json_true());
		}
	}
	return 0;
}

int bwl_idle_look(struct bwl_vici *v, struct bwl_idle_look *ret, struct bwl_err *e)
{
	int r;

	*ret = (struct bwl_idle_look){ .up = json_object(), .busy = json_object() };
	r = bwl_vici_stream(v, "list-sas", "list-sa", NULL, on_sa, ret, e);
	if (r)
		bwl_idle_done(ret);
	return r;
}

void bwl_idle_done(struct bwl_idle_look *l)
{
	json_decref(l->up);
	json_decref(l->busy);
	*l = (struct bwl_idle_look){ 0 };
}

bool bwl_idle_is(const struct bwl_idle_look *l, const char *name, json_t *conn)
{
	const char *addr = json_string_value(
		json_array_get(json_object_get(conn, "remote_addrs"), 0));

	return !json_object_get(l->up, name) && !json_object_get(l->busy, name) &&
	       !(addr && json_object_get(l->busy, addr));
}

bool bwl_idle_asks(json_t *conn)
{
	const char *name;
	json_t *child;

	json_object_foreach(json_object_get(conn, "children"), name,
			    child) if (strstr(bwl_vici_text(child, "start_action"),
					      "start")) return true;
	return false;
}

int bwl_idle_only(struct bwl_vici *v, json_t *conns, json_t *wanted, struct bwl_err *e)
{
	struct bwl_idle_look l;
	const char *name;
	json_t *x;
	void *next;
	int r = bwl_idle_look(v, &l, e);

	if (r)
		return r;
	json_object_foreach_safe(wanted, next, name,
				 x) if (!bwl_idle_is(&l, name, json_object_get(conns, name)))
		json_object_del(wanted, name);
	bwl_idle_done(&l);
	return 0;
}
