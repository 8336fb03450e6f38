// SPDX-License-Identifier: GPL-2.0-or-later
/* See layout.h. */
#include <ctype.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include "layout.h"

static const char *const kinds[] = {
#define X(k) #k,
	BWL_DOC_KINDS(X)
#undef X
};

const char *bwl_doc_kind_name(enum bwl_doc_kind k)
{
	return kinds[k];
}

enum bwl_doc_kind bwl_doc_kind_of(const char *name, size_t len)
{
	unsigned k = 0;

	while (k < BWL_DOC_KIND_COUNT && (strlen(kinds[k]) != len || strncmp(kinds[k], name, len)))
		k++;
	return k;
}

bool bwl_store_name_ok(const char *name, size_t len)
{
	if (!len || len >= BWL_DOC_NAME_MAX || (len <= 2 && !strncmp(name, "..", len)))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!name[i] || (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i])))
			return false;
	return true;
}

int bwl_store_prefix_ok(const char *prefix, struct bwl_err *e)
{
	size_t len = strlen(prefix);

	if (*prefix != '/' || len < 2 || len > 64 || prefix[len - 1] == '/' ||
	    strspn(prefix, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") !=
		    len)
		return bwl_fail(
			e, EINVAL,
			"'%.80s' is not a prefix: must be a path such as /bwl/v1, of at most 64 letters, digits, '.', '_', '-' and '/', without a '/' at its end",
			prefix);
	return 0;
}

static int fits(int n)
{
	return n > 0 && n < BWL_ETCD_KEY_MAX ? 0 : -ENAMETOOLONG;
}

int bwl_doc_range(char key[static BWL_ETCD_KEY_MAX], const char *prefix, const char *tray)
{
	return fits(tray ? snprintf(key, BWL_ETCD_KEY_MAX, "%s/node/%s/in/", prefix, tray)
			 : snprintf(key, BWL_ETCD_KEY_MAX, "%s/all/", prefix));
}

int bwl_doc_key(char key[static BWL_ETCD_KEY_MAX], const char *prefix, const char *tray,
		enum bwl_doc_kind kind, const char *name, bool big)
{
	char range[BWL_ETCD_KEY_MAX];
	int r = bwl_doc_range(range, prefix, tray);

	return r ? r
		 : fits(snprintf(key, BWL_ETCD_KEY_MAX, "%s%s/%s/%s", range, big ? "big" : "doc",
				 kinds[kind], name));
}

int bwl_part_key(char key[static BWL_ETCD_KEY_MAX], const char *prefix, const char *sha,
		 unsigned part)
{
	return fits(snprintf(key, BWL_ETCD_KEY_MAX, "%s/part/%s/%05u", prefix, sha, part));
}

int bwl_cosigned_key(char key[static BWL_ETCD_KEY_MAX], const char *prefix, const char *tray)
{
	return fits(snprintf(key, BWL_ETCD_KEY_MAX, "%s/node/%s/in/cosigned", prefix, tray));
}

int bwl_out_key(char key[static BWL_ETCD_KEY_MAX], const char *prefix, const char *tray,
		const char *what)
{
	return fits(snprintf(key, BWL_ETCD_KEY_MAX, "%s/node/%s/out/%s", prefix, tray, what));
}

int bwl_doc_parse_key(const char *range, const char *key, size_t len, struct bwl_doc_at *ret)
{
	const char *end = key + len, *kind, *name;
	size_t before = strlen(range);

	if (len < before + 4 || memcmp(key, range, before))
		return -EINVAL;
	key += before;
	ret->big = !memcmp(key, "big/", 4);
	if (!ret->big && memcmp(key, "doc/", 4))
		return -EINVAL;
	kind = key + 4;
	name = memchr(kind, '/', (size_t)(end - kind));
	if (!name)
		return -EINVAL;
	ret->kind = bwl_doc_kind_of(kind, (size_t)(name - kind));
	name++;
	if (ret->kind == BWL_DOC_KIND_COUNT || !bwl_store_name_ok(name, (size_t)(end - name)))
		return -EINVAL;
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(end - name), name);
	return 0;
}

void bwl_doc_sha(const void *at, size_t len, char hex[static BWL_DOC_SHA_HEX])
{
	unsigned char sha[EVP_MAX_MD_SIZE] = { 0 };
	unsigned n = 0;

	EVP_Digest(at, len, sha, &n, EVP_sha256(), NULL);
	for (unsigned i = 0; i < (BWL_DOC_SHA_HEX - 1) / 2; i++)
		snprintf(hex + 2 * i, 3, "%02x", sha[i]);
}

int bwl_doc_parse_head(const char *at, size_t len, struct bwl_doc_head *ret)
{
	char text[100], more;

	if (len >= sizeof(text) || memchr(at, '\0', len))
		return -EINVAL;
	snprintf(text, sizeof(text), "%.*s", (int)len, at);
	if (sscanf(text, "%5u %64[0-9a-f]%c", &ret->parts, ret->sha, &more) != 2 ||
	    strlen(ret->sha) != BWL_DOC_SHA_HEX - 1 || !ret->parts ||
	    ret->parts > BWL_DOC_MAX / BWL_DOC_PART_BYTES)
		return -EINVAL;
	return 0;
}
