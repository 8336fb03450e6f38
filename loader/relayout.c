// SPDX-License-Identifier: GPL-2.0-or-later
/* See relayout.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/inner.h>
#include <bwl/map_io.h>
#include <bwl/pages.h>
#include <bwl/tables.h>
#include "../maps/layout.h"
#include "relayout.h"

#define PATH 300

static void path_of(const char *dir, const char *prefix, enum bwl_pin pin, char path[PATH])
{
	snprintf(path, PATH, "%s/maps/%s%s", dir, prefix, bwl_pin_name(pin));
}

/* Reads the schema. magic 0: there is none or it is incomplete; ~0: its shape is unknown. */
static struct bwl_schema read_schema(int fd)
{
	struct bwl_schema s = { 0 };
	struct bwl_shape shape;
	uint32_t zero = 0;

	if (fd < 0)
		return s;
	if (bwl_shape_of(fd, &shape) || shape.value_bytes != sizeof(s))
		s.magic = ~0ULL;
	else if (bwl_map_get(fd, &zero, &s))
		memset(&s, 0, sizeof(s));
	return s;
}

#define AFRESH                                                                                     \
	"or detach and attach: volumes start spent, and whatever was revoked or stopped without "  \
	"a journal must be revoked again"

static int refuse(const char *dir, const struct bwl_schema *s, struct bwl_err *e)
{
	bwl_fail(
		e, EPROTO,
		"%s holds maps of another schema (ABI %u, layout %016llx), which this program does not know (ABI %u, layouts %u to %u: %016llx)",
		dir, s->abi, (unsigned long long)s->layout, BWL_ABI_VERSION, bwl_layout_first(),
		bwl_layout_now(), (unsigned long long)bwl_layout());
	if (bwl_layout_is_gone(s->layout))
		return bwl_hint(
			e,
			"these maps are of a version before 0.3.0: install 0.3.0 and run its bwlimit-load upgrade, then this one's; " AFRESH);
	return bwl_hint(
		e,
		"these maps are of a later version: install it, or a later one, and run its bwlimit-load upgrade; " AFRESH);
}

/* Opens an inner map of a generation; negative if there is none, or it is not pinned. */
static int inner_of(const char *dir, int outer)
{
	uint32_t slot;
	int fd = -ENOENT;

	for (slot = 0; fd == -ENOENT && slot < BWL_GENERATIONS; slot++)
		fd = bwl_inner_open(dir, outer, slot, false);
	return fd;
}

/*
 * For a generation's map the shape of the inner maps decides. If there are none, the layout does.
 */
static int inner_fate(const char *dir, int outer, enum bwl_pin pin, unsigned layout, uint8_t *ret)
{
	struct bwl_shape want, have, before;
	int fd = inner_of(dir, outer);
	bool changed;

	bwl_inner_shape(pin, &want);
	before = want;
	changed = bwl_shape_before(pin, layout, &before);
	have = before;
	if (fd >= 0) {
		bool unread = bwl_shape_of(fd, &have);

		close(fd);
		if (unread)
			return -EPROTO;
	}
	have.entries = before.entries = want.entries;
	*ret = bwl_shape_is(&have, &want) ? BWL_STAYS : BWL_CHANGES;
	return *ret == BWL_STAYS || (changed && bwl_shape_is(&have, &before)) ? 0 : -EPROTO;
}

/* What becomes of a pinned map. */
static int fate_of(const char *dir, const struct bwl_relayout *x, enum bwl_pin pin, uint8_t *ret)
{
	struct bwl_shape want = bwl_pin_shape(pin, &x->was), before = want, have;
	bool changed;

	if (bwl_shape_of(x->fd[pin], &have))
		return -EPROTO;
	if (bwl_inner_shape(pin, NULL))
		return bwl_shape_is(&have, &want) ? inner_fate(dir, x->fd[pin], pin, x->layout, ret)
						  : -EPROTO;
	changed = bwl_shape_before(pin, x->layout, &before);
	*ret = bwl_shape_is(&have, &want) ? BWL_STAYS : BWL_CHANGES;
	return *ret == BWL_STAYS || (changed && bwl_shape_is(&have, &before)) ? 0 : -EPROTO;
}

static int fates(const char *dir, struct bwl_relayout *x, struct bwl_err *e)
{
	char path[PATH];
	int i;

	x->whole = true;
	for (i = 0; i < _BWL_PIN_MAX; i++) {
		x->fate[i] = BWL_COMES;
		if (x->fd[i] < 0) {
			x->whole &= bwl_pin_since(i) > x->layout;
			continue;
		}
		path_of(dir, "", i, path);
		if (fate_of(dir, x, i, &x->fate[i])) {
			if (x->layout == bwl_layout_now())
				bwl_fail(e, EPROTO, "%s is not of layout %u, as the others say",
					 path, x->layout);
			else
				bwl_fail(e, EPROTO, "%s is neither of layout %u nor of %u", path,
					 x->layout, bwl_layout_now());
			return bwl_hint(e, "bwlimit-load detach, then attach; volumes start spent");
		}
		x->changes |= x->fate[i] == BWL_CHANGES;
	}
	return 0;
}

int bwl_relayout_look(const char *dir, struct bwl_relayout *ret, struct bwl_err *e)
{
	char path[PATH];
	int i, r = 0;

	*ret = (struct bwl_relayout){ 0 };
	for (i = 0; i < _BWL_PIN_MAX; i++) {
		path_of(dir, "", i, path);
		ret->fd[i] = bpf_obj_get(path);
	}
	ret->was = read_schema(ret->fd[BWL_PIN_schema]);
	if (!ret->was.magic)
		return 0;
	ret->layout = bwl_layout_number(ret->was.layout);
	if (ret->was.magic != BWL_SCHEMA_MAGIC || ret->was.abi != BWL_ABI_VERSION || !ret->layout)
		r = refuse(dir, &ret->was, e);
	return r ? r : fates(dir, ret, e);
}

void bwl_relayout_end(struct bwl_relayout *x)
{
	int i;

	for (i = 0; i < _BWL_PIN_MAX; i++) {
		if (x->fd[i] > 0)
			close(x->fd[i]);
		x->fd[i] = -1;
	}
}

bool bwl_relayout_entry(const struct bwl_relayout *x, enum bwl_pin pin, uint32_t key, void *ret,
			size_t size)
{
	struct bwl_shape s;

	return x->fd[pin] >= 0 && !bwl_shape_of(x->fd[pin], &s) && s.value_bytes <= size &&
	       !bwl_map_get(x->fd[pin], &key, ret);
}

int bwl_relayout_use(const struct bwl_relayout *x, struct bpf_object *obj)
{
	struct bpf_map *m;
	int i, r = 0;

	for (i = 0; !r && i < _BWL_PIN_MAX; i++) {
		m = bpf_object__find_map_by_name(obj, bwl_pin_name(i));
		r = !m ? -ENOENT : x->fate[i] == BWL_STAYS ? bpf_map__reuse_fd(m, x->fd[i]) : 0;
	}
	return r;
}

/* The first word of bwl_ctl_v1, at the same place in every layout. NULL: see errno. */
static __u32 *stop_word(const struct bwl_relayout *x)
{
	_Static_assert(offsetof(struct bwl_ctl, stop) == 0,
		       "every version must be able to find the stop switch");
	void *m = mmap(NULL, bwl_page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED,
		       x->fd[BWL_PIN_ctl], 0);

	return m == MAP_FAILED ? NULL : m;
}

static bool swap(__u32 *word, __u32 from, __u32 to)
{
	return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static int copy_all(const struct bwl_relayout *x, const char *dir, struct bpf_object *obj,
		    struct bwl_err *e)
{
	struct bwl_shape inner;
	int i, r = 0;

	for (i = 0; !r && i < _BWL_PIN_MAX; i++) {
		if (x->fate[i] != BWL_CHANGES)
			continue;
		r = bwl_relayout_copy(dir, x->fd[i],
				      bpf_map__fd(
					      bpf_object__find_map_by_name(obj, bwl_pin_name(i))),
				      bwl_inner_shape(i, &inner) ? &inner : NULL);
		if (r)
			bwl_fail(e, -r, "cannot copy %s: %s", bwl_pin_name(i), strerror(-r));
	}
	return r;
}

static int replace_pin(const char *dir, enum bwl_pin pin, int fd, struct bwl_err *e)
{
	char path[PATH], fresh[PATH];

	path_of(dir, "", pin, path);
	path_of(dir, BWL_FRESH, pin, fresh);
	if (unlink(fresh) && errno != ENOENT)
		return bwl_fail(e, errno, "cannot remove %s: %s", fresh, strerror(errno));
	if (bwl_map_pin(fd, fresh) || rename(fresh, path))
		return bwl_fail(e, errno, "cannot pin %s: %s", path, strerror(errno));
	return 0;
}

static int replace_pins(const struct bwl_relayout *x, const char *dir, struct bpf_object *obj,
			struct bwl_err *e)
{
	int i, r = 0;

	/*
	 * bwlimitd watches the pin of ctl: when it changes, bwlimitd closes the old maps and opens
	 * the new ones when they are complete.
	 */
	for (i = 0; !r && i < _BWL_PIN_MAX; i++)
		if (x->fate[i] != BWL_STAYS || (x->changes && i == BWL_PIN_ctl))
			r = replace_pin(
				dir, i,
				bpf_map__fd(bpf_object__find_map_by_name(obj, bwl_pin_name(i))), e);
	return r;
}

/* Did a run replace a pin before it was killed? */
static bool is_begun(const struct bwl_relayout *x)
{
	struct bwl_shape any = { 0 };
	int i;

	for (i = 0; i < _BWL_PIN_MAX; i++)
		if (x->fate[i] == BWL_STAYS && bwl_shape_before(i, x->layout, &any))
			return true;
	return false;
}

/*
 * What somebody has stopped stays stopped. If bwlimitd still has to judge the journal, it might
 * open the maps at any moment: so they also wait for `up` meanwhile.
 */
static void close_all(struct bwl_relayout *x, __u32 *stop)
{
	__u32 is;

	do {
		is = __atomic_load_n(stop, __ATOMIC_SEQ_CST);
		x->unjudged = is == BWL_UNJUDGED;
	} while ((is == BWL_RUN && !swap(stop, is, BWL_UPGRADING)) ||
		 (is == BWL_UNJUDGED && !swap(stop, is, BWL_CLOSED_UNJUDGED)));
}

/*
 * bwlimitd may judge in between. It only opens, so the second swap catches what the first one
 * missed.
 */
static void open_unjudged(const struct bwl_relayout *x, __u32 *stop)
{
	if (x->unjudged && !swap(stop, BWL_CLOSED_UNJUDGED, BWL_UNJUDGED))
		swap(stop, BWL_CLOSED, BWL_RUN);
}

static int stop_and_copy(struct bwl_relayout *x, const char *dir, struct bpf_object *obj,
			 __u32 *stop, struct bwl_err *e)
{
	struct bwl_pins p = { 0 };
	int r;

	close_all(x, stop);
	snprintf(p.dir, sizeof(p.dir), "%s", dir);
	p.fd[BWL_PIN_base] = x->fd[BWL_PIN_base];
	r = bwl_grace(&p, e); /* waits until nothing reads the old policy */
	return r ? r : copy_all(x, dir, obj, e);
}

int bwl_relayout_replace(struct bwl_relayout *x, const char *dir, struct bpf_object *obj,
			 struct bwl_err *e)
{
	__u32 *stop;
	int r;

	if (!x->changes)
		return replace_pins(x, dir, obj, e);
	stop = stop_word(x);
	if (!stop)
		return bwl_fail(e, errno, "cannot map the stop switch: %s", strerror(errno));
	r = stop_and_copy(x, dir, obj, stop, e);
	if (r && !is_begun(x)) { /* the old programs and maps continue */
		swap(stop, BWL_UPGRADING, BWL_RUN);
		open_unjudged(x, stop);
	}
	munmap(stop, bwl_page_bytes());
	return r ? r : replace_pins(x, dir, obj, e);
}

/*
 * Up to layout 7 the policy before came into force by itself when a trial ended: then it is the one
 * in force, and what this version calls a trial that is over is none.
 */
static void end_old_trial(const struct bwl_relayout *x)
{
	struct bwl_ctl *c;
	struct bwl_sched s;
	uint32_t next;

	if (x->layout > 7)
		return;
	c = mmap(NULL, bwl_page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, x->fd[BWL_PIN_ctl], 0);
	if (c == MAP_FAILED)
		return; /* the trial counts as over: closed, until it is rolled back */
	s = c->sched[c->active % BWL_SCHEDS];
	next = (c->active + 1) % BWL_SCHEDS;
	if (s.trial_ns != BWL_NEVER_NS && bwl_now_ns() >= s.trial_ns) {
		c->sched[next] = (struct bwl_sched){ s.before, BWL_NO_SLOT, BWL_NEVER_NS };
		__atomic_store_n(&c->active, next, __ATOMIC_SEQ_CST);
	}
	munmap(c, bwl_page_bytes());
}

int bwl_relayout_finish(const struct bwl_relayout *x, struct bwl_err *e)
{
	struct bwl_schema s = x->was;
	uint32_t zero = 0;

	end_old_trial(x);
	s.layout = bwl_layout();
	if (x->layout != bwl_layout_now() && bwl_map_put(x->fd[BWL_PIN_schema], &zero, &s, 0))
		return bwl_fail(e, errno, "cannot write the layout: %s", strerror(errno));
	return 0;
}

void bwl_relayout_release(const struct bwl_relayout *x, struct bwl_pins *p, __u32 stop)
{
	swap(&p->ctl->stop, BWL_UPGRADING, stop);
	if (stop == BWL_RUN)
		open_unjudged(x, &p->ctl->stop);
}
