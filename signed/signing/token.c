// SPDX-License-Identifier: GPL-2.0-or-later
/* See token.h. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gnutls/abstract.h>
#include <gnutls/pkcs11.h>
#include "signed/key_parts.h"
#include "signed/signing/pin.h"
#include "signed/signing/token.h"

struct token {
	gnutls_privkey_t key;
	char pin_file[BWL_PIN_PATH]; /* "": the PIN is asked for */
	char name[64];               /* the token's, for people */
	bool wrong, last, low; /* a PIN was wrong; one attempt is left; few are, with a PIN file */
	struct bwl_err why;    /* why there is no PIN */
};

/*
 * A token refused a PIN: this process gives no PIN again, whatever GnuTLS asks. A file would give
 * the same one.
 */
static atomic_bool refused, withheld; /* withheld: a file's PIN was not given, see on_pin() */

bool bwl_token_is_refused(void)
{
	return atomic_load(&refused) || atomic_load(&withheld);
}

/*
 * The process gives up at a token's first wrong PIN, because tokens lock themselves after a few.
 * GnuTLS asks for the PIN again if a token was removed and inserted. A service that restarts with
 * the same file would lock the token as well: so a PIN from a file is not tried while a token
 * reports that a PIN was wrong.
 */
static int on_pin(void *arg, int attempt, const char *url, const char *label, unsigned flags,
		  char *pin, size_t most)
{
	struct token *t = arg;
	char said[BWL_PIN_MAX];
	int r;

	(void)url;
	snprintf(t->name, sizeof(t->name), "%s", label ? label : "?");
	if (attempt || (flags & GNUTLS_PIN_WRONG))
		atomic_store(&refused, true);
	t->wrong = atomic_load(&refused);
	t->last = flags & GNUTLS_PIN_FINAL_TRY;
	t->low = *t->pin_file && (flags & (GNUTLS_PIN_COUNT_LOW | GNUTLS_PIN_FINAL_TRY));
	if (t->low)
		atomic_store(&withheld, true);
	if (t->wrong || t->low)
		return -1;
	r = *t->pin_file ? bwl_pin_read(t->pin_file, said, &t->why)
			 : bwl_pin_ask(t->name, said, &t->why);
	if (!r && strlen(said) >= most)
		r = bwl_fail(&t->why, EINVAL, "the PIN is too long");
	if (!r)
		strcpy(pin, said);
	explicit_bzero(said, sizeof(said));
	return r ? -1 : 0;
}

static int failed(struct token *t, const char *uri, int code, struct bwl_err *e)
{
	if (t->why.code) {
		if (e)
			*e = t->why;
		return -t->why.code;
	}
	if (t->wrong) {
		bwl_fail(e, EACCES, "the token %s refuses this PIN", t->name);
		return t->last ? bwl_hint(e, "one try is left; if it fails, the token locks itself")
			       : bwl_hint(e, "a token locks itself after a few wrong PINs");
	}
	if (t->low) {
		bwl_fail(
			e, EACCES,
			"the token %s was given a wrong PIN and has %s left: the one in %.128s is not tried",
			t->name, t->last ? "one try" : "few tries", t->pin_file);
		return bwl_hint(
			e,
			"put the right PIN there; then log in once by hand (pkcs11-tool --login) to reset the token's count");
	}
	switch (code) {
	case GNUTLS_E_PARSING_ERROR:
		bwl_fail(e, EINVAL, "'%.64s' is not a PKCS#11 URI", uri);
		return bwl_hint(e, "pkcs11:token=NAME;object=NAME (RFC 7512)");
	case GNUTLS_E_PKCS11_REQUESTED_OBJECT_NOT_AVAILBLE:
		bwl_fail(e, ENODEV, "there is no token '%.64s'", uri);
		return bwl_hint(
			e,
			"plug it in, and check that p11-kit knows its module: p11-kit list-modules");
	case GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE:
		return bwl_fail(e, ENOKEY, "the token has no private key '%.64s'", uri);
	default:
		return bwl_fail(e, EIO, "the token of '%.64s': %s", uri, gnutls_strerror(code));
	}
}

static int sign(void *arg, const uint8_t *at, size_t n, uint8_t ret[BWL_SIGNATURE],
		struct bwl_err *e)
{
	struct token *t = arg;
	const gnutls_datum_t what = { (unsigned char *)at, (unsigned)n };
	gnutls_datum_t sig = { NULL, 0 };
	int r = gnutls_privkey_sign_data2(t->key, GNUTLS_SIGN_EDDSA_ED25519, 0, &what, &sig);

	if (r < 0)
		return failed(t, t->name, r, e);
	r = sig.size == BWL_SIGNATURE ? 0 : bwl_fail(e, EIO, "the token %s cannot sign", t->name);
	if (!r)
		memcpy(ret, sig.data, BWL_SIGNATURE);
	gnutls_free(sig.data);
	return r;
}

static void forget(void *arg)
{
	struct token *t = arg;

	gnutls_privkey_deinit(t->key);
	free(t);
}

static int public_of(struct token *t, const char *uri, uint8_t ret[BWL_PUBLIC], struct bwl_err *e)
{
	gnutls_datum_t x = { NULL, 0 }, y = { NULL, 0 };
	int algorithm = gnutls_privkey_get_pk_algorithm(t->key, NULL), r;
	gnutls_ecc_curve_t curve;
	gnutls_pubkey_t pub;

	if (algorithm != GNUTLS_PK_EDDSA_ED25519)
		return bwl_fail(e, EBADMSG, "'%.64s' is not an Ed25519 key but %s", uri,
				gnutls_pk_get_name((gnutls_pk_algorithm_t)algorithm));
	if (gnutls_pubkey_init(&pub))
		abort();
	r = gnutls_pubkey_import_privkey(pub, t->key, 0, 0);
	if (!r)
		r = gnutls_pubkey_export_ecc_raw2(pub, &curve, &x, &y, 0);
	if (r)
		r = failed(t, uri, r, e);
	else if (x.size != BWL_PUBLIC)
		r = bwl_fail(e, EBADMSG, "the public key of '%.64s' cannot be read", uri);
	else
		memcpy(ret, x.data, BWL_PUBLIC);
	gnutls_free(x.data);
	gnutls_free(y.data);
	gnutls_pubkey_deinit(pub);
	return r;
}

int bwl_token_read(const char *uri, struct bwl_key **ret, struct bwl_err *e)
{
	struct bwl_key *k = bwl_must(calloc(1, sizeof(*k)));
	struct token *t = bwl_must(calloc(1, sizeof(*t)));
	BWL_AUTO_FREE char *plain = bwl_must(strdup(uri));
	int r;

	*k = (struct bwl_key){ .sign = sign, .forget = forget, .token = t };
	if (gnutls_privkey_init(&t->key))
		abort();
	r = bwl_pin_source(plain, t->pin_file, e);
	if (!r) {
		gnutls_privkey_set_pin_function(t->key, on_pin, t);
		r = gnutls_privkey_import_url(t->key, plain, 0);
		r = r ? failed(t, plain, r, e) : public_of(t, plain, k->pub, e);
	}
	if (r)
		bwl_key_free(k);
	else
		*ret = k;
	return r;
}
