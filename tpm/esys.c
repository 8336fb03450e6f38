// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The TPM through tpm2-tss (ESAPI). Anybody who can open the TPM (root, group tss) may read and
 * raise the index: that does harm, but gives nothing back. Not ORDERLY: such a counter jumps ahead
 * after a power cut.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <endian.h>
#include <tss2/tss2_esys.h>
#include <tss2/tss2_rc.h>
#include <tss2/tss2_tctildr.h>
#include "question.h"

#define ATTRIBUTES                                                                                 \
	((TPM2_NT_COUNTER << TPMA_NV_TPM2_NT_SHIFT) | TPMA_NV_AUTHREAD | TPMA_NV_AUTHWRITE |       \
	 TPMA_NV_OWNERREAD | TPMA_NV_NO_DA)
/* The tag of a temporary index that is only there to learn the highest count. */
static const uint8_t probe[TPM_TAG] = "bwlimit: a probe, to be deleted";

struct conn {
	const char *tcti_name;
	TSS2_TCTI_CONTEXT *tcti;
	ESYS_CONTEXT *esys;
	ESYS_TR index; /* ESYS_TR_NONE: there is none */
	struct bwl_err *e;
};

bool tpm_is_built(void)
{
	return true;
}

static int fail(struct conn *c, TSS2_RC rc, const char *what)
{
	return bwl_fail(c->e, EIO, "the TPM at %.100s: %s: %.200s", c->tcti_name, what,
			Tss2_RC_Decode(rc));
}

static int begin(struct conn *c)
{
	TSS2_RC rc = Tss2_TctiLdr_Initialize(c->tcti_name, &c->tcti);

	if (rc)
		return fail(c, rc, "cannot be opened");
	rc = Esys_Initialize(&c->esys, c->tcti, NULL);
	return rc ? fail(c, rc, "does not respond") : 0;
}

static void end(struct conn *c)
{
	Esys_Finalize(&c->esys);
	Tss2_TctiLdr_Finalize(&c->tcti);
}

static int find(struct conn *c)
{
	TSS2_RC rc = Esys_TR_FromTPMPublic(c->esys, TPM_INDEX, ESYS_TR_NONE, ESYS_TR_NONE,
					   ESYS_TR_NONE, &c->index);

	if (!rc)
		return 0;
	c->index = ESYS_TR_NONE;
	/* of the TPM itself, whichever handle it complains about */
	return (rc & ~TPM2_RC_N_MASK) == TPM2_RC_HANDLE ? 0
							: fail(c, rc, "cannot report the counter");
}

static int define(struct conn *c, const uint8_t tag[TPM_TAG])
{
	TPM2B_NV_PUBLIC pub = { .nvPublic = { .nvIndex = TPM_INDEX,
					      .nameAlg = TPM2_ALG_SHA256,
					      .attributes = ATTRIBUTES,
					      .dataSize = 8,
					      .authPolicy = { .size = TPM_TAG } } };
	const TPM2B_AUTH none = { 0 };
	TSS2_RC rc;

	memcpy(pub.nvPublic.authPolicy.buffer, tag, TPM_TAG);
	rc = Esys_NV_DefineSpace(c->esys, ESYS_TR_RH_OWNER, ESYS_TR_PASSWORD, ESYS_TR_NONE,
				 ESYS_TR_NONE, &none, &pub, &c->index);
	return rc ? fail(c, rc, "cannot make a counter (does the owner hierarchy have a password?)")
		  : 0;
}

static int undefine(struct conn *c)
{
	TSS2_RC rc = Esys_NV_UndefineSpace(c->esys, ESYS_TR_RH_OWNER, c->index, ESYS_TR_PASSWORD,
					   ESYS_TR_NONE, ESYS_TR_NONE);

	c->index = ESYS_TR_NONE;
	return rc ? fail(c, rc, "cannot delete a counter that is not in use") : 0;
}

static int increment(struct conn *c)
{
	TSS2_RC rc = Esys_NV_Increment(c->esys, c->index, c->index, ESYS_TR_PASSWORD, ESYS_TR_NONE,
				       ESYS_TR_NONE);

	return rc ? fail(c, rc, "cannot raise the counter") : 0;
}

static int count(struct conn *c, uint64_t *ret)
{
	TPM2B_MAX_NV_BUFFER *data;
	TSS2_RC rc = Esys_NV_Read(c->esys, c->index, c->index, ESYS_TR_PASSWORD, ESYS_TR_NONE,
				  ESYS_TR_NONE, 8, 0, &data);
	int r = 0;

	if (rc)
		return fail(c, rc, "cannot read the counter");
	if (data->size == 8) {
		memcpy(ret, data->buffer, 8);
		*ret = be64toh(*ret);
	} else {
		r = bwl_fail(c->e, EIO, "the TPM at %.100s: its counter has %u bytes", c->tcti_name,
			     data->size);
	}
	Esys_Free(data);
	return r;
}

/* An index of ours that was never raised means nothing, like what is left of a probe. */
static int judge(struct conn *c, const TPMS_NV_PUBLIC *pub, bool tidy, struct tpm_state *ret)
{
	if ((pub->attributes & ~TPMA_NV_WRITTEN) != ATTRIBUTES || pub->authPolicy.size != TPM_TAG)
		return bwl_fail(c->e, EEXIST,
				"the TPM at %.100s: NV index %#x belongs to another program",
				c->tcti_name, TPM_INDEX);
	if (!(pub->attributes & TPMA_NV_WRITTEN) || !memcmp(pub->authPolicy.buffer, probe, TPM_TAG))
		return tidy ? undefine(c) : 0;
	memcpy(ret->tag, pub->authPolicy.buffer, TPM_TAG);
	ret->has_index = true;
	return count(c, &ret->count);
}

static int read_index(struct conn *c, bool tidy, struct tpm_state *ret)
{
	TPM2B_NV_PUBLIC *pub;
	TSS2_RC rc;
	int r;

	memset(ret, 0, sizeof(*ret));
	if (c->index == ESYS_TR_NONE)
		return 0;
	rc = Esys_NV_ReadPublic(c->esys, c->index, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &pub,
				NULL);
	if (rc)
		return fail(c, rc, "cannot describe the counter");
	r = judge(c, &pub->nvPublic, tidy, ret);
	Esys_Free(pub);
	return r;
}

/* The count above which a counter made now would begin. */
static int highest(struct conn *c, uint64_t *ret)
{
	int r = define(c, probe);

	if (!r)
		r = increment(c);
	if (!r)
		r = count(c, ret);
	return r ? r : undefine(c);
}

static int look(struct conn *c, bool peek, struct tpm_state *ret)
{
	int r = find(c);

	if (!r)
		r = read_index(c, !peek, ret);
	return r || peek || ret->has_index ? r : highest(c, &ret->count);
}

static int raise_to(struct conn *c, const struct tpm_question *q, struct tpm_state *ret)
{
	int r = find(c);

	if (!r)
		r = read_index(c, true, ret);
	if (!r && ret->has_index && memcmp(ret->tag, q->tag, TPM_TAG))
		return bwl_fail(c->e, EEXIST,
				"the TPM at %.100s: its counter was created again meanwhile",
				c->tcti_name);
	if (r || (ret->has_index && ret->count >= q->to))
		return r;
	if (!ret->has_index)
		r = define(c, q->tag);
	if (!r)
		r = increment(c);
	ret->has_index = true;
	memcpy(ret->tag, q->tag, TPM_TAG);
	return r ? r : count(c, &ret->count);
}

int tpm_ask(const struct tpm_question *q, struct tpm_state *ret, struct bwl_err *e)
{
	struct conn c = { .tcti_name = q->tcti, .index = ESYS_TR_NONE, .e = e };
	int r = begin(&c);

	if (!r)
		r = q->what == TPM_RAISE ? raise_to(&c, q, ret)
					 : look(&c, q->what == TPM_PEEK, ret);
	end(&c);
	return r;
}
