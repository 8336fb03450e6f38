// SPDX-License-Identifier: GPL-2.0-or-later
/* The trays of a rollout: lead_rollout.h. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "bwl/encode.h"
#include "lead_rollout.h"

#define SALTS 64

/* The share that it dropped before: in the last minutes, or since it has existed. */
static uint32_t before_ppm(const struct view_tray *t)
{
	const struct view_sample *s = t->before.at_ns ? &t->before : &t->later;
	uint64_t passed = t->status.passed - s->passed, dropped = t->status.dropped - s->dropped;

	if (!s->at_ns || t->status.passed < s->passed || t->status.dropped < s->dropped ||
	    !(passed + dropped))
		return rollout_ppm(t->status.passed, t->status.dropped);
	return rollout_ppm(passed, dropped);
}

static struct rollout_seat *add(struct lead_rollout *lr, const char *tray, uint64_t now_ns)
{
	struct rollout_seat *s;

	lr->seat = bwl_must(reallocarray(lr->seat, lr->nseats + 1, sizeof(*lr->seat)));
	s = &lr->seat[lr->nseats++];
	*s = (struct rollout_seat){ .place = rollout_place(lr->r.salt, tray) };
	snprintf(s->tray, sizeof(s->tray), "%s", tray);
	rollout_seat_begin(s, now_ns);
	return s;
}

void lead_seats_new(struct lead *l, struct lead_rollout *lr, const struct view_policy *p,
		    uint64_t now_ns)
{
	uint64_t sum = 0, n = 0;

	lr->nseats = 0;
	for (size_t i = 0; i < l->v->ntrays; i++) {
		struct view_tray *t = l->v->tray[i];
		struct rollout_seat *s;

		if (!view_is_for(l->v, p, t))
			continue;
		s = add(lr, t->name, now_ns);
		s->absent = !t->alive;
		s->before_ppm = before_ppm(t);
		s->before_sas_down = t->status.sas_down;
		s->mod = t->taken;
		sum += s->absent ? 0 : s->before_ppm;
		n += !s->absent;
	}
	lr->mean_ppm = n ? (uint32_t)(sum / n) : 0;
}

void lead_seats_begin(struct lead_rollout *lr, uint64_t now_ns)
{
	lr->since_ns = now_ns;
	for (size_t i = 0; i < lr->nseats; i++)
		rollout_seat_begin(&lr->seat[i], now_ns);
}

void lead_seats_salt(struct lead_rollout *lr, unsigned percent)
{
	char salt[ROLLOUT_SALT];
	size_t best = SIZE_MAX, want = lr->nseats * percent / 100;

	want = want ? want : 1;
	for (unsigned i = 0; i < SALTS; i++) {
		uint8_t raw[(ROLLOUT_SALT - 1) / 2] = { 0 };
		size_t n = 0, far;

		(void)!getrandom(raw, sizeof(raw), 0);
		bwl_hex_encode(raw, sizeof(raw), salt);
		for (size_t j = 0; j < lr->nseats; j++)
			n += !lr->seat[j].absent && rollout_place(salt, lr->seat[j].tray) < percent;
		far = n > want ? n - want : want - n;
		if (!n)
			far = SIZE_MAX - 1;
		if (far >= best)
			continue;
		best = far;
		memcpy(lr->r.salt, salt, sizeof(salt));
		/* A large fleet gets close to it at once. */
		if (far <= want / 10)
			break;
	}
	for (size_t j = 0; j < lr->nseats; j++)
		lr->seat[j].place = rollout_place(lr->r.salt, lr->seat[j].tray);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct rollout_seat *)a)->tray,
		      ((const struct rollout_seat *)b)->tray);
}

static struct rollout_seat *seat_of(const struct lead_rollout *lr, size_t n, const char *tray)
{
	struct rollout_seat key;

	snprintf(key.tray, sizeof(key.tray), "%s", tray);
	return n ? bsearch(&key, lr->seat, n, sizeof(key), by_name) : NULL;
}

void lead_seats_hear(struct lead *l, struct lead_rollout *lr, const struct view_policy *p,
		     uint64_t now_ns)
{
	size_t n = lr->nseats; /* seats after these are added by this call */

	for (size_t i = 0; i < l->v->ntrays; i++) {
		struct view_tray *t = l->v->tray[i];
		struct rollout_seat *s = seat_of(lr, n, t->name);

		if (!s && view_is_for(l->v, p, t)) {
			s = add(lr, t->name, now_ns);
			s->late = true;
			s->before_ppm = lr->mean_ppm;
			s->mod = t->taken;
		}
		if (!s || !t->known || s->mod == t->taken || t->heard_ns < lr->since_ns)
			continue;
		s->mod = t->taken;
		rollout_hear(s, &lr->r, &t->status, t->heard_ns);
	}
	if (lr->nseats > n)
		qsort(lr->seat, lr->nseats, sizeof(*lr->seat), by_name);
}

char *lead_seats_text(const struct lead_rollout *lr)
{
	json_t *o = json_object();
	char *text;

	for (size_t i = 0; i < lr->nseats; i++)
		json_object_set_new(o, lr->seat[i].tray,
				    json_pack("[i, I, b]", (int)lr->seat[i].before_ppm,
					      (json_int_t)lr->seat[i].before_sas_down,
					      lr->seat[i].absent));
	text = bwl_must(json_dumps(o, JSON_COMPACT));
	json_decref(o);
	return text;
}

void lead_seats_parse(struct lead_rollout *lr, const void *at, size_t len)
{
	json_t *o = json_loadb(at, len, JSON_REJECT_DUPLICATES, NULL), *v;
	uint64_t sum = 0, n = 0;
	const char *tray;

	lr->nseats = 0;
	json_object_foreach(o, tray, v)
	{
		struct rollout_seat *s;

		if (!bwl_store_name_ok(tray, strlen(tray)))
			continue;
		s = add(lr, tray, 0);
		s->before_ppm = (uint32_t)json_integer_value(json_array_get(v, 0));
		s->before_sas_down = (uint64_t)json_integer_value(json_array_get(v, 1));
		s->absent = json_is_true(json_array_get(v, 2));
		sum += s->absent ? 0 : s->before_ppm;
		n += !s->absent;
	}
	lr->mean_ppm = n ? (uint32_t)(sum / n) : 0;
	if (lr->nseats)
		qsort(lr->seat, lr->nseats, sizeof(*lr->seat), by_name);
	json_decref(o);
}
