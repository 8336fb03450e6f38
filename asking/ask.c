// SPDX-License-Identifier: GPL-2.0-or-later
/* See ask.h. Runs on the server's thread: waiting here delays only the next request. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include "ask.h"
#include "bwl/agent.h"
#include "bwl/bytes.h"
#include "bwl/cleanup.h"
#include "bwl/door.h"

#define PATIENCE_S 15 /* between bwlimitd's messages; no page shows a million peers */

BWL_AUTO_DEFINE(json_decref, json_t *)

static int reach(const char *path, const json_t *what, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = -1;
	const struct timeval most = { .tv_sec = PATIENCE_S };
	char line[BWL_AGENT_LINE];
	size_t n = json_dumpb(what, line, sizeof(line) - 1, JSON_COMPACT);

	if (!n || n >= sizeof(line))
		return bwl_fail(e, EMSGSIZE, "the question is too long");
	line[n++] = '\n';
	if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return bwl_fail(e, ENAMETOOLONG, "'%.100s…' is too long for the path of a socket",
				path);
	fd = bwl_door_connect(path, 0, PATIENCE_S);
	errno = fd < 0 ? -fd : 0;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)) ||
	    bwl_bytes_write(fd, line, n)) {
		bwl_fail(e, ENOTCONN, "bwlimitd does not answer at '%s': %m", path);
		return bwl_hint(
			e, "systemctl status bwlimitd; this user must be in group bwlimit-sync");
	}
	return bwl_take_fd(&fd);
}

/* The answer's line. What came after it stays in buf. */
static json_t *hear(int fd, char *buf, size_t size, size_t *n, struct bwl_err *e)
{
	json_t *o = NULL;
	char *end;

	*n = 0;
	while (!(end = memchr(buf, '\n', *n)) && *n < size) {
		ssize_t r = recv(fd, buf + *n, size - *n, 0);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		*n += (size_t)r;
	}
	if (end)
		o = json_loadb(buf, (size_t)(end - buf), JSON_REJECT_DUPLICATES, NULL);
	if (json_is_string(json_object_get(o, "error"))) {
		bwl_fail(e, json_is_true(json_object_get(o, "busy")) ? EBUSY : EPERM,
			 "bwlimitd: %s", json_string_value(json_object_get(o, "error")));
		json_decref(o);
		return NULL;
	}
	if (!json_is_object(o)) {
		bwl_fail(e, ENOTCONN, "bwlimitd hung up, or its answer cannot be parsed");
		json_decref(o);
		return NULL;
	}
	*n -= (size_t)(end + 1 - buf);
	memmove(buf, end + 1, *n);
	return o;
}

int asking_command(const char *socket_path, const json_t *what, size_t most, char **ret,
		   size_t *ret_len, int *ret_exit, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = reach(socket_path, what, e);
	BWL_AUTO(json_decref) json_t *said = NULL;
	BWL_AUTO_FREE char *text = NULL;
	char buf[BWL_AGENT_LINE];
	json_int_t len;
	size_t n;

	if (fd < 0)
		return fd = -1, -e->code;
	said = hear(fd, buf, sizeof(buf), &n, e);
	if (!said)
		return -e->code;
	len = json_integer_value(json_object_get(said, "out"));
	if (len < 0 || (size_t)len > most)
		return bwl_fail(e, EFBIG, "the document has %lld bytes; at most %zu are served",
				(long long)len, most);
	text = bwl_must(malloc((size_t)len + 1));
	n = n < (size_t)len ? n : (size_t)len;
	memcpy(text, buf, n);
	while (n < (size_t)len) {
		ssize_t r = recv(fd, text + n, (size_t)len - n, 0);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return bwl_fail(e, ENOTCONN, "bwlimitd hung up");
		n += (size_t)r;
	}
	*ret_exit = (int)json_integer_value(json_object_get(said, "exit"));
	*ret_len = (size_t)len;
	*ret = bwl_take_ptr(&text);
	return 0;
}

int asking_stream(const char *socket_path, const json_t *argv, struct bwl_err *e)
{
	BWL_AUTO(json_decref)
	json_t *what = json_pack("{s:O, s:b}", "argv", argv, "stream", 1), *said = NULL;
	BWL_AUTO_CLOSE int fd = reach(socket_path, what, e);
	char buf[BWL_AGENT_LINE];
	size_t n = 0;

	/* One byte at a time: what follows the line is for the caller. */
	while (fd >= 0 && n < sizeof(buf) && recv(fd, buf + n, 1, 0) == 1)
		if (buf[n++] == '\n')
			break;
	if (fd < 0)
		return -e->code;
	said = json_loadb(buf, n, 0, NULL);
	if (json_is_true(json_object_get(said, "stream")))
		return bwl_take_fd(&fd);
	return bwl_fail(e, json_is_true(json_object_get(said, "busy")) ? EBUSY : ENOTCONN,
			"bwlimitd: %s",
			json_is_string(json_object_get(said, "error"))
				? json_string_value(json_object_get(said, "error"))
				: "it hung up");
}

int asking_status(const char *socket_path, char **ret, size_t *ret_len, struct bwl_err *e)
{
	BWL_AUTO(json_decref) json_t *what = json_pack("{s:s}", "verb", "status"), *said = NULL;
	BWL_AUTO_CLOSE int fd = reach(socket_path, what, e);
	const json_t *status;
	char buf[2 * BWL_AGENT_LINE];
	size_t n;

	if (fd < 0)
		return fd = -1, -e->code;
	said = hear(fd, buf, sizeof(buf), &n, e);
	status = json_object_get(said, "status");
	if (!said)
		return -e->code;
	if (!json_is_object(status))
		return bwl_fail(e, ENOENT, "bwlimitd has no status: nothing is enrolled");
	*ret = bwl_must(json_dumps(status, JSON_COMPACT));
	*ret_len = strlen(*ret);
	return 0;
}
