// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The loop: it puts the policy in force and the kernel's news into the table, and the table into
 * the pins.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "track.h"

#define POLICY_MS 200                /* how often the policy's number is checked */
#define DUMP_NS (60 * 1000000000ULL) /* how often everything is read anew, despite the news */
#define WAYS_NS 1000000000ULL        /* how often ports and next hops are checked */
#define RETRY_NS 1000000000ULL       /* after a failed dump */
#define READS 256                    /* news per step: in between, the policy is checked */
#define STEP_RETRY_NS 100000000L     /* after a failed step (no memory, or a disturbed dump) */
#define STEPS_FAILED 20              /* consecutive failures, after which everything is reopened */
#define READS_OF_LOOK 65536          /* more than the socket holds */

struct bwl_tracker {
	struct bwl_pins *pins;
	struct bwl_track *track;
	struct bwl_track_ways *ways; /* of the policy that is in the table */
	bool dry_run;
	uint64_t next_ways_ns;
	struct bwl_xfrm_news *news;
	int lock;
	struct stat maps; /* identifies the pins that were opened */
	uint64_t next_dump_ns;
	uint32_t slot, generation; /* of the policy that is in the table */
	bool has_policy;
};

/* Two trackers would soon agree again, but both would count and report. */
static int lock_one(struct bwl_tracker *r, struct bwl_err *e)
{
	char path[sizeof(r->pins->dir) + 32];

	snprintf(path, sizeof(path), "%s/links", r->pins->dir);
	r->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->lock < 0)
		return bwl_fail(e, errno, "cannot open %s: %s", path, strerror(errno));
	if (!flock(r->lock, LOCK_EX | LOCK_NB))
		return 0;
	bwl_fail(e, EBUSY, "the kernel's SAs are tracked already");
	return bwl_hint(
		e,
		"by bwlimitd or bwlimit-ipsec.service; to look without writing: ipsec track --dry-run");
}

static int stat_maps(const struct bwl_tracker *r, struct stat *st)
{
	char path[sizeof(r->pins->dir) + 32];

	snprintf(path, sizeof(path), "%s/maps/%s", r->pins->dir, bwl_pin_name(BWL_PIN_tunnel));
	return stat(path, st);
}

/* After a detach, or an upgrade to other maps, nothing reads what is written here. */
static int check_pins(const struct bwl_tracker *r, struct bwl_err *e)
{
	struct stat st;

	if (!stat_maps(r, &st) && st.st_ino == r->maps.st_ino && st.st_dev == r->maps.st_dev)
		return 0;
	return bwl_fail(e, ESTALE, "the maps of %s were detached or replaced", r->pins->dir);
}

static bool has_remote(const struct bwl_gen *g, const struct bwl_peer *p, struct bwl_xfrm_addr *ret)
{
	const struct bwl_nexthop *h = &g->base->nexthop[p->meta.nexthop % BWL_MAX_NEXTHOPS];

	*ret = (struct bwl_xfrm_addr){ .family = AF_INET };
	if (p->meta.path == BWL_PATH_CLEAR || !(h->has4 || h->has6))
		return false;
	if (h->has4) {
		memcpy(ret->a, &h->via4, 4);
	} else {
		ret->family = AF_INET6;
		memcpy(ret->a, h->via6, 16);
	}
	return true;
}

/* The device to which cleartext for the peer would go, for a device that encrypts. */
static uint32_t uplink_of(const struct bwl_pins *p, const struct bwl_gen *g,
			  const struct bwl_peer *x)
{
	uint32_t port = g->base->nexthop[x->meta.nexthop % BWL_MAX_NEXTHOPS].port;

	return port < BWL_MAX_PORTS && p->dev[port].kind == BWL_PORT_UPLINK ? p->dev[port].ifindex
									    : 0;
}

/*
 * For path xfrm the result is known at once; for path offload the next check of the ports decides.
 */
static int read_way(struct bwl_tracker *r, const struct bwl_gen *g, const struct bwl_peer *x,
		    uint32_t id, const struct bwl_xfrm_addr *remote)
{
	const struct bwl_track_way none = { 0 };

	if (x->meta.path != BWL_PATH_OFFLOAD)
		return bwl_track_way(r->track, id, &none);
	return bwl_track_ways_add(r->ways, id, remote,
				  g->base->nexthop[x->meta.nexthop % BWL_MAX_NEXTHOPS].port,
				  x->meta.from);
}

static int look_at_ways(struct bwl_tracker *r, struct bwl_err *e)
{
	r->next_ways_ns = bwl_now_ns() + WAYS_NS;
	return bwl_track_ways_look(r->ways, r->pins, r->track)
		       ? bwl_fail(e, ENOMEM, "out of memory")
		       : 0;
}

static int read_peers(struct bwl_tracker *r, const struct bwl_gen *g)
{
	const struct bwl_pins *p = r->pins;
	struct bwl_xfrm_addr remote;
	const struct bwl_peer *body;
	uint32_t id, uplink;
	int err = 0;

	bwl_track_ways_begin(r->ways);
	for (id = 1; !err && id < p->schema.max_peers; id++) {
		body = bwl_body(p, g, id);
		if (body && has_remote(g, body, &remote)) {
			uplink = uplink_of(p, g, body);
			err = bwl_track_peer(r->track, id, &remote, uplink);
			if (!err)
				err = read_way(r, g, body, id, &remote);
		} else {
			err = bwl_track_peer(r->track, id, NULL, 0);
		}
	}
	return err;
}

static bool is_current(const struct bwl_tracker *r)
{
	return r->has_policy && bwl_active_slot(r->pins) == r->slot &&
	       *(const volatile __u32 *)&r->pins->ctl->generation == r->generation;
}

/* Repeated until what was read is what holds: a policy may be applied meanwhile. */
static int read_policy(struct bwl_tracker *r, struct bwl_err *e)
{
	struct bwl_gen none = { 0 }, g;
	int err = 0, tries;

	for (tries = 0; !err && tries < 100 && !is_current(r); tries++) {
		r->generation = *(const volatile __u32 *)&r->pins->ctl->generation;
		r->slot = bwl_active_slot(r->pins);
		r->has_policy = true;
		bwl_track_recheck(r->track);
		if (r->slot == BWL_NO_SLOT) {
			none.slot = 0;
			err = read_peers(r, &none); /* npeers 0: no peer is encrypted */
			continue;
		}
		err = bwl_gen_open(r->pins, r->slot, &g, e);
		if (err)
			break;
		err = read_peers(r, &g);
		bwl_gen_close(&g);
		if (err)
			bwl_fail(e, ENOMEM, "out of memory");
	}
	r->has_policy = r->has_policy && !err;
	return err ? err : look_at_ways(r, e);
}

static int on_dump(const struct bwl_xfrm_msg *m, void *arg)
{
	struct bwl_tracker *r = arg;

	return bwl_track_news(r->track, m);
}

static int on_news(const struct bwl_xfrm_msg *m, void *arg)
{
	on_dump(m, arg); /* an error makes a dump due */
	return 0;
}

/*
 * Reads all waiting news. -EAGAIN means the end. News that were lost or not understood make a dump
 * due.
 */
static int drain(struct bwl_tracker *r, bool settle, struct bwl_err *e)
{
	int err = 0, reads;

	for (reads = 0; !err && reads < (settle ? READS : READS_OF_LOOK); reads++) {
		err = bwl_xfrm_news_read(r->news, on_news, r, e);
		if (err == -ENOBUFS || err == -EBADMSG) {
			bwl_track_lost(r->track);
			err = 0;
		}
		if (!err && settle)
			bwl_track_settle(r->track, (uint64_t)time(NULL));
	}
	return err == -EAGAIN ? 0 : err;
}

static int look(struct bwl_tracker *r, struct bwl_err *e)
{
	int err;

	r->next_dump_ns = bwl_now_ns() + RETRY_NS;
	bwl_track_dump_begin(r->track);
	err = bwl_xfrm_dump_sas(on_dump, r, e);
	if (!err)
		err = bwl_xfrm_dump_policies(on_dump, r, e);
	if (err) {
		bwl_track_lost(r->track);
		return err == -ENOMEM ? bwl_fail(e, ENOMEM, "out of memory") : err;
	}
	bwl_track_dump_end(r->track);
	r->has_policy = false; /* the uplinks may have changed */
	r->next_dump_ns += DUMP_NS - RETRY_NS;
	/* News from before the dump must not have the last word on anything. */
	return drain(r, false, e);
}

/* What the map says about devices counts only while it is tracked, and a little longer. */
static void believe(struct bwl_tracker *r, bool yes)
{
	if (!r->dry_run)
		__atomic_store_n(&r->pins->ctl->tracked_until_s,
				 yes ? (uint32_t)(bwl_now_ns() / 1000000000) + BWL_TRACKED_S : 0,
				 __ATOMIC_SEQ_CST);
}

int bwl_tracker_open(struct bwl_pins *pins, bool dry_run, bwl_track_fn fn, void *arg,
		     struct bwl_tracker **ret, struct bwl_err *e)
{
	struct bwl_tracker *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return bwl_fail(e, ENOMEM, "out of memory");
	r->pins = pins;
	r->lock = -1;
	r->dry_run = dry_run;
	err = dry_run ? 0 : lock_one(r, e);
	if (!err && stat_maps(r, &r->maps))
		err = bwl_fail(e, errno, "cannot check the maps of %s: %s", pins->dir,
			       strerror(errno));
	if (!err && bwl_track_new(pins->schema.max_peers, dry_run ? NULL : pins->tunnel, fn, arg,
				  &r->track))
		err = bwl_fail(e, ENOMEM, "out of memory");
	if (!err && bwl_track_ways_new(&r->ways))
		err = bwl_fail(e, ENOMEM, "out of memory");
	if (!err) /* before the first dump, so that no SA is missed */
		err = bwl_xfrm_news_open(&r->news, e);
	if (!err)
		err = read_policy(r, e);
	if (!err)
		err = look(r, e);
	if (err) {
		bwl_tracker_close(r);
		return err;
	}
	bwl_track_settle(r->track, (uint64_t)time(NULL));
	believe(r, true);
	*ret = r;
	return 0;
}

void bwl_tracker_close(struct bwl_tracker *r)
{
	if (!r)
		return;
	bwl_xfrm_news_close(r->news);
	bwl_track_free(r->track);
	bwl_track_ways_free(r->ways);
	if (r->lock >= 0)
		close(r->lock);
	free(r);
}

const struct bwl_track *bwl_tracker_track(const struct bwl_tracker *r)
{
	return r->track;
}

/* Waits a little for news. Whatever fails, what is known gets written. */
static int step(struct bwl_tracker *r, struct bwl_err *e)
{
	struct pollfd p = { .fd = bwl_xfrm_news_fd(r->news), .events = POLLIN };
	int err = 0;

	if (poll(&p, 1, POLICY_MS) < 0 && errno != EINTR)
		return bwl_fail(e, errno, "poll: %s", strerror(errno));
	if (p.revents)
		err = drain(r, true, e);
	if (!err)
		err = check_pins(r, e);
	if (!err && bwl_pace_refresh(r->pins))
		bwl_warn(!bwl_not_paced(r->pins)
				 ? "every uplink has fq: mode shape paces"
				 : "an uplink has no fq any more: mode shape polices");
	if (!err && bwl_track_is_unsure(r->track) && r->next_dump_ns > bwl_now_ns() + RETRY_NS)
		r->next_dump_ns = 0;
	if (!err && bwl_now_ns() >= r->next_dump_ns)
		err = look(r, e);
	if (!err && bwl_now_ns() >= r->next_ways_ns)
		err = look_at_ways(r, e);
	/* What was opened by a policy that is no longer in force is closed in the same step. */
	do {
		if (!err && !is_current(r))
			err = read_policy(r, e);
		bwl_track_settle(r->track, (uint64_t)time(NULL));
	} while (!err && !is_current(r));
	if (!err)
		believe(r, true);
	return err;
}

void bwl_tracker_leave(struct bwl_tracker *r)
{
	believe(r, false);
	bwl_track_lost(r->track);
	bwl_track_settle(r->track, (uint64_t)time(NULL));
}

struct follow {
	const struct bwl_track_user *user;
	struct bwl_pins *pins;
};

static void on_change(uint32_t id, const struct bwl_track_verdict *v, void *arg)
{
	const struct follow *f = arg;

	f->user->changed(f->pins, id, v, f->user->arg);
}

static int follow(const struct bwl_track_user *u, struct bwl_tracker *r, struct bwl_err *e)
{
	const struct timespec nap = { .tv_nsec = STEP_RETRY_NS };
	char told[sizeof(e->text)] = "";
	unsigned failed = 0;
	int err;

	while (u->goes_on(u->arg)) {
		err = step(r, e);
		if (!err) {
			failed = 0;
			*told = '\0';
			continue;
		}
		if (err == -ESTALE || ++failed == STEPS_FAILED)
			return err;
		if (strcmp(told, e->text))
			u->failed(e, u->arg);
		memcpy(told, e->text, sizeof(told));
		nanosleep(&nap, NULL);
	}
	return 0;
}

int bwl_track_follow(const char *pin_dir, const struct bwl_track_user *u, struct bwl_err *e)
{
	struct follow f = { .user = u };
	struct bwl_tracker *r = NULL;
	int err = bwl_pins_open(pin_dir, true, &f.pins, e);

	if (err)
		return err;
	err = bwl_tracker_open(f.pins, false, on_change, &f, &r, e);
	if (!err) {
		u->begins(u->arg);
		err = follow(u, r, e);
		bwl_tracker_leave(r);
	}
	bwl_tracker_close(r);
	bwl_pins_close(f.pins);
	return err;
}
