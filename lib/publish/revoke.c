// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Closes a peer, or all. Without the lock: a revocation does not wait.
 *
 * A name is closed whatever it stands for now. If another peer has prefixes of a name that is gone,
 * or that a trial will give back to it, that peer is closed, too: otherwise the order would say
 * "closed" while the destination still gets what is sent to it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bwl/generation.h>
#include <bwl/map_io.h>
#include "build.h"
#include "closed_prefixes.h"

int bwl_no_peer(const char *name, struct bwl_err *e)
{
	bwl_fail(e, ENOENT, "no such peer: %s", name);
	return bwl_hint(e, "bwlimit-ctl peer list");
}

/*
 * A writer takes its sequence number first and reads the revocation numbers afterwards. So a number
 * that was stored before any higher one was given out is either seen by that writer or, because the
 * loop takes a higher one, above the writer's grant.
 */
static void raise_revoked(struct bwl_pins *p, uint32_t *revoked)
{
	uint32_t seq;

	do {
		seq = __atomic_add_fetch(&p->ctl->seq, 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(revoked, seq, __ATOMIC_SEQ_CST);
	} while (__atomic_load_n(&p->ctl->seq, __ATOMIC_SEQ_CST) != seq);
}

struct places {
	struct bwl_pins *p;
	const char *name;
	const struct bwl_gen *in_force;
	struct bwl_pfxset set;
};

static int note(const struct bwl_pfx *pfx, uint32_t id, void *arg)
{
	struct places *x = arg;

	if (id < x->p->schema.max_peers && !strncmp(x->p->name[id].name, x->name, BWL_NAME_LEN))
		bwl_pfxset_add(&x->set, pfx, id);
	return 0;
}

/* What the name had when it left the policy (bwl_retired_v1). */
static int note_retired(const struct bwl_pfx *pfx, uint32_t id, void *arg)
{
	struct places *x = arg;

	return bwl_body_at(x->p, x->in_force, id) ? 0 : note(pfx, id, x);
}

/* What it has in the policy before a trial. */
static int note_before(struct places *x, struct bwl_err *e)
{
	uint32_t slot = bwl_slot_before(x->p);
	struct bwl_gen g;
	int r;

	if (slot == BWL_NO_SLOT)
		return 0;
	r = bwl_gen_open(x->p, slot, &g, e);
	if (r)
		return r;
	r = bwl_dest_each(&g, note, x);
	bwl_gen_close(&g);
	return r ? bwl_fail(e, -r, "cannot read the destinations: %s", strerror(-r)) : 0;
}

static void close_also(struct bwl_pins *p, uint32_t id, const char *name, bwl_revoked_fn also,
		       void *arg)
{
	raise_revoked(p, &p->gate[id].revoked);
	if (also)
		also(arg, p->name[id].name);
	else
		bwl_warn("%.31s is closed, too: it has prefixes of %s", p->name[id].name, name);
}

/*
 * Peers whose name this will be: their policy is about to be in force, or its writer was killed
 * before he stored their names.
 */
static uint32_t close_renamed(struct bwl_pins *p, const char *name, bwl_revoked_fn also, void *arg)
{
	uint32_t i, n = 0;

	for (i = 0; i < p->schema.max_extras; i++) {
		const struct bwl_extra *x = &p->extra[i];

		if (x->kind != BWL_X_RENAMED || strncmp(x->name, name, BWL_NAME_LEN) ||
		    x->peer >= p->schema.max_peers)
			continue;
		close_also(p, x->peer, name, also, arg);
		n++;
	}
	return n;
}

/* Closes who has any of these prefixes now. */
static int close_holders(struct places *x, const struct bwl_gen *in_force, bwl_revoked_fn also,
			 void *arg, struct bwl_err *e)
{
	BWL_AUTO(bwl_policy_free) struct bwl_policy *pol = NULL;
	BWL_AUTO_FREE bool *taken = NULL;
	int r = bwl_policy_read(x->p, &pol, e);

	if (!r)
		taken = bwl_places_taken(x->p, NULL, &x->set, pol);
	if (!r && !taken)
		r = bwl_fail(e, ENOMEM, "out of memory");
	for (size_t i = 0; !r && i < pol->npeers; i++) {
		const char *name = pol->peers[i].name;
		uint32_t id = taken[i] && strcmp(name, x->name) ? bwl_peer_id(x->p, in_force, name)
								: 0;

		if (!id)
			continue;
		close_also(x->p, id, x->name, also, arg);
	}
	return r;
}

static int revoke_holders_now(struct bwl_pins *p, const char *name, bwl_revoked_fn also, void *arg,
			      struct bwl_err *e)
{
	struct bwl_gen g;
	struct places x = { .p = p, .name = name, .in_force = &g };
	int r;

	if (bwl_active_slot(p) == BWL_NO_SLOT)
		return 0;
	r = bwl_gen_open(p, bwl_active_slot(p), &g, e);
	if (r)
		return r;
	r = note_before(&x, e);
	if (!r)
		r = bwl_retired_each(p, note_retired, &x);
	bwl_pfxset_sort(&x.set);
	if (!r && x.set.n)
		r = close_holders(&x, &g, also, arg, e);
	bwl_pfxset_free(&x.set);
	bwl_gen_close(&g);
	return r;
}

/* Without the lock a policy may be replaced meanwhile: then once more, by the new one. */
static int revoke_holders(struct bwl_pins *p, const char *name, bwl_revoked_fn also, void *arg,
			  struct bwl_err *e)
{
	int r, tries = 5;

	do
		r = revoke_holders_now(p, name, also, arg, e);
	while (r && --tries);
	if (r)
		bwl_fail(e, EAGAIN,
			 "%s is closed; who else has its prefixes could not be read: repeat it",
			 name);
	return r ? -EAGAIN : 0;
}

void bwl_revoke_at_once(struct bwl_pins *p, const char *name)
{
	uint32_t found = bwl_name_id(p, name);

	if (found && !bwl_pins_touch(p, BWL_PIN_gate, found))
		raise_revoked(p, &p->gate[found].revoked);
}

int bwl_revoke_also(struct bwl_pins *p, const char *name, bwl_revoked_fn also, void *arg,
		    struct bwl_err *e)
{
	uint32_t i, found, others;
	int r;

	if (!name) {
		raise_revoked(p, &p->ctl->revoked_all);
		return 0;
	}
	/* A peer in the name table is closed at once; then all names are checked. */
	found = bwl_name_id(p, name);
	if (found && bwl_pins_touch(p, BWL_PIN_gate, found))
		found = 0;
	if (found)
		raise_revoked(p, &p->gate[found].revoked);
	r = bwl_pins_whole(p, e);
	if (r)
		return r;
	others = close_renamed(p, name, also, arg); /* before their names are looked at */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (i = 1; i < p->schema.max_peers; i++) {
		if (i == found || strncmp(p->name[i].name, name, BWL_NAME_LEN))
			continue;
		raise_revoked(p, &p->gate[i].revoked);
		others++;
	}
	if (!found && !others)
		return bwl_no_peer(name, e);
	return revoke_holders(p, name, also, arg, e);
}

int bwl_revoke(struct bwl_pins *p, const char *name, struct bwl_err *e)
{
	return bwl_revoke_also(p, name, NULL, NULL, e);
}
