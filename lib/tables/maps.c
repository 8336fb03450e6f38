// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/maps.h. */
#include <errno.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/maps.h>
#include "maps/layout.h"

#define BWL_AT_LOAD(entries) (entries)

static const char *const names[] = {
#define X(name, ...) "bwl_" #name "_v1",
	BWL_MAPS(X)
#undef X
};

const char *bwl_pin_name(enum bwl_pin pin)
{
	return pin < _BWL_PIN_MAX ? names[pin] : "?";
}

/* Which kinds belong to a generation: the list's word, as a number. */
enum {
	KIND_SCHEMA,
	KIND_ARRAY,
	KIND_WORDS,
	KIND_PERCPU,
	KIND_HASH,
	KIND_RING,
	KIND_GEN_HASH,
	KIND_GEN_LPM,
	KIND_GEN_BASE,
	KIND_GEN_ARRAY,
};

static const uint8_t kinds[] = {
#define X(name, kind, ...) KIND_##kind,
	BWL_MAPS(X)
#undef X
};

/* As in the list: for a generation's maps the inner one. */
static struct bwl_shape listed(enum bwl_pin pin, const struct bwl_schema *n)
{
	switch (pin) {
#define X(name, kind, key, value, entries, ...)                                                    \
	case BWL_PIN_##name:                                                                       \
		return (struct bwl_shape){ BWL_TYPE_##kind, BWL_FLAGS_##kind, sizeof(key),         \
					   sizeof(value), (uint32_t)(entries) };
		BWL_MAPS(X)
#undef X
	default:
		return (struct bwl_shape){ 0 };
	}
}

struct bwl_shape bwl_pin_shape(enum bwl_pin pin, const struct bwl_schema *n)
{
	struct bwl_shape s = listed(pin, n);

	if (bwl_inner_shape(pin, NULL))
		return (struct bwl_shape){ BPF_MAP_TYPE_ARRAY_OF_MAPS, 0, sizeof(__u32),
					   sizeof(__u32), BWL_GENERATIONS };
	if (s.type == BPF_MAP_TYPE_RINGBUF)
		s.key_bytes = s.value_bytes = 0;
	return s;
}

bool bwl_inner_shape(enum bwl_pin pin, struct bwl_shape *ret)
{
	const struct bwl_schema none = { 0 };

	if (pin >= _BWL_PIN_MAX || kinds[pin] < KIND_GEN_HASH)
		return false;
	if (ret)
		*ret = listed(pin, &none);
	return true;
}

int bwl_shape_of(int fd, struct bwl_shape *ret)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	*ret = (struct bwl_shape){ info.type, info.map_flags, info.key_size, info.value_size,
				   info.max_entries };
	return 0;
}

bool bwl_shape_is(const struct bwl_shape *a, const struct bwl_shape *b)
{
	return a->type == b->type && a->flags == b->flags && a->key_bytes == b->key_bytes &&
	       a->value_bytes == b->value_bytes && a->entries == b->entries;
}

struct bwl_schema bwl_schema_new(uint32_t max_peers, uint32_t max_extras, uint32_t max_windows)
{
	return (struct bwl_schema){ .magic = BWL_SCHEMA_MAGIC,
				    .abi = BWL_ABI_VERSION,
				    .max_peers = max_peers,
				    .max_extras = max_extras,
				    .max_windows = max_windows,
				    .layout = bwl_layout() };
}

int bwl_pins_size(struct bpf_object *obj, const struct bwl_schema *n)
{
	struct bpf_map *m;
	int i, r = 0;

	for (i = 0; !r && i < _BWL_PIN_MAX; i++) {
		m = bpf_object__find_map_by_name(obj, bwl_pin_name(i));
		r = m ? bpf_map__set_max_entries(m, bwl_pin_shape(i, n).entries) : -ENOENT;
	}
	return r;
}
