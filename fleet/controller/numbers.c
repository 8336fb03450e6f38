/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See numbers.h. It has threads of its own: no step of the loop waits for a tray, or for who asks.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bwl/bytes.h"
#include "bwl/cleanup.h"
#include "fleet/model/model.h"
#include "numbers.h"
#include "signed/root.h"

struct numbers {
	const struct ctrl *ctrl;
	struct bwl_model *model; /* NULL: --serve was not said */
	char fleet[BWL_NAME_LEN];
};

static void say(void *arg, const char *event, const char *what, const struct bwl_err *why)
{
	const struct ctrl *c = arg;

	c->say(c, event, what, why);
}

/* For people: whose numbers they are. */
static int read_fleet(const char *file, char fleet[static BWL_NAME_LEN], struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
	BWL_AUTO_FREE char *bytes = NULL;
	struct bwl_root *root = NULL;
	size_t len;
	int r;

	if (fd < 0)
		return bwl_fail(e, errno, "cannot read '%s': %m", file);
	r = bwl_bytes_read(fd, BWL_SIGNED_BYTES_MOST, &bytes, &len, e);
	if (!r)
		r = bwl_root_first(bytes, len, &root, e);
	if (!r)
		snprintf(fleet, BWL_NAME_LEN, "%s", bwl_root_fleet(root));
	bwl_root_free(root);
	return r;
}

static int start(struct ctrl *c, void **ret_self, struct bwl_err *e)
{
	struct numbers *n = bwl_must(calloc(1, sizeof(*n)));
	struct bwl_model_conf conf = {
		.fleet = n->fleet,
		.servers = c->o->servers,
		.nservers = c->o->nservers,
		.tls = c->o->tls,
		.prefix = c->o->prefix,
		.accept_holes = c->o->accept_holes,
		.serve = c->o->serve,
		.signers = c->signers,
		.say = say,
		.arg = c,
	};
	int r = 0;

	n->ctrl = c;
	memcpy(conf.names, c->o->serve_to, sizeof(conf.names));
	if (c->o->serve)
		r = read_fleet(c->o->root, n->fleet, e);
	if (!r && c->o->serve)
		r = bwl_model_start(&conf, &n->model, e);
	if (r)
		free(n);
	else
		*ret_self = n;
	return r;
}

static uint64_t step(void *self, uint64_t now_ns)
{
	(void)self;
	(void)now_ns;
	return UINT64_MAX;
}

static void stop(void *self)
{
	struct numbers *n = self;

	bwl_model_stop(n->model);
	free(n);
}

const struct ctrl_module numbers_module = {
	.name = "numbers", .start = start, .step = step, .stop = stop
};
