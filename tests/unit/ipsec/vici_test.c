// SPDX-License-Identifier: GPL-2.0-or-later
/* The VICI client with a simulated charon that answers, streams, stops, and dies. */
#include "test.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "ipsec/vici.h"

#define SHORT_NS 50000000ULL    /* a timeout that must be reached */
#define LONG_NS 300000000000ULL /* a timeout that must not be reached */

/* Accepts one connection and plays a script: for each packet received, the packets to answer. */
struct fake {
	char path[64];
	int listener;
	pthread_t thread;
	const struct answer *script;
	char heard[512]; /* the names of the packets received */
};

struct answer {
	const char *bytes; /* all packets, each with its length in front; NULL: hang up */
	size_t len;
	size_t piece; /* bytes per piece that is sent; 0: all at once */
};
#define SAY(s)                                                                                     \
	{                                                                                          \
		s, sizeof(s) - 1, 0                                                                \
	}
#define END                                                                                        \
	{                                                                                          \
		"", 0, 0                                                                           \
	} /* answers nothing more until the client hangs up */

static bool hear(int fd, struct fake *f)
{
	uint8_t buf[4096];
	size_t len;

	if (recv(fd, buf, 4, MSG_WAITALL) != 4)
		return false;
	len = (size_t)buf[2] << 8 | buf[3];
	if (recv(fd, buf, len, MSG_WAITALL) != (ssize_t)len)
		return false;
	snprintf(f->heard + strlen(f->heard), sizeof(f->heard) - strlen(f->heard), "%u:%.*s ",
		 buf[0], buf[1], buf + 2);
	return true;
}

static void *play(void *arg)
{
	struct fake *f = arg;
	int fd = accept(f->listener, NULL, NULL);
	const struct answer *a = f->script;

	while (hear(fd, f)) {
		size_t piece = a->piece ? a->piece : a->len;

		if (!a->bytes)
			break;
		for (size_t done = 0; done < a->len; done += piece)
			send(fd, a->bytes + done, a->len - done < piece ? a->len - done : piece,
			     MSG_NOSIGNAL);
		if (a->len)
			a++;
	}
	close(fd);
	return NULL;
}

static void listen_at(struct fake *f)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(f->path, sizeof(f->path), "/tmp/bwl-vici-%d", getpid());
	strcpy(a.sun_path, f->path);
	unlink(f->path);
	f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(f->listener, 0), 0);
}

static struct bwl_vici *start(struct fake *f, const struct answer *script, uint64_t timeout_ns)
{
	struct bwl_vici *v;

	memset(f, 0, sizeof(*f));
	f->script = script;
	listen_at(f);
	assert_int_equal(pthread_create(&f->thread, NULL, play, f), 0);
	assert_int_equal(bwl_vici_open(f->path, timeout_ns, &v, NULL), 0);
	return v;
}

static void stop(struct fake *f, struct bwl_vici *v)
{
	bwl_vici_close(v);
	pthread_join(f->thread, NULL);
	close(f->listener);
	unlink(f->path);
}

static void a_command_brings_its_answer(void **state)
{
	/* daemon = charon, in pieces of three bytes */
	static const struct answer script[] = {
		{ "\0\0\0\x11\1\3\6daemon\0\6charon", 21, 3 },
		END,
	};
	struct bwl_vici *v;
	json_t *got = NULL;
	struct fake f;

	(void)state;
	v = start(&f, script, LONG_NS);
	assert_int_equal(bwl_vici_call(v, "version", NULL, &got, NULL), 0);
	assert_string_equal(bwl_vici_text(got, "daemon"), "charon");
	json_decref(got);
	stop(&f, v);
	assert_string_equal(f.heard, "0:version ");
}

static void a_refusal_is_an_error_in_charons_words(void **state)
{
	static const struct answer script[] = {
		SAY("\0\0\0\x1e\1\3\7success\0\2no\3\6errmsg\0\6broken"),
		SAY("\0\0\0\1\2"),
		SAY("\0\0\0\1\1"),
		END,
	};
	struct bwl_err e = { 0 };
	struct bwl_vici *v;
	struct fake f;

	(void)state;
	v = start(&f, script, LONG_NS);
	assert_int_equal(bwl_vici_call(v, "load-conn", NULL, NULL, &e), -EREMOTEIO);
	assert_string_equal(e.text, "charon refuses load-conn: broken");
	assert_int_equal(bwl_vici_call(v, "dance", NULL, NULL, &e), -EOPNOTSUPP);
	/* neither error ends the connection */
	assert_int_equal(bwl_vici_call(v, "stats", NULL, NULL, &e), 0);
	stop(&f, v);
}

static int count(void *arg, json_t *msg)
{
	unsigned *n = arg;

	*n = 10 * *n + (unsigned)bwl_vici_number(msg, "n");
	return *n == 12 ? -ECANCELED : 0;
}

static const struct answer sas[] = {
	SAY("\0\0\0\1\5"),
	/* n=1, another event, n=2, n=3, the answer */
	SAY("\0\0\0\x0f\7\7list-sa\3\1n\0\1"
	    "1"
	    "\0\0\0\x05\7\3odd"
	    "\0\0\0\x0f\7\7list-sa\3\1n\0\1"
	    "2"
	    "\0\0\0\x0f\7\7list-sa\3\1n\0\1"
	    "3"
	    "\0\0\0\1\1"),
	SAY("\0\0\0\1\5"),
	END,
};

static void events_of_a_command_come_in_order_and_end_with_it(void **state)
{
	struct bwl_vici *v;
	unsigned seen = 2;
	struct fake f;

	(void)state;
	v = start(&f, sas, LONG_NS);
	assert_int_equal(bwl_vici_stream(v, "list-sas", "list-sa", NULL, count, &seen, NULL), 0);
	assert_int_equal(seen, 2123);
	stop(&f, v);
	assert_string_equal(f.heard, "3:list-sa 0:list-sas 4:list-sa ");
}

static void who_has_seen_enough_events_still_reads_to_the_end(void **state)
{
	struct bwl_vici *v;
	unsigned seen = 0;
	struct fake f;

	(void)state;
	v = start(&f, sas, LONG_NS);
	assert_int_equal(bwl_vici_stream(v, "list-sas", "list-sa", NULL, count, &seen, NULL),
			 -ECANCELED);
	assert_int_equal(seen, 12);
	stop(&f, v);
	assert_string_equal(f.heard, "3:list-sa 0:list-sas 4:list-sa ");
}

static void a_charon_that_stops_in_a_packet_costs_no_more_than_the_timeout(void **state)
{
	static const struct answer script[] = { SAY("\0\0\0\x11\1\3\6dae"), END };
	struct bwl_err e = { 0 };
	struct bwl_vici *v;
	struct fake f;

	(void)state;
	v = start(&f, script, SHORT_NS);
	assert_int_equal(bwl_vici_call(v, "version", NULL, NULL, &e), -ETIMEDOUT);
	assert_non_null(strstr(e.text, "does not answer"));
	/* a late answer would be taken for the next one */
	assert_int_equal(bwl_vici_call(v, "version", NULL, NULL, &e), -ENOTCONN);
	stop(&f, v);
}

static void a_charon_that_accepts_nothing_costs_no_more_than_the_timeout(void **state)
{
	struct bwl_vici *v[64] = { NULL };
	struct bwl_err e = { 0 };
	struct fake f = { 0 };
	unsigned n = 0;
	int r = 0;

	(void)state;
	listen_at(&f);
	while (!r && n < 64)
		r = bwl_vici_open(f.path, SHORT_NS, &v[n++], &e);
	assert_int_equal(r, -ETIMEDOUT);
	assert_int_equal(e.code, ETIMEDOUT);
	assert_true(n > 1);
	assert_int_equal(bwl_vici_call(v[0], "version", NULL, NULL, &e), -ETIMEDOUT);
	for (unsigned i = 0; i + 1 < n; i++)
		bwl_vici_close(v[i]);
	close(f.listener);
	unlink(f.path);
}

static void a_charon_that_dies_is_an_error_at_once(void **state)
{
	static const struct answer script[] = { { NULL, 0, 0 } };
	struct bwl_err e = { 0 };
	struct bwl_vici *v;
	struct fake f;

	(void)state;
	v = start(&f, script, LONG_NS);
	assert_int_equal(bwl_vici_call(v, "version", NULL, NULL, &e), -ECONNRESET);
	stop(&f, v);
	assert_int_equal(bwl_vici_open(f.path, LONG_NS, &v, &e), -ENOENT);
	assert_non_null(strstr(e.hint, "systemctl start strongswan"));
}

static void a_length_beyond_every_packet_is_refused_before_memory_is_taken(void **state)
{
	static const struct answer script[] = { SAY("\xff\xff\xff\xff\1"), END };
	struct bwl_err e = { 0 };
	struct bwl_vici *v;
	struct fake f;

	(void)state;
	v = start(&f, script, LONG_NS);
	assert_int_equal(bwl_vici_call(v, "version", NULL, NULL, &e), -EBADMSG);
	assert_int_equal(bwl_vici_call(v, "version", NULL, NULL, &e), -ENOTCONN);
	stop(&f, v);
}

static void news_can_be_awaited_again_after_none_came(void **state)
{
	static const struct answer script[] = {
		SAY("\0\0\0\1\5"),
		SAY("\0\0\0\1\5"
		    "\0\0\0\x12\7\x0a"
		    "ike-updown\3\2up\0\0"),
		END,
	};
	struct bwl_err e = { 0 };
	struct bwl_vici *v;
	char name[256];
	struct fake f;
	json_t *msg;

	(void)state;
	v = start(&f, script, LONG_NS);
	assert_int_equal(bwl_vici_register(v, "ike-updown", &e), 0);
	assert_int_equal(bwl_vici_wait(v, SHORT_NS, name, &msg, &e), -ETIMEDOUT);
	assert_int_equal(bwl_vici_register(v, "child-updown", &e), 0);
	assert_int_equal(bwl_vici_wait(v, LONG_NS, name, &msg, &e), 0);
	assert_string_equal(name, "ike-updown");
	json_decref(msg);
	stop(&f, v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_brings_its_answer),
		cmocka_unit_test(a_refusal_is_an_error_in_charons_words),
		cmocka_unit_test(events_of_a_command_come_in_order_and_end_with_it),
		cmocka_unit_test(who_has_seen_enough_events_still_reads_to_the_end),
		cmocka_unit_test(a_charon_that_stops_in_a_packet_costs_no_more_than_the_timeout),
		cmocka_unit_test(a_charon_that_accepts_nothing_costs_no_more_than_the_timeout),
		cmocka_unit_test(a_charon_that_dies_is_an_error_at_once),
		cmocka_unit_test(a_length_beyond_every_packet_is_refused_before_memory_is_taken),
		cmocka_unit_test(news_can_be_awaited_again_after_none_came),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
