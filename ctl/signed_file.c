// SPDX-License-Identifier: GPL-2.0-or-later
/* Signed documents as files, and as shown to people and programs. */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <bwl/bytes.h>
#include <bwl/encode.h>
#include "signed.h"

int ctl_signed_read(struct ctl *c, const char *file, char **ret, size_t *ret_len)
{
	BWL_AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return bwl_fail(&c->err, errno, "cannot open %s: %s", file, strerror(errno));
	r = bwl_bytes_read(fd, BWL_SIGNED_BYTES_MAX, ret, ret_len, &c->err);
	if (r)
		snprintf(c->err.file, sizeof(c->err.file), "%s", file);
	return r;
}

int ctl_signed_root(struct ctl *c, const char *file, struct bwl_root **ret)
{
	BWL_AUTO_FREE char *bytes = NULL;
	size_t len;
	int r = ctl_signed_read(c, file, &bytes, &len);

	if (r)
		return r;
	r = bwl_root_first(bytes, len, ret, &c->err);
	if (r)
		snprintf(c->err.file, sizeof(c->err.file), "%s", file);
	return r;
}

int ctl_signed_write(struct ctl *c, const char *file, const struct bwl_envelope *v)
{
	size_t len;
	BWL_AUTO_FREE char *text = bwl_envelope_text(v, &len);
	BWL_AUTO_FREE char *a = bwl_must(strdup(file));
	BWL_AUTO_FREE char *b = bwl_must(strdup(file));
	const struct bwl_bytes part = { text, len };

	return bwl_bytes_replace(dirname(a), basename(b), &part, 1, &c->err);
}

static json_t *signers(const struct bwl_envelope *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->nsig; i++)
		json_array_append_new(a, json_string(v->sig[i].key));
	return a;
}

/* As it says it itself. */
static int issued_ms(const struct bwl_signed *d)
{
	return d->terms.issued_ms;
}

static json_t *as_json(const char *file, const struct bwl_signed *d, const struct bwl_envelope *v,
		       int people, bool enough)
{
	char from[BWL_TIME_BUF], to[BWL_TIME_BUF], hex[65];
	json_t *o = bwl_doc("signed-document");

	json_object_set_new(o, "file", json_string(file));
	json_object_set_new(o, "document_type", json_string(bwl_signed_word(d->type)));
	json_object_set_new(o, "document_name", json_string(d->terms.name));
	json_object_set_new(o, "fleet", json_string(d->fleet));
	json_object_set_new(o, "audience", json_string(d->audience));
	json_object_set_new(o, "epoch", bwl_json_u64(d->terms.epoch));
	json_object_set_new(o, "document_version", bwl_json_u64(d->terms.version));
	json_object_set_new(o, "issued_at",
			    json_string(bwl_utc(d->terms.issued_s, issued_ms(d), from)));
	json_object_set_new(o, "not_after", json_string(bwl_utc(d->terms.not_after_s, -1, to)));
	json_object_set_new(o, "serial_number", d->serial ? bwl_json_u64(d->serial) : json_null());
	json_object_set_new(o, "digest", json_string(bwl_hex_encode(d->digest, 32, hex)));
	json_object_set_new(o, "signer_ids", signers(v));
	json_object_set_new(o, "people_count", people < 0 ? json_null() : json_integer(people));
	json_object_set_new(o, "may_widen", people < 0 ? json_null() : json_boolean(enough));
	return o;
}

static void as_text(const struct bwl_signed *d, const struct bwl_envelope *v,
		    const struct bwl_root *root, int people, bool enough)
{
	char from[BWL_TIME_BUF], to[BWL_TIME_BUF], hex[65];

	bwl_put(stdout, "%s %s, version %llu of epoch %llu\n", bwl_signed_word(d->type),
		d->terms.name, (unsigned long long)d->terms.version,
		(unsigned long long)d->terms.epoch);
	bwl_put(stdout, "  for       %s, fleet %s\n", d->audience, d->fleet);
	bwl_put(stdout, "  holds     from %s to %s\n",
		bwl_utc(d->terms.issued_s, issued_ms(d), from),
		bwl_utc(d->terms.not_after_s, -1, to));
	if (d->serial)
		bwl_put(stdout, "  serial    %llu\n", (unsigned long long)d->serial);
	bwl_put(stdout, "  SHA-256   %s\n", bwl_hex_encode(d->digest, 32, hex));
	for (size_t i = 0; i < v->nsig; i++) {
		const char *owner =
			root ? bwl_root_owner(root, v->sig[i].key, bwl_signed_role(d->type)) : NULL;

		bwl_put(stdout, "  %s %.16s…%s%s\n", i ? "         " : "signed by", v->sig[i].key,
			owner ? " " : "", owner ? owner : "");
	}
	if (people >= 0)
		bwl_put(stdout, "  verified  %d of the people of role %s%s\n", people,
			bwl_role_word(bwl_signed_role(d->type)),
			enough ? "" : ": it may tighten, and widens nothing");
	else
		printf("  not verified: no --root was named\n");
}

int ctl_signed_show(struct ctl *c, const char *file, const char *bytes, size_t len,
		    const struct bwl_root *root, int people, bool enough)
{
	struct bwl_envelope v;
	struct bwl_signed d;
	int r = bwl_signed_peek(bytes, len, &d, &c->err);

	if (r)
		return r;
	r = bwl_envelope_parse(bytes, len, &v, &c->err);
	if (!r && c->json)
		bwl_doc_print(as_json(file, &d, &v, people, enough));
	else if (!r)
		as_text(&d, &v, root, people, enough);
	bwl_envelope_free(&v);
	bwl_signed_free(&d);
	return r;
}
