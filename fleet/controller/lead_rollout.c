// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rollouts: executes and stores what rollout.h decides. The controllers keep, beside each policy,
 * at rollout/ its state; at before/ each tray's health before it began; at was/ its document, which
 * is compared with the next one; at health/ its health, for people.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/clock.h"
#include "bwl/encode.h"
#include "lead_rollout.h"
#include "tighter.h"

static void free_rollout(struct lead_rollout *lr)
{
	free(lr->seat);
	free(lr->health_text);
	free(lr);
}

void lead_rollouts_forget(struct lead *l)
{
	for (size_t i = 0; i < l->nrollouts; i++)
		free_rollout(l->rollout[i]);
	free(l->rollout);
	l->rollout = NULL;
	l->nrollouts = 0;
}

/* Where it is, or where it would be inserted. */
static size_t place(const struct lead *l, const char *tray, const char *name, bool *ret_found)
{
	size_t from = 0, to = l->nrollouts;

	*ret_found = false;
	while (from < to) {
		size_t mid = from + (to - from) / 2;
		int c = strcmp(l->rollout[mid]->tray, tray);

		c = c ? c : strcmp(l->rollout[mid]->r.name, name);
		if (!c) {
			*ret_found = true;
			return mid;
		}
		if (c < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static struct lead_rollout *find(const struct lead *l, const char *tray, const char *name)
{
	bool found;
	size_t at = place(l, tray, name, &found);

	return found ? l->rollout[at] : NULL;
}

const struct rollout *lead_rollout_of(const struct lead *l, const struct view_policy *p)
{
	const struct lead_rollout *lr = find(l, p->tray, p->name);

	return lr ? &lr->r : NULL;
}

static struct lead_rollout *add(struct lead *l, const char *tray, const char *name)
{
	struct lead_rollout *lr = bwl_must(calloc(1, sizeof(*lr)));
	bool found;
	size_t at = place(l, tray, name, &found);

	l->rollout = bwl_must(reallocarray(l->rollout, l->nrollouts + 1, sizeof(*l->rollout)));
	memmove(l->rollout + at + 1, l->rollout + at, (l->nrollouts - at) * sizeof(*l->rollout));
	l->rollout[at] = lr;
	l->nrollouts++;
	snprintf(lr->tray, sizeof(lr->tray), "%s", tray);
	snprintf(lr->r.name, sizeof(lr->r.name), "%s", name);
	return lr;
}

struct reading {
	struct lead *l;
	size_t before; /* bytes of the keys' prefix */
};

/* "PLACE/NAME" */
static int take_state(void *arg, const struct bwl_etcd_kv *kv)
{
	struct reading *r = arg;
	const char *at = (const char *)kv->key.at + r->before;
	size_t n = bwl_pb_len(kv->key) - r->before;
	const char *slash = memchr(at, '/', n);
	char tray[BWL_DOC_NAME_MAX] = "";
	struct bwl_err e = { 0 };
	struct rollout ro;

	if (!slash || (size_t)(slash - at) >= sizeof(tray))
		return 0;
	if (slash != at + 1 || *at != '-')
		snprintf(tray, sizeof(tray), "%.*s", (int)(slash - at), at);
	if (rollout_parse(kv->value.at, bwl_pb_len(kv->value), &ro, &e))
		r->l->c->say(r->l->c, "trouble", "rollout", &e);
	else
		add(r->l, tray, ro.name)->r = ro;
	return 0;
}

static int take_before(void *arg, const struct bwl_etcd_kv *kv)
{
	lead_seats_parse(arg, kv->value.at, bwl_pb_len(kv->value));
	return 0;
}

static int read_before(struct lead *l, struct lead_rollout *lr, struct bwl_err *e)
{
	char key[BWL_ETCD_KEY_MAX];
	struct bwl_etcd_range ask = { .key = key, .end = "" };
	struct bwl_etcd_page page;
	int r = lead_key(l, "before", lr->tray, lr->r.name, key);

	r = r ? r : bwl_etcd_range(l->g, &ask, take_before, lr, &page, e);
	lead_seats_begin(lr, bwl_now_ns());
	return r;
}

int lead_rollouts_read(struct lead *l, struct bwl_err *e)
{
	char prefix[BWL_ETCD_KEY_MAX];
	struct reading reading = { .l = l };
	int64_t revision = 0;
	int r;

	lead_rollouts_forget(l);
	reading.before = (size_t)snprintf(prefix, sizeof(prefix), "%s/controller/rollout/",
					  l->c->o->prefix);
	r = bwl_etcd_values(l->g, prefix, take_state, &reading, &revision, e);
	for (size_t i = 0; !r && i < l->nrollouts; i++)
		if (l->rollout[i]->r.phase == ROLLOUT_GOING)
			r = read_before(l, l->rollout[i], e);
	return r;
}

/* The value at a key, unchanged: it may also be the head of a document in parts. */
struct raw {
	uint8_t *at;
	size_t len;
};

static int take_raw(void *arg, const struct bwl_etcd_kv *kv)
{
	struct raw *raw = arg;

	raw->len = bwl_pb_len(kv->value);
	raw->at = bwl_must(malloc(raw->len + 1));
	memcpy(raw->at, kv->value.at, raw->len);
	return 0;
}

static int read_raw(struct lead *l, const char *key, struct raw *ret, struct bwl_err *e)
{
	struct bwl_etcd_range ask = { .key = key, .end = "", .limit = 1 };
	struct bwl_etcd_page page;

	return bwl_etcd_range(l->g, &ask, take_raw, ret, &page, e);
}

static int policy_key(const struct lead *l, const struct view_policy *p,
		      char key[static BWL_ETCD_KEY_MAX])
{
	return bwl_doc_key(key, l->c->o->prefix, *p->tray ? p->tray : NULL, BWL_DOC_policy, p->name,
			   p->big);
}

/* Is the new policy no wider than the previous one, of which a copy was kept? */
static int is_tighter(struct lead *l, const struct view_policy *p, const uint8_t from[32],
		      int64_t now_s, bool *ret, struct bwl_err *e)
{
	char was[BWL_ETCD_KEY_MAX], key[BWL_ETCD_KEY_MAX];
	BWL_AUTO_FREE uint8_t *a = NULL, *b = NULL;
	size_t a_len, b_len;
	int64_t mod;
	struct raw raw = { 0 };
	struct bwl_doc_head head;
	bool is_big;
	int r;

	*ret = false;
	if (lead_key(l, "was", p->tray, p->name, was) || policy_key(l, p, key))
		return 0;
	r = read_raw(l, was, &raw, e);
	a = raw.at;
	if (r || !raw.at)
		return r;
	is_big = !bwl_doc_parse_head((const char *)raw.at, raw.len, &head);
	free(bwl_take_ptr(&a));
	r = bwl_doc_fetch(l->g, l->c->o->prefix, was, is_big, &a, &a_len, &mod, e);
	r = r ? r : bwl_doc_fetch(l->g, l->c->o->prefix, key, p->big, &b, &b_len, &mod, e);
	if (!r)
		*ret = tighter((const char *)a, a_len, from, (const char *)b, b_len, p->digest,
			       bwl_now_ns(), now_s);
	return r == -ENOENT || r == -EUCLEAN ? 0 : r;
}

/* Publishes a stage's document together with the state that belongs to it. */
static int publish(struct lead *l, struct lead_rollout *lr, const struct view_policy *p,
		   const struct bwl_etcd_put *more, unsigned nmore, int64_t now_s,
		   struct bwl_err *e)
{
	struct rollout *ro = &lr->r;
	bool back = ro->phase == ROLLOUT_BACK;
	char to[65], from[65], key[BWL_ETCD_KEY_MAX];
	BWL_AUTO_FREE char *state = NULL;
	struct bwl_etcd_put with[BWL_DOC_WITH_MAX - 1] = { { .key = key, .was = BWL_ETCD_ANY } };
	struct lead_document d = {
		.type = BWL_SIGNED_ROLLOUT,
		.tray = lr->tray,
		.key_name = ro->name,
		.name = ro->name,
		.audience = p->audience,
		.now_s = now_s,
		.not_after_s = now_s + LEAD_ROLLOUT_FOR_S,
	};
	int r = lead_key(l, "rollout", lr->tray, ro->name, key);

	if (r)
		return bwl_fail(e, -r, "the name of policy %s is too long", ro->name);
	ro->version = (uint64_t)now_s > ro->version ? (uint64_t)now_s : ro->version + 1;
	d.version = ro->version;
	bwl_hex_encode(ro->to, 32, to);
	bwl_hex_encode(ro->from, 32, from);
	/* During a rollback a tray that ignores `back` is at most in the smallest stage. */
	d.more = json_pack("{s:s, s:i, s:s}", "to", to, "percent", back ? 1 : (int)ro->percent,
			   "salt", ro->salt);
	/*
	 * A tray refuses a rollout from a policy that it never had. When all take `to`, only that
	 * is named.
	 */
	if (ro->has_from && (back || ro->percent < 100))
		json_object_set_new(d.more, "from", json_string(from));
	if (back)
		json_object_set_new(d.more, "back", json_true());
	state = rollout_text(ro);
	with[0].value = state;
	with[0].len = strlen(state);
	for (unsigned i = 0; i < nmore; i++)
		with[1 + i] = more[i];
	return lead_publish(l, &d, with, 1 + nmore, e);
}

static int keep(struct lead *l, const struct lead_rollout *lr, const struct bwl_etcd_put *more,
		unsigned nmore, struct bwl_err *e)
{
	BWL_AUTO_FREE char *state = rollout_text(&lr->r);
	char key[BWL_ETCD_KEY_MAX];
	struct bwl_etcd_put put[2] = {
		{ .key = key, .value = state, .len = strlen(state), .was = BWL_ETCD_ANY },
	};
	int r = lead_key(l, "rollout", lr->tray, lr->r.name, key);

	if (nmore)
		put[1] = *more;
	return r ? bwl_fail(e, -r, "the name of policy %s is too long", lr->r.name)
		 : lead_put(l, put, 1 + nmore, e);
}

static void say(struct lead *l, const struct lead_rollout *lr, const char *event, const char *why)
{
	char what[BWL_NAME_LEN + BWL_DOC_NAME_MAX + 24];
	struct bwl_err e = { 0 };

	snprintf(what, sizeof(what), "%s%s%s %u %%", lr->tray, *lr->tray ? "/" : "", lr->r.name,
		 lr->r.percent);
	if (why)
		bwl_fail(&e, EBADMSG, "%s", why);
	l->c->say(l->c, event, what, why ? &e : NULL);
}

/* The policy is in force everywhere: the next one will be compared with it. */
static int finish(struct lead *l, struct lead_rollout *lr, const struct view_policy *p,
		  struct bwl_err *e)
{
	char was_key[BWL_ETCD_KEY_MAX], key[BWL_ETCD_KEY_MAX];
	BWL_AUTO_FREE uint8_t *was = NULL;
	struct bwl_etcd_put put = { .key = was_key, .was = BWL_ETCD_ANY };
	struct raw raw = { 0 };
	int r;

	if (lead_key(l, "was", lr->tray, p->name, was_key) || policy_key(l, p, key))
		return bwl_fail(e, ENAMETOOLONG, "the name of policy %s is too long", p->name);
	r = read_raw(l, key, &raw, e);
	was = raw.at;
	if (r || !was) /* it has gone meanwhile: the watch will report it */
		return r;
	put.value = was;
	put.len = raw.len;
	lr->r.phase = ROLLOUT_DONE;
	lr->r.percent = 100;
	return keep(l, lr, &put, 1, e);
}

/* A policy that is new to us: it is either in force wherever it arrives, or goes out in stages. */
static int begin(struct lead *l, struct lead_rollout *lr, const struct view_policy *p,
		 uint64_t now_ns, int64_t now_s, struct bwl_err *e)
{
	char before_key[BWL_ETCD_KEY_MAX];
	struct bwl_etcd_put more = { .key = before_key, .was = BWL_ETCD_ANY };
	BWL_AUTO_FREE char *before = NULL;
	struct rollout *ro = &lr->r;
	bool at_once = false;
	int r = 0;

	if (lead_key(l, "before", lr->tray, p->name, before_key))
		return bwl_fail(e, ENAMETOOLONG, "the name of policy %s is too long", p->name);
	if (ro->phase == ROLLOUT_DONE && ro->to_version) {
		memcpy(ro->from, ro->to, sizeof(ro->from));
		ro->has_from = true;
		ro->from_lease_s = ro->to_lease_s;
	}
	ro->since_s = now_s;
	memcpy(ro->to, p->digest, sizeof(ro->to));
	ro->to_version = p->terms.version;
	ro->to_lease_s = p->lease_most_ns / CTRL_S;
	*ro->why = '\0';
	if (!p->stages)
		return finish(l, lr, p, e);
	if (ro->has_from)
		r = is_tighter(l, p, ro->from, now_s, &at_once, e);
	if (r)
		return r;
	ro->phase = ROLLOUT_GOING;
	ro->percent = at_once ? 100 : rollout_next(&l->c->o->rules, 0);
	lead_seats_new(l, lr, p, now_ns);
	lead_seats_salt(lr, ro->percent);
	lead_seats_begin(lr, now_ns);
	before = lead_seats_text(lr);
	more.value = before;
	more.len = strlen(before);
	r = publish(l, lr, p, &more, 1, now_s, e);
	if (!r)
		say(l, lr, "rollout", NULL);
	return r;
}

static int act(struct lead *l, struct lead_rollout *lr, const struct view_policy *p,
	       const struct rollout_verdict *v, uint64_t now_ns, int64_t now_s, struct bwl_err *e)
{
	int r = 0;

	if (v->word == ROLLOUT_WAIT)
		return lead_health(l, lr, v, now_ns, now_s, e);
	lr->r.since_s = now_s;
	switch (v->word) {
	case ROLLOUT_WAIT:
		break;
	case ROLLOUT_NEXT:
		lr->r.percent = v->percent;
		r = publish(l, lr, p, NULL, 0, now_s, e);
		lead_seats_begin(lr, now_ns);
		break;
	case ROLLOUT_FINISHED:
		r = finish(l, lr, p, e);
		break;
	case ROLLOUT_GO_BACK:
		lr->r.phase = lr->r.has_from ? ROLLOUT_BACK : ROLLOUT_STUCK;
		memcpy(lr->r.why, v->why, sizeof(lr->r.why));
		r = lr->r.has_from ? publish(l, lr, p, NULL, 0, now_s, e) : keep(l, lr, NULL, 0, e);
		break;
	}
	if (!r)
		say(l, lr,
		    v->word == ROLLOUT_NEXT       ? "rollout"
		    : v->word == ROLLOUT_FINISHED ? "rolled-out"
		    : lr->r.has_from              ? "back"
						  : "stuck",
		    v->word == ROLLOUT_GO_BACK ? v->why : NULL);
	return r;
}

static int drive(struct lead *l, const struct view_policy *p, uint64_t now_ns, int64_t now_s,
		 struct bwl_err *e)
{
	struct lead_rollout *lr = find(l, p->tray, p->name);
	struct rollout_verdict v;
	struct rollout was;
	int r;

	if (!lr) {
		lr = add(l, p->tray, p->name);
		lr->r.phase = ROLLOUT_DONE;
	}
	was = lr->r;
	if (!lr->r.to_version || memcmp(lr->r.to, p->digest, sizeof(lr->r.to))) {
		r = begin(l, lr, p, now_ns, now_s, e);
	} else if (lr->r.phase == ROLLOUT_GOING) {
		lead_seats_hear(l, lr, p, now_ns);
		v = rollout_judge(&lr->r, &l->c->o->rules, lr->seat, lr->nseats, lr->since_ns,
				  now_ns);
		r = act(l, lr, p, &v, now_ns, now_s, e);
	} else {
		return 0;
	}
	/* What the store did not accept was not done. */
	if (r)
		lr->r = was;
	return r;
}

int lead_rollouts(struct lead *l, uint64_t now_ns, int64_t now_s, struct bwl_err *e)
{
	for (size_t i = 0; i < l->v->npolicies && !lead_is_late(l); i++) {
		const struct view_policy *p = l->v->policy[i];
		int r;

		if (!p->ok || p->to_fetch || p->terms.not_after_s <= now_s)
			continue;
		r = drive(l, p, now_ns, now_s, e);
		if (r)
			return r;
	}
	return 0;
}
