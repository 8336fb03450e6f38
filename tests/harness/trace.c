// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See trace.h. A record is a line of JSON. It takes no memory while packets are sent: the model
 * sends some in the name of a process that is killed, whose memory is given back.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/generation.h>
#include <bwl/tables.h>
#include <bwl/words.h>
#include "trace.h"

#define PEERS_MAX 256
#define STATES_MAX 2048
#define WINDOWS_MAX 64
#define WORDS_MAX 5      /* of an entry of a per-CPU array */
#define FRAME_SHOWN 1500 /* bytes: of a GSO packet more than its headers */

struct text {
	size_t n;
	char s[1 << 20];
};

static struct seen {
	struct bwl_state state[STATES_MAX];
	struct bwl_window window[WINDOWS_MAX];
	struct bwl_release mark[STATES_MAX];
	struct bwl_peer_ref gate[PEERS_MAX];
	struct bwl_ctl ctl;
} seen;
static struct text policy, next;
/* After the last packet: nobody else counts. */
static struct bwl_reason_count reasons[BWL_REASON_ROWS][BWL_REASON_COLUMNS];
static struct bwl_peer_count peers[PEERS_MAX];
static struct bwl_over_count over[PEERS_MAX];
static FILE *out;
static bool lost; /* since these maps are there, a packet that is not traced */

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "trace: %s\n", what);
	exit(1);
}

bool trace_wanted(void)
{
	return getenv("BWL_TRACE") != NULL;
}

static void put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *t, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	t->n += (size_t)vsnprintf(t->s + t->n, sizeof(t->s) - t->n, fmt, args);
	va_end(args);
	if (t->n >= sizeof(t->s))
		die("a record that is too long");
}

/* The last comma of a list. */
static void end(struct text *t, const char *with)
{
	t->n -= t->s[t->n - 1] == ',';
	put(t, "%s", with);
}

/* --- the policy in force */

static void put_rate(struct text *t, const struct bwl_rate *r)
{
	if (r->flags & BWL_RATE_UNLIMITED)
		put(t, "\"rate\":null,");
	else
		put(t, "\"rate\":%" PRIu64 ",", (uint64_t)r->m << r->k);
	put(t,
	    "\"base\":%" PRIu64 ",\"start\":%" PRIu64 ",\"burst\":%" PRIu64
	    ",\"share\":%u,\"ce\":%u",
	    (uint64_t)r->base_bytes, (uint64_t)r->start_ns, (uint64_t)r->burst_bytes, r->share,
	    r->ce_from);
}

static void put_limit(struct text *t, const char *name, const struct bwl_limit *l)
{
	put(t, "\"%s\":{\"state\":%u,", name, l->volume.state);
	put_rate(t, &l->rate);
	if (l->volume.spendable_bytes != BWL_VOLUME_NONE)
		put(t, ",\"volume\":%" PRIu64, (uint64_t)l->volume.spendable_bytes);
	if (l->volume.slice_ns)
		put(t, ",\"slice\":%" PRIu64 ",\"window\":%u,\"epoch\":%u",
		    (uint64_t)l->volume.slice_ns, l->volume.window, l->volume.epoch);
	put(t, "},");
}

static void put_base(struct text *t, const struct bwl_base *b)
{
	char name[32];

	put(t,
	    "\"heartbeat\":%" PRIu64
	    ",\"min_charge\":%u,\"mtu\":%u,\"horizon\":%u,\"self\":%u,\"limits\":{",
	    (uint64_t)b->heartbeat_ns, b->min_charge, b->mtu, b->horizon_ns, b->self_id);
	put_limit(t, "node", &b->node);
	for (unsigned i = 0; i < BWL_MAX_PORTS; i++) {
		if (!b->port[i].flags)
			continue;
		snprintf(name, sizeof(name), "port%u", i);
		put_limit(t, name, &b->port[i].limit);
		snprintf(name, sizeof(name), "neighbour%u", i);
		put_limit(t, name, &b->port[i].neighbour);
	}
	for (unsigned i = 1; i < BWL_MAX_ZONES; i++) {
		snprintf(name, sizeof(name), "zone%u", i);
		if (b->zone[i].name[0])
			put_limit(t, name, &b->zone[i].limit);
	}
	end(t, "},");
}

static void put_peer(struct text *t, const struct bwl_pins *p, const struct bwl_gen *g, uint32_t id,
		     const struct bwl_peer *b)
{
	const struct bwl_peer_meta *m = &b->meta;
	const struct bwl_limit *l;
	unsigned port = g->base->nexthop[m->nexthop % BWL_MAX_NEXTHOPS].port % BWL_MAX_PORTS;
	char name[32];
	unsigned n = 0;

	put(t,
	    "\"%u\":{\"granted\":%u,\"seq\":%u,\"expiry\":%" PRIu64 ",\"from\":%" PRIu64
	    ",\"zone\":%u,\"mode\":%u,\"path\":%u,\"accepts\":%u,\"fq\":%u,\"limits\":{",
	    id, !!(m->flags & BWL_PEER_GRANT), m->grant_seq, (uint64_t)m->expiry_ns,
	    (uint64_t)m->from, m->zone, m->mode, m->path, !!(m->flags & BWL_PEER_ACCEPT),
	    !!(p->dev[port].flags & BWL_DEV_FQ));
	put_limit(t, "grant", &b->grant);
	if (b->grant.volume.floor && b->grant.volume.floor < g->nsubs)
		put_limit(t, "floor", &g->sub[b->grant.volume.floor]);
	for (unsigned c = 0; c < _BWL_CLASS_MAX; c++)
		if (m->class_mask >> c & 1)
			put_limit(t, bwl_class_name(c), &g->sub[m->sub_base + n++]);
	for (unsigned i = 0; i < BWL_MAX_PORTS; i++) {
		snprintf(name, sizeof(name), "tenant%u", i);
		l = bwl_gen_tenant(g, b, i);
		if (l)
			put_limit(t, name, l);
	}
	l = bwl_portion_limit(g, b);
	if (l)
		put_limit(t, "portion", l);
	l = bwl_accept_limit(g, b);
	if (l)
		put_limit(t, "accept-volume", l);
	put(t, "\"accept\":{\"state\":%u,", bwl_accept_state(id));
	put_rate(t, &b->accept);
	put(t, "}}},");
}

static int put_dest(const struct bwl_pfx *pfx, uint32_t id, void *arg)
{
	char text[64];

	put(arg, "[\"%s\",%u],", bwl_pfx_format(pfx, text, sizeof(text)), id);
	return 0;
}

/* The generation in force, and whose destinations these are; none: slot is BWL_NO_SLOT. */
static struct bwl_gen gen = { .slot = BWL_NO_SLOT };
static struct text dests;
/* What the last record was made of: of the base, what is before and behind the table of classes. */
static struct seen_policy {
	uint8_t head[offsetof(struct bwl_base, proto_class)];
	uint8_t tail[sizeof(struct bwl_base) - offsetof(struct bwl_base, zone)];
	struct bwl_peer peer[2 * PEERS_MAX];
	struct bwl_limit sub[2 * STATES_MAX];
	uint8_t fq[BWL_MAX_PORTS];
} seen_policy;

void trace_forget(void)
{
	if (gen.slot != BWL_NO_SLOT)
		bwl_gen_close(&gen);
	gen.slot = BWL_NO_SLOT;
}

static void open_policy(struct bwl_pins *p)
{
	uint32_t slot = bwl_active_slot(p);

	trace_forget();
	if (slot == BWL_NO_SLOT || bwl_gen_open(p, slot, &gen, NULL)) {
		gen.slot = BWL_NO_SLOT;
		return;
	}
	dests.n = 0;
	put(&dests, "[");
	bwl_dest_each(&gen, put_dest, &dests);
	end(&dests, "]");
}

static void put_policy(struct text *t, const struct bwl_pins *p)
{
	const struct bwl_peer *body;

	t->n = 0;
	if (gen.slot == BWL_NO_SLOT) {
		put(t, "null");
		return;
	}
	put(t, "{");
	put_base(t, gen.base);
	put(t, "\"dests\":%s,\"peers\":{", dests.s);
	for (uint32_t id = 1; id < p->schema.max_peers; id++) {
		body = p->gate[id].body[gen.slot] ? bwl_body(p, &gen, id) : NULL;
		if (body)
			put_peer(t, p, &gen, id, body);
	}
	end(t, "}}");
}

/* --- what has changed */

static unsigned states(const struct bwl_pins *p)
{
	return BWL_STATES(p->schema.max_peers, p->schema.max_extras);
}

static void put_states(struct text *t, const struct bwl_pins *p)
{
	put(t, "\"state\":{");
	for (unsigned i = 0; i < states(p); i++) {
		const struct bwl_state *s = &p->state[i];
		uint64_t dropped = i & 1 ? s->drop_bytes : 0;

		if (s->finish_bytes == seen.state[i].finish_bytes &&
		    s->used_bytes == seen.state[i].used_bytes &&
		    dropped == seen.state[i].drop_bytes)
			continue;
		seen.state[i] = (struct bwl_state){ .finish_bytes = s->finish_bytes,
						    .used_bytes = s->used_bytes,
						    .drop_bytes = dropped };
		put(t, "\"%u\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "],", i,
		    (uint64_t)s->finish_bytes, (uint64_t)s->used_bytes, dropped);
	}
	end(t, "},\"window\":{");
	for (unsigned i = 0; i < p->schema.max_windows; i++) {
		const struct bwl_window *w = &p->window[i];

		if (w->turn == seen.window[i].turn && w->past.bytes == seen.window[i].past.bytes &&
		    w->total_bytes == seen.window[i].total_bytes &&
		    !memcmp(w->slice_bytes, seen.window[i].slice_bytes, sizeof(w->slice_bytes)))
			continue;
		seen.window[i] = *w;
		put(t, "\"%u\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64, i, (uint64_t)w->turn,
		    (uint64_t)w->total_bytes, (uint64_t)w->past.bytes);
		for (unsigned s = 0; s < BWL_SLICES_KEPT; s++)
			put(t, ",%" PRIu64, (uint64_t)w->slice_bytes[s]);
		put(t, "],");
	}
	end(t, "}");
}

/* Entries of a per-CPU array, summed; words: 64-bit words of an entry. */
static void sum(const struct bwl_pins *p, enum bwl_pin pin, uint32_t from, uint32_t n,
		unsigned words, void *ret)
{
	static uint64_t *all;
	static uint32_t keys[PEERS_MAX];
	unsigned cpus = (unsigned)libbpf_num_possible_cpus();
	uint32_t in = from - 1, batch, got = n; /* a batch continues after this key */
	uint64_t *to = ret;

	if (n > PEERS_MAX || words > WORDS_MAX)
		die("too large maps");
	if (!all)
		all = bwl_must(calloc((size_t)PEERS_MAX * WORDS_MAX * cpus, sizeof(*all)));
	bpf_map_lookup_batch(p->fd[pin], from ? &in : NULL, &batch, keys, all, &got, NULL);
	if (got != n)
		die("cannot read a map");
	memset(to, 0, (size_t)n * words * sizeof(*to));
	for (size_t i = 0; i < (size_t)n * cpus * words; i++)
		to[i / words / cpus * words + i % words] += all[i];
}

/* --- */

void trace_new(const struct bwl_pins *p, bool shares)
{
	static char buffer[1 << 16];

	if (!trace_wanted())
		return;
	if (!out) {
		out = fopen(getenv("BWL_TRACE"), "w");
		if (!out)
			die("cannot open BWL_TRACE");
		setvbuf(out, buffer, _IOFBF, sizeof(buffer));
	}
	if (p->schema.max_peers > PEERS_MAX || states(p) > STATES_MAX ||
	    p->schema.max_windows > WINDOWS_MAX)
		die("too large maps");
	memset(&seen, 0, sizeof(seen));
	memset(reasons, 0, sizeof(reasons));
	memset(peers, 0, sizeof(peers));
	memset(over, 0, sizeof(over));
	policy.n = 0;
	lost = false;
	trace_forget();
	fprintf(out, "{\"new\":{\"cpu_bits\":%u,\"shares\":%u}}\n", bwl_cpu_bits(), shares);
}

void trace_loses(void)
{
	__atomic_store_n(&lost, true, __ATOMIC_SEQ_CST);
}

void trace_programs(void)
{
	if (out)
		fprintf(out, "{\"programs\":{}}\n");
}

/* Is it what it was? Otherwise it is from now on. */
static bool is_same(void *was, const void *is, size_t n)
{
	if (!memcmp(was, is, n))
		return true;
	memcpy(was, is, n);
	return false;
}

static bool is_policy_same(const struct bwl_pins *p)
{
	struct seen_policy *s = &seen_policy;
	bool same = true;

	if (gen.npeers > 2 * PEERS_MAX || gen.nsubs > 2 * STATES_MAX)
		die("too large a policy");
	for (unsigned i = 0; i < BWL_MAX_PORTS; i++)
		same &= is_same(&s->fq[i], &p->dev[i].flags, 1);
	same &= is_same(s->head, gen.base, sizeof(s->head));
	same &= is_same(s->tail, gen.base->zone, sizeof(s->tail));
	same &= is_same(s->peer, gen.peer, gen.npeers * sizeof(*gen.peer));
	return same & is_same(s->sub, gen.sub, gen.nsubs * sizeof(*gen.sub));
}

/*
 * Every time, not only after a switch: a writer goes on after that, in what is in force.
 */
static void look_at_policy(struct bwl_pins *p)
{
	const struct bwl_ctl *c = p->ctl;
	bool same = !memcmp(&seen.ctl, c, sizeof(*c)) &&
		    !memcmp(seen.gate, p->gate, p->schema.max_peers * sizeof(*p->gate));

	if (!same || gen.slot == BWL_NO_SLOT)
		open_policy(p);
	if (same && (gen.slot == BWL_NO_SLOT || is_policy_same(p)))
		return;
	put_policy(&next, p);
	if (next.n != policy.n || memcmp(next.s, policy.s, next.n)) {
		memcpy(policy.s, next.s, next.n);
		policy.n = next.n;
		fprintf(out, "{\"policy\":%.*s}\n", (int)policy.n, policy.s);
	}
	if (same)
		return;
	seen.ctl = *c;
	memcpy(seen.gate, p->gate, p->schema.max_peers * sizeof(*p->gate));
	fprintf(out,
		"{\"ctl\":{\"stop\":%u,\"slot\":%d,\"active\":%u,\"trial\":%" PRIu64
		",\"heartbeat\":%" PRIu64
		",\"revoked_all\":%u,\"resumes\":%u,\"generation\":%u,\"edits\":%u,\"revoked\":{",
		c->stop, (int)bwl_active_slot(p), c->active % BWL_SCHEDS,
		(uint64_t)c->sched[c->active % BWL_SCHEDS].trial_ns, (uint64_t)c->heartbeat_ns,
		c->revoked_all, c->resumes, c->generation, c->edits);
	for (uint32_t id = 1, any = 0; id < p->schema.max_peers; id++)
		if (p->gate[id].revoked)
			fprintf(out, "%s\"%u\":%u", any++ ? "," : "", id, p->gate[id].revoked);
	fprintf(out, "}}}\n");
}

void trace_before(struct bwl_pins *p, const struct trace_packet *k, uint64_t now_ns,
		  uint64_t behind_ns)
{
	const uint8_t *b = k->frame;

	if (!out || lost)
		return;
	look_at_policy(p);
	for (unsigned i = 0; i < states(p); i++)
		if (p->mark[i].spendable_bytes != seen.mark[i].spendable_bytes) {
			seen.mark[i] = p->mark[i];
			fprintf(out, "{\"release\":[%u,%" PRIu64 "]}\n", i,
				(uint64_t)p->mark[i].spendable_bytes);
		}
	next.n = 0;
	put_states(&next, p);
	if (strcmp(next.s, "\"state\":{},\"window\":{}"))
		fprintf(out, "{\"set\":{%s}}\n", next.s);
	fprintf(out,
		"{\"packet\":{\"prog\":\"%s\",\"port\":%u,\"now\":%" PRIu64 ",\"behind\":%" PRIu64
		",\"len\":%zu,\"gso\":[%u,%u],\"tag\":%d,\"frame\":\"",
		k->prog, k->port, now_ns, behind_ns, k->len, k->gso_size, k->gso_segs, k->tag);
	for (size_t i = 0; i < k->len && i < (k->gso_size ? FRAME_SHOWN : 120); i++) {
		putc_unlocked("0123456789abcdef"[b[i] >> 4], out);
		putc_unlocked("0123456789abcdef"[b[i] & 15], out);
	}
	fprintf(out, "\"},");
}

void trace_after(struct bwl_pins *p, const struct trace_packet *k, uint64_t delay_ns)
{
	static struct bwl_reason_count r[BWL_REASON_COLUMNS];
	static struct bwl_peer_count n[PEERS_MAX];
	static struct bwl_over_count o[PEERS_MAX];
	struct bwl_reason_count *was = reasons[k->row];
	struct text *t = &next;

	if (!out || lost)
		return;
	sum(p, BWL_PIN_reason, k->row * BWL_REASON_COLUMNS, BWL_REASON_COLUMNS, 3, r);
	sum(p, BWL_PIN_peercnt, 0, p->schema.max_peers, 5, n);
	sum(p, BWL_PIN_over, 0, p->schema.max_peers, 2, o);
	t->n = 0;
	put_states(t, p);
	put(t, ",\"delay\":%" PRIu64 ",\"reasons\":{", delay_ns);
	for (unsigned i = 0; i < BWL_REASON_COLUMNS; i++)
		if (memcmp(&r[i], &was[i], sizeof(r[i])))
			put(t, "\"%s\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "],",
			    i == BWL_REASON_SEGMENTS ? "segments" : bwl_reason_name(i),
			    (uint64_t)(r[i].frames - was[i].frames),
			    (uint64_t)(r[i].bytes - was[i].bytes),
			    (uint64_t)(r[i].charged - was[i].charged));
	end(t, "},\"peers\":{");
	for (uint32_t id = 0; id < p->schema.max_peers; id++) {
		if (!memcmp(&n[id], &peers[id], sizeof(n[id])) &&
		    !memcmp(&o[id], &over[id], sizeof(o[id])))
			continue;
		put(t,
		    "\"%u\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		    ",%" PRIu64 "],",
		    id, (uint64_t)(n[id].frames - peers[id].frames),
		    (uint64_t)(n[id].bytes - peers[id].bytes),
		    (uint64_t)(n[id].drop_frames - peers[id].drop_frames),
		    (uint64_t)(n[id].drop_bytes - peers[id].drop_bytes),
		    (uint64_t)(n[id].refund_lost - peers[id].refund_lost),
		    (uint64_t)(o[id].frames - over[id].frames),
		    (uint64_t)(o[id].bytes - over[id].bytes));
	}
	end(t, "}");
	memcpy(was, r, sizeof(r));
	memcpy(peers, n, sizeof(n));
	memcpy(over, o, sizeof(o));
	fprintf(out, "\"said\":{%s}}\n", t->s);
}
