// SPDX-License-Identifier: GPL-2.0-or-later
/* See numbers.h. It has threads of its own: no step of the loop waits for a tray or a client. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "bwl/bytes.h"
#include "bwl/cleanup.h"
#include "fleet/model/model.h"
#include "numbers.h"
#include "signed/root.h"

struct numbers {
	const struct ctrl *ctrl;
	struct bwl_model *model; /* NULL: without --serve */
	char fleet[BWL_NAME_LEN];
	int64_t told_s; /* when it was reported that the list of revoked certificates has expired */
};

static void say(void *arg, const char *event, const char *what, const struct bwl_err *why)
{
	const struct ctrl *c = arg;

	c->say(c, event, what, why);
}

/* Shown to people: which fleet the numbers are about. */
static int read_fleet(const char *file, char fleet[static BWL_NAME_LEN], struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
	BWL_AUTO_FREE char *bytes = NULL;
	struct bwl_root *root = NULL;
	size_t len;
	int r;

	if (fd < 0)
		return bwl_fail(e, errno, "cannot read '%s': %m", file);
	r = bwl_bytes_read(fd, BWL_SIGNED_BYTES_MAX, &bytes, &len, e);
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
		.crl = c->o->crl,
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

#define MIND_NS (60 * CTRL_S)

static uint64_t step(void *self, uint64_t now_ns)
{
	struct numbers *n = self;
	struct bwl_tls_facts f;
	struct bwl_err why = { 0 };

	if (!n->model)
		return UINT64_MAX;
	f = bwl_model_tls(n->model);
	if (bwl_tls_is_over(&f, time(NULL), &n->told_s, &why))
		n->ctrl->say(n->ctrl, "alarm", "certificates", &why);
	return now_ns + MIND_NS;
}

static void say_read(const struct numbers *n)
{
	const struct options *o = n->ctrl->o;
	const char *const files[_BWL_TLS_FILES] = { [BWL_TLS_CA] = o->tls.ca,
						    [BWL_TLS_CERT] = o->tls.cert,
						    [BWL_TLS_KEY] = o->tls.key,
						    [BWL_TLS_CRL] = o->crl };
	const char *copied = bwl_tls_copied(files, getenv("CREDENTIALS_DIRECTORY"));
	const struct bwl_tls_facts f = bwl_model_tls(n->model);
	struct bwl_err why = { 0 };

	bwl_tls_facts_text(&f, why.text, sizeof(why.text));
	n->ctrl->say(n->ctrl, "read", "certificates", &why);
	if (!copied)
		return;
	bwl_fail(&why, ESTALE, "%.300s is the copy that systemd made when this was started",
		 copied);
	bwl_hint(&why, "systemctl restart bwlimit-controller: then it copies what is there now");
	n->ctrl->say(n->ctrl, "trouble", "certificates", &why);
}

static void anew(void *self)
{
	struct numbers *n = self;
	struct bwl_err e = { 0 };

	if (!n->model)
		return;
	if (!bwl_model_anew(n->model, &e)) {
		say_read(n);
		return;
	}
	bwl_hint(&e, "what was read before stays in use");
	n->ctrl->say(n->ctrl, "trouble", "certificates", &e);
}

static void stop(void *self)
{
	struct numbers *n = self;

	bwl_model_stop(n->model);
	free(n);
}

const struct ctrl_module numbers_module = {
	.name = "numbers", .start = start, .step = step, .anew = anew, .stop = stop
};
