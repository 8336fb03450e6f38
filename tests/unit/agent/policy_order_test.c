// SPDX-License-Identifier: GPL-2.0-or-later
/* An order to apply a policy: what it may contain, and what its document must be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/policy_order.h"
#include "bwl/agent.h"

static bool parses(const char *text, struct policy_ask *ret)
{
	json_t *o = json_loads(text, 0, NULL);
	bool ok;

	assert_non_null(o);
	ok = policy_ask_parse(o, ret);
	json_decref(o);
	return ok;
}

#define REST "\"confirm_ns\":60000000000,\"fresh_volume\":true,\"trust_clock\":false}"

static void an_order_says_all_of_it_or_is_not_understood(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"name\":\"\",\"size\":1," REST,
		"{\"name\":7,\"size\":1," REST,
		"{\"name\":\"x\",\"size\":-1," REST,
		"{\"name\":\"x\",\"size\":\"1\"," REST,
		"{\"name\":\"x\",\"size\":536870913," REST,
		"{\"name\":\"x\",\"size\":1,\"confirm_ns\":-1,\"fresh_volume\":true,\"trust_clock\":true}",
		"{\"name\":\"x\",\"size\":1,\"confirm_ns\":0,\"fresh_volume\":1,\"trust_clock\":true}",
		"{\"name\":\"x\",\"size\":1,\"confirm_ns\":0,\"fresh_volume\":true}",
	};
	struct policy_ask a;
	char longest[400];

	(void)state;
	assert_true(parses("{\"name\":\"x\",\"size\":1," REST, &a));
	assert_string_equal(a.name, "x");
	assert_int_equal(a.size, 1);
	assert_int_equal(a.opts.confirm_ns, 60000000000);
	assert_true(a.opts.fresh_volume && !a.trust_clock);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(parses(bad[i], &a));
	snprintf(longest, sizeof(longest), "{\"name\":\"%0256d\",\"size\":1," REST, 0);
	assert_false(parses(longest, &a));
}

static int document(const char *text, int seals)
{
	int fd = memfd_create("t", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void a_document_that_somebody_can_still_change_is_refused(void **state)
{
	static const int seals[] = { 0, F_SEAL_WRITE, F_SEAL_WRITE | F_SEAL_SHRINK,
				     F_SEAL_SHRINK | F_SEAL_GROW };
	const char *text = NULL;
	FILE *f = tmpfile();
	int fd, to[2];

	(void)state;
	for (unsigned i = 0; i < sizeof(seals) / sizeof(seals[0]); i++) {
		fd = document("policy", seals[i]);
		assert_int_equal(policy_ask_map(fd, 6, &text, NULL), -EPERM);
		close(fd);
	}
	assert_int_equal(policy_ask_map(fileno(f), 0, &text, NULL), -EPERM);
	fclose(f);
	assert_int_equal(pipe(to), 0);
	assert_int_equal(policy_ask_map(to[0], 0, &text, NULL), -EPERM);
	close(to[0]);
	close(to[1]);
}

static void a_sealed_document_of_the_size_that_was_said_is_read(void **state)
{
	const char *text = NULL;
	int fd = document("policy", BWL_AGENT_SEALS);

	(void)state;
	assert_int_equal(policy_ask_map(fd, 5, &text, NULL), -EBADMSG);
	assert_int_equal(policy_ask_map(fd, 7, &text, NULL), -EBADMSG);
	assert_int_equal(policy_ask_map(fd, 6, &text, NULL), 0);
	assert_memory_equal(text, "policy", 6);
	munmap((void *)(uintptr_t)text, 6);
	close(fd);
	fd = document("", BWL_AGENT_SEALS);
	assert_int_equal(policy_ask_map(fd, 0, &text, NULL), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_order_says_all_of_it_or_is_not_understood),
		cmocka_unit_test(a_document_that_somebody_can_still_change_is_refused),
		cmocka_unit_test(a_sealed_document_of_the_size_that_was_said_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
