/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts of maps/list.h for tools: which maps there are, and of what shape. Without a policy or
 * a pin.
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
 * Of what is pinned, where the tables are of these sizes. A generation's is an array of maps, and
 * bwl_inner_shape() says of what: entries 0, they differ; false: it is no generation's.
 */
struct bwl_shape bwl_pin_shape(enum bwl_pin pin, const struct bwl_schema *n);
bool bwl_inner_shape(enum bwl_pin pin, struct bwl_shape *ret);
/* As the kernel says; 0 or a negative errno. */
int bwl_shape_of(int fd, struct bwl_shape *ret);
bool bwl_shape_is(const struct bwl_shape *a, const struct bwl_shape *b);

/* The first layout that has the map. */
unsigned bwl_pin_since(enum bwl_pin pin);
/* Its number; 0: this program does not know it. */
unsigned bwl_layout_number(uint64_t layout);
unsigned bwl_layout_now(void);
/*
 * The shape that the map (the inner one of a generation) had in a set of this layout, where it was
 * another one; false: it was this program's.
 */
bool bwl_shape_before(enum bwl_pin pin, unsigned layout, struct bwl_shape *io);

struct bpf_object;
/* The schema of new maps of these sizes. */
struct bwl_schema bwl_schema_new(uint32_t max_peers, uint32_t max_extras, uint32_t max_windows);
/* Sizes of an object's maps, before it is loaded; 0 or a negative errno. */
int bwl_pins_size(struct bpf_object *obj, const struct bwl_schema *n);

#endif
