/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flow records as IPFIX messages (RFC 7011), by libfixbuf. Elements: docs/export.md. One session is
 * one transport session: templates come first, and once.
 */
#ifndef BWL_EXPORT_FLOWS_IPFIX_H
#define BWL_EXPORT_FLOWS_IPFIX_H

#include <bwl/err.h>
#include "line.h"

/* RFC 5612, for documentation: we have no registered number. */
#define IPFIX_ENTERPRISE 32473

/* Consecutive messages; each has its length in its bytes 2 and 3. */
struct ipfix_out {
	uint8_t *at;
	size_t len, room;
};

/* Facts about an interval beside its lines. */
struct ipfix_note {
	const char *gap; /* what is missing before it; NULL: nothing */
	bool again;      /* it was begun before, and is sent again from its start */
	uint64_t withheld;
};

/* Totals since the state was created. */
struct ipfix_losses {
	uint64_t ignored_frames, ignored_bytes;
	uint64_t unsent_flows, unsent_frames, unsent_bytes;
};

struct ipfix;
/* Messages of at most about that many bytes; sequence: number of its first data record. */
int ipfix_open(uint32_t domain, size_t most, uint32_t sequence, struct ipfix **ret,
	       struct bwl_err *e);
void ipfix_close(struct ipfix *x);
/*
 * The number of the next data record, after a flush; the second resets it, if the records since are
 * not sent.
 */
uint32_t ipfix_sequence(const struct ipfix *x);
void ipfix_rewind(struct ipfix *x, uint32_t to);

/* The first messages: templates, our elements, and losses so far. */
int ipfix_templates(struct ipfix *x, const struct ipfix_losses *l, struct ipfix_out *out,
		    struct bwl_err *e);
/* All of these write whole messages to *out as they fill up; ipfix_flush() writes the last one. */
int ipfix_interval(struct ipfix *x, const struct line_interval *l, const struct ipfix_note *n,
		   struct ipfix_out *out, struct bwl_err *e);
int ipfix_peer(struct ipfix *x, uint64_t sequence, const struct line_peer *l, struct ipfix_out *out,
	       struct bwl_err *e);
/* row: number of the flow or remainder in its interval, from 1 */
int ipfix_flow(struct ipfix *x, uint64_t sequence, uint64_t row, const struct line *l,
	       struct ipfix_out *out, struct bwl_err *e);
int ipfix_loss(struct ipfix *x, const struct ipfix_losses *l, struct ipfix_out *out,
	       struct bwl_err *e);
int ipfix_flush(struct ipfix *x, struct ipfix_out *out, struct bwl_err *e);

#endif
