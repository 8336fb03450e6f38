// SPDX-License-Identifier: GPL-2.0-or-later
/* Notes and keys compared with the vectors of Go's sumdb/note and of C2SP's documents. */
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>
#include "audit/signed_note.h"
#include "bwl/encode.h"

#define SECRET "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
#define PUBLIC "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
#define ENOCH "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
#define TEXT                                                                                       \
	"If you think cryptography is the answer to your problem,\n"                               \
	"then you don't know what your problem is.\n"
#define PETER                                                                                      \
	"\xe2\x80\x94 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
#define ENOCH_SIG                                                                                  \
	"\xe2\x80\x94 EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"

static struct bwl_note_key key(const char *text)
{
	struct bwl_note_key k;
	struct bwl_err e;

	assert_int_equal(bwl_note_key_parse(text, &k, &e), 0);
	return k;
}

static int opens(const char *k, const char *note)
{
	struct bwl_note_key x = key(k);
	struct bwl_err e = { 0 };
	size_t text;
	int r = bwl_note_open(&x, note, strlen(note), &text, &e);

	if (!r)
		assert_int_equal(text, strlen(TEXT));
	else
		assert_true(*e.text);
	return r;
}

static void signing_gives_the_bytes_that_go_gives(void **state)
{
	struct bwl_note_key k = key(SECRET);
	char buf[1024], text[BWL_NOTE_KEY_TEXT];
	struct bwl_err e;
	size_t n;

	(void)state;
	assert_string_equal(bwl_note_key_format(&k, false, text), PUBLIC);
	assert_string_equal(bwl_note_key_format(&k, true, text), SECRET);
	assert_int_equal(bwl_note_sign(&k, TEXT, buf, sizeof(buf), &n, &e), 0);
	assert_string_equal(buf, TEXT "\n" PETER);
	assert_int_equal(n, strlen(buf));
}

static void a_note_opens_with_any_of_its_keys(void **state)
{
	(void)state;
	assert_int_equal(opens(PUBLIC, TEXT "\n" PETER), 0);
	assert_int_equal(opens(PUBLIC, TEXT "\n" PETER ENOCH_SIG), 0);
	assert_int_equal(opens(ENOCH, TEXT "\n" PETER ENOCH_SIG), 0);
	assert_int_equal(opens(ENOCH, TEXT "\n" PETER), -ENOKEY);
	assert_int_equal(opens(PUBLIC, "x" TEXT "\n" PETER), -EBADMSG);
}

static void what_go_calls_malformed_is(void **state)
{
	(void)state;
	assert_int_equal(opens(PUBLIC, TEXT), -EBADMSG);
	assert_int_equal(opens(PUBLIC, TEXT "\n"), -EBADMSG);
	assert_int_equal(opens(PUBLIC, "\x01" TEXT "\n" PETER), -EBADMSG);
	assert_int_equal(opens(PUBLIC, "\xff" TEXT "\n" PETER), -EBADMSG);
	assert_int_equal(opens(PUBLIC, TEXT "\n" PETER "Unexpected line.\n"), -EBADMSG);
	assert_int_equal(opens(PUBLIC, TEXT "\n\xe2\x80\x94 Bad Name x08go/ZJ\n"), -EBADMSG);
	assert_int_equal(opens(PUBLIC, ""), -EBADMSG);
	assert_int_equal(opens(PUBLIC, "\n\n"), -EBADMSG);
}

static void more_than_a_hundred_signatures_are_refused(void **state)
{
	char *note = malloc(strlen(TEXT) + 2 + 101 * strlen(PETER));

	(void)state;
	strcpy(note, TEXT "\n");
	for (int i = 0; i < 101; i++)
		strcat(note, PETER);
	assert_int_equal(opens(PUBLIC, note), -EBADMSG);
	note[strlen(note) - strlen(PETER)] = '\0';
	assert_int_equal(opens(PUBLIC, note), 0);
	free(note);
}

static void no_byte_of_a_note_can_be_changed(void **state)
{
	char note[sizeof(TEXT "\n" PETER)];

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(note); i++) {
		strcpy(note, TEXT "\n" PETER);
		note[i] ^= 1;
		assert_int_not_equal(opens(PUBLIC, note), 0);
	}
}

static void no_part_of_a_key_is_a_key_nor_one_with_a_byte_changed(void **state)
{
	static const char *const keys[] = { PUBLIC, SECRET };
	struct bwl_note_key k;

	(void)state;
	for (unsigned w = 0; w < 2; w++) {
		size_t n = strlen(keys[w]);
		char text[128];

		for (size_t from = 0; from <= n; from++) {
			for (size_t to = from; to <= n; to++) {
				snprintf(text, sizeof(text), "%.*s", (int)(to - from),
					 keys[w] + from);
				/* as in Go's test: only the whole text is a key */
				assert_int_equal(!bwl_note_key_parse(text, &k, NULL),
						 from == 0 && to == n);
			}
		}
		for (size_t i = 0; i < n; i++) {
			strcpy(text, keys[w]);
			text[i]++;
			assert_int_not_equal(bwl_note_key_parse(text, &k, NULL), 0);
		}
	}
	assert_int_not_equal(
		bwl_note_key_parse(
			"PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
			&k, NULL),
		0);
	assert_int_not_equal(
		bwl_note_key_parse(
			"PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW", &k,
			NULL),
		0);
}

static void names_of_keys_have_no_space_and_no_plus(void **state)
{
	struct bwl_note_key k;
	struct bwl_err e;
	char text[BWL_NOTE_KEY_TEXT];

	(void)state;
	assert_int_equal(bwl_note_key_new("", &k, &e), -EINVAL);
	assert_int_equal(bwl_note_key_new("a b", &k, &e), -EINVAL);
	assert_int_equal(bwl_note_key_new("a+b", &k, &e), -EINVAL);
	assert_int_equal(bwl_note_key_new("bwlimit/tray-7", &k, &e), 0);
	assert_int_equal(bwl_note_key_parse(bwl_note_key_format(&k, true, text), &k, &e), 0);
}

static int opens_as_checkpoint(const char *text, struct bwl_checkpoint *ret)
{
	struct bwl_note_key k = key(SECRET);
	char note[1024];
	struct bwl_err e;
	size_t n;

	assert_int_equal(bwl_note_sign(&k, text, note, sizeof(note), &n, &e), 0);
	return bwl_checkpoint_open(&k, note, n, ret, &e);
}

static void checkpoints_have_origin_size_and_root(void **state)
{
#define ROOT "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="
	struct bwl_checkpoint c;
	char root[BWL_HASH_TEXT];

	(void)state;
	assert_int_equal(
		opens_as_checkpoint("example.com/behind-the-sofa\n20852163\n" ROOT "\n", &c), 0);
	assert_string_equal(c.origin, "example.com/behind-the-sofa");
	assert_int_equal(c.size, 20852163);
	assert_string_equal(bwl_hash_format(&c.root, root), ROOT);
	assert_int_equal(opens_as_checkpoint("o\n0\n" ROOT "\nextension\n", &c), 0);
	assert_int_equal(opens_as_checkpoint("o\n01\n" ROOT "\n", &c), -EBADMSG);
	assert_int_equal(opens_as_checkpoint("o\n-1\n" ROOT "\n", &c), -EBADMSG);
	assert_int_equal(opens_as_checkpoint("o\n99999999999999999999\n" ROOT "\n", &c), -EBADMSG);
	assert_int_equal(opens_as_checkpoint("\n1\n" ROOT "\n", &c), -EBADMSG);
	assert_int_equal(opens_as_checkpoint("o\n1\n", &c), -EBADMSG);
	assert_int_equal(opens_as_checkpoint("o\n1\nAAAA\n", &c), -EBADMSG);
}

/*
 * Made by litewitness 0.9.0 (Debian's torchwood). Ed25519 signatures are deterministic: the same
 * seed and time must give the same bytes here, and its signature must be accepted.
 */
#define WITNESS "example.com/w+bac424c0+BFr4AqpkgQPeJ1HPj5UHK+0rj+xrG6rRdm/FvyeO2X9u"
#define WITNESS_SEED "x+0BJ01Bi8+FTri+qp3FlJzNUXKDBh0wdbiHJOvyHoo="
#define WITNESS_TIME 1795390663
#define LOG_KEY "bwlimit/tray-7+b9d04bda+Abho2vsloHoOdq8wxgbQVZ6DOm5NnHCtzSRZjrdVrIWR"
#define LOG_TEXT "bwlimit/tray-7\n1\naWwVwSpwTmkEvLpZR1J4ba3WsJm+o1gUh5Zilixj7Vk=\n"
#define LOG_NOTE                                                                                   \
	LOG_TEXT                                                                                   \
	"\n\xe2\x80\x94 bwlimit/tray-7 udBL2uaMwx2onVRWYBq313HTRfjx+3cHh0ikVWc1eIY/IUd0j20Y/K9YFzcJmI2mcoSsRFWzEOWHV1qUhQZGuffERAI=\n"
#define WITNESS_LINE                                                                               \
	"\xe2\x80\x94 example.com/w usQkwAAAAABrA3zHFnFLL1jHkUHuFyf7IpGPo+Tdlh6G4qa1U6QQJpKnkyNE9LmZgXgNbHQQDAZ1zXwR6+3d0bHqhl8OvPBCjV2LAA==\n"

static void what_litewitness_cosigned_is_taken(void **state)
{
	struct bwl_note_key w, l = key(LOG_KEY);
	const char *note = LOG_NOTE WITNESS_LINE;
	struct bwl_checkpoint c;
	char *bad = strdup(note), text[BWL_NOTE_KEY_TEXT];
	struct bwl_err e;
	unsigned held = 0;
	size_t n;

	(void)state;
	assert_int_equal(bwl_witness_key_parse(WITNESS, &w, &e), 0);
	assert_string_equal(bwl_note_key_format(&w, false, text), WITNESS);
	assert_int_equal(bwl_checkpoint_open(&w, note, strlen(note), &c, &e), 0);
	assert_int_equal(c.size, 1);
	assert_int_equal(bwl_checkpoint_open(&l, note, strlen(note), &c, &e), 0);
	assert_int_equal(bwl_note_open(&w, LOG_NOTE, strlen(LOG_NOTE), &n, &e), -ENOKEY);
	/* no byte of the text, the time or the signature can be changed */
	for (size_t i = 0; i < strlen(note); i++) {
		if (i >= strlen(LOG_TEXT) && i < strlen(LOG_NOTE))
			continue; /* the witness does not sign the log's own signature */
		bad[i] ^= 1;
		held += !bwl_note_open(&w, bad, strlen(bad), &n, &e);
		bad[i] ^= 1;
	}
	assert_int_equal(held, 0);
	free(bad);
	/* a key of one kind is not accepted as the other */
	assert_int_equal(bwl_witness_key_parse(LOG_KEY, &w, &e), -EINVAL);
	assert_int_equal(bwl_note_key_parse(WITNESS, &w, &e), -EINVAL);
}

static void what_we_cosign_is_what_litewitness_makes(void **state)
{
	uint8_t seed[32], sig[64];
	char line[BWL_COSIGNATURE_LINE], *said;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	struct bwl_note_key w, made;
	struct bwl_err e;
	size_t n, len = sizeof(sig);
	EVP_PKEY *p;

	(void)state;
	assert_int_equal(bwl_witness_key_parse(WITNESS, &w, &e), 0);
	assert_int_equal(bwl_witness_key("example.com/w", w.pub, &made, &e), 0);
	assert_int_equal(made.id, w.id);
	assert_int_equal(bwl_witness_key("example com", w.pub, &made, &e), -EINVAL);
	bwl_base64_decode(WITNESS_SEED, strlen(WITNESS_SEED), seed, sizeof(seed));
	p = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof(seed));
	said = bwl_cosignature_said(LOG_TEXT, strlen(LOG_TEXT), WITNESS_TIME, &n);
	assert_int_equal(EVP_DigestSignInit(ctx, NULL, NULL, NULL, p), 1);
	assert_int_equal(EVP_DigestSign(ctx, sig, &len, (uint8_t *)said, n), 1);
	bwl_cosignature_line(&w, WITNESS_TIME, sig, line);
	assert_string_equal(line, WITNESS_LINE);
	free(said);
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signing_gives_the_bytes_that_go_gives),
		cmocka_unit_test(a_note_opens_with_any_of_its_keys),
		cmocka_unit_test(what_go_calls_malformed_is),
		cmocka_unit_test(more_than_a_hundred_signatures_are_refused),
		cmocka_unit_test(no_byte_of_a_note_can_be_changed),
		cmocka_unit_test(no_part_of_a_key_is_a_key_nor_one_with_a_byte_changed),
		cmocka_unit_test(names_of_keys_have_no_space_and_no_plus),
		cmocka_unit_test(checkpoints_have_origin_size_and_root),
		cmocka_unit_test(what_litewitness_cosigned_is_taken),
		cmocka_unit_test(what_we_cosign_is_what_litewitness_makes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
