/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Typed access to the pinned maps (maps/). Opening checks the schema and every map's name and
 * sizes. Pins that this program does not understand are refused, with the next step.
 */
#ifndef BWL_PINS_H
#define BWL_PINS_H

#include <stdbool.h>
#include <stdint.h>
#include <bwl/cleanup.h>
#include <bwl/clock.h>
#include <bwl/err.h>
#include <bwl/reasons.h>
#include <bwl/maps.h>
#include "maps/ctl.h"
#include "maps/event.h"
#include "maps/policy.h"
#include "maps/reason.h"
#include "maps/share.h"
#include "maps/tunnel.h"

#define BWL_PIN_DIR "/sys/fs/bpf/bwlimit" /* default; --pin-dir or BWLIMIT_PIN_DIR */

/* Entries of a mapped array are aligned to 8 bytes, whatever their size. */
struct bwl_word {
	uint32_t v, _pad;
};

/* How each kind of the list is mapped, and as which array. */
#define BWL_MAPPED_ARRAY(name, type) type *name;
#define BWL_MAPPED_WORDS(name, type) struct bwl_word *name;
#define BWL_MAPPED_SCHEMA(name, type)
#define BWL_MAPPED_PERCPU(name, type)
#define BWL_MAPPED_HASH(name, type)
#define BWL_MAPPED_RING(name, type)
#define BWL_MAPPED_GEN_HASH(name, type)
#define BWL_MAPPED_GEN_LPM(name, type)
#define BWL_MAPPED_GEN_BASE(name, type)
#define BWL_MAPPED_GEN_ARRAY(name, type)

struct bwl_pins {
	char dir[200];
	int dir_fd; /* carries the flock */
	int fd[_BWL_PIN_MAX];
	bool writable;
	bool few; /* of arrays with an entry per peer only touched pages are mapped */
	/*
	 * Opened through the readers' pins: arrays are copies made at opening, because the kernel
	 * (6.18) maps none through a read-only descriptor. There is no ring buffer, because reading
	 * it means writing to it.
	 */
	bool copied;
	struct bwl_schema schema;
	/*
	 * The mapped arrays of maps/list.h (struct bwl_peer_ref *gate …); const-ness depends on
	 * `writable`.
	 */
#define X(name, kind, key, value, ...) BWL_MAPPED_##kind(name, value)
	BWL_MAPS(X)
#undef X
};
/* Are the open maps still the pinned ones? Otherwise a tool has detached or replaced them. */
bool bwl_pins_are_there(const struct bwl_pins *p);

/* dir NULL: BWLIMIT_PIN_DIR or BWL_PIN_DIR. */
const char *bwl_pin_dir(const char *dir);
/* Not writable: uses the readers' maps if the maps cannot be opened for writing. */
int bwl_pins_open(const char *dir, bool writable, struct bwl_pins **ret, struct bwl_err *e);
/*
 * For writers (never a copy) that handle few peers: gate, name, nameid, state, mark and tunnel are
 * mapped a page at a time, which takes a hundredth of the time with a million peers. Accessing an
 * untouched entry is a fault. Call bwl_pins_whole() before walking all peers.
 */
int bwl_pins_open_few(const char *dir, struct bwl_pins **ret, struct bwl_err *e);
/* Maps the rest, too; no effect if it is mapped. */
int bwl_pins_whole(struct bwl_pins *p, struct bwl_err *e);
/*
 * Maps entry i of the map; 0 or -errno. For a peer: gate, name, state and mark of grant and accept.
 */
int bwl_pins_touch(const struct bwl_pins *p, enum bwl_pin pin, uint32_t i);
int bwl_pins_touch_peer(const struct bwl_pins *p, uint32_t id, struct bwl_err *e);
/* For writing, with this layout: an earlier version's while its maps are converted (loader). */
int bwl_pins_open_as(const char *dir, uint64_t layout, struct bwl_pins **ret, struct bwl_err *e);
void bwl_pins_close(struct bwl_pins *p); /* NULL-safe; drops the lock */
BWL_AUTO_DEFINE(bwl_pins_close, struct bwl_pins *)
/* One writer at a time: waits up to 10 s for the flock on the pin directory, then -EBUSY. */
int bwl_pins_lock(struct bwl_pins *p, struct bwl_err *e);
/*
 * For readers: returns a descriptor; while it is open nobody changes the policy. Does not wait:
 * -EWOULDBLOCK while the policy is being changed (through another handle). Writers wait for readers
 * as for other writers.
 */
int bwl_pins_still(const struct bwl_pins *p);
/* Would a writer have to wait now? For who must not: it asks again later. */
bool bwl_pins_are_busy(const struct bwl_pins *p);

/* The id of the attached device of that name; -1: there is none. */
int bwl_port_id(const struct bwl_pins *p, const char *name);
/* The same, also if it is awaited. */
int bwl_port_named(const struct bwl_pins *p, const char *name);
/* The port is absent: it is awaited, by the maps, so that every tool and the next process knows. */
void bwl_port_await(struct bwl_pins *p, unsigned id, const char *name, unsigned kind);
/* A bit for each port that is awaited. One that the policy in force does not name no longer is. */
int bwl_ports_awaited(struct bwl_pins *p, uint64_t *ret);
/*
 * The entry of bwl_dev_v1 for the name, attached or not, or a free one; -1: all are taken. Ids stay
 * with names, because `from` masks and counters refer to them.
 */
int bwl_port_id_for(const struct bwl_pins *p, const char *name);
/*
 * A host port's word of what bwlimit itself does to it, for whoever has to tell that from what
 * others do. Before bwlimit sets it down, and after it is up again; both are repeatable. The word
 * changes with each, and comes back after four times both.
 */
void bwl_port_shuts(struct bwl_pins *p, unsigned id);
void bwl_port_opened(struct bwl_pins *p, unsigned id);
uint8_t bwl_port_doings(const struct bwl_pins *p, unsigned id);
bool bwl_is_port_shut(uint8_t doings);
/* The attached port with that interface index, whatever its name; -1: there is none. */
int bwl_port_at(const struct bwl_pins *p, uint32_t ifindex);
/*
 * The number of neighbours of a family that each port may have in the kernel's table, with that
 * many ports.
 */
uint16_t bwl_neighbour_share(size_t ports);
/* Is the tunnel device a plain xfrm interface, with marks for if_ids (maps/tunnel.h)? */
bool bwl_is_by_mark(const struct bwl_pins *p);
/* Why packets do not wait for their time (mode shape); NULL: every uplink keeps departure times. */
const char *bwl_not_paced(const struct bwl_pins *p);
/*
 * Checks the qdiscs and tells the programs; true when something changed. It is all uplinks or none,
 * because routes decide through which one ESP leaves.
 */
bool bwl_pace_refresh(struct bwl_pins *p);

/* enum bwl_carried_by of a peer of path offload now; UNTOLD while nothing tracks it. */
unsigned bwl_carried_by_now(const struct bwl_pins *p, uint32_t id, uint64_t now_ns);
const char *bwl_carried_by_name(unsigned carried_by);
const char *bwl_carried_by_text(unsigned carried_by);

/* The generation in force: a slot, or BWL_NO_SLOT. */
uint32_t bwl_active_slot(const struct bwl_pins *p);
/* Slots that there are, and not one twice, or it ends the process: before it is put in force. */
void bwl_sched_must_be_sound(const struct bwl_sched *s);
/* The slot that keeps the policy before one on trial (maps/ctl.h); BWL_NO_SLOT: none. */
uint32_t bwl_slot_before(const struct bwl_pins *p);
/* There was a policy before, and its slot was being written when a way back failed or was killed.
 */
bool bwl_is_before_lost(const struct bwl_pins *p);
/* When the trial of the policy in force ends or has ended, CLOCK_BOOTTIME; 0: not on trial. */
uint64_t bwl_trial_ns(const struct bwl_pins *p);
/* The same while it waits for `policy confirm`; otherwise 0. */
uint64_t bwl_pending_ns(const struct bwl_pins *p, uint64_t now_ns);
/* A trial has ended, so grants are at their floors, until the policy before is applied again. */
bool bwl_is_trial_over(const struct bwl_pins *p, uint64_t now_ns);
/*
 * Waits until no packet uses its earlier look-ups (an update of an array of maps ends in
 * synchronize_rcu(), kernel >= 4.15).
 */
int bwl_grace(struct bwl_pins *p, struct bwl_err *e);

/* The inner maps of one generation, mapped where they are arrays. */
struct bwl_gen {
	uint32_t slot;
	int dst4, dst6, lpm4, lpm6, own, base_fd, peer_fd, sub_fd;
	bool copied; /* as in the pins */
	struct bwl_base *base;
	struct bwl_peer *peer;
	uint32_t npeers; /* entries, spares included; entry 0 unused */
	struct bwl_limit *sub;
	uint32_t nsubs; /* entry 0 unused */
	bool few, writable;
};
/* With p->few, only bwl_gen_touch() maps peer and sub; bwl_body() calls it. */
int bwl_gen_open(struct bwl_pins *p, uint32_t slot, struct bwl_gen *ret, struct bwl_err *e);
int bwl_gen_touch(const struct bwl_gen *g, uint32_t peer_at, uint32_t sub_at);
void bwl_gen_close(struct bwl_gen *g);

/*
 * The id for a name, from the table of names (maps/policy.h); 0: not in the table, which only a
 * walk over all names can confirm.
 */
uint32_t bwl_name_id(const struct bwl_pins *p, const char *name);
/* With the lock held: enters this id's name into the table; the second enters exactly all names. */
void bwl_name_note(struct bwl_pins *p, uint32_t id);
void bwl_names_note_all(struct bwl_pins *p);

/* The index of the peer's entry in the generation; 0: it has none, or g is NULL. */
uint32_t bwl_body_at(const struct bwl_pins *p, const struct bwl_gen *g, uint32_t id);
/* The entry, or NULL. Another writer may replace it meanwhile; this entry stays unchanged. */
const struct bwl_peer *bwl_body(const struct bwl_pins *p, const struct bwl_gen *g, uint32_t id);
/* What the host port may send to the peer of that body, NULL: it has no limit of its own. */
const struct bwl_limit *bwl_gen_tenant(const struct bwl_gen *g, const struct bwl_peer *body,
				       uint32_t port);
/* What the peer has of a zone that is shared by weight; NULL: its zone is not, or it has none. */
const struct bwl_limit *bwl_portion_limit(const struct bwl_gen *g, const struct bwl_peer *body);
/* The volume of what arrives from the peer; its rate limits nothing. NULL: it has none. */
const struct bwl_limit *bwl_accept_limit(const struct bwl_gen *g, const struct bwl_peer *body);
/* The rule of revocation: was the peer revoked, alone or with all, since that grant? */
bool bwl_revoked_since(const struct bwl_pins *p, uint32_t id, uint32_t grant_seq);
/* Raises a number of revocation to at least `number`: it never falls, whoever writes it meanwhile.
 */
void bwl_revoked_raise(uint32_t *revoked, uint32_t number);

/*
 * One entry of bwl_reason_v1 as the sum over CPUs; cpus: room for libbpf_num_possible_cpus()
 * entries. 0 or -errno.
 */
int bwl_reason_at(const struct bwl_pins *p, uint32_t index, struct bwl_reason_count *cpus,
		  struct bwl_reason_count *ret);
/* Sums over CPUs. ret has BWL_REASON_ROWS * BWL_REASON_COLUMNS entries. */
int bwl_reason_read(struct bwl_pins *p, struct bwl_reason_count *ret, struct bwl_err *e);
/* ret has max_peers entries. */
int bwl_peercnt_read(struct bwl_pins *p, struct bwl_peer_count *ret, struct bwl_err *e);
/* Of ids below n only; ret has n entries. */
int bwl_peercnt_read_first(struct bwl_pins *p, uint32_t n, struct bwl_peer_count *ret,
			   struct bwl_err *e);
int bwl_over_read(struct bwl_pins *p, uint32_t n, struct bwl_over_count *ret, struct bwl_err *e);
/* The counters of one kind at one port, summed over CPUs: lost and total. */
int bwl_event_counted(const struct bwl_pins *p, uint32_t kind, uint32_t port,
		      struct bwl_event_count *ret, struct bwl_err *e);

#define BWL_EVENT_ADDRESS 46 /* INET6_ADDRSTRLEN */
/* IPv4 is written as IPv4. */
char *bwl_event_address(const struct bwl_event *e, const __be32 a[4],
			char buf[static BWL_EVENT_ADDRESS]);

#endif
