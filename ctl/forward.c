// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a command by bwlimitd (bwl/agent.h): sends its words, with the file that it reads; gets exit
 * code and text.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "bwl/agent.h"
#include "bwl/bytes.h"
#include "bwl/output.h"
#include "ordered.h"

#define PATIENCE_S 330 /* bwlimitd kills a command after 300 */
#define HERE_TOO_S 10  /* of what can be done without it, but for a part */
#define REACH_NS 2000000000ULL

int ctl_input_fd(const char *path, struct bwl_err *e)
{
	BWL_AUTO_FREE char *bytes = NULL;
	size_t len;
	int fd, r = bwl_policy_bytes(path, &bytes, &len, e);

	if (r)
		return r;
	fd = ctl_sealed(bytes, len);
	return fd < 0 ? bwl_fail(e, errno, "no room for %.200s: %s", path, strerror(errno)) : fd;
}

/* The answer's line; what follows it stays in buf. */
static json_t *hear(int conn, char *buf, size_t size, size_t *ret_n)
{
	size_t n = 0;
	json_t *o;
	char *end;

	for (;;) {
		ssize_t r = recv(conn, buf + n, size - n, 0);

		if (r < 0 && errno == EINTR && !ctl_stopped)
			continue;
		if (r <= 0)
			return NULL;
		n += (size_t)r;
		end = memchr(buf, '\n', n);
		if (end)
			break;
		if (n == size)
			return NULL;
	}
	o = json_loadb(buf, (size_t)(end - buf), 0, NULL);
	*ret_n = n - (size_t)(end + 1 - buf);
	memmove(buf, end + 1, *ret_n);
	return o;
}

/* Copies that many bytes of the connection, of which n are already in buf. */
static bool copy(int conn, json_int_t left, int to, char *buf, size_t size, size_t *n)
{
	while (left > 0) {
		size_t now = (json_int_t)*n < left ? *n : (size_t)left;
		ssize_t r;

		if (to >= 0 && bwl_bytes_write(to, buf, now)) {
			bwl_output_lost(errno);
			to = -1; /* what follows still tells how it ended */
		}
		left -= (json_int_t)now;
		*n -= now;
		memmove(buf, buf + now, *n);
		if (!left)
			break;
		r = recv(conn, buf, size, 0);
		if (r <= 0)
			return false;
		*n = (size_t)r;
	}
	return true;
}

static json_t *words(const struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv,
		     int file)
{
	json_t *a = json_array();

	if (c->json)
		json_array_append_new(a, json_string("--json"));
	json_array_append_new(a, json_string(cmd->noun));
	if (cmd->verb)
		json_array_append_new(a, json_string(cmd->verb));
	for (int i = 0; i < argc; i++)
		json_array_append_new(a, json_string(i == file ? "-" : argv[i]));
	return json_pack("{s:o}", "argv", a);
}

BWL_AUTO_DEFINE(json_decref, json_t *)

/* Waits for an answer. */
static int reach(const struct ctl *c, const json_t *what, int doc, unsigned patience_s)
{
	struct timeval most = { .tv_sec = patience_s };
	int conn = ctl_say_to_agent(c, BWL_AGENT_COMMANDS, what, doc, bwl_now_ns() + REACH_NS);

	if (conn >= 0) {
		fcntl(conn, F_SETFL, 0);
		setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	}
	return conn;
}

static int failed(struct ctl *c)
{
	bwl_err_print(&c->err, CTL_PROGRAM, c->json);
	return 1;
}

/* Asks for confirmation as for root, if the user can be asked. */
int ctl_ask_before(struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv)
{
	bool apply = !strcmp(cmd->noun, "policy") && cmd->verb && !strcmp(cmd->verb, "apply");
	bool grant_all = !strcmp(cmd->noun, "grant") && argc && !strcmp(argv[0], "--all");

	if ((!apply && !grant_all) || !isatty(STDIN_FILENO))
		return 0;
	for (int i = 0; i < argc; i++)
		if (!strcmp(argv[i], "--yes") || (apply && !strncmp(argv[i], "--confirm", 9)))
			return 0;
	if (grant_all) {
		ctl_usage(c, "bwlimitd cannot ask: give --yes");
		bwl_hint(&c->err, "bwlimit-ctl grant list shows who is revoked");
		return CTL_USAGE;
	}
	ctl_usage(c, "bwlimitd cannot ask: give --yes, or --confirm TIME");
	bwl_hint(&c->err, "bwlimit-ctl policy diff FILE shows what changes");
	return CTL_USAGE;
}

void ctl_close_first(const struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv)
{
	bool revoke = !strcmp(cmd->noun, "revoke");
	struct bwl_pins *p;

	if ((!revoke && (strcmp(cmd->noun, "stop") || argc)) ||
	    bwl_pins_open_few(c->pin_dir, &p, NULL))
		return;
	if (!revoke)
		__atomic_store_n(&p->ctl->stop, BWL_STOPPED, __ATOMIC_SEQ_CST);
	for (int i = 0; revoke && i < argc; i++)
		if (strcmp(argv[i], "--all"))
			bwl_revoke_at_once(p, argv[i]);
		else
			bwl_revoke(p, NULL, NULL);
	bwl_pins_close(p);
}

int ctl_forward(struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv)
{
	int file = ctl_file_word(cmd, argc, argv);
	bool here_too = cmd->run == ctl_check_cmds->run; /* it tells of a bwlimitd that hangs */
	BWL_AUTO_CLOSE int doc = -1, conn = -1;
	BWL_AUTO(json_decref) json_t *what = words(c, cmd, argc, argv, file), *said = NULL;
	const char *error;
	char buf[65536];
	size_t n = 0;

	if (file >= 0) {
		doc = ctl_input_fd(argv[file], &c->err);
		if (doc < 0)
			return failed(c);
	}
	conn = reach(c, what, doc, here_too ? HERE_TOO_S : PATIENCE_S);
	if (conn < 0)
		return -1;
	said = hear(conn, buf, sizeof(buf), &n);
	error = json_string_value(json_object_get(said, "error"));
	if (here_too && (!said || error))
		return -1;
	if (!said) {
		bwl_fail(&c->err, EIO, "bwlimitd did not answer: check whether it was done");
		bwl_hint(&c->err,
			 "it answers root, and members of groups bwlimit and bwlimit-read");
	} else if (error)
		bwl_fail(&c->err, EPERM, "%s", error);
	if (!said || error)
		return failed(c);
	if (!copy(conn, json_integer_value(json_object_get(said, "out")), STDOUT_FILENO, buf,
		  sizeof(buf), &n) ||
	    !copy(conn, json_integer_value(json_object_get(said, "err")), STDERR_FILENO, buf,
		  sizeof(buf), &n))
		return 1;
	return (int)json_integer_value(json_object_get(said, "exit"));
}
