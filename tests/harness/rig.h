/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The real programs under BPF_PROG_TEST_RUN, with a clock that the test sets. A rig is what
 * bwlimit-load makes, without attaching: maps pinned in a private directory, a private network
 * namespace with two host ports and two uplinks, no policy. Programs, maps and namespace are those
 * of the process's last rig if that loaded the same; its maps are then emptied.
 *
 * lib/ uses the same clock: this library has its own bwl_now_ns(). Any failure in here ends the
 * program with TAP's "Bail out!", after cleaning up.
 */
#ifndef BWL_TEST_RIG_H
#define BWL_TEST_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <bwl/publish.h>
#include <bwl/record.h>

/* Port ids. RIG_ALIEN is an interface that is not a port. */
enum rig_port { RIG_H0, RIG_H1, RIG_P0, RIG_P1, RIG_PORTS, RIG_ALIEN = RIG_PORTS, _RIG_PORT_MAX };
#define RIG_SECOND 1000000000ULL
#define RIG_MTU 1500U

enum rig_prog {
	RIG_HOST,
	RIG_XDP,
	RIG_UPIN,
	RIG_XDP_UPIN,
	RIG_GATE,
	RIG_TUNIN,
	RIG_TUNOUT,
	RIG_MGMT,
	_RIG_PROG_MAX
};

struct rig_opts {
	uint32_t max_peers, max_extras, max_windows; /* 0: 256, 256, 64 */
	/* only a host port's programs: the kernel verifies them in half of the time */
	bool host_only;
	bool plain_tunnel; /* p1 is the tunnel device, a plain one; its programs are loaded */
	bool generic;      /* XDP as the loader makes it for generic mode */
	bool realtime;     /* as on a PREEMPT_RT kernel */
	bool old_volume;   /* as without --fresh-volume: the first policy's volumes are spent */
	bool records;      /* flows are recorded, from interval 1 on */
	bool measures;     /* latency is measured */
	const struct rig_maps *maps; /* NULL: new ones */
};

/* Maps from a recording (recorded.h), and how a new object gets them; 0 or a negative errno. */
struct rig_maps {
	const char *file;
	int (*use)(const char *dir, struct bpf_object *obj);  /* before it is loaded */
	int (*take)(const char *dir, struct bpf_object *obj); /* after that */
};

struct bpf_object;
struct rig {
	struct bwlimit_test *skel;
	struct bwl_rec rec; /* the flow records */
	struct tagged *tagged;
	struct bwl_pins *pins; /* writable */
	char dir[200];
	pid_t owner; /* the process that cleans up */
	int ifindex[_RIG_PORT_MAX];
	int prog[_RIG_PROG_MAX];
	int cpus;
	bool takes_ingress;            /* test runs of TC programs may set the ingress device */
	struct bwl_reason_count *last; /* counters at the end of the last run, all rows */
	struct bwl_reason_count *percpu;
};

struct rig *rig_open(const struct rig_opts *o); /* NULL: defaults. One at a time */
void rig_close(struct rig *rig);
/* Called first when it closes, also when a case failed: ends the threads that use it. */
extern void (*rig_before_close)(void);
_Noreturn void rig_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Starts at a fixed hour; moves only when a test moves it. */
uint64_t rig_now(void);
void rig_set_clock(uint64_t ns);
void rig_advance(uint64_t ns);
void rig_coarse_clock_behind(uint64_t ns); /* initially 0 */
/*
 * The machine was suspended for this long: the clock has moved, the ticks have not, and the kernel
 * reports it.
 */
void rig_suspended(struct rig *rig, uint64_t ns);
/* Called whenever the time is read; NULL: no call. */
extern void (*rig_on_clock)(void);

/* The programs are replaced by others of this layout: what they keep for themselves is new. */
void rig_new_programs(struct rig *rig);
/* Publishes a policy by its text; rig_policy() ends the program if it is refused. */
void rig_policy(struct rig *rig, const char *yaml);
int rig_try_policy(struct rig *rig, const char *yaml, const struct bwl_publish_opts *o,
		   struct bwl_publish_report *ret, struct bwl_err *e);
/* Opens the pins again, as another process would: drops the lock that the rig's own pins hold. */
struct bwl_pins *rig_pins(struct rig *rig);

/* A frame from words (frame.h), with the kernel's information about it. */
struct rig_packet {
	enum rig_prog prog;
	enum rig_port port;
	const char *spec; /* or data and len instead */
	const void *data;
	size_t len;
	uint32_t mark, priority;
	uint64_t departs_ns;   /* set by its sender (SO_TXTIME) */
	enum rig_port ingress; /* at an egress: where the packet came in; RIG_ALIEN + 1: nowhere */
	uint32_t gso_size, gso_segs;
	bool tagged; /* at TC: the outer VLAN tag is kept beside the frame */
	uint16_t tci;
};
#define RIG_NOWHERE _RIG_PORT_MAX

struct rig_result {
	uint32_t act;     /* TC_ACT_* or XDP_* */
	unsigned reason;  /* the reason counted; BWL_R_NONE with counted == 0: none */
	unsigned counted; /* frames counted, over all reasons of the port's row */
	uint64_t bytes, charged;
	uint32_t mark, priority;
	uint64_t departs_ns; /* departure time; 0: at once */
	size_t len;          /* length of the resulting frame */
	uint8_t data[66000];
};

/* Can this kernel run it? On Linux 5.15, not a forwarded packet at an egress. */
bool rig_can(const struct rig *rig, const struct rig_packet *k);
/* r may be NULL. Returns the reason. */
unsigned rig_run(struct rig *rig, const struct rig_packet *k, struct rig_result *r);
/* A UDP or other frame from a host port: the most common case. */
unsigned rig_send(struct rig *rig, const char *spec);
/* Runs it many times, from any thread, without reading counters: returns the last action. */
uint32_t rig_fire(struct rig *rig, const struct rig_packet *k, uint32_t repeat);
/*
 * While this is set, packets may be in flight when a policy is replaced, and its writer waits for
 * them: to be set before another thread sends, or a child publishes while its parent sends. It,
 * rig_on_grace and rig_before_close are reset by rig_open().
 */
extern bool rig_others_send;
/* So often bwl_grace() has really waited for packets in flight. */
extern unsigned rig_graces;
/* Called while a policy's writer waits for packets in flight; NULL: no call. */
extern void (*rig_on_grace)(void);

/* Frames counted under a reason in a row (port, or BWL_MAX_PORTS + port) since rig_open(). */
uint64_t rig_frames(struct rig *rig, unsigned row, unsigned reason);
uint64_t rig_bytes(struct rig *rig, unsigned row, unsigned reason);
uint64_t rig_charged(struct rig *rig, unsigned row, unsigned reason);
/* All rows and reasons together. */
uint64_t rig_all_frames(struct rig *rig);
/* Events that were lost, and all events, of every kind at every port. */
void rig_event_sums(const struct bwl_pins *p, uint64_t *ret_lost, uint64_t *ret_total);

#endif
