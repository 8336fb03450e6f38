/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts of maps/list.h for tools: the maps and their shapes. Independent of a policy or a pin.
 */
#ifndef BWL_MAPS_H
#define BWL_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include "maps/abi.h"
#include "maps/list.h"

enum bwl_pin {
#define X(name, ...) BWL_PIN_##name,
	BWL_MAPS(X)
#undef X
		_BWL_PIN_MAX
};
/* "bwl_schema_v1" … ; the pin is <dir>/maps/<name>. */
const char *bwl_pin_name(enum bwl_pin pin);

struct bwl_shape {
	uint32_t type, flags, key_bytes, value_bytes, entries;
};

/*
 * The shape of a pinned map with tables of these sizes. A generation's map is an array of maps, and
 * bwl_inner_shape() gives the inner shape: entries 0: they differ; false: not a generation's map.
 */
struct bwl_shape bwl_pin_shape(enum bwl_pin pin, const struct bwl_schema *n);
bool bwl_inner_shape(enum bwl_pin pin, struct bwl_shape *ret);
/* As the kernel reports it; 0 or a negative errno. */
int bwl_shape_of(int fd, struct bwl_shape *ret);
bool bwl_shape_is(const struct bwl_shape *a, const struct bwl_shape *b);

/* The first layout with this map. */
unsigned bwl_pin_since(enum bwl_pin pin);
/* The layout's number; 0: unknown to this program. */
unsigned bwl_layout_number(uint64_t layout);
/* Of a version before 0.3.0, from which no upgrade leads here. */
bool bwl_layout_is_gone(uint64_t layout);
unsigned bwl_layout_now(void);
/* The earliest one that this program knows. */
unsigned bwl_layout_first(void);
/*
 * The shape that the map (or a generation's inner map) had in this layout, if it was different;
 * false: it was the same as in this program.
 */
bool bwl_shape_before(enum bwl_pin pin, unsigned layout, struct bwl_shape *io);

struct bpf_object;
/* The schema of new maps of these sizes. */
struct bwl_schema bwl_schema_new(uint32_t max_peers, uint32_t max_extras, uint32_t max_windows);
/* Sizes an object's maps before it is loaded; 0 or a negative errno. */
int bwl_pins_size(struct bpf_object *obj, const struct bwl_schema *n);

#endif
