/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Typed access to the pinned maps (maps/). Opening checks the schema and every map's name and
 * sizes; a set of pins this program does not understand is refused with the next step.
 */
#ifndef BWL_PINS_H
#define BWL_PINS_H

#include <stdbool.h>
#include <stdint.h>
#include <bwl/cleanup.h>
#include <bwl/clock.h>
#include <bwl/err.h>
#include <bwl/maps.h>
#include "maps/ctl.h"
#include "maps/event.h"
#include "maps/policy.h"
#include "maps/reason.h"
#include "maps/share.h"
#include "maps/tunnel.h"

#define BWL_PIN_DIR "/sys/fs/bpf/bwlimit" /* default; --pin-dir or BWLIMIT_PIN_DIR */

/* A mapped array's entries lie at multiples of 8 bytes, whatever their size. */
struct bwl_word {
	uint32_t v, _pad;
};

/* What of the list's kinds is mapped, and as an array of what. */
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
	bool few; /* of arrays with an entry a peer only what was touched is mapped */
	/*
	 * Opened by the readers' pins: arrays are copies of the moment when they were opened, for
	 * the kernel (6.18) maps none through a descriptor that cannot write. No ring buffer: to
	 * read it is to write it.
	 */
	bool copied;
	struct bwl_schema schema;
	/*
	 * Mapped, all arrays of maps/list.h (struct bwl_peer_ref *gate …); const-ness is up to
	 * `writable`.
	 */
#define X(name, kind, key, value, ...) BWL_MAPPED_##kind(name, value)
	BWL_MAPS(X)
#undef X
};
/* Are the open maps those that stand there? Else a tool has detached them, or made them anew. */
bool bwl_pins_are_there(const struct bwl_pins *p);

/* dir NULL: BWLIMIT_PIN_DIR or BWL_PIN_DIR. */
const char *bwl_pin_dir(const char *dir);
/* Not writable: where the maps may not be opened for writing, those for readers. */
int bwl_pins_open(const char *dir, bool writable, struct bwl_pins **ret, struct bwl_err *e);
/*
 * For writing (never a copy), by who has to do with few peers: gate, name, nameid, state, mark and
 * tunnel are mapped a page at a time, which with a million peers is a hundredth of the time. An
 * entry that was not touched is a fault. What looks at all peers calls bwl_pins_whole() first.
 */
int bwl_pins_open_few(const char *dir, struct bwl_pins **ret, struct bwl_err *e);
/* The rest too; nothing where it is. */
int bwl_pins_whole(struct bwl_pins *p, struct bwl_err *e);
/* Entry i of the map; 0 or -errno. Of a peer: gate, name, state and mark of grant and accept. */
int bwl_pins_touch(const struct bwl_pins *p, enum bwl_pin pin, uint32_t i);
int bwl_pins_touch_peer(const struct bwl_pins *p, uint32_t id, struct bwl_err *e);
/*
 * For writing, and of this layout: that of an earlier version while its maps are made this one's
 * (loader).
 */
int bwl_pins_open_as(const char *dir, uint64_t layout, struct bwl_pins **ret, struct bwl_err *e);
void bwl_pins_close(struct bwl_pins *p); /* NULL-safe; drops the lock */
BWL_AUTO_DEFINE(bwl_pins_close, struct bwl_pins *)
/* One writer at a time: waits up to 10 s for the flock on the pin directory, then -EBUSY. */
int bwl_pins_lock(struct bwl_pins *p, struct bwl_err *e);
/*
 * For readers: a descriptor; until it is closed nobody changes the policy. Does not wait:
 * -EWOULDBLOCK while somebody changes it (through another handle). A writer waits for readers as
 * for another writer.
 */
int bwl_pins_still(const struct bwl_pins *p);

/* Of the device that is attached under that name; -1: none is. */
int bwl_port_id(const struct bwl_pins *p, const char *name);
/*
 * The entry of bwl_dev_v1 that the name has, attached or not, or a free one; -1: all are taken. Ids
 * stay with the name: `from` masks and counters refer to them.
 */
int bwl_port_id_for(const struct bwl_pins *p, const char *name);
/*
 * Neighbours of a family that a port may have in the kernel's table, where a policy has so many
 * ports.
 */
uint16_t bwl_neighbour_share(size_t ports);
/* Is the tunnel device a plain xfrm interface, with marks for if_ids (maps/tunnel.h)? */
bool bwl_is_by_mark(const struct bwl_pins *p);
/* Why packets do not wait for their time (mode shape); NULL where every uplink keeps it. */
const char *bwl_not_paced(const struct bwl_pins *p);
/*
 * Looks at the qdiscs and tells the programs; true when something changed. All uplinks or none: by
 * which one ESP leaves is for the routes to say.
 */
bool bwl_pace_refresh(struct bwl_pins *p);

/*
 * enum bwl_carried_by of a peer of path offload at this moment; UNTOLD while nobody looks after it.
 */
unsigned bwl_carried_by_now(const struct bwl_pins *p, uint32_t id, uint64_t now_ns);
const char *bwl_carried_by_name(unsigned carried_by);
const char *bwl_carried_by_text(unsigned carried_by);

/* Which generation holds now: slot or BWL_NO_SLOT. */
uint32_t bwl_active_slot(const struct bwl_pins *p, uint64_t now_ns);
/* Some generation is waiting for `policy confirm`: returns the deadline, else 0. */
uint64_t bwl_pending_ns(const struct bwl_pins *p, uint64_t now_ns);
/*
 * Waits until no packet uses what it looked up before (an update of an array of maps ends in
 * synchronize_rcu(), kernel >= 4.15).
 */
int bwl_grace(struct bwl_pins *p, struct bwl_err *e);

/* The inner maps of one generation, mapped where they are arrays. */
struct bwl_gen {
	uint32_t slot;
	int dst4, dst6, lpm4, lpm6, own, base_fd, peer_fd, sub_fd;
	bool copied; /* as the pins */
	struct bwl_base *base;
	struct bwl_peer *peer;
	uint32_t npeers; /* entries, spares included; entry 0 unused */
	struct bwl_limit *sub;
	uint32_t nsubs; /* entry 0 unused */
	bool few, writable;
};
/* Of p->few: peer and sub, too, are mapped by bwl_gen_touch() only; bwl_body() does it. */
int bwl_gen_open(struct bwl_pins *p, uint32_t slot, struct bwl_gen *ret, struct bwl_err *e);
int bwl_gen_touch(const struct bwl_gen *g, uint32_t peer_at, uint32_t sub_at);
void bwl_gen_close(struct bwl_gen *g);

/*
 * The id that has the name, by the table of names (maps/policy.h); 0: the table does not know it,
 * which only a look at all names can confirm.
 */
uint32_t bwl_name_id(const struct bwl_pins *p, const char *name);
/* With the lock: the table has this id's name; those of all ids, and no other. */
void bwl_name_note(struct bwl_pins *p, uint32_t id);
void bwl_names_note_all(struct bwl_pins *p);

/* Where the generation has the peer's entry; 0: it has none, or g is NULL. */
uint32_t bwl_body_at(const struct bwl_pins *p, const struct bwl_gen *g, uint32_t id);
/*
 * The entry, or NULL. Another writer may put one in its place meanwhile; this one stays as it is.
 */
const struct bwl_peer *bwl_body(const struct bwl_pins *p, const struct bwl_gen *g, uint32_t id);
/* The rule of revocation: has the peer been revoked, alone or with all, since that grant? */
bool bwl_revoked_since(const struct bwl_pins *p, uint32_t id, uint32_t grant_seq);

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
/* Of one kind at one port, as the sum over CPUs: lost and total. */
int bwl_event_counted(const struct bwl_pins *p, uint32_t kind, uint32_t port,
		      struct bwl_event_count *ret, struct bwl_err *e);

const char *bwl_reason_name(unsigned reason); /* "peer-rate" */
const char *bwl_reason_text(unsigned reason);
const char *bwl_reason_todo(unsigned reason); /* "" when there is nothing to do */
const char *bwl_event_name(unsigned kind);
#define BWL_EVENT_ADDRESS 46 /* INET6_ADDRSTRLEN */
/* IPv4 is written as IPv4. */
char *bwl_event_address(const __be32 a[4], char buf[static BWL_EVENT_ADDRESS]);

#endif
