// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The expelled trays, according to all accepted documents: an expulsion that names a tray holds
 * until an enrolment of the tray that was signed later, in whichever order the two arrive.
 */
#include <errno.h>
#include <string.h>
#include <bwl/identity.h>
#include "signed/memory_parts.h"
#include "signed/payload.h"

static struct memory_expelled *find(const struct bwl_memory *m, const char *tray)
{
	for (size_t i = 0; i < m->nexpelled; i++)
		if (!strcmp(m->expelled[i].tray, tray))
			return &m->expelled[i];
	return NULL;
}

/*
 * Names whose letters differ only in their case are one identity to charon: an expulsion of either
 * closes both. An enrolment opens only what has exactly its name.
 */
bool bwl_memory_is_expelled(const struct bwl_memory *m, const char *name, const char *id)
{
	for (size_t i = 0; i < m->nexpelled; i++)
		if (bwl_identity_is_peer(m->expelled[i].tray, name, id))
			return true;
	return false;
}

const char *bwl_memory_expelled_as(const struct bwl_memory *m, const char *name)
{
	for (size_t i = 0; i < m->nexpelled; i++)
		if (bwl_identity_is_peer(m->expelled[i].tray, name, NULL))
			return m->expelled[i].tray;
	return NULL;
}

bool bwl_memory_destroys(const struct bwl_memory *m)
{
	const struct memory_expelled *x = find(m, m->tray.name);

	return x && x->enough;
}

/* An enrolment of another tray has that tray's name; one of this tray may have any name. */
static bool is_enrolment_of(const struct bwl_memory *m, const struct bwl_memory_item *it,
			    const char *tray)
{
	return it->type == BWL_SIGNED_ENROLMENT &&
	       (it->other ? !strcmp(it->name, tray) : !strcmp(m->tray.name, tray));
}

bool bwl_memory_expels(const struct bwl_memory *m, const struct bwl_signed *d)
{
	const char *tray = bwl_payload_text(d->body, "tray");

	for (size_t i = 0; i < m->nitems; i++)
		if (is_enrolment_of(m, &m->item[i], tray) && m->item[i].epoch >= d->terms.epoch &&
		    m->item[i].issued_s > d->terms.issued_s)
			return false;
	return true;
}

int memory_expel(struct bwl_memory *m, const struct bwl_signed *d, struct bwl_err *e)
{
	const char *tray = bwl_payload_text(d->body, "tray");
	struct memory_expelled *x = find(m, tray);

	if (!bwl_memory_expels(m, d))
		return 0;
	if (!x && m->nexpelled == MEMORY_MAX) {
		bwl_fail(e, ENOSPC, "%d trays are expelled already: there is no room for more",
			 MEMORY_MAX);
		return bwl_hint(e, "enrol this tray again");
	}
	if (!x) {
		m->expelled = bwl_must(
			reallocarray(m->expelled, m->nexpelled + 1, sizeof(*m->expelled)));
		x = &m->expelled[m->nexpelled++];
		*x = (struct memory_expelled){ 0 };
		strcpy(x->tray, tray);
	}
	if (d->terms.issued_s > x->issued_s) {
		x->issued_s = d->terms.issued_s;
		x->epoch = d->terms.epoch;
	}
	x->enough |= d->enough;
	return 0;
}

bool bwl_memory_seconds(const struct bwl_memory *m, const struct bwl_signed *d)
{
	const struct memory_expelled *x = d->type == BWL_SIGNED_EXPULSION
						  ? find(m, bwl_payload_text(d->body, "tray"))
						  : NULL;

	return x && d->enough && !x->enough && bwl_memory_expels(m, d);
}

void bwl_memory_second(struct bwl_memory *m, const struct bwl_signed *d)
{
	find(m, bwl_payload_text(d->body, "tray"))->enough = true;
	m->seq++;
}

bool bwl_memory_readmits(const struct bwl_memory *m, const struct bwl_signed *d)
{
	const struct memory_expelled *x = d->type == BWL_SIGNED_ENROLMENT
						  ? find(m, bwl_payload_text(d->body, "tray"))
						  : NULL;

	return x && d->terms.epoch >= x->epoch && d->terms.issued_s > x->issued_s;
}

void memory_readmit(struct bwl_memory *m, const struct bwl_signed *d)
{
	if (!bwl_memory_readmits(m, d))
		return;
	*find(m, bwl_payload_text(d->body, "tray")) = m->expelled[m->nexpelled - 1];
	m->nexpelled--;
}
