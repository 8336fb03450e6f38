// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The socket of events, with an injected clock, maps and losses. Each reader gets what it asked
 * for, and what one does not read is lost to that one only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "client.h"
#include "agent/line_socket.h"
#include "agent/subscribers.h"
#include "bwl/policy.h"

#define SECOND 1000000000ULL

static struct bwl_name names[4];
static struct bwl_dev devs[BWL_MAX_PORTS];
static struct bwl_pins pins = { .schema.max_peers = 4, .name = names, .dev = devs };
static struct bwl_event_losses losses;
static struct subscribers_rule rule;
static struct subscribers *s;

static int losses_now(const struct bwl_pins *p, struct bwl_event_losses *ret, struct bwl_err *e)
{
	(void)p, (void)e;
	*ret = losses;
	return 0;
}

static int set_up(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	strcpy(names[1].name, "tray-3");
	strcpy(names[2].name, "sink");
	devs[1].ifindex = 11;
	strcpy(devs[1].name, "hpf0");
	devs[2].ifindex = 12;
	strcpy(devs[2].name, "p0");
	memset(&losses, 0, sizeof(losses));
	rule = (struct subscribers_rule){ .pins = &pins, .losses = losses_now, .alone = true };
	line_who_find(&rule.who, 1U << LINE_ROOT | 1U << LINE_OPERATE | 1U << LINE_READ);
	rule.who.has[LINE_OPERATE] = rule.who.has[LINE_READ] = false;
	snprintf(path, sizeof(path), "/tmp/bwl-events-%d.sock", (int)getpid());
	assert_int_equal(subscribers_open(path, &rule, &s, &e), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	subscribers_close(s);
	assert_int_equal(access(path, F_OK), -1);
	return 0;
}

static unsigned lines_with(const char *text, const char *what)
{
	unsigned n = 0;

	for (; text && (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* The sum of a number over all lines. Each line must be complete JSON. */
static uint64_t sum_of(const char *text, const char *key)
{
	uint64_t n = 0;
	const char *end;
	json_t *o;

	for (; text && *text; text = end + 1) {
		end = strchr(text, '\n');
		assert_non_null(end);
		o = json_loadb(text, (size_t)(end - text), 0, NULL);
		assert_non_null(o);
		n += (uint64_t)json_integer_value(json_object_get(o, key));
		json_decref(o);
	}
	return n;
}

#define TAKEN "{\"by\":\"bwlimitd\"}\n"

static int subscribe(const char *filter, uint64_t now_ns)
{
	int fd = dial();

	tell(fd, filter);
	subscribers_run(s, now_ns);
	assert_string_equal(heard(fd), TAKEN);
	return fd;
}

static struct bwl_event event_of(unsigned kind, unsigned port, unsigned peer)
{
	return (struct bwl_event){ .kind = (uint8_t)kind,
				   .port = (uint8_t)port,
				   .peer = peer,
				   .reason = BWL_R_GATE,
				   .len = 100,
				   .ethertype = 0x0800,
				   .proto = 17 };
}

static void send_event(unsigned kind, unsigned port, unsigned peer, uint64_t now_ns)
{
	struct bwl_event e = event_of(kind, port, peer);

	subscribers_event(s, &e, now_ns);
}

static void each_reader_gets_what_he_asked_for_and_nothing_else(void **state)
{
	static const struct {
		const char *filter;
		unsigned got;
	} asked[] = {
		{ "{}\n", 4 },
		{ "{\"event\":[\"gate\",\"drop\"]}\n", 3 },
		{ "{\"event\":[\"spoofed-source\"]}\n", 1 },
		{ "{\"port\":[\"p0\"]}\n", 2 },
		{ "{\"peer\":[\"tray-3\"]}\n", 1 },
		{ "{\"peer\":[\"tray-3\",\"sink\"],\"event\":[\"drop\"]}\n", 2 },
		{ "{\"reason\":[\"gate\"],\"class\":[\"other\"]}\n", 4 },
		{ "{\"reason\":[\"no-peer\"]}\n", 0 },
		{ "{\"class\":[\"ssh\"]}\n", 0 },
	};
	enum { N = sizeof(asked) / sizeof(asked[0]) };
	int fd[N];

	(void)state;
	assert_string_equal(bwl_class_name(0), "other");
	for (unsigned i = 0; i < N; i++)
		fd[i] = subscribe(asked[i].filter, 1);
	send_event(BWL_E_GATE, 2, 0, 2);
	send_event(BWL_E_DROP, 2, 1, 2);
	send_event(BWL_E_DROP, 1, 2, 2);
	devs[1].ifindex = 0; /* detached meanwhile, but it keeps its name */
	send_event(BWL_E_SPOOF, 1, 0, 2);
	for (unsigned i = 0; i < N; i++) {
		const char *text = heard(fd[i]);

		if (lines_with(text, "\"kind\":\"event\"") != asked[i].got)
			fail_msg("%s: %s", asked[i].filter, text ? text : "nothing");
		assert_int_equal(lines_with(text, "\n"), asked[i].got);
		close(fd[i]);
	}
}

static void a_filter_that_is_wrong_is_refused_with_the_field_and_what_it_takes(void **state)
{
	static const struct {
		const char *filter, *why;
	} bad[] = {
		{ "\n", "an object in JSON" },
		{ "[]\n", "an object in JSON" },
		{ "{\"event\":[\"gate\"],\"event\":[\"drop\"]}\n", "an object in JSON" },
		{ "{\"verb\":\"lease\"}\n",
		  "unknown field 'verb': it must be one of event, reason, port" },
		{ "{\"event\":\"gate\"}\n", "event: an array" },
		{ "{\"event\":[]}\n", "event: an array" },
		{ "{\"event\":[7]}\n", "event: an array" },
		{ "{\"event\":[\"fly\"]}\n",
		  "event: unknown value 'fly'; one of: drop, first-packet" },
		{ "{\"class\":[\"fly\"]}\n", "class: unknown value 'fly'; one of: other" },
		{ "{\"reason\":[\"fly\"]}\n", "reason: unknown value 'fly'; `bwlimit-ctl reasons" },
		{ "{\"peer\":[\"nobody\"]}\n", "no such peer: 'nobody'; `bwlimit-ctl peer" },
		{ "{\"peer\":[\"\"]}\n", "peer: a name has 1 to 31" },
		{ "{\"port\":[\"eth9\"]}\n", "no such port: 'eth9'; it must be one of: hpf0, p0" },
		{ "{\"port\":[\"12345678901234567890123456789012\"]}\n", "port: a name has" },
		{ "{\"peer\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\",\"13\",\"14\",\"15\",\"16\",\"17\"]}\n",
		  "peer: at most 16" },
		{ "{}\n{}\n", "more than one request" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd = dial();
		const char *text;

		tell(fd, bad[i].filter);
		subscribers_run(s, 1);
		text = heard(fd);
		if (!text || !strstr(text, "{\"error\":") || !strstr(text, bad[i].why))
			fail_msg("%s: %s", bad[i].filter, text ? text : "nothing");
		assert_string_equal(heard(fd), "");
		close(fd);
	}
}

static void who_does_not_read_loses_alone_and_is_told_how_many(void **state)
{
	const unsigned n = 5000;
	int slow, quick;
	unsigned got = 0, had;
	const char *text;

	(void)state;
	slow = subscribe("{}\n", 1);
	quick = subscribe("{}\n", 1);
	for (unsigned i = 0; i < n; i++) {
		send_event(BWL_E_GATE, 2, 0, 2);
		if (i % 50 == 49)
			got += lines_with(heard(quick), "\"kind\":\"event\"");
	}
	assert_int_equal(got, n);
	text = heard(slow);
	had = lines_with(text, "\"kind\":\"event\"");
	assert_true(had > 100 && had < n);
	assert_int_equal(lines_with(text, "event-lost"), 0);
	assert_int_equal(sum_of(text, "lost_count"), 0);
	send_event(BWL_E_GATE, 2, 0, 3); /* the loss is reported before the next event */
	text = heard(slow);
	assert_int_equal(strncmp(text, "{\"version\":1,\"kind\":\"event-lost\"", 32), 0);
	assert_int_equal(lines_with(text, "\"kind\":\"event\""), 1);
	assert_int_equal(sum_of(text, "lost_count"), n - had);
	text = heard(quick);
	assert_int_equal(lines_with(text, "\n"), 1);
	close(slow);
	close(quick);
}

static void losses_are_told_though_nothing_more_happens(void **state)
{
	int fd = subscribe("{}\n", 1);
	const char *text;
	unsigned had;

	(void)state;
	for (unsigned i = 0; i < 3000; i++)
		send_event(BWL_E_GATE, 2, 0, 2);
	subscribers_run(s, 3);
	had = lines_with(heard(fd), "\"kind\":\"event\"");
	subscribers_run(s, 4);
	text = heard(fd);
	assert_int_equal(sum_of(text, "lost_count"), 3000 - had);
	assert_int_equal(sum_of(text, "behind_count"), 3000 - had);
	assert_int_equal(lines_with(text, "\n"), 1);
	close(fd);
}

static void what_the_data_plane_lost_is_told_to_who_asked_for_that_kind_and_port(void **state)
{
	int all, gate, port;

	(void)state;
	losses.n[BWL_E_GATE][2] = 1000; /* before anybody subscribed */
	all = subscribe("{}\n", SECOND);
	gate = subscribe("{\"event\":[\"gate\"]}\n", SECOND);
	port = subscribe("{\"port\":[\"hpf0\"]}\n", SECOND);
	losses.n[BWL_E_GATE][2] += 7;
	losses.n[BWL_E_DROP][1] += 50;
	subscribers_run(s, 2 * SECOND - 1);
	assert_null(heard(all));
	subscribers_run(s, 2 * SECOND);
	assert_int_equal(sum_of(heard(all), "lost_count"), 57);
	assert_int_equal(sum_of(heard(gate), "lost_count"), 7);
	assert_int_equal(sum_of(heard(port), "lost_count"), 50);
	subscribers_run(s, 3 * SECOND);
	assert_null(heard(all));
	close(all);
	close(gate);
	close(port);
}

static void who_says_that_he_ends_is_told_what_is_left_and_then_it_hangs_up(void **state)
{
	int fd = subscribe("{}\n", 1), other = subscribe("{}\n", 1);
	const char *text;

	(void)state;
	send_event(BWL_E_GATE, 2, 0, 2);
	losses.n[BWL_E_GATE][2] = 9;
	shutdown(fd, SHUT_WR);
	subscribers_run(s, 3);
	text = heard(fd);
	assert_int_equal(lines_with(text, "\"kind\":\"event\""), 1);
	assert_int_equal(sum_of(text, "lost_count"), 9);
	assert_int_equal(sum_of(text, "behind_count"), 0);
	assert_string_equal(heard(fd), "");
	send_event(BWL_E_GATE, 2, 0, 4);
	text = heard(other);
	assert_int_equal(lines_with(text, "\"kind\":\"event\""), 2);
	assert_int_equal(sum_of(text, "lost_count"), 9);
	close(fd);
	close(other);
}

static void who_ends_and_does_not_read_is_dropped_in_time(void **state)
{
	int fd = subscribe("{}\n", 1);

	(void)state;
	for (unsigned i = 0; i < 3000; i++)
		send_event(BWL_E_GATE, 2, 0, 2);
	shutdown(fd, SHUT_WR);
	subscribers_run(s, 3);
	subscribers_run(s, 2 + LINE_NS);
	send_event(BWL_E_GATE, 2, 0, 2);
	subscribers_run(s, 3 + LINE_NS);
	assert_true(lines_with(heard(fd), "\"kind\":\"event\"") > 100);
	assert_string_equal(heard(fd), "");
	close(fd);
}

static void who_says_more_than_a_filter_or_nothing_or_half_is_dropped(void **state)
{
	int more = subscribe("{}\n", 1), silent = dial(), half = dial();

	(void)state;
	tell(more, "x");
	tell(half, "{\"event\":");
	subscribers_run(s, 5);
	assert_null(heard(more)); /* what it sent was not even read */
	assert_int_equal(errno, ECONNRESET);
	assert_null(heard(half));
	subscribers_run(s, 6 + LINE_NS);
	assert_string_equal(heard(silent), "");
	assert_string_equal(heard(half), "");
	close(more);
	close(silent);
	close(half);
}

/* Who runs this has root's right. */
static unsigned places(void)
{
	return SUBSCRIBERS;
}

static void when_all_places_are_taken_who_reads_stays_and_who_hangs_goes(void **state)
{
	int fd[SUBSCRIBERS], more;
	unsigned n = places();

	(void)state;
	for (unsigned i = 0; i < n; i++)
		fd[i] = subscribe("{}\n", 1);
	more = dial();
	tell(more, "{}\n");
	subscribers_run(s, 2);
	assert_non_null(strstr(heard(more), "too many programs"));
	close(more);
	for (unsigned i = 0; i < 3000; i++) { /* all but the third one read */
		send_event(BWL_E_GATE, 2, 0, SECOND);
		for (unsigned j = 0; j < n && i % 50 == 49; j++)
			if (j != 2)
				heard(fd[j]);
	}
	more = dial();
	tell(more, "{}\n");
	subscribers_run(s, SUBSCRIBER_STUCK_NS);
	assert_non_null(strstr(heard(more), "too many programs"));
	close(more);
	more = subscribe("{}\n", SECOND + SUBSCRIBER_STUCK_NS);
	send_event(BWL_E_GATE, 2, 0, SECOND + SUBSCRIBER_STUCK_NS);
	assert_int_equal(lines_with(heard(more), "\"kind\":\"event\""), 1);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(lines_with(heard(fd[i]), "\"kind\":\"event\"") == 1, i != 2);
	assert_string_equal(heard(fd[2]), "");
	for (unsigned i = 0; i < n; i++)
		close(fd[i]);
	close(more);
}

static void has(enum line_right right, gid_t gid)
{
	rule.who.has[right] = true;
	rule.who.gid[right] = gid;
}

/* How many places a child process of that user in that group gets. It keeps them while it lives. */
static unsigned char held_by(uid_t uid, gid_t group, pid_t *ret)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	unsigned char n = 0;
	char buf[64];
	int to[2];

	assert_int_equal(pipe2(to, O_NONBLOCK), 0);
	*ret = fork();
	if (!*ret) {
		strcpy(at.sun_path, path);
		if (setgroups(1, &group) || setgid(65534) || setuid(uid))
			_exit(99);
		for (unsigned i = 0; i < SUBSCRIBERS; i++) {
			int fd = socket(AF_UNIX, SOCK_STREAM, 0);

			if (connect(fd, (struct sockaddr *)&at, sizeof(at)) ||
			    send(fd, "{}\n", 3, MSG_NOSIGNAL) != 3)
				_exit(98);
			n += recv(fd, buf, sizeof(buf), 0) == sizeof(TAKEN) - 1;
		}
		if (write(to[1], &n, 1) == 1)
			pause();
		_exit(97);
	}
	close(to[1]);
	while (read(to[0], &n, 1) < 0) {
		poll(NULL, 0, 1);
		subscribers_run(s, 1);
	}
	close(to[0]);
	return n;
}

/* Sends {} in a child process of that user and these groups. 0: the filter was taken. */
static int asks_as(uid_t uid, gid_t gid, gid_t other)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct pollfd p;
	char buf[64];
	int status;
	pid_t pid = fork();

	if (!pid) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		strcpy(at.sun_path, path);
		if (setgroups(1, &other) || setgid(gid) || setuid(uid) ||
		    connect(fd, (struct sockaddr *)&at, sizeof(at)) ||
		    send(fd, "{}\n", 3, MSG_NOSIGNAL) != 3)
			_exit(2);
		p = (struct pollfd){ .fd = fd, .events = POLLIN };
		_exit(poll(&p, 1, 300000) == 1 && recv(fd, buf, sizeof(buf), 0) > 0 ? 0 : 1);
	}
	while (!waitpid(pid, &status, WNOHANG)) {
		poll(NULL, 0, 1);
		subscribers_run(s, 1);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void members_of_the_groups_may_and_nobody_else(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(asks_as(65534, 65534, 4711), 2); /* without such a group only root may */
	subscribers_close(s);
	has(LINE_OPERATE, 4710);
	has(LINE_READ, 4711);
	assert_int_equal(subscribers_open(path, &rule, &s, &e), 0);
	assert_int_equal(asks_as(65534, 65534, 4711), 0);
	assert_int_equal(asks_as(65534, 4710, 65534), 0);
	assert_int_not_equal(asks_as(65534, 65534, 4712), 0);
	assert_int_equal(asks_as(0, 0, 0), 0);
}

/* Each of these holds all that it gets. */
static void who_has_less_right_takes_no_place_of_who_has_more(void **state)
{
	enum { READERS = SUBSCRIBERS - SUBSCRIBERS_ROOT - SUBSCRIBERS_OPERATE };
	struct bwl_err e = { 0 };
	int fd[SUBSCRIBERS_ROOT];
	pid_t child[5];

	(void)state;
	if (geteuid())
		skip();
	subscribers_close(s);
	has(LINE_OPERATE, 4710);
	has(LINE_READ, 4711);
	assert_int_equal(subscribers_open(path, &rule, &s, &e), 0);
	assert_int_equal(held_by(65501, 4711, &child[0]), SUBSCRIBERS_OF_ONE);
	assert_int_equal(held_by(65502, 4711, &child[1]), READERS - SUBSCRIBERS_OF_ONE);
	assert_int_equal(held_by(65503, 4711, &child[2]), 0);
	assert_int_equal(held_by(65504, 4710, &child[3]), SUBSCRIBERS_OPERATE);
	assert_int_equal(held_by(65505, 4710, &child[4]), 0);
	for (unsigned i = 0; i < SUBSCRIBERS_ROOT; i++)
		fd[i] = subscribe("{}\n", 1);
	for (unsigned i = 0; i < SUBSCRIBERS_ROOT; i++)
		close(fd[i]);
	for (unsigned i = 0; i < 5; i++) {
		kill(child[i], SIGKILL);
		assert_int_equal(waitpid(child[i], NULL, 0), child[i]);
	}
	subscribers_run(s, 2);
	assert_int_equal(held_by(65503, 4711, &child[0]), SUBSCRIBERS_OF_ONE);
	kill(child[0], SIGKILL);
	assert_int_equal(waitpid(child[0], NULL, 0), child[0]);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(each_reader_gets_what_he_asked_for_and_nothing_else),
		T(a_filter_that_is_wrong_is_refused_with_the_field_and_what_it_takes),
		T(who_does_not_read_loses_alone_and_is_told_how_many),
		T(losses_are_told_though_nothing_more_happens),
		T(what_the_data_plane_lost_is_told_to_who_asked_for_that_kind_and_port),
		T(who_says_that_he_ends_is_told_what_is_left_and_then_it_hangs_up),
		T(who_ends_and_does_not_read_is_dropped_in_time),
		T(who_says_more_than_a_filter_or_nothing_or_half_is_dropped),
		T(when_all_places_are_taken_who_reads_stays_and_who_hangs_goes),
		T(members_of_the_groups_may_and_nobody_else),
		T(who_has_less_right_takes_no_place_of_who_has_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
