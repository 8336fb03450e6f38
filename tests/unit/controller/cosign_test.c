// SPDX-License-Identifier: GPL-2.0-or-later
/* The controller as a witness: what it signs, and what it never does. */
#include <stdlib.h>
#include <string.h>
#include "audit/merkle.h"
#include "cosign.h"
#include "fleet/model/set.h"
#include "test.h"

#define LEAVES 40

static void leaf(unsigned i, bool other, struct bwl_hash *ret)
{
	uint8_t b[2] = { (uint8_t)i, other };

	bwl_hash_leaf(b, sizeof(b), ret);
}

static struct bwl_note_key key_of(const char *name)
{
	struct bwl_note_key k;

	assert_int_equal(bwl_note_key_new(name, &k, NULL), 0);
	return k;
}

static void sign(struct tray_status *s, const struct bwl_note_key *k)
{
	size_t n;

	s->has_checkpoint = true;
	s->key = *k;
	s->key.can_sign = false;
	memset(s->key.seed, 0, sizeof(s->key.seed));
	assert_int_equal(bwl_checkpoint_sign(k, &s->checkpoint, s->note, &n, NULL), 0);
}

static struct bwl_note_key log_key;

/* A status with a log of n records. From record `fork` on the records differ. */
static void say_log(struct tray_status *s, unsigned n, unsigned fork)
{
	struct bwl_frontier f = { 0 };
	struct bwl_hash h;

	*s = (struct tray_status){ .checkpoint = { .origin = "bwlimit/tray-7", .size = n } };
	for (unsigned i = 0; i < n; i++) {
		leaf(i, i >= fork, &h);
		bwl_frontier_add(&f, &h);
	}
	bwl_frontier_root(&f, &s->checkpoint.root);
	sign(s, &log_key);
}

static void prove(struct tray_status *s, unsigned from, unsigned fork)
{
	struct bwl_prover p;
	struct bwl_hash h;

	bwl_prover_begin(&p, from, s->checkpoint.size);
	for (unsigned i = 0; i < s->checkpoint.size; i++) {
		leaf(i, i >= fork, &h);
		bwl_prover_leaf(&p, &h);
	}
	s->proof_from = from;
	s->nproof = p.count;
	memcpy(s->proof, p.hash, p.count * sizeof(*p.hash));
}

#define NOW 1800000000
static struct bwl_err why;
static enum cosign_word judge(struct cosigned *c, const struct tray_status *s)
{
	why = (struct bwl_err){ 0 };
	return cosign_judge(c, s, NOW, &why);
}

static void a_log_that_grows_is_cosigned_where_it_is_proven(void **state)
{
	struct cosigned c = { 0 };
	struct tray_status s;

	(void)state;
	say_log(&s, 5, LEAVES);
	assert_int_equal(judge(&c, &s), COSIGN_SIGN); /* the first checkpoint */
	assert_int_equal(judge(&c, &s), COSIGN_NOTHING);
	say_log(&s, 9, LEAVES);
	assert_int_equal(judge(&c, &s), COSIGN_KEEP);
	assert_int_equal(c.log.cosigned.c.size, 5);
	assert_int_equal(c.log.seen.c.size, 9);
	prove(&s, 5, LEAVES);
	assert_int_equal(judge(&c, &s), COSIGN_SIGN);
	assert_int_equal(c.log.cosigned.c.size, 9);
	say_log(&s, 30, LEAVES);
	prove(&s, 9, LEAVES);
	assert_int_equal(judge(&c, &s), COSIGN_SIGN);
}

static void a_log_that_was_written_anew_is_told_and_never_signed(void **state)
{
	struct tray_status s;

	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) {
		struct cosigned c = { 0 };

		say_log(&s, 9, LEAVES);
		assert_int_equal(judge(&c, &s), COSIGN_SIGN);
		say_log(&s, kind == 0 ? 9 : kind == 1 ? 8 : 20, kind == 1 ? LEAVES : 3);
		/* a proof within the forked history does not fit what was signed */
		if (kind == 2)
			prove(&s, 9, 3);
		assert_int_equal(judge(&c, &s), COSIGN_ALARM);
		assert_true(*c.log.wrong && *why.text);
		assert_string_equal(c.log.evidence.note, s.note);
		/* nor is a sound checkpoint signed afterwards: people must look first */
		say_log(&s, 30, LEAVES);
		prove(&s, 9, LEAVES);
		assert_int_equal(judge(&c, &s), COSIGN_NOTHING);
		assert_int_equal(c.log.cosigned.c.size, 9);
	}
}

static void what_was_seen_and_not_signed_binds_too(void **state)
{
	struct cosigned c = { 0 };
	struct tray_status s;

	(void)state;
	say_log(&s, 5, LEAVES);
	assert_int_equal(judge(&c, &s), COSIGN_SIGN);
	say_log(&s, 9, LEAVES);
	assert_int_equal(judge(&c, &s), COSIGN_KEEP);
	say_log(&s, 9, 7);
	assert_int_equal(judge(&c, &s), COSIGN_ALARM);
}

/*
 * A thief of a tray's certificate does not have its log's key: this is reported and changes
 * nothing.
 */
static void what_is_not_signed_by_the_log_changes_nothing(void **state)
{
	struct bwl_note_key other = key_of("bwlimit/tray-7"), named = key_of("bwlimit/tray-8");
	struct tray_status s, good;
	struct cosigned c = { 0 };

	(void)state;
	say_log(&good, 5, LEAVES);
	assert_int_equal(judge(&c, &good), COSIGN_SIGN);
	say_log(&s, 9, 3);
	prove(&s, 5, 3);
	sign(&s, &other);
	assert_int_equal(judge(&c, &s), COSIGN_STRANGER);
	assert_non_null(strstr(why.text, "another key"));
	assert_int_equal(judge(&c, &s), COSIGN_NOTHING); /* reported once */
	say_log(&s, 9, 3);
	sign(&s, &named);
	assert_int_equal(judge(&c, &s), COSIGN_NOTHING);
	say_log(&s, 9, 3);
	s.checkpoint.size = 9;
	s.note[strlen(s.note) - 6] ^= 1;
	assert_int_equal(judge(&c, &s), COSIGN_STRANGER);
	assert_non_null(strstr(why.text, "not signed"));
	say_log(&s, 9, 3);
	strcpy(s.checkpoint.origin, "bwlimit/tray-8");
	sign(&s, &log_key);
	assert_int_equal(judge(&c, &s), COSIGN_STRANGER);
	assert_non_null(strstr(why.text, "another one"));
	assert_string_equal(c.log.seen.note, good.note);
	say_log(&s, 9, LEAVES);
	prove(&s, 5, LEAVES);
	assert_int_equal(judge(&c, &s), COSIGN_SIGN); /* the real log goes on */
}

static void a_log_that_grows_for_long_without_a_proof_is_told_once(void **state)
{
	struct cosigned c = { 0 };
	struct tray_status s;

	(void)state;
	say_log(&s, 5, LEAVES);
	assert_int_equal(cosign_judge(&c, &s, NOW, &why), COSIGN_SIGN);
	say_log(&s, 6, LEAVES);
	assert_int_equal(cosign_judge(&c, &s, NOW + 100, &why), COSIGN_KEEP);
	say_log(&s, 7, LEAVES);
	assert_int_equal(cosign_judge(&c, &s, NOW + 99 + COSIGN_OVERDUE_S, &why), COSIGN_KEEP);
	say_log(&s, 8, LEAVES);
	assert_int_equal(cosign_judge(&c, &s, NOW + 100 + COSIGN_OVERDUE_S, &why), COSIGN_UNPROVEN);
	assert_non_null(strstr(why.text, "without a proof"));
	say_log(&s, 9, LEAVES);
	assert_int_equal(cosign_judge(&c, &s, NOW + 200 + COSIGN_OVERDUE_S, &why), COSIGN_KEEP);
	prove(&s, 5, LEAVES);
	assert_int_equal(cosign_judge(&c, &s, NOW + 201 + COSIGN_OVERDUE_S, &why), COSIGN_SIGN);
	say_log(&s, 12, LEAVES);
	assert_int_equal(cosign_judge(&c, &s, NOW + 202 + COSIGN_OVERDUE_S, &why), COSIGN_KEEP);
}

/* unit.audit_signed_note_test compares the line with litewitness's. */
static void a_cosignature_verifies_below_the_logs_own_signature(void **state)
{
	struct bwl_key *k = bwl_key_random();
	struct bwl_note_key w;
	struct bwl_checkpoint c;
	struct model_tray tray = { 0 };
	char note[COSIGN_NOTE];
	struct tray_status s;
	struct log_head h;
	struct bwl_err e = { 0 };

	(void)state;
	say_log(&s, 12, LEAVES);
	assert_true(log_head_set(&h, s.note, strlen(s.note)));
	assert_int_equal(cosign_note(&h, "hall-3/witness", k, NOW, note, &e), 0);
	assert_int_equal(bwl_witness_key("hall-3/witness", bwl_key_public(k), &w, &e), 0);
	assert_int_equal(bwl_checkpoint_open(&w, note, strlen(note), &c, &e), 0);
	assert_int_equal(c.size, 12);
	assert_int_equal(bwl_checkpoint_open(&s.key, note, strlen(note), &c, &e), 0);
	note[3] ^= 1;
	assert_int_equal(bwl_checkpoint_open(&w, note, strlen(note), &c, &e), -EBADMSG);
	assert_int_equal(cosign_note(&h, "a name", k, NOW, note, &e), -EINVAL);
	assert_int_equal(cosign_note(&h, "hall-3/witness", k, NOW, note, &e), 0);
	model_take_cosigned(&tray, note, strlen(note));
	assert_int_equal(tray.cosigned_s, NOW);
	model_take_cosigned(&tray, note, strlen(note) - 3);
	assert_int_equal(tray.cosigned_s, 0);
	model_take_cosigned(&tray, s.note, strlen(s.note));
	assert_int_equal(tray.cosigned_s, 0);
	bwl_key_free(k);
}

static void what_is_kept_of_a_log_reads_as_it_was_written(void **state)
{
	struct cosigned c = { 0 };
	struct tray_status s;
	struct bwl_err e = { 0 };
	struct log_state d;
	char *text;

	(void)state;
	say_log(&s, 5, LEAVES);
	judge(&c, &s);
	say_log(&s, 9, LEAVES);
	judge(&c, &s);
	say_log(&s, 9, 7);
	assert_int_equal(judge(&c, &s), COSIGN_ALARM);
	text = log_state_text(&c.log);
	assert_int_equal(log_state_parse(text, strlen(text), &d, &e), 0);
	assert_memory_equal(&d, &c.log, sizeof(d));
	free(text);
	assert_int_equal(log_state_parse("{}", 2, &d, &e), -EBADMSG);
}

static int set_up(void **state)
{
	(void)state;
	log_key = key_of("bwlimit/tray-7");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_that_grows_is_cosigned_where_it_is_proven),
		cmocka_unit_test(a_log_that_was_written_anew_is_told_and_never_signed),
		cmocka_unit_test(what_was_seen_and_not_signed_binds_too),
		cmocka_unit_test(what_is_not_signed_by_the_log_changes_nothing),
		cmocka_unit_test(a_log_that_grows_for_long_without_a_proof_is_told_once),
		cmocka_unit_test(a_cosignature_verifies_below_the_logs_own_signature),
		cmocka_unit_test(what_is_kept_of_a_log_reads_as_it_was_written),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
