// SPDX-License-Identifier: GPL-2.0-or-later
/* Output that several commands share. */
#include "ctl.h"

void ctl_print_list(const char *kind, const char *key, json_t *value)
{
	json_t *o = bwl_doc(kind);

	json_object_set_new(o, key, value);
	bwl_doc_print(o);
}

void ctl_print_answer(const char *kind, const json_t *answer)
{
	json_t *o = bwl_doc(kind);

	json_object_update(o, (json_t *)answer);
	bwl_doc_print(o);
}

void ctl_warn_shape(const struct bwl_pins *pins)
{
	const char *why = bwl_not_paced(pins);

	if (why)
		bwl_warn("mode shape polices: %s (bwlimit-load attach --pace puts fq there)", why);
}
