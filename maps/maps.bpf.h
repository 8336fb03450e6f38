/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The map definitions, only for the BPF programs, made from list.h. README.md has their table. */
#ifndef BWL_MAPS_MAPS_BPF_H
#define BWL_MAPS_MAPS_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "abi.h"
#include "ctl.h"
#include "event.h"
#include "latency.h"
#include "limit.h"
#include "list.h"
#include "policy.h"
#include "reason.h"
#include "share.h"
#include "tunnel.h"

#define BWL_AT_LOAD(entries) 1 /* bwlimit-load raises it before the maps are made */

#define BWL_DEFINE(map, kind, key_type, value_type, entries)                                       \
	struct {                                                                                   \
		__uint(type, BWL_TYPE_##kind);                                                     \
		__uint(map_flags, BWL_FLAGS_##kind);                                               \
		__uint(max_entries, entries);                                                      \
		__type(key, key_type);                                                             \
		__type(value, value_type);                                                         \
	} map SEC(".maps");

#define BWL_DEFINE_SCHEMA(map, ...) BWL_DEFINE(map, SCHEMA, __VA_ARGS__)
#define BWL_DEFINE_ARRAY(map, ...) BWL_DEFINE(map, ARRAY, __VA_ARGS__)
#define BWL_DEFINE_WORDS(map, ...) BWL_DEFINE(map, WORDS, __VA_ARGS__)
#define BWL_DEFINE_PERCPU(map, ...) BWL_DEFINE(map, PERCPU, __VA_ARGS__)
#define BWL_DEFINE_HASH(map, ...) BWL_DEFINE(map, HASH, __VA_ARGS__)
#define BWL_DEFINE_RING(map, key_type, value_type, bytes)                                          \
	struct {                                                                                   \
		__uint(type, BWL_TYPE_RING);                                                       \
		__uint(max_entries, bytes);                                                        \
	} map SEC(".maps");

#define BWL_DEFINE_GEN(map, kind, key_type, value_type)                                            \
	struct map##_inner {                                                                       \
		__uint(type, BWL_TYPE_##kind);                                                     \
		__uint(map_flags, BWL_FLAGS_##kind);                                               \
		__uint(max_entries, 1);                                                            \
		__uint(key_size, sizeof(key_type));                                                \
		__uint(value_size, sizeof(value_type));                                            \
	};                                                                                         \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);                                          \
		__uint(max_entries, BWL_GENERATIONS);                                              \
		__type(key, __u32);                                                                \
		__array(values, struct map##_inner);                                               \
	} map SEC(".maps");
#define BWL_DEFINE_GEN_HASH(map, key, value, entries) BWL_DEFINE_GEN(map, GEN_HASH, key, value)
#define BWL_DEFINE_GEN_LPM(map, key, value, entries) BWL_DEFINE_GEN(map, GEN_LPM, key, value)
#define BWL_DEFINE_GEN_BASE(map, key, value, entries) BWL_DEFINE_GEN(map, GEN_BASE, key, value)
#define BWL_DEFINE_GEN_ARRAY(map, key, value, entries) BWL_DEFINE_GEN(map, GEN_ARRAY, key, value)

#define X(name, kind, key, value, entries, ...)                                                    \
	BWL_DEFINE_##kind(bwl_##name##_v1, key, value, entries)
BWL_MAPS(X)
#undef X

#endif
