// SPDX-License-Identifier: GPL-2.0-or-later
/* `key`: the Ed25519 keys with which people sign documents. */
#include <stdio.h>
#include <bwl/encode.h>
#include "ctl.h"
#include "signed/key.h"

static void show(const struct ctl *c, const struct bwl_key *k, const char *file)
{
	char id[BWL_KEY_ID], pub[BWL_BASE64_LEN(BWL_PUBLIC) + 1];
	json_t *o = bwl_doc("key");

	bwl_key_id(bwl_key_public(k), id);
	bwl_base64_encode(bwl_key_public(k), BWL_PUBLIC, pub);
	json_object_set_new(o, "key_file", json_string(file));
	json_object_set_new(o, "key_id", json_string(id));
	json_object_set_new(o, "raw_public_key", json_string(pub));
	if (c->json) {
		bwl_doc_print(o);
		return;
	}
	json_decref(o);
	bwl_put(stdout, "key id      %s\n", id);
	bwl_put(stdout, "public key  %s\n", pub);
}

static int key_new(struct ctl *c, int argc, char **argv)
{
	struct bwl_key *k;
	int r;

	if (argc != 1)
		return ctl_usage(c, "the file for the new key is missing");
	k = bwl_key_random();
	r = bwl_key_write(k, argv[0], &c->err);
	if (!r)
		show(c, k, argv[0]);
	bwl_key_free(k);
	return r;
}

static int key_show(struct ctl *c, int argc, char **argv)
{
	struct bwl_key *k = NULL;
	int r;

	if (argc != 1)
		return ctl_usage(c, "the key is missing: a PEM file, or pkcs11:…");
	r = bwl_key_read(argv[0], &k, &c->err);
	if (!r)
		show(c, k, argv[0]);
	bwl_key_free(k);
	return r;
}

const struct ctl_cmd ctl_key_cmds[] = {
	{ "key", "new", "FILE", "Make a signing key (Ed25519) for one person",
	  "A PEM file, mode 0600; never overwrites a file. Its id and its public part go into the fleet's root\n"
	  "(docs/fleet.md); the file stays with its owner.\n\n"
	  "Examples:\n  bwlimit-ctl key new /media/alice/bwlimit.pem\n",
	  key_new },
	{ "key", "show", "KEY", "Id and public part of a key",
	  "KEY is a PEM file, or pkcs11:token=NAME;object=NAME on a token that p11-kit knows. Its PIN is asked\n"
	  "for, or read from a file: …?pin-source=file:/PATH.\n\n"
	  "Examples:\n  bwlimit-ctl key show 'pkcs11:token=alice;object=bwlimit'\n",
	  key_show },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
