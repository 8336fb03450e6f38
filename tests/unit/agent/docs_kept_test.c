// SPDX-License-Identifier: GPL-2.0-or-later
/* Documents on the disk: as they are read back, with some missing, and while others come. */
#include <sys/wait.h>
#include <unistd.h>
#include "agent.h"
#include "documents/desired.h"
#include "documents/store.h"
#include "docs_rig.h"

/* Does the policy in the source, as the agent loads it, begin with unspent volumes? */
static bool is_fresh_in(struct agent_source *source)
{
	struct bwl_err e = { 0 };
	char *text;
	size_t len;

	if (source->ops->load(source, &text, &len, &e))
		fail_msg("%s", e.text);
	free(text);
	return source->fresh_volume;
}

static void keep_in(const char *dir)
{
	struct bwl_err e = { 0 };

	for (size_t i = 0; i < s.n; i++)
		assert_int_equal(docs_put(dir, s.one[i].d.digest, s.one[i].bytes, s.one[i].len, &e),
				 0);
	assert_int_equal(bwl_memory_keep(s.m, dir, &e), 0);
}

static void a_document_is_kept_by_its_own_digest_only(void **state)
{
	char dir[] = "/tmp/docs_test.XXXXXX", rm[64];
	struct bwl_err e = { 0 };
	uint8_t other[32];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(rm, sizeof(rm), "rm -r %s", dir);
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(10, 10, DAY), TWO), "taken");
	memcpy(other, s.one[0].d.digest, sizeof(other));
	other[31] ^= 1;
	assert_int_equal(docs_put(dir, other, s.one[0].bytes, s.one[0].len, &e), -EBADMSG);
	assert_false(docs_is_kept(dir, other));
	keep_in(dir);
	assert_true(docs_is_kept(dir, s.one[0].d.digest));
	assert_int_equal(system(rm), 0);
}

static void volumes_begin_unspent_once(void **state)
{
	char dir[] = "/tmp/docs_test.XXXXXX", file[64], rm[64];
	struct agent_source *source;
	struct bwl_err e = { 0 };
	json_t *o;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/policy.yaml", dir);
	snprintf(rm, sizeof(rm), "rm -r %s", dir);
	assert_int_equal(agent_source_file(file, &source, &e), 0);
	assert_int_equal(docs_source_new(source, dir, &source, &e), 0);
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(10, 10, DAY), TWO), "taken");
	keep_in(dir);
	docs_source_fresh(source, s.fresh);
	assert_false(is_fresh_in(source));
	o = policy(20, 20, DAY);
	json_object_set_new(o, "fresh_volume", json_true());
	assert_string_equal(give(BWL_SIGNED_POLICY, o, TWO), "taken");
	keep_in(dir);
	docs_source_fresh(source, s.fresh);
	assert_true(is_fresh_in(source));
	assert_string_equal(give_time(), "taken"); /* the next document ends it */
	keep_in(dir);
	docs_source_fresh(source, s.fresh);
	assert_false(is_fresh_in(source));
	/* a policy that was replaced passes nothing on to its successor */
	o = policy(30, 30, DAY);
	json_object_set_new(o, "fresh_volume", json_true());
	assert_string_equal(give(BWL_SIGNED_POLICY, o, TWO), "taken");
	docs_source_fresh(source, s.fresh);
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(40, 40, DAY), TWO), "taken");
	docs_source_fresh(source, s.fresh);
	keep_in(dir);
	assert_false(is_fresh_in(source));
	source->ops->free(source);
	assert_int_equal(system(rm), 0);
}

/* Loads dir without the bytes of the last document, then with all of them again. */
static void what_is_left_without_it(const char *dir, bool is_policy_left)
{
	const uint8_t *gone = s.one[s.n - 1].d.digest;
	char path[256], hex[65];
	struct docs_terms t;
	struct bwl_err e = { 0 };
	struct docs on_disk;

	keep_in(dir);
	snprintf(path, sizeof(path), "%s/" DOCS_DIR "/%s", dir, bwl_hex_encode(gone, 32, hex));
	assert_true(docs_is_kept(dir, gone));
	assert_int_equal(unlink(path), 0);
	assert_false(docs_is_kept(dir, gone));
	assert_int_equal(docs_load(dir, &at, &on_disk, &e), 0);
	assert_int_equal(docs_policy(&on_disk) != NULL, is_policy_left);
	assert_int_equal(docs_terms(&on_disk, &t, &e), is_policy_left ? -ENODATA : -ENOENT);
	assert_int_equal(docs_end(&on_disk, &t, &at).at_ns, 0);
	docs_terms_free(&t);
	docs_free(&on_disk);
	keep_in(dir);
	assert_int_equal(docs_load(dir, &at, &on_disk, &e), 0);
	assert_int_equal(docs_terms(&on_disk, &t, &e), 0);
	docs_terms_free(&t);
	docs_free(&on_disk);
}

static void a_document_whose_bytes_are_gone_leaves_the_floor(void **state)
{
	char dir[] = "/tmp/docs_test.XXXXXX", rm[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(rm, sizeof(rm), "rm -r %s", dir);
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("g", "a", 20, 60), ONE), "taken");
	what_is_left_without_it(dir, true); /* otherwise a would have 100 */
	enrol();
	wait_for_rollout();
	choose(false);
	what_is_left_without_it(dir, false);
	enrol();
	wait_for_rollout();
	what_is_left_without_it(dir, false); /* the missing one may be the chosen one */
	assert_int_equal(system(rm), 0);
}

static void who_reads_while_documents_come_reads_one_moment(void **state)
{
	char dir[] = "/tmp/docs_test.XXXXXX", rm[64];
	unsigned read = 0;
	int status;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(rm, sizeof(rm), "rm -r %s", dir);
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("g", "a", 20, 60), ONE), "taken");
	keep_in(dir);
	pid = fork();
	if (!pid) {
		for (unsigned i = 0; i < 300; i++) {
			if (strcmp(give(BWL_SIGNED_GRANT, grant("g", "a", 20, 60), ONE), "taken"))
				_exit(1);
			keep_in(dir);
			docs_sweep(dir, &s);
		}
		_exit(0);
	}
	assert_true(pid > 0);
	while (!waitpid(pid, &status, WNOHANG)) {
		struct docs on_disk;
		struct docs_terms t;
		struct bwl_err e = { 0 };

		if (docs_load(dir, &at, &on_disk, &e)) {
			assert_int_equal(e.code, EAGAIN);
			continue;
		}
		if (docs_terms(&on_disk, &t, &e))
			fail_msg("%s", e.text);
		read++;
		docs_terms_free(&t);
		docs_free(&on_disk);
	}
	assert_int_equal(status, 0);
	assert_true(read);
	assert_int_equal(system(rm), 0);
}

static void a_time_that_an_earlier_boot_heard_is_none_of_this_one(void **state)
{
	char dir[] = "/tmp/docs_test.XXXXXX", rm[64], line[256];
	struct docs_clock later;
	struct bwl_err e = { 0 };
	struct docs on_disk;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(rm, sizeof(rm), "rm -r %s", dir);
	enrol();
	assert_string_equal(give_time(), "taken");
	keep_in(dir);
	assert_int_equal(docs_keep_heard(dir, &s, &e), 0);
	later = at;
	later.boot_ns += 1000000000;
	assert_int_equal(docs_load(dir, &later, &on_disk, &e), 0);
	assert_int_equal(on_disk.heard.newest_s, s.heard.newest_s);
	assert_int_equal(on_disk.heard.at_s, s.heard.at_s);
	assert_int_equal(on_disk.heard.boot_ns, s.heard.boot_ns);
	docs_free(&on_disk);
	/* The time since a boot counts from another moment after the next one. */
	assert_int_equal(agent_state_read(dir, "signed-time", line, sizeof(line)), 0);
	line[0] = line[0] == '0' ? '1' : '0';
	assert_int_equal(agent_state_write(dir, "signed-time", line, &e), 0);
	assert_int_equal(docs_load(dir, &later, &on_disk, &e), 0);
	assert_int_not_equal(on_disk.heard.boot_ns, s.heard.boot_ns);
	docs_free(&on_disk);
	assert_int_equal(system(rm), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_is_kept_by_its_own_digest_only),
		cmocka_unit_test(volumes_begin_unspent_once),
		cmocka_unit_test(a_document_whose_bytes_are_gone_leaves_the_floor),
		cmocka_unit_test(who_reads_while_documents_come_reads_one_moment),
		cmocka_unit_test(a_time_that_an_earlier_boot_heard_is_none_of_this_one),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
