// SPDX-License-Identifier: GPL-2.0-or-later
/* Records whose sums are right, but which no writer writes, and files that are none: the journal
 * ends there, or counts as cut. */
#include <endian.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include "journal/file.h"
#include "rig.h"

static uint8_t bytes[ROOM];
static size_t size;
static uint8_t digest[BWL_JOURNAL_DIGEST];

static void begin(void)
{
	size = 0;
	memset(digest, 0, sizeof(digest));
}

/* Chained to the one before. */
static void put(struct bwl_journal_rec r)
{
	assert_true(size < ROOM / 2);
	size += bwl_journal_encode(&r, digest, bytes + size, digest);
}

static void put_kind(enum bwl_journal_kind kind, uint64_t seq)
{
	put((struct bwl_journal_rec){ .kind = kind, .seq = seq, .at = seq, .name = "a" });
}

/* As if `end` named that record. */
static void read_back(uint64_t end_seq, const uint8_t *end_digest, struct bwl_journal *j)
{
	struct bwl_journal_anchor end;

	bwl_journal_anchor_make(&end, end_seq, end_digest);
	bwl_journal_parse(bytes, size, (const uint8_t *)&end, sizeof(end), j);
}

/* How many records count, if `end` names the one before this. */
static uint64_t counted(struct bwl_journal_rec last)
{
	uint8_t end[BWL_JOURNAL_DIGEST];
	struct bwl_journal j;

	begin();
	put_kind(BWL_J_BEGIN, 1);
	put_kind(BWL_J_CLOSE, 2);
	memcpy(end, digest, sizeof(end));
	put(last);
	read_back(2, end, &j);
	assert_int_equal(j.state, BWL_JOURNAL_OK);
	assert_true(bwl_closed_name_is(&j.closed, "a"));
	bwl_journal_free(&j);
	return j.records;
}

static void what_no_writer_writes_ends_the_journal(void **state)
{
	static const struct bwl_pfx good = { .family = 4, .len = 32 }, bad[] = {
		{ .family = 5 }, { .family = 4, .len = 33 }, { .family = 6, .len = 129 }
	};
	const struct bwl_journal_rec stop = { .kind = BWL_J_STOP, .seq = 3 };
	struct bwl_journal_rec r = stop;

	(void)state;
	assert_int_equal(counted(r), 3);
	r.seq = 4; /* one is missing */
	assert_int_equal(counted(r), 2);
	r = stop;
	r.kind = BWL_J_BEGIN; /* only the first is one */
	assert_int_equal(counted(r), 2);
	r.kind = 0;
	assert_int_equal(counted(r), 2);
	r.kind = _BWL_J_MAX;
	assert_int_equal(counted(r), 2);
	r = stop;
	r.pfx = &good; /* a stop has no prefixes */
	r.npfx = 1;
	assert_int_equal(counted(r), 2);
	r.kind = BWL_J_CLOSE;
	assert_int_equal(counted(r), 3);
	for (unsigned i = 0; i < 3; i++) {
		r.pfx = &bad[i];
		assert_int_equal(counted(r), 2);
	}
	/* an opening that `end` does not name: nobody acknowledged it */
	r = stop;
	r.kind = BWL_J_RAISE_ZONE;
	assert_int_equal(counted(r), 2);
}

/* Of a stop with this in its header: its size, and its number of prefixes. The header's own sum is
 * right. */
static enum bwl_journal_read decoded(uint32_t at, uint32_t value, uint32_t at2, uint32_t value2)
{
	struct bwl_journal_rec r = { .kind = BWL_J_CLOSE, .seq = 1 }, back;
	uint8_t b[BWL_JOURNAL_HEADER + BWL_JOURNAL_DIGEST], sum[32];
	struct bwl_pfx *pfx;
	enum bwl_journal_read got;
	size_t n;

	bwl_journal_encode(&r, digest, b, sum);
	value = htole32(value);
	value2 = htole32(value2);
	memcpy(b + at, &value, 4);
	memcpy(b + at2, &value2, 4);
	EVP_Digest(b, 144, sum, NULL, EVP_sha256(), NULL);
	memcpy(b + 144, sum, 8);
	got = bwl_journal_decode(b, sizeof(b), digest, &back, &pfx, &n, sum);
	free(pfx);
	return got;
}

#define AT_SIZE 4
#define AT_NPFX 36
#define AT_SET 44
#define NONE (BWL_JOURNAL_HEADER + BWL_JOURNAL_DIGEST)
#define TOO_MANY (BWL_JOURNAL_MAX / BWL_JOURNAL_PFX)

static void a_header_that_lies_about_its_size_is_none(void **state)
{
	(void)state;
	begin();
	assert_int_equal(decoded(AT_SIZE, NONE, AT_NPFX, 0), BWL_JR_WHOLE);
	assert_int_equal(decoded(AT_SIZE, NONE + 1, AT_NPFX, 0), BWL_JR_BAD);
	assert_int_equal(decoded(AT_SIZE, NONE, AT_NPFX, 1), BWL_JR_BAD);
	assert_int_equal(decoded(AT_SIZE, NONE + BWL_JOURNAL_PFX, AT_NPFX, 1), BWL_JR_TORN);
	assert_int_equal(decoded(AT_SIZE, NONE + TOO_MANY * BWL_JOURNAL_PFX, AT_NPFX, TOO_MANY),
			 BWL_JR_BAD);
	/* the sum of the whole is another one */
	assert_int_equal(decoded(AT_SIZE, NONE, AT_SET, 1), BWL_JR_TORN);
}

static void a_file_begins_as_it_says(void **state)
{
	uint8_t before[BWL_JOURNAL_DIGEST] = { 7 }, other[BWL_JOURNAL_DIGEST] = { 8 };
	struct bwl_journal_rec first = { .kind = BWL_J_BEGIN, .seq = 10, .after_seq = 9 };
	struct bwl_journal j;

	(void)state;
	memcpy(first.after, before, sizeof(before));
	begin();
	put(first);
	read_back(9, before, &j); /* it goes on from the one that `end` names */
	assert_int_equal(j.state, BWL_JOURNAL_OK);
	bwl_journal_free(&j);
	read_back(9, other, &j);
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
	bwl_journal_free(&j);
	read_back(10, other, &j);
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
	bwl_journal_free(&j);
	/* it had more records from its beginning */
	first.records = 1;
	begin();
	put(first);
	read_back(9, before, &j);
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
	assert_string_equal(j.why, "acknowledged records are gone");
	bwl_journal_free(&j);
	put_kind(BWL_J_OPEN,
		 11); /* its last one may open: it is of the state that it begins with */
	read_back(9, before, &j);
	assert_int_equal(j.state, BWL_JOURNAL_OK);
	bwl_journal_free(&j);
	put_kind(BWL_J_OPEN, 12); /* and no other */
	read_back(9, before, &j);
	assert_true(j.state == BWL_JOURNAL_OK && j.records == 2 && j.torn);
	bwl_journal_free(&j);
	first.after_seq = 5;
	begin();
	put(first);
	read_back(10, digest, &j);
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
	bwl_journal_free(&j);
	begin();
	put_kind(BWL_J_CLOSE, 1);
	read_back(1, digest, &j);
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
	bwl_journal_free(&j);
	bwl_journal_parse(bytes, size, bytes, 10, &j); /* less than one sector */
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
	bwl_journal_free(&j);
}

static void has(uint64_t seq, const uint8_t *of, bool want)
{
	spill("log", bytes, size);
	assert_int_equal(bwl_journal_has(dir, seq, of), want);
}

/* A record that a counter vouches for is there, or in what the file continues from. */
static void what_was_shortened_away_is_known_by_its_end(void **state)
{
	uint8_t before[BWL_JOURNAL_DIGEST] = { 7 }, other[BWL_JOURNAL_DIGEST] = { 8 };
	struct bwl_journal_rec first = { .kind = BWL_J_BEGIN, .seq = 10, .after_seq = 9 };

	(void)state;
	memcpy(first.after, before, sizeof(before));
	begin();
	put(first);
	put_kind(BWL_J_CLOSE, 11);
	has(8, other, true);
	has(9, before, true);
	has(9, other, false);
	has(11, digest, true);
	has(11, other, false);
	has(12, digest, false);
	bytes[size - 1] ^= 1;
	has(11, digest, false);
}

static void what_is_no_journal_counts_as_cut(void **state)
{
	char path[100], deep[600];
	struct bwl_journal j;
	uint8_t *b;
	size_t n;

	(void)state;
	snprintf(path, sizeof(path), "%s/end", dir);
	assert_int_equal(truncate(path, 257 << 20), 0); /* more than anybody writes */
	bwl_journal_look(dir, &j);
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
	assert_int_equal(unlink(path), 0);
	bwl_journal_look(dir, &j);
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
	assert_non_null(strstr(j.why, "/end: No such file"));
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(bwl_journal_file(dir, "end", &b, &n), -EFBIG);
	assert_int_equal(rmdir(path), 0);
	memset(deep, 'x', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	assert_int_equal(bwl_journal_file(deep, "end", &b, &n), -ENAMETOOLONG);
	assert_int_equal(bwl_journal_unbind(deep), -ENAMETOOLONG);
	bwl_journal_look(deep, &j);
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
	/* only half of what was set aside is left: it is still a journal that was set aside */
	spill("end.bad", bytes, 1);
	snprintf(path, sizeof(path), "%s/log", dir);
	assert_int_equal(unlink(path), 0);
	bwl_journal_look(dir, &j);
	assert_int_equal(j.state, BWL_JOURNAL_CUT);
}

/* The folder is named by the environment; a drill has none of its own. */
static void where_it_is(void **state)
{
	(void)state;
	assert_int_equal(unsetenv("BWLIMIT_JOURNAL_DIR"), 0);
	assert_string_equal(bwl_journal_dir(false), BWL_JOURNAL_DIR);
	assert_null(bwl_journal_dir(true));
	assert_int_equal(setenv("BWLIMIT_JOURNAL_DIR", "", 1), 0);
	assert_null(bwl_journal_dir(false));
	assert_int_equal(setenv("BWLIMIT_JOURNAL_DIR", dir, 1), 0);
	assert_string_equal(bwl_journal_dir(true), dir);
	assert_int_equal(unsetenv("BWLIMIT_JOURNAL_DIR"), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(what_no_writer_writes_ends_the_journal),
		T(a_header_that_lies_about_its_size_is_none),
		T(a_file_begins_as_it_says),
		T(what_was_shortened_away_is_known_by_its_end),
		T(what_is_no_journal_counts_as_cut),
		T(where_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
