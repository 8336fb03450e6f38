/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of a flow interval, as bwlimitd wrote it (docs/recorder.md), parsed. */
#ifndef BWL_EXPORT_FLOWS_LINE_H
#define BWL_EXPORT_FLOWS_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum line_kind { LINE_INTERVAL, LINE_PEER, LINE_FLOW, LINE_REMAINDER };

struct line_sum {
	uint64_t frames, bytes, dropped_frames, dropped_bytes;
};

struct line_interval {
	const char *boot, *gap; /* gap NULL: nothing is missing before it */
	uint64_t tables_ns, sequence;
	uint32_t interval;
	bool balanced, thinned;    /* thinned: bwlimitd has deleted its flows to make room */
	uint64_t begin_ms, end_ms; /* of the epoch; 0: not known */
	struct line_sum other;
};

struct line_peer {
	const char *peer, *why; /* why NULL: it balances */
	struct line_sum before, after, remainder;
};

/* For a remainder only the fields below `class`. */
struct line_flow {
	uint8_t source[16], destination[16]; /* network order; of IPv4 the first four bytes */
	bool is_v6, is_v4;                   /* neither: no addresses */
	uint8_t protocol;
	uint16_t source_port, destination_port, tcp_flags;
	uint32_t queue_pair;
	const char *class, *reason, *peer, *port;
	bool passed, is_out; /* is_out: from a host */
	uint32_t generation;
	uint64_t frames, bytes, charged;
	uint64_t first_ms, last_ms;
};

/* Texts live as long as `doc`. */
struct line {
	enum line_kind kind;
	json_t *doc;
	union {
		struct line_interval interval;
		struct line_peer peer;
		struct line_flow flow;
	};
};

/* false: not one of these lines. Otherwise call line_done(). */
bool line_read(const char *text, size_t len, struct line *ret);
void line_done(struct line *l);

#endif
