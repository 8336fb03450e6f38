// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compares the Merkle tree with Certificate Transparency's published vectors and with RFC 6962's
 * recursion.
 */
#include "test.h"
#include <stdio.h>
#include <string.h>
#include "audit/merkle.h"

static const struct {
	const char *leaf, *root; /* root of the leaves up to this one */
} ct[] = {
	{ "", "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d" },
	{ "00", "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125" },
	{ "10", "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77" },
	{ "2021", "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7" },
	{ "3031", "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4" },
	{ "40414243", "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef" },
	{ "5051525354555657", "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c" },
	{ "606162636465666768696a6b6c6d6e6f",
	  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328" },
};

static size_t unhex(const char *s, uint8_t *ret)
{
	size_t n = strlen(s) / 2;

	for (size_t i = 0; i < n; i++)
		assert_int_equal(sscanf(s + 2 * i, "%2hhx", &ret[i]), 1);
	return n;
}

static struct bwl_hash hash_of(const char *hex)
{
	struct bwl_hash h;

	assert_int_equal(unhex(hex, h.b), 32);
	return h;
}

static void ct_leaf(unsigned i, struct bwl_hash *ret)
{
	uint8_t buf[32];

	bwl_hash_leaf(buf, unhex(ct[i].leaf, buf), ret);
}

static void roots_are_those_of_certificate_transparency(void **state)
{
	struct bwl_hash leaf, root, want;
	struct bwl_frontier f = { 0 };

	(void)state;
	bwl_frontier_root(&f, &root);
	want = hash_of("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	assert_memory_equal(&root, &want, 32);
	for (unsigned i = 0; i < 8; i++) {
		ct_leaf(i, &leaf);
		bwl_frontier_add(&f, &leaf);
		bwl_frontier_root(&f, &root);
		want = hash_of(ct[i].root);
		assert_memory_equal(&root, &want, 32);
	}
}

static void consistency_proofs_are_those_of_certificate_transparency(void **state)
{
	static const struct {
		unsigned m, n, count;
		const char *hash[3];
	} want[] = {
		{ 1, 1, 0, { NULL } },
		{ 1,
		  8,
		  3,
		  { "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
		    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
		    "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4" } },
		{ 6,
		  8,
		  3,
		  { "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
		    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
		    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7" } },
		{ 2,
		  5,
		  2,
		  { "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
		    "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b" } },
	};

	(void)state;
	for (unsigned w = 0; w < 4; w++) {
		struct bwl_hash root_m = hash_of(ct[want[w].m - 1].root),
				root_n = hash_of(ct[want[w].n - 1].root);
		struct bwl_prover p;

		bwl_prover_begin(&p, want[w].m, want[w].n);
		for (unsigned i = 0; i < want[w].n; i++) {
			struct bwl_hash leaf;

			ct_leaf(i, &leaf);
			bwl_prover_leaf(&p, &leaf);
		}
		assert_int_equal(p.count, want[w].count);
		for (unsigned i = 0; i < p.count; i++) {
			struct bwl_hash h = hash_of(want[w].hash[i]);

			assert_memory_equal(&p.hash[i], &h, 32);
		}
		assert_true(
			bwl_proof_holds(want[w].m, &root_m, want[w].n, &root_n, p.hash, p.count));
	}
}

/* MTH of section 2.1, word by word. */
static void mth(const struct bwl_hash *leaf, uint64_t n, struct bwl_hash *ret)
{
	struct bwl_hash left, right;
	uint64_t k = 1;

	if (n == 1) {
		*ret = leaf[0];
		return;
	}
	while (k * 2 < n)
		k *= 2;
	mth(leaf, k, &left);
	mth(leaf + k, n - k, &right);
	bwl_hash_node(&left, &right, ret);
}

#define MANY 70
static struct bwl_hash leaves[MANY], root[MANY + 1];

static int make_tree(void **state)
{
	struct bwl_frontier f = { 0 };

	(void)state;
	for (unsigned i = 0; i < MANY; i++) {
		bwl_hash_leaf(&i, sizeof(i), &leaves[i]);
		bwl_frontier_add(&f, &leaves[i]);
		bwl_frontier_root(&f, &root[i + 1]);
	}
	return 0;
}

static void the_frontier_gives_the_root_of_the_recursion(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= MANY; n++) {
		struct bwl_hash want;

		mth(leaves, n, &want);
		assert_memory_equal(&root[n], &want, 32);
	}
}

static void every_proof_holds_and_no_other(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= MANY; n++) {
		for (unsigned m = 1; m <= n; m++) {
			struct bwl_prover p;

			bwl_prover_begin(&p, m, n);
			for (unsigned i = 0; i < n; i++)
				bwl_prover_leaf(&p, &leaves[i]);
			assert_true(bwl_proof_holds(m, &root[m], n, &root[n], p.hash, p.count));
			if (m == n)
				continue;
			assert_false(
				bwl_proof_holds(m, &root[m], n, &root[n], p.hash, p.count - 1));
			assert_false(
				bwl_proof_holds(m, &root[m + 1], n, &root[n], p.hash, p.count));
			assert_false(
				bwl_proof_holds(m, &root[m], n, &root[n - 1], p.hash, p.count));
			for (unsigned i = 0; i < p.count; i++) {
				p.hash[i].b[i % 32] ^= 1;
				assert_false(
					bwl_proof_holds(m, &root[m], n, &root[n], p.hash, p.count));
				p.hash[i].b[i % 32] ^= 1;
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots_are_those_of_certificate_transparency),
		cmocka_unit_test(consistency_proofs_are_those_of_certificate_transparency),
		cmocka_unit_test(the_frontier_gives_the_root_of_the_recursion),
		cmocka_unit_test(every_proof_holds_and_no_other),
	};

	return cmocka_run_group_tests(tests, make_tree, NULL);
}
