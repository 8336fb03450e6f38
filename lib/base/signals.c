// SPDX-License-Identifier: GPL-2.0-or-later
/* Signals of a loop: see bwl/signals.h. */
#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include "bwl/signals.h"

static volatile sig_atomic_t stopped, again;
static int woken = -1;

static void on_signal(int sig)
{
	int was = errno;

	if (sig == SIGHUP)
		again = 1;
	else
		stopped = 1;
	eventfd_write(woken, 1);
	errno = was;
}

int bwl_signals_begin(struct bwl_err *e)
{
	struct sigaction a = { .sa_handler = on_signal };

	woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (woken < 0)
		return bwl_fail(e, errno, "cannot make an eventfd: %m");
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

int bwl_signals_fd(void)
{
	return woken;
}

void bwl_signals_woken(void)
{
	eventfd_t seen;

	(void)!eventfd_read(woken, &seen);
}

bool bwl_signals_stop(void)
{
	return stopped;
}

bool bwl_signals_again(void)
{
	bool is = again;

	if (is)
		again = 0;
	return is;
}
