// SPDX-License-Identifier: GPL-2.0-or-later
/* bwlimit-web: reads files and starts processes first; then it is sealed, and serves. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include "bwl/doc.h"
#include "bwl/output.h"
#include "device.h"
#include "jail.h"
#include "keeper.h"
#include "options.h"

static int signals(void)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, SIGTERM);
	sigaddset(&s, SIGINT);
	sigaddset(&s, SIGHUP);
	sigprocmask(SIG_BLOCK, &s, NULL);
	return signalfd(-1, &s, SFD_CLOEXEC);
}

static int start(int argc, char **argv)
{
	struct bwl_err e = { 0 };
	struct web w = { 0 };
	struct asker keeper;
	struct options o;
	int r = options_read(argc, argv, &o), told;

	if (r >= 0)
		return r;
	json_object_seed(0); /* reads a file */
	/* Started before anything of the network exists: the askers get nothing of it. */
	r = 0;
	for (unsigned i = 0; !r && i < WEB_ASKERS; i++)
		r = asker_start(&o.asker, &w.asker[i], &e);
	if (!r && o.web.tls[BWL_TLS_CERT]) {
		r = keeper_start(o.web.tls, &keeper, &e);
		w.keeper = r ? NULL : &keeper;
	}
	told = signals();
	if (!r && strcmp(o.page, "none"))
		r = page_read(o.page, &o.web.page, &e);
	if (!r && o.of_management)
		r = device_judge(&w.asker[1], (struct sockaddr *)&o.web.at, &e);
	if (!r)
		r = web_open(&w, &o.web, &e);
	if (!r)
		r = jail_seal(&e);
	if (!r)
		r = web_run(&w, told, &e);
	if (r)
		bwl_err_print(&e, PROGRAM, o.json);
	web_close(&w);
	page_done(&o.web.page);
	return r ? 1 : 0;
}

int main(int argc, char **argv)
{
	bwl_output_begin(PROGRAM);
	return bwl_output_end(start(argc, argv));
}
