// SPDX-License-Identifier: GPL-2.0-or-later
/* Sets up what the rows of bench-cost need: floors with their destinations, policies in maps. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bench/cost/cost.h"
#include "bwlimit.skel.h"
#include "floor.skel.h"

#define OBJECT_MAX (4 << 20)

static int fill_floor(struct floor *f, unsigned kind, unsigned n)
{
	int fd = bpf_map__fd(kind & RIG_PREFIX6 ? f->maps.floor6_map : f->maps.floor_map);
	__u8 frame[RIG_FRAME_BYTES], *daddr = frame + (kind & RIG_PREFIX6 ? 14 + 24 : 14 + 16);
	__u64 tat = 0;
	unsigned i;

	for (i = 0; i < n; i++) {
		rig_frame(frame, kind, i);
		if (bpf_map_update_elem(fd, daddr, &tat, BPF_ANY))
			return -errno;
	}
	return 0;
}

static int make_floor(struct cost *b, enum cost_dests d)
{
	unsigned kind = cost_dests_kind(d), n = cost_dests_n(b, d);
	struct floor *f = b->floor[d] = floor__open();

	if (!f)
		return -errno;
	bpf_map__set_max_entries(kind & RIG_PREFIX6 ? f->maps.floor6_map : f->maps.floor_map, n);
	f->bss->first = RIG_DEST(kind, 0U);
	f->data->step = RIG_DEST(kind, 1U) - RIG_DEST(kind, 0U);
	f->data->count = n;
	return floor__load(f) ? -errno : fill_floor(f, kind, n);
}

static void add(struct bwl_policy *pol, unsigned first, unsigned n, unsigned kind)
{
	const struct rig_peers some = {
		.first = first, .n = n, .kind = kind, .mode = BWL_MODE_POLICE
	};

	rig_add_peers(pol, &some);
}

/* Destinations as in cost_dest(). */
static struct bwl_policy *make_policy(const struct cost *b, enum cost_stage stage)
{
	struct bwl_policy *pol = rig_policy();
	unsigned kind = RIG_CLASS;

	if (stage == PREFIX) {
		add(pol, 0, b->prefixes, RIG_PREFIX4);
		add(pol, 0, b->prefixes, RIG_PREFIX6);
		return pol;
	}
	kind |= stage == VOLUME ? RIG_VOLUME : stage == OFFLOAD ? RIG_OFFLOAD : 0;
	add(pol, 0, b->peers, kind);
	if (stage == PLAIN || stage == OFFLOAD)
		add(pol, b->peers, 1, kind | RIG_TIGHT);
	if (stage == PLAIN) {
		add(pol, b->peers + 1, 1, kind | RIG_TIGHT_ZONE);
		add(pol, b->peers + 2, 1, kind | RIG_BUSY);
	}
	if (stage == NODE)
		pol->node_limit = rig_tight();
	return pol;
}

static int make_stage(struct cost *b, enum cost_stage stage, const void *elf, size_t elf_size,
		      struct bwl_err *e)
{
	struct bwl_policy *pol = make_policy(b, stage);
	struct rig_size size = { .peers = (__u32)pol->npeers + 1,
				 .extras = (__u32)pol->npeers + 1024,
				 .windows = stage == VOLUME ? b->peers + 1 : 16,
				 .programs = stage == OFFLOAD ? RIG_XDP_HOST
					     : stage == PLAIN
						     ? RIG_TC_HOST | RIG_XDP_HOST | RIG_TC_GATE
					     : stage == LATENCY ? RIG_TC_HOST | RIG_TC_GATE
								: RIG_TC_HOST,
				 .records = stage == RECORD,
				 .measures = stage == LATENCY };
	int r = rig_up(&b->rig[stage], elf, elf_size, &size, e);

	if (!r)
		r = bwl_publish(b->rig[stage].pins, pol, NULL, NULL, e);
	bwl_policy_free(pol);
	if (!r && stage == OFFLOAD)
		rig_offload(&b->rig[stage]);
	return r;
}

static void *read_object(const char *path, size_t *size)
{
	FILE *f = fopen(path, "re");
	void *buf = malloc(OBJECT_MAX);

	*size = f && buf ? fread(buf, 1, OBJECT_MAX, f) : 0;
	if (f)
		fclose(f);
	return buf;
}

int cost_up(struct cost *b, struct bwl_err *e)
{
	bool stage[_STAGE_MAX] = { false }, dests[_DESTS_MAX] = { false };
	size_t size;
	void *own = b->object ? read_object(b->object, &size) : NULL;
	const void *elf = b->object ? own : bwlimit__elf_bytes(&size);
	int i, r = 0;

	for (i = 0; i < _ROW_MAX; i++) {
		stage[cost_rows[i].stage] |= b->wanted[i];
		dests[cost_rows[i].dests] |= b->wanted[i];
	}
	for (i = 0; !r && i < _DESTS_MAX; i++)
		if (dests[i] && (r = make_floor(b, i)))
			bwl_fail(e, -r, "cannot load the floor: %s", strerror(-r));
	for (i = NO_STAGE + 1; !r && i < _STAGE_MAX; i++)
		if (stage[i])
			r = make_stage(b, i, elf, size, e);
	free(own);
	return r;
}

void cost_down(struct cost *b)
{
	int i;

	for (i = 0; i < _DESTS_MAX; i++)
		floor__destroy(b->floor[i]);
	for (i = 0; i < _STAGE_MAX; i++)
		if (b->rig[i].obj)
			rig_down(&b->rig[i]);
}
