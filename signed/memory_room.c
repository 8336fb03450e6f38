// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How many documents are remembered, and which are forgotten for a new one. Each kind has its own
 * room, so that whoever can sign only one kind (the online key; one person) takes no room from the
 * others, and there is always room for closing documents.
 */
#include <string.h>
#include "signed/closing.h"
#include "signed/memory_parts.h"

enum room { ROOM_ONLINE, ROOM_CLOSES, ROOM_OPENS, _ROOM_MAX };

static const struct {
	size_t most;
	const char *what;
} rooms[_ROOM_MAX] = {
	[ROOM_ONLINE] = { 256, "of the online key" },
	[ROOM_CLOSES] = { 768, "that close" },
	[ROOM_OPENS] = { MEMORY_MAX - 256 - 768, "that people signed" },
};

static enum room room_of(enum bwl_signed_type t)
{
	if (bwl_signed_role(t) == BWL_ROLE_ONLINE)
		return ROOM_ONLINE;
	return bwl_closes(t) ? ROOM_CLOSES : ROOM_OPENS;
}

struct bwl_memory_item *memory_find(const struct bwl_memory *m, enum bwl_signed_type type,
				    const char *name)
{
	for (size_t i = 0; i < m->nitems; i++)
		if (m->item[i].type == type && !strcmp(m->item[i].name, name))
			return &m->item[i];
	return NULL;
}

/*
 * Closing documents are told apart by content, too: if only the name counted, one person's later
 * document would take the place of another person's that has not arrived here, and would not close
 * what that one closes.
 */
struct bwl_memory_item *memory_find_same(const struct bwl_memory *m, const struct bwl_signed *d)
{
	static const struct bwl_digest unknown; /* from an earlier version: the name decides */
	struct bwl_memory_item *best = NULL;
	struct bwl_digest what;

	if (!bwl_closes(d->type))
		return memory_find(m, d->type, d->terms.name);
	bwl_closing_what(d, what.b);
	for (size_t i = 0; i < m->nitems; i++) {
		struct bwl_memory_item *it = &m->item[i];

		if (it->type != d->type || strcmp(it->name, d->terms.name))
			continue;
		if (!memcmp(&it->what, &what, sizeof(what)))
			return it;
		if (!memcmp(&it->what, &unknown, sizeof(unknown)))
			best = it;
	}
	return best;
}

const struct bwl_memory_item *memory_enrolment(const struct bwl_memory *m)
{
	const struct bwl_memory_item *best = NULL;

	for (size_t i = 0; i < m->nitems; i++) {
		const struct bwl_memory_item *it = &m->item[i];

		if (it->type == BWL_SIGNED_ENROLMENT && !it->other &&
		    (!best || it->epoch > best->epoch ||
		     (it->epoch == best->epoch && it->version > best->version)))
			best = it;
	}
	return best;
}

/* When the first of the held policies was signed: an older grant belongs to none of them. */
static int64_t held_since(const struct bwl_memory *m)
{
	int64_t since = INT64_MAX;
	size_t found = 0;

	for (size_t i = 0; i < m->nitems; i++)
		for (size_t k = 0; k < m->nheld; k++) {
			if (memcmp(m->item[i].digest.b, m->held[k].b, 32) != 0)
				continue;
			if (m->item[i].issued_s == INT64_MAX)
				return INT64_MIN; /* unknown: an earlier version did not write it */
			found++;
			if (m->item[i].issued_s < since)
				since = m->item[i].issued_s;
		}
	return found == m->nheld ? since : INT64_MIN;
}

static uint64_t last_rollout(const struct bwl_memory *m)
{
	uint64_t seq = 0;

	for (size_t i = 0; i < m->nitems; i++)
		if (m->item[i].type == BWL_SIGNED_ROLLOUT && m->item[i].seq > seq)
			seq = m->item[i].seq;
	return seq;
}

struct kept {
	const struct bwl_memory_item *enrolment;
	uint64_t rollout;
	int64_t since_s;
};

/* Is it needed even after its end, because it names this tray, is in force, or tightens what is? */
static bool holds(const struct bwl_memory *m, const struct kept *k,
		  const struct bwl_memory_item *it)
{
	for (size_t i = 0; i < m->nheld; i++)
		if (!memcmp(it->digest.b, m->held[i].b, 32))
			return true;
	return it == k->enrolment ||
	       (it->type == BWL_SIGNED_GRANT && it->epoch >= m->epoch &&
		it->issued_s >= k->since_s) ||
	       (it->type == BWL_SIGNED_ROLLOUT && it->seq == k->rollout);
}

/*
 * Forgets the oldest document that can never be taken again: its epoch is over, or it ended by a
 * signed time.
 */
static bool forget_one(struct bwl_memory *m, enum room room)
{
	const struct kept k = { memory_enrolment(m), last_rollout(m), held_since(m) };
	struct bwl_memory_item *old = NULL;

	for (struct bwl_memory_item *it = m->item; it < m->item + m->nitems; it++)
		if (room_of(it->type) == room &&
		    (it->epoch < m->epoch || it->not_after_s <= m->newest_s) &&
		    (!old || it->seq < old->seq) && !holds(m, &k, it))
			old = it;
	if (!old)
		return false;
	memmove(old, old + 1, (size_t)(m->item + m->nitems - old - 1) * sizeof(*old));
	m->nitems--;
	return true;
}

struct bwl_memory_item *memory_item_for(struct bwl_memory *m, const struct bwl_signed *d,
					struct bwl_err *e)
{
	struct bwl_memory_item *i = memory_find_same(m, d);
	enum room room = room_of(d->type);
	size_t n = 0;

	if (i)
		return i;
	for (size_t k = 0; k < m->nitems; k++)
		n += room_of(m->item[k].type) == room;
	if ((n >= rooms[room].most || m->nitems >= MEMORY_MAX) && !forget_one(m, room)) {
		bwl_fail(e, ENOSPC,
			 "%zu documents %s are remembered already, and none may be forgotten yet",
			 n, rooms[room].what);
		bwl_hint(e, "a revocation with `new_epoch` ends them all and makes room");
		return NULL;
	}
	if (m->nitems == m->items_room) {
		m->items_room = m->items_room ? 2 * m->items_room : 16;
		m->item = bwl_must(reallocarray(m->item, m->items_room, sizeof(*m->item)));
	}
	return &m->item[m->nitems++];
}
