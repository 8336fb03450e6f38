/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Logs that are kept below a size, and what remains of them. */
#ifndef BWL_TEST_AUDIT_PRUNE_RIG_H
#define BWL_TEST_AUDIT_PRUNE_RIG_H

#include "log_rig.h"

static inline uint64_t bytes_of(const char *where)
{
	char cmd[128];
	unsigned long long n = 0;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "cat %s/log-* | wc -c", where);
	f = popen(cmd, "r");
	assert_int_equal(fscanf(f, "%llu", &n), 1);
	pclose(f);
	return n;
}

static inline int find_text(const struct bwl_audit_item *i, void *arg)
{
	const char *text = i->kind == BWL_AUDIT_RECORD
				   ? json_string_value(json_object_get(i->json, "text"))
				   : NULL;

	return text && !strcmp(text, arg);
}

static inline bool has(const char *fmt, unsigned n)
{
	char text[40];

	snprintf(text, sizeof(text), fmt, n);
	return bwl_audit_scan(dir, find_text, text, &e) == 1;
}

static inline int count_event(const struct bwl_audit_item *i, void *arg)
{
	struct event {
		const char *name;
		unsigned n;
	} *x = arg;
	const char *event = json_string_value(json_object_get(i->json, "event"));

	x->n += i->kind == BWL_AUDIT_RECORD && event && !strcmp(event, x->name);
	return 0;
}

static inline unsigned events(const char *name)
{
	struct {
		const char *name;
		unsigned n;
	} x = { name, 0 };

	assert_int_equal(bwl_audit_scan(dir, count_event, &x, &e), 0);
	return x.n;
}

#define SMALL 30000
static inline void must_be_small(void)
{
	if (bytes_of(dir) >= SMALL + 2 * 6000)
		fail_msg("%llu bytes", (unsigned long long)bytes_of(dir));
}

static inline void write_operators(unsigned from, unsigned n)
{
	struct bwl_audit_log *l = small_log(SMALL);

	for (unsigned i = from; i < from + n; i++)
		mix(l, 10 * i, NULL);
	bwl_audit_close(l);
}

/*
 * Writes 20 operators' records, then records that a host causes, of both kinds: n records in all.
 */
#define OPERATORS 20
static struct bwl_checkpoint since[700];
static inline void write_under_attack(unsigned n)
{
	struct bwl_audit_log *l = small_log(40000);

	for (unsigned i = 0; i < OPERATORS; i++)
		mix(l, 10 * i, &since[i]);
	for (unsigned i = OPERATORS; i < n; i++) {
		enum bwl_audit_urgency u = i % 3 ? BWL_AUDIT_EVENT : BWL_AUDIT_JUNK;

		assert_int_equal(bwl_audit_append(l, u, "lapsed", "host", NULL, NULL, &e), 0);
		since[i] = newest(dir);
	}
	bwl_audit_close(l);
}

#endif
