// SPDX-License-Identifier: GPL-2.0-or-later
/* See glass.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <bwl/bytes.h>
#include <bwl/cleanup.h>
#include <bwl/doc.h>
#include <bwl/encode.h>
#include <bwl/show.h>
#include "from_copy.h"
#include "glass.h"
#include "glass_used.h"
#include "journal/journal.h"
#include "signed/grant.h"
#include "signed/payload.h"

#define SECOND 1000000000ULL

static int untrusted(const struct bwl_signed *d, struct bwl_err *e)
{
	if (!bwl_payload_yes(d->body, "break_glass")) {
		bwl_fail(e, EINVAL,
			 "the %s %s has no `break_glass`: it must come through the store",
			 bwl_signed_word(d->type), d->terms.name);
		return bwl_hint(e, "bwlimit-ctl policy sign … --break-glass");
	}
	if (d->enough && d->people >= 2)
		return 0;
	bwl_fail(e, EKEYREJECTED,
		 "only %u of the people of role policy signed the %s %s: breaking glass takes two",
		 d->people, bwl_signed_word(d->type), d->terms.name);
	if (e)
		e->id = "signed-untrusted";
	return bwl_hint(e, "bwlimit-ctl approve, by another person");
}

/* An emergency policy that was signed earlier does not open what people have closed since. */
static int before_closed(const struct bwl_memory *m, const struct bwl_signed *d, struct bwl_err *e)
{
	if (!json_array_size(json_object_get(d->body, "opens")) ||
	    d->terms.issued_s > bwl_memory_closed(m))
		return 0;
	bwl_fail(e, ESTALE,
		 "the %s %s opens what a revocation closed after it was signed: sign a new one",
		 bwl_signed_word(d->type), d->terms.name);
	if (e)
		e->id = "signed-old";
	return -ESTALE;
}

static int no_member(const struct bwl_memory *m, struct bwl_err *e)
{
	if (!bwl_memory_is_expelled(m, bwl_memory_tray(m)->name, NULL))
		return 0;
	bwl_fail(e, EKEYREVOKED, "this tray is expelled from the fleet: break-glass is refused");
	if (e)
		e->id = "signed-revoked";
	return bwl_hint(e, "two people must enrol it again");
}

int bwl_glass_open(const struct bwl_memory *m, const char *dir, const char *bytes, size_t len,
		   int64_t wall_s, struct bwl_glass *ret, struct bwl_err *e)
{
	int64_t now = bwl_memory_now(m, wall_s), left;
	struct bwl_signed *d = &ret->doc;
	int r;

	*ret = (struct bwl_glass){ 0 };
	r = bwl_signed_open(bytes, len, bwl_memory_root(m), bwl_memory_tray(m), now, d, e);
	if (r)
		return r;
	r = bwl_signed_not_early(d, now, e);
	if (!r && d->type != BWL_SIGNED_POLICY && d->type != BWL_SIGNED_GRANT)
		r = bwl_fail(e, EINVAL, "a %s cannot break glass: use a policy or a grant",
			     bwl_signed_word(d->type));
	if (!r)
		r = untrusted(d, e);
	if (!r) {
		r = bwl_memory_judge(m, d, e);
		r = r > 0 ? 0 : r; /* the store had it, too */
	}
	if (!r)
		r = before_closed(m, d, e);
	if (!r)
		r = no_member(m, e);
	if (!r)
		r = glass_judge(dir, d, e);
	left = d->terms.not_after_s - now;
	ret->for_ns = (uint64_t)left < BWL_GLASS_MAX_NS / SECOND ? (uint64_t)left * SECOND
								 : BWL_GLASS_MAX_NS;
	if (r)
		bwl_glass_free(ret);
	return r;
}

void bwl_glass_free(struct bwl_glass *g)
{
	bwl_signed_free(&g->doc);
}

/* A policy that people signed and that may hold; NULL: its bytes are not those. */
static struct bwl_policy *signed_policy(const char *dir, const struct bwl_digest *held)
{
	BWL_AUTO_FREE char *bytes = NULL;
	struct bwl_policy *pol = NULL;
	struct bwl_signed d;
	char path[512], hex[65];
	const char *text;
	size_t len;

	snprintf(path, sizeof(path), "%s/documents/%s", dir, bwl_hex_encode(held->b, 32, hex));
	BWL_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || bwl_bytes_read(fd, BWL_SIGNED_BYTES_MAX, &bytes, &len, NULL) ||
	    bwl_signed_peek(bytes, len, &d, NULL))
		return NULL;
	text = bwl_payload_text(d.body, "text");
	if (!text || memcmp(d.digest, held->b, sizeof(d.digest)) ||
	    bwl_policy_parse(d.terms.name, text, strlen(text), bwl_now_ns(), time(NULL), &pol,
			     NULL))
		pol = NULL;
	bwl_signed_free(&d);
	return pol;
}

static bool take_limits(struct bwl_pol_peer *p, const struct bwl_policy *from)
{
	const struct bwl_pol_peer *own = from ? bwl_policy_peer(from, p->name) : NULL;

	if (!own)
		return false;
	p->grant = own->grant;
	p->mode = own->mode;
	return true;
}

/*
 * What the grant does not name stays as the policy has it. The maps, and the accepted policy of a
 * fleet, have it as the last grant left it, which may be over. Of two policies that may hold the
 * first one held before the other, which widens.
 */
static void put_own_limits(struct bwl_policy *pol, const struct bwl_memory *m, const char *dir,
			   const struct bwl_policy *copy, const struct bwl_signed *d)
{
	struct bwl_pol_peer *p = bwl_policy_peer(pol, bwl_payload_text(d->body, "peer"));
	bool done = !p;
	size_t n;
	const struct bwl_digest *held = bwl_memory_held(m, &n);

	for (size_t i = 0; !done && i < n; i++) {
		BWL_AUTO(bwl_policy_free) struct bwl_policy *own = signed_policy(dir, &held[i]);

		done = take_limits(p, own);
	}
	if (!done && !n)
		take_limits(p, copy);
}

/* A policy from the maps lacks the peers' IKE identities: the accepted policy has them. */
static int policy_of(struct bwl_pins *p, const struct bwl_memory *m, const char *dir,
		     const struct bwl_signed *d, struct bwl_policy **ret, struct bwl_err *e)
{
	BWL_AUTO(bwl_policy_free) struct bwl_policy *copy = NULL;
	int64_t wall_s = bwl_memory_now(m, time(NULL));
	const char *text = bwl_payload_text(d->body, "text");
	int r;

	if (d->type == BWL_SIGNED_POLICY)
		return bwl_policy_parse(d->terms.name, text, strlen(text), bwl_now_ns(), wall_s,
					ret, e);
	if (bwl_active_slot(p) == BWL_NO_SLOT)
		return bwl_fail(e, ENOENT, "no policy is in force: there is no peer for the grant");
	r = bwl_policy_read(p, ret, e);
	copy = r ? NULL : enrolled_accepted(dir);
	if (copy)
		enrolled_fill(*ret, copy, copy);
	if (!r)
		put_own_limits(*ret, m, dir, copy, d);
	return r ? r : bwl_grant_into(*ret, d, bwl_now_ns(), wall_s, e);
}

/* What the journal has closed since people signed the document: by peer. */
static bool *closed_since(const struct bwl_journal *j, const struct bwl_policy *pol,
			  const struct bwl_signed *d)
{
	bool *since = bwl_must(calloc(pol->npeers + 1, sizeof(*since)));

	bwl_closed_after(&j->closed, d->terms.issued_s, pol, since);
	return since;
}

static bool may_open(const struct bwl_memory *m, const struct bwl_pol_peer *q, bool since)
{
	if (bwl_memory_is_expelled(m, q->name, q->ipsec_id))
		return false;
	if (since)
		bwl_warn(
			"%s was closed on this tray after the document was signed: it stays closed; sign a new one",
			q->name);
	return !since;
}

/*
 * What the journal has closed stays closed, except names in the document, if the document was
 * signed later; they are closed again afterwards. Expelled peers are closed, whatever the document
 * names.
 */
static const char **opened(struct bwl_pins *p, const struct bwl_memory *m, struct bwl_policy *pol,
			   const struct bwl_signed *d, size_t *ret_n)
{
	const json_t *list = json_object_get(d->body, "opens"), *v;
	const char **name = bwl_must(calloc(json_array_size(list) + 1, sizeof(*name)));
	BWL_AUTO_FREE bool *since = NULL;
	struct bwl_journal j;
	size_t i;

	bwl_journal_look(bwl_journal_dir(p->ctl->drill), &j);
	bwl_journal_warn(&j);
	bwl_journal_into_policy(p, &j, pol, false, false);
	since = closed_since(&j, pol, d);
	bwl_journal_free(&j);
	*ret_n = 0;
	json_array_foreach(list, i, v)
	{
		struct bwl_pol_peer *q = bwl_policy_peer(pol, json_string_value(v));

		if (q && !may_open(m, q, since[q - pol->peers]))
			continue;
		if (q)
			q->revoked = false;
		name[(*ret_n)++] = json_string_value(v);
	}
	for (i = 0; i < pol->npeers; i++)
		pol->peers[i].revoked |= bwl_memory_is_expelled(m, pol->peers[i].name,
								pol->peers[i].ipsec_id);
	return name;
}

/*
 * Keeps grants alive as long as the emergency policy holds, even if bwlimitd is dead and there is
 * no lease. A clamp stays.
 */
static void keep_alive(struct bwl_pins *p, uint64_t until_ns)
{
	__u64 was = __atomic_load_n(&p->ctl->heartbeat_ns, __ATOMIC_SEQ_CST);

	while (was != BWL_CLAMPED_NS &&
	       !__atomic_compare_exchange_n(&p->ctl->heartbeat_ns, &was, until_ns, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

int bwl_glass_break(struct bwl_pins *p, const struct bwl_memory *m, const char *dir,
		    const struct bwl_glass *g, struct bwl_publish_report *ret, struct bwl_err *e)
{
	BWL_AUTO(bwl_policy_free) struct bwl_policy *pol = NULL;
	BWL_AUTO_FREE const char **opens = NULL;
	uint64_t now = bwl_now_ns(), until;
	char when[BWL_WHEN_BUF];
	struct bwl_publish_opts o = {
		.confirm_ns = g->for_ns,
		.fresh_volume = bwl_payload_yes(g->doc.body, "fresh_volume"),
		.allowed = true,
		.breaks_glass = true,
	};
	int r = bwl_pins_lock(p, e);

	if (!r)
		r = policy_of(p, m, dir, &g->doc, &pol, e);
	if (r)
		return r;
	until = bwl_pending_ns(p, now);
	if (until) {
		bwl_fail(e, EBUSY, "a policy is on trial, or glass is already broken: it ends %s",
			 bwl_when(until, now, when));
		return bwl_hint(e, "bwlimit-ctl policy rollback ends it");
	}
	r = bwl_trial_refuses(p, e);
	if (r)
		return r;
	r = glass_judge(dir, &g->doc, e); /* once more, with the lock */
	if (!r)
		r = glass_use(dir, &g->doc, pol, m, e);
	if (r)
		return r;
	opens = opened(p, m, pol, &g->doc, &o.nopens);
	o.opens = opens;
	if (pol->heartbeat_none) { /* keep_alive() gives it; without a deadline no clamp holds */
		pol->heartbeat_none = false;
		pol->heartbeat_ns = g->for_ns;
	}
	r = bwl_publish(p, pol, &o, ret, e);
	if (!r)
		keep_alive(p, bwl_pending_ns(p, bwl_now_ns()));
	return r;
}
