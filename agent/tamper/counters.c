// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares what an uplink reports as sent with what we let out there: what its last gate passed,
 * and what XDP sent, which no gate sees. An excess has bypassed both (AF_XDP, a packet socket that
 * bypasses queues, RDMA), or has used the same port without the DPU's kernel; that shows only in
 * the port's own counters.
 *
 * On a separate thread, because a driver may query its firmware. meter.c judges.
 *
 * Frames are exact. The gate counts a GSO packet as one and its segments separately; a device that
 * counts it as one (veth) leaves room. For bytes there is a bound: a device may count a frame's FCS
 * and padding, a segment's copied headers, and what encryption adds.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include <bwl/netdev.h>
#include "hook/attached.h"
#include "meter.h"
#include "parts.h"
#include "thread.h"
#include "bwl/plural.h"

#define LOOK_NS 1000000000ULL /* never sooner: the meter takes each look for a second */
#define FRAME_BYTES 22        /* FCS 4, and 42 bytes of ARP become 60 */
/* 14 + 8 for tags; 40 + 8 + 16 for ESP in UDP; 40 + 60 inside it; 33 at the end */
#define SEGMENT_BYTES 224
#define ESP_BYTES 128
#define CONTROL_BYTES 64 /* a frame of MAC control, for example pause */

/* mlx5's names. Another driver's name for the same counter would be another line. */
enum counter { PHY_FRAMES, PHY_BYTES, CONTROL, RDMA_UNICAST, RDMA_MULTICAST, COUNTERS };
static const char *const names[COUNTERS] = {
	[PHY_FRAMES] = "tx_packets_phy",
	[PHY_BYTES] = "tx_bytes_phy",
	[CONTROL] = "tx_mac_control_phy",
	[RDMA_UNICAST] = "tx_vport_rdma_unicast_packets",
	[RDMA_MULTICAST] = "tx_vport_rdma_multicast_packets",
};

/* In the order of reporting: the first one that is exceeded stands for the others. */
enum meter { FRAMES, PORT_FRAMES, RDMA, BYTES, PORT_BYTES, METERS };
static const char *const says[METERS] = {
	[FRAMES] = "%.15s sent %llu frame%s that did not pass its last gate",
	[PORT_FRAMES] =
		"the port of %.15s sent %llu frame%s that the DPU's kernel did not let out (tx_packets_phy)",
	[RDMA] = "%.15s sent %llu RDMA frame%s, which no gate sees (tx_vport_rdma)",
	[BYTES] = "%.15s sent %llu more byte%s than passed its last gate",
	[PORT_BYTES] =
		"the port of %.15s sent %llu more byte%s than the DPU's kernel let out (tx_bytes_phy)",
};

struct port {
	uint32_t ifindex;
	struct tamper_meter meter[METERS];
};

struct counters {
	struct agent_thread thread;
	struct bwl_pins *pins;
	struct bwl_reason_count *count; /* one per CPU */
	struct port port[BWL_MAX_PORTS];
};

struct out {
	uint64_t frames, bytes; /* bytes: an upper bound */
};

static struct bwl_reason_count of_column(struct counters *t, unsigned port, unsigned column)
{
	uint32_t key = (BWL_MAX_PORTS + port) * BWL_REASON_COLUMNS + column;
	struct bwl_reason_count sum;

	bwl_reason_at(t->pins, key, t->count, &sum); /* stays 0 if it cannot be read */
	return sum;
}

static struct out let_out(struct counters *t, unsigned port)
{
	struct bwl_reason_count xdp = of_column(t, port, BWL_REASON_XDP), n;
	uint64_t segments = of_column(t, port, BWL_REASON_SEGMENTS).frames;
	struct out o = { .frames = xdp.frames + segments,
			 .bytes = xdp.bytes + xdp.frames * ESP_BYTES + segments * SEGMENT_BYTES };

	for (unsigned i = 0; i < _BWL_REASON_MAX; i++) {
		if (!bwl_reason_is_pass(i))
			continue;
		n = of_column(t, port, i);
		o.frames += n.frames;
		o.bytes += n.bytes + (i == BWL_R_PASS_GATE ? n.frames * ESP_BYTES : 0);
	}
	o.bytes += o.frames * FRAME_BYTES;
	return o;
}

/* During attach there is no gate yet; during an upgrade there is none for a moment. */
static bool is_being_attached(struct counters *t, const struct port *o)
{
	int still;

	if (*(const volatile uint32_t *)&t->pins->ctl->stop == BWL_UPGRADING)
		return true;
	if (o->meter[FRAMES].looks > METER_WAY)
		return false;
	still = bwl_pins_still(t->pins);
	if (still >= 0)
		close(still);
	return still < 0;
}

static void sign(struct counters *t, const struct bwl_dev *d, enum meter m, uint64_t over)
{
	char text[160];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), says[m], d->name, (unsigned long long)over, BWL_S(over));
#pragma GCC diagnostic pop
	agent_tamper(t->pins, &(struct agent_sign){ .input = BWL_TAMPER_counters, .what = text },
		     false);
}

static void look_at(struct counters *t, unsigned id, const struct bwl_dev *d)
{
	struct bwl_counter own[COUNTERS];
	struct bwl_netdev_sent sent;
	struct port *o = &t->port[id];
	struct out out;
	uint64_t over[METERS] = { 0 };

	for (unsigned i = 0; i < COUNTERS; i++)
		own[i] = (struct bwl_counter){ .name = names[i] };
	if (d->ifindex != o->ifindex || is_being_attached(t, o) ||
	    bwl_netdev_sent(d->ifindex, &sent)) {
		memset(o, 0, sizeof(*o));
		o->ifindex = d->ifindex;
		return;
	}
	bwl_netdev_counters(d->name, own, COUNTERS); /* unavailable ones are not reported */
	out = let_out(t, id);                        /* read last */
	if (own[CONTROL].found) {
		/*
		 * Control frames are among the port's frames (IEEE 802.3, 30.3.1.1.2 and 30.3.3.3),
		 * and mlx5 reports those as the device's.
		 */
		out.frames += own[CONTROL].value;
		out.bytes += own[CONTROL].value * CONTROL_BYTES;
	}
	over[FRAMES] = tamper_meter_look(&o->meter[FRAMES], sent.frames, out.frames);
	over[BYTES] = tamper_meter_look(&o->meter[BYTES], sent.bytes, out.bytes);
	if (own[PHY_FRAMES].found)
		over[PORT_FRAMES] = tamper_meter_look(&o->meter[PORT_FRAMES], own[PHY_FRAMES].value,
						      out.frames);
	if (own[PHY_BYTES].found)
		over[PORT_BYTES] = tamper_meter_look(&o->meter[PORT_BYTES], own[PHY_BYTES].value,
						     out.bytes);
	if (own[RDMA_UNICAST].found && own[RDMA_MULTICAST].found)
		over[RDMA] = tamper_meter_look(&o->meter[RDMA],
					       own[RDMA_UNICAST].value + own[RDMA_MULTICAST].value,
					       0);
	for (unsigned i = 0; i < METERS; i++)
		if (over[i]) {
			sign(t, d, i, over[i]);
			break;
		}
}

static void look(struct counters *t)
{
	/* These maps may be here for another second: without a gate nothing is past it. */
	if (bwl_pins_end(t->pins, NULL) == BWL_PINS_DETACHED) {
		memset(t->port, 0, sizeof(t->port));
		return;
	}
	for (unsigned i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *d = &t->pins->dev[i];

		if (d->ifindex && d->kind == BWL_PORT_UPLINK)
			look_at(t, i, d);
		else
			t->port[i].ifindex = 0;
	}
}

static void run(void *arg)
{
	struct counters *t = arg;

	do
		look(t);
	while (agent_thread_nap(&t->thread, LOOK_NS));
}

static void end(struct counters *t)
{
	bwl_pins_close(t->pins);
	free(t->count);
	free(t);
}
BWL_AUTO_DEFINE(end, struct counters *)

int agent_counters_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	BWL_AUTO(end) struct counters *t = calloc(1, sizeof(*t));
	int cpus = libbpf_num_possible_cpus(), r;

	if (t)
		t->count = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*t->count));
	if (!t || !t->count)
		return bwl_fail(e, ENOMEM, "out of memory");
	r = bwl_pins_open(a->pin_dir, true, &t->pins, e);
	if (!r)
		r = agent_thread_start(&t->thread, run, t, e);
	if (!r)
		*ret_part = bwl_take_ptr(&t);
	return r;
}

void agent_counters_stop(struct agent *a, void *part)
{
	struct counters *t = part;

	(void)a;
	agent_thread_stop(&t->thread);
	end(t);
}
