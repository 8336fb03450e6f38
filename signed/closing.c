// SPDX-License-Identifier: GPL-2.0-or-later
/* See closing.h. */
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>
#include <bwl/cleanup.h>
#include <bwl/doc.h>
#include <bwl/encode.h>
#include "signed/closing.h"
#include "signed/envelope.h"
#include "signed/text.h"

bool bwl_closes(enum bwl_signed_type t)
{
	return t == BWL_SIGNED_REVOCATION || t == BWL_SIGNED_EXPULSION;
}

void bwl_closing_what(const struct bwl_signed *d, uint8_t ret[static 32])
{
	static const char *const terms[] = { "name",      "version",   "epoch",
					     "issued_at", "not_after", "reason" };
	json_t *o = bwl_must(json_copy(d->body));
	BWL_AUTO_FREE char *text = NULL;

	for (size_t i = 0; i < sizeof(terms) / sizeof(*terms); i++)
		json_object_del(o, terms[i]);
	json_object_set_new(o, "audience", json_string(d->audience));
	text = bwl_must(json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS));
	json_decref(o);
	if (EVP_Digest(text, strlen(text), ret, NULL, EVP_sha256(), NULL) != 1)
		abort();
}

static bool take_type(const char *word, enum bwl_signed_type *ret)
{
	for (*ret = 0; word && *ret < _BWL_SIGNED_MAX; (*ret)++)
		if (!strcmp(word, bwl_signed_word(*ret)))
			return bwl_closes(*ret);
	return false;
}

bool bwl_closing_read(const json_t *o, struct bwl_closing *ret)
{
	const char *type, *name, *digest, *issued;
	json_int_t epoch, version;

	*ret = (struct bwl_closing){ 0 };
	if (json_object_size(o) != 7 ||
	    json_unpack((json_t *)(uintptr_t)o, "{s:s, s:s, s:I, s:I, s:s, s:s, s:s}", "type",
			&type, "name", &name, "epoch", &epoch, "version", &version, "issued_at",
			&issued, "sha256", &digest, "audience", &ret->audience))
		return false;
	if (!take_type(type, &ret->type) || !bwl_is_name(name, strlen(name)) || epoch <= 0 ||
	    version <= 0 || !bwl_moment_parse(issued, &ret->issued_s) ||
	    !bwl_hex_decode(digest, ret->digest, sizeof(ret->digest)) ||
	    bwl_audience_check(ret->audience, NULL))
		return false;
	strcpy(ret->name, name);
	ret->epoch = (uint64_t)epoch;
	ret->version = (uint64_t)version;
	return true;
}

json_t *bwl_closing_json(const struct bwl_closing *c)
{
	char hex[65], at[BWL_TIME_BUF];

	return json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:s}", "type", bwl_signed_word(c->type),
			 "name", c->name, "epoch", (json_int_t)c->epoch, "version",
			 (json_int_t)c->version, "issued_at", bwl_utc(c->issued_s, -1, at),
			 "sha256", bwl_hex_encode(c->digest, 32, hex), "audience", c->audience);
}
