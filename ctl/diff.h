/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a new policy would change. Pure. */
#ifndef BWL_CTL_DIFF_H
#define BWL_CTL_DIFF_H

#include <jansson.h>
#include "bwl/policy.h"

/*
 * {"changed": …, "node": [FIELD…], "host_ports": [ITEM…], "zones": [ITEM…], "peers": [ITEM…]} with
 * ITEM {"name", "change": "added"|"removed"|"changed", "fields": [FIELD…]} and FIELD {"field",
 * "from", "to"} in the words of the policy file; null: absent. Defaults count as their values, and
 * rates as the data plane encodes them.
 */
json_t *ctl_diff(const struct bwl_policy *from, const struct bwl_policy *to, uint64_t now_ns);
/* "+ peer …", "- peer …", "~ peer …: grant rate 1gbit -> 2gbit" */
void ctl_diff_print(json_t *diff, FILE *f);

#endif
