// SPDX-License-Identifier: GPL-2.0-or-later
/* bwlimit-controller: its modules, and the loop that calls them. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include "bwl/clock.h"
#include "bwl/doc.h"
#include "bwl/output.h"
#include "bwl/show.h"
#include "bwl/signals.h"
#include "dev.h"
#include "module.h"
#include "numbers.h"
#include "signed/signing/token.h"
#include "store_module.h"

#define NS_PER_MS 1000000ULL
/*
 * systemd does not restart the unit then (RestartPreventExitStatus=): another attempt may lock the
 * token.
 */
#define EXIT_PIN 3

/* The store's comes first: the loop waits on its connection. */
static const struct ctrl_module *const modules[] = {
	&store_module,
	&numbers_module,
};
#define MODULES (sizeof(modules) / sizeof(*modules))

static void say_json(const char *event, const char *what, const char *text, const char *todo)
{
	json_t *o = bwl_doc("controller");
	char now[BWL_TIME_BUF];

	json_object_set_new(o, "time", json_string(bwl_utc_now(now)));
	json_object_set_new(o, "event", json_string(event));
	json_object_set_new(o, "subject", bwl_json_text(what));
	json_object_set_new(o, "text", json_string(text));
	json_object_set_new(o, "todo", bwl_json_text(todo));
	bwl_doc_line(o);
}

static void say(const struct ctrl *c, const char *event, const char *what,
		const struct bwl_err *why)
{
	const char *todo = why && *why->hint ? why->hint : NULL;
	char text[1024];

	snprintf(text, sizeof(text), "%s%s%s%s%s", event, what ? " " : "", what ? what : "",
		 why ? ": " : "", why ? why->text : "");
	if (c->o->json) {
		say_json(event, what, text, todo);
	} else {
		bwl_put(stdout, "%s\n", text);
		if (todo)
			bwl_put(stdout, "  %s\n", todo);
	}
	fflush(stdout);
}

static void wait_for_more(void *const self[], uint64_t next_ns)
{
	struct curl_waitfd fds[MODULES + 1];
	uint64_t now_ns = bwl_now_ns();
	unsigned n = 0;

	for (size_t i = 0; i < MODULES; i++) {
		int fd = modules[i]->fd ? modules[i]->fd(self[i]) : -1;

		if (fd >= 0)
			fds[n++] = (struct curl_waitfd){ .fd = fd, .events = CURL_WAIT_POLLIN };
	}
	fds[n++] = (struct curl_waitfd){ .fd = bwl_signals_fd(), .events = CURL_WAIT_POLLIN };
	store_wait(self[0], next_ns > now_ns ? (unsigned)((next_ns - now_ns) / NS_PER_MS) : 0, fds,
		   n);
	bwl_signals_woken();
}

static void read_anew(void *const self[])
{
	for (size_t i = 0; i < MODULES; i++)
		if (modules[i]->anew)
			modules[i]->anew(self[i]);
}

static void run(void *const self[])
{
	while (!bwl_signals_stop()) {
		uint64_t next_ns = UINT64_MAX;

		if (bwl_signals_again())
			read_anew(self);
		for (size_t i = 0; i < MODULES && !bwl_signals_stop(); i++) {
			uint64_t at_ns = modules[i]->step(self[i], bwl_now_ns());

			next_ns = at_ns < next_ns ? at_ns : next_ns;
		}
		if (!bwl_signals_stop())
			wait_for_more(self, next_ns);
	}
}

static int start(int argc, char **argv)
{
	void *self[MODULES] = { NULL };
	struct bwl_err e = { 0 };
	struct options o;
	struct ctrl c = { .o = &o, .signers = status_signers_new(), .say = say };
	struct dev dev = { 0 };
	size_t n = 0;
	int r = options_read(argc, argv, &o);

	if (r >= 0) {
		status_signers_free(c.signers);
		return r;
	}
	if (bwl_signals_begin(&e)) {
		bwl_err_print(&e, PROGRAM, o.json);
		status_signers_free(c.signers);
		return 1;
	}
	r = o.dev ? dev_start(&dev, &o, &e) : 0;
	if (!r && o.dev)
		dev_say(&dev, &o);
	for (; !r && n < MODULES; n += !r)
		r = modules[n]->start(&c, &self[n], &e);
	if (r)
		bwl_err_print(&e, PROGRAM, o.json);
	else
		run(self);
	while (n--)
		modules[n]->stop(self[n]);
	dev_stop(&dev);
	status_signers_free(c.signers);
	return !r ? 0 : bwl_token_is_refused() ? EXIT_PIN : 1;
}

int main(int argc, char **argv)
{
	bwl_output_begin(PROGRAM);
	return bwl_output_end(start(argc, argv));
}
