// SPDX-License-Identifier: GPL-2.0-or-later
/* See order_socket.h. Only root can enter the folder; clients are checked nevertheless. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bwl/cleanup.h"
#include "order_socket.h"

struct orders {
	const struct order_verb *verbs;
	void *arg;
	struct line_socket *socket;
};

const struct order_verb *order_parse(const struct order_verb *verbs, const char *line, size_t len,
				     json_t **ret, const char **ret_why)
{
	const char *name;

	*ret_why = "malformed request";
	*ret = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	name = json_string_value(json_object_get(*ret, "verb"));
	for (; name && verbs->name; verbs++)
		if (!strcmp(verbs->name, name))
			return verbs;
	if (name)
		*ret_why = "bwlimitd does not know this order: is it another version?";
	json_decref(*ret);
	*ret = NULL;
	return NULL;
}

/* May a client of this right give that order? Today root may, and the user of this process. */
static bool may(enum line_right right, const struct order_verb *v)
{
	(void)v;
	return right == LINE_ROOT;
}

BWL_AUTO_DEFINE(json_decref, json_t *)

/* The verb may take over the connection and the document: then there is no answer yet. */
static json_t *hand_over(const struct orders *o, const struct order_verb *v, const json_t *ask,
			 int *fd, int *doc)
{
	json_t *said = v->take(o->arg, ask, *doc, *fd);

	if (!said)
		*fd = *doc = -1;
	return said;
}

static void answer(void *arg, enum line_right right, int fd, int document, const char *line,
		   size_t len, const char *wrong)
{
	struct orders *o = arg;
	const struct order_verb *v = NULL;
	BWL_AUTO_CLOSE int ours = fd, doc = document;
	BWL_AUTO(json_decref) json_t *ask = NULL;
	json_t *said;

	if (line)
		v = order_parse(o->verbs, line, len, &ask, &wrong);
	if (v && !may(right, v)) {
		v = NULL;
		wrong = "permission denied";
	}
	if (v && (doc >= 0) != !!v->take) {
		wrong = v->take ? "the document is missing" : "unexpected document";
		v = NULL;
	}
	if (v && !v->closes && line_has_gone(ours))
		return;
	said = !v        ? json_pack("{s:s}", "error", wrong)
	       : v->take ? hand_over(o, v, ask, &ours, &doc)
			 : v->run(o->arg, ask);
	if (said)
		line_say(ours, said);
}

static const struct line_rule rule = {
	.mode = 0600, .alone = true, .documents = true, .said = answer
};

int orders_open(const char *path, const struct order_verb *verbs, void *arg, struct orders **ret,
		struct bwl_err *e)
{
	struct orders *o = calloc(1, sizeof(*o));
	struct line_who who;
	int r;

	*ret = NULL;
	if (!o)
		return bwl_fail(e, ENOMEM, "out of memory");
	o->verbs = verbs;
	o->arg = arg;
	line_who_find(&who, 1U << LINE_ROOT);
	r = line_socket_open(path, &rule, &who, o, &o->socket, e);
	if (r)
		orders_close(o);
	else
		*ret = o;
	return r;
}

int orders_fd(const struct orders *o)
{
	return o ? line_socket_fd(o->socket) : -1;
}

void orders_close(struct orders *o)
{
	if (o)
		line_socket_close(o->socket);
	free(o);
}

void orders_run(struct orders *o, uint64_t now_ns)
{
	if (o)
		line_socket_run(o->socket, now_ns);
}
