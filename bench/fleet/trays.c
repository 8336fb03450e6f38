// SPDX-License-Identifier: GPL-2.0-or-later
/* See trays.h. */
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bwl/clock.h>
#include <bwl/tables.h>
#include "trays.h"

#define TRAYS_MAX 256

struct trays {
	struct bwl_pins *pins[TRAYS_MAX];
	bool seen[TRAYS_MAX];
	unsigned n;
	uint64_t last_ns;
};

struct trays *trays_open(char *dirs)
{
	struct trays *t = bwl_must(calloc(1, sizeof(*t)));
	struct bwl_err e = { 0 };
	char *at;

	for (char *dir = strtok_r(dirs, ",", &at); dir && t->n < TRAYS_MAX;
	     dir = strtok_r(NULL, ",", &at))
		if (bwl_pins_open(dir, true, &t->pins[t->n++], &e)) {
			bwl_err_print(&e, "bench-fleet", false);
			exit(1);
		}
	return t;
}

unsigned trays_count(const struct trays *t)
{
	return t->n;
}

uint64_t trays_last_ns(const struct trays *t)
{
	return t->last_ns;
}

void trays_begin(struct trays *t)
{
	memset(t->seen, 0, sizeof(t->seen));
	t->last_ns = 0;
}

static bool has(struct bwl_pins *p, const char *peer)
{
	uint32_t slot = bwl_active_slot(p), id;
	struct bwl_gen g;
	bool ret;

	if (slot == BWL_NO_SLOT || bwl_gen_open(p, slot, &g, NULL))
		return false;
	id = bwl_peer_id(p, &g, peer);
	ret = id && bwl_body(p, &g, id);
	bwl_gen_close(&g);
	return ret;
}

static bool is_revoked(struct bwl_pins *p, const char *peer)
{
	uint32_t id = bwl_name_id(p, peer);
	struct bwl_peer_ref ref;

	return id && !bpf_map_lookup_elem(p->fd[BWL_PIN_gate], &id, &ref) && ref.revoked;
}

static unsigned count(struct trays *t, const char *peer,
		      bool (*is)(struct bwl_pins *p, const char *peer))
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->n; i++) {
		if (!t->seen[i] && is(t->pins[i], peer)) {
			t->seen[i] = true;
			t->last_ns = bwl_now_ns();
		}
		n += t->seen[i];
	}
	return n;
}

unsigned trays_have(struct trays *t, const char *peer)
{
	return count(t, peer, has);
}

unsigned trays_revoked(struct trays *t, const char *peer)
{
	return count(t, peer, is_revoked);
}
