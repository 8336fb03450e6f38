// SPDX-License-Identifier: GPL-2.0-or-later
/* gRPC's layer above HTTP/2: messages in any pieces, and how a call ended. */
#include <errno.h>
#include <string.h>
#include "fleet/store/grpc_wire.h"
#include "../test.h"

struct said {
	unsigned n;
	size_t bytes;
	int answer;
};

static int count(void *arg, const uint8_t *msg, size_t len)
{
	struct said *s = arg;

	for (size_t i = 0; i < len; i++)
		assert_int_equal(msg[i], 'a' + s->n);
	s->n++;
	s->bytes += len;
	return s->answer;
}

static void messages_come_in_any_pieces(void **state)
{
	static const char wire[] = "\0\0\0\0\3aaa\0\0\0\0\0\0\0\0\0\1c\0\0\0\0\5ddddd";
	size_t len = sizeof(wire) - 1;

	(void)state;
	for (size_t piece = 1; piece <= len; piece++) {
		struct bwl_grpc_frames f = { .most = 5 };
		struct said s = { 0 };

		for (size_t at = 0; at < len; at += piece)
			assert_int_equal(bwl_grpc_feed(&f, wire + at,
						       len - at < piece ? len - at : piece, count,
						       &s),
					 0);
		assert_int_equal(s.n, 4);
		assert_int_equal(s.bytes, 9);
		assert_false(bwl_grpc_is_within(&f));
		bwl_grpc_frames_done(&f);
	}
}

static void one_that_is_too_large_is_refused_by_its_length_alone(void **state)
{
	struct bwl_grpc_frames f = { .most = 5 };
	struct said s = { 0 };

	(void)state;
	assert_int_equal(bwl_grpc_feed(&f, "\0\0\0\0\6", 5, count, &s), -EMSGSIZE);
	assert_null(f.msg);
	f.have = 0;
	assert_int_equal(bwl_grpc_feed(&f, "\0\xff\xff\xff\xff", 5, count, &s), -EMSGSIZE);
	bwl_grpc_frames_done(&f);
}

static void one_that_is_compressed_is_refused(void **state)
{
	struct bwl_grpc_frames f = { .most = 5 };
	struct said s = { 0 };

	(void)state;
	assert_int_equal(bwl_grpc_feed(&f, "\1\0\0\0\1a", 6, count, &s), -EBADMSG);
	assert_int_equal(s.n, 0);
	bwl_grpc_frames_done(&f);
}

static void who_has_enough_hears_no_more(void **state)
{
	struct bwl_grpc_frames f = { .most = 5 };
	struct said s = { .answer = -EBADMSG };

	(void)state;
	assert_int_equal(bwl_grpc_feed(&f, "\0\0\0\0\1a\0\0\0\0\1b", 12, count, &s), -EBADMSG);
	assert_int_equal(s.n, 1);
	bwl_grpc_frames_done(&f);
}

static struct bwl_grpc_end after(const char *const *lines)
{
	struct bwl_grpc_end end = { .code = -1 };

	for (; *lines; lines++)
		bwl_grpc_header(&end, *lines, strlen(*lines));
	return end;
}
#define AFTER(...) after((const char *const[]){ __VA_ARGS__, NULL })

static void a_call_is_well_only_if_the_server_says_so(void **state)
{
	struct bwl_grpc_end e;

	(void)state;
	e = AFTER("HTTP/2 200 \r\n", "content-type: application/grpc\r\n", "grpc-status: 0\r\n");
	assert_int_equal(bwl_grpc_code(&e), BWL_GRPC_OK);
	e = AFTER("HTTP/2 200 \r\n", "Content-Type: application/grpc+proto", "Grpc-Status: 7",
		  "grpc-message: a%20b%0ac%zz\r\n");
	assert_int_equal(bwl_grpc_code(&e), BWL_GRPC_DENIED);
	assert_string_equal(e.text, "a b?c%zz");
	e = AFTER("HTTP/2 200 ", "content-type: application/grpc"); /* no trailers */
	assert_int_equal(bwl_grpc_code(&e), BWL_GRPC_INTERNAL);
	e = AFTER("HTTP/2 200 ", "content-type: text/html", "grpc-status: 0");
	assert_int_equal(bwl_grpc_code(&e), BWL_GRPC_INTERNAL);
	e = AFTER("HTTP/2 200 ", "content-type: application/grpcx", "grpc-status: 0");
	assert_int_equal(bwl_grpc_code(&e), BWL_GRPC_INTERNAL);
	e = AFTER("HTTP/2 503 ", "content-type: application/grpc", "grpc-status: 0");
	assert_int_equal(bwl_grpc_code(&e), BWL_GRPC_UNAVAILABLE);
	e = AFTER("HTTP/2 200 ", "content-type: application/grpc", "grpc-status: 1000");
	assert_int_equal(bwl_grpc_code(&e), BWL_GRPC_UNKNOWN);
	e = AFTER("HTTP/2 200 ", "content-type: application/grpc", "grpc-status: -1");
	assert_int_equal(bwl_grpc_code(&e), BWL_GRPC_UNKNOWN);
	e = AFTER("HTTP/2 200 ", "content-type: application/grpc", "grpc-status:");
	assert_int_equal(bwl_grpc_code(&e), BWL_GRPC_UNKNOWN);
}

static void every_code_but_ok_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(bwl_grpc_errno(BWL_GRPC_OK), 0);
	for (int code = 1; code <= BWL_GRPC_CODE_MAX + 1; code++)
		assert_true(bwl_grpc_errno(code) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_come_in_any_pieces),
		cmocka_unit_test(one_that_is_too_large_is_refused_by_its_length_alone),
		cmocka_unit_test(one_that_is_compressed_is_refused),
		cmocka_unit_test(who_has_enough_hears_no_more),
		cmocka_unit_test(a_call_is_well_only_if_the_server_says_so),
		cmocka_unit_test(every_code_but_ok_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
