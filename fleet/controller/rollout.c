// SPDX-License-Identifier: GPL-2.0-or-later
/* See rollout.h. */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rollout.h"

#define PPM 1000000ULL
#define STATUSES_MIN 2  /* with the policy in force: two are needed to see what it drops */
#define PACKETS_MIN 100 /* with fewer a ratio means nothing */

unsigned rollout_place(const char *salt, const char *tray)
{
	char in[ROLLOUT_SALT + BWL_DOC_NAME_MAX];
	int n = snprintf(in, sizeof(in), "%s%s", salt, tray);
	uint8_t sha[32];

	if (!EVP_Digest(in, (size_t)n, sha, NULL, EVP_sha256(), NULL))
		abort();
	return ((uint32_t)sha[0] << 24 | (uint32_t)sha[1] << 16 | (uint32_t)sha[2] << 8 | sha[3]) %
	       ROLLOUT_PLACES;
}

uint32_t rollout_ppm(uint64_t passed, uint64_t dropped)
{
	/* In floating point: the counters may be near 2^64. */
	double all = (double)passed + (double)dropped;

	return all > 0 ? (uint32_t)((double)dropped / all * PPM) : 0;
}

void rollout_seat_begin(struct rollout_seat *s, uint64_t now_ns)
{
	s->heard_ns = now_ns;
	s->heard = 0;
	s->refuses = false;
}

/* A counter that is lower than before restarted with the tray. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

void rollout_hear(struct rollout_seat *s, const struct rollout *r, const struct tray_status *st,
		  uint64_t now_ns)
{
	char of_policy[BWL_NAME_LEN + 16], of_rollout[BWL_NAME_LEN + 16];
	bool has = st->has_policy && !memcmp(st->policy, r->to, sizeof(r->to));
	uint64_t passed, dropped;

	snprintf(of_policy, sizeof(of_policy), "policy/%s", r->name);
	snprintf(of_rollout, sizeof(of_rollout), "rollout/%s", r->name);
	s->heard_ns = now_ns;
	s->sas_down = st->sas_down;
	s->refuses = !has && (status_refuses(st, of_policy, r->to_version) ||
			      status_refuses(st, of_rollout, r->version));
	if (!has) {
		s->heard = 0;
		return;
	}
	if (!s->heard) {
		s->taken_ns = now_ns;
		s->passed = st->passed;
		s->dropped = st->dropped;
	}
	passed = since(st->passed, s->passed);
	dropped = since(st->dropped, s->dropped);
	s->now_ppm = rollout_ppm(passed, dropped);
	s->packets = passed + dropped < passed ? UINT64_MAX : passed + dropped;
	s->heard += s->heard < STATUSES_MIN;
}

/* News that arrives during a step may be later than the step's own time. */
static uint64_t age(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

enum seat_word { SEAT_WELL, SEAT_WAITS, SEAT_BAD };

static enum seat_word look(const struct rollout_seat *s, const struct rollout_rules *rules,
			   uint64_t since_ns, uint64_t now_ns, char why[static ROLLOUT_WHY])
{
	const char *what;
	bool is_late = false;

	why[0] = '\0';
	if (s->refuses)
		return snprintf(why, ROLLOUT_WHY, "%s refuses it", s->tray), SEAT_BAD;
	if (age(now_ns, s->heard_ns) > rules->silent_ns)
		return snprintf(why, ROLLOUT_WHY, "%s no longer reports", s->tray), SEAT_BAD;
	if (s->heard && s->packets >= PACKETS_MIN &&
	    s->now_ppm > s->before_ppm + rules->drops_more * (PPM / 100)) {
		snprintf(why, ROLLOUT_WHY, "%s drops %.1f %% of its packets, %.1f %% before",
			 s->tray, s->now_ppm * 100.0 / PPM, s->before_ppm * 100.0 / PPM);
		return SEAT_BAD;
	}
	if (!s->heard) {
		what = "has not taken it";
		is_late = age(now_ns, since_ns) > rules->silent_ns;
	} else if (s->sas_down > s->before_sas_down) {
		what = "has more SAs down than before";
		is_late = age(now_ns, s->taken_ns) > rules->silent_ns;
	} else if (s->heard < STATUSES_MIN) {
		what = "has it, but has not reported its health yet";
	} else {
		return SEAT_WELL;
	}
	snprintf(why, ROLLOUT_WHY, "%s %s", s->tray, what);
	return is_late ? SEAT_BAD : SEAT_WAITS;
}

unsigned rollout_next(const struct rollout_rules *rules, unsigned percent)
{
	for (unsigned i = 0; i < rules->nstages; i++)
		if (rules->stage[i] > percent)
			return rules->stage[i];
	return 0;
}

static unsigned stage_before(const struct rollout_rules *rules, unsigned percent)
{
	unsigned before = 0;

	for (unsigned i = 0; i < rules->nstages && rules->stage[i] < percent; i++)
		before = rules->stage[i];
	return before;
}

struct rollout_verdict rollout_judge(const struct rollout *r, const struct rollout_rules *rules,
				     const struct rollout_seat *seat, size_t n, uint64_t since_ns,
				     uint64_t now_ns)
{
	unsigned before = stage_before(rules, r->percent), newcomers = 0, present = 0;
	struct rollout_verdict v = { .word = ROLLOUT_WAIT };
	char bad[ROLLOUT_WHY] = "";

	for (size_t i = 0; i < n; i++) {
		char why[ROLLOUT_WHY];
		enum seat_word w;

		present += !seat[i].absent;
		if (seat[i].absent || seat[i].place >= r->percent ||
		    (seat[i].late && !seat[i].heard))
			continue;
		w = look(&seat[i], rules, since_ns, now_ns, why);
		v.judged++;
		newcomers += seat[i].place >= before;
		v.unwell += w != SEAT_WELL;
		v.bad += w == SEAT_BAD;
		if (w == SEAT_BAD && !*bad)
			memcpy(bad, why, sizeof(bad));
		if (w != SEAT_WELL && !*v.why)
			memcpy(v.why, why, sizeof(v.why));
		if (w != SEAT_WELL && v.nwaits < ROLLOUT_WAITS)
			memcpy(v.waits[v.nwaits++], seat[i].tray, sizeof(*v.waits));
	}
	if (!present) {
		snprintf(v.why, sizeof(v.why), "no tray reports, so health cannot be judged");
	} else if (v.bad > v.judged * rules->tolerate / 100) {
		v.word = ROLLOUT_GO_BACK;
		memcpy(v.why, bad, sizeof(bad));
	} else if (v.unwell <= v.judged * rules->tolerate / 100 &&
		   /* a stage that reaches nobody new shows nothing new */
		   (!newcomers || age(now_ns, since_ns) >= rules->soak_ns)) {
		v.percent = rollout_next(rules, r->percent);
		v.word = v.percent ? ROLLOUT_NEXT : ROLLOUT_FINISHED;
	}
	return v;
}
