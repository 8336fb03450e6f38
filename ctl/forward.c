// SPDX-License-Identifier: GPL-2.0-or-later
/* A command by bwlimitd (bwl/agent.h): its words go there, with the file that it reads; exit code
 * and text come back. */
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
#include "ordered.h"

#define PATIENCE_S 90 /* bwlimitd kills a command after 60 */

/* What the file has, as we may read it, sealed. -1: errno. */
static int file_fd(const char *path)
{
	BWL_AUTO_CLOSE int from = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC)
						    : dup(STDIN_FILENO);
	BWL_AUTO_CLOSE int fd = memfd_create("bwlimit-in", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char buf[65536];
	ssize_t n = 0;

	if (from < 0 || fd < 0)
		return -1;
	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write(fd, buf, (size_t)n) != n)
			return -1;
	if (n < 0 || lseek(fd, 0, SEEK_SET) < 0 || fcntl(fd, F_ADD_SEALS, BWL_AGENT_SEALS))
		return -1;
	return bwl_take_fd(&fd);
}

static void copy(int from, int to)
{
	char buf[65536];
	ssize_t n;

	if (from < 0)
		return;
	for (off_t at = 0; (n = pread(from, buf, sizeof(buf), at)) > 0; at += n)
		for (ssize_t done = 0, w; done < n; done += w) {
			w = write(to, buf + done, (size_t)(n - done));
			if (w < 0)
				return;
		}
}

/* The answer's line, and its two files; they are -1 where it has none. */
static json_t *hear(int conn, int fd[static 2])
{
	char text[BWL_AGENT_LINE];
	union {
		char room[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} ctl;
	struct iovec iov = { text, sizeof(text) };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.room,
			    .msg_controllen = sizeof(ctl.room) };
	struct timeval most = { .tv_sec = PATIENCE_S };
	struct cmsghdr *h;
	ssize_t n;

	fcntl(conn, F_SETFL, 0);
	setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	do
		n = recvmsg(conn, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR && !ctl_stopped);
	if (n <= 0)
		return NULL;
	h = CMSG_FIRSTHDR(&m);
	if (h && h->cmsg_type == SCM_RIGHTS && h->cmsg_len == CMSG_LEN(2 * sizeof(int)))
		memcpy(fd, CMSG_DATA(h), 2 * sizeof(int));
	return json_loadb(text, (size_t)n, JSON_DISABLE_EOF_CHECK, NULL);
}

static json_t *words(const struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv,
		     int file)
{
	json_t *a = json_array();

	json_array_append_new(a, json_string(cmd->noun));
	if (cmd->verb)
		json_array_append_new(a, json_string(cmd->verb));
	for (int i = 0; i < argc; i++)
		json_array_append_new(a, json_string(i == file ? "-" : argv[i]));
	if (c->json)
		json_array_append_new(a, json_string("--json"));
	return json_pack("{s:o}", "argv", a);
}

BWL_AUTO_DEFINE(json_decref, json_t *)

int ctl_forward(struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv)
{
	int file = ctl_file_word(cmd, argc, argv), fd[2] = { -1, -1 }, code = 1;
	BWL_AUTO_CLOSE int doc = -1, conn = -1;
	BWL_AUTO(json_decref) json_t *what = words(c, cmd, argc, argv, file), *said = NULL;
	const char *error;

	if (file >= 0) {
		doc = file_fd(argv[file]);
		if (doc < 0) {
			bwl_fail(&c->err, errno, "cannot read %.200s: %s", argv[file],
				 strerror(errno));
			bwl_err_print(&c->err, CTL_PROGRAM, c->json);
			return 1;
		}
	}
	conn = ctl_say_to_agent(c, BWL_AGENT_COMMANDS, what, doc, bwl_now_ns() + 2000000000ULL);
	if (conn < 0)
		return -1;
	said = hear(conn, fd);
	error = json_string_value(json_object_get(said, "error"));
	if (!said || error) {
		bwl_fail(&c->err, error ? EPERM : EIO, "bwlimitd: %s", error ? error : "no answer");
		bwl_err_print(&c->err, CTL_PROGRAM, c->json);
	} else {
		code = (int)json_integer_value(json_object_get(said, "exit"));
	}
	copy(fd[0], STDOUT_FILENO);
	copy(fd[1], STDERR_FILENO);
	for (unsigned i = 0; i < 2; i++)
		if (fd[i] >= 0)
			close(fd[i]);
	return code;
}
