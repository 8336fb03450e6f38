/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bwlimit-web: files are read and processes started first; then it is sealed, and serves. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include "bwl/doc.h"
#include "certificate.h"
#include "device.h"
#include "fleet/http/listen.h"
#include "jail.h"
#include "options.h"

static int read_files(struct options *o, struct bwl_err *e)
{
	int r = 0;

	if (strcmp(o->page, "none"))
		r = page_read(o->page, &o->web.page, e);
	if (!r && o->cert)
		r = bwl_listen_pem(o->ca, &o->web.ca, e);
	if (!r && o->cert)
		r = bwl_listen_pem(o->cert, &o->web.cert, e);
	if (!r && o->cert)
		r = bwl_listen_pem(o->key, &o->web.key, e);
	if (!r && o->cert)
		r = certificate_metrics(o->web.cert, &o->web.metrics, e);
	return r;
}

static void free_files(struct options *o)
{
	page_done(&o->web.page);
	free(o->web.ca);
	free(o->web.cert);
	free(o->web.key);
	free(o->web.metrics);
}

static int told_to_stop(void)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, SIGTERM);
	sigaddset(&s, SIGINT);
	sigprocmask(SIG_BLOCK, &s, NULL);
	return signalfd(-1, &s, SFD_CLOEXEC);
}

int main(int argc, char **argv)
{
	struct bwl_err e = { 0 };
	struct web w = { 0 };
	struct options o;
	int r = options_read(argc, argv, &o), stop;

	if (r >= 0)
		return r;
	signal(SIGPIPE, SIG_IGN);
	json_object_seed(0); /* reads a file */
	/* Before anything of the network is there: what asks knows nothing of it. */
	r = 0;
	for (unsigned i = 0; !r && i < WEB_ASKERS; i++)
		r = asker_start(&o.asker, &w.asker[i], &e);
	stop = told_to_stop();
	if (!r)
		r = read_files(&o, &e);
	if (!r && o.of_management)
		r = device_judge(&w.asker[1], (struct sockaddr *)&o.web.at, &e);
	if (!r)
		r = web_open(&w, &o.web, &e);
	if (!r)
		r = jail_seal(&e);
	if (!r)
		r = web_run(&w, stop, &e);
	if (r)
		bwl_err_print(&e, PROGRAM, o.json);
	web_close(&w);
	free_files(&o);
	return r ? 1 : 0;
}
