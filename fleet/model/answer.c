// SPDX-License-Identifier: GPL-2.0-or-later
/* See answer.h. */
#include <stdlib.h>
#include <string.h>
#include "answer.h"
#include "page.h"
#include "versions.h"
#include "bwl/doc.h"

#define PEERS 64    /* of `top` */
#define GROUPS 256  /* of `status`, for each kind of group */
#define VERSIONS 64 /* of `status` */

static void set_time(json_t *o, const struct model_asked *a)
{
	char buf[BWL_TIME_BUF];

	json_object_set_new(o, "time", json_string(bwl_utc(a->wall_s, -1, buf)));
}

/* t NULL: there is no such tray. */
static json_t *cert_end(const struct model_asked *a, const struct model_tray *t)
{
	return t && t->cert_end_s ? json_real((double)(t->cert_end_s - a->wall_s)) : json_null();
}

static struct status_now moment(const struct model_asked *a)
{
	return (struct status_now){ a->now_ns, a->wall_s };
}

static json_t *tray_row(const struct model_asked *a, const struct model_tray *t, bool late)
{
	bool heard = model_is_heard(a, t), doubtful = model_is_doubtful(a, t);
	json_t *o = json_object(), *labels = json_array();
	enum status_worth w = model_worth(a, t);
	struct status_now now = moment(a);
	struct bwl_err doubt = { 0 };

	if (doubtful)
		status_doubt(&t->by, &t->last, &now, &doubt);
	for (unsigned i = 0; i < t->nlabels; i++)
		json_array_append_new(labels,
				      json_string(model_name_text(&a->set->names, t->label[i])));
	json_object_set_new(o, "tray", json_string(t->name));
	json_object_set_new(o, "alive", json_boolean(t->alive));
	json_object_set_new(o, "labels", labels);
	json_object_set_new(o, "policy_name", bwl_json_text(t->has_policy ? t->policy : NULL));
	json_object_set_new(o, "policy_version",
			    t->has_policy ? bwl_json_u64(t->policy_version) : json_null());
	json_object_set_new(o, "late", t->has_policy ? json_boolean(late) : json_null());
	json_object_set_new(o, "fresh",
			    t->status_mod && w != STATUS_UNJUDGED && w != STATUS_LATE
				    ? json_boolean(t->fresh)
				    : json_null());
	json_object_set_new(o, "closed_count",
			    t->status_mod && w != STATUS_UNJUDGED ? json_integer(t->closed)
								  : json_null());
	/* A forged or delayed status also counts as an alarm. */
	json_object_set_new(o, "alarm_count",
			    t->status_mod ? json_integer(t->alarms + model_is_doubtful(a, t))
					  : json_null());
	json_object_set_new(o, "status_signature",
			    t->status_mod ? json_string(status_signature_word(w)) : json_null());
	json_object_set_new(o, "passed_bits_per_second",
			    heard ? json_real(t->passed_bps) : json_null());
	json_object_set_new(o, "dropped_bits_per_second",
			    heard ? json_real(t->dropped_bps) : json_null());
	json_object_set_new(o, "heard_ago_s", bwl_json_ago(t->heard_ns, a->now_ns));
	json_object_set_new(o, "certificate_ends_in_s", cert_end(a, t));
	json_object_set_new(o, "why",
			    bwl_json_text(doubtful              ? doubt.text
					  : !*t->at && t->alive ? "it serves no numbers (--serve)"
					  : *t->why             ? t->why
								: NULL));
	return o;
}

static json_t *sum_row(const char *kind, const char *name, const struct model_sums *x, bool zone)
{
	json_t *o = json_object();

	json_object_set_new(o, "group_kind", json_string(kind));
	json_object_set_new(o, "group", json_string(name));
	json_object_set_new(o, "tray_count", bwl_json_u64(x->trays));
	json_object_set_new(o, "alive_count", bwl_json_u64(x->alive));
	json_object_set_new(o, "passed_bits_per_second",
			    zone ? json_null() : json_real(x->passed_bps));
	json_object_set_new(o, "dropped_bits_per_second",
			    zone ? json_null() : json_real(x->dropped_bps));
	json_object_set_new(o, "used_bytes", zone ? bwl_json_u64(x->used) : json_null());
	json_object_set_new(o, "volume_bytes",
			    zone && x->limited ? bwl_json_u64(x->volume) : json_null());
	json_object_set_new(o, "worst_tray", bwl_json_text(x->worst ? x->worst->name : NULL));
	json_object_set_new(o, "worst_dropped_bits_per_second",
			    zone || !x->worst ? json_null() : json_real(x->worst->dropped_bps));
	json_object_set_new(o, "worst_share", zone ? json_real(x->worst_share) : json_null());
	return o;
}

struct grouping {
	const struct model_asked *a;
	json_t *list;
};

static void add_label(void *arg, model_name name)
{
	struct grouping *g = arg;
	struct model_asked of = *g->a;
	struct model_sums x;

	if (of.choice.tray)
		return;
	of.choice.label = model_name_text(&of.set->names, name);
	x = model_sum(&of);
	json_array_append_new(g->list, sum_row("label", of.choice.label, &x, false));
}

static void add_zone(void *arg, model_name name)
{
	struct grouping *g = arg;
	struct model_sums x = model_sum_limit(g->a, name);

	if (x.trays)
		json_array_append_new(g->list,
				      sum_row("zone", model_name_text(&g->a->set->names, name) + 5,
					      &x, true));
}

static int most_trays_first(const void *a, const void *b)
{
	const struct model_version *x = a, *y = b;

	return x->trays < y->trays ? 1 : x->trays > y->trays ? -1 : 0;
}

/* Counts only the chosen trays. Reorders the list. */
static json_t *version_rows(struct model_version *list, size_t n)
{
	json_t *rows = json_array();

	qsort(list, n, sizeof(*list), most_trays_first);
	for (size_t i = 0; i < n && i < VERSIONS && list[i].trays; i++) {
		json_t *o = json_object();

		json_object_set_new(o, "policy_name", json_string(list[i].policy));
		json_object_set_new(o, "policy_version", bwl_json_u64(list[i].version));
		json_object_set_new(o, "tray_count", bwl_json_u64(list[i].trays));
		json_array_append_new(rows, o);
	}
	return rows;
}

static size_t count_late(const struct model_asked *a, const struct model_version *list, size_t n)
{
	size_t late = 0;

	for (size_t i = 0; i < a->set->n; i++)
		if (model_chosen(a->set, a->set->tray[i], &a->choice))
			late += model_is_late(list, n, a->set->tray[i]);
	return late;
}

json_t *model_status(const struct model_asked *a)
{
	struct grouping g = { .a = a, .list = json_array() };
	json_t *o = bwl_doc("fleet-status"), *rows = json_array();
	struct model_sums all = model_sum(a);
	const struct model_tray **page;
	struct model_version *versions;
	size_t n, nversions;

	versions = model_versions(a, &nversions);
	page = model_page_trays(a, versions, nversions, &n);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(rows, tray_row(a, page[i],
						     model_is_late(versions, nversions, page[i])));
	free(page);
	json_array_append_new(g.list, sum_row("fleet", a->fleet, &all, false));
	model_each_label(a->set, GROUPS, add_label, &g);
	model_each_zone(a->set, GROUPS, add_zone, &g);
	set_time(o, a);
	json_object_set_new(o, "fleet", json_string(a->fleet));
	json_object_set_new(o, "tray_count", bwl_json_u64(all.trays));
	json_object_set_new(o, "alive_count", bwl_json_u64(all.alive));
	json_object_set_new(o, "heard_count", bwl_json_u64(all.heard));
	json_object_set_new(o, "ending_certificate_count", bwl_json_u64(all.ending));
	json_object_set_new(o, "first_certificate_tray",
			    bwl_json_text(all.first ? all.first->name : NULL));
	json_object_set_new(o, "first_certificate_ends_in_s", cert_end(a, all.first));
	json_object_set_new(o, "late_count", bwl_json_u64(count_late(a, versions, nversions)));
	json_object_set_new(o, "policies", version_rows(versions, nversions));
	free(versions);
	json_object_set_new(o, "sums", g.list);
	json_object_set_new(o, "trays", rows);
	return o;
}

/* The total of something that many trays have, found by its name. */
struct total {
	model_name name;
	double passed_bps, dropped_bps, rate_bps, window_s;
	uint64_t used, volume;
	bool seen, limited, has_window, mixed, unenforced;
	uint8_t worst; /* state or ledger */
};

static struct total *totals_new(void)
{
	return bwl_must(calloc(MODEL_NAMES_MAX + 1, sizeof(struct total)));
}

static struct total *total_of(struct total *all, model_name name)
{
	struct total *x = &all[name];

	if (!x->seen)
		*x = (struct total){ .name = name, .seen = true, .limited = true };
	return x;
}

/* Moves the totals that exist to the front. Returns how many there are. */
static size_t pack(struct total *all)
{
	size_t n = 0;

	for (size_t i = 0; i <= MODEL_NAMES_MAX; i++)
		if (all[i].seen)
			all[n++] = all[i];
	return n;
}

static int busiest_first(const void *a, const void *b)
{
	const struct total *x = a, *y = b;
	double p = x->passed_bps + x->dropped_bps, q = y->passed_bps + y->dropped_bps;

	return p < q ? 1 : p > q ? -1 : x->name - y->name;
}

/* For a silent tray the limits count, but not its traffic. */
static void add_peers(const struct model_asked *a, struct total *all, const struct model_tray *t)
{
	bool heard = model_is_heard(a, t);

	for (unsigned i = 0; i < t->npeers; i++) {
		const struct model_peer *p = &t->peer[i];
		struct total *x = total_of(all, p->name);

		x->passed_bps += heard ? p->passed_bps : 0;
		x->dropped_bps += heard ? p->dropped_bps : 0;
		x->rate_bps += p->rate_bps;
		x->limited &= p->limited;
		x->unenforced |= p->unenforced;
		x->worst = p->state > x->worst ? p->state : x->worst;
	}
}

json_t *model_top(const struct model_asked *a)
{
	struct model_sums all = model_sum(a);
	struct total *x = totals_new();
	json_t *o = bwl_doc("top"), *peers = json_array();
	uint64_t passed = 0, dropped = 0;
	uint8_t sw = 0;
	size_t n;

	for (size_t i = 0; i < a->set->n; i++) {
		const struct model_tray *t = a->set->tray[i];

		if (!model_chosen(a->set, t, &a->choice))
			continue;
		add_peers(a, x, t);
		passed += t->passed_bytes;
		dropped += t->dropped_bytes;
		sw = t->sw > sw ? t->sw : sw;
	}
	n = pack(x);
	qsort(x, n, sizeof(*x), busiest_first);
	for (size_t i = 0; i < n && i < PEERS; i++) {
		json_t *p = json_object();

		json_object_set_new(p, "peer",
				    json_string(model_name_text(&a->set->names, x[i].name)));
		json_object_set_new(p, "state", json_string(model_states[x[i].worst]));
		json_object_set_new(p, "enforced", json_boolean(!x[i].unenforced));
		json_object_set_new(p, "passed_bits_per_second", json_real(x[i].passed_bps));
		json_object_set_new(p, "rate_bits_per_second",
				    x[i].limited ? bwl_json_u64((uint64_t)x[i].rate_bps)
						 : json_null());
		json_object_set_new(p, "dropped_bits_per_second", json_real(x[i].dropped_bps));
		json_object_set_new(p, "left", json_null());
		json_array_append_new(peers, p);
	}
	free(x);
	set_time(o, a);
	json_object_set_new(o, "node", json_string(a->fleet));
	json_object_set_new(o, "passed_bits_per_second", json_real(all.passed_bps));
	json_object_set_new(o, "dropped_bits_per_second", json_real(all.dropped_bps));
	json_object_set_new(o, "passed_bytes", bwl_json_u64(passed));
	json_object_set_new(o, "dropped_bytes", bwl_json_u64(dropped));
	json_object_set_new(o, "stopped", json_boolean(sw == MODEL_STOPPED));
	json_object_set_new(o, "switch", json_string(model_switches[sw]));
	json_object_set_new(o, "peers", peers);
	return o;
}

static void add_volumes(struct total *all, const struct model_tray *t)
{
	for (unsigned i = 0; i < t->nvolumes; i++) {
		const struct model_volume *v = &t->volume[i];
		bool first = !all[v->key].seen;
		struct total *x = total_of(all, v->key);

		x->used += v->used;
		x->volume += v->volume;
		x->limited &= v->limited;
		x->unenforced |= v->unenforced;
		x->worst = v->ledger > x->worst ? v->ledger : x->worst;
		x->mixed |= !first &&
			    (x->window_s != v->window_s || x->has_window != v->has_window);
		x->has_window = v->has_window;
		x->window_s = v->window_s;
	}
}

json_t *model_usage(const struct model_asked *a)
{
	struct total *x = totals_new();
	json_t *o = bwl_doc("usage"), *rows = json_array();
	size_t n;

	for (size_t i = 0; i < a->set->n; i++)
		if (model_chosen(a->set, a->set->tray[i], &a->choice))
			add_volumes(x, a->set->tray[i]);
	n = pack(x);
	for (size_t i = 0; i < n; i++) {
		json_t *v = json_object();

		json_object_set_new(v, "limit_key",
				    json_string(model_name_text(&a->set->names, x[i].name)));
		json_object_set_new(v, "used_bytes", bwl_json_u64(x[i].used));
		json_object_set_new(v, "volume_bytes",
				    x[i].limited ? bwl_json_u64(x[i].volume) : json_null());
		json_object_set_new(v, "window_s",
				    x[i].has_window && !x[i].mixed ? json_real(x[i].window_s)
								   : json_null());
		json_object_set_new(v, "released_bytes", json_null());
		json_object_set_new(v, "ledger_state", json_string(model_ledgers[x[i].worst]));
		json_object_set_new(v, "enforced", json_boolean(!x[i].unenforced));
		json_array_append_new(rows, v);
	}
	free(x);
	json_object_set_new(o, "ledger", json_string("unbound"));
	json_object_set_new(o, "volumes", rows);
	return o;
}

/* What a reason's row and one of merged frames both have. */
static json_t *count_row(unsigned hook, const struct model_count *n)
{
	json_t *o = json_object();

	json_object_set_new(o, "port", json_null());
	json_object_set_new(o, "hook", json_string(hook ? "gate" : "ingress"));
	json_object_set_new(o, "frames", bwl_json_u64(n->frames));
	json_object_set_new(o, "bytes", bwl_json_u64(n->bytes));
	return o;
}

static json_t *reason_row(unsigned hook, unsigned reason, const struct model_count *n)
{
	static const struct {
		const char *name, *text, *todo;
		bool pass;
	} reasons[] = {
#define X(e, name, pass, text, todo) [BWL_R_##e] = { name, text, todo, pass },
		BWL_REASONS(X)
#undef X
	};
	json_t *o = count_row(hook, n);

	json_object_set_new(o, "reason", json_string(reasons[reason].name));
	json_object_set_new(o, "passes", json_boolean(reasons[reason].pass));
	json_object_set_new(o, "text", json_string(reasons[reason].text));
	json_object_set_new(o, "todo",
			    bwl_json_text(*reasons[reason].todo ? reasons[reason].todo : NULL));
	json_object_set_new(o, "charged_bytes", bwl_json_u64(n->charged));
	return o;
}

/* Over the trays that are asked for. */
static struct model_count summed(const struct model_asked *a, unsigned hook, unsigned column)
{
	struct model_count n = { 0 };

	for (size_t i = 0; i < a->set->n; i++) {
		const struct model_tray *t = a->set->tray[i];

		if (!model_chosen(a->set, t, &a->choice))
			continue;
		n.frames += t->reason[hook][column].frames;
		n.bytes += t->reason[hook][column].bytes;
		n.charged += t->reason[hook][column].charged;
	}
	return n;
}

json_t *model_reasons(const struct model_asked *a)
{
	json_t *o = bwl_doc("reasons"), *rows = json_array(), *merged = json_array();
	struct model_count n;

	for (unsigned hook = 0; hook < 2; hook++) {
		for (unsigned r = 0; r < _BWL_REASON_MAX; r++) {
			n = summed(a, hook, r);
			if (n.frames)
				json_array_append_new(rows, reason_row(hook, r, &n));
		}
		n = summed(a, hook, MODEL_MERGED);
		if (n.frames)
			json_array_append_new(merged, count_row(hook, &n));
	}
	json_object_set_new(o, "reasons", rows);
	json_object_set_new(o, "merged", merged);
	return o;
}
