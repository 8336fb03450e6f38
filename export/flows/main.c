// SPDX-License-Identifier: GPL-2.0-or-later
/* bwlimit-export: sends flow records to a collector. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "bwl/output.h"
#include "options.h"

#define LOOK_MS 1000
#define RETRY_MAX_MS 60000

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

/* An error is reported once, until a success comes in between. */
static void say(struct bwl_err *told, const struct bwl_err *e)
{
	if (told->code == e->code)
		return;
	bwl_err_print(e, PROGRAM, false);
	*told = *e;
}

static void pause_for(int ms, const sigset_t *open)
{
	const struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	ppoll(NULL, 0, &t, open);
}

/* Signals wait while an interval is being sent: it is not cut in two. */
static int run(struct outlet *o, bool once, const sigset_t *open)
{
	struct bwl_err told = { 0 };
	int retry_ms = LOOK_MS;

	while (!stopped) {
		struct bwl_err e = { 0 };
		int r = outlet_step(o, &e);

		if (r == OUTLET_SENT) {
			pause_for(0, open);
			if (told.code)
				bwl_info("records are sent again");
			told = e;
			retry_ms = LOOK_MS;
			continue;
		}
		if (r && !stopped)
			say(&told, &e);
		if (once)
			return r ? 1 : 0;
		pause_for(r ? retry_ms : LOOK_MS, open);
		retry_ms = !r ? LOOK_MS : retry_ms * 2 < RETRY_MAX_MS ? retry_ms * 2 : RETRY_MAX_MS;
	}
	return 0;
}

static int start(int argc, char **argv)
{
	struct sigaction a = { .sa_handler = on_signal };
	struct outlet *outlet;
	sigset_t block, open;
	struct bwl_err e = { 0 };
	struct options o;
	int r = options_read(argc, argv, &o);

	if (r >= 0)
		return r;
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, &open);
	if (outlet_open(&o.outlet, &outlet, &e)) {
		bwl_err_print(&e, PROGRAM, false);
		return 1;
	}
	r = run(outlet, o.once, &open);
	outlet_close(outlet);
	return r;
}

int main(int argc, char **argv)
{
	bwl_output_begin(PROGRAM);
	return bwl_output_end(start(argc, argv));
}
