/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of the store as a controller reads them, and closing documents that lie there. */
#ifndef BWL_TEST_CONTROLLER_VIEW_RIG_H
#define BWL_TEST_CONTROLLER_VIEW_RIG_H

#include "../signed/rig.h"
#include <string.h>
#include "view.h"

static inline struct bwl_etcd_kv kv(const char *value, int64_t mod)
{
	return (struct bwl_etcd_kv){ .value = bwl_pb_in(value, strlen(value)), .mod = mod };
}

static inline void lies(struct view *v, enum bwl_doc_kind kind, const char *text)
{
	struct bwl_doc_at place = { .kind = kind, .name = "it" };
	struct bwl_etcd_kv at = kv(text, 1);

	view_document(v, "", &place, &at, NOW);
}

static inline void is_there(struct view *v, enum bwl_signed_type type, json_t *body, unsigned who)
{
	BWL_AUTO_FREE char *text = rig_sign(type, "hall-3", "all", body, who);

	lies(v, type == BWL_SIGNED_EXPULSION ? BWL_DOC_expulsion : BWL_DOC_revocation, text);
}

#endif
