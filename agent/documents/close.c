// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Documents that close: see part.h. The map comes first: then nothing passes, whatever hangs later.
 */
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <bwl/identity.h>
#include <bwl/model.h>
#include <bwl/publish.h>
#include "accept.h"
#include "agent.h"
#include "journal/journal.h"
#include "part.h"
#include "signed/payload.h"

/* Names that are not in the maps. A later policy may have them. */
struct names {
	const char **name;
	size_t n;
};

/*
 * Closes all that can be closed. If one cannot be, that is the error, and nothing is acknowledged.
 */
static int close_maps(struct documents *v, const struct names *all, struct names *unknown,
		      struct bwl_err *e)
{
	int ret = 0;

	for (size_t i = 0; i < all->n; i++)
		bwl_revoke_at_once(v->pins, all->name[i]);
	for (size_t i = 0; i < all->n; i++) {
		struct bwl_err one = { 0 };
		int r = bwl_revoke(v->pins, all->name[i], &one);

		if (r == -ENOENT) {
			unknown->name[unknown->n++] = all->name[i];
		} else if (r && !ret) {
			ret = bwl_fail(e, -r, "cannot close %s: %s", all->name[i], one.text);
		}
	}
	return ret;
}

static void end_sas(struct documents *v, const struct names *all)
{
	BWL_AUTO_FREE uint32_t *id = bwl_must(calloc(v->pins->schema.max_peers, sizeof(*id)));
	unsigned n = 0;

	for (uint32_t i = 1; i < v->pins->schema.max_peers; i++)
		for (size_t k = 0; *v->pins->name[i].name && k < all->n; k++)
			if (!strncmp(v->pins->name[i].name, all->name[k], BWL_NAME_LEN)) {
				id[n++] = i;
				break;
			}
	if (n) /* no ids would mean all peers */
		agent_end_sas(v->pins, id, n);
}

static int note(struct documents *v, const struct names *all, const struct names *unknown,
		int64_t signed_s, struct bwl_err *e)
{
	const struct bwl_journal_by by = { all->name, all->n, (uint64_t)signed_s };
	const char *dir = bwl_journal_dir(v->pins->ctl->drill);
	int r = bwl_journal_closed_by(v->pins, &by, e);

	for (size_t i = 0; dir && !r && i < unknown->n; i++) {
		struct bwl_journal_rec rec = { .kind = BWL_J_CLOSE, .wall_s = by.wall_s };

		memcpy(rec.name, unknown->name[i], strlen(unknown->name[i]) + 1);
		r = bwl_journal_append(dir, &rec, 1, BWL_JOURNAL_ANY, e);
	}
	return r;
}

/* signed_s: when the closing document was signed. */
static int close_names(struct documents *v, const struct names *all, int64_t signed_s,
		       struct bwl_err *e)
{
	BWL_AUTO_FREE const char **room = bwl_must(calloc(all->n + 1, sizeof(*room)));
	struct names unknown = { room, 0 };
	struct bwl_err late = { 0 };
	int r, noted;

	agent_closing(true);
	r = close_maps(v, all, &unknown, e);
	end_sas(v, all);
	noted = note(v, all, &unknown, signed_s, r ? &late : e);
	agent_closing(false);
	return r ? r : noted;
}

static int close_all(struct documents *v, int64_t signed_s, struct bwl_err *e)
{
	const struct bwl_journal_by by = { .wall_s = (uint64_t)signed_s };
	struct bwl_err late = { 0 };
	int r, noted;

	agent_closing(true);
	r = bwl_revoke(v->pins, NULL, e);
	agent_end_sas(v->pins, NULL, 0);
	noted = bwl_journal_closed_by(v->pins, &by, r ? &late : e);
	agent_closing(false);
	return r ? r : noted;
}

static int revocation(struct documents *v, const struct bwl_signed *d, struct bwl_err *e)
{
	const json_t *peers = json_object_get(d->body, "peers"), *one;
	BWL_AUTO_FREE const char **name = bwl_must(
		calloc(json_array_size(peers) + 1, sizeof(*name)));
	struct names all = { name, 0 };
	size_t i;
	int r = bwl_payload_yes(d->body, "all") ? close_all(v, d->terms.issued_s, e) : 0;

	json_array_foreach(peers, i, one) name[all.n++] = json_string_value(one);
	return r || !all.n ? r : close_names(v, &all, d->terms.issued_s, e);
}

/*
 * The policy that defines the peers' IKE identities: the signed one that holds, or if there is none
 * (the file is still used, or the policy is unreadable), the accepted one. The caller frees ret.
 */
static const struct bwl_policy *who_is_who(const struct documents *v, struct desired *ret)
{
	const struct accept a = { .dir = v->a->state_dir };

	*ret = (struct desired){ 0 };
	if (v->terms.any)
		return v->terms.holding.pol;
	return accept_kept(&a, ret, NULL) ? NULL : ret->pol;
}

static void add_once(struct names *all, const char *name)
{
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->name[i], name))
			return;
	all->name[all->n++] = name;
}

/*
 * The maps have names that the policy no longer has, or that only broken glass has. If nobody can
 * say who the peers are, any of them may be that tray.
 */
static int expel_peers(struct documents *v, const struct bwl_signed *d, const char *tray,
		       struct bwl_err *e)
{
	const uint32_t most = v->pins->schema.max_peers;
	struct desired kept;
	const struct bwl_policy *pol = who_is_who(v, &kept);
	BWL_AUTO_FREE char(*in_maps)[BWL_NAME_LEN] = bwl_must(calloc(most, sizeof(*in_maps)));
	BWL_AUTO_FREE const char **name = bwl_must(
		calloc((pol ? pol->npeers : 0) + most + 1, sizeof(*name)));
	struct names all = { name, 0 };
	int r;

	if (!pol && docs_has_policy(&v->docs)) {
		agent_later(
			LOG_ALERT, "expelled",
			"the policy cannot be read, so nobody can tell which peers are tray %s, which was expelled: all peers are closed",
			tray);
		desired_free(&kept);
		return close_all(v, d->terms.issued_s, e);
	}
	add_once(&all, tray);
	for (size_t i = 0; pol && i < pol->npeers; i++)
		if (bwl_identity_is_peer(tray, pol->peers[i].name, pol->peers[i].ipsec_id))
			add_once(&all, pol->peers[i].name);
	/* A copy: whoever writes the maps may give the slot to another name. */
	for (uint32_t i = 1; i < most; i++)
		if (bwl_identity_is_peer(tray, bwl_peer_name(v->pins, i, in_maps[i]), NULL))
			add_once(&all, in_maps[i]);
	r = close_names(v, &all, d->terms.issued_s, e);
	desired_free(&kept);
	return r;
}

/* Closes the peers that are that tray, by their name or IKE identity. */
static int expulsion(struct documents *v, const struct bwl_signed *d, struct bwl_err *e)
{
	const char *tray = bwl_payload_text(d->body, "tray");
	int r;

	if (!bwl_memory_expels(v->docs.m, d))
		return 0; /* an old document in the store: the tray was enrolled again since */
	if (!bwl_identity_is_peer(tray, bwl_memory_tray(v->docs.m)->name, NULL))
		return expel_peers(v, d, tray, e);
	agent_later(LOG_ALERT, "expelled", "this tray was expelled from the fleet: %.200s",
		    bwl_payload_text(d->body, "reason"));
	r = close_all(v, d->terms.issued_s, e);
	/* destroyed keys never come back, so one person's signature, or a like name, only closes */
	if (d->enough && !strcmp(tray, bwl_memory_tray(v->docs.m)->name))
		agent_destroy_keys(KEYS_EXPELLED);
	return r;
}

/*
 * The keys are destroyed on a thread after the document was accepted. If the process was killed
 * before that, or the disk failed, it is done now. If the keys are gone there is nothing to do.
 */
void docs_destroy_again(const struct documents *v)
{
	if (v->docs.m && bwl_memory_destroys(v->docs.m))
		agent_destroy_keys(KEYS_EXPELLED);
}

/* A pending retry must not destroy a new key that is installed afterwards. */
void docs_spare_keys(const struct documents *v)
{
	if (v->docs.m && !bwl_memory_destroys(v->docs.m))
		agent_spare_keys();
}

/* Is the peer open in the maps although the documents say that it is expelled? */
static bool is_to_close(const struct documents *v, const struct bwl_gen *g,
			const struct bwl_pol_peer *p)
{
	uint32_t id;

	if (!bwl_memory_is_expelled(v->docs.m, p->name, p->ipsec_id))
		return false;
	id = bwl_peer_id(v->pins, g, p->name);
	return id && bwl_body(v->pins, g, id) && !bwl_is_revoked(v->pins, g, id);
}

void docs_close_expelled(struct documents *v)
{
	BWL_AUTO_FREE const char **name = NULL;
	const struct bwl_policy *pol;
	struct names all = { 0 };
	struct bwl_err e = { 0 };
	struct desired kept;
	struct bwl_gen g;

	if (!v->docs.m || bwl_gen_open(v->pins, bwl_active_slot(v->pins), &g, NULL))
		return;
	pol = who_is_who(v, &kept);
	all.name = name = bwl_must(calloc((pol ? pol->npeers : 0) + 1, sizeof(*name)));
	for (size_t i = 0; pol && i < pol->npeers; i++)
		if (is_to_close(v, &g, &pol->peers[i]))
			all.name[all.n++] = pol->peers[i].name;
	bwl_gen_close(&g);
	if (all.n && close_names(v, &all, bwl_memory_closed(v->docs.m), &e))
		agent_later(LOG_ERR, "documents", "cannot close the expelled peers: %s", e.text);
	desired_free(&kept);
}

int docs_close(struct documents *v, const struct bwl_signed *d, struct bwl_err *e)
{
	return d->type == BWL_SIGNED_REVOCATION  ? revocation(v, d, e)
	       : d->type == BWL_SIGNED_EXPULSION ? expulsion(v, d, e)
						 : 0;
}
