// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keys and documents of --dev: two people, the controller and its witness; the root that names
 * them, and each tray's enrolment, signed by both people.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "bwl/bytes.h"
#include "bwl/doc.h"
#include "bwl/encode.h"
#include "dev.h"
#include "signed/envelope.h"
#include "signed/root.h"

#define FLEET "dev"
#define FOR_S (365LL * 86400)

enum { ALICE, BOB, ONLINE, WITNESS, KEYS };
static const char *const owner[KEYS] = { "alice", "bob", "online", "witness" };

static int read_keys(const struct dev *d, struct bwl_key *key[KEYS], struct bwl_err *e)
{
	char path[DEV_PATH], name[32];
	int r = 0;

	for (unsigned i = 0; !r && i < KEYS; i++) {
		snprintf(name, sizeof(name), "%s.pem", owner[i]);
		dev_path(d, path, "keys", name);
		if (!access(path, F_OK)) {
			r = bwl_key_read(path, &key[i], e);
			continue;
		}
		key[i] = bwl_key_random();
		r = bwl_key_write(key[i], path, e);
	}
	return r;
}

static json_t *terms(const char *name)
{
	char from[BWL_TIME_BUF], to[BWL_TIME_BUF];
	int64_t now_s = time(NULL);

	return json_pack("{s:s, s:i, s:i, s:s, s:s}", "name", name, "epoch", 1, "version", 1,
			 "issued_at", bwl_utc(now_s, -1, from), "not_after",
			 bwl_utc(now_s + FOR_S, -1, to));
}

/* Signed by both people; written to folder/file. Takes the reference. */
static int sign(const struct dev *d, struct bwl_key *const key[KEYS], enum bwl_signed_type type,
		const char *audience, json_t *body, const char *folder, const char *file,
		struct bwl_err *e)
{
	BWL_AUTO_FREE char *text = NULL;
	char path[DEV_PATH];
	struct bwl_bytes part;
	struct bwl_envelope v;
	size_t len;
	int r;

	r = bwl_envelope_new(type, FLEET, audience, body, &v, e);
	json_decref(body);
	if (r)
		return r;
	r = bwl_envelope_sign(&v, key[ALICE], e);
	r = r ? r : bwl_envelope_sign(&v, key[BOB], e);
	text = bwl_envelope_text(&v, &len);
	bwl_envelope_free(&v);
	part = (struct bwl_bytes){ text, len };
	dev_path(d, path, folder, "");
	return r ? r : bwl_bytes_replace(path, file, &part, 1, e);
}

static int make_root(const struct dev *d, struct bwl_key *const key[KEYS], struct bwl_err *e)
{
	json_t *o = terms("root"), *keys = json_object(), *people;
	char id[KEYS][BWL_KEY_ID], pub[BWL_BASE64_LEN(BWL_PUBLIC) + 1];

	for (unsigned i = 0; i < WITNESS; i++) {
		bwl_key_id(bwl_key_public(key[i]), id[i]);
		json_object_set_new(keys, id[i],
				    json_pack("{s:s, s:s}", "public",
					      bwl_base64_encode(bwl_key_public(key[i]), BWL_PUBLIC,
								pub),
					      "owner", i == ONLINE ? "controller" : owner[i]));
	}
	people = json_pack("{s:i, s:[s, s]}", "threshold", 2, "keys", id[ALICE], id[BOB]);
	json_object_set_new(o, "keys", keys);
	json_object_set_new(o, "roles",
			    json_pack("{s:O, s:o, s:{s:i, s:[s]}}", "root", people, "policy",
				      people, "online", "threshold", 1, "keys", id[ONLINE]));
	return sign(d, key, BWL_SIGNED_ROOT, "all", o, "", "root", e);
}

static int read_root(const char *path, struct bwl_root **ret, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	BWL_AUTO_FREE char *bytes = NULL;
	size_t len;
	int r;

	if (fd < 0)
		return bwl_fail(e, errno, "cannot read '%s': %m", path);
	r = bwl_bytes_read(fd, BWL_SIGNED_BYTES_MAX, &bytes, &len, e);
	return r ? r : bwl_root_first(bytes, len, ret, e);
}

static int enrol(const struct dev *d, struct bwl_key *const key[KEYS], const char *tray,
		 const struct bwl_root *root, struct bwl_err *e)
{
	char path[DEV_PATH], audience[BWL_DOC_NAME_MAX + 8], hex[65];
	json_t *o;

	if (!dev_path(d, path, "enrolments", tray))
		return bwl_fail(e, ENAMETOOLONG, "'%.80s…' is too long", d->dir);
	if (!access(path, F_OK))
		return 0;
	o = terms(tray);
	json_object_set_new(o, "tray", json_string(tray));
	json_object_set_new(o, "root", json_string(bwl_hex_encode(bwl_root_digest(root), 32, hex)));
	snprintf(audience, sizeof(audience), "tray:%s", tray);
	return sign(d, key, BWL_SIGNED_ENROLMENT, audience, o, "enrolments", tray, e);
}

int dev_people(const struct dev *d, struct bwl_err *e)
{
	BWL_AUTO(bwl_root_free) struct bwl_root *root = NULL;
	struct bwl_key *key[KEYS] = { NULL };
	char path[DEV_PATH];
	int r = read_keys(d, key, e);

	dev_path(d, path, "root", "");
	if (!r && access(path, F_OK))
		r = make_root(d, key, e);
	r = r ? r : read_root(path, &root, e);
	for (unsigned i = 0; !r && i < d->ntrays; i++)
		r = enrol(d, key, d->tray[i], root, e);
	for (unsigned i = 0; i < KEYS; i++)
		bwl_key_free(key[i]);
	return r;
}
