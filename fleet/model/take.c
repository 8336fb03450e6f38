// SPDX-License-Identifier: GPL-2.0-or-later
/* See set.h: what trays report. Every value is checked: a tray may be controlled by a thief. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/text.h>
#include "set.h"

static bool is_kind(const json_t *o, const char *kind, const char *list, const json_t **ret)
{
	const char *said = json_string_value(json_object_get(o, "kind"));

	*ret = json_object_get(o, list);
	return said && !strcmp(said, kind) && json_is_array(*ret);
}

/* Neither negative nor infinite. */
static double number(const json_t *o, const char *key)
{
	double v = json_number_value(json_object_get(o, key));

	return v > 0 && v < 1e18 ? v : 0;
}

static uint64_t whole(const json_t *o, const char *key)
{
	return (uint64_t)number(o, key);
}

static const char *word(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* An unknown word counts as the worst. */
static uint8_t one_of(const char *const *words, const char *s)
{
	uint8_t i = 0;

	while (words[i] && strcmp(words[i], s))
		i++;
	return words[i] ? i : (uint8_t)(i - 1);
}

/* Adds what was sent since the last look to its minute. */
static void add_minute(struct model_tray *t, uint64_t sent, uint64_t dropped, int64_t wall_s)
{
	uint32_t minute = (uint32_t)(wall_s / 60);
	struct model_minute *m = &t->minute[minute % MODEL_MINUTES];

	if (m->minute != minute)
		*m = (struct model_minute){ .minute = minute };
	m->sent += sent;
	m->dropped += dropped;
}

static void count(struct model_tray *t, uint64_t sent, uint64_t dropped, int64_t wall_s)
{
	/* Counters that are lower than before have restarted. */
	bool again = sent < t->passed_bytes || dropped < t->dropped_bytes;

	if (t->counted)
		add_minute(t, sent - (again ? 0 : t->passed_bytes),
			   dropped - (again ? 0 : t->dropped_bytes), wall_s);
	t->counted = true;
	t->passed_bytes = sent;
	t->dropped_bytes = dropped;
}

int model_take_top(struct model_set *s, struct model_tray *t, const json_t *o, int64_t wall_s)
{
	const json_t *peers, *v;
	size_t i;

	if (!is_kind(o, "top", "peers", &peers))
		return -EBADMSG;
	t->passed_bps = number(o, "passed_bits_per_second");
	t->dropped_bps = number(o, "dropped_bits_per_second");
	t->sw = one_of(model_switches, word(o, "switch"));
	count(t, whole(o, "passed_bytes"), whole(o, "dropped_bytes"), wall_s);
	t->npeers = 0;
	json_array_foreach(peers, i, v)
	{
		if (t->npeers == MODEL_PEERS)
			break;
		t->peer[t->npeers++] = (struct model_peer){
			.name = model_name_of(&s->names, word(v, "peer"), &t->names_left),
			.state = one_of(model_states, word(v, "state")),
			.passed_bps = (float)number(v, "passed_bits_per_second"),
			.dropped_bps = (float)number(v, "dropped_bits_per_second"),
			.limited = json_is_number(json_object_get(v, "rate_bits_per_second")),
			.rate_bps = number(v, "rate_bits_per_second"),
			.unenforced = json_is_false(json_object_get(v, "enforced")),
		};
	}
	return 0;
}

int model_take_usage(struct model_set *s, struct model_tray *t, const json_t *o)
{
	const json_t *volumes, *v;
	size_t i;

	if (!is_kind(o, "usage", "volumes", &volumes))
		return -EBADMSG;
	t->nvolumes = 0;
	json_array_foreach(volumes, i, v)
	{
		if (t->nvolumes == MODEL_VOLUMES)
			break;
		t->volume[t->nvolumes++] = (struct model_volume){
			.key = model_name_of(&s->names, word(v, "limit_key"), &t->names_left),
			.ledger = one_of(model_ledgers, word(v, "ledger_state")),
			.used = whole(v, "used_bytes"),
			.volume = whole(v, "volume_bytes"),
			.limited = json_is_number(json_object_get(v, "volume_bytes")),
			.has_window = json_is_number(json_object_get(v, "window_s")),
			.window_s = number(v, "window_s"),
			.unenforced = json_is_false(json_object_get(v, "enforced")),
		};
	}
	return 0;
}

/* Reasons of a newer program than this one are left out. */
static int reason_of(const char *s)
{
	static const char *const names[] = {
#define X(e, name, pass, text, todo) [BWL_R_##e] = name,
		BWL_REASONS(X)
#undef X
	};

	for (int i = 0; i < _BWL_REASON_MAX; i++)
		if (!strcmp(names[i], s))
			return i;
	return -1;
}

static void add_count(struct model_tray *t, int column, const json_t *row)
{
	struct model_count *n = &t->reason[!strcmp(word(row, "hook"), "gate")][column];

	n->frames += whole(row, "frames");
	n->bytes += whole(row, "bytes");
	n->charged += whole(row, "charged_bytes"); /* of reasons only */
}

int model_take_reasons(struct model_tray *t, const json_t *o)
{
	const json_t *rows, *v;
	size_t i;

	if (!is_kind(o, "reasons", "reasons", &rows))
		return -EBADMSG;
	memset(t->reason, 0, sizeof(t->reason));
	json_array_foreach(rows, i, v)
	{
		int reason = reason_of(word(v, "reason"));

		if (reason >= 0)
			add_count(t, reason, v);
	}
	/* A tray with an older version sends none. */
	json_array_foreach(json_object_get(o, "merged"), i, v)
	{
		add_count(t, MODEL_MERGED, v);
	}
	return 0;
}

/* Amounts never fall: a later amount that is lower than an earlier one is replaced by it. */
static void take_curve(const json_t *list, double *ret)
{
	double most = 0;

	for (unsigned i = 0; i < BWL_EXFIL_POINTS; i++) {
		const json_t *v = json_array_get(list, i);
		double n = json_is_number(v) ? json_number_value(v) : INFINITY;

		most = n > most ? n : most;
		ret[i] = most;
	}
}

static struct model_curve *share(const struct model_set *s, const double *bytes)
{
	struct model_curve *c;

	for (size_t i = 0; i < s->n; i++) {
		c = s->tray[i]->curve;
		if (c && !memcmp(c->bytes, bytes, sizeof(c->bytes))) {
			c->users++;
			return c;
		}
	}
	c = bwl_must(calloc(1, sizeof(*c)));
	c->users = 1;
	memcpy(c->bytes, bytes, sizeof(c->bytes));
	return c;
}

int model_take_exfil(struct model_set *s, struct model_tray *t, const json_t *o)
{
	double bytes[BWL_EXFIL_POINTS];
	struct model_curve *was = t->curve;
	const json_t *list;

	if (!is_kind(o, "exfil", "curve_bytes", &list) || json_array_size(list) != BWL_EXFIL_POINTS)
		return -EBADMSG;
	take_curve(list, bytes);
	if (!was || memcmp(was->bytes, bytes, sizeof(bytes))) {
		t->curve = share(s, bytes);
		if (was && !--was->users)
			free(was);
	}
	/* null means without an end */
	t->long_run_bps = json_is_number(json_object_get(o, "long_run_bits_per_second"))
				  ? number(o, "long_run_bits_per_second")
				  : INFINITY;
	t->at_once = json_is_number(json_object_get(o, "at_once_bytes"))
			     ? number(o, "at_once_bytes")
			     : INFINITY;
	t->exits = (uint32_t)number(o, "exit_count");
	t->contained = (uint32_t)number(o, "contained_count");
	t->unlimited = (uint32_t)number(o, "unlimited_count");
	bwl_text_ascii(t->binding, sizeof(t->binding), word(o, "binding"));
	return 0;
}

/* An unreadable status changes nothing. */
static void take_closures(struct model_set *s, struct model_tray *t, const struct tray_status *x,
			  const char *at, size_t len)
{
	struct status_closures c;

	status_closures(at, len, &c);
	t->nclosed = (uint8_t)c.nclosed;
	for (unsigned i = 0; i < c.nclosed; i++) {
		t->closed_peer[i] = model_name_of(&s->names, c.closed[i].peer, &t->names_left);
		t->closed_s[i] = c.closed[i].since_s;
	}
	t->stopped_s = c.stopped_s;
	t->clamped_s = c.clamped_s;
	t->alarm_bits = (uint8_t)c.alarms;
	t->nmissing = (uint8_t)c.nmissing;
	for (unsigned i = 0; i < c.nmissing; i++)
		t->missing[i] = model_name_of(&s->names, c.missing[i], &t->names_left);
	t->nrefused = (uint8_t)x->nrefused;
	for (unsigned i = 0; i < x->nrefused; i++)
		t->refused[i] = model_name_of(&s->names, x->refused[i].what, &t->names_left);
}

/* It is unknown who wrote the status. */
static void forget_status(struct model_set *s, struct model_tray *t)
{
	take_closures(s, t, &(struct tray_status){ 0 }, "", 0);
	t->has_policy = t->fresh = false;
	t->closed = t->alarms = 0;
}

void model_take_status(struct model_set *s, struct model_tray *t, const struct status_now *now,
		       const char *at, size_t len)
{
	BWL_AUTO_FREE char *said = NULL;
	struct tray_status x;
	int r = status_take(t->name, &t->by, &t->last, now, at, len, &x, NULL, &said, NULL);

	if (t->last.unjudged)
		forget_status(s, t);
	if (r == -EKEYREJECTED)
		return; /* the previous status stays, and the refusal is shown */
	take_closures(s, t, &x, said, said ? strlen(said) : 0);
	/* Another policy lets other amounts through: they are requested again. */
	if (x.has_policy &&
	    (x.policy_version != t->policy_version || strcmp(x.policy_name, t->policy)))
		t->rounds = 0;
	t->has_policy = x.has_policy;
	memcpy(t->policy, x.policy_name, sizeof(t->policy));
	t->policy_version = x.policy_version;
	t->fresh = x.fresh;
	t->closed = x.closed;
	t->alarms = x.alarms;
}
