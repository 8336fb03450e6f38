// SPDX-License-Identifier: GPL-2.0-or-later
/* `watch`: prints one document, as it is or in words; decides when to stop. */
#include <netinet/in.h>
#include <stdio.h>
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

/* Why a reason drops; NULL: it passes. */
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

	bwl_put(stdout, "%s %-16s %-8s %s %s", text_of(o, "time"), text_of(o, "event"),
		text_of(o, "port"), text_of(o, "peer"), text_of(o, "source"));
	if (ports)
		printf(" %u", number_of(o, "source_port"));
	bwl_put(stdout, " > %s", text_of(o, "destination"));
	if (ports)
		printf(" %u", number_of(o, "destination_port"));
	bwl_put(stdout, " %s %u bytes: %s", protocol(number_of(o, "ethertype"), proto, buf),
		number_of(o, "frame_bytes"), reason);
	if (why)
		bwl_put(stdout, " (%s)", why);
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
