// SPDX-License-Identifier: GPL-2.0-or-later
/* The controller as a witness: what it signs, and what it never does. */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include "audit/merkle.h"
#include "bwl/encode.h"
#include "cosign.h"
#include "test.h"

#define LEAVES 40

static void leaf(unsigned i, bool other, struct bwl_hash *ret)
{
	uint8_t b[2] = { (uint8_t)i, other };

	bwl_hash_leaf(b, sizeof(b), ret);
}

/* A log of n records; from `fork` on they are others. */
static void say_log(struct tray_status *s, unsigned n, unsigned fork)
{
	struct bwl_frontier f = { 0 };
	struct bwl_hash h;

	*s = (struct tray_status){ .has_checkpoint = true, .origin = "bwlimit/tray-7", .size = n };
	for (unsigned i = 0; i < n; i++) {
		leaf(i, i >= fork, &h);
		bwl_frontier_add(&f, &h);
	}
	bwl_frontier_root(&f, &h);
	memcpy(s->root, h.b, 32);
}

static void prove(struct tray_status *s, unsigned from, unsigned fork)
{
	struct bwl_prover p;
	struct bwl_hash h;

	bwl_prover_begin(&p, from, s->size);
	for (unsigned i = 0; i < s->size; i++) {
		leaf(i, i >= fork, &h);
		bwl_prover_leaf(&p, &h);
	}
	s->proof_from = from;
	s->nproof = p.count;
	for (unsigned i = 0; i < p.count; i++)
		memcpy(s->proof[i], p.hash[i].b, 32);
}

static void a_log_that_grows_is_cosigned_where_it_is_proven(void **state)
{
	struct cosigned c = { 0 };
	struct tray_status s;

	(void)state;
	say_log(&s, 5, LEAVES);
	assert_int_equal(cosign_judge(&c, &s), COSIGN_SIGN); /* the first one */
	assert_int_equal(cosign_judge(&c, &s), COSIGN_NOTHING);
	say_log(&s, 9, LEAVES);
	assert_int_equal(cosign_judge(&c, &s), COSIGN_KEEP);
	assert_int_equal(c.signed_.size, 5);
	assert_int_equal(c.seen.size, 9);
	prove(&s, 5, LEAVES);
	assert_int_equal(cosign_judge(&c, &s), COSIGN_SIGN);
	assert_int_equal(c.signed_.size, 9);
	say_log(&s, 30, LEAVES);
	prove(&s, 9, LEAVES);
	assert_int_equal(cosign_judge(&c, &s), COSIGN_SIGN);
}

static void a_log_that_was_written_anew_is_told_and_never_signed(void **state)
{
	struct tray_status s;

	(void)state;
	for (unsigned kind = 0; kind < 4; kind++) {
		struct cosigned c = { 0 };

		say_log(&s, 9, LEAVES);
		assert_int_equal(cosign_judge(&c, &s), COSIGN_SIGN);
		say_log(&s, kind == 0 ? 9 : kind == 1 ? 8 : 20, kind == 1 ? LEAVES : 3);
		if (kind == 2)
			prove(&s, 9, 3); /* of the other history: does not fit what was signed */
		if (kind == 3)
			strcpy(s.origin, "bwlimit/tray-8");
		assert_int_equal(cosign_judge(&c, &s), COSIGN_ALARM);
		assert_true(*c.forked);
		/* and a healthy one afterwards neither: people look first */
		say_log(&s, 30, LEAVES);
		prove(&s, 9, LEAVES);
		assert_int_equal(cosign_judge(&c, &s), COSIGN_NOTHING);
		assert_int_equal(c.signed_.size, 9);
	}
}

static void what_was_seen_and_not_signed_binds_too(void **state)
{
	struct cosigned c = { 0 };
	struct tray_status s;

	(void)state;
	say_log(&s, 5, LEAVES);
	assert_int_equal(cosign_judge(&c, &s), COSIGN_SIGN);
	say_log(&s, 9, LEAVES);
	assert_int_equal(cosign_judge(&c, &s), COSIGN_KEEP);
	say_log(&s, 9, 7);
	assert_int_equal(cosign_judge(&c, &s), COSIGN_ALARM);
}

/* By the words of c2sp.org/tlog-cosignature, not by our code. */
static void a_cosignature_verifies(void **state)
{
	struct log_head h = { .origin = "bwlimit/tray-7", .size = 12 };
	struct bwl_key *k = bwl_key_random();
	char note[COSIGN_NOTE], said[COSIGN_NOTE], vkey[COSIGN_NOTE], *sig;
	uint8_t raw[76], in[128], sha[32];
	struct bwl_err e = { 0 };
	const int64_t t = 1800000000;
	size_t n;

	(void)state;
	memset(h.root, 7, 32);
	assert_int_equal(cosign_note(&h, "hall-3/witness", k, t, note, &e), 0);
	sig = strstr(note, "\n\n\xe2\x80\x94 hall-3/witness ");
	assert_non_null(sig);
	n = (size_t)(sig - note) + 1;
	snprintf(said, sizeof(said), "cosignature/v1\ntime 1800000000\n%.*s", (int)n, note);
	sig += strlen("\n\n\xe2\x80\x94 hall-3/witness ");
	assert_int_equal(bwl_base64_decode(sig, strcspn(sig, "\n"), raw, sizeof(raw)), 76);
	n = (size_t)snprintf((char *)in, sizeof(in), "hall-3/witness\n\x04");
	memcpy(in + n, bwl_key_public(k), 32);
	EVP_Digest(in, n + 32, sha, NULL, EVP_sha256(), NULL);
	assert_memory_equal(raw, sha, 4);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(raw[4 + i], (uint64_t)t >> (56 - 8 * i) & 255);
	assert_true(bwl_key_verifies(bwl_key_public(k), (uint8_t *)said, strlen(said), raw + 12));
	said[20] ^= 1;
	assert_false(bwl_key_verifies(bwl_key_public(k), (uint8_t *)said, strlen(said), raw + 12));
	assert_non_null(strstr(cosign_verifier("hall-3/witness", k, vkey), "hall-3/witness+"));
	bwl_key_free(k);
}

static void what_is_kept_of_a_log_reads_as_it_was_written(void **state)
{
	struct cosigned c = { 0 }, d;
	struct tray_status s;
	struct bwl_err e = { 0 };
	char *text;

	(void)state;
	say_log(&s, 5, LEAVES);
	cosign_judge(&c, &s);
	say_log(&s, 9, LEAVES);
	cosign_judge(&c, &s);
	text = cosigned_text(&c);
	assert_int_equal(cosigned_parse(text, strlen(text), &d, &e), 0);
	assert_memory_equal(&d.seen, &c.seen, sizeof(c.seen));
	assert_memory_equal(&d.signed_, &c.signed_, sizeof(c.signed_));
	free(text);
	assert_int_equal(cosigned_parse("{}", 2, &d, &e), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_that_grows_is_cosigned_where_it_is_proven),
		cmocka_unit_test(a_log_that_was_written_anew_is_told_and_never_signed),
		cmocka_unit_test(what_was_seen_and_not_signed_binds_too),
		cmocka_unit_test(a_cosignature_verifies),
		cmocka_unit_test(what_is_kept_of_a_log_reads_as_it_was_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
