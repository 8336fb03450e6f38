// SPDX-License-Identifier: GPL-2.0-or-later
/* See interval.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "interval.h"

struct encoding {
	struct ipfix *x;
	const struct ipfix_note *note;
	struct interval *v;
	uint64_t sequence;
};

static void put_text(struct ipfix_out *out, const char *s, size_t len)
{
	if (out->len + len > out->room) {
		out->room = 2 * (out->len + len);
		out->at = bwl_must(realloc(out->at, out->room));
	}
	memcpy(out->at + out->len, s, len);
	out->len += len;
}

/* For JSON lines: what is not in the interval itself is one more line after it. */
static void put_note(struct encoding *c, const struct ipfix_losses *l)
{
	json_t *gap = c->note->gap ? json_string(c->note->gap) : json_null();
	char *quoted = bwl_must(json_dumps(gap, JSON_ENCODE_ANY));
	char *line = NULL;
	int n = asprintf(&line,
			 "{\"kind\":\"flow-export\",\"sequence\":%" PRIu64
			 ",\"gap\":%s,\"sent_again\":%s,\"withheld_flows\":%" PRIu64
			 ",\"ignored_frames\":%" PRIu64 ",\"ignored_bytes\":%" PRIu64
			 ",\"unsent_flows\":%" PRIu64 ",\"unsent_frames\":%" PRIu64
			 ",\"unsent_bytes\":%" PRIu64 "}\n",
			 c->sequence, quoted, c->note->again ? "true" : "false", c->note->withheld,
			 l->ignored_frames, l->ignored_bytes, l->unsent_flows, l->unsent_frames,
			 l->unsent_bytes);

	bwl_must(n < 0 ? NULL : line);
	put_text(&c->v->out, line, (size_t)n);
	free(line);
	free(quoted);
	json_decref(gap);
}

static void count(struct interval *v, const struct line *l)
{
	if (l->kind == LINE_INTERVAL)
		v->other = l->interval.other;
	if (l->kind != LINE_FLOW && l->kind != LINE_REMAINDER)
		return;
	v->rows++;
	v->frames += l->flow.frames;
	v->bytes += l->flow.bytes;
}

static int put(struct encoding *c, const struct line *l, const char *text, size_t len,
	       struct bwl_err *e)
{
	struct ipfix_out *out = &c->v->out;
	bool is_row = l->kind == LINE_FLOW || l->kind == LINE_REMAINDER;

	count(c->v, l);
	if (l->kind == LINE_INTERVAL)
		c->sequence = l->interval.sequence;
	if (is_row && c->note->withheld)
		return 0;
	if (!c->x) {
		put_text(out, text, len);
		return 0;
	}
	if (l->kind == LINE_INTERVAL)
		return ipfix_interval(c->x, &l->interval, c->note, out, e);
	if (l->kind == LINE_PEER)
		return ipfix_peer(c->x, c->sequence, &l->peer, out, e);
	return ipfix_flow(c->x, c->sequence, c->v->rows, l, out, e);
}

int interval_encode(FILE *file, struct ipfix *x, const struct ipfix_note *n,
		    const struct ipfix_losses *losses, struct interval *ret, struct bwl_err *e)
{
	struct encoding c = { .x = x, .note = n, .v = ret };
	struct ipfix_losses all = *losses;
	char *text = NULL;
	size_t room = 0;
	struct line l;
	ssize_t len;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	rewind(file);
	while (!r && (len = getline(&text, &room, file)) > 0) {
		if (!line_read(text, (size_t)len, &l)) {
			ret->strange++;
			continue;
		}
		r = put(&c, &l, text, (size_t)len, e);
		line_done(&l);
	}
	free(text);
	all.ignored_frames += ret->other.frames + ret->other.dropped_frames;
	all.ignored_bytes += ret->other.bytes + ret->other.dropped_bytes;
	if (n->withheld) {
		all.unsent_flows += ret->rows;
		all.unsent_frames += ret->frames;
		all.unsent_bytes += ret->bytes;
	}
	if (!r && !x)
		put_note(&c, &all);
	if (!r && x)
		r = ipfix_loss(x, &all, &ret->out, e);
	return r || !x ? r : ipfix_flush(x, &ret->out, e);
}

void interval_done(struct interval *v)
{
	free(v->out.at);
}
