/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal: one query to the TPM, from opening to closing; may take for ever. */
#ifndef BWL_TPM_QUESTION_H
#define BWL_TPM_QUESTION_H

#include "tpm.h"

struct tpm_question {
	char tcti[200];
	enum tpm_what { TPM_LOOK, TPM_PEEK, TPM_RAISE } what;
	uint8_t tag[TPM_TAG];
	uint64_t to;
};

int tpm_ask(const struct tpm_question *q, struct tpm_state *ret, struct bwl_err *e);

#endif
