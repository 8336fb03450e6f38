// SPDX-License-Identifier: GPL-2.0-or-later
/* See accept.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <openssl/evp.h>
#include <bwl/encode.h>
#include "accept.h"
#include "bwl/plural.h"

void desired_free(struct desired *d)
{
	bwl_policy_free(d->pol);
	free(d->bytes);
	*d = (struct desired){ 0 };
}

static void hex_of(const char *bytes, size_t len, char ret[static 65])
{
	unsigned char d[32] = { 0 };

	EVP_Digest(bytes, len, d, NULL, EVP_sha256(), NULL);
	bwl_hex_encode(d, sizeof(d), ret);
}

/*
 * A digest of the normalised text. The clocks are those the file was read with, so that each
 * `until:` comes out as it stands there.
 */
static int meaning(const struct bwl_policy *p, uint64_t boot_ns, int64_t wall_s, uint8_t id[32],
		   struct bwl_err *e)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int r = f ? bwl_policy_dump(p, boot_ns, wall_s, f) : -ENOMEM;

	if (f && fclose(f) && !r)
		r = -ENOMEM;
	if (!r && EVP_Digest(text, len, id, NULL, EVP_sha256(), NULL) != 1)
		r = -EIO;
	free(text);
	return r ? bwl_fail(e, -r, "cannot normalise the policy: %s", strerror(-r)) : 0;
}

static int read_it(const char *name, const char *bytes, size_t len, struct desired *ret,
		   struct bwl_err *e)
{
	uint64_t boot_ns = bwl_now_ns();
	int64_t wall_s = time(NULL);
	int r = bwl_policy_parse(name, bytes, len, boot_ns, wall_s, &ret->pol, e);

	return r ? r : meaning(ret->pol, boot_ns, wall_s, ret->id, e);
}

int accept_ask(struct accept *a, struct desired *ret, struct bwl_err *e)
{
	int r = a->source->ops->load(a->source, &ret->bytes, &ret->len, e);

	return r ? r : read_it(a->source->name, ret->bytes, ret->len, ret, e);
}

int accept_kept(const struct accept *a, struct desired *ret, struct bwl_err *e)
{
	struct bwl_accepted c;
	int r;

	bwl_accepted_look(a->dir, &c);
	if (c.state == BWL_ACCEPTED_OK)
		r = read_it(c.source, c.text, c.len, ret, e);
	else
		r = bwl_accepted_policy(&c, &ret->pol, e); /* says what is wrong with it */
	bwl_accepted_free(&c);
	return r;
}

static void stat_copy(const struct accept *a, struct stat *ret)
{
	char path[BWL_DESIRED_PATH];

	snprintf(path, sizeof(path), "%s/" BWL_ACCEPTED, a->dir);
	if (stat(path, ret))
		*ret = (struct stat){ 0 };
}

/* Reads the copy only when the file has changed: it may be large. */
bool accept_has(struct accept *a)
{
	struct bwl_accepted c;
	struct stat st;

	stat_copy(a, &st);
	if (a->seen && st.st_ino == a->copy.st_ino && st.st_size == a->copy.st_size &&
	    !memcmp(&st.st_mtim, &a->copy.st_mtim, sizeof(st.st_mtim)))
		return *a->digest;
	bwl_accepted_look(a->dir, &c);
	if (c.state == BWL_ACCEPTED_DAMAGED)
		agent_log(LOG_ALERT, "accepted",
			  "%s/" BWL_ACCEPTED
			  ": the accepted copy of the policy is damaged: %s; it is ignored",
			  a->dir, c.why);
	snprintf(a->digest, sizeof(a->digest), "%s", c.digest);
	if (c.state != BWL_ACCEPTED_OK)
		*a->digest = '\0';
	bwl_accepted_free(&c);
	a->copy = st;
	a->seen = true;
	return *a->digest;
}

int accept_keep(struct accept *a, const struct desired *d, struct bwl_err *e)
{
	char hex[65];
	int r;

	hex_of(d->bytes, d->len, hex);
	if (accept_has(a) && !strcmp(hex, a->digest))
		return 0;
	r = bwl_accepted_keep(a->dir, a->source->name, d->bytes, d->len, e);
	a->seen = false;
	if (r && !bwl_accepted_drop(a->dir)) /* the previous copy may be wider */
		return bwl_hint(
			e, "it is in force; after a reboot the policy of the source file applies");
	if (r)
		return bwl_hint(
			e,
			"it is in force, but after a reboot the previously accepted policy applies");
	agent_log(LOG_NOTICE, "accepted", "%s: accepted and stored: %zu byte%s, SHA-256 %.16s",
		  a->source->name, d->len, BWL_S(d->len), hex);
	return 0;
}

void accept_refuse(const struct accept *a, const struct bwl_err *why)
{
	struct bwl_err e = { 0 };

	if (bwl_refused_keep(a->dir, a->source->name, why, &e))
		agent_log_err(LOG_WARNING, "state", &e);
}

void accept_forgive(const struct accept *a)
{
	bwl_refused_forget(a->dir);
}
