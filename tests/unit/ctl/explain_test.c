// SPDX-License-Identifier: GPL-2.0-or-later
/* `explain` with simulated maps in memory: the first check that refuses gives the reason. */
#include "test.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include "explain.h"

#define NOW (3600 * 1000000000ULL)
#define MTU 1500U

/* What the maps hold; one peer with id 1 in slot 1 of generation 0, host port 0, uplink 1. */
struct world {
	struct bwl_pins pins;
	struct bwl_ctl ctl;
	struct bwl_lease lease;
	struct bwl_peer_ref gate[4];
	struct bwl_name name[4];
	struct bwl_state state[64];
	struct bwl_release mark[64];
	struct bwl_dev dev[BWL_MAX_PORTS];
	struct bwl_tunnel tunnel[4];
	struct bwl_base *base;
	struct bwl_peer peer[4];
	struct bwl_limit sub[4];
	struct bwl_view view;
	struct ctl_question q;
};

static void unlimited(struct bwl_limit *l, uint32_t state)
{
	bwl_rate_encode(&l->rate, BWL_NO_RATE, 0);
	l->volume.spendable_bytes = BWL_VOLUME_NONE;
	l->volume.state = state;
}

static void limited(struct bwl_limit *l, uint64_t rate_bps, uint64_t burst)
{
	bwl_rate_encode(&l->rate, rate_bps, burst);
	l->rate.start_ns = NOW;
}

static void make_ports(struct world *w)
{
	struct bwl_port *p = &w->base->port[0];

	p->flags = BWL_PORT_HOST;
	strcpy(p->name, "hpf0");
	p->nsrc4 = 1;
	p->src4[0].addr = inet_addr("10.7.0.0");
	p->src4[0].mask = inet_addr("255.255.255.0");
	unlimited(&p->limit, 20);
	w->base->port[1].flags = BWL_PORT_UPLINK;
	strcpy(w->base->port[1].name, "p0");
	w->dev[0] = (struct bwl_dev){ .ifindex = 3, .kind = BWL_PORT_HOST, .name = "hpf0" };
	w->dev[1] = (struct bwl_dev){ .ifindex = 4, .kind = BWL_PORT_UPLINK, .name = "p0" };
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->base = calloc(1, sizeof(*w->base));
	w->pins.schema.max_peers = 4;
	w->pins.ctl = &w->ctl;
	w->pins.lease = &w->lease;
	w->pins.gate = w->gate;
	w->pins.name = w->name;
	w->pins.state = w->state;
	w->pins.mark = w->mark;
	w->pins.dev = w->dev;
	w->pins.tunnel = w->tunnel;
	w->gate[1].body[0] = 1;
	strcpy(w->name[1].name, "store");
	make_ports(w);
	w->base->mtu = MTU;
	w->base->min_charge = 64;
	unlimited(&w->base->node, 22);
	w->base->nexthop[1] =
		(struct bwl_nexthop){ .port = 1, .has4 = 1, .via4 = inet_addr("192.0.2.1") };
	w->base->port_class[0][443] = BWL_C_HTTPS;
	w->peer[1].meta = (struct bwl_peer_meta){
		.expiry_ns = BWL_NEVER_NS,
		.from = ~0ULL,
		.grant_seq = 5,
		.nexthop = 1,
		.path = BWL_PATH_CLEAR,
		.flags = BWL_PEER_GRANT,
	};
	unlimited(&w->peer[1].grant, 2);
	limited(&w->peer[1].grant, 8000000, 3000);
	w->view = (struct bwl_view){
		.pins = &w->pins,
		.now_ns = NOW,
		.has_gen = true,
		.gen = { .base = w->base, .peer = w->peer, .npeers = 4, .sub = w->sub, .nsubs = 4 },
	};
	w->q = (struct ctl_question){ .family = 4, .peer = 1 };
	inet_pton(AF_INET, "10.7.0.2", w->q.src);
	inet_pton(AF_INET, "10.9.0.1", w->q.dst);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	free(w->base);
	free(w);
	return 0;
}

static struct ctl_answer ask(struct world *w)
{
	struct ctl_answer a;

	w->q.json = true;
	ctl_explain(&w->view, &w->q, &a);
	json_decref(bwl_list_end(a.steps));
	return a;
}

static void assert_reason(struct world *w, unsigned int reason)
{
	assert_string_equal(bwl_reason_name(ask(w).reason), bwl_reason_name(reason));
}

static void a_live_grant_with_room_passes_a_full_frame(void **state)
{
	struct world *w = *state;

	assert_reason(w, BWL_R_PASS);
	assert_int_equal(ask(w).len, MTU + 14);
}

static void the_stop_switch_comes_first(void **state)
{
	struct world *w = *state;

	w->ctl.stop = BWL_STOPPED;
	w->peer[1].meta.flags = 0;
	assert_reason(w, BWL_R_STOP);
	w->ctl.stop = BWL_UPGRADING;
	assert_reason(w, BWL_R_UPGRADE);
}

static void without_a_generation_there_is_no_policy(void **state)
{
	struct world *w = *state;

	w->view.gen.base = NULL;
	assert_reason(w, BWL_R_NO_POLICY);
}

static void the_source_is_checked_before_the_grant(void **state)
{
	struct world *w = *state;

	inet_pton(AF_INET, "10.8.0.2", w->q.src);
	w->peer[1].meta.flags = 0;
	assert_reason(w, BWL_R_SRC_ADDR);
	w->q.port = "hpf0";
	assert_reason(w, BWL_R_SRC_ADDR);
	w->q.port = "hpf9";
	assert_reason(w, BWL_R_NO_PORT);
}

static void what_ends_at_the_dpu_is_nobodys(void **state)
{
	static const char *const addresses[] = {
		"0.0.0.1", "127.0.0.1", "169.254.1.1", "224.0.0.1", "255.255.255.255",
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		inet_pton(AF_INET, addresses[i], w->q.dst);
		assert_reason(w, BWL_R_LOCAL_PROTO);
	}
}

static void an_ipv6_address_that_begins_with_zeros_is_nobodys(void **state)
{
	static const char *const addresses[] = { "::ffff:10.9.0.1", "::10.9.0.1", "::1",
						 "::ffff:0:a09:1" };
	struct world *w = *state;

	w->q.family = 6;
	w->base->port[0].nsrc6 = 1; /* ::/0 */
	w->base->nexthop[1].has6 = 1;
	inet_pton(AF_INET6, "fd00:7::2", w->q.src);
	inet_pton(AF_INET6, "64:ff9b::10.9.0.1", w->q.dst);
	assert_reason(w, BWL_R_PASS);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		inet_pton(AF_INET6, addresses[i], w->q.dst);
		assert_reason(w, BWL_R_LOCAL_PROTO);
		inet_pton(AF_INET6, "fd00:9::1", w->q.dst);
		inet_pton(AF_INET6, addresses[i], w->q.src);
		assert_reason(w, BWL_R_SRC_ADDR);
		inet_pton(AF_INET6, "fd00:7::2", w->q.src);
		assert_reason(w, BWL_R_PASS);
	}
}

static void a_destination_without_a_peer_is_no_peer(void **state)
{
	struct world *w = *state;

	w->q.peer = 0;
	assert_reason(w, BWL_R_NO_PEER);
	w->q.peer = 2; /* the policy does not have this id */
	assert_reason(w, BWL_R_NO_PEER);
}

static void a_grant_is_live_only_above_both_revocations(void **state)
{
	struct world *w = *state;

	w->gate[1].revoked = 4;
	w->ctl.revoked_all = 4;
	assert_reason(w, BWL_R_PASS);
	w->gate[1].revoked = 5;
	assert_reason(w, BWL_R_REVOKED);
	w->gate[1].revoked = 0;
	w->ctl.revoked_all = 6;
	assert_reason(w, BWL_R_REVOKED);
	w->peer[1].meta.flags = 0;
	assert_reason(w, BWL_R_NO_GRANT);
}

static void expiry_and_silence_close_or_leave_the_floor(void **state)
{
	struct world *w = *state;

	w->peer[1].meta.expiry_ns = NOW;
	assert_reason(w, BWL_R_EXPIRED);
	w->peer[1].meta.expiry_ns = NOW + 1;
	assert_reason(w, BWL_R_PASS);
	w->base->heartbeat_ns = 1;
	w->ctl.heartbeat_ns = NOW + 1;
	assert_reason(w, BWL_R_PASS);
	w->ctl.heartbeat_ns = NOW;
	assert_reason(w, BWL_R_SILENT);
	w->base->heartbeat_ns = 0; /* the policy has no heartbeat */
	assert_reason(w, BWL_R_PASS);
	w->base->heartbeat_ns = 1;
	w->peer[1].grant.volume.floor = 1;
	unlimited(&w->sub[1], 24);
	limited(&w->sub[1], 8000, 2000);
	assert_reason(w, BWL_R_PASS_FLOOR);
	w->state[24].finish_bytes = 1000;
	assert_reason(w, BWL_R_FLOOR_RATE);
}

static json_t *steps_of(struct world *w)
{
	struct ctl_answer a;

	w->q.json = true;
	ctl_explain(&w->view, &w->q, &a);
	return bwl_list_end(a.steps);
}

/* The detail of the first check that refuses. */
static void assert_detail(struct world *w, const char *fragment)
{
	const char *detail = NULL;
	json_t *steps = steps_of(w), *x;
	size_t i;

	json_array_foreach(steps, i, x) if (!detail && json_is_false(json_object_get(x, "ok")))
		detail = json_string_value(json_object_get(x, "text"));
	if (!detail || !strstr(detail, fragment))
		fail_msg("no '%s' in: %s", fragment,
			 detail ? detail : "nothing, which refused nothing");
	json_decref(steps);
}

static void silence_says_why_no_heartbeat_is_taken(void **state)
{
	struct world *w = *state;

	w->base->heartbeat_ns = 1;
	w->ctl.heartbeat_ns = NOW - 1;
	assert_detail(w, "lapsed ");
	w->base->lease_ns = 60;
	assert_detail(w, "no lease was given since the maps were made: bwlimit-ctl lease renew");
	w->lease.until_ns = NOW;
	assert_detail(w, "the lease has ended: bwlimit-ctl lease renew");
	w->lease.until_ns = NOW + 1;
	assert_detail(w, "lapsed ");
	w->ctl.heartbeat_ns = BWL_CLAMPED_NS;
	assert_detail(w, "clamped after a sign of tampering: bwlimit-ctl heartbeat --lift");
}

static void a_peer_is_used_from_its_ports_only(void **state)
{
	struct world *w = *state;

	w->peer[1].meta.from = 2;
	assert_reason(w, BWL_R_FROM);
	w->peer[1].meta.from = 1;
	assert_reason(w, BWL_R_PASS);
	w->base->self_id = 1;
	assert_reason(w, BWL_R_FROM);
}

static void a_packet_passes_to_the_last_byte_of_the_burst(void **state)
{
	struct world *w = *state;
	uint64_t room = w->peer[1].grant.rate.burst_bytes - (MTU + 14);

	w->state[2].finish_bytes = room;
	assert_reason(w, BWL_R_PASS);
	w->state[2].finish_bytes = room + 1;
	assert_reason(w, BWL_R_PEER_RATE);
	/* one byte at 8 Mbit/s: a microsecond */
	assert_in_range(ask(w).wait_ns, 1000, 1002);
	w->view.now_ns += 1002;
	assert_reason(w, BWL_R_PASS);
}

static void in_mode_shape_it_passes_to_the_last_byte_of_the_horizon(void **state)
{
	struct world *w = *state;
	/* 250 ms at 8 Mbit/s: less than four GSO packets */
	uint64_t room = w->peer[1].grant.rate.burst_bytes + 250000 - (MTU + 14);

	w->peer[1].meta.mode = BWL_MODE_SHAPE;
	w->state[2].finish_bytes = room;
	assert_reason(w, BWL_R_PEER_RATE); /* no fq: it polices */
	w->dev[1].flags = BWL_DEV_FQ | BWL_DEV_UNTIMED;
	assert_reason(w, BWL_R_PEER_RATE); /* the kernel forgets departure times */
	w->dev[1].flags = BWL_DEV_FQ;
	assert_reason(w, BWL_R_PASS);
	w->state[2].finish_bytes = room + 1;
	assert_reason(w, BWL_R_PEER_RATE);
	assert_in_range(ask(w).wait_ns, 1000, 1002);
	w->base->horizon_ns = 300000000;
	assert_reason(w, BWL_R_PASS);
}

static void a_state_ahead_of_the_clock_is_clock(void **state)
{
	struct world *w = *state;

	w->state[2].finish_bytes = BWL_MAX_DEBT;
	assert_reason(w, BWL_R_PEER_RATE);
	w->state[2].finish_bytes = BWL_MAX_DEBT + 1;
	assert_reason(w, BWL_R_CLOCK);
}

static void a_volume_passes_to_its_last_byte(void **state)
{
	struct world *w = *state;

	w->peer[1].grant.volume.spendable_bytes = 10000;
	w->state[2].used_bytes = 10000 - (MTU + 14);
	assert_reason(w, BWL_R_PASS);
	w->state[2].used_bytes++;
	assert_reason(w, BWL_R_PEER_VOLUME);
}

static void a_volume_passes_to_the_last_byte_that_the_ledger_released(void **state)
{
	struct world *w = *state;

	w->peer[1].grant.volume.spendable_bytes = 10000;
	w->mark[2].spendable_bytes = 5000;
	w->state[2].used_bytes = 5000 - (MTU + 14);
	assert_reason(w, BWL_R_PASS);
	w->state[2].used_bytes++;
	assert_reason(w, BWL_R_LEDGER);
	w->mark[2].spendable_bytes = 20000;
	assert_reason(w, BWL_R_PASS);
	w->mark[2].spendable_bytes = BWL_RELEASE_AWAITED;
	assert_reason(w, BWL_R_LEDGER);
}

static void limits_refuse_from_the_inside_out(void **state)
{
	struct world *w = *state;

	w->peer[1].meta.zone = 1;
	strcpy(w->base->zone[1].name, "external");
	unlimited(&w->base->zone[1].limit, 26);
	limited(&w->base->node, 8000, 1000);
	assert_reason(w, BWL_R_NODE_RATE);
	limited(&w->base->port[0].limit, 8000, 1000);
	assert_reason(w, BWL_R_PORT_RATE);
	limited(&w->base->zone[1].limit, 8000, 1000);
	assert_reason(w, BWL_R_ZONE_RATE);
	w->peer[1].meta.class_mask = 1 << BWL_C_HTTPS | 1 << BWL_C_OTHER;
	w->peer[1].meta.sub_base = 2;
	unlimited(&w->sub[2], 28);
	unlimited(&w->sub[3], 30);
	limited(&w->sub[3], 8000, 1000);
	assert_reason(w, BWL_R_ZONE_RATE);
	w->q.has_proto = true;
	w->q.proto = 6;
	w->q.dport = 443;
	assert_reason(w, BWL_R_CLASS_RATE);
	limited(&w->peer[1].grant, 8000, 1000);
	assert_reason(w, BWL_R_PEER_RATE);
	assert_int_equal(ask(w).wait_ns, 0); /* it will never fit */
}

/* The text of a step, "" if there is none. */
static void step_text(struct world *w, const char *name, char *ret, size_t size)
{
	json_t *steps = steps_of(w), *x;
	size_t i;

	*ret = '\0';
	json_array_foreach(steps, i, x)
	{
		if (!strcmp(json_string_value(json_object_get(x, "step")), name))
			snprintf(ret, size, "%s", json_string_value(json_object_get(x, "text")));
	}
	json_decref(steps);
}

/* Whatever the packet's port is: the limit of class other holds for each of its fragments. */
static void a_fragment_is_of_class_other(void **state)
{
	struct world *w = *state;
	char text[256];

	w->q.has_proto = true;
	w->q.proto = 6;
	w->q.dport = 443;
	step_text(w, "fragments", text, sizeof(text));
	assert_string_equal(text, "each is judged and charged by itself, in class other");
	w->peer[1].meta.class_mask = 1 << BWL_C_HTTPS | 1 << BWL_C_OTHER;
	w->peer[1].meta.sub_base = 2;
	limited(&w->sub[2], 8000, 1000);
	unlimited(&w->sub[3], 30);
	assert_reason(w, BWL_R_PASS);
	step_text(w, "fragments", text, sizeof(text));
	assert_non_null(strstr(text, "class other, which has a limit of its own"));
	w->q.has_proto = false;
	w->q.proto = 0;
	w->q.dport = 0;
	w->q.fragment = true;
	assert_reason(w, BWL_R_CLASS_RATE);
	step_text(w, "class", text, sizeof(text));
	assert_string_equal(text, "other: the ports of a fragment are not read");
}

/* Its policies would let them out in the clear: bwl_device_sees(). */
static void what_a_device_does_not_see_does_not_pass_to_a_peer_whose_sa_is_in_it(void **state)
{
	struct world *w = *state;
	char text[256];

	w->peer[1].meta.path = BWL_PATH_OFFLOAD;
	w->ctl.tunnel = 9;
	w->ctl.tracked_until_s = (uint32_t)(NOW / 1000000000 + 60);
	w->tunnel[1] = (struct bwl_tunnel){ .flags = BWL_TUN_SA,
					    .overhead = 54,
					    .offload = BWL_OFFLOAD_PACKET,
					    .carried_by = BWL_CARRIED_XDP };
	w->q.len = 1000;
	assert_reason(w, BWL_R_PASS);
	step_text(w, "fragments", text, sizeof(text));
	assert_string_equal(text, "none passes: the SA is in a device (device)");
	w->q.fragment = true;
	assert_reason(w, BWL_R_DEVICE);
	step_text(w, "carrier", text, sizeof(text));
	assert_string_equal(text, "");
	w->q.fragment = false;
	w->q.has_proto = true;
	w->q.proto = 17;
	w->q.dport = 4500;
	assert_reason(w, BWL_R_DEVICE);
	w->q.dport = 4501;
	assert_reason(w, BWL_R_PASS);
	w->q.dport = 4500;
	w->tunnel[1].offload = BWL_OFFLOAD_NONE; /* software encrypts all */
	assert_reason(w, BWL_R_PASS);
}

/* A member within its portion can use all of the zone's burst; beyond its portion, half of it. */
static void who_is_beyond_its_portion_leaves_the_zones_reserve(void **state)
{
	struct world *w = *state;

	w->peer[1].meta.zone = 1;
	w->peer[1].meta.flags |= BWL_PEER_PORTION;
	w->peer[1].meta.sub_base = 2;
	unlimited(&w->base->zone[1].limit, 26);
	unlimited(&w->sub[2], 28);
	limited(&w->base->zone[1].limit, 8000, 4000);
	limited(&w->sub[2], 8000, 4000);
	assert_reason(w, BWL_R_PASS);
	limited(&w->base->zone[1].limit, 8000, 2000);
	assert_reason(w, BWL_R_PASS);
	limited(&w->sub[2], 8000, 1000);
	assert_reason(w, BWL_R_ZONE_RATE);
	limited(&w->base->zone[1].limit, 8000, 4000);
	assert_reason(w, BWL_R_PASS);
}

static void monitor_passes_over_the_peers_own_limit_only(void **state)
{
	struct world *w = *state;

	w->peer[1].meta.mode = BWL_MODE_MONITOR;
	limited(&w->peer[1].grant, 8000, 1000);
	assert_reason(w, BWL_R_PASS_MONITOR);
	limited(&w->base->node, 8000, 1000);
	assert_reason(w, BWL_R_NODE_RATE);
}

static void the_way_out_is_judged_before_the_limits(void **state)
{
	struct world *w = *state;

	w->base->nexthop[1].has4 = 0;
	assert_reason(w, BWL_R_NO_NEXTHOP);
	w->base->nexthop[1].has6 = 1;
	assert_reason(w, BWL_R_PASS);
	w->dev[1].ifindex = 0;
	assert_reason(w, BWL_R_NO_NEXTHOP);
	w->peer[1].meta.path = BWL_PATH_XFRM;
	assert_reason(w, BWL_R_NO_SA);
	w->tunnel[w->q.peer].flags = BWL_TUN_SA;
	assert_reason(w, BWL_R_NO_SA); /* no tunnel device */
	w->ctl.tunnel = 42;
	assert_reason(w, BWL_R_PASS);
	limited(&w->peer[1].grant, 8000, 1000);
	assert_reason(w, BWL_R_PEER_RATE);
	w->q.len = MTU + 15;
	assert_reason(w, BWL_R_TOO_BIG);
	w->ctl.tunnel = 0;
	assert_reason(w, BWL_R_NO_SA);
}

static void a_frame_beyond_the_mtu_is_too_big(void **state)
{
	struct world *w = *state;

	w->q.len = MTU + 15;
	assert_reason(w, BWL_R_TOO_BIG);
	w->q.len = 10;
	assert_int_equal(ask(w).len, 64);
}

static void a_tunnel_takes_less_by_what_esp_adds(void **state)
{
	struct world *w = *state;

	w->peer[1].meta.path = BWL_PATH_XFRM;
	w->tunnel[w->q.peer].flags = BWL_TUN_SA;
	w->ctl.tunnel = 42;
	assert_int_equal(ask(w).len, MTU - BWL_ESP_MAX + 14);
	w->tunnel[w->q.peer].overhead = 54;
	assert_int_equal(ask(w).len, MTU - 54 + 14);
	assert_reason(w, BWL_R_PASS);
	w->q.len = MTU - 54 + 15;
	assert_reason(w, BWL_R_TOO_BIG);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_live_grant_with_room_passes_a_full_frame),
		T(the_stop_switch_comes_first),
		T(without_a_generation_there_is_no_policy),
		T(the_source_is_checked_before_the_grant),
		T(what_ends_at_the_dpu_is_nobodys),
		T(an_ipv6_address_that_begins_with_zeros_is_nobodys),
		T(a_destination_without_a_peer_is_no_peer),
		T(a_grant_is_live_only_above_both_revocations),
		T(expiry_and_silence_close_or_leave_the_floor),
		T(silence_says_why_no_heartbeat_is_taken),
		T(expiry_and_silence_close_or_leave_the_floor),
		T(a_peer_is_used_from_its_ports_only),
		T(a_packet_passes_to_the_last_byte_of_the_burst),
		T(in_mode_shape_it_passes_to_the_last_byte_of_the_horizon),
		T(a_volume_passes_to_its_last_byte),
		T(a_volume_passes_to_the_last_byte_that_the_ledger_released),
		T(a_state_ahead_of_the_clock_is_clock),
		T(limits_refuse_from_the_inside_out),
		T(a_fragment_is_of_class_other),
		T(what_a_device_does_not_see_does_not_pass_to_a_peer_whose_sa_is_in_it),
		T(who_is_beyond_its_portion_leaves_the_zones_reserve),
		T(monitor_passes_over_the_peers_own_limit_only),
		T(the_way_out_is_judged_before_the_limits),
		T(a_frame_beyond_the_mtu_is_too_big),
		T(a_tunnel_takes_less_by_what_esp_adds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
