// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Authority and certificates of --dev: EC P-256, as PEM. A certificate's CommonName is its user in
 * etcd.
 */
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "dev.h"

#define DAYS 730

static EVP_PKEY *read_key(const char *path)
{
	FILE *f = fopen(path, "re");
	EVP_PKEY *k = f ? PEM_read_PrivateKey(f, NULL, NULL, NULL) : NULL;

	if (f)
		fclose(f);
	return k;
}

static X509 *read_cert(const char *path)
{
	FILE *f = fopen(path, "re");
	X509 *x = f ? PEM_read_X509(f, NULL, NULL, NULL) : NULL;

	if (f)
		fclose(f);
	return x;
}

static FILE *make(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && !f)
		close(fd);
	return f;
}

static bool write_pair(const char *cert, const char *key, X509 *x, EVP_PKEY *k)
{
	FILE *a = make(key), *b = make(cert);
	bool ok = a && b && PEM_write_PrivateKey(a, k, NULL, NULL, 0, NULL, NULL) == 1 &&
		  PEM_write_X509(b, x) == 1;

	if (a)
		ok = !fclose(a) && ok;
	if (b)
		ok = !fclose(b) && ok;
	return ok;
}

static bool extend(X509 *x, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;
	bool ok;

	X509V3_set_ctx(&ctx, NULL, x, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	ok = ext && X509_add_ext(x, ext, -1) == 1;
	X509_EXTENSION_free(ext);
	return ok;
}

/* san NULL: an authority, which signs its own certificate (ca NULL). */
static X509 *certify(const char *name, const char *san, EVP_PKEY *k, X509 *ca, EVP_PKEY *ca_key)
{
	X509 *x = X509_new();
	X509_NAME *subject = x ? X509_get_subject_name(x) : NULL;
	uint8_t serial[8];
	uint64_t n = 0;
	bool ok = subject && RAND_bytes(serial, sizeof(serial)) == 1;

	for (unsigned i = 0; i < sizeof(serial); i++)
		n = n << 8 | serial[i];
	ok = ok && ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), n >> 1) &&
	     X509_set_version(x, 2) && X509_gmtime_adj(X509_getm_notBefore(x), -300) &&
	     X509_time_adj_ex(X509_getm_notAfter(x), DAYS, 0, NULL) &&
	     X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const uint8_t *)name, -1, -1,
					0) &&
	     X509_set_issuer_name(x, ca ? X509_get_subject_name(ca) : subject) &&
	     X509_set_pubkey(x, k);
	if (san)
		ok = ok && extend(x, NID_subject_alt_name, san);
	else
		ok = ok && extend(x, NID_basic_constraints, "critical,CA:TRUE") &&
		     extend(x, NID_key_usage, "critical,keyCertSign,cRLSign");
	ok = ok && X509_sign(x, ca_key, EVP_sha256());
	if (ok)
		return x;
	X509_free(x);
	return NULL;
}

struct pki {
	const struct dev *d;
	X509 *ca;
	EVP_PKEY *key;
};

static int issue(const struct pki *p, const char *name, const char *san, const char *cert,
		 const char *key, struct bwl_err *e)
{
	EVP_PKEY *k;
	X509 *x;
	bool ok;

	if (!access(cert, R_OK) && !access(key, R_OK))
		return 0;
	k = EVP_EC_gen("P-256");
	x = k ? certify(name, san, k, p->ca, p->key) : NULL;
	ok = x && write_pair(cert, key, x, k);
	X509_free(x);
	EVP_PKEY_free(k);
	return ok ? 0 : bwl_fail(e, EIO, "cannot make the certificate '%s'", cert);
}

static int authority(struct pki *p, struct bwl_err *e)
{
	char cert[DEV_PATH], key[DEV_PATH];
	bool ok;

	dev_path(p->d, cert, "pki", "ca.pem");
	dev_path(p->d, key, "pki", "ca.key");
	p->ca = read_cert(cert);
	p->key = read_key(key);
	if (p->ca && p->key)
		return 0;
	X509_free(p->ca);
	EVP_PKEY_free(p->key);
	p->key = EVP_EC_gen("P-256");
	p->ca = p->key ? certify("bwlimit dev", NULL, p->key, NULL, p->key) : NULL;
	ok = p->ca && write_pair(cert, key, p->ca, p->key);
	return ok ? 0 : bwl_fail(e, EIO, "cannot make the authority '%s'", cert);
}

static int copy_ca(const struct pki *p, const char *path, struct bwl_err *e)
{
	FILE *f = make(path);
	bool ok = f && PEM_write_X509(f, p->ca) == 1;

	if (f)
		ok = !fclose(f) && ok;
	return ok ? 0 : bwl_fail(e, EIO, "cannot write '%s'", path);
}

/* Under the names that bwlimit-sync uses: ca.pem, cert.pem, key.pem. */
static int for_tray(const struct pki *p, const char *tray, struct bwl_err *e)
{
	char file[3][DEV_PATH], san[BWL_DOC_NAME_MAX + 8];
	static const char *const names[] = { "ca.pem", "cert.pem", "key.pem" };
	int r;

	for (unsigned i = 0; i < 3; i++)
		if (snprintf(file[i], DEV_PATH, "%s/trays/%s/%s", p->d->dir, tray, names[i]) >=
		    DEV_PATH)
			return bwl_fail(e, ENAMETOOLONG, "'%.80s…' is too long", p->d->dir);
	snprintf(san, sizeof(san), "DNS:%s", tray);
	r = copy_ca(p, file[0], e);
	return r ? r : issue(p, tray, san, file[1], file[2], e);
}

int dev_pki(const struct dev *d, struct bwl_err *e)
{
	/* root: etcd's name for the superuser */
	static const char *const users[] = { "etcd", "root", "controller", "people" };
	char cert[DEV_PATH], key[DEV_PATH], name[32], san[160];
	struct pki p = { .d = d };
	int r = authority(&p, e);

	for (unsigned i = 0; !r && i < sizeof(users) / sizeof(*users); i++) {
		snprintf(name, sizeof(name), "%s.pem", users[i]);
		dev_path(d, cert, "pki", name);
		snprintf(name, sizeof(name), "%s.key", users[i]);
		dev_path(d, key, "pki", name);
		if (!i || !strcmp(users[i], "controller")) /* servers, because of --serve */
			snprintf(san, sizeof(san), "IP:127.0.0.1,IP:%s", d->host);
		else
			snprintf(san, sizeof(san), "DNS:%s", users[i]);
		r = issue(&p, users[i], san, cert, key, e);
	}
	for (unsigned i = 0; !r && i < d->ntrays; i++)
		r = for_tray(&p, d->tray[i], e);
	X509_free(p.ca);
	EVP_PKEY_free(p.key);
	return r;
}
