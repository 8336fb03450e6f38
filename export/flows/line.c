// SPDX-License-Identifier: GPL-2.0-or-later
/* See line.h. Texts that a collector may show are limited here. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "line.h"

#define TEXT_MAX 512

static const char *text_at(const json_t *o, const char *key)
{
	const json_t *x = json_object_get(o, key);

	return json_is_string(x) && json_string_length(x) < TEXT_MAX ? json_string_value(x) : NULL;
}

/* "": unknown. */
static const char *word_at(const json_t *o, const char *key)
{
	const char *s = text_at(o, key);

	return s ? s : "";
}

static uint64_t number_at(const json_t *o, const char *key, uint64_t most)
{
	json_int_t n = json_integer_value(json_object_get(o, key));

	return n < 0 ? 0 : (uint64_t)n > most ? most : (uint64_t)n;
}

/* "2026-09-21T14:13:10.250Z"; 0: unknown. */
static uint64_t time_at(const json_t *o, const char *key)
{
	const char *s = text_at(o, key);
	struct tm t = { 0 };
	unsigned ms = 0;
	time_t at;

	if (!s || sscanf(s, "%4d-%2d-%2dT%2d:%2d:%2d.%3uZ", &t.tm_year, &t.tm_mon, &t.tm_mday,
			 &t.tm_hour, &t.tm_min, &t.tm_sec, &ms) < 6)
		return 0;
	t.tm_year -= 1900;
	t.tm_mon--;
	at = timegm(&t);
	return at < 0 ? 0 : (uint64_t)at * 1000 + ms;
}

static struct line_sum sum_at(const json_t *o, const char *key)
{
	const json_t *x = json_object_get(o, key);

	return (struct line_sum){ number_at(x, "frames", INT64_MAX),
				  number_at(x, "bytes", INT64_MAX),
				  number_at(x, "dropped_frames", INT64_MAX),
				  number_at(x, "dropped_bytes", INT64_MAX) };
}

static void read_interval(const json_t *o, struct line_interval *x)
{
	*x = (struct line_interval){
		.boot = word_at(o, "boot"),
		.gap = text_at(o, "gap"),
		.tables_ns = number_at(o, "tables", INT64_MAX),
		.sequence = number_at(o, "sequence", INT64_MAX),
		.interval = (uint32_t)number_at(o, "interval", UINT32_MAX),
		.balanced = json_is_true(json_object_get(o, "balanced")),
		.thinned = json_is_true(json_object_get(o, "thinned")),
		.begin_ms = time_at(o, "begin"),
		.end_ms = time_at(o, "end"),
		.other = sum_at(o, "other"),
	};
}

static void read_peer(const json_t *o, struct line_peer *x)
{
	*x = (struct line_peer){
		.peer = word_at(o, "peer"),
		.why = json_is_true(json_object_get(o, "balanced")) ? NULL : word_at(o, "why"),
		.before = sum_at(o, "before"),
		.after = sum_at(o, "after"),
		.remainder = sum_at(o, "remainder"),
	};
}

static void read_addresses(const json_t *o, struct line_flow *x)
{
	const char *s = text_at(o, "source"), *d = text_at(o, "destination");

	/* for :: bwlimitd writes null */
	s = s ? s : "::";
	d = d ? d : "::";
	x->is_v4 = inet_pton(AF_INET, s, x->source) == 1 &&
		   inet_pton(AF_INET, d, x->destination) == 1;
	x->is_v6 = !x->is_v4 && inet_pton(AF_INET6, s, x->source) == 1 &&
		   inet_pton(AF_INET6, d, x->destination) == 1;
}

static void read_flow(const json_t *o, struct line_flow *x)
{
	*x = (struct line_flow){
		.protocol = (uint8_t)number_at(o, "ip_protocol", UINT8_MAX),
		.source_port = (uint16_t)number_at(o, "source_port", UINT16_MAX),
		.destination_port = (uint16_t)number_at(o, "destination_port", UINT16_MAX),
		.tcp_flags = (uint16_t)number_at(o, "tcp_flags", UINT16_MAX),
		.queue_pair = (uint32_t)number_at(o, "queue_pair", UINT32_MAX),
		.class = word_at(o, "class"),
		.reason = word_at(o, "reason"),
		.peer = word_at(o, "peer"),
		.port = word_at(o, "port"),
		.is_out = !strcmp(word_at(o, "direction"), "out"),
		.generation = (uint32_t)number_at(o, "generation", UINT32_MAX),
		.frames = number_at(o, "frames", INT64_MAX),
		.bytes = number_at(o, "bytes", INT64_MAX),
		.charged = number_at(o, "charged_bytes", INT64_MAX),
		.first_ms = time_at(o, "first"),
		.last_ms = time_at(o, "last"),
	};
	/* by the names of the reasons: maps/reason.h */
	x->passed = !strncmp(x->reason, "pass", 4);
}

bool line_read(const char *text, size_t len, struct line *ret)
{
	const char *kind;

	memset(ret, 0, sizeof(*ret));
	ret->doc = json_loadb(text, len, 0, NULL);
	kind = word_at(ret->doc, "kind");
	if (!strcmp(kind, "flow-interval")) {
		ret->kind = LINE_INTERVAL;
		read_interval(ret->doc, &ret->interval);
	} else if (!strcmp(kind, "flow-peer")) {
		ret->kind = LINE_PEER;
		read_peer(ret->doc, &ret->peer);
	} else if (!strcmp(kind, "flow") || !strcmp(kind, "flow-remainder")) {
		ret->kind = kind[4] ? LINE_REMAINDER : LINE_FLOW;
		read_flow(ret->doc, &ret->flow);
		if (ret->kind == LINE_FLOW)
			read_addresses(ret->doc, &ret->flow);
	} else {
		line_done(ret);
		return false;
	}
	return true;
}

void line_done(struct line *l)
{
	json_decref(l->doc);
	l->doc = NULL;
}
