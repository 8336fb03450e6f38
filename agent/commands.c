/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of people who are not root: bwlimit-ctl sends its words, and bwlimitd runs bwlimit-ctl
 * with them (bwl/agent.h). What they may is said by their groups; that bwlimit-ctl keeps to it,
 * and to what has no path in it, it sees itself (ctl/ordered.h). A process for each, so that a
 * command that hangs holds up nobody: it is killed after a minute, as is one that says too much.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>
#include "bwl/group.h"
#include "line_socket.h"
#include "parts.h"
#include "thread.h"

#define AT_ONCE 8
#define WORDS_MOST 64
#define ENV_MOST 32 /* of our own environment, where our files are */
#define LONGEST_NS 60000000000ULL
#define SAYS_MOST (64 << 20) /* bytes of standard output, and of standard error */
#define EVERY_MS 100

struct running {
	pid_t pid; /* 0: free */
	int conn, out, err;
	uint64_t since_ns;
};

struct commands {
	struct agent_thread thread;
	const char *pin_dir, *state_dir;
	gid_t gid[2]; /* bwlimit, bwlimit-read */
	bool has[2];
	struct line_socket *socket;
	struct running run[AT_ONCE];
};

/* "operate", "read", or NULL. */
static const char *rights(const struct commands *v, int fd)
{
	if (bwl_is_of_groups(fd, v->gid, v->has[0]))
		return "operate";
	return v->has[1] && bwl_is_of_groups(fd, &v->gid[1], 1) ? "read" : NULL;
}

static bool may_command(void *arg, int fd)
{
	return rights(arg, fd);
}

/* Both files go along: the reader copies them, at his own pace. */
static void answer(int conn, int code, int out, int err)
{
	char text[64];
	int fd[2] = { out, err };
	union {
		char room[CMSG_SPACE(sizeof(fd))];
		struct cmsghdr align;
	} ctl = { 0 };
	struct iovec iov = { text, (size_t)snprintf(text, sizeof(text), "{\"exit\":%d}\n", code) };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.room,
			    .msg_controllen = sizeof(ctl.room) };

	*CMSG_FIRSTHDR(&m) = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(fd)),
					       .cmsg_level = SOL_SOCKET,
					       .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fd, sizeof(fd));
	sendmsg(conn, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void refuse(int conn, const char *why)
{
	json_t *o = json_pack("{s:s}", "error", why);

	line_say(conn, o);
	json_decref(o);
}

static void forget(struct running *r)
{
	close(r->conn);
	close(r->out);
	close(r->err);
	*r = (struct running){ 0 };
}

static bool is_sealed(int doc)
{
	int seals = fcntl(doc, F_GET_SEALS);

	return seals >= 0 && (seals & BWL_AGENT_SEALS) == BWL_AGENT_SEALS;
}

/* The program beside this one, or where it is installed. */
static void find_ctl(char path[static PATH_MAX])
{
	const char *said = getenv("BWLIMIT_CTL");
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	if (said) {
		snprintf(path, PATH_MAX, "%s", said);
		return;
	}
	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		snprintf(slash + 1, PATH_MAX - (size_t)(slash + 1 - path), "bwlimit-ctl");
}

static int start(const struct commands *v, struct running *r, int doc, const json_t *argv,
		 const char *as)
{
	char *words[WORDS_MOST + 4] = { "bwlimit-ctl", "--pin-dir", (char *)(uintptr_t)v->pin_dir };
	char by[64], how[32], path[PATH_MAX], state[PATH_MAX + 32];
	char *env[ENV_MOST + 6] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", by, how,
				    state };
	posix_spawn_file_actions_t f;
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(who);
	int e;

	getsockopt(r->conn, SOL_SOCKET, SO_PEERCRED, &who, &len);
	snprintf(by, sizeof(by), "BWLIMIT_ORDERED_BY=uid %u", who.uid);
	snprintf(how, sizeof(how), "BWLIMIT_ORDERED_AS=%s", as);
	snprintf(state, sizeof(state), "BWLIMIT_STATE_DIR=%s", v->state_dir);
	for (unsigned i = 0, n = 5; environ[i] && n < ENV_MOST + 5; i++)
		if (!strncmp(environ[i], "BWLIMIT_", 8) &&
		    strncmp(environ[i], "BWLIMIT_STATE_DIR=", 18))
			env[n++] = environ[i];
	for (size_t i = 0; i < json_array_size(argv); i++)
		words[3 + i] = (char *)(uintptr_t)json_string_value(json_array_get(argv, i));
	find_ctl(path);
	r->out = memfd_create("bwlimit-out", MFD_CLOEXEC);
	r->err = memfd_create("bwlimit-err", MFD_CLOEXEC);
	if (r->out < 0 || r->err < 0)
		return errno;
	posix_spawn_file_actions_init(&f);
	if (doc >= 0)
		posix_spawn_file_actions_adddup2(&f, doc, STDIN_FILENO);
	else
		posix_spawn_file_actions_addopen(&f, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&f, r->out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&f, r->err, STDERR_FILENO);
	e = posix_spawn(&r->pid, path, &f, NULL, words, env);
	posix_spawn_file_actions_destroy(&f);
	if (e)
		r->pid = 0;
	r->since_ns = bwl_now_ns();
	return e;
}

static const char *wrong_words(const json_t *argv)
{
	if (!json_array_size(argv) || json_array_size(argv) > WORDS_MOST)
		return "a command has 1 to 64 words";
	for (size_t i = 0; i < json_array_size(argv); i++) {
		const char *s = json_string_value(json_array_get(argv, i));

		if (!s || strlen(s) != json_string_length(json_array_get(argv, i)))
			return "a word of a command is text";
	}
	return NULL;
}

BWL_AUTO_DEFINE(json_decref, json_t *)

static void command(void *arg, int fd, int document, const char *line, size_t len,
		    const char *wrong)
{
	struct commands *v = arg;
	BWL_AUTO_CLOSE int conn = fd, doc = document;
	BWL_AUTO(json_decref)
	json_t *ask = line ? json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const json_t *argv = json_object_get(ask, "argv");
	const char *as = rights(v, conn);
	struct running *r = NULL;
	int e;

	for (unsigned i = 0; i < AT_ONCE && !r; i++)
		if (!v->run[i].pid)
			r = &v->run[i];
	if (line)
		wrong = !as ? "members of group bwlimit or bwlimit-read alone" : wrong_words(argv);
	if (!wrong && doc >= 0 && !is_sealed(doc))
		wrong = "what comes with a command is a sealed memfd";
	if (!wrong && !r)
		wrong = "too many commands at once";
	if (wrong) {
		refuse(conn, wrong);
		return;
	}
	*r = (struct running){ .conn = conn, .out = -1, .err = -1 };
	e = start(v, r, doc, argv, as);
	if (e) {
		char why[160];

		snprintf(why, sizeof(why), "cannot run bwlimit-ctl: %s", strerror(e));
		refuse(conn, why);
		if (r->out >= 0)
			close(r->out);
		if (r->err >= 0)
			close(r->err);
		*r = (struct running){ 0 };
		return;
	}
	bwl_take_fd(&conn);
}

static off_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_size;
}

/* Who has ended, and who must. */
static void look(struct running *r, uint64_t now_ns)
{
	int status;
	pid_t p;

	if (now_ns - r->since_ns > LONGEST_NS || size_of(r->out) > SAYS_MOST ||
	    size_of(r->err) > SAYS_MOST)
		kill(r->pid, SIGKILL);
	p = waitpid(r->pid, &status, WNOHANG);
	if (!p || (p < 0 && errno == EINTR))
		return;
	answer(r->conn, p > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1, r->out, r->err);
	forget(r);
}

static void run(void *arg)
{
	struct commands *v = arg;
	struct pollfd p = { .fd = line_socket_fd(v->socket), .events = POLLIN };

	while (agent_thread_goes_on(&v->thread)) {
		bool some = false;

		for (unsigned i = 0; i < AT_ONCE; i++)
			if (v->run[i].pid)
				look(&v->run[i], bwl_now_ns());
		for (unsigned i = 0; i < AT_ONCE; i++)
			some |= v->run[i].pid != 0;
		poll(&p, 1, some ? 5 : EVERY_MS);
		line_socket_run(v->socket, bwl_now_ns());
	}
}

static const struct line_rule rule = {
	.mode = 0666, .documents = true, .may = may_command, .said = command
};

static void end(struct commands *v)
{
	line_socket_close(v->socket);
	for (unsigned i = 0; i < AT_ONCE; i++) {
		if (!v->run[i].pid)
			continue;
		kill(v->run[i].pid, SIGKILL);
		waitpid(v->run[i].pid, NULL, 0);
		forget(&v->run[i]);
	}
	free(v);
}
BWL_AUTO_DEFINE(end, struct commands *)

/* Without the groups there is nobody who might. */
bool agent_commands_wanted(struct agent *a)
{
	gid_t gid;

	(void)a;
	return bwl_group_id(BWL_GROUP, &gid) || bwl_group_id(BWL_GROUP_READ, &gid);
}

int agent_commands_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	BWL_AUTO(end) struct commands *v = calloc(1, sizeof(*v));
	struct sockaddr_un at;
	int r;

	if (!v)
		return bwl_fail(e, ENOMEM, "out of memory");
	v->pin_dir = bwl_pin_dir(a->pin_dir);
	v->state_dir = a->state_dir;
	v->has[0] = bwl_group_id(BWL_GROUP, &v->gid[0]);
	v->has[1] = bwl_group_id(BWL_GROUP_READ, &v->gid[1]);
	r = line_socket_address(a->pin_dir, BWL_AGENT_COMMANDS, &at, e);
	if (!r)
		r = line_socket_open(at.sun_path, &rule, v, &v->socket, e);
	if (!r)
		r = agent_thread_start(&v->thread, run, v, e);
	if (!r)
		*ret_part = bwl_take_ptr(&v);
	return r;
}

void agent_commands_stop(struct agent *a, void *part)
{
	struct commands *v = part;

	(void)a;
	agent_thread_stop(&v->thread);
	end(v);
}
