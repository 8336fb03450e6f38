/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the agent: one question to the TPM, from its opening to its closing; may take for ever. */
#ifndef BWL_AGENT_TPM_ASK_H
#define BWL_AGENT_TPM_ASK_H

#include "tpm.h"

struct tpm_question {
	char tcti[200];
	bool raise;		/* else: look */
	uint8_t tag[TPM_TAG];
	uint64_t to;
};

int tpm_ask(const struct tpm_question *q, struct tpm_state *ret, struct bwl_err *e);

#endif
