// SPDX-License-Identifier: GPL-2.0-or-later
/* See destroy.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <openssl/err.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <bwl/bytes.h>
#include <bwl/cleanup.h>
#include <bwl/encode.h>
#include "ipsec/destroy.h"
#include "pki_file.h"

#define BLOCK 4096

/* A key's id as in charon: SHA-1 of the public key's bits. What libcrypto cannot read has no id. */
static void note_id(const char *path, json_t *ids)
{
	unsigned char digest[SHA_DIGEST_LENGTH];
	char hex[2 * SHA_DIGEST_LENGTH + 1];
	const unsigned char *bits;
	X509_PUBKEY *pub = NULL;
	EVP_PKEY *key = NULL;
	int n;

	if (!bwl_pki_get_key(path, &key, NULL) && X509_PUBKEY_set(&pub, key) == 1 &&
	    X509_PUBKEY_get0_param(NULL, &bits, &n, NULL, pub) == 1) {
		SHA1(bits, (size_t)n, digest);
		json_object_set_new(ids, bwl_hex_encode(digest, sizeof(digest), hex), json_true());
	}
	ERR_clear_error();
	X509_PUBKEY_free(pub);
	EVP_PKEY_free(key);
}

/* Overwrites all of it, and the rest of its last block. */
static int overwrite(int fd)
{
	static const char zeros[BLOCK];
	struct stat st;
	int r = fstat(fd, &st) ? -errno : 0;

	for (off_t at = 0; !r && at < st.st_size; at += BLOCK)
		r = bwl_bytes_write(fd, zeros, BLOCK);
	return r ? r : fsync(fd) ? -errno : 0;
}

static int destroy(int dir, const char *name)
{
	BWL_AUTO_CLOSE int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	int r = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	r = overwrite(fd);
	if (!r && ftruncate(fd, 0))
		r = -errno;
	/* even if it could not be overwritten: removing it is better than leaving it */
	return unlinkat(dir, name, 0) ? -errno : r;
}

static int destroy_folder(const char *dir, const char *folder, struct bwl_destroyed *ret,
			  struct bwl_err *e)
{
	char path[BWL_PKI_PATH], file[BWL_PKI_PATH];
	int r = bwl_pki_path(path, e, dir, folder, NULL), one;
	const struct dirent *f;
	DIR *d;

	if (r)
		return r;
	d = opendir(path);
	if (!d)
		return errno == ENOENT ? 0
				       : bwl_fail(e, errno, "cannot read the folder %s: %s", path,
						  strerror(errno));
	while ((f = readdir(d))) {
		if (!strcmp(f->d_name, ".") || !strcmp(f->d_name, "..") ||
		    bwl_pki_path(file, NULL, path, f->d_name, NULL))
			continue;
		if (strcmp(folder, "ppk"))
			note_id(file, ret->ids);
		one = destroy(dirfd(d), f->d_name);
		if (!one)
			ret->files++;
		else if (!r)
			r = bwl_fail(e, -one, "the key %s could not be destroyed: %s", file,
				     strerror(-one));
	}
	if (fsync(dirfd(d)) && !r)
		r = bwl_fail(e, errno, "the folder %s is not on disk: %s", path, strerror(errno));
	closedir(d);
	return r;
}

int bwl_destroy_keys(const char *dir, struct bwl_destroyed *ret, struct bwl_err *e)
{
	static const char *const folders[] = { "private", "ecdsa", "rsa", "pkcs8", "ppk" };
	struct bwl_err later = { 0 };
	int r = 0, one;

	*ret = (struct bwl_destroyed){ .ids = json_object() };
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		one = destroy_folder(dir, folders[i], ret, r ? &later : e);
		r = r ? r : one;
	}
	return r;
}

static void post(struct bwl_vici *v, const json_t *ids)
{
	const char *id;
	json_t *x;
	int r = 0;

	json_object_foreach((json_t *)(uintptr_t)ids, id, x)
	{
		json_t *args = json_pack("{s:s}", "id", id);

		r = r ? r : bwl_vici_add(v, "unload-key", args);
		json_decref(args);
	}
	if (!r && json_object_size(ids))
		bwl_vici_post(v);
}

static int unload(struct bwl_vici *v, const char *id, unsigned *n, struct bwl_err *e)
{
	json_t *args = json_pack("{s:s}", "id", id);
	int r = bwl_vici_call(v, "unload-key", args, NULL, e);

	json_decref(args);
	*n += !r;
	return r == -EREMOTEIO ? 0 : r; /* it has no key with this id */
}

int bwl_destroy_loaded(const char *socket, uint64_t timeout_ns, const json_t *ids, unsigned *ret,
		       struct bwl_err *e)
{
	struct bwl_vici *v = NULL;
	json_t *have = NULL, *id;
	size_t i;
	int r = bwl_vici_open(socket, timeout_ns, &v, e);

	*ret = 0;
	if (r)
		return r;
	r = bwl_vici_call(v, "get-keys", NULL, &have, e);
	json_array_foreach(json_object_get(have, "keys"), i, id) if (!r)
		r = unload(v, json_string_value(id), ret, e);
	if (!r) { /* cached data that was signed with a removed key */
		json_t *args = json_pack("{s:s}", "type", "X509");

		r = bwl_vici_call(v, "flush-certs", args, NULL, e);
		json_decref(args);
	}
	if (r == -ETIMEDOUT)
		post(v, ids);
	json_decref(have);
	bwl_vici_close(v);
	return r;
}
