// SPDX-License-Identifier: GPL-2.0-or-later
/* bwl_key_read() of key.h: a PEM file, or a token. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include "signed/key_parts.h"
#include "signed/signing/token.h"

static int read_file(const char *path, struct bwl_key **ret, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(dup(fd), "r");
	struct stat st;

	if (!f)
		return bwl_fail(e, errno, "cannot read the key %s: %s", path, strerror(errno));
	if (fstat(fd, &st) || (st.st_mode & 077)) {
		fclose(f);
		bwl_fail(e, EPERM, "%s: users other than its owner may read or write this key",
			 path);
		return bwl_hint(e, "chmod 600 %s, if nobody has read it", path);
	}
	*ret = bwl_key_wrap(PEM_read_PrivateKey(f, NULL, NULL, NULL));
	fclose(f);
	ERR_clear_error();
	return *ret ? 0 : bwl_fail(e, EBADMSG, "%s is not an Ed25519 key in PEM", path);
}

int bwl_key_read(const char *where, struct bwl_key **ret, struct bwl_err *e)
{
	*ret = NULL;
	return strncmp(where, "pkcs11:", 7) ? read_file(where, ret, e)
					    : bwl_token_read(where, ret, e);
}
