// SPDX-License-Identifier: GPL-2.0-or-later
/* See number.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/text.h"
#include "number.h"

bool bwl_ipsec_is_named(const char *name, int argc, char **argv)
{
	return !argc || bwl_is_listed((const char *const *)argv, (unsigned)argc, name);
}

int bwl_ipsec_number(const struct bwl_view *v, const struct bwl_policy *pol, bool strict, int argc,
		     char **argv, struct bwl_ipsec_numbers *ret, struct bwl_err *e)
{
	int r = 0;

	*ret = (struct bwl_ipsec_numbers){ .numbered = !v,
					   .if_id = calloc(pol->npeers + 1, sizeof(uint32_t)) };
	if (!ret->if_id)
		return bwl_fail(e, ENOMEM, "out of memory");
	ret->by_mark = v && bwl_is_by_mark(v->pins);
	for (size_t i = 0; !r && i < pol->npeers; i++) {
		const struct bwl_pol_peer *x = &pol->peers[i];
		const struct bwl_peer *body;
		uint32_t id;

		if (!*x->ipsec_remote || !bwl_ipsec_is_named(x->name, argc, argv))
			continue;
		id = v ? bwl_peer_id(v->pins, &v->gen, x->name) : ret->peers + 1;
		if (!id && !strict) {
			ret->unknown++;
			continue;
		}
		if (!id) {
			bwl_fail(e, ENOENT, "peer %s is not in the policy in force", x->name);
			r = bwl_hint(e, "first: bwlimit-ctl policy apply FILE");
			break;
		}
		body = v ? bwl_body(v->pins, &v->gen, id) : NULL;
		if (body && bwl_standing(v, id, body) == BWL_STAND_REVOKED) {
			ret->revoked++;
			continue;
		}
		ret->if_id[i] = id;
		ret->peers++;
	}
	return r;
}
