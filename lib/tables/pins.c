// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens the pinned maps, and reads what does not depend on a policy. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/inner.h>
#include <bwl/map_io.h>
#include <bwl/reader.h>
#include <bwl/netdev.h>
#include <bwl/pins.h>
#include "mapped.h"
#include "maps/layout.h"

#define LOCK_WAIT_MS 10000

const char *bwl_pin_dir(const char *dir)
{
	if (!dir || !*dir)
		dir = getenv("BWLIMIT_PIN_DIR");
	return dir && *dir ? dir : BWL_PIN_DIR;
}

static int open_pin(struct bwl_pins *p, enum bwl_pin pin, struct bwl_err *e)
{
	struct bwl_shape have, want = bwl_pin_shape(pin, &p->schema);
	const char *folder = p->copied ? BWL_READ_DIR : "maps";
	char path[300];
	int fd, r;

	snprintf(path, sizeof(path), "%s/%s/%s", p->dir, folder, bwl_pin_name(pin));
	fd = bwl_pin_get(path, p->copied);
	if (fd < 0) {
		bwl_fail(e, -fd, "cannot open %s: %s", path, strerror(-fd));
		if (fd == -ENOENT)
			bwl_hint(e, "nothing is attached here: bwlimit-load attach");
		else if (fd == -EACCES)
			bwl_hint(e,
				 p->writable
					 ? "run as root or as a member of group " BWL_GROUP
					 : "run as root or as a member of group " BWL_GROUP_READ);
		else if (fd == -EPERM)
			bwl_hint(
				e,
				"this kernel (below 5.19) lets root alone use maps: root alone sees and revokes");
		return fd;
	}
	p->fd[pin] = fd;
	r = bwl_shape_of(fd, &have);
	if (r)
		return bwl_fail(e, -r, "cannot query %s: %s", path, strerror(-r));
	if (have.value_bytes != want.value_bytes || have.entries != want.entries) {
		bwl_fail(e, EPROTO, "%s has %u entries of %u bytes; this program expects %u of %u",
			 path, have.entries, have.value_bytes, want.entries, want.value_bytes);
		return bwl_hint(
			e, "use the tools of the version that attached, or bwlimit-load upgrade");
	}
	return 0;
}

static int read_schema(struct bwl_pins *p, uint64_t layout, struct bwl_err *e)
{
	uint32_t zero = 0;
	int r;

	p->schema = (struct bwl_schema){ 0 };
	r = open_pin(p, BWL_PIN_schema, e);
	if (r == -EACCES && !p->writable) { /* we are a member of the readers' group */
		p->copied = true;
		r = open_pin(p, BWL_PIN_schema, e);
	}
	if (r)
		return r;
	if (bwl_map_get(p->fd[BWL_PIN_schema], &zero, &p->schema))
		return bwl_fail(e, errno, "cannot read the schema: %s", strerror(errno));
	if (p->schema.magic == 0) {
		bwl_fail(e, EPROTO, "%s: an attach was interrupted before it was complete", p->dir);
		return bwl_hint(e, "run bwlimit-load attach again");
	}
	if (p->schema.magic != BWL_SCHEMA_MAGIC || p->schema.abi != BWL_ABI_VERSION ||
	    p->schema.layout != layout) {
		bwl_fail(
			e, EPROTO,
			"%s: pins of another schema (ABI %u, layout %016llx; this program: ABI %u, layout %016llx)",
			p->dir, p->schema.abi, (unsigned long long)p->schema.layout,
			BWL_ABI_VERSION, (unsigned long long)layout);
		return bwl_hint(
			e, "use the tools of the version that attached, or bwlimit-load upgrade");
	}
	return 0;
}

static int open_as(const char *dir, bool writable, bool few, uint64_t layout, struct bwl_pins **ret,
		   struct bwl_err *e)
{
	struct bwl_pins *p = calloc(1, sizeof(*p));
	int i, r;

	if (!p)
		return bwl_fail(e, ENOMEM, "out of memory");
	p->dir_fd = -1;
	for (i = 0; i < _BWL_PIN_MAX; i++)
		p->fd[i] = -1;
	p->writable = writable;
	p->few = few;
	snprintf(p->dir, sizeof(p->dir), "%s", bwl_pin_dir(dir));
	r = read_schema(p, layout, e);
	for (i = 0; !r && i < _BWL_PIN_MAX; i++)
		if (i != BWL_PIN_schema &&
		    !(p->copied && bwl_pin_shape(i, &p->schema).type == BPF_MAP_TYPE_RINGBUF))
			r = open_pin(p, i, e);
	if (!r)
		r = bwl_mapped_open(p, e);
	if (r) {
		bwl_pins_close(p);
		return r;
	}
	*ret = p;
	return 0;
}

int bwl_pins_open(const char *dir, bool writable, struct bwl_pins **ret, struct bwl_err *e)
{
	return open_as(dir, writable, false, bwl_layout(), ret, e);
}

int bwl_pins_open_few(const char *dir, struct bwl_pins **ret, struct bwl_err *e)
{
	return open_as(dir, true, true, bwl_layout(), ret, e);
}

int bwl_pins_open_as(const char *dir, uint64_t layout, struct bwl_pins **ret, struct bwl_err *e)
{
	return open_as(dir, true, false, layout, ret, e);
}

void bwl_pins_close(struct bwl_pins *p)
{
	int i;

	if (!p)
		return;
	bwl_mapped_close(p);
	for (i = 0; i < _BWL_PIN_MAX; i++)
		if (p->fd[i] >= 0)
			close(p->fd[i]);
	if (p->dir_fd >= 0)
		close(p->dir_fd);
	free(p);
}

bool bwl_pins_are_there(const struct bwl_pins *p)
{
	struct bpf_map_info ours = { 0 }, there = { 0 };
	__u32 len = sizeof(ours);
	char path[300];
	bool same;
	int fd;

	snprintf(path, sizeof(path), "%s/maps/%s", p->dir, bwl_pin_name(BWL_PIN_ctl));
	fd = bpf_obj_get(path);
	same = fd >= 0 && !bpf_obj_get_info_by_fd(fd, &there, &len);
	len = sizeof(ours);
	same = same && !bpf_obj_get_info_by_fd(p->fd[BWL_PIN_ctl], &ours, &len) &&
	       ours.id == there.id;
	if (fd >= 0)
		close(fd);
	return same;
}

int bwl_pins_lock(struct bwl_pins *p, struct bwl_err *e)
{
	struct timespec nap = { .tv_nsec = 10000000 };
	int waited;

	if (p->dir_fd >= 0)
		return 0;
	p->dir_fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir_fd < 0) {
		int err = errno;

		bwl_fail(e, err, "cannot open %s: %s", p->dir, strerror(err));
		return err == EACCES ? bwl_hint(e, "as root: members of group " BWL_GROUP
						   " close (revoke, stop) and renew the heartbeat")
				     : -err;
	}
	for (waited = 0; flock(p->dir_fd, LOCK_EX | LOCK_NB); waited += 10) {
		if (errno != EWOULDBLOCK || waited >= LOCK_WAIT_MS) {
			close(p->dir_fd);
			p->dir_fd = -1;
			bwl_fail(e, EBUSY, "another bwlimit tool has been changing %s for %d s",
				 p->dir, waited / 1000);
			return bwl_hint(e, "wait for it to end, then try again");
		}
		nanosleep(&nap, NULL);
	}
	if (bwl_pins_are_there(p))
		return 0;
	close(p->dir_fd);
	p->dir_fd = -1;
	bwl_fail(e, ESTALE, "the maps in %s were replaced meanwhile", p->dir);
	return bwl_hint(e, "run the same command again");
}

int bwl_pins_still(const struct bwl_pins *p)
{
	int fd, err;

	if (p->dir_fd >= 0)
		return fcntl(p->dir_fd, F_DUPFD_CLOEXEC, 0);
	fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !flock(fd, LOCK_SH | LOCK_NB))
		return fd;
	err = errno;
	if (fd >= 0)
		close(fd);
	return -err;
}

bool bwl_pins_are_busy(const struct bwl_pins *p)
{
	int fd = bwl_pins_still(p);

	if (fd >= 0)
		close(fd);
	return fd == -EWOULDBLOCK;
}

void bwl_sched_must_be_sound(const struct bwl_sched *s)
{
	bool slot = s->slot < BWL_GENERATIONS || s->slot == BWL_NO_SLOT;
	bool before = s->before < BWL_GENERATIONS || s->before == BWL_NO_SLOT ||
		      s->before == BWL_LOST_SLOT;

	if (slot && before && (s->before >= BWL_GENERATIONS || s->before != s->slot))
		return;
	bwl_warn("slot %u of the policy, with %u before it: this would close everything", s->slot,
		 s->before);
	abort();
}

static const volatile struct bwl_sched *sched_of(const struct bwl_pins *p)
{
	const volatile struct bwl_ctl *c = p->ctl;

	return &c->sched[c->active % BWL_SCHEDS];
}

uint32_t bwl_active_slot(const struct bwl_pins *p)
{
	return sched_of(p)->slot;
}

uint32_t bwl_slot_before(const struct bwl_pins *p)
{
	const volatile struct bwl_sched *s = sched_of(p);

	return s->trial_ns == BWL_NEVER_NS || s->before == BWL_LOST_SLOT ? BWL_NO_SLOT : s->before;
}

bool bwl_is_before_lost(const struct bwl_pins *p)
{
	const volatile struct bwl_sched *s = sched_of(p);

	return s->trial_ns != BWL_NEVER_NS && s->before == BWL_LOST_SLOT;
}

uint64_t bwl_trial_ns(const struct bwl_pins *p)
{
	uint64_t at = sched_of(p)->trial_ns;

	return at == BWL_NEVER_NS ? 0 : at;
}

uint64_t bwl_pending_ns(const struct bwl_pins *p, uint64_t now_ns)
{
	uint64_t at = bwl_trial_ns(p);

	return now_ns < at ? at : 0;
}

bool bwl_is_trial_over(const struct bwl_pins *p, uint64_t now_ns)
{
	uint64_t at = bwl_trial_ns(p);

	return at && now_ns >= at;
}

int bwl_grace(struct bwl_pins *p, struct bwl_err *e)
{
	/*
	 * An update of an array of maps ends in synchronize_rcu(): put an inner map where it
	 * already is.
	 */
	uint32_t slot;
	int fd, r;

	for (slot = 0; slot < BWL_GENERATIONS; slot++) {
		fd = bwl_inner_open(p->dir, p->fd[BWL_PIN_base], slot, p->copied);
		if (fd == -ENOENT)
			continue;
		r = fd < 0 ? fd : bwl_map_put(p->fd[BWL_PIN_base], &slot, &fd, 0);
		if (fd >= 0)
			close(fd);
		if (!r)
			return 0;
		bwl_fail(e, -r, "cannot wait for packets in flight: %s", strerror(-r));
		return bwl_map_tried(e);
	}
	return 0; /* without a generation no packet uses one */
}

int bwl_reason_at(const struct bwl_pins *p, uint32_t index, struct bwl_reason_count *cpus,
		  struct bwl_reason_count *ret)
{
	int n = libbpf_num_possible_cpus(), c;

	*ret = (struct bwl_reason_count){ 0 };
	if (n < 0)
		return n;
	if (bwl_map_get(p->fd[BWL_PIN_reason], &index, cpus))
		return -errno;
	for (c = 0; c < n; c++) {
		ret->frames += cpus[c].frames;
		ret->bytes += cpus[c].bytes;
		ret->charged += cpus[c].charged;
	}
	return 0;
}

int bwl_reason_read(struct bwl_pins *p, struct bwl_reason_count *ret, struct bwl_err *e)
{
	int cpus = libbpf_num_possible_cpus(), r;
	struct bwl_reason_count *v;
	uint32_t i;

	v = cpus > 0 ? calloc((size_t)cpus, sizeof(*v)) : NULL;
	if (!v)
		return bwl_fail(e, ENOMEM, "out of memory");
	memset(ret, 0, sizeof(*ret) * BWL_REASON_ROWS * BWL_REASON_COLUMNS);
	for (i = 0; i < BWL_REASON_ROWS * BWL_REASON_COLUMNS; i++) {
		uint32_t row = i / BWL_REASON_COLUMNS % BWL_MAX_PORTS;

		/* Row 0 also counts what came from interfaces that are not ports. */
		if (row && !p->dev[row].ifindex && !p->dev[row].name[0]) {
			i += BWL_REASON_COLUMNS - 1;
			continue;
		}
		if (i % BWL_REASON_COLUMNS >= _BWL_REASON_MAX)
			continue;
		r = bwl_reason_at(p, i, v, &ret[i]);
		if (r) {
			free(v);
			return bwl_fail(e, -r, "cannot read the counters: %s", strerror(-r));
		}
	}
	free(v);
	return 0;
}

#define COUNT_BATCH 4096U

/* The first `want` entries of a per-CPU map of counters, summed over all CPUs. words: of an entry
 */
static int sum_cpus(int fd, uint32_t want, size_t words, uint64_t *ret, struct bwl_err *e)
{
	uint32_t batch = want < COUNT_BATCH ? want : COUNT_BATCH;
	int cpus = libbpf_num_possible_cpus(), err = 0;
	uint32_t *keys, in, out, n, i;
	void *at = NULL;
	uint64_t *v;

	if (!want)
		return 0;
	keys = calloc(batch, sizeof(*keys));
	v = cpus > 0 ? calloc((size_t)batch * (size_t)cpus, words * sizeof(*v)) : NULL;
	if (!keys || !v) {
		free(keys);
		free(v);
		return bwl_fail(e, ENOMEM, "out of memory");
	}
	memset(ret, 0, words * sizeof(*ret) * want);
	do {
		n = batch;
		err = -bwl_map_get_all(fd, at, &out, keys, v, &n);
		for (i = 0; i < n && keys[i] < want; i++) {
			const uint64_t *x = &v[(size_t)i * (size_t)cpus * words];
			uint64_t *r = &ret[keys[i] * words];

			for (size_t k = 0; k < (size_t)cpus * words; k++)
				r[k % words] += x[k];
		}
		in = out;
		at = &in;
	} while (!err && n && in < want - 1);
	free(keys);
	free(v);
	if (err && err != ENOENT)
		return bwl_fail(e, err, "cannot read the peers' counters: %s", strerror(err));
	return 0;
}

int bwl_peercnt_read_first(struct bwl_pins *p, uint32_t want, struct bwl_peer_count *ret,
			   struct bwl_err *e)
{
	return sum_cpus(p->fd[BWL_PIN_peercnt], want, sizeof(*ret) / sizeof(uint64_t),
			(uint64_t *)ret, e);
}

int bwl_over_read(struct bwl_pins *p, uint32_t want, struct bwl_over_count *ret, struct bwl_err *e)
{
	return sum_cpus(p->fd[BWL_PIN_over], want, sizeof(*ret) / sizeof(uint64_t), (uint64_t *)ret,
			e);
}

int bwl_peercnt_read(struct bwl_pins *p, struct bwl_peer_count *ret, struct bwl_err *e)
{
	return bwl_peercnt_read_first(p, p->schema.max_peers, ret, e);
}

int bwl_event_counted(const struct bwl_pins *p, uint32_t kind, uint32_t port,
		      struct bwl_event_count *ret, struct bwl_err *e)
{
	int cpus = libbpf_num_possible_cpus(), c;
	struct bwl_event_count *v = cpus > 0 ? calloc((size_t)cpus, sizeof(*v)) : NULL;
	uint32_t index = bwl_event_count_index(kind, port);

	*ret = (struct bwl_event_count){ 0 };
	if (!v)
		return bwl_fail(e, ENOMEM, "out of memory");
	if (bwl_map_get(p->fd[BWL_PIN_evcnt], &index, v)) {
		free(v);
		return bwl_fail(e, errno, "cannot read the event counters: %s", strerror(errno));
	}
	for (c = 0; c < cpus; c++) {
		ret->lost += v[c].lost;
		ret->total += v[c].total;
	}
	free(v);
	return 0;
}

bool bwl_is_by_mark(const struct bwl_pins *p)
{
	unsigned i;

	for (i = 0; i < BWL_MAX_PORTS; i++)
		if (p->dev[i].ifindex && p->dev[i].kind == BWL_PORT_TUNNEL)
			return p->dev[i].flags & BWL_DEV_PLAIN;
	return false;
}

const char *bwl_not_paced(const struct bwl_pins *p)
{
	const char *why = "no uplink";
	unsigned i;

	for (i = 0; i < BWL_MAX_PORTS; i++) {
		if (!p->dev[i].ifindex || !(p->dev[i].kind & BWL_PORT_UPLINK))
			continue;
		if (p->dev[i].flags & BWL_DEV_UNTIMED)
			return "the kernel forgets departure times (before 5.18)";
		if (!(p->dev[i].flags & BWL_DEV_FQ))
			return "no fq on an uplink";
		why = NULL;
	}
	return why;
}

bool bwl_pace_refresh(struct bwl_pins *p)
{
	bool all = true, yes, changed = false;
	unsigned i;

	for (i = 0; all && i < BWL_MAX_PORTS; i++)
		if (p->dev[i].ifindex && p->dev[i].kind & BWL_PORT_UPLINK)
			all = !(p->dev[i].flags & BWL_DEV_UNTIMED) &&
			      !bwl_netdev_is_paced(p->dev[i].ifindex, &yes, NULL) && yes;
	for (i = 0; i < BWL_MAX_PORTS; i++) {
		struct bwl_dev *dev = &p->dev[i];

		if (!dev->ifindex || !(dev->kind & BWL_PORT_UPLINK) ||
		    all == !!(dev->flags & BWL_DEV_FQ))
			continue;
		*(volatile __u8 *)&dev->flags = (__u8)((dev->flags & ~BWL_DEV_FQ) |
						       (all ? BWL_DEV_FQ : 0));
		changed = true;
	}
	return changed;
}
