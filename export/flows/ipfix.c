// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See ipfix.h. There is one structure each for flows, intervals, peers and losses: the internal
 * template. The external templates say, by flags, which of its elements are sent. libfixbuf puts
 * elements next to each other in the order of a list, so the structures have no holes except the
 * named ones.
 */
#include <endian.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fixbuf/public.h>
#include "ipfix.h"

#define ETHERNET 14 /* bytes of a header, without VLAN tags */
#define SEQUENCE_AT 8
#define IPFIX_HEAD 16
#define THINNED "the flows of this interval were deleted before they were sent, to make room"

enum { IN_FLOW = 1, IN_V4 = 2, IN_V6 = 4, INSIDE = 8, ALL = 15 };
/* Template identifiers are 256 and above. */
enum { T_V4 = 256, T_V6, T_REMAINDER, T_INTERVAL, T_PEER, T_IGNORED, T_UNSENT, T_TYPES };

static fbInfoElement_t ours[] = {
#define OURS(name, n, len, flags, type, text)                                                      \
	FB_IE_INIT_FULL(name, IPFIX_ENTERPRISE, n, len, flags, 0, 0, type, text)
	OURS("bwlimitChargedOctetDeltaCount", 1, 8,
	     FB_IE_F_ENDIAN | FB_IE_DELTACOUNTER | FB_UNITS_OCTETS, FB_UINT_64,
	     (char *)"bytes as charged: every segment with its headers"),
	OURS("bwlimitPeerName", 2, FB_IE_VARLEN, FB_IE_F_NONE, FB_STRING, (char *)"peer"),
	OURS("bwlimitReasonName", 3, FB_IE_VARLEN, FB_IE_F_NONE, FB_STRING,
	     (char *)"reason: bwlimit-reasons(7)"),
	OURS("bwlimitDirection", 4, 1, FB_IE_IDENTIFIER, FB_UINT_8,
	     (char *)"1 from a host, 2 to a host"),
	OURS("bwlimitPolicyGeneration", 5, 4, FB_IE_F_ENDIAN | FB_IE_IDENTIFIER, FB_UINT_32,
	     (char *)"applied policies"),
	OURS("bwlimitQueuePair", 6, 4, FB_IE_F_ENDIAN | FB_IE_IDENTIFIER, FB_UINT_32,
	     (char *)"destination queue pair of RoCE"),
	OURS("bwlimitIntervalSequence", 7, 8, FB_IE_F_ENDIAN | FB_IE_IDENTIFIER, FB_UINT_64,
	     (char *)"number of the interval on this DPU"),
	OURS("bwlimitBootId", 8, FB_IE_VARLEN, FB_IE_F_NONE, FB_STRING, (char *)"boot_id"),
	OURS("bwlimitTables", 9, 8, FB_IE_F_ENDIAN | FB_IE_IDENTIFIER, FB_UINT_64,
	     (char *)"when the tables were made, ns since the boot"),
	OURS("bwlimitInterval", 10, 4, FB_IE_F_ENDIAN | FB_IE_IDENTIFIER, FB_UINT_32,
	     (char *)"interval of these tables"),
	OURS("bwlimitBalanced", 11, 1, FB_IE_F_NONE, FB_BOOL,
	     (char *)"records and remainder are what the counters grew by"),
	OURS("bwlimitGap", 12, FB_IE_VARLEN, FB_IE_F_NONE, FB_STRING,
	     (char *)"what is missing before it"),
	OURS("bwlimitWhy", 13, FB_IE_VARLEN, FB_IE_F_NONE, FB_STRING,
	     (char *)"why a peer does not balance"),
	OURS("bwlimitSentAgain", 14, 1, FB_IE_F_NONE, FB_BOOL,
	     (char *)"a part of the interval may have been sent before: records may be duplicates"),
	OURS("bwlimitWithheldFlowCount", 15, 8, FB_IE_F_ENDIAN | FB_IE_QUANTITY | FB_UNITS_FLOWS,
	     FB_UINT_64, (char *)"records of the interval beyond the byte budget"),
#undef OURS
	FB_IE_NULL
};

struct flow_record {
	uint64_t start_ms, end_ms, row, sequence;
	uint64_t frames, bytes, l2_bytes, charged, dropped_frames, dropped_l2_bytes;
	uint8_t source6[16], destination6[16];
	uint32_t source4, destination4, queue_pair, generation;
	uint16_t source_port, destination_port, tcp_flags;
	uint8_t protocol, end_reason, direction, status;
	uint8_t hole[6];
	fbVarfield_t port, class, reason, peer;
};
static fbInfoElementSpec_t flow_spec[] = { { (char *)"flowStartMilliseconds", 8, 0 },
					   { (char *)"flowEndMilliseconds", 8, 0 },
					   { (char *)"flowId", 8, 0 },
					   { (char *)"bwlimitIntervalSequence", 8, 0 },
					   { (char *)"packetDeltaCount", 8, 0 },
					   { (char *)"octetDeltaCount", 8, 0 },
					   { (char *)"layer2OctetDeltaCount", 8, 0 },
					   { (char *)"bwlimitChargedOctetDeltaCount", 8, 0 },
					   { (char *)"droppedPacketDeltaCount", 8, 0 },
					   { (char *)"droppedLayer2OctetDeltaCount", 8, 0 },
					   { (char *)"sourceIPv6Address", 16, IN_V6 },
					   { (char *)"destinationIPv6Address", 16, IN_V6 },
					   { (char *)"sourceIPv4Address", 4, IN_V4 },
					   { (char *)"destinationIPv4Address", 4, IN_V4 },
					   { (char *)"bwlimitQueuePair", 4, IN_FLOW },
					   { (char *)"bwlimitPolicyGeneration", 4, 0 },
					   { (char *)"sourceTransportPort", 2, IN_FLOW },
					   { (char *)"destinationTransportPort", 2, IN_FLOW },
					   { (char *)"tcpControlBits", 2, IN_FLOW },
					   { (char *)"protocolIdentifier", 1, IN_FLOW },
					   { (char *)"flowEndReason", 1, 0 },
					   { (char *)"bwlimitDirection", 1, 0 },
					   { (char *)"forwardingStatus", 1, 0 },
					   { (char *)"paddingOctets", 6, INSIDE },
					   { (char *)"interfaceName", FB_IE_VARLEN, 0 },
					   { (char *)"applicationName", FB_IE_VARLEN, 0 },
					   { (char *)"bwlimitReasonName", FB_IE_VARLEN, 0 },
					   { (char *)"bwlimitPeerName", FB_IE_VARLEN, 0 },
					   FB_IESPEC_NULL };

struct interval_record {
	uint64_t sequence, start_ms, end_ms, tables, withheld;
	uint32_t interval;
	uint8_t balanced, again, hole[2];
	fbVarfield_t boot, gap;
};
static fbInfoElementSpec_t interval_spec[] = { { (char *)"bwlimitIntervalSequence", 8,
						 0 }, /* the scope */
					       { (char *)"flowStartMilliseconds", 8, 0 },
					       { (char *)"flowEndMilliseconds", 8, 0 },
					       { (char *)"bwlimitTables", 8, 0 },
					       { (char *)"bwlimitWithheldFlowCount", 8, 0 },
					       { (char *)"bwlimitInterval", 4, 0 },
					       { (char *)"bwlimitBalanced", 1, 0 },
					       { (char *)"bwlimitSentAgain", 1, 0 },
					       { (char *)"paddingOctets", 2, INSIDE },
					       { (char *)"bwlimitBootId", FB_IE_VARLEN, 0 },
					       { (char *)"bwlimitGap", FB_IE_VARLEN, 0 },
					       FB_IESPEC_NULL };

struct peer_record {
	uint64_t sequence;
	fbVarfield_t peer;
	uint64_t frames, charged, dropped_frames, dropped_l2_bytes;
	uint8_t balanced, hole[7];
	fbVarfield_t why;
};
static fbInfoElementSpec_t peer_spec[] = { { (char *)"bwlimitIntervalSequence", 8,
					     0 }, /* the scope, together with the next one */
					   { (char *)"bwlimitPeerName", FB_IE_VARLEN, 0 },
					   { (char *)"packetDeltaCount", 8, 0 },
					   { (char *)"bwlimitChargedOctetDeltaCount", 8, 0 },
					   { (char *)"droppedPacketDeltaCount", 8, 0 },
					   { (char *)"droppedLayer2OctetDeltaCount", 8, 0 },
					   { (char *)"bwlimitBalanced", 1, 0 },
					   { (char *)"paddingOctets", 7, INSIDE },
					   { (char *)"bwlimitWhy", FB_IE_VARLEN, 0 },
					   FB_IESPEC_NULL };

/* RFC 7011, 4.2 and 4.3 */
struct ignored_record {
	uint32_t domain, hole;
	uint64_t frames, l2_bytes;
};
static fbInfoElementSpec_t ignored_spec[] = { { (char *)"observationDomainId", 4,
						0 }, /* the scope */
					      { (char *)"paddingOctets", 4, INSIDE },
					      { (char *)"ignoredPacketTotalCount", 8, 0 },
					      { (char *)"ignoredLayer2OctetTotalCount", 8, 0 },
					      FB_IESPEC_NULL };
struct unsent_record {
	uint32_t process, hole;
	uint64_t flows, frames, l2_bytes;
};
static fbInfoElementSpec_t unsent_spec[] = { { (char *)"exportingProcessId", 4, 0 }, /* the scope */
					     { (char *)"paddingOctets", 4, INSIDE },
					     { (char *)"notSentFlowTotalCount", 8, 0 },
					     { (char *)"notSentPacketTotalCount", 8, 0 },
					     { (char *)"notSentLayer2OctetTotalCount", 8, 0 },
					     FB_IESPEC_NULL };

struct ipfix {
	fbInfoModel_t *model;
	fBuf_t *buf;
	fbSession_t *session;
	/*
	 * Where libfixbuf writes messages. Templates are only sent in its automatic mode, in which
	 * fbExporterAllocBuffer() would keep only the last message.
	 */
	FILE *stream;
	char *bytes;
	size_t len, most, left_first; /* left_first: the room after a message's first record */
	uint32_t domain;
	/*
	 * libfixbuf counts data records from 0; but some were taken back, and a file may already
	 * have some
	 */
	uint32_t start, counted, types; /* types: data records of ipfix_templates() */
};

static int failed(GError *g, struct bwl_err *e)
{
	int r = bwl_fail(e, EIO, "libfixbuf: %s", g ? g->message : "it failed");

	g_clear_error(&g);
	return r;
}

static fbTemplate_t *template_of(struct ipfix *x, fbInfoElementSpec_t *spec, uint32_t flags,
				 uint16_t scope, GError **g)
{
	fbTemplate_t *t = fbTemplateAlloc(x->model);

	if (!fbTemplateAppendSpecArray(t, spec, flags, g)) {
		fbTemplateFreeUnused(t);
		return NULL;
	}
	if (scope)
		fbTemplateSetOptionsScope(t, scope);
	return t;
}

static const struct {
	uint16_t id;
	fbInfoElementSpec_t *spec;
	uint32_t flags;
	uint16_t scope;
} outside[] = {
	{ T_V4, flow_spec, IN_FLOW | IN_V4, 0 },
	{ T_V6, flow_spec, IN_FLOW | IN_V6, 0 },
	{ T_REMAINDER, flow_spec, 0, 0 },
	{ T_INTERVAL, interval_spec, 0, 1 },
	{ T_PEER, peer_spec, 0, 2 },
	{ T_IGNORED, ignored_spec, 0, 1 },
	{ T_UNSENT, unsent_spec, 0, 1 },
};
#define TEMPLATES (sizeof(outside) / sizeof(outside[0]))

static bool add_templates(struct ipfix *x, GError **g)
{
	for (size_t i = 0; i < TEMPLATES; i++) {
		fbTemplate_t *in = template_of(x, outside[i].spec, ALL, 0, g);
		fbTemplate_t *out;

		if (!in || !fbSessionAddTemplate(x->session, TRUE, outside[i].id, in, g))
			return false;
		out = template_of(x, outside[i].spec, outside[i].flags, outside[i].scope, g);
		if (!out || !fbSessionAddTemplate(x->session, FALSE, outside[i].id, out, g))
			return false;
	}
	return true;
}

int ipfix_open(uint32_t domain, size_t most, uint32_t sequence, struct ipfix **ret,
	       struct bwl_err *e)
{
	struct ipfix *x = bwl_must(calloc(1, sizeof(*x)));
	GError *g = NULL;

	x->domain = domain;
	x->start = sequence;
	x->most = most;
	x->stream = bwl_must(open_memstream(&x->bytes, &x->len));
	x->model = fbInfoModelAlloc();
	fbInfoModelAddElementArray(x->model, ours);
	x->session = fbSessionAlloc(x->model);
	fbSessionSetDomain(x->session, domain);
	/* RFC 5610: describes our own elements */
	if (!fbSessionSetMetadataExportElements(x->session, TRUE, T_TYPES, &g) ||
	    !add_templates(x, &g)) {
		ipfix_close(x);
		return failed(g, e);
	}
	x->buf = fBufAllocForExport(x->session, fbExporterAllocFP(x->stream));
	*ret = x;
	return 0;
}

void ipfix_close(struct ipfix *x)
{
	if (x->buf)
		fBufFree(x->buf); /* also frees the session */
	else
		fbSessionFree(x->session);
	fbInfoModelFree(x->model);
	fclose(x->stream);
	free(x->bytes);
	free(x);
}

uint32_t ipfix_sequence(const struct ipfix *x)
{
	return x->start + x->types + x->counted;
}

void ipfix_rewind(struct ipfix *x, uint32_t to)
{
	x->start -= ipfix_sequence(x) - to;
}

static uint32_t be32_at(const void *at)
{
	uint32_t be;

	memcpy(&be, at, sizeof(be));
	return be32toh(be);
}

/* Takes what libfixbuf has written, and puts our sequence numbers into it. */
static int take(struct ipfix *x, struct ipfix_out *out, struct bwl_err *e)
{
	uint32_t be;
	size_t at, n;

	if (fflush(x->stream))
		return bwl_fail(e, errno, "messages do not fit into memory: %s", strerror(errno));
	for (at = 0; at + IPFIX_HEAD <= x->len; at += n) {
		n = be32_at(x->bytes + at) & 0xffff;
		if (n < IPFIX_HEAD || n > x->len - at)
			return bwl_fail(e, EUCLEAN,
					"libfixbuf made a malformed message of %zu bytes", n);
		be = htobe32(x->start + be32_at(x->bytes + at + SEQUENCE_AT));
		memcpy(x->bytes + at + SEQUENCE_AT, &be, sizeof(be));
	}
	if (out->len + x->len > out->room) {
		out->room = 2 * (out->len + x->len);
		out->at = bwl_must(realloc(out->at, out->room));
	}
	memcpy(out->at + out->len, x->bytes, x->len);
	out->len += x->len;
	rewind(x->stream);
	return 0;
}

int ipfix_flush(struct ipfix *x, struct ipfix_out *out, struct bwl_err *e)
{
	GError *g = NULL;

	x->left_first = 0;
	return fBufEmit(x->buf, &g) ? take(x, out, e) : failed(g, e);
}

int ipfix_templates(struct ipfix *x, const struct ipfix_losses *l, struct ipfix_out *out,
		    struct bwl_err *e)
{
	GError *g = NULL;
	size_t from;
	int r;

	if (!fbSessionExportTemplates(x->session, &g))
		return failed(g, e);
	r = ipfix_flush(x, out, e);
	from = out->len;
	if (!r)
		r = ipfix_loss(x, l, out, e);
	if (!r)
		r = ipfix_flush(x, out, e);
	/* The number of records with which libfixbuf described our elements in this message. */
	if (!r)
		x->types = be32_at(out->at + from + SEQUENCE_AT) - x->start;
	return r;
}

static int append(struct ipfix *x, uint16_t id, void *record, size_t size, struct ipfix_out *out,
		  struct bwl_err *e)
{
	GError *g = NULL;
	size_t left;

	if (!fBufSetInternalTemplate(x->buf, id, &g) || !fBufSetExportTemplate(x->buf, id, &g) ||
	    !fBufAppend(x->buf, record, size, &g))
		return failed(g, e);
	x->counted++;
	left = fBufRemaining(x->buf);
	if (!x->left_first)
		x->left_first = left;
	return x->left_first - left + 2 * size < x->most ? 0 : ipfix_flush(x, out, e);
}

static fbVarfield_t text(const char *s)
{
	return (fbVarfield_t){ .len = s ? strlen(s) : 0, .buf = (uint8_t *)(uintptr_t)s };
}

/* IPFIX has no 0 for false (RFC 7011, 6.1.5). */
static uint8_t truth(bool is)
{
	return is ? 1 : 2;
}

int ipfix_interval(struct ipfix *x, const struct line_interval *l, const struct ipfix_note *n,
		   struct ipfix_out *out, struct bwl_err *e)
{
	struct interval_record r = {
		.sequence = l->sequence,
		.start_ms = l->begin_ms,
		.end_ms = l->end_ms,
		.tables = l->tables_ns,
		.withheld = n->withheld,
		.interval = l->interval,
		.balanced = truth(l->balanced),
		.again = truth(n->again),
		.boot = text(l->boot),
	};
	char gap[1200];

	snprintf(gap, sizeof(gap), "%s%s%s%s", n->gap ? n->gap : "", n->gap && l->gap ? "; " : "",
		 l->gap ? l->gap : "",
		 !l->thinned        ? ""
		 : n->gap || l->gap ? "; " THINNED
				    : THINNED);
	r.gap = text(gap);
	return append(x, T_INTERVAL, &r, sizeof(r), out, e);
}

int ipfix_peer(struct ipfix *x, uint64_t sequence, const struct line_peer *l, struct ipfix_out *out,
	       struct bwl_err *e)
{
	const struct line_sum *a = &l->before, *b = &l->after;
	struct peer_record r = {
		.sequence = sequence,
		.peer = text(l->peer),
		.frames = b->frames - a->frames + b->dropped_frames - a->dropped_frames,
		.charged = b->bytes - a->bytes,
		.dropped_frames = b->dropped_frames - a->dropped_frames,
		.dropped_l2_bytes = b->dropped_bytes - a->dropped_bytes,
		.balanced = truth(!l->why),
		.why = text(l->why),
	};

	return append(x, T_PEER, &r, sizeof(r), out, e);
}

/* forwardingStatus (89): forwarded, dropped by a policer, or dropped. */
static uint8_t status_of(const struct line_flow *l)
{
	if (l->passed)
		return 64;
	return strstr(l->reason, "-rate") || strstr(l->reason, "-volume") ? 138 : 128;
}

int ipfix_flow(struct ipfix *x, uint64_t sequence, uint64_t row, const struct line *line,
	       struct ipfix_out *out, struct bwl_err *e)
{
	const struct line_flow *l = &line->flow;
	bool is_flow = line->kind == LINE_FLOW;
	/* without addresses it is sent as a remainder, whatever it is called */
	uint16_t id = is_flow && l->is_v4 ? T_V4 : is_flow && l->is_v6 ? T_V6 : T_REMAINDER;
	struct flow_record r = {
		.start_ms = l->first_ms,
		.end_ms = l->last_ms,
		.row = row,
		.sequence = sequence,
		.frames = l->frames,
		.l2_bytes = l->bytes,
		.charged = l->charged,
		.dropped_frames = l->passed ? 0 : l->frames,
		.dropped_l2_bytes = l->passed ? 0 : l->bytes,
		.queue_pair = l->queue_pair,
		.generation = l->generation,
		.source_port = l->source_port,
		.destination_port = l->destination_port,
		.tcp_flags = l->tcp_flags,
		.protocol = l->protocol,
		.end_reason = id == T_REMAINDER ? 5 : 2, /* lack of resources; active timeout */
		.direction = l->is_out ? 1 : 2,
		.status = status_of(l),
		.port = text(l->port),
		.class = text(l->class),
		.reason = text(l->reason),
		.peer = text(l->peer),
	};
	uint32_t be;

	if (l->bytes / ETHERNET >= l->frames)
		r.bytes = l->bytes - ETHERNET * l->frames;
	memcpy(r.source6, l->source, 16);
	memcpy(r.destination6, l->destination, 16);
	memcpy(&be, l->source, 4);
	r.source4 = be32toh(be);
	memcpy(&be, l->destination, 4);
	r.destination4 = be32toh(be);
	return append(x, id, &r, sizeof(r), out, e);
}

int ipfix_loss(struct ipfix *x, const struct ipfix_losses *l, struct ipfix_out *out,
	       struct bwl_err *e)
{
	struct ignored_record a = { .domain = x->domain,
				    .frames = l->ignored_frames,
				    .l2_bytes = l->ignored_bytes };
	struct unsent_record b = { .process = 1,
				   .flows = l->unsent_flows,
				   .frames = l->unsent_frames,
				   .l2_bytes = l->unsent_bytes };
	int r = append(x, T_IGNORED, &a, sizeof(a), out, e);

	return r ? r : append(x, T_UNSENT, &b, sizeof(b), out, e);
}
