// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `watch`: the data plane's events, as they happen. Through bwlimitd if it runs, otherwise alone.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "watch.h"

static void print_end(const struct watch *w)
{
	json_t *o;

	if (w->c->json) {
		o = bwl_doc("event-end");
		json_object_set_new(o, "event_count", bwl_json_u64(w->count));
		json_object_set_new(o, "lost_count", bwl_json_u64(w->lost));
		json_object_set_new(o, "behind_count", bwl_json_u64(w->behind));
		bwl_doc_line(o);
		return;
	}
	bwl_info(
		"%llu events, %llu lost (over the data plane's limit, or nobody read them; %llu came faster than they were read here)",
		(unsigned long long)w->count, (unsigned long long)w->lost,
		(unsigned long long)w->behind);
}

/* "drop,gate" */
static int add_words(struct watch *w, const char *field, const char *list)
{
	BWL_AUTO_FREE char *copy = strdup(list);
	char *at = NULL;

	for (char *s = strtok_r(copy, ",", &at); s; s = strtok_r(NULL, ",", &at))
		if (bwl_filter_add(&w->filter, field, s, &w->c->err))
			return CTL_USAGE;
	return strspn(list, ",") == strlen(list) ? ctl_usage(w->c, "--%s needs a name", field) : 0;
}

static int options(struct watch *w, int argc, char **argv)
{
	const char *count = NULL, *timeout = NULL, *event = NULL, *reason = NULL, *port = NULL,
		   *peer = NULL, *class = NULL;
	const struct ctl_opt opts[] = {
		{ "--count", NULL, &count }, { "--timeout", NULL, &timeout },
		{ "--event", NULL, &event }, { "--reason", NULL, &reason },
		{ "--port", NULL, &port },   { "--peer", NULL, &peer },
		{ "--class", NULL, &class }, { NULL, NULL, NULL },
	};
	const char *const *value[] = { &event, &reason, &port, &peer, &class };
	int r = ctl_only_opts(w->c, argc, argv, opts);
	uint64_t ns = 0;

	for (unsigned i = 0; !r && bwl_filter_words[i]; i++)
		if (*value[i])
			r = add_words(w, bwl_filter_words[i], *value[i]);
	if (!r && count)
		r = ctl_number(w->c, "a number of events", count, 1000000000, &w->max);
	if (!r && timeout && bwl_parse_time(timeout, &ns, &w->c->err))
		return CTL_USAGE;
	if (!r && timeout && !ns)
		return ctl_usage(w->c, "--timeout %.32s: must be greater than 0", timeout);
	w->end_ns = timeout ? bwl_now_ns() + ns : 0;
	return r;
}

/* A bwlimitd that was starting when it was asked reads by now. One that hangs is asked no more. */
enum { BUSY_TRIES = 3 };

/* Another one reads the ring, or we may not: then waits for bwlimitd. */
static int ring_or_wait(struct watch *w)
{
	int r = watch_ring(w);

	w->refused = r == -EBUSY ? r : 0;
	if (r == -EBUSY && !w->followed && w->busy < BUSY_TRIES && watch_is_agent(w))
		w->busy++;
	else if (!w->followed || (r != -EBUSY && r != -EACCES && r != -EPERM))
		return r;
	poll(NULL, 0, watch_left_ms(w, 500));
	return WATCH_OTHER;
}

/* bwlimitd may start or end while the other way is used. */
static int watch(struct ctl *c, int argc, char **argv)
{
	struct watch w = { .c = c };
	int r = options(&w, argc, argv);

	if (r)
		return r;
	ctl_catch_signals();
	do {
		r = watch_agent(&w);
		if (r == WATCH_OTHER)
			r = ring_or_wait(&w);
	} while (r == WATCH_OTHER && watch_goes_on(&w));
	if (r == WATCH_OTHER && !w.followed)
		r = w.refused; /* the time is over, and nothing was read */
	if (r != WATCH_DONE && r != WATCH_OTHER)
		return r;
	print_end(&w);
	return 0;
}

const struct ctl_cmd ctl_watch_cmds[] = {
	{ "watch", NULL,
	  "[--event LIST] [--reason LIST] [--port LIST] [--peer LIST] [--class LIST] [--count N] [--timeout TIME]",
	  "Events as they happen: first drops, new destinations, spoofed sources and more",
	  "  --event drop,gate      first-packet, new-destination, spoofed-source, exhausted, lapsed, …\n"
	  "  --reason, --port, --peer, --class\n"
	  "                         only events with one of these names; each is a comma-separated list\n\n"
	  "If bwlimitd runs, it serves any number of readers of the groups bwlimit-read and bwlimit.\n"
	  "Otherwise there is one reader, root or a member of group bwlimit, until bwlimitd starts.\n"
	  "Events are rate-limited in the data plane; the end shows how many events of the selected kinds\n"
	  "and ports were lost. With --json one object per line: of kind event, event-lost if some were\n"
	  "lost, and the last of kind event-end.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl watch --event drop --peer log-collector\n"
	  "  bwlimit-ctl watch --json --timeout 60s\n",
	  watch },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
