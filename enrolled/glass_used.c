/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file: "# bwlimit glass 1 SHA256", over what follows, and one JSON object: how many there ever
 * were, and the newest of each type and name. Whoever may write it may write a digest, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <openssl/evp.h>
#include <bwl/bytes.h>
#include <bwl/cleanup.h>
#include <bwl/encode.h>
#include "glass.h"
#include "glass_used.h"
#include "signed/payload.h"

#define MAGIC "# bwlimit glass 1 "
#define HEAD (sizeof(MAGIC) - 1 + 64 + 1)
#define BYTES_MOST (1UL << 20)
#define USED_MOST 256

BWL_AUTO_DEFINE(json_decref, json_t *)

static void hex_of(const char *bytes, size_t len, char ret[static 65])
{
	uint8_t d[32];

	if (EVP_Digest(bytes, len, d, NULL, EVP_sha256(), NULL) != 1)
		abort();
	bwl_hex_encode(d, sizeof(d), ret);
}

static bool is_item(const json_t *o)
{
	return json_is_string(json_object_get(o, "type")) &&
	       json_is_string(json_object_get(o, "name")) &&
	       json_is_integer(json_object_get(o, "epoch")) &&
	       json_is_integer(json_object_get(o, "version")) &&
	       json_is_integer(json_object_get(o, "not_after"));
}

static json_t *parse(const char *bytes, size_t len)
{
	const json_t *list, *v;
	json_t *o = NULL;
	char hex[65];
	size_t i;

	if (len <= HEAD || strncmp(bytes, MAGIC, strlen(MAGIC)))
		return NULL;
	hex_of(bytes + HEAD, len - HEAD, hex);
	if (!strncmp(bytes + strlen(MAGIC), hex, 64))
		o = json_loadb(bytes + HEAD, len - HEAD, JSON_REJECT_DUPLICATES, NULL);
	list = json_object_get(o, "used");
	if (json_is_array(list) && json_is_integer(json_object_get(o, "count"))) {
		json_array_foreach(list, i, v) if (!is_item(v)) break;
		if (i == json_array_size(list))
			return o;
	}
	json_decref(o);
	return NULL;
}

/* Without the file nothing was used. */
static int load(const char *dir, json_t **ret, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = -1;
	BWL_AUTO_FREE char *bytes = NULL;
	char path[512];
	size_t len;
	int r;

	snprintf(path, sizeof(path), "%s/" BWL_GLASS, dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		*ret = bwl_must(json_pack("{s:i, s:[]}", "count", 0, "used"));
		return 0;
	}
	if (fd < 0)
		return bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
	r = bwl_bytes_read(fd, BYTES_MOST, &bytes, &len, e);
	if (r)
		return r;
	*ret = parse(bytes, len);
	if (*ret)
		return 0;
	bwl_fail(e, EUCLEAN, "%s is damaged: which glass was broken before cannot be said", path);
	return bwl_hint(e, "enrol this tray anew: bwlimit-ctl enrol ROOT ENROLMENT");
}

static json_t *find(const json_t *all, const struct bwl_signed *d, size_t *ret_at)
{
	const json_t *list = json_object_get(all, "used");

	for (*ret_at = 0; *ret_at < json_array_size(list); ++*ret_at) {
		json_t *v = json_array_get(list, *ret_at);

		if (!strcmp(bwl_payload_text(v, "type"), bwl_signed_word(d->type)) &&
		    !strcmp(bwl_payload_text(v, "name"), d->terms.name))
			return v;
	}
	return NULL;
}

int glass_judge(const char *dir, const struct bwl_signed *d, struct bwl_err *e)
{
	BWL_AUTO(json_decref) json_t *all = NULL;
	uint64_t epoch, version;
	const json_t *was;
	size_t at;
	int r = load(dir, &all, e);

	if (r)
		return r;
	was = find(all, d, &at);
	epoch = bwl_payload_number(was, "epoch");
	version = bwl_payload_number(was, "version");
	if (!was || d->terms.epoch > epoch ||
	    (d->terms.epoch == epoch && d->terms.version > version))
		return 0;
	bwl_fail(
		e, ESTALE,
		"version %llu of epoch %llu of the %s %s has broken the glass here: each does once",
		(unsigned long long)version, (unsigned long long)epoch, bwl_signed_word(d->type),
		d->terms.name);
	if (e)
		e->id = "signed-old";
	return bwl_hint(e, "two people sign the next version");
}

static void forget_ended(json_t *all, int64_t now_s)
{
	json_t *list = json_object_get(all, "used");

	for (size_t i = json_array_size(list); i--;)
		if ((int64_t)bwl_payload_number(json_array_get(list, i), "not_after") <= now_s)
			json_array_remove(list, i);
}

static int keep(const char *dir, const json_t *all, struct bwl_err *e)
{
	BWL_AUTO_FREE char *text = bwl_must(json_dumps(all, JSON_COMPACT));
	char head[HEAD + 1], hex[65];
	struct bwl_bytes part[2] = { { head, HEAD }, { text, strlen(text) } };

	hex_of(text, strlen(text), hex);
	snprintf(head, sizeof(head), MAGIC "%s\n", hex);
	return bwl_bytes_replace(dir, BWL_GLASS, part, 2, e);
}

int glass_use(const char *dir, const struct bwl_signed *d, int64_t now_s, struct bwl_err *e)
{
	BWL_AUTO(json_decref) json_t *all = NULL;
	json_t *list, *item;
	size_t at;
	int r = load(dir, &all, e);

	if (r)
		return r;
	list = json_object_get(all, "used");
	if (find(all, d, &at))
		json_array_remove(list, at);
	forget_ended(all, now_s);
	if (json_array_size(list) >= USED_MOST)
		return bwl_fail(e, ENOSPC,
				"%d documents broke the glass here, and none of them has ended",
				USED_MOST);
	item = json_pack("{s:s, s:s, s:I, s:I, s:I}", "type", bwl_signed_word(d->type), "name",
			 d->terms.name, "epoch", (json_int_t)d->terms.epoch, "version",
			 (json_int_t)d->terms.version, "not_after",
			 (json_int_t)d->terms.not_after_s);
	json_array_append_new(list, bwl_must(item));
	json_object_set_new(all, "count",
			    json_integer((json_int_t)bwl_payload_number(all, "count") + 1));
	return keep(dir, all, e);
}

int bwl_glass_used(const char *dir, uint64_t *ret, struct bwl_err *e)
{
	BWL_AUTO(json_decref) json_t *all = NULL;
	int r = load(dir, &all, e);

	*ret = r ? 0 : bwl_payload_number(all, "count");
	return r;
}
