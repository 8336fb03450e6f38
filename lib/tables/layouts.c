// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which layouts there are and what was different in them: see bwl/maps.h. A file of its own, so
 * that a test can have it with layouts that never were (tests/prog/invented.c).
 */
#include <bwl/maps.h>

#define BWL_AT_LOAD(entries) (entries)
#ifndef BWL_LAYOUTS_INVENTED
#define BWL_LAYOUTS_INVENTED(X)
#define BWL_MAPS_BEFORE_INVENTED(X)
#endif

static const struct {
	unsigned number;
	uint64_t layout;
} layouts[] = {
#define X(number, layout, who) { number, layout },
	BWL_LAYOUTS_INVENTED(X) BWL_LAYOUTS(X)
#undef X
};
#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

/* In the order of the layouts: the first one that the set's layout does not exceed counts. */
static const struct {
	enum bwl_pin pin;
	unsigned until;
	uint32_t value_bytes, entries;
} shapes[] = {
#define X(name, until, value, n) { BWL_PIN_##name, until, value, n },
	BWL_MAPS_BEFORE_INVENTED(X) BWL_MAPS_BEFORE(X)
#undef X
		{ .pin = _BWL_PIN_MAX }, /* the end */
};

unsigned bwl_pin_since(enum bwl_pin pin)
{
	static const unsigned since[] = {
#define X(name, kind, key, value, entries, from, ...) from,
		BWL_MAPS(X)
#undef X
	};

	return pin < _BWL_PIN_MAX ? since[pin] : ~0U;
}

unsigned bwl_layout_number(uint64_t layout)
{
	unsigned i;

	for (i = 0; i < LAYOUTS; i++)
		if (layouts[i].layout == layout)
			return layouts[i].number;
	return 0;
}

bool bwl_layout_is_gone(uint64_t layout)
{
	static const uint64_t gone[] = { BWL_LAYOUTS_GONE };
	unsigned i;

	for (i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		if (gone[i] == layout)
			return true;
	return false;
}

unsigned bwl_layout_now(void)
{
	return layouts[LAYOUTS - 1].number;
}

unsigned bwl_layout_first(void)
{
	return layouts[0].number;
}

bool bwl_shape_before(enum bwl_pin pin, unsigned layout, struct bwl_shape *io)
{
	unsigned i;

	for (i = 0; shapes[i].pin != _BWL_PIN_MAX; i++)
		if (shapes[i].pin == pin && layout <= shapes[i].until) {
			io->value_bytes = shapes[i].value_bytes;
			if (shapes[i].entries)
				io->entries = shapes[i].entries;
			return true;
		}
	return false;
}
