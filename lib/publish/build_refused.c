// SPDX-License-Identifier: GPL-2.0-or-later
/* What is said of an entry of a policy that the kernel refused. */
#include <stdio.h>
#include <string.h>
#include <bwl/map_io.h>
#include <bwl/prefix.h>
#include "build.h"

int bwl_build_refused(const struct bwl_build *b, enum bwl_pin pin, const struct bwl_pfx *pfx,
		      const char *owner, int err, struct bwl_err *e)
{
	const struct bwl_gen_size *n = &b->written, *of = &b->size;
	struct bwl_map_place at = { .map = bwl_pin_name(pin), .at = 1 };
	char addr[64], what[160];

	switch (pin) {
	case BWL_PIN_dst4:
		at.at += n->dst4, at.of = of->dst4;
		break;
	case BWL_PIN_dst6:
		at.at += n->dst6, at.of = of->dst6;
		break;
	case BWL_PIN_lpm4:
		at.at += n->lpm4, at.of = of->lpm4;
		break;
	case BWL_PIN_lpm6:
		at.at += n->lpm6, at.of = of->lpm6;
		break;
	default:
		at.at += n->own, at.of = of->own;
		break;
	}
	if (pfx) {
		snprintf(what, sizeof(what), "%s of %s", bwl_pfx_format(pfx, addr, sizeof(addr)),
			 owner);
		at.what = what;
	}
	return bwl_map_refused(e, err, &at);
}

void bwl_build_stays(struct bwl_err *e, const char *stays)
{
	size_t n;

	if (!e || !e->id || strcmp(e->id, BWL_MAP_REFUSED) != 0)
		return;
	n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, "; %s", stays);
	bwl_hint(
		e,
		"the DPU lacks memory, or is very busy (free -m): do it again; bwlimitd does so by itself with the policy it was given");
}
