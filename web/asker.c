// SPDX-License-Identifier: GPL-2.0-or-later
/* See asker.h. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "asker.h"
#include "asking/ask.h"
#include "bwl/agent.h"
#include "bwl/bytes.h"
#include "bwl/cleanup.h"
#include "bwl/clock.h"
#include "bwl/doc.h"
#include "bwl/for_readers.h"
#include "command.h"
#include "whole.h"

#define PART 32768UL             /* bytes of one packet */
#define UNASKED_NS 3000000000ULL /* then a running command that nobody asks about is ended */
#define SILENT_NS 5000000000ULL  /* then it hangs: it should print a line each second */

enum {
	OK = 200,
	BAD_REQUEST = 400,
	FORBIDDEN = 403,
	NOT_FOUND = 404,
	BAD_GATEWAY = 502,
	UNAVAILABLE = 503
};

BWL_AUTO_DEFINE(json_decref, json_t *)

static unsigned status_of(const json_t *o)
{
	const char *code = json_string_value(json_object_get(json_object_get(o, "error"), "code"));
	static const struct {
		const char *code;
		unsigned status;
	} of[] = { { "ENOENT", NOT_FOUND },      { "EINVAL", BAD_REQUEST },
		   { "ERANGE", BAD_REQUEST },    { "EPERM", FORBIDDEN },
		   { "ENOTCONN", UNAVAILABLE },  { "EHOSTUNREACH", UNAVAILABLE },
		   { "ETIMEDOUT", UNAVAILABLE }, { "EBUSY", UNAVAILABLE },
		   { NULL, BAD_GATEWAY } };
	unsigned i = 0;

	while (of[i].code && (!code || strcmp(of[i].code, code)))
		i++;
	return of[i].status;
}

static char *of_err(const struct bwl_err *e, unsigned *ret_status)
{
	BWL_AUTO(json_decref) json_t *o = bwl_doc_err(e, "bwlimit-web");

	*ret_status = status_of(o);
	return bwl_must(json_dumps(o, JSON_COMPACT));
}

/* The output of a failed command, a document of kind error. */
static unsigned of_failed(const char *text, size_t len)
{
	BWL_AUTO(json_decref) json_t *o = json_loadb(text, len, 0, NULL);

	return status_of(o);
}

/* The same if there is no exit code: a document begins with its version and kind. */
static unsigned of_text(const char *text, size_t len)
{
	return len < 256 * 16 && memmem(text, len < 64 ? len : 64, "\"error\"", 7)
		       ? of_failed(text, len)
		       : OK;
}

static const struct web_document *how_of(const struct asker_conf *c, const char *question)
{
	static const struct web_document none = { .every_ms = 0 };
	const struct asking_document *d = asking_asked(c->documents->asking, question);

	return d ? &c->documents->how[d - c->documents->asking] : &none;
}

static int answer_of(const struct asker_conf *c, const char *question, const json_t *words,
		     char **ret, size_t *ret_len, int *ret_exit, struct bwl_err *e)
{
	size_t most = how_of(c, question)->is_big ? ASKER_BIG : ASKER_MAX;

	if (c->program)
		return command_run(c->program, c->conf, json_object_get(words, "argv"), most, ret,
				   ret_len, ret_exit, e);
	return asking_command(c->commands, words, most, ret, ret_len, ret_exit, e);
}

/* A killed command leaves only a part of a document, or nothing. */
static int judge(const char *text, size_t len, struct bwl_err *e)
{
	if (whole_object(text, len))
		return 0;
	bwl_fail(e, EIO, "bwlimit-ctl printed an incomplete document");
	return bwl_hint(e, "it was killed, or it failed without a message: journalctl -u bwlimitd");
}

static char *ask(const struct asker_conf *c, const char *question, size_t *ret_len,
		 unsigned *ret_status)
{
	struct bwl_err e = { 0 };
	BWL_AUTO(json_decref)
	json_t *words = asking_words_of(c->documents->asking, question, &e);
	const struct asking_document *d = asking_asked(c->documents->asking, question);
	BWL_AUTO_FREE char *text = NULL;
	char *ret;
	int code = 0;

	if (!words || answer_of(c, question, words, &text, ret_len, &code, &e) ||
	    ((code || !d->text) && judge(text, *ret_len, &e))) {
		ret = of_err(&e, ret_status);
		*ret_len = strlen(ret);
		return ret;
	}
	*ret_status = code ? of_failed(text, *ret_len) : OK;
	return bwl_take_ptr(&text);
}

int asker_answer(int fd, unsigned status, const char *text, size_t len, uint64_t age_ms)
{
	const struct asker_head head = { status, (uint32_t)len, age_ms };
	int r = bwl_bytes_write(fd, &head, sizeof(head));

	for (size_t at = 0; !r && at < len; at += PART)
		r = bwl_bytes_write(fd, text + at, len - at < PART ? len - at : PART);
	return r;
}

static int answer(int fd, unsigned status, const char *text, size_t len)
{
	return asker_answer(fd, status, text, len, 0);
}

/* A command that keeps running, and the newest of its lines, each of which is a document. */
struct tap {
	int fd;            /* -1: closed */
	char *line, *part; /* NULL: none yet */
	size_t line_len, part_len, room;
	bool waits;        /* somebody waits for the next line */
	uint64_t asked_ns; /* when a line was last asked for */
};

static void tap_close(struct tap *t)
{
	if (t->fd >= 0)
		close(t->fd);
	free(t->line);
	free(t->part);
	*t = (struct tap){ .fd = -1 };
}

static int tap_open(struct tap *t, const struct asker_conf *c, const char *question,
		    struct bwl_err *e)
{
	BWL_AUTO(json_decref)
	json_t *words = asking_words_of(c->documents->asking, question, e);

	t->fd = words ? asking_stream(c->commands, json_object_get(words, "argv"), e) : -1;
	return t->fd < 0 ? -e->code : 0;
}

/* Keeps the last whole line of the new output. */
static void tap_keep(struct tap *t)
{
	char *end = memrchr(t->part, '\n', t->part_len), *from;
	size_t left;

	if (!end)
		return;
	from = memrchr(t->part, '\n', (size_t)(end - t->part));
	from = from ? from + 1 : t->part;
	free(t->line);
	t->line_len = (size_t)(end - from);
	t->line = bwl_must(malloc(t->line_len + 1));
	memcpy(t->line, from, t->line_len);
	left = t->part_len - (size_t)(end + 1 - t->part);
	memmove(t->part, end + 1, left);
	t->part_len = left;
}

/* Reads what is available. Negative: the command has ended, or its output is too long. */
static int tap_read(struct tap *t)
{
	ssize_t n;

	if (t->room - t->part_len < PART) {
		if (t->room >= ASKER_MAX)
			return -EFBIG;
		t->room += t->room / 2 + 4 * PART;
		t->part = bwl_must(realloc(t->part, t->room));
	}
	n = recv(t->fd, t->part + t->part_len, t->room - t->part_len, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -EPIPE;
	t->part_len += (size_t)n;
	tap_keep(t);
	return 0;
}

static int answer_error(int fd, const struct bwl_err *e)
{
	unsigned status;
	BWL_AUTO_FREE char *text = of_err(e, &status);

	return answer(fd, status, text, strlen(text));
}

static int answer_line(int fd, struct tap *t)
{
	struct bwl_err e = { 0 };
	int r = judge(t->line, t->line_len, &e)
			? answer_error(fd, &e)
			: answer(fd, of_text(t->line, t->line_len), t->line, t->line_len);

	free(t->line);
	t->line = NULL;
	t->waits = false;
	return r;
}

/* Reads a file beside bwlimitd's socket of commands, whose name tells which pins are used. */
static int read_left(const struct asker_conf *c, const struct web_document *d, char **ret,
		     size_t *ret_len, uint64_t *ret_age_ms, struct bwl_err *e)
{
	size_t n = strlen(c->commands), ending = strlen(BWL_AGENT_COMMANDS);
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	BWL_AUTO_CLOSE int fd = -1;
	struct timespec now;
	struct stat st;
	int64_t ms;

	n -= n > ending ? ending : 0;
	snprintf(path, sizeof(path), "%.*s%s", (int)n, c->commands, d->file);
	fd = bwl_for_readers_open(path, &st, e);
	if (fd < 0)
		return bwl_hint(e, "%s", d->left_by);
	clock_gettime(CLOCK_REALTIME, &now);
	ms = (now.tv_sec - st.st_mtim.tv_sec) * 1000 + (now.tv_nsec - st.st_mtim.tv_nsec) / 1000000;
	*ret_age_ms = ms > 0 ? (uint64_t)ms : 0;
	return bwl_bytes_read(fd, ASKER_MAX, ret, ret_len, e);
}

static int answer_left(const struct asker_conf *c, const struct web_document *d, int fd)
{
	BWL_AUTO_FREE char *text = NULL;
	struct bwl_err e = { 0 };
	uint64_t age_ms;
	size_t len;

	if (read_left(c, d, &text, &len, &age_ms, &e) || judge(text, len, &e))
		return answer_error(fd, &e);
	return asker_answer(fd, OK, text, len, age_ms);
}

/* Answers a question: at once, or, for a command that keeps running, with its next line. */
static int take_question(const struct asker_conf *c, int fd, const char *question, struct tap *t)
{
	const struct web_document *d = how_of(c, question);
	struct bwl_err e = { 0 };
	BWL_AUTO_FREE char *text = NULL;
	unsigned status;
	size_t len;

	if (d->file)
		return answer_left(c, d, fd);
	if (!d->goes_on) {
		text = ask(c, question, &len, &status);
		return answer(fd, status, text, len);
	}
	if (t->fd < 0 && tap_open(t, c, question, &e))
		return answer_error(fd, &e);
	t->waits = true;
	t->asked_ns = bwl_now_ns();
	return 0;
}

/* When a running command is ended, unless before that it prints something or is asked for again. */
static uint64_t end_ns(const struct tap *t)
{
	return t->asked_ns + (t->waits ? SILENT_NS : UNASKED_NS);
}

static int wait_ms(const struct tap *t)
{
	uint64_t now_ns = bwl_now_ns();

	if (t->fd < 0)
		return -1;
	return now_ns < end_ns(t) ? (int)((end_ns(t) - now_ns) / 1000000) + 1 : 0;
}

static int tap_step(int fd, struct tap *t, bool readable)
{
	bool ended = readable && tap_read(t);
	struct bwl_err e = { 0 };
	int r = t->waits && t->line ? answer_line(fd, t) : 0;

	if (!ended && bwl_now_ns() < end_ns(t))
		return r;
	if (t->waits) {
		if (ended)
			bwl_fail(&e, ENOTCONN, "bwlimitd hung up");
		else
			bwl_fail(&e, ETIMEDOUT, "bwlimitd has not answered in time");
		r = answer_error(fd, &e);
	}
	tap_close(t);
	return r;
}

/* Runs until the other side has gone. At most one command keeps running. */
static void answer_questions(const void *about, int fd)
{
	const struct asker_conf *c = about;
	struct tap t = { .fd = -1 };
	int r = 0;

	while (!r) {
		struct pollfd p[] = { { .fd = fd, .events = POLLIN },
				      { .fd = t.fd, .events = POLLIN } };
		char question[ASKING_QUESTION];
		ssize_t n;

		poll(p, 2, wait_ms(&t));
		if (t.fd >= 0)
			r = tap_step(fd, &t, p[1].revents);
		n = p[0].revents ? recv(fd, question, sizeof(question) - 1, MSG_DONTWAIT) : -1;
		if (n > 0) {
			question[n] = '\0';
			r = r ? r : take_question(c, fd, question, &t);
		} else if (p[0].revents) {
			r = -EPIPE;
		}
	}
	tap_close(&t);
}

int asker_fork(void (*serve)(const void *about, int fd), const void *about, struct asker *ret,
	       struct bwl_err *e)
{
	pid_t parent = getpid(), pid;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return bwl_fail(e, errno, "cannot make a socket pair: %m");
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		close(pair[0]);
		close(pair[1]);
		return bwl_fail(e, errno, "cannot start a process: %m");
	}
	if (!pid) {
		close(pair[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			serve(about, pair[1]);
		_exit(0);
	}
	close(pair[1]);
	*ret = (struct asker){ .fd = pair[0] };
	return 0;
}

int asker_start(const struct asker_conf *c, struct asker *ret, struct bwl_err *e)
{
	return asker_fork(answer_questions, c, ret, e);
}

int asker_ask(struct asker *a, const char *question)
{
	size_t n = strlen(question);

	a->busy = true;
	a->have = 0;
	return send(a->fd, question, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n ? 0 : -errno;
}

/* The caller has room for a whole packet: first the head alone, then at most 32 KiB each. */
static ssize_t receive(struct asker *a, void *to, size_t room)
{
	ssize_t n = recv(a->fd, to, room, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n > 0 ? n : -EPIPE;
}

int asker_take(struct asker *a, struct asker_head *ret, char **ret_text)
{
	size_t text = a->have > sizeof(a->head) ? a->have - sizeof(a->head) : 0;
	ssize_t n;

	if (a->have < sizeof(a->head)) {
		n = receive(a, &a->head, sizeof(a->head));
		if (n <= 0)
			return (int)n;
		if (!a->busy || n != sizeof(a->head) || a->head.len > ASKER_BIG)
			return -EBADMSG;
		a->have = sizeof(a->head);
		a->text = bwl_must(malloc((size_t)a->head.len + 1));
	}
	while (text < a->head.len) {
		n = receive(a, a->text + text, a->head.len - text);
		if (n <= 0)
			return (int)n;
		text += (size_t)n;
		a->have += (size_t)n;
	}
	a->busy = false;
	a->have = 0;
	a->text[text] = '\0';
	*ret = a->head;
	*ret_text = a->text;
	a->text = NULL;
	return 1;
}
