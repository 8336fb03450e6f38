// SPDX-License-Identifier: GPL-2.0-or-later
/* See order.h. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../signed.h"
#include "believe.h"
#include "order.h"
#include "signed/payload.h"

#define SECOND 1000000000ULL
#define TIMEOUT_NS (30 * SECOND)

int fleet_order_begin(struct ctl *c, struct fleet_order *o)
{
	int r;

	if (!o->key)
		return ctl_usage(c, "--key is missing: the key that signs");
	if (o->reason && *o->reason_words)
		bwl_warn("the reason is given twice: the one at the end counts");
	if (o->reason && !*o->reason_words)
		ctl_fit_reason(o->reason, o->reason_words);
	o->wait = (struct fleet_wait){ .timeout_ns = TIMEOUT_NS, .no_wait = o->no_wait };
	if ((o->life && bwl_parse_time(o->life, &o->life_ns, &c->err)) ||
	    (o->timeout && bwl_parse_time(o->timeout, &o->wait.timeout_ns, &c->err)))
		return CTL_USAGE;
	if (o->life_ns < SECOND || o->life_ns > 3660ULL * 86400 * SECOND)
		return ctl_usage(c, "--for %.32s: 1s to 3660d", o->life);
	r = fleet_open(c, &o->fleet);
	return r ? r : fleet_know(&o->fleet);
}

void fleet_order_end(struct fleet_order *o)
{
	json_decref(o->left_out);
	fleet_close(&o->fleet);
}

const char *fleet_reason(const struct fleet_order *o, char buf[static 128])
{
	char host[64] = "";
	const char *user = getlogin();

	if (*o->reason_words)
		return o->reason_words;
	gethostname(host, sizeof(host) - 1);
	snprintf(buf, 128, "by %.40s at %.60s", user ? user : "somebody", host);
	return buf;
}

/*
 * The time in seconds, so that a lost store undoes no version; or one more than the newest version
 * in the store that people signed: so nobody else can use up the numbers.
 */
static int next_version(struct fleet *f, enum bwl_signed_type type, const char *name,
			const char *audience, uint64_t *ret)
{
	const char *tray = !strncmp(audience, "tray:", 5) && !strchr(audience, ',') ? audience + 5
										    : NULL;
	struct fleet_doc x;
	int r;

	*ret = (uint64_t)time(NULL);
	if (!tray && strcmp(audience, "all"))
		return 0;
	r = fleet_doc_believe(f, tray, fleet_kind(type), name, &x);
	if (r)
		return r == -ENOENT || r == -EKEYREJECTED ? 0 : r;
	if (x.d.terms.epoch == f->epoch && x.d.terms.version >= *ret)
		*ret = x.d.terms.version + 1;
	fleet_doc_done(&x);
	return 0;
}

/*
 * Now, and in a later second than that. Trays refuse a date ahead, so it waits for the next second;
 * where that was dated ahead itself, so is this.
 */
static struct timespec after(int64_t after_s)
{
	struct timespec now, next = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec == after_s) {
		next.tv_nsec = 999999999 - now.tv_nsec;
		nanosleep(&next, NULL);
		clock_gettime(CLOCK_REALTIME, &now);
	}
	if (now.tv_sec <= after_s)
		now = (struct timespec){ .tv_sec = after_s + 1 };
	return now;
}

static int make(struct fleet_order *o, enum bwl_signed_type type, const char *name,
		const char *audience, json_t *body, char **ret)
{
	struct bwl_err *e = &o->fleet.c->err;
	char from[BWL_TIME_BUF], to[BWL_TIME_BUF];
	BWL_AUTO(bwl_key_free) struct bwl_key *k = NULL;
	struct bwl_signed_terms terms;
	struct bwl_envelope v;
	uint64_t version;
	size_t len;
	struct timespec now;
	int r = bwl_key_read(o->key, &k, e);

	if (!r)
		r = next_version(&o->fleet, type, name, audience, &version);
	if (r)
		return r;
	json_object_set_new(body, "name", json_string(name));
	json_object_set_new(body, "epoch", bwl_json_u64(o->fleet.epoch));
	json_object_set_new(body, "version", bwl_json_u64(version));
	now = after(o->after_s);
	json_object_set_new(body, "issued_at",
			    json_string(bwl_utc(now.tv_sec, (int)(now.tv_nsec / 1000000), from)));
	json_object_set_new(body, "not_after",
			    json_string(
				    bwl_utc(now.tv_sec + (int64_t)(o->life_ns / SECOND), -1, to)));
	r = bwl_payload_check(type, body, &terms, e);
	if (!r)
		r = bwl_envelope_new(type, o->fleet.name, audience, body, &v, e);
	if (r)
		return r;
	r = bwl_envelope_sign(&v, k, e);
	if (!r)
		*ret = bwl_envelope_text(&v, &len);
	bwl_envelope_free(&v);
	return r;
}

/* One person may sign this type; for other types one signature is never enough. */
static bool needs_more(const struct fleet *f, enum bwl_signed_type type)
{
	return type == BWL_SIGNED_ENROLMENT &&
	       (!f->root || bwl_root_threshold(f->root, BWL_ROLE_POLICY) > 1);
}

static void say_ordered(const struct fleet_order *o)
{
	const json_t *v;
	size_t i;

	json_array_foreach(o->names, i, v) if (!o->fleet.c->json)
		bwl_put(stdout, "%s: ordered\n", json_string_value(v));
}

int fleet_order_give(struct fleet_order *o, enum bwl_signed_type type, const char *name,
		     const char *audience, json_t *body)
{
	struct fleet_put p = { .pending = needs_more(&o->fleet, type), .unknown = o->left_out };
	BWL_AUTO_FREE char *text = NULL;
	int r = make(o, type, name, audience, body, &text);

	json_decref(body);
	if (r)
		return r;
	p.bytes = text;
	p.len = strlen(text);
	r = fleet_put(&o->fleet, &p);
	if (!r) {
		say_ordered(o);
		bwl_audit("--fleet %s: %s, version %llu, for %.200s", bwl_signed_word(type), name,
			  (unsigned long long)p.d.terms.version, audience);
		if (type == BWL_SIGNED_EXPULSION && !o->keep_user)
			fleet_user_delete(&o->fleet, &p);
		r = fleet_wait(&o->fleet, &p, &o->wait);
	}
	fleet_put_done(&p);
	return r;
}
