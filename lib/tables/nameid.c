// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds a name's id by the table in bwl_nameid_v1. Cells are hints, the names decide:
 * - a name is written before its cell, and what a cell leads to is compared with the name;
 * - whoever finds nothing searches all names (bwl_peer_id(), bwl_revoke()); a writer then notes it;
 * - a name that is removed leaves its cell; every new policy makes the table anew.
 * So a writer may be killed at any point, and readers need no lock.
 */
#include <errno.h>
#include <string.h>
#include <bwl/pins.h>

static uint32_t cells(const struct bwl_pins *p)
{
	return 2 * p->schema.max_peers;
}

/* FNV-1a, folded. The product's upper half selects the cell. */
static uint32_t home(const struct bwl_pins *p, const char *name)
{
	uint64_t h = 0xcbf29ce484222325ULL;
	unsigned i;

	for (i = 0; i < BWL_NAME_LEN && name[i]; i++)
		h = (h ^ (uint8_t)name[i]) * 0x100000001b3ULL;
	return (uint32_t)((uint64_t)(uint32_t)(h ^ h >> 32) * cells(p) >> 32);
}

/* NULL: it could not be mapped. */
static __u32 *cell(const struct bwl_pins *p, uint32_t at)
{
	return bwl_pins_touch(p, BWL_PIN_nameid, at / 2) ? NULL : &p->nameid[at / 2].cell[at % 2];
}

uint32_t bwl_name_id(const struct bwl_pins *p, const char *name)
{
	uint32_t at = home(p, name), n, id;
	const __u32 *c;

	for (n = 0; *name && n < cells(p); n++, at = at + 1 < cells(p) ? at + 1 : 0) {
		c = cell(p, at);
		id = c ? __atomic_load_n(c, __ATOMIC_ACQUIRE) : 0;
		if (!id)
			break;
		if (id < p->schema.max_peers && !bwl_pins_touch(p, BWL_PIN_name, id) &&
		    !strncmp(p->name[id].name, name, BWL_NAME_LEN))
			return id;
	}
	return 0;
}

void bwl_name_note(struct bwl_pins *p, uint32_t id)
{
	uint32_t at = home(p, p->name[id].name), n;
	__u32 *c;

	for (n = 0; n < cells(p); n++, at = at + 1 < cells(p) ? at + 1 : 0) {
		c = cell(p, at);
		if (!c || *c == id)
			return;
		if (!*c) {
			__atomic_store_n(c, id, __ATOMIC_RELEASE);
			return;
		}
	}
}

void bwl_names_note_all(struct bwl_pins *p)
{
	uint32_t id;

	memset(p->nameid, 0, sizeof(*p->nameid) * p->schema.max_peers);
	for (id = 1; id < p->schema.max_peers; id++)
		if (p->name[id].name[0])
			bwl_name_note(p, id);
}
