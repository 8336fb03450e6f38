// SPDX-License-Identifier: GPL-2.0-or-later
/* See text.h. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include <bwl/doc.h>
#include <bwl/pins.h>
#include <bwl/policy.h>
#include "maps/reason.h"
#include "text.h"

#define SECOND 1000000000ULL

/* "2026-11-22T05:30:00.250Z", or null; quotes included. */
static const char *when(const struct flows_facts *f, uint64_t boot_ns, char buf[static 64])
{
	int64_t ns = (int64_t)f->wall.tv_sec * (int64_t)SECOND + f->wall.tv_nsec -
		     (int64_t)(f->now_ns - boot_ns);
	char t[BWL_TIME_BUF];

	if (!boot_ns || ns < 0)
		return "null";
	bwl_utc(ns / (int64_t)SECOND, (int)(ns % (int64_t)SECOND / 1000000), t);
	snprintf(buf, 64, "\"%s\"", t);
	return buf;
}

/* As JSON; the caller frees it. */
static char *quoted(const char *s)
{
	json_t *o = s ? json_string(s) : NULL;
	char *text = o ? json_dumps(o, JSON_ENCODE_ANY) : NULL;

	json_decref(o);
	return text ? text : bwl_must(strdup("null"));
}

static void put_text(FILE *o, const char *key, const char *s)
{
	char *text = quoted(s);

	fprintf(o, ",\"%s\":%s", key, text);
	free(text);
}

static void put_sum(FILE *o, const char *key, const struct bwl_rec_sum *s)
{
	if (!s) {
		fprintf(o, ",\"%s\":null", key);
		return;
	}
	fprintf(o,
		",\"%s\":{\"frames\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"dropped_frames\":%" PRIu64
		",\"dropped_bytes\":%" PRIu64 "}",
		key, (uint64_t)s->frames, (uint64_t)s->bytes, (uint64_t)s->drop_frames,
		(uint64_t)s->drop_bytes);
}

static struct bwl_rec_sum sum_of(const struct bwl_flow *x)
{
	bool pass = bwl_reason_is_pass(bwl_flow_reason(x));

	return (struct bwl_rec_sum){ pass ? x->frames : 0, pass ? x->charged : 0,
				     pass ? 0 : x->frames, pass ? 0 : x->bytes };
}

struct classes {
	struct bwl_rec_sum flows[_BWL_CLASS_MAX], rests[_BWL_CLASS_MAX];
};

static bool is_zero(const struct bwl_rec_sum *s)
{
	return !(s->frames | s->drop_frames);
}

static void put_classes(FILE *o, const struct classes *c)
{
	const char *comma = "";
	unsigned i;

	fputs(",\"classes\":[", o);
	for (i = 0; i < _BWL_CLASS_MAX; i++) {
		if (is_zero(&c->flows[i]) && is_zero(&c->rests[i]))
			continue;
		fprintf(o, "%s{\"class\":\"%s\"", comma, bwl_class_name(i));
		put_sum(o, "flows", &c->flows[i]);
		put_sum(o, "remainder", &c->rests[i]);
		fputc('}', o);
		comma = ",";
	}
	fputc(']', o);
}

/* Why a peer's records do not match the growth of its counter; NULL: they match. */
static const char *wrong(const struct flows_facts *f, const struct bwl_book_cpu *c, size_t n)
{
	const struct bwl_book_cpu *k;

	for (; n; n--, c++) {
		k = f->known ? flows_known_find(f->known, c->peer, c->cpu) : NULL;
		if (k && !bwl_rec_sum_same(&k->after, &c->before))
			return f->unbalanced ? f->unbalanced
					     : "its counter moved between two intervals";
		if (!bwl_book_balances(c))
			return f->unbalanced ? f->unbalanced
			       : !f->other || !is_zero(f->other)
				       ? "packets interrupted one another: they are in `other`"
				       : "records and remainder are not what its counter grew by";
	}
	return NULL;
}

static void add_classes(struct classes *c, const struct bwl_flow *x, size_t n)
{
	struct bwl_rec_sum s;
	unsigned class;

	memset(c, 0, sizeof(*c));
	for (; n; n--, x++) {
		s = sum_of(x);
		class = bwl_flow_class(x);
		if (class < _BWL_CLASS_MAX)
			bwl_rec_sum_add(bwl_flow_kind(x) == BWL_REC_FLOW ? &c->flows[class]
									 : &c->rests[class],
					&s);
	}
}

static void put_numbers(FILE *o, const struct bwl_rec_sum *s)
{
	fprintf(o, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, (uint64_t)s->frames,
		(uint64_t)s->bytes, (uint64_t)s->drop_frames, (uint64_t)s->drop_bytes);
}

/*
 * Its counter on each CPU, so that a later reader can check that the next interval continues from
 * there.
 */
static void put_cpus(FILE *o, const struct bwl_book_cpu *c, size_t n)
{
	fputs(",\"cpus\":[", o);
	for (size_t i = 0; i < n; i++) {
		fprintf(o, "%s[%u", i ? "," : "", c[i].cpu);
		put_numbers(o, &c[i].before);
		put_numbers(o, &c[i].after);
		fputc(']', o);
	}
	fputc(']', o);
}

/* c: its CPUs; x: its rows. */
static bool put_peer(FILE *o, const struct flows_facts *f, const struct bwl_book_cpu *c, size_t n,
		     const struct bwl_flow *x, size_t nx)
{
	struct bwl_book_cpu all = { 0 };
	const char *why = wrong(f, c, n);
	struct classes by;
	size_t i;

	for (i = 0; i < n; i++) {
		bwl_rec_sum_add(&all.before, &c[i].before);
		bwl_rec_sum_add(&all.after, &c[i].after);
		bwl_rec_sum_add(&all.rest, &c[i].rest);
	}
	add_classes(&by, x, nx);
	for (i = 0; i < _BWL_CLASS_MAX; i++) { /* as they are written: fold.h */
		bwl_rec_sum_add(&all.flows, &by.flows[i]);
		bwl_rec_sum_add(&all.rests, &by.rests[i]);
	}
	fprintf(o, "{\"kind\":\"flow-peer\",\"id\":%u", c->peer);
	put_text(o, "peer", f->peer_name(f->arg, c->peer));
	fprintf(o, ",\"balanced\":%s", why ? "false" : "true");
	put_text(o, "why", why);
	put_sum(o, "before", &all.before);
	put_sum(o, "after", &all.after);
	put_sum(o, "flows", &all.flows);
	put_sum(o, "remainder", &all.rests);
	put_sum(o, "unclassed", &all.rest);
	put_classes(o, &by);
	put_cpus(o, c, n);
	fputs("}\n", o);
	return !why;
}

static void put_address(FILE *o, const char *key, const __be32 a[4])
{
	static const __be32 none[4];
	char t[INET6_ADDRSTRLEN];

	if (!memcmp(a, none, sizeof(none))) {
		fprintf(o, ",\"%s\":null", key);
		return;
	}
	if (!a[0] && !a[1] && a[2] == htonl(0xffff))
		inet_ntop(AF_INET, &a[3], t, sizeof(t));
	else
		inet_ntop(AF_INET6, a, t, sizeof(t));
	fprintf(o, ",\"%s\":\"%s\"", key, t);
}

static void put_flow(FILE *o, const struct flows_facts *f, const struct bwl_flow *x)
{
	bool flow = bwl_flow_kind(x) == BWL_REC_FLOW;
	unsigned sport = x->key.ports & 0xffff, dport = x->key.ports >> 16 & 0xffff;
	unsigned qpn = (unsigned)(x->key.ports >> 32);
	char t[64];

	fprintf(o, "{\"kind\":\"%s\",\"id\":%u", flow ? "flow" : "flow-remainder",
		bwl_flow_peer(x));
	put_text(o, "peer", f->peer_name(f->arg, bwl_flow_peer(x)));
	fprintf(o, ",\"generation\":%u,\"direction\":\"%s\"", (unsigned)(x->key.who >> 32),
		f->is_host(f->arg, bwl_flow_port(x)) ? "out" : "in");
	put_text(o, "port", f->port_name(f->arg, bwl_flow_port(x)));
	fprintf(o, ",\"class\":\"%s\",\"reason\":\"%s\"", bwl_class_name(bwl_flow_class(x)),
		bwl_reason_name(bwl_flow_reason(x)));
	if (flow) {
		fprintf(o, ",\"ip_protocol\":%u", bwl_flow_proto(x));
		put_address(o, "source", x->key.saddr);
		fprintf(o, ",\"source_port\":%u", sport);
		put_address(o, "destination", x->key.daddr);
		fprintf(o, ",\"destination_port\":%u,\"queue_pair\":%u,\"tcp_flags\":%u", dport,
			qpn, x->tcp_flags);
	}
	fprintf(o, ",\"frames\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"charged_bytes\":%" PRIu64,
		x->frames, x->bytes, x->charged);
	fprintf(o, ",\"first\":%s", when(f, x->first_ns, t));
	fprintf(o, ",\"last\":%s}\n", when(f, x->last_ns, t));
}

/* First the peers, then their flows. */
static bool put_all(FILE *o, const struct bwl_book *b, const struct flows_facts *f, size_t *ret_n)
{
	size_t i, n, at = 0, nx;
	bool good = true;

	*ret_n = 0;
	for (i = 0; i < b->ncounts; i += n, ++*ret_n) {
		uint32_t peer = b->count[i].peer;

		for (n = 1; i + n < b->ncounts && b->count[i + n].peer == peer;)
			n++;
		while (at < b->nflows && bwl_flow_peer(&b->flow[at]) < peer)
			at++;
		for (nx = 0; at + nx < b->nflows && bwl_flow_peer(&b->flow[at + nx]) == peer;)
			nx++;
		good &= put_peer(o, f, &b->count[i], n, &b->flow[at], nx);
	}
	for (i = 0; i < b->nflows; i++)
		put_flow(o, f, &b->flow[i]);
	return good;
}

static void put_head(FILE *o, const struct bwl_book *b, const struct flows_facts *f, size_t npeers,
		     bool good)
{
	char t[64];

	fprintf(o,
		"{\"version\":%d,\"kind\":\"flow-interval\",\"boot\":\"%s\",\"tables\":%" PRIu64
		",\"interval\":%u,\"final\":%s,\"sequence\":%" PRIu64,
		BWL_JSON_VERSION, f->id.boot, f->id.tables_ns, f->id.interval,
		f->id.last ? "true" : "false", f->sequence);
	fputs("," FLOWS_WHOLE, o);
	fprintf(o, ",\"begin\":%s", when(f, f->begin_ns, t));
	fprintf(o, ",\"end\":%s", when(f, f->end_ns, t));
	put_text(o, "gap", f->gap);
	fprintf(o, ",\"peer_count\":%zu,\"row_count\":%zu,\"balanced\":%s", npeers, b->nflows,
		good ? "true" : "false");
	put_sum(o, "other", f->other);
	fputs("}\n", o);
}

/* A stream into memory fails when memory runs out. */
static bool end(FILE *o)
{
	bool good = !ferror(o);

	return !fclose(o) && good;
}

bool flows_text(const struct bwl_book *b, const struct flows_facts *f, char **ret, size_t *ret_len)
{
	char *body = NULL, *text = NULL;
	size_t len = 0, npeers;
	FILE *o = open_memstream(&body, &len);
	bool balanced, made = false;

	*ret = NULL;
	*ret_len = 0;
	if (!o)
		return false;
	balanced = put_all(o, b, f, &npeers);
	if (end(o) && (o = open_memstream(&text, ret_len))) {
		put_head(o, b, f, npeers, balanced);
		fwrite(body, 1, len, o);
		made = end(o);
	}
	free(body);
	if (!made)
		free(text);
	*ret = made ? text : NULL;
	return balanced && made;
}

bool flows_id_of(const char *text, struct flows_id *ret)
{
	char last[8];

	memset(ret, 0, sizeof(*ret));
	if (sscanf(text,
		   "{\"version\":%*d,\"kind\":\"flow-interval\",\"boot\":\"%39[0-9a-f-]\",\"tables\":%" SCNu64
		   ",\"interval\":%u,\"final\":%7[a-z]",
		   ret->boot, &ret->tables_ns, &ret->interval, last) != 4)
		return false;
	ret->last = !strcmp(last, "true");
	return true;
}

bool flows_gap(const struct flows_id *was, const struct flows_id *now, uint64_t before_ns,
	       char *buf, size_t size)
{
	bool same_boot = was && !strcmp(was->boot, now->boot);
	bool same = same_boot && was->tables_ns == now->tables_ns;
	uint32_t from = same ? was->interval + 1 : 1;
	size_t n = 0;

	*buf = '\0';
	if (was && !same && !was->last)
		n = (size_t)snprintf(
			buf, size,
			"what the tables before these recorded after their interval %u was not written",
			was->interval);
	if (!same && before_ns != (same_boot ? was->tables_ns : 0) && n < size)
		n += (size_t)snprintf(buf + n, size - n,
				      "%stables that came and went before these were not written",
				      n ? "; " : "");
	if (now->interval != from && n < size)
		snprintf(buf + n, size - n, "%sintervals %u to %u of these tables were not written",
			 n ? "; " : "", from, now->interval - 1);
	return *buf;
}
