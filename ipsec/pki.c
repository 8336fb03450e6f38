// SPDX-License-Identifier: GPL-2.0-or-later
/* The CA: certificates and CRLs, with libcrypto. */
#include <dirent.h>
#include <errno.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>
#include "pki_file.h"

#define SKEW_S 300 /* trays' clocks may be behind the CA's */

struct ca {
	const char *dir;
	int lock;
	X509 *cert;
	EVP_PKEY *key;
	X509_CRL *crl;
	struct bwl_err *e;
};

static void close_ca(struct ca *ca)
{
	X509_free(ca->cert);
	EVP_PKEY_free(ca->key);
	X509_CRL_free(ca->crl);
	if (ca->lock >= 0)
		close(ca->lock);
}

static int open_ca(struct ca *ca, const char *dir, struct bwl_err *e)
{
	char path[BWL_PKI_PATH];
	int r;

	*ca = (struct ca){ .dir = dir, .e = e };
	ca->lock = bwl_pki_lock(dir, e);
	if (ca->lock < 0)
		return ca->lock;
	if ((r = bwl_pki_path(path, e, dir, "ca.pem", NULL)) ||
	    (r = bwl_pki_get_cert(path, &ca->cert, e)) ||
	    (r = bwl_pki_path(path, e, dir, "ca.key", NULL)) ||
	    (r = bwl_pki_get_key(path, &ca->key, e)) ||
	    (r = bwl_pki_path(path, e, dir, "crl.pem", NULL)) ||
	    (r = bwl_pki_get_crl(path, &ca->crl, e))) {
		if (r == -ENOENT)
			bwl_hint(e, "bwlimit-ctl pki init makes a CA; --ca DIR if it is elsewhere");
	} else if (X509_check_private_key(ca->cert, ca->key) != 1) {
		r = bwl_fail(e, EINVAL, "%s: ca.key is not the key of ca.pem", dir);
	}
	if (r)
		close_ca(ca);
	return r;
}

static bool add_ext(X509V3_CTX *ctx, X509 *x, int nid, const char *value)
{
	X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, ctx, nid, value);
	bool ok = ext && X509_add_ext(x, ext, -1);

	X509_EXTENSION_free(ext);
	return ok;
}

static bool random_serial(ASN1_INTEGER *ret)
{
	BIGNUM *n = BN_new();
	bool ok = n && BN_rand(n, 159, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) &&
		  BN_to_ASN1_INTEGER(n, ret);

	BN_free(n);
	return ok;
}

static bool set_name(X509_NAME *name, const char *cn)
{
	return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)cn, -1,
					  -1, 0);
}

/* Everything except extensions and signature. issuer NULL: self-signed. */
static X509 *new_cert(const char *cn, EVP_PKEY *key, const X509 *issuer, int64_t from, int64_t to)
{
	X509 *x = X509_new();

	if (x && X509_set_version(x, X509_VERSION_3) && random_serial(X509_get_serialNumber(x)) &&
	    set_name(X509_get_subject_name(x), cn) &&
	    X509_set_issuer_name(x, X509_get_subject_name(issuer ? issuer : x)) &&
	    ASN1_TIME_set(X509_getm_notBefore(x), (time_t)from) &&
	    ASN1_TIME_set(X509_getm_notAfter(x), (time_t)to) && X509_set_pubkey(x, key))
		return x;
	X509_free(x);
	return NULL;
}

static X509 *sign_ca(const char *name, EVP_PKEY *key, int64_t from, int64_t to)
{
	X509 *x = new_cert(name, key, NULL, from, to);
	X509V3_CTX ctx;

	X509V3_set_ctx(&ctx, x, x, NULL, NULL, 0);
	if (x && add_ext(&ctx, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	    add_ext(&ctx, x, NID_key_usage, "critical,keyCertSign,cRLSign") &&
	    add_ext(&ctx, x, NID_subject_key_identifier, "hash") && X509_sign(x, key, EVP_sha384()))
		return x;
	X509_free(x);
	return NULL;
}

static X509 *sign_node(struct ca *ca, const char *node, EVP_PKEY *key, int64_t from, int64_t to)
{
	X509 *x = new_cert(node, key, ca->cert, from, to);
	X509V3_CTX ctx;
	char san[300];

	snprintf(san, sizeof(san), "DNS:%s", node);
	X509V3_set_ctx(&ctx, ca->cert, x, NULL, NULL, 0);
	if (x && add_ext(&ctx, x, NID_basic_constraints, "critical,CA:FALSE") &&
	    add_ext(&ctx, x, NID_key_usage, "critical,digitalSignature") &&
	    add_ext(&ctx, x, NID_subject_alt_name, san) &&
	    add_ext(&ctx, x, NID_subject_key_identifier, "hash") &&
	    add_ext(&ctx, x, NID_authority_key_identifier, "keyid:always") &&
	    X509_sign(x, ca->key, EVP_sha384()))
		return x;
	X509_free(x);
	return NULL;
}

/*
 * Signs the old CRL's entries and `more` (may be NULL), with the next number and a new time.
 * Replaces ca->crl.
 */
static int sign_crl(struct ca *ca, STACK_OF(X509_REVOKED) * more, uint64_t life_s)
{
	STACK_OF(X509_REVOKED) *old = ca->crl ? X509_CRL_get_REVOKED(ca->crl) : NULL;
	ASN1_INTEGER *number = ca->crl ? X509_CRL_get_ext_d2i(ca->crl, NID_crl_number, NULL, NULL)
				       : ASN1_INTEGER_new();
	ASN1_TIME *from = ASN1_TIME_set(NULL, time(NULL) - SKEW_S);
	ASN1_TIME *to = ASN1_TIME_set(NULL, (time_t)(time(NULL) + (int64_t)life_s));
	BIGNUM *n = number ? ASN1_INTEGER_to_BN(number, NULL) : NULL;
	X509_CRL *crl = X509_CRL_new();
	X509V3_CTX ctx;
	X509_EXTENSION *aki;
	bool ok;

	X509V3_set_ctx(&ctx, ca->cert, NULL, NULL, crl, 0);
	aki = X509V3_EXT_conf_nid(NULL, &ctx, NID_authority_key_identifier, "keyid:always");
	ok = crl && n && from && to && aki && BN_add_word(n, 1) && BN_to_ASN1_INTEGER(n, number) &&
	     X509_CRL_set_version(crl, X509_CRL_VERSION_2) &&
	     X509_CRL_set_issuer_name(crl, X509_get_subject_name(ca->cert)) &&
	     X509_CRL_set1_lastUpdate(crl, from) && X509_CRL_set1_nextUpdate(crl, to) &&
	     X509_CRL_add_ext(crl, aki, -1) &&
	     X509_CRL_add1_ext_i2d(crl, NID_crl_number, number, 0, 0) == 1;
	for (int i = 0; ok && i < sk_X509_REVOKED_num(old); i++)
		ok = X509_CRL_add0_revoked(crl, X509_REVOKED_dup(sk_X509_REVOKED_value(old, i)));
	for (int i = 0; ok && i < sk_X509_REVOKED_num(more); i++)
		ok = X509_CRL_add0_revoked(crl, X509_REVOKED_dup(sk_X509_REVOKED_value(more, i)));
	ok = ok && X509_CRL_sort(crl) && X509_CRL_sign(crl, ca->key, EVP_sha384());
	X509_EXTENSION_free(aki);
	ASN1_INTEGER_free(number);
	ASN1_TIME_free(from);
	ASN1_TIME_free(to);
	BN_free(n);
	if (!ok) {
		X509_CRL_free(crl);
		return bwl_pki_failed(ca->e, "cannot sign the CRL");
	}
	X509_CRL_free(ca->crl);
	ca->crl = crl;
	return 0;
}

int bwl_pki_init(const char *dir, const char *name, uint64_t life_s, uint64_t crl_life_s,
		 struct bwl_err *e)
{
	struct ca ca = { .dir = dir, .lock = -1, .e = e };
	char pem[BWL_PKI_PATH], key[BWL_PKI_PATH], crl[BWL_PKI_PATH];
	int64_t now = time(NULL);
	int r;

	if ((r = bwl_pki_path(pem, e, dir, "ca.pem", NULL)) ||
	    (r = bwl_pki_path(key, e, dir, "ca.key", NULL)) ||
	    (r = bwl_pki_path(crl, e, dir, "crl.pem", NULL)) || (r = bwl_pki_mkdir(dir, 0700, e)))
		return r;
	ca.lock = bwl_pki_lock(dir, e);
	if (ca.lock < 0)
		return ca.lock;
	/* ca.pem comes last: without it nothing was issued, and init may be run again */
	if (!access(pem, F_OK)) {
		r = bwl_fail(
			e, EEXIST,
			"%s already has a CA: a second one is not trusted by nodes that the first one certified",
			dir);
		bwl_hint(e, "bwlimit-ctl pki issue NODE; or --ca DIR for another one");
	}
	if (!r) {
		ca.key = EVP_EC_gen("P-384");
		ca.cert = ca.key ? sign_ca(name, ca.key, now - SKEW_S, now + (int64_t)life_s)
				 : NULL;
		r = ca.cert ? 0 : bwl_pki_failed(e, "cannot make the CA");
	}
	if (!r)
		r = sign_crl(&ca, NULL, crl_life_s);
	if (!r && !(r = bwl_pki_put_key(key, ca.key, e)) && !(r = bwl_pki_put_crl(crl, ca.crl, e)))
		r = bwl_pki_put_cert(pem, ca.cert, e);
	close_ca(&ca);
	return r;
}

/* Writes a fresh CRL for the CA, and a copy into a node's folder if there is one. */
static int write_crl(struct ca *ca, const char *out)
{
	char path[BWL_PKI_PATH];
	int r;

	if (!out)
		r = bwl_pki_path(path, ca->e, ca->dir, "crl.pem", NULL);
	else if (!(r = bwl_pki_path(path, ca->e, out, "x509crl", NULL)) &&
		 !(r = bwl_pki_mkdir(path, 0755, ca->e)))
		r = bwl_pki_path(path, ca->e, out, "x509crl", "bwlimit.pem", NULL);
	return r ? r : bwl_pki_put_crl(path, ca->crl, ca->e);
}

static int read_request(const char *csr, EVP_PKEY **ret, struct bwl_err *e)
{
	X509_REQ *req = NULL;
	int r = bwl_pki_get_request(csr, &req, e);

	if (r)
		return r;
	*ret = X509_REQ_get_pubkey(req);
	/* its names are ignored: the operator names the node */
	if (!*ret || X509_REQ_verify(req, *ret) != 1)
		r = bwl_fail(e, EINVAL, "%s is not signed by the key it names", csr);
	X509_REQ_free(req);
	return r;
}

/* Removes the node's keys, except the one to keep (NULL: none). */
static int remove_keys(const char *out, const char *node, const char *keep, struct bwl_err *e)
{
	char path[BWL_PKI_PATH], file[BWL_PKI_PATH];
	size_t n = strlen(node);
	struct dirent *de;
	int r = bwl_pki_path(path, e, out, "private", NULL);
	DIR *d = r ? NULL : opendir(path);

	while (d && !r && (de = readdir(d))) {
		/* a hidden file was left half written by a killed process */
		const char *s = de->d_name + (*de->d_name == '.');

		/* NODE-, 40 digits, .key: another node's name does not match */
		if (strncmp(s, node, n) || s[n] != '-' ||
		    strspn(s + n + 1, "0123456789abcdef") != 40 || strcmp(s + n + 41, ".key"))
			continue;
		r = bwl_pki_path(file, e, path, de->d_name, NULL);
		if (!r && (!keep || strcmp(file, keep)) && unlink(file))
			r = bwl_fail(e, errno, "cannot remove the old key %s: %s", file,
				     strerror(errno));
	}
	if (d)
		closedir(d);
	return r;
}

static int folders(const char *out, bool with_key, struct bwl_err *e)
{
	static const char *const names[] = { "x509", "x509ca", "x509crl", "private" };
	char path[BWL_PKI_PATH];
	int r = 0;

	for (unsigned i = 0; !r && i < (with_key ? 4 : 3); i++)
		if (!(r = bwl_pki_path(path, e, out, names[i], NULL)))
			r = bwl_pki_mkdir(path, i == 3 ? 0700 : 0755, e);
	return r;
}

static void serial_hex(const X509 *x, char ret[static 41])
{
	BIGNUM *n = ASN1_INTEGER_to_BN(X509_get0_serialNumber(x), NULL);
	char *s = n ? BN_bn2hex(n) : NULL;

	snprintf(ret, 41, "%s", s ? s : "0");
	for (; *ret; ret++)
		*ret = (char)(*ret >= 'A' && *ret <= 'F' ? *ret + 'a' - 'A' : *ret);
	OPENSSL_free(s);
	BN_free(n);
}

/*
 * The key first, the certificate last, then old keys are removed: there is a valid pair at every
 * moment.
 */
static int write_node(struct ca *ca, const struct bwl_pki_request *q, const char *out, X509 *x,
		      EVP_PKEY *key, struct bwl_pki_cert *ret)
{
	char file[128], path[BWL_PKI_PATH];
	int r;

	serial_hex(x, ret->serial);
	if ((r = folders(out, !q->csr, ca->e)) || (r = write_crl(ca, NULL)) ||
	    (r = write_crl(ca, out)) ||
	    (r = bwl_pki_path(path, ca->e, out, "x509ca", "bwlimit.pem", NULL)) ||
	    (r = bwl_pki_put_cert(path, ca->cert, ca->e)) ||
	    (r = bwl_pki_path(path, ca->e, ca->dir, "issued", NULL)) ||
	    (r = bwl_pki_mkdir(path, 0700, ca->e)))
		return r;
	/* recorded before it exists anywhere else: what is not recorded cannot be revoked */
	snprintf(file, sizeof(file), "%s-%s.pem", q->node, ret->serial);
	if ((r = bwl_pki_path(path, ca->e, ca->dir, "issued", file, NULL)) ||
	    (r = bwl_pki_put_cert(path, x, ca->e)))
		return r;
	if (!q->csr) {
		snprintf(file, sizeof(file), "%s-%s.key", q->node, ret->serial);
		if ((r = bwl_pki_path(ret->key, ca->e, out, "private", file, NULL)) ||
		    (r = bwl_pki_put_key(ret->key, key, ca->e)))
			return r;
	}
	r = bwl_pki_put_cert(ret->cert, x, ca->e);
	return r || q->csr ? r : remove_keys(out, q->node, ret->key, ca->e);
}

/*
 * In issued/: NODE-, 40 digits, .pem. charon does not mind the case of letters, so neither does
 * this.
 */
static bool is_recorded_of(const char *file, const char *node)
{
	size_t n = strlen(node);

	return !strncasecmp(file, node, n) && file[n] == '-' &&
	       strspn(file + n + 1, "0123456789abcdef") == 40;
}

/*
 * Who had a certificate of either name could be taken for the other. A name that is in use is
 * renewed all the same: otherwise one that was mistyped years ago ends the right one.
 */
static int refuse_like_name(struct ca *ca, const char *node, bool renew)
{
	char path[BWL_PKI_PATH];
	int n = (int)strlen(node);
	struct dirent *de;
	int r = bwl_pki_path(path, ca->e, ca->dir, "issued", NULL);
	DIR *d = r ? NULL : opendir(path);

	while (d && !r && (de = readdir(d))) {
		if (!is_recorded_of(de->d_name, node) || !strncmp(de->d_name, node, (size_t)n))
			continue;
		if (renew) {
			bwl_warn(
				"%.*s has or had a certificate, and IKE does not tell %s from it: only the case of letters differs; if it is in use, give one of them another name",
				n, de->d_name, node);
			break;
		}
		bwl_fail(
			ca->e, EEXIST,
			"%.*s has or had a certificate, and IKE does not tell %s from it: only the case of letters differs",
			n, de->d_name, node);
		r = bwl_hint(ca->e, "give the tray another name");
	}
	if (d)
		closedir(d);
	return r;
}

static int end_of(const X509 *x, int64_t *ret)
{
	struct tm tm;

	if (ASN1_TIME_to_tm(X509_get0_notAfter(x), &tm) != 1)
		return -EINVAL;
	*ret = timegm(&tm);
	return 0;
}

int bwl_pki_issue(const char *dir, const struct bwl_pki_request *q, struct bwl_pki_cert *ret,
		  struct bwl_err *e)
{
	char out[BWL_PKI_PATH], file[128];
	int64_t now = time(NULL), ca_end = 0;
	EVP_PKEY *key = NULL;
	X509 *x = NULL;
	struct ca ca;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = open_ca(&ca, dir, e);
	if (r)
		return r;
	r = q->out ? bwl_pki_path(out, e, q->out, NULL)
		   : bwl_pki_path(out, e, dir, "nodes", q->node, NULL);
	snprintf(file, sizeof(file), "%s.pem", q->node);
	if (!r)
		r = bwl_pki_path(ret->cert, e, out, "x509", file, NULL);
	if (!r)
		r = refuse_like_name(&ca, q->node, q->renew);
	if (!r && !q->renew && !access(ret->cert, F_OK)) {
		r = bwl_fail(e, EEXIST, "%s already has a certificate: %s", q->node, ret->cert);
		bwl_hint(e, "bwlimit-ctl pki renew %s", q->node);
	} else if (!r && q->renew && access(ret->cert, F_OK)) {
		r = bwl_fail(e, ENOENT, "%s has no certificate to renew: %s", q->node, ret->cert);
		bwl_hint(e, "bwlimit-ctl pki issue %s", q->node);
	}
	if (!r && q->csr) {
		r = read_request(q->csr, &key, e);
	} else if (!r) {
		key = EVP_EC_gen("P-384");
		r = key ? 0 : bwl_pki_failed(e, "cannot make a key");
	}
	if (!r && (end_of(ca.cert, &ca_end) || ca_end <= now))
		r = bwl_fail(e, EKEYEXPIRED, "the CA in %s has expired: nothing it signs is valid",
			     dir);
	ret->not_after = now + (int64_t)q->life_s < ca_end ? now + (int64_t)q->life_s : ca_end;
	if (!r) {
		x = sign_node(&ca, q->node, key, now - SKEW_S, ret->not_after);
		r = x ? sign_crl(&ca, NULL, q->crl_life_s)
		      : bwl_pki_failed(e, "cannot sign the certificate");
	}
	if (!r)
		r = write_node(&ca, q, out, x, key, ret);
	X509_free(x);
	EVP_PKEY_free(key);
	close_ca(&ca);
	return r;
}

static int add_revoked(STACK_OF(X509_REVOKED) * list, const X509 *x)
{
	X509_REVOKED *rev = X509_REVOKED_new();
	ASN1_TIME *now = ASN1_TIME_set(NULL, time(NULL));
	int r = -1;

	if (rev && now &&
	    X509_REVOKED_set_serialNumber(rev, (ASN1_INTEGER *)X509_get0_serialNumber(x)) &&
	    X509_REVOKED_set_revocationDate(rev, now) && sk_X509_REVOKED_push(list, rev))
		r = 0;
	else
		X509_REVOKED_free(rev);
	ASN1_TIME_free(now);
	return r;
}

/*
 * Collects the node's recorded certificates that are still valid: into the list, or counted if they
 * are already on the CRL.
 */
static int collect(struct ca *ca, const char *node, STACK_OF(X509_REVOKED) * list, unsigned *done)
{
	char path[BWL_PKI_PATH], file[BWL_PKI_PATH];
	struct dirent *de;
	int r = bwl_pki_path(path, ca->e, ca->dir, "issued", NULL);
	DIR *d = r ? NULL : opendir(path);

	while (d && !r && (de = readdir(d))) {
		X509_REVOKED *known;
		X509 *x = NULL;

		if (!is_recorded_of(de->d_name, node))
			continue;
		if ((r = bwl_pki_path(file, ca->e, path, de->d_name, NULL)) ||
		    (r = bwl_pki_get_cert(file, &x, ca->e)))
			break;
		if (X509_CRL_get0_by_cert(ca->crl, &known, x) == 1)
			++*done;
		else if (X509_cmp_current_time(X509_get0_notAfter(x)) > 0 && add_revoked(list, x))
			r = bwl_pki_failed(ca->e, file);
		X509_free(x);
	}
	if (d)
		closedir(d);
	return r;
}

/* Copies the CRL into the folder of every node that the CA keeps. */
static int spread_crl(struct ca *ca)
{
	char path[BWL_PKI_PATH], node[BWL_PKI_PATH];
	struct dirent *de;
	int r = bwl_pki_path(path, ca->e, ca->dir, "nodes", NULL);
	DIR *d = r ? NULL : opendir(path);

	while (d && !r && (de = readdir(d)))
		if (*de->d_name != '.' && !(r = bwl_pki_path(node, ca->e, path, de->d_name, NULL)))
			r = write_crl(ca, node);
	if (d)
		closedir(d);
	return r;
}

int bwl_pki_revoke(const char *dir, const char *node, uint64_t crl_life_s, unsigned *ret,
		   struct bwl_err *e)
{
	STACK_OF(X509_REVOKED) *list = sk_X509_REVOKED_new_null();
	char out[BWL_PKI_PATH], file[128], path[BWL_PKI_PATH];
	unsigned done = 0;
	struct ca ca;
	int r;

	r = list ? open_ca(&ca, dir, e) : bwl_fail(e, ENOMEM, "out of memory");
	if (r) {
		sk_X509_REVOKED_free(list);
		return r;
	}
	r = collect(&ca, node, list, &done);
	*ret = (unsigned)sk_X509_REVOKED_num(list);
	/* if they are revoked already it is done again: the last time may have been interrupted */
	if (!r && !*ret && !done) {
		r = bwl_fail(e, ENOENT, "%s has no certificate of this CA that is valid", node);
		bwl_hint(e, "ls %.150s/issued", dir);
	}
	/* the CRL first, because it is what refuses; then its copies, then the node's own folder */
	if (!r && !(r = sign_crl(&ca, list, crl_life_s)) && !(r = write_crl(&ca, NULL)) &&
	    !(r = spread_crl(&ca)) && !(r = bwl_pki_path(out, e, dir, "nodes", node, NULL))) {
		snprintf(file, sizeof(file), "%s.pem", node);
		r = bwl_pki_path(path, e, out, "x509", file, NULL);
		if (!r && unlink(path) && errno != ENOENT)
			r = bwl_fail(e, errno, "cannot remove %s: %s", path, strerror(errno));
		if (!r)
			r = remove_keys(out, node, NULL, e);
	}
	sk_X509_REVOKED_pop_free(list, X509_REVOKED_free);
	close_ca(&ca);
	return r;
}
