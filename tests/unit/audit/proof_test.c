// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Proofs that a record is in a tree: compared with RFC 6962's recursion for every index and size,
 * as text, with witnesses, and from pruned logs.
 */
#include "prune_rig.h"
#include <bwl/encode.h>
#include <openssl/evp.h>
#include "audit/prove.h"

#define SIZES 300

static struct bwl_hash leaf[SIZES];

static uint64_t split(uint64_t n)
{
	uint64_t k = 1;

	while (2 * k < n)
		k *= 2;
	return k;
}

static struct bwl_hash mth(uint64_t from, uint64_t to)
{
	static struct bwl_hash known[SIZES + 1][SIZES + 1];
	static bool is_known[SIZES + 1][SIZES + 1];
	struct bwl_hash left, right;

	if (to - from == 1)
		return leaf[from];
	if (!is_known[from][to]) {
		left = mth(from, from + split(to - from));
		right = mth(from + split(to - from), to);
		bwl_hash_node(&left, &right, &known[from][to]);
		is_known[from][to] = true;
	}
	return known[from][to];
}

/* RFC 6962 section 2.1.1, word by word. */
static unsigned path(uint64_t m, uint64_t from, uint64_t to, struct bwl_hash *ret)
{
	uint64_t k = split(to - from);
	unsigned n;

	if (to - from == 1)
		return 0;
	if (m < k) {
		n = path(m, from, from + k, ret);
		ret[n] = mth(from + k, to);
	} else {
		n = path(m - k, from + k, to, ret);
		ret[n] = mth(from, from + k);
	}
	return n + 1;
}

static void make_leaves(void)
{
	for (unsigned i = 0; i < SIZES; i++)
		bwl_hash_leaf(&i, sizeof(i), &leaf[i]);
}

static void every_proof_up_to_300_records_is_that_of_the_rfc_and_holds_for_it_alone(void **state)
{
	(void)state;
	make_leaves();
	for (uint64_t n = 1; n <= SIZES; n++) {
		struct bwl_hash root = mth(0, n), want[64];

		for (uint64_t i = 0; i < n; i++) {
			struct bwl_prover p;
			unsigned count = path(i, 0, n, want);

			bwl_prover_begin_inclusion(&p, i, n);
			for (uint64_t at = 0; at < n; at++)
				bwl_prover_leaf(&p, &leaf[at]);
			assert_int_equal(p.count, count);
			assert_memory_equal(p.hash, want, count * sizeof(*want));
			assert_true(bwl_inclusion_holds(i, &leaf[i], n, &root, want, count));
			assert_false(bwl_inclusion_holds(i, &leaf[(i + 1) % SIZES], n, &root, want,
							 count));
			assert_false(bwl_inclusion_holds(i + 1, &leaf[i], n, &root, want, count));
			assert_false(
				bwl_inclusion_holds(i, &leaf[i], n + SIZES, &root, want, count));
			assert_false(bwl_inclusion_holds(n, &leaf[i], n, &root, want, count));
			if (count) {
				assert_false(bwl_inclusion_holds(i, &leaf[i], n, &root, want,
								 count - 1));
				want[i % count].b[7] ^= 1;
				assert_false(
					bwl_inclusion_holds(i, &leaf[i], n, &root, want, count));
				want[i % count].b[7] ^= 1;
			}
			want[count] = root;
			assert_false(bwl_inclusion_holds(i, &leaf[i], n, &root, want, count + 1));
		}
	}
}

static void a_prover_takes_nodes_for_what_the_record_is_not_in(void **state)
{
	struct bwl_hash root, node;
	struct bwl_prover p;

	(void)state;
	make_leaves();
	root = mth(0, 300);
	bwl_prover_begin_inclusion(&p, 130, 300);
	node = mth(0, 128);
	assert_true(bwl_prover_node(&p, 7, &node));
	for (unsigned i = 128; i < 132; i++)
		bwl_prover_leaf(&p, &leaf[i]);
	node = mth(132, 136);
	assert_true(bwl_prover_node(&p, 2, &node));
	for (unsigned i = 136; i < 300; i++)
		bwl_prover_leaf(&p, &leaf[i]);
	assert_true(bwl_inclusion_holds(130, &leaf[130], 300, &root, p.hash, p.count));
	/* but not with a node that covers the record itself */
	bwl_prover_begin_inclusion(&p, 130, 300);
	node = mth(0, 256);
	assert_false(bwl_prover_node(&p, 8, &node));
}

static void append(struct bwl_audit_log *l, enum bwl_audit_urgency u, unsigned i)
{
	char text[300];

	snprintf(text, sizeof(text), "%-200u", i);
	assert_int_equal(bwl_audit_append(l, u, "test", text, NULL, NULL, &e), 0);
}

/* Is record n proved, and is the text of the proof valid? */
static bool proves(uint64_t n, const char *note, struct bwl_audit_proven *ret)
{
	struct bwl_tlog_proof p;
	struct bwl_hash own;
	bool ok;

	if (bwl_audit_prove_record(dir, &pub, n, note, note ? strlen(note) : 0, ret, &e))
		return false;
	assert_int_equal(bwl_tlog_proof_parse(ret->text, strlen(ret->text), &p, &e), 0);
	assert_int_equal(p.index, n);
	ok = !bwl_tlog_proof_check(&p, &ret->leaf, &pub, NULL, NULL, &e);
	if (ret->line) {
		bwl_hash_leaf(ret->line, strlen(ret->line), &own);
		assert_memory_equal(&own, &ret->leaf, sizeof(own));
	}
	return ok;
}

static void fill(unsigned records, uint64_t size, enum bwl_audit_urgency u)
{
	struct bwl_audit_log *l;

	assert_int_equal(bwl_audit_open(dir, &l, &e), 0);
	if (size)
		bwl_audit_set_size(l, size);
	bwl_audit_set_limit(l, 8000);
	for (unsigned i = 0; i < records; i++)
		append(l, i % 4 ? u : BWL_AUDIT_BEFORE, i);
	bwl_audit_close(l);
}

static void every_record_is_proved_in_the_newest_tree_and_in_older_ones(void **state)
{
	static struct bwl_audit_mark m[100];
	struct bwl_audit_proven p;
	struct bwl_audit_log *l;

	(void)state;
	assert_int_equal(bwl_audit_open(dir, &l, &e), 0);
	bwl_audit_set_limit(l, 8000);
	for (unsigned i = 0; i < 100; i++) {
		append(l, BWL_AUDIT_BEFORE, i);
		assert_int_equal(bwl_audit_newest(dir, &pub, &m[i], &e), 0);
	}
	bwl_audit_close(l);
	shell("test $(ls %s/log-*.hashes | wc -l) -ge 5", dir);
	for (unsigned i = 0; i < 100; i++)
		for (unsigned k = i; k < 100; k += 9) {
			if (!proves(i, k == i ? NULL : m[k].note, &p))
				fail_msg("%u in %u: %s", i, k, e.text);
			assert_non_null(p.line);
			bwl_audit_proven_free(&p);
		}
	assert_int_equal(bwl_audit_prove_record(dir, &pub, 50, m[49].note, strlen(m[49].note), &p,
						&e),
			 -ERANGE);
	assert_int_equal(bwl_audit_prove_record(dir, &pub, 100, NULL, 0, &p, &e), -ERANGE);
}

static void hashes_that_were_damaged_are_no_harm_while_the_lines_are_there(void **state)
{
	struct bwl_audit_proven p;

	(void)state;
	fill(100, 0, BWL_AUDIT_BEFORE);
	flip_byte(~0U, 40, "%s/log-*.hashes", dir);
	for (unsigned i = 0; i < 100; i += 7) {
		if (!proves(i, NULL, &p))
			fail_msg("%u: %s", i, e.text);
		bwl_audit_proven_free(&p);
	}
}

static void where_only_hashes_are_left_a_proof_holds_for_who_has_the_record(void **state)
{
	struct bwl_audit_proven p;

	(void)state;
	fill(100, 0, BWL_AUDIT_BEFORE);
	shell("rm $(ls %s/log-*.jsonl | head -n 3)", dir);
	for (unsigned i = 0; i < 100; i++) {
		if (!proves(i, NULL, &p))
			fail_msg("%u: %s", i, e.text);
		assert_true(i < 20 ? !p.line : i < 70 || p.line);
		bwl_audit_proven_free(&p);
	}
}

static void a_record_that_was_changed_is_not_proved(void **state)
{
	struct bwl_audit_proven p;

	(void)state;
	fill(30, 0, BWL_AUDIT_BEFORE);
	shell("sed -i 's/\"text\":\"17 /\"text\":\"18 /' %s/log-*.jsonl", dir);
	assert_int_equal(bwl_audit_prove_record(dir, &pub, 17, NULL, 0, &p, &e), -EBADMSG);
	assert_null(p.text);
}

static unsigned proved, lines, refused;

static void prove_all(uint64_t n)
{
	struct bwl_audit_proven p;

	proved = lines = refused = 0;
	for (uint64_t i = 0; i < n; i++) {
		if (proves(i, NULL, &p)) {
			proved++;
			lines += !!p.line;
			bwl_audit_proven_free(&p);
		} else {
			refused++;
			assert_non_null(strstr(e.text, "record"));
		}
	}
}

static void of_junk_that_was_pruned_the_hash_is_proved(void **state)
{
	(void)state;
	fill(400, 300000, BWL_AUDIT_JUNK);
	assert_int_not_equal(events("pruned"), 0);
	prove_all(newest(dir).size);
	assert_int_equal(refused, 0);
	assert_true(lines < proved);
	assert_true(lines > 100);
}

static void what_was_pruned_to_one_hash_is_refused_and_its_neighbours_are_proved(void **state)
{
	struct bwl_audit_proven p;

	(void)state;
	fill(700, 130000, BWL_AUDIT_EVENT);
	shell("ls %s/log-*.least >/dev/null", dir);
	prove_all(newest(dir).size);
	assert_true(refused > 0);
	assert_true(proved > 175); /* those that no host caused */
	assert_true(proves(0, NULL, &p));
	bwl_audit_proven_free(&p);
	assert_int_equal(bwl_audit_prove_record(dir, &pub, 2, NULL, 0, &p, &e), -ENOENT);
	assert_non_null(strstr(e.text, "pruned to one hash"));
}

static void what_was_removed_is_refused(void **state)
{
	struct bwl_audit_proven p;

	(void)state;
	fill(700, 65536, BWL_AUDIT_BEFORE);
	assert_int_equal(bwl_audit_prove_record(dir, &pub, 0, NULL, 0, &p, &e), -ENOENT);
	assert_non_null(strstr(e.text, "begins later"));
	assert_true(proves(newest(dir).size - 1, NULL, &p));
	bwl_audit_proven_free(&p);
}

/* A witness, which adds its line to a note. */
struct witness {
	EVP_PKEY *key;
	struct bwl_note_key pub;
};

static struct witness new_witness(const char *name)
{
	struct witness w = { .key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519") };
	uint8_t raw[32];
	size_t n = sizeof(raw);

	assert_int_equal(EVP_PKEY_get_raw_public_key(w.key, raw, &n), 1);
	assert_int_equal(bwl_witness_key(name, raw, &w.pub, &e), 0);
	return w;
}

static void cosign(const struct witness *w, char note[static BWL_NOTE_MAX])
{
	char line[BWL_COSIGNATURE_LINE], *said;
	size_t n, sig_len = 64;
	uint8_t sig[64];
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	said = bwl_cosignature_said(note, bwl_note_text(note, strlen(note)), 1700000000, &n);
	assert_int_equal(EVP_DigestSignInit(ctx, NULL, NULL, NULL, w->key), 1);
	assert_int_equal(EVP_DigestSign(ctx, sig, &sig_len, (const uint8_t *)said, n), 1);
	EVP_MD_CTX_free(ctx);
	free(said);
	bwl_cosignature_line(&w->pub, 1700000000, sig, line);
	strcat(note, line);
}

static void k_of_n_distinct_witnesses_are_demanded(void **state)
{
	struct witness a = new_witness("example.com/a"), b = new_witness("example.com/b"),
		       c = new_witness("example.com/c"), fake = new_witness("example.com/b");
	struct bwl_witnesses known = { .k = 2 };
	struct bwl_audit_proven p;
	struct bwl_tlog_proof t;
	struct bwl_audit_mark m;
	char note[BWL_NOTE_MAX];
	unsigned have;

	(void)state;
	fill(20, 0, BWL_AUDIT_BEFORE);
	assert_int_equal(bwl_witnesses_add(&known, &a.pub, &e), 0);
	assert_int_equal(bwl_witnesses_add(&known, &b.pub, &e), 0);
	assert_int_equal(bwl_witnesses_add(&known, &c.pub, &e), 0);
	assert_int_equal(bwl_witnesses_add(&known, &a.pub, &e), -EEXIST);
	assert_int_equal(bwl_witnesses_add(&known, &fake.pub, &e), -EEXIST);
	assert_int_equal(bwl_audit_newest(dir, &pub, &m, &e), 0);
	strcpy(note, m.note);
	cosign(&a, note);
	cosign(&a, note); /* twice counts once */
	assert_int_equal(bwl_witnesses_hold(&known, &pub, note, strlen(note), &have, &e), -ENOKEY);
	assert_int_equal(have, 1);
	cosign(&c, note);
	assert_int_equal(bwl_witnesses_hold(&known, &pub, note, strlen(note), &have, &e), 0);
	assert_int_equal(have, 2);
	assert_true(proves(3, note, &p));
	assert_int_equal(bwl_tlog_proof_parse(p.text, strlen(p.text), &t, &e), 0);
	assert_int_equal(bwl_tlog_proof_check(&t, &p.leaf, &pub, &known, NULL, &e), 0);
	known.k = 3;
	assert_int_equal(bwl_tlog_proof_check(&t, &p.leaf, &pub, &known, NULL, &e), -ENOKEY);
	bwl_audit_proven_free(&p);
	/* a stranger with b's name is not known and does not count as the third */
	cosign(&fake, note);
	assert_int_equal(bwl_witnesses_hold(&known, &pub, note, strlen(note), &have, &e), -ENOKEY);
	/* a false line by a known witness makes the note invalid */
	known.k = 1;
	*strstr(note, "example.com/c") = 'X';
	assert_int_equal(bwl_witnesses_hold(&known, &pub, note, strlen(note), &have, &e), 0);
	note[10]++;
	assert_int_equal(bwl_witnesses_hold(&known, &pub, note, strlen(note), &have, &e), -EBADMSG);
	EVP_PKEY_free(a.key);
	EVP_PKEY_free(b.key);
	EVP_PKEY_free(c.key);
	EVP_PKEY_free(fake.key);
}

static void a_log_is_no_witness_of_itself(void **state)
{
	struct bwl_witnesses known = { .k = 1 };
	struct bwl_note_key self;
	struct bwl_audit_mark m;

	(void)state;
	fill(2, 0, BWL_AUDIT_BEFORE);
	assert_int_equal(bwl_witness_key("example.com/self", pub.pub, &self, &e), 0);
	assert_int_equal(bwl_witnesses_add(&known, &self, &e), 0);
	assert_int_equal(bwl_audit_newest(dir, &pub, &m, &e), 0);
	assert_int_equal(bwl_witnesses_hold(&known, &pub, m.note, strlen(m.note), NULL, &e),
			 -EINVAL);
}

/* A proof is read from its text, and each byte of the text counts. */
static void any_byte_of_a_proof_that_is_changed_is_found(void **state)
{
	struct bwl_tlog_proof t;
	struct bwl_audit_proven p;
	unsigned harmless = 0;
	size_t len;

	(void)state;
	fill(20, 0, BWL_AUDIT_BEFORE);
	assert_true(proves(11, NULL, &p));
	len = strlen(p.text);
	for (size_t i = 0; i < len; i++)
		for (int bit = 0; bit < 8; bit++) {
			p.text[i] = (char)(p.text[i] ^ 1 << bit);
			harmless += !bwl_tlog_proof_parse(p.text, len, &t, NULL) &&
				    !bwl_tlog_proof_check(&t, &p.leaf, &pub, NULL, NULL, NULL);
			p.text[i] = (char)(p.text[i] ^ 1 << bit);
		}
	assert_int_equal(harmless, 0);
	assert_int_equal(bwl_tlog_proof_parse(p.text, len, &t, NULL), 0);
	for (size_t i = 0; i < len; i++)
		assert_true(bwl_tlog_proof_parse(p.text, i, &t, NULL) ||
			    bwl_tlog_proof_check(&t, &p.leaf, &pub, NULL, NULL, NULL));
	bwl_audit_proven_free(&p);
}

static void a_proof_has_one_spelling(void **state)
{
	static const char *const no[] = {
		"",
		"c2sp.org/tlog-proof@v2\nindex 0\n\nx\n\n\xe2\x80\x94 x AAAAAAAA\n",
		"c2sp.org/tlog-proof@v1\nindex 01\n\nx\n\n\xe2\x80\x94 x AAAAAAAA\n",
		"c2sp.org/tlog-proof@v1\nindex +1\n\nx\n\n\xe2\x80\x94 x AAAAAAAA\n",
		"c2sp.org/tlog-proof@v1\nindex \n\nx\n\n\xe2\x80\x94 x AAAAAAAA\n",
		"c2sp.org/tlog-proof@v1\nindex 9223372036854775808\n\nx\n\n\xe2\x80\x94 x AAAAAAAA\n",
		"c2sp.org/tlog-proof@v1\nextra \nindex 0\n\nx\n\n\xe2\x80\x94 x AAAAAAAA\n",
		"c2sp.org/tlog-proof@v1\nextra AAA\nindex 0\n\nx\n\n\xe2\x80\x94 x AAAAAAAA\n",
		"c2sp.org/tlog-proof@v1\nextra AAAA\nextra AAAA\nindex 0\n\nx\n\n\xe2\x80\x94 x AAAAAAAA\n",
		"c2sp.org/tlog-proof@v1\nindex 0\nAAAA\n\nx\n\n\xe2\x80\x94 x AAAAAAAA\n",
		"c2sp.org/tlog-proof@v1\r\nindex 0\n\nx\n\n\xe2\x80\x94 x AAAAAAAA\n",
		"c2sp.org/tlog-proof@v1\nindex 0\nx\n\n\xe2\x80\x94 x AAAAAAAA\n",
		"c2sp.org/tlog-proof@v1\nindex 0\n\nx\n",
		"c2sp.org/tlog-proof@v1\nindex 0\n",
	};
	const char *yes = "c2sp.org/tlog-proof@v1\nextra AAAA\nindex 9223372036854775807\n\nx\n\n"
			  "\xe2\x80\x94 x AAAAAAAA\n";
	struct bwl_tlog_proof t;
	char *again;

	(void)state;
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		if (bwl_tlog_proof_parse(no[i], strlen(no[i]), &t, &e) != -EBADMSG)
			fail_msg("taken: %s", no[i]);
	assert_int_equal(bwl_tlog_proof_parse(yes, strlen(yes), &t, &e), 0);
	again = bwl_tlog_proof_format(&t);
	assert_string_equal(again, yes);
	free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_proof_up_to_300_records_is_that_of_the_rfc_and_holds_for_it_alone),
		cmocka_unit_test(a_prover_takes_nodes_for_what_the_record_is_not_in),
		cmocka_unit_test(a_proof_has_one_spelling),
#define LOG(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
		LOG(every_record_is_proved_in_the_newest_tree_and_in_older_ones),
		LOG(hashes_that_were_damaged_are_no_harm_while_the_lines_are_there),
		LOG(where_only_hashes_are_left_a_proof_holds_for_who_has_the_record),
		LOG(a_record_that_was_changed_is_not_proved),
		LOG(of_junk_that_was_pruned_the_hash_is_proved),
		LOG(what_was_pruned_to_one_hash_is_refused_and_its_neighbours_are_proved),
		LOG(what_was_removed_is_refused),
		LOG(k_of_n_distinct_witnesses_are_demanded),
		LOG(a_log_is_no_witness_of_itself),
		LOG(any_byte_of_a_proof_that_is_changed_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
