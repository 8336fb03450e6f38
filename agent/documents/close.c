/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What closes: see part.h. The map first: from there on nothing passes, whatever hangs after it. */
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <bwl/publish.h>
#include "agent.h"
#include "journal/journal.h"
#include "part.h"
#include "signed/payload.h"

/* Names that the maps do not have: a later policy may. */
struct names {
	const char **name;
	size_t n;
};

/* All that can be is closed; one that could not be is the error, and nothing is acknowledged. */
static int close_maps(struct documents *v, const struct names *all, struct names *unknown,
		      struct bwl_err *e)
{
	int ret = 0;

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
	if (n) /* none would be all */
		agent_end_sas(v->pins, id, n);
}

static int note(struct documents *v, const struct names *unknown, struct bwl_err *e)
{
	const char *dir = bwl_journal_dir(v->pins->ctl->drill);
	int r = bwl_journal_closed(v->pins, e);

	for (size_t i = 0; dir && !r && i < unknown->n; i++) {
		struct bwl_journal_rec rec = { .kind = BWL_J_CLOSE };

		memcpy(rec.name, unknown->name[i], strlen(unknown->name[i]) + 1);
		r = bwl_journal_append(dir, &rec, 1, BWL_JOURNAL_ANY, e);
	}
	return r;
}

static int close_names(struct documents *v, const struct names *all, struct bwl_err *e)
{
	BWL_AUTO_FREE const char **room = bwl_must(calloc(all->n + 1, sizeof(*room)));
	struct names unknown = { room, 0 };
	struct bwl_err late = { 0 };
	int r = close_maps(v, all, &unknown, e), noted;

	end_sas(v, all);
	noted = note(v, &unknown, r ? &late : e);
	return r ? r : noted;
}

static int close_all(struct documents *v, struct bwl_err *e)
{
	struct bwl_err late = { 0 };
	int r = bwl_revoke(v->pins, NULL, e), noted;

	agent_end_sas(v->pins, NULL, 0);
	noted = bwl_journal_closed(v->pins, r ? &late : e);
	return r ? r : noted;
}

static int revocation(struct documents *v, const struct bwl_signed *d, struct bwl_err *e)
{
	const json_t *peers = json_object_get(d->body, "peers"), *one;
	BWL_AUTO_FREE const char **name = bwl_must(
		calloc(json_array_size(peers) + 1, sizeof(*name)));
	struct names all = { name, 0 };
	size_t i;
	int r = bwl_payload_yes(d->body, "all") ? close_all(v, e) : 0;

	json_array_foreach(peers, i, one) name[all.n++] = json_string_value(one);
	return r || !all.n ? r : close_names(v, &all, e);
}

/* Peers that are that tray: by their name, or by the identity that its IKE has. */
static int expulsion(struct documents *v, const struct bwl_signed *d, struct bwl_err *e)
{
	const char *tray = bwl_payload_text(d->body, "tray");
	const struct bwl_policy *pol = v->terms.any ? v->terms.holding.pol : NULL;
	BWL_AUTO_FREE const char **name = bwl_must(
		calloc((pol ? pol->npeers : 0) + 1, sizeof(*name)));
	struct names all = { name, 0 };

	if (!strcmp(tray, bwl_memory_tray(v->docs.m)->name)) {
		agent_later(LOG_ALERT, "expelled", "this tray was expelled from the fleet: %.200s",
			    bwl_payload_text(d->body, "reason"));
		if (d->enough) /* there is no way back from that: one alone closes, and no more */
			agent_destroy_keys();
		return close_all(v, e);
	}
	name[all.n++] = tray;
	for (size_t i = 0; pol && i < pol->npeers; i++)
		if (pol->peers[i].ipsec_id && !strcmp(pol->peers[i].ipsec_id, tray) &&
		    strcmp(pol->peers[i].name, tray))
			name[all.n++] = pol->peers[i].name;
	return close_names(v, &all, e);
}

int docs_close(struct documents *v, const struct bwl_signed *d, struct bwl_err *e)
{
	return d->type == BWL_SIGNED_REVOCATION  ? revocation(v, d, e)
	       : d->type == BWL_SIGNED_EXPULSION ? expulsion(v, d, e)
						 : 0;
}
