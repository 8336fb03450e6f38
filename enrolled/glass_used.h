/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal: the documents that have broken the glass already. */
#ifndef BWL_ENROLLED_GLASS_USED_H
#define BWL_ENROLLED_GLASS_USED_H

#include <bwl/policy.h>
#include "signed/memory.h"

/*
 * -ESTALE ("signed-old"): it, or a newer one of its name, was used; -EUCLEAN: cannot be determined.
 */
int glass_judge(const char *dir, const struct bwl_signed *d, struct bwl_err *e);
/*
 * On disk when 0 is returned. pol: the policy that it puts in force. m: documents that have ended
 * according to it are forgotten.
 */
int glass_use(const char *dir, const struct bwl_signed *d, const struct bwl_policy *pol,
	      const struct bwl_memory *m, struct bwl_err *e);

#endif
