// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Commands of users without root: bwlimit-ctl sends its words, and bwlimitd runs bwlimit-ctl with
 * them (bwl/agent.h). The user's groups decide what is permitted; the bwlimit-ctl that runs
 * enforces that itself, and permits no paths (ctl/ordered.h). Each is a process, so a hanging
 * command delays nobody: it is killed after a minute (an operator's after five), as is one with too
 * much output.
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
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>
#include "bwl/beside.h"
#include "bwl/group.h"
#include "command_places.h"
#include "line_porter.h"
#include "line_socket.h"
#include "bwl/output.h"
#include "parts.h"
#include "thread.h"

#define ALL (1U << LINE_ROOT | 1U << LINE_OPERATE | 1U << LINE_READ | 1U << LINE_SYNC)
#define READERS_NICE 10
#define WORDS_MAX 64
#define ENV_MAX 32 /* variables of our own environment that are passed on: where our files are */
#define LONGEST_NS 60000000000ULL
#define LONGEST_CHANGE_NS 300000000000ULL /* a policy of a million peers */
#define TELL_NS 10000000000ULL /* without progress for this long, the reader is too slow */
#define SAYS_MAX (64 << 20)    /* bytes of standard output, and of standard error */
#define READS_MAX (16 << 20)   /* of a document that a reader sends */
#define END_MS 2000
#define EVERY_MS 100

struct running {
	pid_t pid; /* 0: the command has ended, or the place is free */
	int conn;  /* -1: free */
	int out, err;
	uid_t uid;
	bool reads, killed;
	bool goes_on;      /* it writes to conn itself, until the client hangs up */
	uint64_t since_ns; /* when it started; after that, when the answer last made progress */
	off_t told;        /* bytes sent of the answer's line and of the two files that follow it */
	char line[80];
	size_t len; /* of the line; 0: the command still runs */
};

struct commands {
	struct agent_thread thread;
	const char *pin_dir, *state_dir;
	struct line_socket *socket;
	struct running run[COMMANDS_PLACES];
};

static const char *const rights[LINE_RIGHTS] = {
	[LINE_ROOT] = "operate",
	[LINE_OPERATE] = "operate",
	[LINE_READ] = "read",
	[LINE_SYNC] = "model", /* what bwlimit-sync serves, and nothing else */
};

static void forget(struct running *r)
{
	close(r->conn);
	if (r->out >= 0)
		close(r->out);
	if (r->err >= 0)
		close(r->err);
	*r = (struct running){ .conn = -1, .out = -1, .err = -1 };
}

/*
 * {"argv": ["--json", "status"]}: bwlimit-load answers it, because it knows what is attached.
 * BWLIMIT_ORDERED_AS makes it leave out the kernel's ids, which only root may see.
 */
static bool is_status(const json_t *argv)
{
	const char *json = json_string_value(json_array_get(argv, 0)),
		   *word = json_string_value(json_array_get(argv, 1));

	return json_array_size(argv) == 2 && !strcmp(json, "--json") && !strcmp(word, "status");
}

static int start(const struct commands *v, struct running *r, int doc, const json_t *argv,
		 const char *as)
{
	char *words[WORDS_MAX + 2] = { is_status(argv) ? "bwlimit-load" : "bwlimit-ctl" };
	char by[64], how[32], path[PATH_MAX], state[PATH_MAX + 32], pins[PATH_MAX + 32];
	char *env[ENV_MAX + 8] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
				   "LC_ALL=C.UTF-8",
				   by,
				   how,
				   state,
				   pins,
				   r->goes_on ? "BWLIMIT_ORDERED_STREAM=1"
					      : "BWLIMIT_ORDERED_STREAM=" };
	posix_spawn_file_actions_t f;
	posix_spawnattr_t attr;
	sigset_t none, ignored;
	int e;

	snprintf(by, sizeof(by), "BWLIMIT_ORDERED_BY=uid %u", r->uid);
	snprintf(how, sizeof(how), "BWLIMIT_ORDERED_AS=%s", as);
	snprintf(state, sizeof(state), "BWLIMIT_STATE_DIR=%s", v->state_dir);
	snprintf(pins, sizeof(pins), "BWLIMIT_PIN_DIR=%s", v->pin_dir);
	for (unsigned i = 0, n = 7; environ[i] && n < ENV_MAX + 7; i++)
		if (!strncmp(environ[i], "BWLIMIT_", 8) &&
		    strncmp(environ[i], "BWLIMIT_STATE_DIR=", 18) &&
		    strncmp(environ[i], "BWLIMIT_PIN_DIR=", 16))
			env[n++] = environ[i];
	for (size_t i = 0; i < json_array_size(argv); i++)
		words[1 + i] = (char *)(uintptr_t)json_string_value(json_array_get(argv, i));
	bwl_beside(is_status(argv) ? "BWLIMIT_LOAD" : "BWLIMIT_CTL", words[0], path);
	r->out = memfd_create("bwlimit-out", MFD_CLOEXEC);
	r->err = memfd_create("bwlimit-err", MFD_CLOEXEC);
	if (r->out < 0 || r->err < 0)
		return errno;
	posix_spawn_file_actions_init(&f);
	if (doc >= 0)
		posix_spawn_file_actions_adddup2(&f, doc, STDIN_FILENO);
	else
		posix_spawn_file_actions_addopen(&f, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&f, r->goes_on ? r->conn : r->out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&f, r->err, STDERR_FILENO);
	sigemptyset(&none); /* this thread has some blocked */
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	bwl_output_signals(&ignored);
	posix_spawnattr_setsigdefault(&attr, &ignored);
	posix_spawnattr_setsigmask(&attr, &none);
	line_spawn_begin();
	e = posix_spawn(&r->pid, path, &f, &attr, words, env);
	line_spawn_end();
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&f);
	if (e)
		r->pid = 0;
	else if (r->reads) /* the data plane's bookkeeping and operators have precedence */
		setpriority(PRIO_PROCESS, (id_t)r->pid, READERS_NICE);
	r->since_ns = bwl_now_ns();
	return e;
}

/*
 * A command that keeps running writes to the connection itself, and ends when the client hangs up.
 */
static void begin_stream(struct running *r)
{
	const struct timeval most = { .tv_sec = TELL_NS / 1000000000 };

	line_say(r->conn, json_pack("{s:b}", "stream", 1));
	fcntl(r->conn, F_SETFL, 0);
	setsockopt(r->conn, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
}

static const char *wrong_words(const json_t *argv)
{
	if (!json_array_size(argv) || json_array_size(argv) > WORDS_MAX)
		return "a command must have 1 to 64 words";
	for (size_t i = 0; i < json_array_size(argv); i++) {
		const char *s = json_string_value(json_array_get(argv, i));

		if (!s || strlen(s) != json_string_length(json_array_get(argv, i)))
			return "the words of a command must be text";
	}
	return NULL;
}

static off_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_size;
}

static struct running *place(struct commands *v, bool reads, bool goes_on, uid_t uid)
{
	struct command_place p[COMMANDS_PLACES];
	int i;

	for (i = 0; i < COMMANDS_PLACES; i++) {
		const struct running *r = &v->run[i];

		p[i] = (struct command_place){ r->conn >= 0, r->reads, r->goes_on, r->uid };
	}
	i = command_place(p, reads, goes_on, uid);
	return i < 0 ? NULL : &v->run[i];
}

BWL_AUTO_DEFINE(json_decref, json_t *)

static void command(void *arg, enum line_right right, int fd, int document, const char *line,
		    size_t len, const char *wrong)
{
	struct commands *v = arg;
	BWL_AUTO_CLOSE int conn = fd, doc = document;
	BWL_AUTO(json_decref)
	json_t *ask = line ? json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const json_t *argv = json_object_get(ask, "argv");
	const char *as = rights[right];
	bool goes_on = json_is_true(json_object_get(ask, "stream")),
	     reads = goes_on || strcmp(as, "operate");
	struct ucred who = { .uid = (uid_t)-1 };
	socklen_t n = sizeof(who);
	struct running *r;
	char why[160];
	int e;

	getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &who, &n);
	r = place(v, reads, goes_on, who.uid);
	if (line)
		wrong = wrong_words(argv);
	if (!wrong && is_status(argv) && !strcmp(as, "model"))
		wrong = "bwlimit-sync may not ask for the status";
	if (!wrong && doc >= 0 && reads && size_of(doc) > READS_MAX)
		wrong = "the data of a reader's command must be at most 16 MiB";
	if (!wrong && !r) {
		line_say(conn,
			 json_pack("{s:s, s:b}", "error",
				   "too many commands at the same time; try again", "busy", 1));
		return;
	}
	if (wrong) {
		line_refuse(conn, wrong, NULL);
		return;
	}
	*r = (struct running){ .conn = bwl_take_fd(&conn),
			       .out = -1,
			       .err = -1,
			       .uid = who.uid,
			       .reads = reads,
			       .goes_on = goes_on };
	if (goes_on)
		begin_stream(r);
	e = start(v, r, doc, argv, as);
	if (!e)
		return;
	snprintf(why, sizeof(why), "cannot run bwlimit-ctl: %s", strerror(e));
	line_refuse(r->conn, why, NULL);
	forget(r);
}

/* Has it run for too long, printed too much, or lost its client? */
static bool is_to_end(const struct running *r, uint64_t now_ns)
{
	uint64_t longest_ns = r->goes_on ? UINT64_MAX : r->reads ? LONGEST_NS : LONGEST_CHANGE_NS;

	return now_ns - r->since_ns > longest_ns || size_of(r->out) > SAYS_MAX ||
	       size_of(r->err) > SAYS_MAX || (r->reads && line_has_gone(r->conn));
}

static void look(struct running *r, uint64_t now_ns)
{
	int status;
	pid_t p;

	if (!r->killed && is_to_end(r, now_ns)) {
		dprintf(r->err,
			"bwlimitd: command ended: it used too many resources or printed too much; it may have taken effect: check before you repeat it\n");
		r->killed = !kill(r->pid, SIGKILL);
	}
	p = waitpid(r->pid, &status, WNOHANG);
	if (!p || (p < 0 && errno == EINTR))
		return;
	if (r->goes_on) {
		forget(r);
		return;
	}
	r->pid = 0;
	r->since_ns = now_ns;
	r->len = (size_t)snprintf(r->line, sizeof(r->line),
				  "{\"exit\":%d,\"out\":%lld,\"err\":%lld}\n",
				  p > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1,
				  (long long)size_of(r->out), (long long)size_of(r->err));
}

/* Reads the next part of the answer: its line, standard output, standard error. 0: the end. */
static ssize_t next(const struct running *r, char *buf, size_t size)
{
	off_t at = r->told, out = size_of(r->out);
	size_t n;

	if (at < (off_t)r->len) {
		n = r->len - (size_t)at;
		memcpy(buf, r->line + at, n);
		return (ssize_t)n;
	}
	at -= (off_t)r->len;
	return at < out ? pread(r->out, buf, size, at) : pread(r->err, buf, size, at - out);
}

/* Sends as much as there is room for. The reader may be slow, but must make progress. */
static void tell(struct running *r, uint64_t now_ns)
{
	char buf[65536];
	ssize_t n, w;

	while ((n = next(r, buf, sizeof(buf))) > 0) {
		w = send(r->conn, buf, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (w < 0 && (errno == EAGAIN || errno == EINTR)) {
			if (now_ns - r->since_ns > TELL_NS)
				forget(r);
			return;
		}
		if (w <= 0)
			break;
		r->told += w;
		r->since_ns = now_ns;
	}
	forget(r);
}

static void run(void *arg)
{
	struct commands *v = arg;
	struct pollfd p = { .fd = line_socket_fd(v->socket), .events = POLLIN };

	while (agent_thread_goes_on(&v->thread)) {
		bool some = false;

		for (unsigned i = 0; i < COMMANDS_PLACES; i++) {
			struct running *r = &v->run[i];

			if (r->conn >= 0 && r->pid)
				look(r, bwl_now_ns());
			if (r->conn >= 0 && !r->pid)
				tell(r, bwl_now_ns());
			some |= r->conn >= 0 && !r->goes_on;
		}
		poll(&p, 1, some ? 5 : EVERY_MS);
		line_socket_run(v->socket, bwl_now_ns());
	}
}

static const struct line_rule rule = { .mode = 0666, .documents = true, .said = command };

/* A process that hangs in the kernel is abandoned. */
static void end_one(struct running *r)
{
	if (r->pid)
		kill(r->pid, SIGKILL);
	for (int ms = 0; r->pid && ms < END_MS; ms += 10) {
		if (waitpid(r->pid, NULL, WNOHANG))
			break;
		poll(NULL, 0, 10);
	}
	forget(r);
}

static void end(struct commands *v)
{
	line_socket_close(v->socket);
	for (unsigned i = 0; i < COMMANDS_PLACES; i++)
		if (v->run[i].conn >= 0)
			end_one(&v->run[i]);
	free(v);
}
BWL_AUTO_DEFINE(end, struct commands *)

/*
 * If none of the groups exists, no user is permitted. Once one is found they are not looked up
 * again: a temporarily unreadable file must not end anybody's command.
 */
bool agent_commands_wanted(struct agent *a)
{
	static bool are_there; /* main thread only */
	gid_t gid;

	(void)a;
	are_there = are_there || bwl_group_id(BWL_GROUP, &gid) ||
		    bwl_group_id(BWL_GROUP_READ, &gid) || bwl_group_id(BWL_GROUP_SYNC, &gid);
	return are_there;
}

int agent_commands_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	BWL_AUTO(end) struct commands *v = calloc(1, sizeof(*v));
	struct sockaddr_un at;
	struct line_who who;
	int r;

	if (!v)
		return bwl_fail(e, ENOMEM, "out of memory");
	for (unsigned i = 0; i < COMMANDS_PLACES; i++)
		v->run[i].conn = -1;
	v->pin_dir = bwl_pin_dir(a->pin_dir);
	v->state_dir = a->state_dir;
	line_who_find(&who, ALL);
	r = line_socket_address(a->pin_dir, BWL_AGENT_COMMANDS, &at, e);
	if (!r)
		r = line_socket_open(at.sun_path, &rule, &who, v, &v->socket, e);
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
