// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/latency.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/doc.h>
#include <bwl/latency.h>
#include <bwl/map_io.h>
#include <bwl/model.h>

#define ROW_MASK (BWL_LAT_ROWS - 1U)

/* The hash of the peer's name in the row: 24 bits. */
static uint32_t hash_of(const char *name)
{
	uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a */

	while (*name)
		h = (h ^ (uint8_t)*name++) * 0x100000001b3ULL;
	return (uint32_t)(h ^ h >> 32) << BWL_LAT_NAME_SHIFT;
}

bool bwl_lat_is_on(const struct bwl_pins *p)
{
	uint32_t zero = 0, on = 0;

	return !bwl_map_get(p->fd[BWL_PIN_latof], &zero, &on) && on;
}

int bwl_lat_set_on(const struct bwl_pins *p, bool on, struct bwl_err *e)
{
	uint32_t zero = 0, value = on;

	if (bwl_lat_is_on(p) == on || !bwl_map_put(p->fd[BWL_PIN_latof], &zero, &value, 0))
		return 0;
	return bwl_fail(e, errno, "cannot note that latency is measured: %s", strerror(errno));
}

static bool next_of(const struct bwl_pins *p, const uint32_t *after, uint32_t *id, uint32_t *value)
{
	if (bwl_map_next(p->fd[BWL_PIN_latof], after, id))
		return false;
	if (bwl_map_get(p->fd[BWL_PIN_latof], id, value))
		*value = 0;
	return true;
}

/* Does the row still belong to that peer? */
static bool is_of(const struct bwl_pins *p, uint32_t id, uint32_t value,
		  char name[static BWL_NAME_LEN])
{
	return id && id < p->schema.max_peers && value & ROW_MASK && bwl_peer_name(p, id, name) &&
	       hash_of(name) == (value & ~((1U << BWL_LAT_NAME_SHIFT) - 1));
}

static void add(struct bwl_latency *to, const struct bwl_latency *what)
{
	for (unsigned i = 0; i < BWL_LAT_BINS; i++) {
		to->shape.bin[i] += what->shape.bin[i];
		to->gate.bin[i] += what->gate.bin[i];
	}
	to->shape.sum_ns += what->shape.sum_ns;
	to->gate.sum_ns += what->gate.sum_ns;
	to->unmatched += what->unmatched;
}

static int read_row(const struct bwl_pins *p, uint32_t row, struct bwl_latency *ret,
		    struct bwl_err *e)
{
	int cpus = libbpf_num_possible_cpus();
	BWL_AUTO_FREE struct bwl_latency *v = cpus > 0 ? calloc((size_t)cpus, sizeof(*v)) : NULL;

	memset(ret, 0, sizeof(*ret));
	if (!v)
		return bwl_fail(e, ENOMEM, "out of memory");
	if (bwl_map_get(p->fd[BWL_PIN_latency], &row, v))
		return bwl_fail(e, errno, "cannot read latency: %s", strerror(errno));
	for (int c = 0; c < cpus; c++)
		add(ret, &v[c]);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct bwl_lat_peer *)a)->name,
		      ((const struct bwl_lat_peer *)b)->name);
}

int bwl_lat_read(const struct bwl_pins *p, struct bwl_lat_peers *ret, struct bwl_err *e)
{
	uint32_t id, value, steps;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = read_row(p, 0, &ret->peer[ret->n++].sum, e);
	/*
	 * if somebody writes to the map, iterating may begin again: no more steps than it has rows
	 */
	for (steps = 0; !r && steps < BWL_LAT_ROWS && next_of(p, steps ? &id : NULL, &id, &value);
	     steps++) {
		struct bwl_lat_peer *x = &ret->peer[ret->n];

		if (ret->n == BWL_LAT_ROWS || !id || !(value & ROW_MASK))
			continue;
		r = read_row(p, value & ROW_MASK, &x->sum, e);
		x->id = id;
		if (is_of(p, id, value, x->name))
			ret->n++;
		else /* its id belongs to another peer now, which nobody asked to measure */
			add(&ret->peer[0].sum, &x->sum);
	}
	qsort(ret->peer + 1, ret->n - 1, sizeof(*ret->peer), by_name);
	return r;
}

/*
 * Returns the rows in use, a bit each, and removes entries of peers that are gone. *ret_has: `id`
 * has one.
 */
static uint64_t tidy(const struct bwl_pins *p, uint32_t wanted, bool *ret_has)
{
	uint32_t keys[BWL_LAT_ROWS], n = 0, i, value;
	char name[BWL_NAME_LEN];
	uint64_t used = 1;

	*ret_has = false;
	while (n < BWL_LAT_ROWS && next_of(p, n ? &keys[n - 1] : NULL, &keys[n], &value))
		n++;
	for (i = 0; i < n; i++) {
		if (!keys[i] || bwl_map_get(p->fd[BWL_PIN_latof], &keys[i], &value))
			continue;
		if (!is_of(p, keys[i], value, name)) {
			bwl_map_delete(p->fd[BWL_PIN_latof], &keys[i]);
			continue;
		}
		used |= 1ULL << (value & ROW_MASK);
		*ret_has |= keys[i] == wanted;
	}
	return used;
}

int bwl_lat_begin(struct bwl_pins *p, uint32_t id, struct bwl_err *e)
{
	int cpus = libbpf_num_possible_cpus(), r;
	BWL_AUTO_FREE struct bwl_latency *none = cpus > 0 ? calloc((size_t)cpus, sizeof(*none))
							  : NULL;
	char name[BWL_NAME_LEN];
	uint32_t row, value;
	uint64_t used;
	bool has;

	if (!none)
		return bwl_fail(e, ENOMEM, "out of memory");
	used = tidy(p, id, &has);
	if (has)
		return 0;
	if (!~used) {
		bwl_fail(e, ENOSPC, "at most %d peers can be measured by name", BWL_LAT_ROWS - 1);
		return bwl_hint(e, "bwlimit-ctl latency off NAME, or --all");
	}
	if (!bwl_peer_name(p, id, name))
		return bwl_fail(e, ENOENT, "the peer is gone");
	row = (uint32_t)__builtin_ctzll(~used);
	r = bwl_grace(p, e); /* packets of the row's previous owner may be in flight */
	if (r)
		return r;
	value = hash_of(name) | row;
	if (bwl_map_put(p->fd[BWL_PIN_latency], &row, none, 0) ||
	    bwl_map_put(p->fd[BWL_PIN_latof], &id, &value, 0))
		return bwl_fail(e, errno, "cannot measure %s: %s", name, strerror(errno));
	return 0;
}

int bwl_lat_end(struct bwl_pins *p, uint32_t id, struct bwl_err *e)
{
	uint32_t keys[BWL_LAT_ROWS], n = 0, value;

	while (n < BWL_LAT_ROWS && next_of(p, n ? &keys[n - 1] : NULL, &keys[n], &value))
		n++;
	while (n--)
		if (keys[n] && (!id || keys[n] == id) &&
		    bwl_map_delete(p->fd[BWL_PIN_latof], &keys[n]) && errno != ENOENT)
			return bwl_fail(e, errno, "cannot stop measuring: %s", strerror(errno));
	return 0;
}

uint64_t bwl_lat_frames(const struct bwl_lat_hist *h)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < BWL_LAT_BINS; i++)
		n += h->bin[i];
	return n;
}

uint64_t bwl_lat_percentile(const struct bwl_lat_hist *h, unsigned percent)
{
	uint64_t all = bwl_lat_frames(h), n = 0;

	for (unsigned i = 0; all && i < BWL_LAT_BINS; i++) {
		n += h->bin[i];
		if ((double)n * 100 >= (double)all * percent)
			return 1ULL << i;
	}
	return 0;
}

static void hist_since(struct bwl_lat_hist *now, const struct bwl_lat_hist *was)
{
	for (unsigned i = 0; i < BWL_LAT_BINS; i++)
		now->bin[i] -= now->bin[i] < was->bin[i] ? now->bin[i] : was->bin[i];
	now->sum_ns -= now->sum_ns < was->sum_ns ? now->sum_ns : was->sum_ns;
}

void bwl_lat_since(struct bwl_latency *now, const struct bwl_latency *was)
{
	hist_since(&now->shape, &was->shape);
	hist_since(&now->gate, &was->gate);
	now->unmatched -= now->unmatched < was->unmatched ? now->unmatched : was->unmatched;
}

json_t *bwl_lat_json(const struct bwl_lat_hist *h)
{
	json_t *bins = json_array(), *o = json_object();

	for (unsigned i = 0; i < BWL_LAT_BINS; i++)
		if (h->bin[i])
			json_array_append_new(bins, json_pack("{s:o, s:o}", "up_to_s",
							      i == BWL_LAT_BINS - 1
								      ? json_null()
								      : bwl_json_span(1ULL << i),
							      "frames", bwl_json_u64(h->bin[i])));
	json_object_set_new(o, "frames", bwl_json_u64(bwl_lat_frames(h)));
	json_object_set_new(o, "sum_s", bwl_json_span(h->sum_ns));
	json_object_set_new(o, "bins", bins);
	return o;
}
