// SPDX-License-Identifier: GPL-2.0-or-later
/* See outlet.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bwl/cleanup.h>
#include <bwl/clock.h>
#include <bwl/lock.h>
#include "flows/list.h"
#include "interval.h"
#include "outlet.h"

#define FILE_MAX 65000    /* bytes of a message; its header has 16 bits for that */
#define DATAGRAM_MAX 1200 /* smaller than every MTU */

struct outlet {
	const struct outlet_conf *c;
	struct state state;
	char boot[BWL_BOOT_ID];
	struct way *way;     /* NULL: not connected */
	struct ipfix *ipfix; /* NULL: JSON lines */
	bool told_spent;
	int lock; /* of the state's folder: only one process uses it */
};

static int lock(struct outlet *o, struct bwl_err *e)
{
	const char *dir = o->c->state_dir;
	BWL_AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return bwl_fail(e, errno, "cannot open %s: %s", dir, strerror(errno));
	r = bwl_lock_folder(fd, &o->lock); /* readers of the budget may open the folder */
	if (!r)
		return 0;
	if (r != -EWOULDBLOCK)
		return bwl_fail(e, -r, "cannot lock %s/" BWL_LOCK_FILE ": %s", dir, strerror(-r));
	bwl_fail(e, -r, "another bwlimit-export uses %s", dir);
	return bwl_hint(e, "each needs a folder of its own: --state-dir DIR");
}

int outlet_open(const struct outlet_conf *c, struct outlet **ret, struct bwl_err *e)
{
	struct outlet *o = bwl_must(calloc(1, sizeof(*o)));
	int r;

	o->c = c;
	bwl_boot_id(o->boot);
	r = lock(o, e);
	if (!r)
		r = state_load(c->state_dir, o->boot, &o->state, e);
	if (!r) {
		budget_set(&o->state.budget, c->budget_bytes, c->budget_window_ns);
		budget_pass(&o->state.budget, bwl_now_ns());
		/* Before anything is sent, so that queries find the budget. */
		r = state_tell_budget(c->state_dir, &o->state.budget, e);
	}
	if (!r) {
		r = state_save(c->state_dir, o->boot, &o->state, e);
	}
	if (r)
		outlet_close(o);
	else
		*ret = o;
	return r;
}

static void hang_up(struct outlet *o)
{
	if (o->ipfix)
		ipfix_close(o->ipfix);
	if (o->way)
		way_close(o->way);
	o->ipfix = NULL;
	o->way = NULL;
}

void outlet_close(struct outlet *o)
{
	hang_up(o);
	if (o->lock >= 0)
		close(o->lock);
	free(o);
}

static int save(struct outlet *o, struct bwl_err *e)
{
	budget_pass(&o->state.budget, bwl_now_ns());
	return state_save(o->c->state_dir, o->boot, &o->state, e);
}

static int name_of(const struct outlet *o, uint64_t number, char *buf, size_t size)
{
	char name[FLOWS_NAME];

	return snprintf(buf, size, "%s/%s", o->c->flows_dir, flows_store_name(number, name));
}

/* The next interval that exists; 0: none. *ret_gap: why intervals before it are missing. */
static uint64_t find(struct outlet *o, char *gap, size_t size, struct bwl_err *e, int *ret)
{
	uint64_t *all = NULL, next = o->state.next, found = 0;
	char path[600];
	size_t n = 0;

	*gap = '\0';
	*ret = 0;
	name_of(o, next, path, sizeof(path));
	if (next && !access(path, R_OK))
		return next;
	*ret = flows_store_list(o->c->flows_dir, &all, &n, e);
	if (*ret == -ENOENT)
		*ret = 0; /* nothing was recorded yet */
	for (size_t i = 0; !*ret && !found && i < n; i++)
		if (all[i] >= next)
			found = all[i];
	if (n && all[n - 1] + 1 < next) {
		found = all[0];
		snprintf(gap, size, "the folder of records was started anew, before interval %llu",
			 (unsigned long long)next);
	} else if (found && next && found != next) {
		snprintf(gap, size, "intervals %llu to %llu were deleted before they were sent",
			 (unsigned long long)next, (unsigned long long)found - 1);
	}
	free(all);
	return found;
}

static int spent(const struct outlet *o, struct bwl_err *e)
{
	return bwl_fail(e, EDQUOT, "the byte budget is used up; the next window begins in %llu s",
			(unsigned long long)(o->state.budget.left_ns / 1000000000));
}

/* The budget was reduced, and that was recorded, before this is sent. */
static int send_out(struct outlet *o, const struct ipfix_out *out, struct bwl_err *e)
{
	size_t at = 0, n;
	int r;

	if (o->c->way.kind != WAY_UDP)
		return way_send(o->way, out->at, out->len, e);
	for (r = 0; !r && at + 4 <= out->len; at += n) {
		n = (size_t)out->at[at + 2] << 8 | out->at[at + 3];
		r = way_send(o->way, out->at + at, n, e);
	}
	return r;
}

static int greet(struct outlet *o, struct bwl_err *e)
{
	bool in_file = o->c->way.kind == WAY_FILE;
	size_t most = o->c->way.kind == WAY_UDP ? DATAGRAM_MAX : FILE_MAX;
	struct ipfix_out out = { 0 };
	int r = ipfix_open(o->c->domain, most, in_file ? o->state.sequence : 0, &o->ipfix, e);

	if (!r)
		r = ipfix_templates(o->ipfix, &o->state.losses, &out, e);
	if (!r && !budget_take(&o->state.budget, out.len, bwl_now_ns()))
		r = spent(o, e);
	if (!r)
		r = save(o, e);
	if (!r)
		r = send_out(o, &out, e);
	free(out.at);
	return r;
}

static int reach(struct outlet *o, struct bwl_err *e)
{
	int r = way_open(&o->c->way, o->state.file_bytes, o->state.file_inode, &o->way, e);

	if (!r && !o->c->json)
		r = greet(o, e);
	return r;
}

/* Encodes as much as the budget allows: the rows, no rows, or nothing at all. */
static int fit(struct outlet *o, FILE *file, struct ipfix_note *note, struct interval *v,
	       struct bwl_err *e)
{
	uint32_t sequence = o->ipfix ? ipfix_sequence(o->ipfix) : 0;
	int r;

	for (;;) {
		r = interval_encode(file, o->ipfix, note, &o->state.losses, v, e);
		if (r || budget_take(&o->state.budget, v->out.len, bwl_now_ns()))
			return r;
		if (o->ipfix)
			ipfix_rewind(o->ipfix, sequence);
		if (note->withheld || !v->rows) {
			v->out.len = 0;
			note->withheld = v->rows;
			return 0;
		}
		note->withheld = v->rows;
		interval_done(v);
	}
}

static void add_losses(struct ipfix_losses *l, const struct interval *v, bool withheld)
{
	l->ignored_frames += v->other.frames + v->other.dropped_frames;
	l->ignored_bytes += v->other.bytes + v->other.dropped_bytes;
	if (!withheld)
		return;
	l->unsent_flows += v->rows;
	l->unsent_frames += v->frames;
	l->unsent_bytes += v->bytes;
}

/* Reports it once, until there is room again. */
static void tell(struct outlet *o, uint64_t number, const struct ipfix_note *note,
		 const struct interval *v)
{
	if (v->strange)
		bwl_warn("interval %llu has %llu lines that are not records: they were not sent",
			 (unsigned long long)number, (unsigned long long)v->strange);
	if (note->again && v->out.len)
		bwl_warn("interval %llu is sent again: the collector may have part of it already",
			 (unsigned long long)number);
	if (note->gap && v->out.len)
		bwl_warn("before interval %llu: %s", (unsigned long long)number, note->gap);
	if (note->withheld && !o->told_spent)
		bwl_warn(
			"interval %llu: %llu records are withheld: the byte budget has no room for them; the next window begins in %llu s",
			(unsigned long long)number, (unsigned long long)note->withheld,
			(unsigned long long)(o->state.budget.left_ns / 1000000000));
	o->told_spent = note->withheld || !v->out.len;
}

static int send_interval(struct outlet *o, uint64_t number, FILE *file, struct ipfix_note *note,
			 struct bwl_err *e)
{
	struct interval v;
	int r = fit(o, file, note, &v, e);

	if (!r && v.out.len) {
		o->state.next = number;
		o->state.begun = true;
		r = save(o, e);
	}
	if (!r)
		tell(o, number, note, &v);
	if (!r && v.out.len)
		r = send_out(o, &v.out, e);
	if (!r && v.out.len)
		r = way_settle(o->way, e);
	if (!r) {
		o->state.next = number + 1;
		o->state.begun = false;
		o->state.skipped = v.out.len ? 0 : o->state.skipped + 1;
		o->state.file_bytes = way_file_bytes(o->way);
		o->state.file_inode = way_file_inode(o->way);
		o->state.sequence = o->ipfix ? ipfix_sequence(o->ipfix) : 0;
		add_losses(&o->state.losses, &v, note->withheld);
		r = save(o, e);
	}
	interval_done(&v);
	return r;
}

int outlet_step(struct outlet *o, struct bwl_err *e)
{
	char gone[160], gap[320], path[600];
	struct ipfix_note note = { .again = o->state.begun };
	uint64_t number;
	FILE *file;
	int r;

	number = find(o, gone, sizeof(gone), e, &r);
	if (r || !number)
		return r;
	if (!o->way)
		r = reach(o, e);
	if (r) {
		hang_up(o);
		return r;
	}
	name_of(o, number, path, sizeof(path));
	file = fopen(path, "re");
	if (!file) /* it was deleted meanwhile: the next look reports that */
		return errno == ENOENT
			       ? OUTLET_NONE
			       : bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
	*gap = '\0';
	if (o->state.skipped)
		snprintf(gap, sizeof(gap),
			 "%llu intervals were withheld whole: the byte budget was used up%s",
			 (unsigned long long)o->state.skipped, *gone ? "; " : "");
	strncat(gap, gone, sizeof(gap) - strlen(gap) - 1);
	note.gap = *gap ? gap : NULL;
	note.again = o->state.begun && number == o->state.next && o->c->way.kind != WAY_FILE;
	r = send_interval(o, number, file, &note, e);
	fclose(file);
	if (r)
		hang_up(o);
	return r ? r : OUTLET_SENT;
}
