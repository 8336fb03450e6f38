// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of the top level, of a zone and of a peer, made from the lists in policy_text.h. */
#include "policy_key.h"

#define KEPT(S, member) .at = offsetof(struct S, member), .size = sizeof(((struct S *)0)->member)
#define PLAIN(...) __VA_ARGS__
#define ROW(S, kind, key, member, T, fields) ROW_##kind(S, key, member, T)
#define ROW_KEY(S, key, member, T) { .name = key, .text = offsetof(struct S, member), PLAIN T },
#define ROW_TEXT(S, key, member, T)
#define ROW_TEXTS(S, key, member, T)
#define ROW_SOME(S, key, member, T)
#define ROW_MAP(S, key, member, T)
#define ROW_MAPS(S, key, member, T)

const struct bwl_key bwl_top_keys[] = { BWL_TOP_KEYS(ROW, bwl_text_policy){ .name = NULL } };
const struct bwl_key bwl_zone_keys[] = { BWL_ZONE_KEYS(ROW, bwl_text_limit){ .name = NULL } };
const struct bwl_key bwl_peer_keys[] = { BWL_PEER_KEYS(ROW, bwl_text_peer){ .name = NULL } };
