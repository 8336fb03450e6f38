// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `--fleet rollouts`: policies that are being rolled out, their progress and their health, as the
 * leader records them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bwl/encode.h"
#include "cmds.h"
#include "fleet.h"
#include "fleet/status/rollout_state.h"

struct seen {
	char tray[BWL_DOC_NAME_MAX]; /* location of its policy; empty: for all */
	struct rollout r;
	struct rollout_health h; /* version 0: nothing is known */
};

struct reading {
	size_t before; /* bytes of the prefix */
	struct seen *seen;
	size_t n;
	struct bwl_err *e;
};

/* "PLACE/NAME" after the prefix, where "-" means for all; NULL: invalid. */
static const char *place_of(const struct reading *x, const struct bwl_etcd_kv *kv,
			    char tray[static BWL_DOC_NAME_MAX], size_t *ret_len)
{
	const char *at = (const char *)kv->key.at + x->before, *slash;
	size_t len = bwl_pb_len(kv->key), n;

	if (len <= x->before)
		return NULL;
	len -= x->before;
	slash = memchr(at, '/', len);
	n = slash ? (size_t)(slash - at) : 0;
	if (!slash || n >= BWL_DOC_NAME_MAX)
		return NULL;
	snprintf(tray, BWL_DOC_NAME_MAX, "%.*s", n == 1 && *at == '-' ? 0 : (int)n, at);
	*ret_len = len - n - 1;
	return slash + 1;
}

static int take_state(void *arg, const struct bwl_etcd_kv *kv)
{
	struct reading *x = arg;
	struct seen s = { 0 };
	size_t len;
	int r;

	if (!place_of(x, kv, s.tray, &len))
		return 0;
	r = rollout_parse(kv->value.at, bwl_pb_len(kv->value), &s.r, x->e);
	if (r)
		return r;
	if (!(x->n & (x->n - 1)))
		x->seen = bwl_must(reallocarray(x->seen, x->n ? 2 * x->n : 1, sizeof(*x->seen)));
	x->seen[x->n++] = s;
	return 0;
}

/* The health of an earlier stage says nothing about this one. */
static int take_health(void *arg, const struct bwl_etcd_kv *kv)
{
	struct reading *x = arg;
	char tray[BWL_DOC_NAME_MAX];
	struct rollout_health h;
	size_t len;
	const char *name = place_of(x, kv, tray, &len);

	if (!name || rollout_health_parse(kv->value.at, bwl_pb_len(kv->value), &h, NULL))
		return 0;
	for (size_t i = 0; i < x->n; i++)
		if (x->seen[i].r.phase == ROLLOUT_GOING && x->seen[i].r.version == h.version &&
		    !strcmp(x->seen[i].tray, tray) && strlen(x->seen[i].r.name) == len &&
		    !memcmp(x->seen[i].r.name, name, len))
			x->seen[i].h = h;
	return 0;
}

/* First rollouts that need attention, then running ones, then the newest. */
static int order(const void *a, const void *b)
{
	static const int rank[_ROLLOUT_PHASES] = {
		[ROLLOUT_STUCK] = 0, [ROLLOUT_BACK] = 1, [ROLLOUT_GOING] = 2, [ROLLOUT_DONE] = 3
	};
	const struct seen *x = a, *y = b;
	int c = rank[x->r.phase] - rank[y->r.phase];

	if (!c)
		c = (x->r.since_s < y->r.since_s) - (x->r.since_s > y->r.since_s);
	c = c ? c : strcmp(x->tray, y->tray);
	return c ? c : strcmp(x->r.name, y->r.name);
}

static json_t *when(int64_t s)
{
	char at[BWL_TIME_BUF];

	return s > 0 ? json_string(bwl_utc(s, -1, at)) : json_null();
}

static json_t *next_of(const struct seen *s)
{
	for (unsigned i = 0; s->r.phase == ROLLOUT_GOING && i < s->h.nstages; i++)
		if (s->h.stage[i] > s->r.percent)
			return json_integer(s->h.stage[i]);
	return json_null();
}

static json_t *row(const struct seen *s, int64_t now_s)
{
	bool known = s->h.version;
	json_t *o = json_object(), *stages = json_array(), *waits = json_array();
	const char *why = *s->r.why ? s->r.why : *s->h.why ? s->h.why : NULL;
	char hex[65];

	for (unsigned i = 0; i < s->h.nstages; i++)
		json_array_append_new(stages, json_integer(s->h.stage[i]));
	for (unsigned i = 0; i < s->h.nwaits; i++)
		json_array_append_new(waits, json_string(s->h.waits[i]));
	json_object_set_new(o, "document", json_sprintf("policy/%s", s->r.name));
	json_object_set_new(o, "document_version", bwl_json_u64(s->r.to_version));
	json_object_set_new(o, "digest", json_string(bwl_hex_encode(s->r.to, 32, hex)));
	json_object_set_new(o, "from_digest",
			    s->r.has_from ? json_string(bwl_hex_encode(s->r.from, 32, hex))
					  : json_null());
	json_object_set_new(o, "tray", bwl_json_text(*s->tray ? s->tray : NULL));
	json_object_set_new(o, "phase", json_string(rollout_phase_word(s->r.phase)));
	json_object_set_new(o, "percent", json_integer(s->r.percent));
	json_object_set_new(o, "stage_percents", stages);
	json_object_set_new(o, "next_percent", next_of(s));
	json_object_set_new(o, "stage_since", when(s->r.since_s));
	json_object_set_new(o, "soak_ends_in_s",
			    known ? json_real((double)(s->h.soak_until_s - now_s)) : json_null());
	json_object_set_new(o, "judged_at", when(s->h.said_s));
	json_object_set_new(o, "judged_count", known ? json_integer(s->h.judged) : json_null());
	json_object_set_new(o, "unwell_count", known ? json_integer(s->h.unwell) : json_null());
	json_object_set_new(o, "bad_count", known ? json_integer(s->h.bad) : json_null());
	json_object_set_new(o, "waited_tray_names", waits);
	json_object_set_new(o, "why", bwl_json_text(why));
	return o;
}

static const struct fleet_column columns[] = {
	{ "document", "~POLICY" },
	{ "document_version", ">VERSION" },
	{ "tray", "~ONLY FOR" },
	{ "phase", "IS" },
	{ "percent", ">PER CENT" },
	{ "stage_since", "SINCE" },
	{ "judged_count", "?>JUDGED" },
	{ "unwell_count", ">UNWELL" },
	{ "why", "WHY" },
	{ NULL, NULL },
};

static void print(struct ctl *c, const struct reading *x, size_t most)
{
	json_t *rows = json_array(), *o;

	for (size_t i = 0; i < x->n && i < most; i++)
		json_array_append_new(rows, row(&x->seen[i], time(NULL)));
	if (c->json) {
		o = bwl_doc("fleet-rollouts");
		json_object_set_new(o, "rollout_count", bwl_json_u64(x->n));
		json_object_set(o, "rollouts", rows);
		bwl_doc_print(o);
	} else {
		fleet_rows_print(rows, columns);
	}
	json_decref(rows);
}

static int read_all(struct fleet *f, struct reading *x, const char *what,
		    int (*fn)(void *arg, const struct bwl_etcd_kv *kv))
{
	char prefix[BWL_ETCD_KEY_MAX];
	int64_t revision = 0;

	x->before = (size_t)snprintf(prefix, sizeof(prefix), "%s/controller/%s/", f->conf.prefix,
				     what);
	return bwl_etcd_values(f->g, prefix, fn, x, &revision, &f->c->err);
}

int fleet_rollouts(struct ctl *c, int argc, char **argv)
{
	struct fleet f = { 0 };
	const char *most = NULL;
	const struct ctl_opt opts[] = { FLEET_CONF_OPTS(&f.conf),
					{ "--most", NULL, &most },
					{ NULL, NULL, NULL } };
	struct reading x = { .e = &c->err };
	uint64_t n = UINT32_MAX;
	int r = ctl_only_opts(c, argc, argv, opts);

	if (!r && most)
		r = ctl_number(c, "--most", most, UINT32_MAX, &n);
	if (!r)
		r = fleet_open(c, &f);
	if (!r)
		r = read_all(&f, &x, "rollout", take_state);
	if (!r)
		r = read_all(&f, &x, "health", take_health);
	if (x.n)
		qsort(x.seen, x.n, sizeof(*x.seen), order);
	if (!r)
		print(c, &x, n);
	free(x.seen);
	fleet_close(&f);
	return r;
}
