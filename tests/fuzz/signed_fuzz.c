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
#include "signed/payload_json.h"

static void envelope(const char *text, size_t size)
{
	struct bwl_envelope v, w;
	struct bwl_signed d;
	struct bwl_err e;
	char *again;

	if (!bwl_signed_peek(text, size, &d, &e)) {
		must(d.body != NULL && *d.terms.name && d.terms.version, "it has terms");
		must(!d.people && !d.enough, "nobody has signed what was not verified");
		bwl_signed_free(&d);
	}
	if (bwl_envelope_parse(text, size, &v, &e))
		return;
	again = bwl_envelope_text(&v);
	must(!bwl_envelope_parse(again, strlen(again), &w, &e), "it reads when written again");
	must(w.len == v.len && !memcmp(w.payload, v.payload, v.len), "to the same payload");
	must(w.type == v.type && !strcmp(w.audience, v.audience) && w.nsig == v.nsig,
	     "type, audience and signatures");
	free(again);
	bwl_envelope_free(&v);
	bwl_envelope_free(&w);
}

/* The parsed payload is what jansson alone makes of it. */
static void payload_json(const char *text, size_t size)
{
	json_t *a = bwl_payload_json(text, size);
	json_t *b = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);

	must(a || !b, "what is JSON is read");
	must(b || !a, "what is none is refused");
	must(json_equal(a, b) || !a, "and reads the same");
	json_decref(a);
	json_decref(b);
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
	payload_json(text, size);
	for (enum bwl_signed_type i = 0; i < _BWL_SIGNED_MAX; i++)
		if (!bwl_payload_parse(i, text, size, &t, &body, &e)) {
			must(t.not_after_s > t.issued_s && t.epoch && t.version, "terms in domain");
			json_decref(body);
		}
	if (!bwl_root_first(text, size, &root, &e))
		must(bwl_root_threshold(root, BWL_ROLE_POLICY) >= 2, "two people at least");
	bwl_root_free(root);
	if (!bwl_memory_parse(text, size, &m, &e))
		bwl_memory_free(m);
	free(text);
	return 0;
}
