// SPDX-License-Identifier: GPL-2.0-or-later
/* `watch`: what the data plane reports, as it happens. By bwlimitd where one runs, else alone. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "watch.h"

static const char *protocol(unsigned ethertype, unsigned proto, char buf[static 24])
{
	if (ethertype != 0x0800 && ethertype != 0x86dd) {
		if (ethertype == 0x0806)
			return "arp";
		snprintf(buf, 24, "ethertype %#06x", ethertype);
		return buf;
	}
	switch (proto) {
	case IPPROTO_TCP:
		return "tcp";
	case IPPROTO_UDP:
		return "udp";
	case IPPROTO_ICMP:
		return "icmp";
	case IPPROTO_ICMPV6:
		return "icmpv6";
	default:
		snprintf(buf, 24, "proto %u", proto);
		return buf;
	}
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "-";
}

static unsigned number_of(const json_t *o, const char *key)
{
	return (unsigned)json_integer_value(json_object_get(o, key));
}

/* What a reason that drops means; NULL: it passes. */
static const char *dropped_why(const char *reason)
{
	for (unsigned i = 0; i < _BWL_REASON_MAX; i++)
		if (!strcmp(bwl_reason_name(i), reason))
			return bwl_reason_is_pass(i) ? NULL : bwl_reason_text(i);
	return bwl_reason_text(_BWL_REASON_MAX);
}

static void print_human(const json_t *o)
{
	unsigned proto = number_of(o, "ip_protocol");
	bool ports = proto == IPPROTO_TCP || proto == IPPROTO_UDP;
	const char *reason = text_of(o, "reason"), *why = dropped_why(reason);
	char buf[24];

	printf("%s %-16s %-8s %s %s", text_of(o, "time"), text_of(o, "event"), text_of(o, "port"),
	       text_of(o, "peer"), text_of(o, "source"));
	if (ports)
		printf(" %u", number_of(o, "source_port"));
	printf(" > %s", text_of(o, "destination"));
	if (ports)
		printf(" %u", number_of(o, "destination_port"));
	printf(" %s %u bytes: %s", protocol(number_of(o, "ethertype"), proto, buf),
	       number_of(o, "frame_bytes"), reason);
	if (why)
		printf(" (%s)", why);
	putchar('\n');
	fflush(stdout);
}

void watch_print(struct watch *w, json_t *o)
{
	bool is_event = !strcmp(text_of(o, "kind"), "event");

	if (is_event) {
		w->count++;
	} else {
		w->lost += (uint64_t)json_integer_value(json_object_get(o, "lost_count"));
		w->behind += (uint64_t)json_integer_value(json_object_get(o, "behind_count"));
	}
	if (w->c->json)
		bwl_doc_line(json_incref(o));
	else if (is_event)
		print_human(o);
	json_decref(o);
}

bool watch_goes_on(const struct watch *w)
{
	return !ctl_stopped && !ferror(stdout) && (!w->max || w->count < w->max) &&
	       (!w->end_ns || bwl_now_ns() < w->end_ns);
}

int watch_left_ms(const struct watch *w, int most)
{
	uint64_t now = bwl_now_ns(), left = now < w->end_ns ? w->end_ns - now : 0;

	return !w->end_ns || left / 1000000 >= (uint64_t)most ? most : (int)(left / 1000000) + 1;
}

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
		return ctl_usage(w->c, "--timeout %.32s: more than nothing", timeout);
	w->end_ns = timeout ? bwl_now_ns() + ns : 0;
	return r;
}

/* Another reads alone, or we may not: then that bwlimitd is waited for. */
static int ring_or_wait(struct watch *w)
{
	int r = watch_ring(w);

	if (!w->followed || (r != -EBUSY && r != -EACCES && r != -EPERM))
		return r;
	poll(NULL, 0, watch_left_ms(w, 500));
	return WATCH_OTHER;
}

/* One may come while the other way is taken, and go. */
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
	if (r != WATCH_DONE && r != WATCH_OTHER)
		return r;
	print_end(&w);
	return 0;
}

const struct ctl_cmd ctl_watch_cmds[] = {
	{ "watch", NULL,
	  "[--event LIST] [--reason LIST] [--port LIST] [--peer LIST] [--class LIST] [--count N] [--timeout TIME]",
	  "Events as they happen: first drops, new destinations, spoofed sources, …",
	  "  --event drop,gate      first-packet, new-destination, spoofed-source, exhausted, lapsed, …\n"
	  "  --reason, --port, --peer, --class\n"
	  "                         only events with one of these names; each is a list with commas\n"
	  "By bwlimitd where it runs, for any number of readers of the groups bwlimit-read and bwlimit;\n"
	  "else alone, as root or of the group bwlimit, until a bwlimitd comes.\n"
	  "Events are rate-limited in the data plane; what was lost of what was asked for by kind and port\n"
	  "is said at the end. With --json one object a line: of kind event, event-lost where some were lost,\n"
	  "and the last of kind event-end.\n",
	  watch },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
