/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A counter in a TPM 2.0 (an NV index of type counter), queried on a separate thread: a hanging TPM
 * delays only the query.
 *
 * The index has a random tag as its authPolicy, which nothing satisfies: it is part of the index's
 * name, and distinguishes this ledger's counter from any other. A counter that is deleted and
 * defined again continues above the highest count of any counter of that TPM (TPM 2.0 Part 1,
 * 37.2.4.3).
 */
#ifndef BWL_TPM_H
#define BWL_TPM_H

#include <stdbool.h>
#include <stdint.h>
#include "bwl/err.h"

#define TPM_TAG 32
#define TPM_INDEX 0x01b77114U /* of the owner's range */
#define TPM_TCTI "device:/dev/tpmrm0"

struct tpm_state {
	bool has_index; /* with a count; one that was never raised is deleted by the query */
	uint8_t tag[TPM_TAG];
	uint64_t count; /* !has_index: the highest count of any counter */
};

struct tpm;
bool tpm_is_built(void); /* with tpm2-tss */
int tpm_new(const char *tcti, struct tpm **ret, struct bwl_err *e);
void tpm_free(struct tpm *t); /* NULL-safe; does not wait */

/* One query at a time; -EBUSY: the last one is not answered yet. */
int tpm_look(struct tpm *t);
/* The same, without changing the TPM: !has_index then tells no count. */
int tpm_peek(struct tpm *t);
/* Raises to `to`, if it is less; defined with this tag if there is none. */
int tpm_raise(struct tpm *t, const uint8_t tag[TPM_TAG], uint64_t to);
/* -EINPROGRESS: no answer yet. Each answer is given once. */
int tpm_answer(struct tpm *t, struct tpm_state *ret, struct bwl_err *e);
/* For callers with nothing else to do: peeks, and waits up to that long. */
int tpm_peek_within(const char *tcti, uint64_t ns, struct tpm_state *ret, struct bwl_err *e);

/* We report what tpm2-tss would write to stderr. */
void tpm_quiet(void);
/* BWLIMIT_TPM_TCTI, or TPM_TCTI */
const char *tpm_tcti(void);

#endif
