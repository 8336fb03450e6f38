/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interval as lines of JSON: docs/recorder.md. */
#ifndef BWL_FLOWS_TEXT_H
#define BWL_FLOWS_TEXT_H

#include <time.h>
#include <bwl/clock.h>
#include <bwl/record.h>
#include "known.h"

#define FLOWS_BOOT BWL_BOOT_ID

/* Identifies an interval for all time. */
struct flows_id {
	char boot[FLOWS_BOOT]; /* the kernel's boot_id */
	uint64_t tables_ns;    /* when its tables were made: CLOCK_BOOTTIME */
	uint32_t interval;
	bool last; /* of these tables */
};

/* Facts about an interval beside its tables. */
struct flows_facts {
	struct flows_id id;
	uint64_t sequence;         /* of the file */
	uint64_t begin_ns, end_ns; /* CLOCK_BOOTTIME; 0: not known */
	struct timespec wall;      /* at now_ns */
	uint64_t now_ns;
	const char *gap;                 /* what is missing before it; NULL: nothing */
	const char *unbalanced;          /* why it need not balance; NULL: it must */
	const struct bwl_rec_sum *other; /* of no named peer; NULL: unknown */
	const struct flows_known *known; /* the last counters; NULL: unknown */
	const char *(*peer_name)(void *arg, uint32_t id);
	const char *(*port_name)(void *arg, unsigned port);
	bool (*is_host)(void *arg, unsigned port);
	void *arg;
};

/* Does all of it balance? *ret: the caller frees it; NULL: out of memory. */
bool flows_text(const struct bwl_book *b, const struct flows_facts *f, char **ret, size_t *ret_len);
/* From the first line of such a text. */
bool flows_id_of(const char *text, struct flows_id *ret);

/*
 * What is missing between two intervals that are written consecutively; false: nothing. was NULL:
 * it is the first of all. before_ns: when the previous tables were made, in this boot; 0: there
 * were none.
 */
bool flows_gap(const struct flows_id *was, const struct flows_id *now, uint64_t before_ns,
	       char *buf, size_t size);

/* In the first line of the text: its flows are complete, not deleted to make room. */
#define FLOWS_WHOLE "\"thinned\":false"
#define FLOWS_THIN "\"thinned\":true"
/* The beginning of a flow's line. */
#define FLOWS_FLOW "{\"kind\":\"flow\","
#define FLOWS_PEER "{\"kind\":\"flow-peer\"," /* of a peer's line */

#endif
