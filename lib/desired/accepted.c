// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The accepted copy as a file: two lines that are comments in YAML, then the document as the
 * source gave it, so that the file itself is a policy:
 *
 *	# bwlimit accepted 1 SHA256
 *	# {"source_name": …, "accepted_at": …, "sha256": …}
 *
 * The first digest is over everything after its line, the second over the document alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <openssl/evp.h>
#include <bwl/bytes.h>
#include <bwl/desired.h>
#include <bwl/encode.h>

#define MAGIC "# bwlimit accepted 1 "
#define HEX 64
#define HEAD (sizeof(MAGIC) - 1 + HEX + 1)

static void hex_of(const char *const part[2], const size_t len[2], char ret[static HEX + 1])
{
	unsigned char d[32] = { 0 };
	EVP_MD_CTX *c = EVP_MD_CTX_new();

	if (!c || EVP_DigestInit_ex(c, EVP_sha256(), NULL) != 1 ||
	    EVP_DigestUpdate(c, part[0], len[0]) != 1 ||
	    EVP_DigestUpdate(c, part[1], len[1]) != 1 || EVP_DigestFinal_ex(c, d, NULL) != 1)
		memset(d, 0, sizeof(d)); /* no document has this: it counts as damaged */
	EVP_MD_CTX_free(c);
	bwl_hex_encode(d, sizeof(d), ret);
}

static void damaged(struct bwl_accepted *a, const char *why)
{
	a->state = BWL_ACCEPTED_DAMAGED;
	snprintf(a->why, sizeof(a->why), "%.199s", why);
	a->text = NULL;
	a->len = 0;
}

/* "# {…}": facts about the document. */
static bool take_terms(struct bwl_accepted *a, const char *line, size_t len)
{
	json_t *o = len > 2 ? json_loadb(line + 2, len - 2, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *source = json_string_value(json_object_get(o, "source_name")),
		   *at = json_string_value(json_object_get(o, "accepted_at")),
		   *digest = json_string_value(json_object_get(o, "sha256"));
	bool ok = source && at && digest;

	if (ok) {
		snprintf(a->source, sizeof(a->source), "%s", source);
		snprintf(a->at, sizeof(a->at), "%s", at);
		snprintf(a->digest, sizeof(a->digest), "%s", digest);
	}
	json_decref(o);
	return ok;
}

void bwl_accepted_parse(const char *bytes, size_t len, struct bwl_accepted *ret)
{
	const char *terms, *end;
	char hex[HEX + 1];

	*ret = (struct bwl_accepted){ .state = BWL_ACCEPTED_NONE };
	if (!bytes)
		return;
	if (len < HEAD || strncmp(bytes, MAGIC, sizeof(MAGIC) - 1) || bytes[HEAD - 1] != '\n') {
		damaged(ret, "its first lines are not those of this version");
		return;
	}
	terms = bytes + HEAD;
	hex_of((const char *[]){ terms, "" }, (size_t[]){ len - HEAD, 0 }, hex);
	end = memchr(terms, '\n', len - HEAD);
	if (strncmp(bytes + sizeof(MAGIC) - 1, hex, HEX) || !end ||
	    !take_terms(ret, terms, (size_t)(end - terms))) {
		damaged(ret, "it is not what bwlimitd wrote");
		return;
	}
	ret->state = BWL_ACCEPTED_OK;
	ret->text = end + 1;
	ret->len = len - (size_t)(ret->text - bytes);
}

void bwl_accepted_look(const char *dir, struct bwl_accepted *ret)
{
	char path[BWL_DESIRED_PATH], *file = NULL;
	BWL_AUTO_CLOSE int fd = -1;
	struct bwl_err e = { 0 };
	size_t len = 0;

	*ret = (struct bwl_accepted){ .state = BWL_ACCEPTED_NONE };
	snprintf(path, sizeof(path), "%s/" BWL_ACCEPTED, dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return;
	if (fd < 0) {
		damaged(ret, strerror(errno));
	} else if (bwl_bytes_read(fd, BWL_POLICY_BYTES_MAX + 4096, &file, &len, &e)) {
		damaged(ret, e.text);
	} else {
		bwl_accepted_parse(file, len, ret);
		ret->file = file;
	}
}

void bwl_accepted_free(struct bwl_accepted *a)
{
	free(a->file);
	*a = (struct bwl_accepted){ .state = BWL_ACCEPTED_NONE };
}

int bwl_accepted_policy(const struct bwl_accepted *a, struct bwl_policy **ret, struct bwl_err *e)
{
	char name[BWL_ACCEPTED_SOURCE + 32];

	if (a->state == BWL_ACCEPTED_NONE)
		return bwl_fail(e, ENOENT, "no policy was accepted yet");
	if (a->state == BWL_ACCEPTED_DAMAGED)
		return bwl_fail(e, EUCLEAN, "the accepted copy of the policy is damaged: %s",
				a->why);
	snprintf(name, sizeof(name), "%s (as accepted)", a->source);
	return bwl_policy_parse(name, a->text, a->len, bwl_now_ns(), time(NULL), ret, e);
}

int bwl_accepted_keep(const char *dir, const char *source, const char *text, size_t len,
		      struct bwl_err *e)
{
	char first[HEAD + 1], hex[HEX + 1], when[BWL_TIME_BUF], line[2048];
	struct bwl_bytes part[] = { { first, HEAD }, { line, 0 }, { text, len } };
	json_t *o = json_object();
	struct bwl_err name; /* makes it printable: a path may contain anything */
	size_t n;
	int r;

	bwl_err_fill(&name, EIO, "%.255s", source);
	hex_of((const char *[]){ text, "" }, (size_t[]){ len, 0 }, hex);
	json_object_set_new(o, "source_name", json_string(name.text));
	json_object_set_new(o, "accepted_at", json_string(bwl_utc(time(NULL), -1, when)));
	json_object_set_new(o, "sha256", json_string(hex));
	memcpy(line, "# ", 2);
	n = 2 + json_dumpb(o, line + 2, sizeof(line) - 3, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(o);
	if (n > sizeof(line) - 1)
		return bwl_fail(e, ENAMETOOLONG, "the name of the source is too long: %.100s",
				source);
	line[n++] = '\n';
	part[1].len = n;
	hex_of((const char *[]){ line, text }, (size_t[]){ n, len }, hex);
	snprintf(first, sizeof(first), MAGIC "%s\n", hex);
	r = bwl_bytes_replace(dir, BWL_ACCEPTED, part, sizeof(part) / sizeof(part[0]), e);
	if (!r)
		bwl_refused_forget(dir);
	return r;
}

int bwl_accepted_drop(const char *dir)
{
	BWL_AUTO_CLOSE int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return at >= 0 && (!unlinkat(at, BWL_ACCEPTED, 0) || errno == ENOENT) && !fsync(at)
		       ? 0
		       : -errno;
}
