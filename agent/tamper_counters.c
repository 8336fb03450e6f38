/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a device says it sent, against what its last gate let out: a frame more has gone past the gate
 * (AF_XDP, an XDP redirect or a packet socket that bypasses queues, which the gate does not see).
 *
 *	gap = sent - passed = gone past - lost after the gate - on the way
 *
 * so the gap rises only by what went past, or by what was on the way. The highest it ever was is the
 * measure; it is lowered to what the gap is while nothing moves, when nothing is on the way. What is read
 * first is what counts later, so that a frame between two reads is never too much.
 *
 * The gate counts a GSO packet as one and its segments apart. A device counts segments or packets; both are
 * allowed, so where it counts packets what went past may hide behind segments until nothing moves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/netdev.h>
#include "agent.h"
#include "tamper.h"

#define SECOND_NS 1000000000ULL
#define SETTLE 3	/* looks, until what was on the way at the start has gone */
#define STILL 12	/* looks; fq keeps a packet for 10 s at most */
#define PERSIST 2

struct tamper_counters {
	struct bwl_pins *pins;
	int cpus;
	struct bwl_reason_count *count;	/* [cpus] */
	uint64_t next_ns;
	struct port {
		uint32_t ifindex;
		uint64_t sent, passed;
		int64_t gap, top;
		unsigned looks, still, above;
	} port[BWL_MAX_PORTS];
};

static uint64_t frames_of(struct tamper_counters *t, unsigned port, unsigned slot)
{
	uint32_t key = (BWL_MAX_PORTS + port) * BWL_REASON_SLOTS + slot;
	uint64_t sum = 0;

	if (bpf_map_lookup_elem(t->pins->fd[BWL_PIN_reason], &key, t->count))
		return 0;
	for (int i = 0; i < t->cpus; i++)
		sum += t->count[i].frames;
	return sum;
}

static uint64_t passed_by(struct tamper_counters *t, unsigned port)
{
	uint64_t sum = frames_of(t, port, BWL_REASON_SEGMENTS);

	for (unsigned i = 0; i < _BWL_REASON_MAX; i++)
		if (bwl_reason_passes(i))
			sum += frames_of(t, port, i);
	return sum;
}

/* XDP sends straight to the uplink, by design past the gate. */
static bool xdp_carries(const struct bwl_pins *p, uint64_t now)
{
	if (*(const volatile uint32_t *)&p->ctl->tracked_until_s < now / SECOND_NS)
		return false;
	for (uint32_t id = 1; id < p->schema.max_peers; id++)
		if (__atomic_load_n(&p->tunnel[id].flags, __ATOMIC_RELAXED) & BWL_TUN_XDP)
			return true;
	return false;
}

/* Attach and upgrade: there is no gate yet, or for a moment none. */
static bool is_being_attached(struct tamper_counters *t, const struct port *o)
{
	int still;

	if (*(const volatile uint32_t *)&t->pins->ctl->stop == BWL_UPGRADING)
		return true;
	if (o->looks > SETTLE)
		return false;
	still = bwl_pins_still(t->pins);
	if (still >= 0)
		close(still);
	return still < 0;
}

static void sign(struct tamper_counters *t, const struct bwl_dev *d, struct port *o)
{
	char text[160];

	snprintf(text, sizeof(text), "%.15s sent %lld frames that did not pass its last gate", d->name,
		 (long long)(o->gap - o->top));
	o->top = o->gap;
	o->above = 0;
	agent_tamper(t->pins, &(struct agent_sign){ .input = BWL_TAMPER_counters, .what = text }, false);
}

static void look_at(struct tamper_counters *t, unsigned id, const struct bwl_dev *d)
{
	struct port *o = &t->port[id];
	uint64_t sent, passed;

	if (is_being_attached(t, o) || bwl_netdev_sent(d->ifindex, &sent)) {
		o->looks = 0;
		return;
	}
	passed = passed_by(t, id);
	if (d->ifindex != o->ifindex || sent < o->sent || passed < o->passed)
		o->looks = 0;	/* another device, or counters that began anew */
	o->still = sent == o->sent && passed == o->passed ? o->still + 1 : 0;
	o->ifindex = d->ifindex;
	o->sent = sent;
	o->passed = passed;
	o->gap = (int64_t)(sent - passed);
	if (!o->looks || (o->looks < SETTLE && o->gap > o->top) || (o->still >= STILL && o->gap < o->top))
		o->top = o->gap;
	if (o->looks <= SETTLE)
		o->looks++;
	o->above = o->gap > o->top ? o->above + 1 : 0;
	if (o->above >= PERSIST)
		sign(t, d, o);
}

void tamper_counters_look(struct tamper_counters *t)
{
	uint64_t now = bwl_now_ns();
	bool xdp;

	if (now < t->next_ns)
		return;
	t->next_ns = now + SECOND_NS;
	xdp = xdp_carries(t->pins, now);
	for (unsigned i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *d = &t->pins->dev[i];

		if (xdp || !d->ifindex || d->kind != BWL_PORT_UPLINK)
			t->port[i].looks = 0;
		else
			look_at(t, i, d);
	}
}

struct tamper_counters *tamper_counters_new(struct bwl_pins *p)
{
	struct tamper_counters *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->pins = p;
	t->cpus = libbpf_num_possible_cpus();
	t->count = calloc(t->cpus > 0 ? (size_t)t->cpus : 1, sizeof(*t->count));
	if (t->count)
		return t;
	free(t);
	return NULL;
}

void tamper_counters_free(struct tamper_counters *t)
{
	if (t)
		free(t->count);
	free(t);
}
