// SPDX-License-Identifier: GPL-2.0-or-later
/* Loads the tree, and the credentials of a folder, into charon. */
#include <dirent.h>
#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "conn_up.h"
#include "ipsec/sas.h"
#include "ipsec/stale.h"
#include "pki_file.h"

#define MAX_FILE 65535 /* one value of a VICI message */
#define TURN_NS 200000000

static int read_file(const char *path, char **ret, size_t *ret_len, struct bwl_err *e)
{
	FILE *f = fopen(path, "re");
	char *buf = malloc(MAX_FILE + 1);
	size_t n = 0;
	int r = 0;

	if (!f)
		r = bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
	else if (!buf)
		r = bwl_fail(e, ENOMEM, "out of memory");
	if (!r) {
		n = fread(buf, 1, MAX_FILE + 1, f);
		if (ferror(f))
			r = bwl_fail(e, EIO, "cannot read %s", path);
		else if (n > MAX_FILE)
			r = bwl_fail(e, EFBIG, "%s is larger than 64 KiB", path);
	}
	if (f)
		fclose(f);
	if (r) {
		free(buf);
		return r;
	}
	buf[n] = 0;
	*ret = buf;
	*ret_len = n;
	return 0;
}

static int visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

struct job {
	struct bwl_vici *v;
	const char *dir;
	struct bwl_ipsec_load_report *rep;
	json_t *keys;          /* ids of the loaded keys */
	struct dirent **certs; /* in x509 */
	int ncerts;
	struct bwl_err *e;
};

/* Does a certificate of the folder have this key? If libcrypto cannot read it, charon decides. */
static bool certified(const struct job *j, const char *path)
{
	EVP_PKEY *key = NULL;
	bool found = false;

	if (bwl_pki_get_key(path, &key, NULL))
		return true;
	for (int i = 0; !found && i < j->ncerts; i++) {
		char file[BWL_PKI_PATH];
		X509 *x = NULL;

		if (bwl_pki_path(file, NULL, j->dir, "x509", j->certs[i]->d_name, NULL) ||
		    bwl_pki_get_cert(file, &x, NULL))
			continue;
		found = X509_check_private_key(x, key) == 1;
		X509_free(x);
	}
	ERR_clear_error();
	EVP_PKEY_free(key);
	return found;
}

/* The visible files of a folder, by name. A missing folder has none. */
static int scan(struct job *j, const char *folder, struct dirent ***ret)
{
	char path[BWL_PKI_PATH];
	int n;

	if (bwl_pki_path(path, j->e, j->dir, folder, NULL))
		return -ENAMETOOLONG;
	n = scandir(path, ret, visible, alphasort);
	if (n < 0 && errno != ENOENT)
		return bwl_fail(j->e, errno, "cannot read the folder %s: %s", path,
				strerror(errno));
	return n < 0 ? 0 : n;
}

static void free_scan(struct dirent **list, int n)
{
	while (n-- > 0)
		free(list[n]);
	free(list);
}

/* Loads every file of a folder, each in a VICI call. */
static int load_folder(struct job *j, const char *folder, const char *command, json_t *base,
		       unsigned *count)
{
	bool are_keys = !strcmp(command, "load-key");
	struct dirent **list = NULL;
	char path[BWL_PKI_PATH];
	int n = scan(j, folder, &list), r = n < 0 ? n : 0;

	for (int i = 0; !r && i < n; i++) {
		json_t *ret = NULL;
		char *text = NULL;
		size_t len;

		r = bwl_pki_path(path, j->e, j->dir, folder, list[i]->d_name, NULL);
		if (!r && are_keys && !certified(j, path))
			continue;
		if (!r)
			r = read_file(path, &text, &len, j->e);
		if (!r) {
			json_object_set_new(base, "data", json_stringn_nocheck(text, len));
			r = bwl_vici_call(j->v, command, base, &ret, j->e);
			if (r == -EREMOTEIO)
				bwl_hint(j->e, "the file is %s", path);
		}
		if (!r) {
			++*count;
			if (*bwl_vici_text(ret, "id"))
				json_object_set_new(j->keys, bwl_vici_text(ret, "id"), json_true());
		}
		if (text)
			explicit_bzero(text, len);
		free(text);
		json_decref(ret);
	}
	free_scan(list, n);
	json_decref(base);
	return r;
}

/* Loads the line `secret = 0x…` of a file in dir/ppk: the format that swanctl includes. */
static int load_secret(struct job *j, const char *name, const json_t *secret)
{
	const char *path = bwl_vici_text(secret, "include"), *hex;
	char *text = NULL, bytes[512];
	size_t len, n;
	json_t *args;
	int r;

	r = read_file(path, &text, &len, j->e);
	if (r) {
		if (r == -ENOENT)
			bwl_hint(
				j->e,
				"(umask 077; echo secret = 0x$(openssl rand -hex 32) >%.100s), the same file on both DPUs",
				path);
		return r;
	}
	hex = text + strspn(text, " \t");
	hex += strncmp(hex, "secret", 6) ? 0 : 6;
	hex += strspn(hex, " \t");
	hex += *hex == '=';
	hex += strspn(hex, " \t");
	n = strncmp(hex, "0x", 2) ? 0 : strspn(hex + 2, "0123456789abcdefABCDEF");
	if (n < 64 || n % 2 || n / 2 > sizeof(bytes) || hex[2 + n + strspn(hex + 2 + n, " \t\n")]) {
		r = bwl_fail(j->e, EINVAL,
			     "%s: must be one line `secret = 0x…`, 32 to 512 bytes in hexadecimal",
			     path);
	} else {
		for (size_t i = 0; i < n / 2; i++)
			bytes[i] = (char)strtoul((char[]){ hex[2 + 2 * i], hex[3 + 2 * i], 0 },
						 NULL, 16);
		args = json_pack("{s:s,s:s,s:[s]}", "id", name, "type", "PPK", "owners",
				 bwl_vici_text(secret, "id"));
		json_object_set_new(args, "data", json_stringn_nocheck(bytes, n / 2));
		r = bwl_vici_call(j->v, "load-shared", args, NULL, j->e);
		json_decref(args);
		explicit_bzero(bytes, sizeof(bytes));
	}
	explicit_bzero(text, len);
	free(text);
	if (!r)
		j->rep->secrets++;
	return r;
}

/*
 * Unloads keys that charon has but the folder no longer has, those of renewed certificates. Only
 * after the new ones are loaded, so that there is always one to authenticate with.
 */
static int unload_old_keys(struct job *j)
{
	json_t *have = NULL, *id;
	size_t i;
	int r;

	r = bwl_vici_call(j->v, "get-keys", NULL, &have, j->e);
	json_array_foreach(json_object_get(have, "keys"), i, id)
	{
		json_t *args;

		if (r || json_object_get(j->keys, json_string_value(id)))
			continue;
		args = json_pack("{s:O}", "id", id);
		r = bwl_vici_call(j->v, "unload-key", args, NULL, j->e);
		json_decref(args);
		if (!r)
			j->rep->old_keys++;
	}
	json_decref(have);
	return r;
}

static int load_credentials(struct job *j, const json_t *tree)
{
	static const char *const folders[] = { "private", "ecdsa", "rsa", "pkcs8" };
	const char *name;
	json_t *secret;
	int r;

	/*
	 * A key without a certificate is left over from before a renewal: with it charon could go
	 * on using the old certificate, which it still has.
	 */
	j->ncerts = scan(j, "x509", &j->certs);
	r = j->ncerts < 0 ? j->ncerts : 0;
	for (size_t i = 0; !r && i < sizeof(folders) / sizeof(*folders); i++)
		r = load_folder(j, folders[i], "load-key", json_pack("{s:s}", "type", "any"),
				&j->rep->keys);
	if (!r)
		r = load_folder(j, "x509ca", "load-cert",
				json_pack("{s:s,s:s}", "type", "X509", "flag", "CA"),
				&j->rep->certs);
	if (!r)
		r = load_folder(j, "x509crl", "load-cert",
				json_pack("{s:s,s:s}", "type", "X509_CRL", "flag", "NONE"),
				&j->rep->crls);
	/*
	 * charon caches each CRL that it has verified, and uses the first one it finds valid, even
	 * an older one (observed with 5.9.8): revocations in a new CRL count only without the
	 * cache.
	 */
	if (!r && j->rep->crls) {
		json_t *args = json_pack("{s:s}", "type", "X509_CRL");

		r = bwl_vici_call(j->v, "flush-certs", args, NULL, j->e);
		json_decref(args);
	}
	if (!r)
		r = load_folder(j, "x509", "load-cert",
				json_pack("{s:s,s:s}", "type", "X509", "flag", "NONE"),
				&j->rep->certs);
	free_scan(j->certs, j->ncerts);
	json_object_foreach(json_object_get(tree, "secrets"), name, secret) if (!r)
		r = load_secret(j, name, secret);
	return r ? r : unload_old_keys(j);
}

/* Where swanctl would name files, their content is sent. */
static int with_ca(struct job *j, json_t *conn, json_t **ret)
{
	json_t *file, *list, *remote;
	char path[BWL_PKI_PATH], *text;
	size_t i, len;
	int r = 0;

	*ret = json_deep_copy(conn);
	remote = json_object_get(*ret, "remote");
	list = json_object_get(json_object_get(conn, "remote"), "cacerts");
	json_array_foreach(list, i, file)
	{
		r = bwl_pki_path(path, j->e, j->dir, "x509ca", json_string_value(file), NULL);
		if (!r)
			r = read_file(path, &text, &len, j->e);
		if (r)
			break;
		json_array_set_new(json_object_get(remote, "cacerts"), i,
				   json_stringn_nocheck(text, len));
		free(text);
	}
	return r;
}

/* Ends its SAs as well: unloading a connection leaves them alive. */
static int drop(struct job *j, const char *name)
{
	json_t *args = json_pack("{s:s}", "name", name);
	int r = bwl_vici_call(j->v, "unload-conn", args, NULL, j->e);

	json_decref(args);
	if (r)
		return r;
	j->rep->unloaded++;
	args = json_pack("{s:s,s:s,s:s}", "ike", name, "force", "yes", "timeout", "-1");
	r = bwl_vici_call(j->v, "terminate", args, NULL, j->e);
	json_decref(args);
	return r == -EREMOTEIO ? 0 : r; /* "no matching SAs to terminate found" */
}

static int drop_others(struct job *j, const json_t *conns, const json_t *have)
{
	char peer[BWL_NAME_LEN];
	json_t *name;
	size_t i;
	int r = 0;

	json_array_foreach(json_object_get(have, "conns"), i, name)
	{
		const char *s = json_string_value(name);

		if (!r && bwl_ipsec_peer_name(s, peer) && !json_object_get(conns, s))
			r = drop(j, s);
	}
	return r;
}

static int initiate(struct job *j, json_t *wanted)
{
	char peer[BWL_NAME_LEN];
	const char *name;
	json_t *x;
	int r = 0;

	json_object_foreach(wanted, name, x) if (!r && bwl_ipsec_peer_name(name, peer) &&
						 !(r = bwl_ipsec_initiate(j->v, peer, j->e)))
		j->rep->initiated++;
	return r;
}

/*
 * charon starts connections that are new or have changed, if it is the one to initiate. That leaves
 * connections that it already had and that failed (a peer that refused is not asked again), and
 * those that the other side initiates, which may have given up while we were away.
 */
static int start_idle(struct job *j, json_t *conns, const json_t *had)
{
	json_t *ours = json_object(), *theirs = json_object(), *name, *conn;
	const char *key;
	int r, turns;
	size_t i;

	json_array_foreach(json_object_get(had, "conns"), i,
			   name) if (bwl_idle_asks(json_object_get(conns, json_string_value(name))))
		json_object_set_new(ours, json_string_value(name), json_true());
	json_object_foreach(conns, key, conn) if (!bwl_idle_asks(conn))
		json_object_set_new(theirs, key, json_true());
	r = bwl_idle_only(j->v, conns, ours, j->e);
	if (!r)
		r = initiate(j, ours);
	if (!r)
		r = bwl_idle_only(j->v, conns, theirs, j->e);
	for (turns = BWL_IPSEC_PATIENCE_NS / TURN_NS; !r && turns && json_object_size(theirs);
	     turns--) {
		nanosleep(&(struct timespec){ .tv_nsec = TURN_NS }, NULL);
		r = bwl_idle_only(j->v, conns, theirs, j->e);
	}
	if (!r)
		r = initiate(j, theirs);
	json_decref(ours);
	json_decref(theirs);
	return r;
}

int bwl_ipsec_load(struct bwl_vici *v, json_t *tree, const char *dir, unsigned flags,
		   struct bwl_ipsec_load_report *ret, struct bwl_err *e)
{
	struct job j = { .v = v, .dir = dir, .rep = ret, .keys = json_object(), .e = e };
	json_t *conns = json_object_get(tree, "connections"), *conn;
	struct bwl_err first = { 0 };
	json_t *had = NULL;
	const char *name;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = load_credentials(&j, tree);
	if (!r)
		r = bwl_vici_call(v, "get-conns", NULL, &had, e);
	if (!r && flags & BWL_IPSEC_ALL)
		r = drop_others(&j, conns, had);
	json_object_foreach(conns, name, conn)
	{
		json_t *copy = NULL, *args;

		if (r)
			break;
		r = with_ca(&j, conn, &copy);
		args = json_pack("{s:O}", name, copy);
		if (!r)
			r = bwl_vici_call(v, "load-conn", args, NULL, e);
		json_decref(args);
		json_decref(copy);
		if (r == -EREMOTEIO) {
			if (!ret->failed++) {
				first = *e;
				bwl_hint(&first, "the connection is %s", name);
			}
			r = 0;
		} else if (!r) {
			ret->loaded++;
		}
	}
	if (!r)
		r = bwl_ipsec_end_stale(v, tree, &ret->stale, e);
	if (!r && flags & BWL_IPSEC_START)
		r = start_idle(&j, conns, had);
	json_decref(had);
	json_decref(j.keys);
	if (!r && ret->failed) {
		*e = first;
		r = -EREMOTEIO;
	}
	return r;
}
