// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The log on disk: everything that can be done to its files is found, and the place named, by
 * somebody who has the public key and an old checkpoint; what a crash leaves opens.
 */
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "audit/verify.h"

static char dir[64], other[80];
static struct bwl_note_key pub;
static struct bwl_err e;

static void shell(const char *fmt, ...)
{
	char cmd[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	assert_int_equal(system(cmd), 0);
}

static int set_up(void **state)
{
	char text[BWL_NOTE_KEY_TEXT];

	(void)state;
	/* in memory where that can be: some thousand records wait for the disk twice each */
	strcpy(dir,
	       access("/dev/shm", W_OK) ? "/tmp/bwl-audit-XXXXXX" : "/dev/shm/bwl-audit-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(other, sizeof(other), "%s.other", dir);
	assert_int_equal(bwl_audit_init(dir, "bwlimit/test", text, &e), 0);
	assert_int_equal(bwl_note_key_parse(text, &pub, &e), 0);
	assert_false(pub.can_sign);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	shell("rm -rf %s %s", dir, other);
	return 0;
}

static int append_to(const char *where, const char *text)
{
	struct bwl_audit_log *l;
	int r = bwl_audit_open(where, &l, &e);

	assert_int_equal(r, 0);
	r = bwl_audit_append(l, BWL_AUDIT_BEFORE, "test", text, NULL, NULL, &e);
	bwl_audit_close(l);
	return r;
}

static void fill(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char text[32];

		snprintf(text, sizeof(text), "record %u", i);
		assert_int_equal(append_to(dir, text), 0);
	}
}

static struct bwl_checkpoint newest(const char *where)
{
	char note[BWL_NOTE_MAX];
	struct bwl_checkpoint c;

	assert_int_equal(bwl_audit_latest(where, &pub, note, &c, &e), 0);
	return c;
}

/* The first problem is remembered, and those of one kind are counted. */
struct found {
	struct bwl_audit_problem first;
	unsigned n, of[_BWL_FAULT_MAX];
};
static void take(const struct bwl_audit_problem *p, void *arg)
{
	struct found *f = arg;

	if (!f->n++)
		f->first = *p;
	f->of[p->fault]++;
}
static struct bwl_audit_result result;
static struct found check(const char *where, const struct bwl_checkpoint *old, size_t n)
{
	struct found f = { 0 };

	assert_int_equal(bwl_audit_verify(where, &pub, old, n, take, &f, &result, &e), 0);
	assert_int_equal(result.problems, f.n);
	return f;
}

#define FIRST "log-00000000000000000000.jsonl"
static char *slurp(size_t *ret)
{
	char path[128], *buf;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/" FIRST, dir);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0 && !fstat(fd, &st));
	buf = malloc((size_t)st.st_size + 1);
	assert_int_equal(read(fd, buf, (size_t)st.st_size), st.st_size);
	buf[st.st_size] = '\0';
	close(fd);
	*ret = (size_t)st.st_size;
	return buf;
}
static void spit(const char *buf, size_t n)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/" FIRST, dir);
	fd = open(path, O_WRONLY | O_TRUNC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, buf, n), n);
	close(fd);
}

static void a_log_that_nobody_touched_verifies_with_every_old_checkpoint(void **state)
{
	struct bwl_checkpoint old[21];

	(void)state;
	old[0] = newest(dir);
	assert_int_equal(old[0].size, 0);
	for (unsigned i = 1; i <= 20; i++) {
		fill(1);
		old[i] = newest(dir);
		assert_int_equal(old[i].size, i);
	}
	assert_int_equal(check(dir, old, 21).n, 0);
	assert_int_equal(check(dir, NULL, 0).n, 0);
}

static void a_log_without_a_key_is_off(void **state)
{
	struct bwl_audit_log *l = (void *)1;

	(void)state;
	assert_int_equal(bwl_audit_open("/nonexistent/audit", &l, &e), 0);
	assert_null(l);
	assert_int_equal(bwl_audit_append(l, BWL_AUDIT_BEFORE, "test", "x", NULL, NULL, &e), 0);
}

static void any_byte_flipped_is_found_and_its_place_named(void **state)
{
	struct bwl_checkpoint now;
	size_t n;
	char *was;

	(void)state;
	fill(2);
	now = newest(dir);
	was = slurp(&n);
	for (size_t i = 0; i < n; i++) {
		char *buf = malloc(n);
		struct found f;

		memcpy(buf, was, n);
		buf[i] ^= (char)(1 << i % 8);
		spit(buf, n);
		f = check(dir, &now, 1);
		free(buf);
		/* without its newline the last checkpoint is torn, as by a crash: no record is */
		if (i + 1 == n) {
			assert_int_equal(f.n, 0);
			assert_true(result.torn_bytes && result.unsigned_records == 1);
			break;
		}
		if (!f.n)
			fail_msg("byte %zu of %zu", i, n);
		assert_string_equal(f.first.file, FIRST);
		if (f.first.offset > i || (f.first.end && f.first.end <= i))
			fail_msg("byte %zu: %s at %llu to %llu", i, f.first.text,
				 (unsigned long long)f.first.offset,
				 (unsigned long long)f.first.end);
	}
	free(was);
}

static void a_log_cut_at_any_length_is_found_by_a_checkpoint_of_the_whole(void **state)
{
	struct bwl_checkpoint now;
	size_t n;
	char *was;

	(void)state;
	fill(4);
	now = newest(dir);
	was = slurp(&n);
	for (size_t len = 0; len < n; len++) {
		struct found f;

		spit(was, len);
		f = check(dir, &now, 1);
		if (f.of[BWL_FAULT_CUT]) {
			assert_true(f.first.offset <= len);
			continue;
		}
		/* the records are all there, what they end in is not */
		assert_true(len > (size_t)(strstr(was, "\"text\":\"record 3\"") - was));
	}
	free(was);
}

static void a_log_cut_at_any_length_by_a_crash_opens_and_goes_on(void **state)
{
	struct bwl_checkpoint old[4];
	size_t n, header;
	char *was;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		fill(1);
		old[i] = newest(dir);
	}
	was = slurp(&n);
	header = (size_t)(strchr(was, '\n') + 1 - was);
	for (size_t len = header; len < n; len++) {
		size_t keep = 0;
		struct found f;

		spit(was, len);
		while (keep < 3 && strstr(was, "\n{\"checkpoint\"") && newest(dir).size > keep)
			keep++;
		assert_int_equal(append_to(dir, "after"), 0);
		f = check(dir, old, keep);
		if (f.n)
			fail_msg("cut to %zu: %s", len, f.first.text);
		/* torn bytes are in a file of their own, and a record says so */
		if (was[len - 1] != '\n') {
			char *now;
			size_t m;

			now = slurp(&m);
			assert_non_null(strstr(now, "torn bytes put aside in torn-"));
			free(now);
			shell("ls %s/torn-* >/dev/null && rm %s/torn-*", dir, dir);
		}
	}
	spit(was, header - 1); /* a first file is made whole: this is no crash */
	assert_int_equal(append_to(dir, "after"), -EBADMSG);
	free(was);
}

/* Lines i to i + count of the file. */
static char *lines(char *buf, unsigned i, unsigned count, size_t *ret)
{
	char *from = buf, *to;

	while (i--)
		from = strchr(from, '\n') + 1;
	for (to = from; count--;)
		to = strchr(to, '\n') + 1;
	*ret = (size_t)(to - from);
	return from;
}

static void records_reordered_left_out_or_repeated_are_named(void **state)
{
	size_t n, a, b, c;
	char *was, *buf, *x, *y, *z;
	struct found f;

	(void)state;
	fill(6);
	was = slurp(&n);
	buf = malloc(2 * n);
	/* line 0 is the head; record i and its checkpoint are lines 2 i + 1 and 2 i + 2 */
	x = lines(was, 0, 5, &a);
	y = lines(was, 5, 2, &b);
	z = lines(was, 7, 2, &c);
	memcpy(buf, x, a);
	memcpy(buf + a, z, c);
	memcpy(buf + a + c, y, b);
	memcpy(buf + a + b + c, z + c, n - a - b - c);
	spit(buf, n);
	f = check(dir, NULL, 0);
	assert_true(f.n);
	assert_int_equal(f.first.fault, BWL_FAULT_MISSING);
	assert_int_equal(f.first.from, 2);
	assert_int_equal(f.first.offset, a);
	/* record 2 left out, with its checkpoint */
	memcpy(buf, x, a);
	memcpy(buf + a, z, n - a - b);
	spit(buf, n - b);
	f = check(dir, NULL, 0);
	assert_int_equal(f.first.fault, BWL_FAULT_MISSING);
	assert_int_equal(f.first.from, 2);
	assert_int_equal(f.first.to, 3);
	assert_int_equal(f.first.offset, a);
	/* and repeated */
	memcpy(buf, x, a + b);
	memcpy(buf + a + b, y, n - a);
	spit(buf, n + b);
	f = check(dir, NULL, 0);
	assert_int_equal(f.first.fault, BWL_FAULT_ORDER);
	assert_int_equal(f.first.from, 3);
	assert_int_equal(f.first.offset, a + b);
	free(buf);
	free(was);
}

static void a_fork_signed_with_the_stolen_key_is_named_between_old_checkpoints(void **state)
{
	struct bwl_checkpoint old[3];
	struct found f;

	(void)state;
	fill(3);
	old[0] = newest(dir);
	shell("cp -r %s %s", dir, other);
	fill(3);
	old[1] = newest(dir);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(append_to(other, "another story"), 0);
	/* in itself it is sound */
	assert_int_equal(check(other, NULL, 0).n, 0);
	assert_int_equal(check(other, old, 1).n, 0);
	f = check(other, old, 2);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.first.fault, BWL_FAULT_FORK);
	assert_int_equal(f.first.from, 3);
	assert_int_equal(f.first.to, 6);
}

static void a_writer_that_saw_more_does_not_append_to_a_cut_log(void **state)
{
	struct bwl_audit_log *l;
	size_t n, a;
	char *was;

	(void)state;
	fill(3);
	assert_int_equal(bwl_audit_open(dir, &l, &e), 0);
	assert_int_equal(bwl_audit_append(l, BWL_AUDIT_AFTER, "test", "x", NULL, NULL, &e), 0);
	was = slurp(&n);
	lines(was, 0, 5, &a);
	spit(was, a);
	assert_int_equal(bwl_audit_append(l, BWL_AUDIT_AFTER, "test", "y", NULL, NULL, &e),
			 -EBADMSG);
	assert_non_null(strstr(e.text, "was cut"));
	assert_int_equal(bwl_audit_append(l, BWL_AUDIT_AFTER, "test", "y", NULL, NULL, &e),
			 -EBADMSG);
	bwl_audit_close(l);
	free(was);
}

static void four_writers_at_once_make_one_log(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		if (!fork()) {
			struct bwl_audit_log *l;
			int bad = bwl_audit_open(dir, &l, &e);

			bwl_audit_set_limit(l, 4000);
			for (unsigned j = 0; !bad && j < 15; j++)
				bad = bwl_audit_append(l, BWL_AUDIT_BEFORE, "test", "x", NULL, NULL,
						       &e);
			_exit(bad != 0);
		}
	}
	for (unsigned i = 0; i < 4; i++) {
		int status;

		wait(&status);
		assert_int_equal(status, 0);
	}
	assert_int_equal(check(dir, NULL, 0).n, 0);
	assert_int_equal(result.records, 60);
}

static void files_that_were_moved_away_leave_the_proof(void **state)
{
	struct bwl_checkpoint old[30];
	struct bwl_audit_log *l;
	struct bwl_prover p;
	struct found f;

	(void)state;
	assert_int_equal(bwl_audit_open(dir, &l, &e), 0);
	bwl_audit_set_limit(l, 3000);
	for (unsigned i = 0; i < 30; i++) {
		assert_int_equal(bwl_audit_append(l, BWL_AUDIT_BEFORE, "test", "x", NULL, NULL, &e),
				 0);
		old[i] = newest(dir);
	}
	bwl_audit_close(l);
	shell("test $(ls %s/log-*.hashes | wc -l) -ge 3", dir);
	shell("rm $(ls %s/log-*.jsonl | head -2)", dir);
	f = check(dir, old, 30);
	if (f.n)
		fail_msg("%s", f.first.text);
	assert_int_equal(result.records, 30);
	assert_true(result.hashed > 2);
	assert_int_equal(bwl_audit_prove(dir, 2, 30, &p, &e), 0);
	assert_true(bwl_proof_holds(2, &old[1].root, 30, &old[29].root, p.hash, p.count));
	/* a hash that was changed is found by the checkpoint that comes next */
	shell("f=$(ls %s/log-*.hashes | head -1); printf x | dd of=$f bs=1 seek=40 conv=notrunc 2>/dev/null",
	      dir);
	assert_true(check(dir, old, 30).n);
	shell("rm $(ls %s/log-*.hashes | head -2)", dir);
	f = check(dir, old, 1);
	assert_int_equal(f.first.fault, BWL_FAULT_GONE);
	assert_int_equal(check(dir, old + 29, 1).n, 0);
}

/* Records by turns of a host's junk and of an operator. */
static struct bwl_audit_log *small_log(uint64_t size)
{
	struct bwl_audit_log *l;

	assert_int_equal(bwl_audit_open(dir, &l, &e), 0);
	bwl_audit_set_limit(l, 6000);
	bwl_audit_set_size(l, size);
	return l;
}

static void mix(struct bwl_audit_log *l, unsigned i, struct bwl_checkpoint *ret)
{
	char text[40];

	snprintf(text, sizeof(text), i % 10 ? "junk %u" : "operator %u", i);
	assert_int_equal(bwl_audit_append(l, i % 10 ? BWL_AUDIT_JUNK : BWL_AUDIT_AFTER,
					  i % 10 ? "junk" : "grant", text, NULL, NULL, &e),
			 0);
	if (ret)
		*ret = newest(dir);
}

static uint64_t bytes_of(const char *where)
{
	char cmd[128];
	unsigned long long n = 0;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "cat %s/log-* | wc -c", where);
	f = popen(cmd, "r");
	assert_int_equal(fscanf(f, "%llu", &n), 1);
	pclose(f);
	return n;
}

static int find_text(const struct bwl_audit_item *i, void *arg)
{
	const char *text = i->kind == BWL_AUDIT_RECORD
				   ? json_string_value(json_object_get(i->json, "text"))
				   : NULL;

	return text && !strcmp(text, arg);
}

static bool has(const char *fmt, unsigned n)
{
	char text[40];

	snprintf(text, sizeof(text), fmt, n);
	return bwl_audit_scan(dir, find_text, text, &e) == 1;
}

static void above_its_size_a_log_loses_junk_and_nothing_else_and_still_verifies(void **state)
{
	struct bwl_audit_log *l = small_log(60000);
	static struct bwl_checkpoint old[400];
	struct bwl_prover p;
	struct found f;

	(void)state;
	for (unsigned i = 0; i < 200; i++)
		mix(l, i, &old[i]);
	bwl_audit_close(l);
	assert_true(bytes_of(dir) < 60000 + 2 * 6000);
	f = check(dir, old, 200);
	if (f.n)
		fail_msg("%s", f.first.text);
	assert_int_equal(result.first, 0);
	assert_true(result.hashed > 50);
	assert_int_equal(result.pruned, result.hashed);
	for (unsigned i = 0; i < 200; i += 10)
		assert_true(has("operator %u", i));
	assert_false(has("junk %u", 1));
	assert_true(has("junk %u", 199));
	assert_int_equal(bwl_audit_prove(dir, old[3].size, old[199].size, &p, &e), 0);
	assert_true(bwl_proof_holds(old[3].size, &old[3].root, old[199].size, &old[199].root,
				    p.hash, p.count));
	/* a line that was kept is as hard to change as any other */
	shell("sed -i 's/operator 10\"/operator 66\"/' %s/log-*.kept", dir);
	f = check(dir, old, 200);
	assert_int_equal(f.first.fault, BWL_FAULT_CHANGED);
	/* and one that was taken out is missed, though its hash is still there */
	shell("sed -i '/operator 66\"/d' %s/log-*.kept", dir);
	f = check(dir, NULL, 0);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.first.fault, BWL_FAULT_CHANGED);
	shell("for f in %s/log-*.kept; do : >$f; done", dir);
	assert_true(check(dir, NULL, 0).of[BWL_FAULT_BAD]);
}

static int count_event(const struct bwl_audit_item *i, void *arg)
{
	struct event {
		const char *name;
		unsigned n;
	} *x = arg;
	const char *event = json_string_value(json_object_get(i->json, "event"));

	x->n += i->kind == BWL_AUDIT_RECORD && event && !strcmp(event, x->name);
	return 0;
}

static unsigned events(const char *name)
{
	struct {
		const char *name;
		unsigned n;
	} x = { name, 0 };

	assert_int_equal(bwl_audit_scan(dir, count_event, &x, &e), 0);
	return x.n;
}

#define SMALL 30000
static void must_be_small(void)
{
	if (bytes_of(dir) >= SMALL + 2 * 6000)
		fail_msg("%llu bytes", (unsigned long long)bytes_of(dir));
}

/* Operators' records, until the file goes whole, and then until the record of that has gone too. */
static void damage_outlives_its_file(struct bwl_audit_log *l, const char *file)
{
	unsigned i = 0, goes_on = 60;
	char path[160];
	struct found f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	for (; i < 300 && goes_on; i++) {
		mix(l, 10 * i, NULL);
		goes_on -= access(path, F_OK) != 0;
		if (i % 8)
			continue;
		f = check(dir, NULL, 0);
		if (!f.n)
			fail_msg("%s: forgotten after %u records, %u on", file, i, goes_on);
	}
	assert_int_equal(goes_on, 0);
	f = check(dir, NULL, 0);
	assert_true(f.of[BWL_FAULT_DAMAGED]);
	assert_int_equal(f.n, f.of[BWL_FAULT_DAMAGED]);
	must_be_small();
}

static void what_was_damaged_is_never_pruned_in_silence(void **state)
{
	static const char *const ways[] = {
		"sed -i 's/operator 10\"/operator 66\"/'",       /* another text */
		"sed -i '/operator 10\"/d'",                     /* taken out */
		"sed -i '/operator 10\"/s/.$//'",                /* no JSON */
		"sed -i 's/\"n\":10,/\"junk\":true,\"n\":10,/'", /* called junk */
		"sed -i '3y/ABCDEFGH/BCDEFGHA/'",                /* not signed */
		"truncate -s -900",                              /* cut */
	};

	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct bwl_audit_log *l = small_log(SMALL);
		char file[BWL_AUDIT_NAME];
		FILE *p;

		for (unsigned n = 0; n < 20; n++)
			mix(l, n, NULL);
		shell("cd %s && basename $(grep -l 'operator 10\"' log-*.jsonl) >name", dir);
		snprintf(other, sizeof(other), "%s/name", dir);
		p = fopen(other, "r");
		assert_int_equal(fscanf(p, "%47s", file), 1);
		fclose(p);
		snprintf(other, sizeof(other), "%s.other", dir);
		shell("cd %s && %s %s && cp %s %s", dir, ways[i], file, file, other);
		assert_true(check(dir, NULL, 0).n);
		for (unsigned n = 20; n < 70; n++)
			mix(l, n, NULL);
		must_be_small();
		/* it stays as it is, said once, and the others are pruned */
		shell("cmp %s/%s %s", dir, file, other);
		assert_int_equal(events("damaged"), 1);
		assert_true(check(dir, NULL, 0).n > 1 && result.pruned > 5);
		damage_outlives_its_file(l, file);
		bwl_audit_close(l);
		tear_down(state);
		set_up(state);
	}
}

static void what_was_kept_is_as_safe(void **state)
{
	struct bwl_audit_log *l = small_log(SMALL);

	(void)state;
	for (unsigned n = 0; n < 60; n++)
		mix(l, n, NULL);
	assert_int_equal(check(dir, NULL, 0).n, 0);
	shell("cd %s && sed -i '/operator 0\"/d' log-00000000000000000000.kept", dir);
	damage_outlives_its_file(l, "log-00000000000000000000.kept");
	bwl_audit_close(l);
}

static void write_operators(unsigned from, unsigned n)
{
	struct bwl_audit_log *l = small_log(SMALL);

	for (unsigned i = from; i < from + n; i++)
		mix(l, 10 * i, NULL);
	bwl_audit_close(l);
}

/* Of 20 operators' records at the beginning, and n that a host causes, by turns of both kinds. */
#define OPERATORS 20
static struct bwl_checkpoint since[700];
static void write_under_attack(unsigned n)
{
	struct bwl_audit_log *l = small_log(40000);

	for (unsigned i = 0; i < OPERATORS; i++)
		mix(l, 10 * i, &since[i]);
	for (unsigned i = OPERATORS; i < n; i++) {
		enum bwl_audit_urgency u = i % 3 ? BWL_AUDIT_EVENT : BWL_AUDIT_JUNK;

		assert_int_equal(bwl_audit_append(l, u, "lapsed", "host", NULL, NULL, &e), 0);
		since[i] = newest(dir);
	}
	bwl_audit_close(l);
}

static void operators_outlive_whatever_a_host_causes(void **state)
{
	unsigned proofs = 0, compared = 0;
	struct bwl_prover p;
	struct found f;

	(void)state;
	write_under_attack(700);
	assert_true(bytes_of(dir) < 40000 + 2 * 6000);
	for (unsigned i = 0; i < OPERATORS; i++)
		assert_true(has("operator %u", 10 * i));
	f = check(dir, since + 699, 1);
	if (f.n)
		fail_msg("%s", f.first.text);
	assert_int_equal(result.first, 0);
	assert_int_equal(result.removed, 0);
	assert_int_equal(result.hashed, result.pruned);
	/* all that a host caused before is next to nothing */
	shell("test $(ls %s | grep -c least) -le 3", dir);
	/* what is left of the past compares where it can, else it says so; what is proved holds */
	for (unsigned i = 0; i < 700; i += 7) {
		f = check(dir, since + i, 1);
		compared += !f.n;
		if (f.n && (f.n > 1 || f.first.fault != BWL_FAULT_GONE ||
			    !strstr(f.first.text, "one hash")))
			fail_msg("%u: %s", i, f.first.text);
		if (bwl_audit_prove(dir, since[i].size, since[699].size, &p, &e))
			continue;
		proofs++;
		assert_true(bwl_proof_holds(since[i].size, &since[i].root, since[699].size,
					    &since[699].root, p.hash, p.count));
	}
	assert_in_range(compared, 5, 80);
	assert_in_range(proofs, 5, 80);
}

static int find_leaf(const struct bwl_audit_item *i, void *arg)
{
	if (i->kind == BWL_AUDIT_RECORD && i->n == 1)
		*(struct bwl_hash *)arg = i->leaf;
	return 0;
}

static void what_is_least_is_as_safe(void **state)
{
	static const char *const ways[] = {
		"sed -i 's/operator 10\"/operator 66\"/'",
		"sed -i '/operator 10\"/d'",
		"sed -i '2,3{h;d};4G'",
		"sed -i '/\"records\"/d'",
		"truncate -s 0",
		"truncate -s -40",
	};

	struct bwl_hash leaf = { 0 };
	struct found f;
	char *line;

	(void)state;
	write_under_attack(500);
	assert_int_equal(check(dir, NULL, 0).n, 0);
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		shell("rm -rf %s && cp -a %s %s", other, dir, other);
		shell("cd %s && %s log-*.least", other, ways[i]);
		if (!check(other, NULL, 0).n)
			fail_msg("%s", ways[i]);
	}
	/* a record's own hash in its place: the tree is the same */
	assert_int_equal(bwl_audit_scan(dir, find_leaf, &leaf, &e), 0);
	line = bwl_audit_node_line(0, &leaf);
	shell("rm -rf %s && cp -a %s %s", other, dir, other);
	shell("cd %s && sed -i 's|.*operator 10\".*|%s|' log-*.least", other, line);
	free(line);
	shell("grep -q '\"records\":1}' %s/log-*.least", other);
	f = check(other, NULL, 0);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.first.fault, BWL_FAULT_CHANGED);
	/* a hash in the place of lines is none of ours */
	shell("rm -rf %s && cp -a %s %s", other, dir, other);
	shell("cd %s && f=$(ls log-*.jsonl | tail -1) && grep -h records *.least | head -1 >>$f",
	      other);
	assert_true(check(other, NULL, 0).of[BWL_FAULT_BAD]);
	shell("sed -i '/operator 10\"/d' %s/log-*.least", dir);
	for (unsigned i = 0; i < 2; i++) {
		write_operators(0, 100);
		assert_true(check(dir, NULL, 0).n);
	}
	assert_true(check(dir, NULL, 0).of[BWL_FAULT_DAMAGED]);
}

static void hashes_that_were_lost_or_damaged_are_made_from_the_lines(void **state)
{
	struct bwl_audit_log *l = small_log(SMALL);
	static struct bwl_checkpoint old[120];

	(void)state;
	for (unsigned n = 0; n < 20; n++)
		mix(l, n, &old[n]);
	shell("rm $(ls %s/log-*.hashes | head -1)", dir);
	shell("for f in %s/log-*.hashes; do printf x | dd of=$f bs=1 seek=40 conv=notrunc; done",
	      dir);
	for (unsigned n = 20; n < 120; n++)
		mix(l, n, &old[n]);
	bwl_audit_close(l);
	must_be_small();
	assert_int_equal(check(dir, old, 120).n, 0);
	assert_true(result.pruned > 20);
}

static void a_log_of_operators_alone_loses_its_oldest_and_says_so(void **state)
{
	struct bwl_audit_log *l = small_log(40000);
	static struct bwl_checkpoint old[300];
	struct found f;

	(void)state;
	for (unsigned i = 0; i < 300; i++)
		mix(l, 10 * i, &old[i]);
	bwl_audit_close(l);
	assert_true(bytes_of(dir) < 40000 + 2 * 6000);
	f = check(dir, old + 299, 1);
	if (f.n)
		fail_msg("%s", f.first.text);
	assert_true(result.first > 0);
	assert_int_equal(result.removed, result.first);
	f = check(dir, old, 1);
	assert_int_equal(f.first.fault, BWL_FAULT_GONE);
	assert_non_null(strstr(f.first.text, "as a record says"));
}

/* A disk that fails after the first line and a half. */
static ssize_t fail_late(void *cookie, char *buf, size_t n)
{
	unsigned *calls = cookie;

	if ((*calls)++) {
		errno = EIO;
		return -1;
	}
	assert_true(n > 20);
	return snprintf(buf, n, "{\"n\":0}\n{\"n\":");
}

static int count_items(const struct bwl_audit_item *i, void *arg)
{
	unsigned *n = arg;

	n[i->kind]++;
	return 0;
}

static void a_read_error_is_not_the_end_of_a_file(void **state)
{
	unsigned calls = 0, n[BWL_AUDIT_TORN + 1] = { 0 };
	struct bwl_audit_log *l = small_log(60000);
	struct found f = { 0 };
	FILE *broken;

	(void)state;
	broken = fopencookie(&calls, "r", (cookie_io_functions_t){ .read = fail_late });
	assert_int_equal(bwl_audit_scan_file(broken, "broken", count_items, n, &e), -EIO);
	assert_int_equal(n[BWL_AUDIT_RECORD], 1);
	assert_int_equal(n[BWL_AUDIT_TORN], 0);
	fclose(broken);
	/* a folder opens and cannot be read: what was kept, then the hashes, then lines */
	for (unsigned i = 0; i < 200; i++)
		mix(l, i, NULL);
	bwl_audit_close(l);
	for (const char *const *tail = (const char *const[]){ "kept", "hashes", "jsonl", NULL };
	     *tail; tail++) {
		assert_int_equal(bwl_audit_verify(dir, &pub, NULL, 0, take, &f, &result, &e), 0);
		shell("f=$(ls %s/log-*.%s | head -1); mv $f $f.away; mkdir $f", dir, *tail);
		assert_int_equal(bwl_audit_verify(dir, &pub, NULL, 0, take, &f, &result, &e), -EIO);
		shell("for f in %s/log-*.away; do rmdir ${f%%.away}; mv $f ${f%%.away}; done", dir);
	}
}

static void a_changed_size_holds_for_who_has_the_log_open(void **state)
{
	struct bwl_audit_log *l = small_log(1 << 20);
	uint64_t pruned;

	(void)state;
	for (unsigned i = 0; i < 200; i++)
		mix(l, i, NULL);
	assert_true(has("junk %u", 1));
	assert_true(bytes_of(dir) > BWL_AUDIT_SIZE_LEAST + BWL_AUDIT_SIZE_LEAST / 4);
	assert_int_equal(bwl_audit_put_size(dir, "64kb", &e), 0);
	mix(l, 200, NULL);
	assert_true(bytes_of(dir) < BWL_AUDIT_SIZE_LEAST + BWL_AUDIT_SIZE_LEAST / 4);
	assert_false(has("junk %u", 1));
	assert_true(has("operator %u", 200));
	assert_int_equal(check(dir, NULL, 0).n, 0);
	/* half a file says nothing: the size stays */
	shell("printf 6 >%s/size", dir);
	for (unsigned i = 201; i < 220; i++)
		mix(l, i, NULL);
	assert_true(bytes_of(dir) < BWL_AUDIT_SIZE_LEAST + BWL_AUDIT_SIZE_LEAST / 4);
	assert_int_equal(check(dir, NULL, 0).n, 0);
	pruned = result.pruned;
	assert_int_equal(bwl_audit_put_size(dir, "1mb", &e), 0);
	for (unsigned i = 220; i < 280; i++)
		mix(l, i, NULL);
	assert_int_equal(check(dir, NULL, 0).n, 0);
	assert_int_equal(result.pruned, pruned);
	bwl_audit_close(l);
}

/* Which call is the last one of this process. */
static unsigned die_at, calls;
static void count_down(void)
{
	if (die_at && ++calls == die_at)
		_exit(9);
}
int __real_unlinkat(int fd, const char *name, int flags);
int __wrap_unlinkat(int fd, const char *name, int flags);
int __wrap_unlinkat(int fd, const char *name, int flags)
{
	count_down();
	return __real_unlinkat(fd, name, flags);
}
int __real_renameat(int from, const char *a, int to, const char *b);
int __wrap_renameat(int from, const char *a, int to, const char *b);
int __wrap_renameat(int from, const char *a, int to, const char *b)
{
	count_down();
	return __real_renameat(from, a, to, b);
}

static void nothing_is_left_of_a_prune_that_was_killed(void **state)
{
	unsigned kills = 0;
	int status;

	(void)state;
	write_operators(0, 100);
	shell("cp -a %s %s", dir, other);
	for (unsigned k = 1; k < 100; k++) {
		shell("rm -rf %s && cp -a %s %s", dir, other, dir);
		if (!fork()) {
			die_at = k;
			write_operators(100, 15);
			_exit(0);
		}
		wait(&status);
		if (!WEXITSTATUS(status))
			break;
		kills++;
		assert_int_equal(WEXITSTATUS(status), 9);
		assert_int_equal(check(dir, NULL, 0).n, 0);
		write_operators(115, 15);
		assert_int_equal(check(dir, NULL, 0).n, 0);
		assert_int_equal(result.removed, result.first);
		shell("! ls -A %s | grep '^\\.log'", dir);
		shell("cd %s && for f in $(ls | grep kept); do test -e ${f%%kept}hashes || exit 1; done",
		      dir);
	}
	/* hashes, a file begun; hashes, kept, lines; least, hashes, kept; all: before each */
	assert_true(kills >= 7);
	/* what is no leftover of ours is missed for ever */
	shell("cd %s && rm $(ls *.least | sed -n 2p)", dir);
	assert_true(check(dir, NULL, 0).n);
	write_operators(130, 60);
	assert_true(check(dir, NULL, 0).of[BWL_FAULT_DAMAGED]);
}

static struct {
	unsigned files, folders;
	bool die; /* before a file is on disk */
} synced;
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	struct stat st;
	bool folder = !fstat(fd, &st) && S_ISDIR(st.st_mode);

	if (synced.die && !folder)
		_exit(9);
	*(folder ? &synced.folders : &synced.files) += 1;
	return __real_fsync(fd);
}

static void a_size_is_on_disk_and_the_old_one_stands_until_it_is(void **state)
{
	int status;

	(void)state;
	assert_int_equal(bwl_audit_put_size(dir, "1mb", &e), 0);
	memset(&synced, 0, sizeof(synced));
	assert_int_equal(bwl_audit_put_size(dir, "2mb", &e), 0);
	assert_int_equal(synced.files, 1);
	assert_int_equal(synced.folders, 1);
	if (!fork()) {
		synced.die = true;
		bwl_audit_put_size(dir, "3mb", &e);
		_exit(0);
	}
	wait(&status);
	assert_int_equal(WEXITSTATUS(status), 9);
	shell("test $(cat %s/size) = 2mb", dir);
}

static void a_second_init_leaves_a_log_alone(void **state)
{
	char text[BWL_NOTE_KEY_TEXT];

	(void)state;
	fill(1);
	assert_int_equal(bwl_audit_init(dir, "bwlimit/test", text, &e), -EEXIST);
	shell("rm %s/key", dir);
	assert_int_equal(bwl_audit_init(dir, "bwlimit/test", text, &e), -EEXIST);
	assert_int_equal(check(dir, NULL, 0).n, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(a_log_that_nobody_touched_verifies_with_every_old_checkpoint),
		T(a_log_without_a_key_is_off),
		T(any_byte_flipped_is_found_and_its_place_named),
		T(a_log_cut_at_any_length_is_found_by_a_checkpoint_of_the_whole),
		T(a_log_cut_at_any_length_by_a_crash_opens_and_goes_on),
		T(records_reordered_left_out_or_repeated_are_named),
		T(a_fork_signed_with_the_stolen_key_is_named_between_old_checkpoints),
		T(a_writer_that_saw_more_does_not_append_to_a_cut_log),
		T(four_writers_at_once_make_one_log),
		T(files_that_were_moved_away_leave_the_proof),
		T(above_its_size_a_log_loses_junk_and_nothing_else_and_still_verifies),
		T(a_log_of_operators_alone_loses_its_oldest_and_says_so),
		T(what_was_damaged_is_never_pruned_in_silence),
		T(what_was_kept_is_as_safe),
		T(hashes_that_were_lost_or_damaged_are_made_from_the_lines),
		T(operators_outlive_whatever_a_host_causes),
		T(what_is_least_is_as_safe),
		T(nothing_is_left_of_a_prune_that_was_killed),
		T(a_read_error_is_not_the_end_of_a_file),
		T(a_changed_size_holds_for_who_has_the_log_open),
		T(a_size_is_on_disk_and_the_old_one_stands_until_it_is),
		T(a_second_init_leaves_a_log_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
