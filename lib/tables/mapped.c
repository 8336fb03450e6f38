// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pinned arrays, mapped: as a whole (copied for readers), or single pages if there are few
 * peers. The kernel maps all pages of an array at once: 16 ms for a million peers on a machine of
 * 2026; a page takes 10 µs. So an edit of one peer among a million maps only that peer's pages.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <bwl/map_once.h>
#include <bwl/pages.h>
#include <bwl/reader.h>
#include "mapped.h"

/* The offset in struct bwl_pins of the mapped array; 0: the map is not mapped. */
static const uint16_t mapped_at[_BWL_PIN_MAX] = {
#define BWL_AT(name) [BWL_PIN_##name] = offsetof(struct bwl_pins, name),
#undef BWL_MAPPED_ARRAY
#undef BWL_MAPPED_WORDS
#define BWL_MAPPED_ARRAY(name, type) BWL_AT(name)
#define BWL_MAPPED_WORDS(name, type) BWL_AT(name)
#define X(name, kind, key, value, ...) BWL_MAPPED_##kind(name, value)
	BWL_MAPS(X)
#undef X
};

/* Arrays with at least one entry per peer. */
static const bool of_peers[_BWL_PIN_MAX] = {
	[BWL_PIN_gate] = true,  [BWL_PIN_name] = true, [BWL_PIN_nameid] = true,
	[BWL_PIN_state] = true, [BWL_PIN_mark] = true, [BWL_PIN_tunnel] = true,
};

static void **mapped(const struct bwl_pins *p, enum bwl_pin pin)
{
	return (void **)((char *)(uintptr_t)p + mapped_at[pin]);
}

/* Entries are at multiples of 8. */
static size_t entry_bytes(const struct bwl_pins *p, enum bwl_pin pin)
{
	return (bwl_pin_shape(pin, &p->schema).value_bytes + 7) / 8 * 8;
}

static size_t mapped_bytes(const struct bwl_pins *p, enum bwl_pin pin)
{
	return bwl_page_round(entry_bytes(p, pin) * bwl_pin_shape(pin, &p->schema).entries,
			      bwl_page_bytes());
}

static int prot_if(bool writable)
{
	return PROT_READ | (writable ? PROT_WRITE : 0);
}

void *bwl_reserve(size_t bytes)
{
	return mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

int bwl_map_entry(void *array, size_t entry, uint32_t i, int prot, int fd)
{
	struct bwl_pages at = bwl_pages_of(entry, i, bwl_page_bytes());

	if (mmap((char *)array + at.from, at.bytes, prot, MAP_SHARED | MAP_FIXED, fd,
		 (off_t)at.from) == MAP_FAILED)
		return -errno;
	return 0;
}

static int cannot(enum bwl_pin pin, int err, struct bwl_err *e)
{
	return bwl_fail(e, err, "cannot map %s: %s", bwl_pin_name(pin), strerror(err));
}

int bwl_mapped_open(struct bwl_pins *p, struct bwl_err *e)
{
	enum bwl_pin pin;
	void *m;

	for (pin = 0; pin < _BWL_PIN_MAX; pin++) {
		if (!mapped_at[pin])
			continue;
		m = p->few && of_peers[pin] ? bwl_reserve(mapped_bytes(p, pin))
		    : p->copied ? bwl_map_array(p->fd[pin], mapped_bytes(p, pin), p->writable, true)
				: bwl_map_once(p->fd[pin], mapped_bytes(p, pin), p->writable);
		if (m == MAP_FAILED)
			return cannot(pin, errno, e);
		*mapped(p, pin) = m;
	}
	return 0;
}

void bwl_mapped_close(struct bwl_pins *p)
{
	enum bwl_pin pin;

	for (pin = 0; pin < _BWL_PIN_MAX; pin++)
		if (mapped_at[pin] && *mapped(p, pin))
			bwl_unmap_once(*mapped(p, pin), mapped_bytes(p, pin));
}

int bwl_pins_touch(const struct bwl_pins *p, enum bwl_pin pin, uint32_t i)
{
	if (!p->few || !of_peers[pin])
		return 0;
	return bwl_map_entry(*mapped(p, pin), entry_bytes(p, pin), i, prot_if(p->writable),
			     p->fd[pin]);
}

int bwl_pins_touch_peer(const struct bwl_pins *p, uint32_t id, struct bwl_err *e)
{
	int r = bwl_pins_touch(p, BWL_PIN_gate, id);

	if (!r)
		r = bwl_pins_touch(p, BWL_PIN_name, id);
	if (!r)
		r = bwl_pins_touch(p, BWL_PIN_state, bwl_grant_state(id)); /* accept's is beside */
	if (!r)
		r = bwl_pins_touch(p, BWL_PIN_mark, bwl_grant_state(id));
	return r ? cannot(BWL_PIN_gate, -r, e) : 0;
}

int bwl_pins_whole(struct bwl_pins *p, struct bwl_err *e)
{
	enum bwl_pin pin;

	for (pin = 0; p->few && pin < _BWL_PIN_MAX; pin++)
		if (of_peers[pin] &&
		    mmap(*mapped(p, pin), mapped_bytes(p, pin), prot_if(p->writable),
			 MAP_SHARED | MAP_FIXED, p->fd[pin], 0) == MAP_FAILED)
			return cannot(pin, errno, e);
	p->few = false;
	return 0;
}

int bwl_gen_touch(const struct bwl_gen *g, uint32_t peer_at, uint32_t sub_at)
{
	int r;

	if (!g->few)
		return 0;
	r = bwl_map_entry(g->peer, sizeof(*g->peer), peer_at, prot_if(g->writable), g->peer_fd);
	if (!r && sub_at)
		r = bwl_map_entry(g->sub, sizeof(*g->sub), sub_at, prot_if(g->writable), g->sub_fd);
	return r;
}
