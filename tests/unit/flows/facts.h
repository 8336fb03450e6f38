/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interval's facts, and what a line of its text says. */
#ifndef BWL_TEST_FLOWS_FACTS_H
#define BWL_TEST_FLOWS_FACTS_H

#include "../test.h"
#include <string.h>
#include <jansson.h>
#include "flows/store.h"

static const struct flows_id first = { "b007", 77, 1, false };

static inline const char *peer_name(void *arg, uint32_t id)
{
	(void)arg;
	return id == 7 ? "a\"b" : NULL;
}

static inline const char *port_name(void *arg, unsigned port)
{
	(void)arg;
	return port == 1 ? "hpf0" : NULL;
}

static inline bool is_host(void *arg, unsigned port)
{
	(void)arg;
	return port == 1;
}

static inline struct flows_facts facts(void)
{
	return (struct flows_facts){ .id = first,
				     .sequence = 5,
				     .begin_ns = 1000000000,
				     .end_ns = 11000000000,
				     .now_ns = 11000000000,
				     .wall.tv_sec = 1790000000,
				     .peer_name = peer_name,
				     .port_name = port_name,
				     .is_host = is_host };
}

/* Line number n (from 0) of that kind in text. The caller drops the reference. */
static inline json_t *line(const char *text, const char *kind, unsigned n)
{
	const char *at = text, *end;
	json_t *o;

	for (; *at && (end = strchr(at, '\n')); at = end + 1) {
		o = json_loadb(at, (size_t)(end - at), 0, NULL);
		assert_non_null(o);
		if (!strcmp(json_string_value(json_object_get(o, "kind")), kind) && !n--)
			return o;
		json_decref(o);
	}
	return NULL;
}

static inline const char *text_at(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static inline json_int_t number_at(const json_t *o, const char *sum, const char *key)
{
	return json_integer_value(json_object_get(sum ? json_object_get(o, sum) : o, key));
}

#endif
