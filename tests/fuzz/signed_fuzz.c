// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a signed document, as a payload of each type, and as the memory of accepted
 * documents. What is read as an envelope is written again with the same meaning; nothing unsigned
 * is verified.
 */
#include "fuzz.h"
#include "signed/envelope.h"
#include "signed/memory.h"
#include "signed/payload.h"

static void envelope(const char *text, size_t size)
{
	struct bwl_envelope v, w;
	struct bwl_signed d;
	struct bwl_err e;
	char *again;
	size_t len;

	if (!bwl_signed_peek(text, size, &d, &e)) {
		must(d.body != NULL && *d.terms.name && d.terms.version, "it has terms");
		must(!d.people && !d.enough, "nobody has signed what was not verified");
		bwl_signed_free(&d);
	}
	if (bwl_envelope_parse(text, size, &v, &e))
		return;
	if (v.form == BWL_FORM_LINES) { /* the other one is never written */
		again = bwl_envelope_text(&v, &len);
		must(!bwl_envelope_parse(again, len, &w, &e), "it reads when written again");
		must(w.len == v.len && !memcmp(w.payload, v.payload, v.len), "to the same payload");
		must(w.type == v.type && !strcmp(w.audience, v.audience) && w.nsig == v.nsig &&
			     w.serial == v.serial,
		     "type, audience, serial and signatures");
		free(again);
		bwl_envelope_free(&w);
	}
	bwl_envelope_free(&v);
}

/* The terms end with the first line; a policy's text follows. */
static size_t half(const char *text, size_t size)
{
	const char *nl = memchr(text, '\n', size);

	return nl ? (size_t)(nl - text) : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct bwl_signed_terms t;
	struct bwl_memory *m = NULL;
	struct bwl_root *root = NULL;
	struct bwl_err e;
	json_t *body;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	envelope(text, size);
	for (enum bwl_signed_type i = 0; i < _BWL_SIGNED_MAX; i++) {
		const struct bwl_envelope of[] = {
			{ .form = BWL_FORM_DSSE,
			  .type = i,
			  .payload = (uint8_t *)text,
			  .len = size },
			{ .form = BWL_FORM_LINES,
			  .type = i,
			  .payload = (uint8_t *)text,
			  .len = size,
			  .nterms = half(text, size),
			  .text_at = half(text, size) },
		};

		for (unsigned k = 0; k < 2; k++)
			if (!bwl_payload_parse(&of[k], &t, &body, &e)) {
				must(t.not_after_s > t.issued_s && t.epoch && t.version &&
					     t.issued_ms >= -1 && t.issued_ms < 1000,
				     "terms in domain");
				json_decref(body);
			}
	}
	if (!bwl_root_first(text, size, &root, &e))
		must(bwl_root_threshold(root, BWL_ROLE_POLICY) >= 2, "two people at least");
	bwl_root_free(root);
	if (!bwl_memory_parse(text, size, &m, &e))
		bwl_memory_free(m);
	free(text);
	return 0;
}
