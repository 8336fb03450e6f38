/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The schema of policy files, and messages about what does not fit it. Library only. */
#ifndef BWL_POLICY_SCHEMA_H
#define BWL_POLICY_SCHEMA_H

#include <cyaml/cyaml.h>
#include "policy_text.h"

/* In it the names of zones, and of host ports in a peer's `ports`, are the field "*". */
extern const cyaml_schema_value_t bwl_policy_schema;

/* v: the mapping that has the key. */
int bwl_schema_bad_key(const cyaml_schema_value_t *v, const char *key, bool twice,
		       struct bwl_err *e);
/* want, got: "MAPPING", "SEQUENCE" or a scalar's type */
int bwl_schema_bad_kind(const char *key, const char *want, const char *got, struct bwl_err *e);
int bwl_schema_empty(const char *key, struct bwl_err *e);

#endif
