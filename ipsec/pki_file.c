// SPDX-License-Identifier: GPL-2.0-or-later
/* A PKI's files. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "bwl/bytes.h"
#include "pki_file.h"

#define LOCK_NAP_NS 10000000
#define LOCK_TRIES 1000 /* 10 s */

int bwl_pki_failed(struct bwl_err *e, const char *what)
{
	const char *why = ERR_reason_error_string(ERR_peek_last_error());

	bwl_fail(e, EIO, "%s: %s", what, why ? why : "libcrypto gives no reason");
	ERR_clear_error();
	return -EIO;
}

int bwl_pki_path(char buf[static BWL_PKI_PATH], struct bwl_err *e, ...)
{
	const char *s;
	size_t n = 0;
	va_list ap;

	va_start(ap, e);
	while ((s = va_arg(ap, const char *)))
		if (n < BWL_PKI_PATH)
			n += (size_t)snprintf(buf + n, BWL_PKI_PATH - n, "%s%s", n ? "/" : "", s);
	va_end(ap);
	if (n >= BWL_PKI_PATH)
		return bwl_fail(e, ENAMETOOLONG, "a path of %zu characters is too long", n);
	return 0;
}

int bwl_pki_mkdir(const char *path, unsigned mode, struct bwl_err *e)
{
	char part[BWL_PKI_PATH];
	struct stat st;

	snprintf(part, sizeof(part), "%s", path);
	for (char *s = strchr(part + 1, '/');; s = strchr(s + 1, '/')) {
		if (s)
			*s = '\0';
		if (mkdir(part, mode) && errno != EEXIST)
			return bwl_fail(e, errno, "cannot make the folder %s: %s", part,
					strerror(errno));
		if (!s)
			break;
		*s = '/';
	}
	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return bwl_fail(e, ENOTDIR, "%s is not a folder", path);
	return 0;
}

int bwl_pki_lock(const char *dir, struct bwl_err *e)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		int r = bwl_fail(e, errno, "cannot open the CA's folder %s: %s", dir,
				 strerror(errno));

		bwl_hint(e, "bwlimit-ctl pki init makes one; --ca DIR if it is elsewhere");
		return r;
	}
	for (unsigned i = 0; flock(fd, LOCK_EX | LOCK_NB); i++) {
		if (errno != EWOULDBLOCK || i == LOCK_TRIES) {
			close(fd);
			return bwl_fail(e, EBUSY, "%s is in use by another bwlimit-ctl pki", dir);
		}
		nanosleep(&(struct timespec){ .tv_nsec = LOCK_NAP_NS }, NULL);
	}
	return fd;
}

/* Hidden until it is whole: charon and swanctl read the folder. */
static int put(const char *path, mode_t mode, int (*write)(FILE *f, void *x), void *x,
	       struct bwl_err *e)
{
	const struct bwl_replace how = { .mode = mode };
	char *text = NULL;
	size_t n = 0;
	FILE *f = bwl_must(open_memstream(&text, &n));
	int r = write(f, x) ? 0 : bwl_pki_failed(e, path);

	if (fclose(f) && !r)
		r = bwl_fail(e, ENOMEM, "out of memory");
	if (!r)
		r = bwl_bytes_replace_path(path, &how, text, n, e);
	OPENSSL_cleanse(text, n);
	free(text);
	return r;
}

static int write_cert(FILE *f, void *x)
{
	return PEM_write_X509(f, x);
}

static int write_crl(FILE *f, void *x)
{
	return PEM_write_X509_CRL(f, x);
}

static int write_key(FILE *f, void *x)
{
	return PEM_write_PrivateKey(f, x, NULL, NULL, 0, NULL, NULL);
}

int bwl_pki_put_cert(const char *path, X509 *x, struct bwl_err *e)
{
	return put(path, 0644, write_cert, x, e);
}

int bwl_pki_put_crl(const char *path, X509_CRL *x, struct bwl_err *e)
{
	return put(path, 0644, write_crl, x, e);
}

int bwl_pki_put_key(const char *path, EVP_PKEY *x, struct bwl_err *e)
{
	return put(path, 0600, write_key, x, e);
}

static FILE *open_pem(const char *path, struct bwl_err *e)
{
	FILE *f = fopen(path, "re");

	if (!f)
		bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
	return f;
}

static int got(FILE *f, const char *path, const void *x, struct bwl_err *e)
{
	fclose(f);
	return x ? 0 : bwl_pki_failed(e, path);
}

/* A key with a passphrase is refused; nobody is asked for it at a terminal. */
static int no_passphrase(char *buf, int size, int rwflag, void *arg)
{
	(void)buf;
	(void)size;
	(void)rwflag;
	(void)arg;
	return -1;
}

#define GETTER(what, type, reader, callback)                                                       \
	int bwl_pki_get_##what(const char *path, type **ret, struct bwl_err *e)                    \
	{                                                                                          \
		FILE *f = open_pem(path, e);                                                       \
                                                                                                   \
		if (!f)                                                                            \
			return e && e->code ? -e->code : -ENOENT;                                  \
		*ret = reader(f, NULL, callback, NULL);                                            \
		return got(f, path, *ret, e);                                                      \
	}
GETTER(cert, X509, PEM_read_X509, NULL)
GETTER(crl, X509_CRL, PEM_read_X509_CRL, NULL)
GETTER(key, EVP_PKEY, PEM_read_PrivateKey, no_passphrase)
GETTER(request, X509_REQ, PEM_read_X509_REQ, NULL)
