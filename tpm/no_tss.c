// SPDX-License-Identifier: GPL-2.0-or-later
/* Built without tpm2-tss: no TPM ever answers. */
#include <errno.h>
#include "question.h"

bool tpm_is_built(void)
{
	return false;
}

int tpm_ask(const struct tpm_question *q, struct tpm_state *ret, struct bwl_err *e)
{
	(void)q, (void)ret;
	return bwl_fail(e, EOPNOTSUPP, "built without tpm2-tss");
}
