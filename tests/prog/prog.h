/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common to the tests of the programs: one rig, policies from pieces, verdicts by name. */
#ifndef BWL_TEST_PROG_H
#define BWL_TEST_PROG_H

#include <bpf/libbpf.h>
#include <linux/pkt_cls.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rig.h"

#define XDP_DROP_ACT 1U
#define XDP_PASS_ACT 2U

static struct rig *rig;
static uint64_t runs; /* frames that must be counted once each */

/* Defined by a test before it includes this: all its packets come from host ports. */
#ifdef RIG_HOST_ONLY
static const struct rig_opts rig_usual = { .host_only = true };
#else
static const struct rig_opts rig_usual;
#endif

static inline int rig_setup(void **state)
{
	(void)state;
	rig = rig_open(&rig_usual);
	runs = 0;
	return 0;
}

/* Every frame was counted exactly once. */
static inline int rig_teardown(void **state)
{
	uint64_t counted = rig_all_frames(rig);

	(void)state;
	rig_close(rig);
	if (counted != runs)
		print_error("%llu frames, %llu counted\n", (unsigned long long)runs,
			    (unsigned long long)counted);
	return counted == runs ? 0 : -1;
}

/*
 * From now on this thread runs there only: what a CPU takes of a limit in advance is its own, as
 * are its budgets of events.
 */
static inline void stay_on_cpu(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one)) {
		perror("sched_setaffinity");
		abort();
	}
}

static inline void stay_on_this_cpu(void)
{
	stay_on_cpu(sched_getcpu());
}

/* All rounds, instead of a sample of them. */
static inline bool bwl_long(void)
{
	const char *is = getenv("BWL_LONG");

	return is && !strcmp(is, "1");
}

/* Names are state: every test has its own maps. */
#define RIG_TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

/* Ports as most tests need them. tail: zones, peers and so on. */
#define PORTS                                                                                      \
	"version: 1\nnode: rig\nuplinks: [p0]\n"                                                   \
	"host_ports:\n"                                                                            \
	"  - { dev: h0, sources: [10.0.7.0/24, fd00:7::/64], vlans: [5, 6],"                       \
	" mac: '02:00:00:00:00:01' }\n"                                                            \
	"  - { dev: h1, sources: [10.0.8.0/24] }\n"

/* Applies a policy: "peers:" with one peer per line, in YAML's flow style. */
static inline void apply(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline void apply(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		abort();
	va_end(args);
	rig_policy(rig, text);
	free(text);
}

/* A policy on trial, for 10 s of the test clock. */
static const struct bwl_publish_opts short_trial __attribute__((unused)) = {
	.confirm_ns = 10 * RIG_SECOND,
};

static inline void on_trial(const char *yaml)
{
	struct bwl_err e = { 0 };

	if (rig_try_policy(rig, yaml, &short_trial, NULL, &e))
		fail_msg("line %u: %s", e.line, e.text);
}

/* To the policy before the trial. */
static inline void way_back(void)
{
	struct bwl_err e = { 0 };

	if (bwl_rollback(rig->pins, &e))
		fail_msg("%s", e.text);
}

/* Of a peer that must exist. */
static inline uint32_t id_of(const char *name)
{
	struct bwl_gen g;
	uint32_t id;

	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), &g, NULL), 0);
	id = bwl_peer_id(rig->pins, &g, name);
	bwl_gen_close(&g);
	assert_int_not_equal(id, 0);
	return id;
}

/* The action for a reason that the program counted. */
static inline uint32_t act_of(const struct rig_packet *k, unsigned reason)
{
	if (!bwl_reason_is_pass(reason))
		return TC_ACT_SHOT;
	if (k->prog == RIG_MGMT) /* a site's own filters continue */
		return (uint32_t)TC_ACT_UNSPEC;
	if (reason == BWL_R_PASS_NEIGHBOUR || k->prog == RIG_GATE || k->prog == RIG_TUNOUT)
		return TC_ACT_OK;
	if (k->prog == RIG_UPIN)
		return reason == BWL_R_PASS_ACCEPT ? TC_ACT_REDIRECT : TC_ACT_OK;
	return TC_ACT_REDIRECT;
}

/* Before 5.18 nothing is paced. */
static inline bool rig_keeps_times(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_SCHED_CLS, BPF_FUNC_skb_set_tstamp, NULL) == 1;
}

/* Through TC; counted exactly once, with the action that belongs to the reason. */
static inline const char *judge(const struct rig_packet *k, struct rig_result *ret)
{
	static struct rig_result scratch;
	struct rig_result *r = ret ? ret : &scratch;

	if (!rig_can(rig, k))
		skip();
	rig_run(rig, k, r);
	runs++;
	assert_int_equal(r->counted, 1);
	/* If it is too large, it may come back as the message that says so (mtu_test.c). */
	if (r->act != TC_ACT_REDIRECT || r->reason != BWL_R_TOO_BIG || k->prog != RIG_HOST)
		assert_int_equal(r->act, act_of(k, r->reason));
	return bwl_reason_name(r->reason);
}

/* XDP first, as in operation. It may only drop what TC would drop for the same reason. */
static inline const char *through(enum rig_port port, enum rig_prog early, enum rig_prog tc,
				  const char *spec)
{
	struct rig_packet k = { .prog = early, .port = port, .spec = spec };
	static struct rig_result xdp;
	const char *dropped, *name;

	rig_run(rig, &k, &xdp);
	assert_int_equal(xdp.act, xdp.counted ? XDP_DROP_ACT : XDP_PASS_ACT);
	assert_true(xdp.counted <= 1);
	runs += xdp.counted;
	dropped = bwl_reason_name(xdp.reason);
	k.prog = tc;
	name = judge(&k, NULL);
	if (xdp.counted)
		assert_string_equal(dropped, name);
	return name;
}

static inline const char *from(enum rig_port port, const char *spec)
{
	return through(port, RIG_XDP, RIG_HOST, spec);
}

static inline const char *host(const char *spec)
{
	return from(RIG_H0, spec);
}

static inline const char *uplink(const char *spec)
{
	return through(RIG_P0, RIG_XDP_UPIN, RIG_UPIN, spec);
}

struct expected {
	const char *spec, *reason;
};

static inline void expect(const char *(*run)(const char *), const struct expected *x, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const char *got = run(x[i].spec);

		if (strcmp(got, x[i].reason))
			fail_msg("'%s': %s, expected %s", x[i].spec, got, x[i].reason);
	}
}

#define EXPECT(run, ...)                                                                           \
	do {                                                                                       \
		static const struct expected x_[] = { __VA_ARGS__ };                               \
		expect(run, x_, sizeof(x_) / sizeof(x_[0]));                                       \
	} while (0)

#define P1 "ip4 src=10.0.7.2 dst=10.1.0.1 " /* from the host to a first peer */
#define P2 "ip4 src=10.0.7.2 dst=10.1.0.2 "

#endif
