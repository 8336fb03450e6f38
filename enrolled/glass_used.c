// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The file: "# bwlimit glass 1 SHA256" (of what follows), and one JSON object: the number of all
 * that were ever used, and the newest of each type and name. Whoever can write it can write a
 * digest, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <bwl/bytes.h>
#include <bwl/cleanup.h>
#include <bwl/encode.h>
#include <bwl/identity.h>
#include "glass.h"
#include "glass_used.h"
#include "signed/checked_file.h"
#include "signed/payload.h"

#define WORD "glass"
#define BYTES_MAX (1UL << 20)
#define USED_MAX 256
#define IDS_MAX 4096

BWL_AUTO_DEFINE(json_decref, json_t *)

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
	json_t *o = bwl_checked_parse(WORD, bytes, len);
	size_t i;

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
	r = bwl_bytes_read(fd, BYTES_MAX, &bytes, &len, e);
	if (r)
		return r;
	*ret = parse(bytes, len);
	if (*ret)
		return 0;
	bwl_fail(e, EUCLEAN, "%s is damaged: cannot tell which documents broke glass before", path);
	return bwl_hint(e, "enrol this tray again: bwlimit-ctl enrol ROOT ENROLMENT");
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
		"version %llu of epoch %llu of the %s %s has already broken glass here: each may do so once",
		(unsigned long long)version, (unsigned long long)epoch, bwl_signed_word(d->type),
		d->terms.name);
	if (e)
		e->id = "signed-old";
	return bwl_hint(e, "two people must sign the next version");
}

/* A document that is refused because of its end or its epoch need not be remembered. */
static void forget_ended(json_t *all, const struct bwl_memory *m)
{
	json_t *list = json_object_get(all, "used");

	for (size_t i = json_array_size(list); i--;) {
		const json_t *v = json_array_get(list, i);

		if ((int64_t)bwl_payload_number(v, "not_after") <= bwl_memory_newest(m) ||
		    bwl_payload_number(v, "epoch") < bwl_memory_epoch(m))
			json_array_remove(list, i);
	}
}

/*
 * Its peers' IKE identities, if they differ from their names: the maps do not have them. Peers that
 * are already expelled are closed in it, so they do not end it.
 */
static json_t *ids_of(const struct bwl_policy *pol, const struct bwl_memory *m)
{
	json_t *ids = json_object();

	for (size_t i = 0; i < pol->npeers && json_object_size(ids) < IDS_MAX; i++) {
		const struct bwl_pol_peer *q = &pol->peers[i];

		if (q->ipsec_id && !bwl_identity_is_peer(q->name, NULL, q->ipsec_id) &&
		    !bwl_memory_is_expelled(m, NULL, q->ipsec_id))
			json_object_set_new(ids, q->ipsec_id, json_true());
	}
	return ids;
}

static bool has_expelled(const struct bwl_memory *m, const json_t *ids)
{
	const char *id;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)ids, id,
			    v) if (bwl_memory_is_expelled(m, NULL, id)) return true;
	return false;
}

int glass_use(const char *dir, const struct bwl_signed *d, const struct bwl_policy *pol,
	      const struct bwl_memory *m, struct bwl_err *e)
{
	BWL_AUTO(json_decref) json_t *all = NULL;
	json_t *list, *item;
	char hex[65];
	size_t at;
	int r = load(dir, &all, e);

	if (r)
		return r;
	list = json_object_get(all, "used");
	if (find(all, d, &at))
		json_array_remove(list, at);
	forget_ended(all, m);
	if (json_array_size(list) >= USED_MAX) {
		bwl_fail(e, ENOSPC,
			 "%d documents have broken glass here already, and none has ended",
			 USED_MAX);
		return bwl_hint(e, "a revocation with `new_epoch` ends them all");
	}
	item = json_pack("{s:s, s:s, s:I, s:I, s:I, s:s}", "type", bwl_signed_word(d->type), "name",
			 d->terms.name, "epoch", (json_int_t)d->terms.epoch, "version",
			 (json_int_t)d->terms.version, "not_after",
			 (json_int_t)d->terms.not_after_s, "digest",
			 bwl_hex_encode(d->digest, sizeof(d->digest), hex));
	for (size_t i = 0; i < json_array_size(list); i++) /* only the one in force has them */
		json_object_del(json_array_get(list, i), "ids");
	json_object_set_new(bwl_must(item), "ids", ids_of(pol, m));
	json_array_append_new(list, item);
	json_object_set_new(all, "count",
			    json_integer((json_int_t)bwl_payload_number(all, "count") + 1));
	return bwl_checked_keep(WORD, dir, BWL_GLASS, all, BYTES_MAX, e);
}

int bwl_glass_used(const char *dir, uint64_t *ret, struct bwl_err *e)
{
	BWL_AUTO(json_decref) json_t *all = NULL;
	int r = load(dir, &all, e);

	*ret = r ? 0 : bwl_payload_number(all, "count");
	return r;
}

bool bwl_glass_is_over(const struct bwl_memory *m, const char *dir)
{
	BWL_AUTO(json_decref) json_t *all = NULL;
	const char *hex;
	uint8_t digest[32];
	const json_t *list, *last;

	if (load(dir, &all, NULL))
		return true;
	list = json_object_get(all, "used");
	last = json_array_get(list, json_array_size(list) - 1);
	hex = bwl_payload_text(last, "digest"); /* bwlimit 0.2.0 wrote none */
	return !last || bwl_payload_number(last, "epoch") < bwl_memory_epoch(m) ||
	       bwl_memory_is_expelled(m, bwl_memory_tray(m)->name, NULL) ||
	       has_expelled(m, json_object_get(last, "ids")) ||
	       (hex && bwl_hex_decode(hex, digest, sizeof(digest)) &&
		bwl_memory_is_revoked(m, digest));
}
