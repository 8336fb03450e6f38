/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A policy's peers by the ids of the pins, which the data plane and the interfaces use. */
#ifndef BWL_IPSEC_NUMBER_H
#define BWL_IPSEC_NUMBER_H

#include "bwl/model.h"
#include "bwl/policy.h"

struct bwl_ipsec_numbers {
	uint32_t *if_id; /* by index of peer; 0: not to be loaded */
	unsigned peers, revoked;
	unsigned unknown; /* not in the policy in force; strict: an error */
	bool by_mark;     /* the tunnel device is a plain one */
	bool numbered;    /* in order of the file, because there are no pins */
};
/* Does argv name it? No names means all. */
bool bwl_ipsec_is_named(const char *name, int argc, char **argv);
/* The peers that argv names, or all. v NULL: no pins. The caller frees if_id. */
int bwl_ipsec_number(const struct bwl_view *v, const struct bwl_policy *pol, bool strict, int argc,
		     char **argv, struct bwl_ipsec_numbers *ret, struct bwl_err *e);

#endif
